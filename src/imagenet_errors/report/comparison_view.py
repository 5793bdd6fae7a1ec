"""How a comparison of two models looks: in the terminal, and as Markdown for a pull request's comment."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from imagenet_errors.chain import ERROR_TYPES
from imagenet_errors.compare import RATES, ModelComparison, PairedTest

_TITLES = {
    "top1_accuracy": "top-1 accuracy",
    "mla": "multi-label accuracy (MLA)",
    "mla_minor": "MLA, fine-grained forgiven",
    "mla_explained": "MLA, all but failures forgiven",
}
Rows = list[tuple[str, ...]]


def comparison_view(comparison: ModelComparison) -> RenderableType:
    """Return the comparison for the terminal."""
    parts: list[RenderableType] = [Text(line) for line in _lines(comparison)]
    for title, head, rows in _tables(comparison):
        table = Table(title=title, title_justify="left")
        for place, column in enumerate(head):
            table.add_column(column, justify="right" if place else "left", overflow="fold")
        for row in rows:
            table.add_row(*(Text(cell) for cell in row))
        parts.append(table)
    return Group(*parts)


def comparison_markdown(comparison: ModelComparison) -> str:
    """Return the comparison as Markdown."""
    lines = [f"### {_escaped(_title(comparison))}", ""]
    lines += [f"- {_escaped(line)}" for line in _lines(comparison)]
    for title, head, rows in _tables(comparison):
        lines += ["", f"**{title}**", "", f"| {' | '.join(map(_escaped, head))} |"]
        lines.append(f"|{' --- |' * 1}{' ---: |' * (len(head) - 1)}")
        lines += [f"| {' | '.join(map(_escaped, row))} |" for row in rows]
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    for sign in "\\`*_[]<>|":
        text = text.replace(sign, f"\\{sign}")
    return text


def _title(comparison: ModelComparison) -> str:
    return " → ".join(_called(comparison))


def _called(comparison: ModelComparison) -> tuple[str, str]:
    """Return what tells the two apart: the models, or, where these are called alike, their runs too."""
    sides = comparison.first, comparison.second
    if sides[0].model != sides[1].model or sides[0].run == sides[1].run:
        return sides[0].model, sides[1].model
    return f"{sides[0].run}:{sides[0].model}", f"{sides[1].run}:{sides[1].model}"


def _lines(comparison: ModelComparison) -> list[str]:
    changed, n_common = comparison.n_changed_predictions, comparison.n_common
    lines = [*comparison.notes]
    if n_common:
        share = changed / n_common
        lines.append(f"{changed:,} of {n_common:,} common images are predicted otherwise ({share:.1%}).")
        lines.append(f"Model failures: {_test(comparison.severe)}.")
        lines.append(f"Multi-label errors: {_test(comparison.multi_label)}.")
    if comparison.same_error_share is not None:
        lines.append(f"Where both are wrong, they name the same class in {comparison.same_error_share:.1%}.")
    return lines


def _test(test: PairedTest) -> str:
    p = "p < 0.001" if test.p_value < 0.001 else f"p = {test.p_value:.3f}"
    return f"only the first on {test.only_first:,} images, only the second on {test.only_second:,} (exact McNemar {p})"


def _tables(comparison: ModelComparison) -> list[tuple[str, tuple[str, ...], Rows]]:
    first, second = comparison.first, comparison.second
    names_of_both = _called(comparison)
    head = ("", *names_of_both, "change")
    rates: Rows = []
    for group in (name for name in first.rates if name in second.rates):
        for rate in RATES if group == "all" else RATES[:2]:
            one, other = first.rates[group][rate], second.rates[group][rate]
            title = _TITLES[rate] if group == "all" else f"{_TITLES[rate]}, {group}"
            rates.append((title, _percent(one), _percent(other), _points(one, other)))
    names = ERROR_TYPES[1:]
    errors: Rows = [
        (
            name,
            *(_count(side.counts.get(name)) for side in (first, second)),
            _count(comparison.gained.get(name)),
            _count(comparison.lost.get(name)),
        )
        for name in names
    ]
    return [("Rates", head, rates), ("Errors", ("", *names_of_both, "gained", "lost"), errors)]


def _percent(share: float | None) -> str:
    return "n/a" if share is None else f"{share:.2%}"


def _points(one: float | None, other: float | None) -> str:
    return "n/a" if one is None or other is None else f"{100 * (other - one):+.2f}"


def _count(count: int | None) -> str:
    return "not run" if count is None else f"{count:,}"
