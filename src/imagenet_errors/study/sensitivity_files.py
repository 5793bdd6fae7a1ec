"""The answer to ``sensitivity`` as files: one table, one figure, one page with what follows."""

from __future__ import annotations

import csv
import math
import shlex
from pathlib import Path
from typing import Any

from imagenet_errors.chain import ERROR_TYPES
from imagenet_errors.files import writing_folder
from imagenet_errors.report.comparison import sign_test
from imagenet_errors.report.markdown import decimal, interval, md_table, percent
from imagenet_errors.study.sensitivity import Effect, SensitivityRun
from imagenet_errors.study.sensitivity_conclusions import conclusions

FILES = ("sensitivity.csv", "sensitivity.md")
FIGURES = ("sensitivity.png", "sensitivity.svg")
_ERRORS = ERROR_TYPES[1:]


def write_sensitivity(run: SensitivityRun, *, with_figure: bool = True) -> None:
    """Write FILES, and FIGURES if wanted, into the request's folder, all or none."""
    with writing_folder(run.request.out) as folder:
        _write_table(run, folder / "sensitivity.csv")
        (folder / "sensitivity.md").write_text(page(run, with_figure=with_figure), encoding="utf-8")
        if with_figure:
            from imagenet_errors.study.sensitivity_figure import draw

            draw(run, [folder / name for name in FIGURES])


def page(run: SensitivityRun, *, with_figure: bool = True) -> str:
    """Return the page: what a reviewer should conclude, the figure, the table."""
    made_by = f"Made by `{shlex.join(run.request.command)}`.\n" if run.request.command else ""
    models = f"the distributions of {len(run.models)} models' errors" if run.models else "no model's distribution"
    return "\n".join(
        [
            "# Sensitivity: what hangs on each design choice\n",
            made_by,
            f"Each choice varied alone; agreement over {run.n_judged} judged mistakes, and {models}.\n",
            "## What a reviewer should conclude\n",
            *(f"{place}. {line}" for place, line in enumerate(conclusions(run), 1)),
            "",
            "![Agreement and distributions under each variant](sensitivity.svg)\n" if with_figure else "",
            "## Agreement with the panel\n",
            "In brackets: from the worst to the best case of out-of-vocabulary evidence that is not known. "
            "*Gained*, *lost*: cases in the panel's category that were not so before, and the other way "
            "round; *chance*: how likely counts so uneven are if either is as likely (exact sign test).\n",
            _agreement_table(run),
            _distribution_section(run),
            *(f"Not varied: {one.choice}, since {one.reason}." for one in run.not_varied),
            "",
        ]
    )


def _agreement_table(run: SensitivityRun) -> str:
    header = [
        "choice",
        "variant",
        "cases",
        "undecided",
        "same category",
        "share",
        "gained",
        "lost",
        "chance",
        "kappa (interval)",
        "failures",
    ]
    return md_table(header, (_agreement_row(effect) for effect in run.effects), text_columns=2)


def _agreement_row(effect: Effect) -> list[str]:
    found = effect.agreement
    low, high = found.kappa_interval
    return [
        effect.variant.choice,
        effect.variant.name,
        str(found.n),
        str(found.n_undecided),
        interval(found.n_agree),
        interval(found.agreement, float),
        str(effect.n_gained),
        str(effect.n_lost),
        decimal(sign_test(effect.n_gained, effect.n_lost)),
        f"{decimal(found.kappa.value)} ({decimal(low)} to {decimal(high)})",
        interval(found.share_of_failures, float),
    ]


def _distribution_section(run: SensitivityRun) -> str:
    if not run.models:
        return "No predictions were given, so no distributions.\n"
    header = ["choice", "variant", "changed", *_ERRORS, "failures of multi-label errors", "rank correlation"]
    return "\n".join(
        [
            "## Distributions\n",
            f"Mean over {len(run.models)} models of each type's share of their top-1 errors; *changed*: "
            "the share of all their errors that get another type than as it is; *rank correlation*: "
            "Spearman's, of the models ranked by their failures' share of multi-label errors, with the "
            "ranking as it is.\n",
            md_table(header, (_distribution_row(effect) for effect in run.effects), text_columns=2),
        ]
    )


def _distribution_row(effect: Effect) -> list[str]:
    own = effect.distributions
    if own is None:  # pragma: no cover - only asked for with predictions
        return []
    return [
        effect.variant.choice,
        effect.variant.name,
        percent(own.changed),
        *(percent(share) for share in own.portions[1:].tolist()),
        percent(own.share_of_failures),
        f"{own.rank_correlation:.3f}",
    ]


def rows(run: SensitivityRun) -> list[dict[str, Any]]:
    """Return the table, a row a variant; what is undefined or not measured is None."""
    return [
        {key: None if isinstance(value, float) and math.isnan(value) else value for key, value in row.items()}
        for row in map(_row, run.effects)
    ]


def _row(effect: Effect) -> dict[str, Any]:
    found, own = effect.agreement, effect.distributions
    portions = own.portions.tolist() if own else [None] * len(ERROR_TYPES)
    return {
        "choice": effect.variant.choice,
        "variant": effect.variant.name,
        "n_judged": found.n,
        "n_undecided": found.n_undecided,
        "n_agree": int(found.n_agree.value),
        "n_agree_least": int(found.n_agree.low),
        "n_agree_most": int(found.n_agree.high),
        "n_gained": effect.n_gained,
        "n_lost": effect.n_lost,
        "chance": sign_test(effect.n_gained, effect.n_lost),
        "agreement": found.agreement.value,
        "kappa": found.kappa.value,
        "kappa_low": found.kappa_interval[0],
        "kappa_high": found.kappa_interval[1],
        "share_left_as_failures": found.share_of_failures.value,
        "n_models": len(own.counts) if own else 0,
        "n_top1_errors": int(own.counts.sum()) if own else None,
        "changed": own.changed if own else None,
        **{f"portion_{name}": share for name, share in zip(ERROR_TYPES, portions, strict=True) if name != "correct"},
        "failures_of_multi_label_errors": own.share_of_failures if own else None,
        "rank_correlation": own.rank_correlation if own else None,
    }


def _write_table(run: SensitivityRun, path: Path) -> None:
    table = rows(run)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(table[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(table)
