"""The answer to ``sensitivity``: tables, one figure, one page, and the terminal."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Group, RenderableType
from rich.markdown import Markdown
from rich.text import Text

from imagenet_errors.chain import ERROR_TYPES
from imagenet_errors.files import csv_text, writing_folder
from imagenet_errors.report.looks import looks
from imagenet_errors.report.markdown import code, count, decimal, interval, md_table, percent
from imagenet_errors.study.agreement import shared_command
from imagenet_errors.study.effects import Distributions, Effect, mean_share_of_failures, shares_of_failures
from imagenet_errors.study.outcomes import FAILURE, Bounded
from imagenet_errors.study.sensitivity import LabelSetFigures, SensitivityRun

FILES = ("sensitivity.csv", "moves.csv", "label_sets.csv", "sensitivity.md")
FIGURES = ("sensitivity.png", "sensitivity.svg")
LEVEL = 0.05
"""A probability below this is called more than chance, by convention."""
_ERRORS = ERROR_TYPES[1:]
_DECIMALS = ("chance", "chance_corrected", "kappa", "kappa_bootstrap", "rank_correlation")
_ROW_INCHES, _WIDTH_INCHES, _MARGIN_INCHES = 0.27, 13.0, 1.7
_INK, _FAINT = "#1f2328", "#c9d1d9"


def write_sensitivity(run: SensitivityRun, *, with_figure: bool = True) -> None:
    """Write FILES, and FIGURES if wanted, into the request's folder, all or none."""
    with writing_folder(run.request.out) as folder:
        _write_csv(folder / "sensitivity.csv", rows(run))
        _write_csv(folder / "moves.csv", _move_rows(run))
        _write_csv(folder / "label_sets.csv", _label_set_rows(run))
        (folder / "sensitivity.md").write_text(page(run, with_figure=with_figure), encoding="utf-8")
        if with_figure:
            draw(run, [folder / name for name in FIGURES])


def page(run: SensitivityRun, *, with_figure: bool = True) -> str:
    """Return the page: a row a choice, the figure, a row a variant, a row a label set."""
    models = f"the distributions of {len(run.models)} models' errors" if run.models else "no model's distribution"
    parts = [
        "# Sensitivity: what hangs on each design choice\n",
        f"Made by {code(_command(run))}.\n",
        f"Each choice varied alone; agreement over {run.n_mistakes} mistakes of the panel's, and {models}; labels: "
        f"{code(run.basis.annotations.name)}. Brackets, everywhere: from the least to the most that unknown "
        "out-of-vocabulary evidence can make of a figure.\n",
        "## The choices\n",
        f"{_sentence(run)} *Beyond chance*: a variant of it does, by an exact sign test of cases gained and lost, "
        f"corrected for {len(run.effects) - 1} tests (Holm), at {percent(LEVEL)}; *open*: that hangs on unknown "
        "evidence.\n",
        md_table(*_choices(run)),
        "![Agreement and distributions under each variant](sensitivity.svg)\n" if with_figure else "",
        "## Agreement with the panel\n",
        _figures_table(run, [_agreement_figures(effect) for effect in run.effects]),
        _distribution_section(run),
        _label_set_section(run),
        _not_done(run),
    ]
    return "\n".join(part for part in parts if part)


def sensitivity_view(run: SensitivityRun, *, with_figure: bool) -> RenderableType:
    """Return the table of choices, the label sets and what was written, for a terminal."""
    label_sets = md_table(_LABEL_SET_HEADER, _label_set_cells(run.label_sets)) if run.label_sets else ""
    unread = [Text(f"Not read: {failure.reason}", style="yellow") for failure in run.failures]
    files = [*FILES, *(FIGURES if with_figure else ())]
    tables = Markdown("\n".join([_sentence(run), "", md_table(*_choices(run)), label_sets]))
    return Group(tables, *unread, Text(f"Written to {run.request.out}: {', '.join(files)}"))


def rows(run: SensitivityRun) -> list[dict[str, Any]]:
    """Return the table, a row a variant; a bounded figure is three columns."""
    return [
        {"choice": effect.variant.choice, "variant": effect.variant.name}
        | _flat(_agreement_figures(effect))
        | ({} if effect.distributions is None else _flat(_error_figures(effect.distributions)))
        for effect in run.effects
    ]


def _command(run: SensitivityRun) -> str:
    request = run.request
    more = [path.name for path in request.predictions]
    more += [word for name in request.label_sets for word in ("--label-set", Path(name).name)]
    more += [word for path in request.oov_tables for word in ("--other-oov-evidence", path.name)]
    more += [] if request.use_panel_list else ["--no-panel-list"]
    return shared_command("sensitivity", request.human, request.inputs, *more)


def _sentence(run: SensitivityRun) -> str:
    agreed, measured = run.base.agreement, run.base.distributions
    failures = (
        f"; {interval(measured.share_of_failures, percent)} of multi-label errors are failures" if measured else ""
    )
    return (
        f"As it is: {interval(agreed.n_agree)} of {agreed.n} cases in the panel's category, kappa "
        f"{interval(agreed.kappa, decimal)}{failures}."
    )


def beyond_chance(effects: Iterable[Effect]) -> str:
    """Say whether any effect moves agreement beyond chance: yes, no, or open where unknown evidence decides."""
    corrected = [effect.corrected for effect in effects]
    if any(chance.high < LEVEL for chance in corrected):
        return "yes"
    return "open" if any(chance.low < LEVEL for chance in corrected) else "no"


def _choices(run: SensitivityRun) -> tuple[list[str], list[list[object]]]:
    """Return header and rows: one a choice, with the range of the figures over its variants."""
    header = ["choice", "variants", "same category", "kappa", "beyond chance"]
    header += (
        ["errors changed, most", "failures of multi-label errors", "rank correlation, least"] if run.models else []
    )
    table: list[list[object]] = []
    for choice, effects in run.choices.items():
        agreements = [effect.agreement for effect in effects]
        row = [
            choice,
            len(effects),
            _span([each.agreement for each in agreements], percent),
            _span([each.kappa for each in agreements], decimal),
            beyond_chance(effects),
        ]
        measured = [effect.distributions for effect in effects if effect.distributions is not None]
        if measured:
            changed = max((each.changed for each in measured), key=lambda bounded: bounded.high)
            ranks = [rank for each in measured for rank in each.rank_correlation]
            row += [
                interval(changed, percent),
                _span([each.share_of_failures for each in measured], percent),
                decimal(min(ranks)),
            ]
        table.append(row)
    return header, table


def _span(figures: Sequence[Bounded], shown: Callable[[float], str]) -> str:
    """Return the range of known values over some variants."""
    least, most = (shown(end(figure.value for figure in figures)) for end in (min, max))
    return least if least == most else f"{least} to {most}"


def _agreement_figures(effect: Effect) -> dict[str, Any]:
    agreed = effect.agreement
    return {
        "n_cases": agreed.n,
        "n_undecided": agreed.n_undecided,
        "n_agree": agreed.n_agree,
        "agreement": agreed.agreement,
        "n_gained": effect.gained,
        "n_lost": effect.lost,
        "chance": effect.chance,
        "chance_corrected": effect.corrected,
        "beyond_chance": beyond_chance([effect]),
        "kappa": agreed.kappa,
        "kappa_bootstrap": agreed.kappa_interval,
        "left_as_failures": agreed.share_of_failures,
    }


def _error_figures(measured: Distributions) -> dict[str, Any]:
    return {
        "n_top1_errors": int(measured.counts.known.sum()),
        "changed": measured.changed,
        **{f"portion_{name}": share for name, share in zip(_ERRORS, measured.portions[1:], strict=True)},
        "failures_of_multi_label_errors": measured.share_of_failures,
        "rank_correlation": measured.rank_correlation,
    }


def _flat(figures: dict[str, Any]) -> dict[str, Any]:
    """Return a column for each plain figure, three for a bounded one, two for a pair."""
    columns: dict[str, Any] = {}
    for name, value in figures.items():
        parts = value if isinstance(value, tuple) else (value,)
        ends = {1: ("",), 2: ("_low", "_high"), 3: ("", "_least", "_most")}[len(parts)]
        whole = name.startswith("n_")
        columns |= {f"{name}{end}": int(part) if whole else part for end, part in zip(ends, parts, strict=True)}
    return columns


def _shown(name: str, value: Any) -> str:
    """Return a figure for people: shares in percent, counts as such, the others with decimals."""
    if not isinstance(value, tuple):
        return f"{value:,}" if isinstance(value, int) else str(value)
    style = count if name.startswith("n_") else decimal if name in _DECIMALS else percent
    if len(value) == 3:
        return interval(value, style)
    return " to ".join(dict.fromkeys(style(part) for part in value))


def _figures_table(run: SensitivityRun, figures: Sequence[dict[str, Any]]) -> str:
    header = ["choice", "variant", *(name.removeprefix("portion_").removeprefix("n_") for name in figures[0])]
    table = [
        [effect.variant.choice, effect.variant.name, *(_shown(name, value) for name, value in row.items())]
        for effect, row in zip(run.effects, figures, strict=True)
    ]
    return md_table(header, table, text_columns=2)


def _distribution_section(run: SensitivityRun) -> str:
    measured = [effect.distributions for effect in run.effects if effect.distributions is not None]
    if not measured:
        return "No predictions were given, so no distributions.\n"
    return "\n".join(
        [
            "## Distributions\n",
            f"Mean over {len(run.models)} models of each type's share of their top-1 errors; *changed*: "
            "the share of all their errors that get another type than as it is; *rank correlation*: "
            "Spearman's, of the models ranked by their failures' share of multi-label errors, with the "
            "ranking as it is, where unknown evidence says no, to where it says yes.\n",
            _figures_table(run, [_error_figures(each) for each in measured]),
        ]
    )


_LABEL_SET_HEADER = ["label set", "images counted", "models", "top-1 errors, mean", "failures of top-1 errors"]
_LABEL_SET_HEADER += ["failures of multi-label errors", "models differ by"]


def _label_set_section(run: SensitivityRun) -> str:
    """Set the label sets side by side, each on its own images, and how verdicts move between them."""
    if not run.label_sets:
        return ""
    moves = [text for effect in run.choices.get("accepted labels", ()) for text in _moves_table(effect)]
    return "\n".join(
        [
            "## Label sets\n",
            "Each label set on the images that it has, mean over the models; *models differ by*: the standard "
            "deviation over the models of their failures' share of top-1 errors.\n",
            md_table(_LABEL_SET_HEADER, _label_set_cells(run.label_sets)),
            *moves,
        ]
    )


def _label_set_cells(figures: Sequence[LabelSetFigures]) -> list[list[object]]:
    return [
        [
            each.name,
            f"{each.n_evaluated:,}",
            len(each.models),
            f"{each.counts.known[:, 1:].sum(axis=1).mean():,.0f}",
            interval(mean_share_of_failures(each.counts, of_top1_errors=True), percent),
            interval(mean_share_of_failures(each.counts), percent),
            percent(float(np.std(_shares_of_top1(each)))),
        ]
        for each in figures
    ]


def _shares_of_top1(figures: LabelSetFigures) -> Any:
    counts = figures.counts.known
    return counts[:, FAILURE] / np.maximum(counts[:, 1:].sum(axis=1), 1)


def _moves_table(effect: Effect) -> list[str]:
    """Return how the models' errors move from the base's labels (rows) to these (columns)."""
    measured = effect.distributions
    if measured is None:
        return []
    table = [
        [name, *(f"{n:,}" for n in row[1:])] for name, row in zip(_ERRORS, measured.moves[1:].tolist(), strict=True)
    ]
    return [
        f"The models' errors, as it is (rows) and by {effect.variant.name} (columns):\n",
        md_table(["from \\ to", *_ERRORS], table),
    ]


def _not_done(run: SensitivityRun) -> str:
    table = [[one.choice, one.reason] for one in run.not_varied]
    table += [[f"model {failure.model}", failure.error.what] for failure in run.failures]
    return f"## Not done\n\n{md_table(['what', 'why'], table, text_columns=2)}" if table else ""


def _move_rows(run: SensitivityRun) -> list[dict[str, Any]]:
    """Return how often the models' errors go from each type under the base to each type under each variant."""
    return [
        {"choice": effect.variant.choice, "variant": effect.variant.name, "from": start, "to": end, "n_errors": n}
        for effect in run.effects
        if effect.distributions is not None
        for start, counts in zip(_ERRORS, effect.distributions.moves[1:, 1:].tolist(), strict=True)
        for end, n in zip(_ERRORS, counts, strict=True)
        if n
    ]


def _label_set_rows(run: SensitivityRun) -> list[dict[str, Any]]:
    return [
        {
            "label_set": each.name,
            "n_evaluated": each.n_evaluated,
            "model": model,
            **{name: int(n) for name, n in zip(_ERRORS, each.counts.known[place, 1:], strict=True)},
            "failures_least": int(each.counts.low[place, FAILURE]),
            "failures_most": int(each.counts.high[place, FAILURE]),
            "failures_of_top1_errors": float(_shares_of_top1(each)[place]),
            "failures_of_multi_label_errors": float(shares_of_failures(each.counts.known)[place]),
        }
        for each in run.label_sets
        for place, model in enumerate(each.models)
    ]


def _write_csv(path: Path, table: Sequence[dict[str, Any]]) -> None:
    """Write the rows under the columns of them all; what is undefined is left empty."""
    columns = list(dict.fromkeys(column for row in table for column in row))
    cells = ([_known(row.get(column)) for column in columns] for row in table)
    path.write_text(csv_text([columns, *cells]), encoding="utf-8", newline="")


def _known(cell: object) -> object:
    return None if isinstance(cell, float) and math.isnan(cell) else cell


def draw(run: SensitivityRun, paths: Sequence[Path]) -> None:
    """Draw the figure into every path, in the format of its ending; the same run gives the same bytes."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    height = _MARGIN_INCHES + _ROW_INCHES * len(run.effects)
    with mpl.rc_context({"svg.hashsalt": "sensitivity", "font.size": 9, "svg.fonttype": "path"}):
        figure = Figure(figsize=(_WIDTH_INCHES if run.models else _WIDTH_INCHES / 2, height), layout="constrained")
        axes = figure.subplots(1, 2 if run.models else 1, sharey=True, squeeze=False)[0]
        _draw_agreement(axes[0], run)
        if run.models:
            _draw_distributions(axes[1], run)
        for path in paths:
            metadata = {"Date": None} if path.suffix == ".svg" else {}
            figure.savefig(path, dpi=150, metadata=metadata)


def _draw_agreement(axis: Any, run: SensitivityRun) -> None:
    """Draw a dot a variant, a bar from the worst to the best case of unknown evidence, a line at the base."""
    value, low, high = 100 * np.array([effect.agreement.agreement for effect in run.effects]).T
    places = np.arange(len(value))
    axis.axvline(value[0], color=_INK, linewidth=0.8, linestyle=":")
    axis.hlines(places, low, high, color=_FAINT, linewidth=5, label="worst to best case of unknown evidence")
    axis.plot(value, places, "o", color=_INK, markersize=5, label="same category as the panel")
    kappa = 100 * np.array([effect.agreement.kappa.value for effect in run.effects])
    axis.plot(kappa, places, "D", color="#0f766e", markersize=4, label="100 × kappa")
    axis.set_yticks(places, [_label(effect) for effect in run.effects])
    axis.invert_yaxis()
    axis.set_xlabel("agreement with the panel, % of the cases")
    axis.grid(axis="x", color=_FAINT, linewidth=0.4)
    axis.set_axisbelow(True)
    _frame(axis, n_columns=2)


def _draw_distributions(axis: Any, run: SensitivityRun) -> None:
    """Draw a stacked bar a variant: each type's share of top-1 errors, faint where unknown evidence may change it."""
    measured = [effect.distributions for effect in run.effects if effect.distributions is not None]
    portions = 100 * np.array([each.portions for each in measured])
    left = np.zeros(len(measured))
    for place, look in enumerate(looks()):
        known, least, _ = portions[:, place].T
        for width, alpha, label in ((least, 1.0, look.name), (known - least, 0.45, None)):
            if look.name in _ERRORS:
                axis.barh(
                    range(len(measured)), width, left=left, color=look.light, alpha=alpha, height=0.72, label=label
                )
                left += width
    axis.set_xlabel(
        f"share of top-1 errors, %, mean of {len(run.models)} models; faint: may be fine_grained_oov instead"
    )
    axis.tick_params(axis="y", length=0)
    _frame(axis, n_columns=4)


def _label(effect: Effect) -> str:
    variant = effect.variant
    return variant.name if variant.choice == variant.name else f"{variant.choice}: {variant.name}"


def _frame(axis: Any, *, n_columns: int) -> None:
    axis.set_xlim(0, 100)
    axis.legend(
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        ncols=n_columns,
        frameon=False,
        fontsize=8,
        handlelength=1.2,
        columnspacing=1.2,
    )
    for side in ("top", "right", "left"):
        axis.spines[side].set_visible(False)
    axis.tick_params(colors=_INK)
