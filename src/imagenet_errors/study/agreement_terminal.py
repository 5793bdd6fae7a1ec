"""The answer to ``agreement`` in the terminal: the figures of each model, and where the rest lies."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from imagenet_errors.problems import counted
from imagenet_errors.report.markdown import decimal, interval
from imagenet_errors.study.agreement import WHOLE, AgreementRun, ModelAgreement
from imagenet_errors.study.agreement_cells import bounded_cell, shown_columns
from imagenet_errors.study.agreement_files import FILES
from imagenet_errors.study.outcomes import CATEGORIES


def agreement_view(run: AgreementRun) -> RenderableType:
    """Return the table and figures of every model, and what was written."""
    parts: list[RenderableType] = []
    for model in run.models:
        parts += [_table(model), _figures(model)]
    if len(run.excluded):
        parts.append(Text(f"{counted(len(run.excluded), 'judged image')} excluded by the annotations.", style="yellow"))
    for stage, reason in run.chain.not_run.items():
        parts.append(Text(f"Stage {stage} did not run: {reason}.", style="yellow"))
    parts += [Text(_ceiling(run)), Text(f"Written to {run.request.out}: {', '.join(FILES)}")]
    return Group(*parts)


def _table(model: ModelAgreement) -> Table:
    table = Table(title=f"{escape(model.model)}: rows the panel's category, columns ours", title_justify="left")
    table.add_column("panel \\ ours")
    shown = shown_columns(model.outcomes)
    for name in shown:
        table.add_column(name, justify="right")
    for name in CATEGORIES:
        table.add_row(name, *(bounded_cell(model.outcomes, name, column) for column in shown))
    return table


def _figures(model: ModelAgreement) -> Text:
    whole = model.figures[WHOLE]
    low, high = whole.kappa_interval
    lines = [
        f"same category: {interval(whole.n_agree)} of {whole.n}, {interval(whole.agreement, float)}",
        f"left as failures: {interval(whole.n_failures)}; same category among the others: "
        f"{interval(whole.agreement_of_explained, float)}",
        f"kappa: {decimal(whole.kappa.value)} ({decimal(low)} to {decimal(high)})",
    ]
    if whole.n_undecided:
        lacking = counted(whole.n_undecided, "case")
        lines.append(f"without out-of-vocabulary evidence: {lacking}; brackets: worst to best case of it")
    return Text("\n".join(lines))


def _ceiling(run: AgreementRun) -> str:
    told = [
        f"The panel agrees with itself on {one.n_same_category} of {one.n_cases} cases judged in both files."
        for one in run.ceilings
    ]
    return "\n".join(told) or "The panel's agreement with itself needs both of its files."
