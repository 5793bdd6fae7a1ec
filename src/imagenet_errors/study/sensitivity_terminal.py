"""The answer to ``sensitivity`` in the terminal: one row a variant, and what follows."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from imagenet_errors.report.markdown import decimal, interval, percent
from imagenet_errors.study.sensitivity import Effect, SensitivityRun
from imagenet_errors.study.sensitivity_conclusions import conclusions
from imagenet_errors.study.sensitivity_files import FIGURES, FILES


def sensitivity_view(run: SensitivityRun, *, with_figure: bool) -> RenderableType:
    """Return the table, the conclusions and what was written."""
    table = Table(title=f"{run.n_judged} judged mistakes, {len(run.models)} models", title_justify="left")
    for column in ("choice", "variant"):
        table.add_column(column)
    for column in ("same category", "kappa", "changed", "failures of multi-label errors", "rank correlation"):
        table.add_column(column, justify="right")
    for effect in run.effects:
        table.add_row(*_row(effect))
    told = "\n".join(f"{place}. {line}" for place, line in enumerate(conclusions(run), 1))
    files = [*FILES, *(FIGURES if with_figure else ())]
    return Group(table, Text(told), Text(f"Written to {run.request.out}: {', '.join(files)}"))


def _row(effect: Effect) -> list[str]:
    found, own = effect.agreement, effect.distributions
    measured = ["", "", ""]
    if own is not None:
        measured = [percent(own.changed), percent(own.share_of_failures), f"{own.rank_correlation:.3f}"]
    head = [effect.variant.choice, effect.variant.name]
    return [*head, interval(found.n_agree), decimal(found.kappa.value), *measured]
