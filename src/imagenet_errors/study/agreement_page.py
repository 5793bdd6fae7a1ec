"""``agreement`` for people: ``agreement.md``, with every case where we differ, and the answer in the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from rich.console import Group, RenderableType
from rich.markdown import Markdown
from rich.text import Text

from imagenet_errors.chain import ERROR_TYPES
from imagenet_errors.problems import counted
from imagenet_errors.report.markdown import cell, code, decimal, interval, md_table, percent
from imagenet_errors.report.terminal import SHORT_NAMES
from imagenet_errors.study.agreement import AS_GIVEN, NOT_CIRCULAR, WHOLE, AgreementRun, ModelAgreement, input_files
from imagenet_errors.study.agreement_files import FILES, command
from imagenet_errors.study.differences import KINDS
from imagenet_errors.study.outcomes import CATEGORIES, COLUMNS, N_RESAMPLES, PAPERS_COLUMNS, Agreement, PanelOutcomes
from imagenet_errors.study.panel import SharedMistakes
from imagenet_errors.study.published import PublishedAgreement

_CORNER = "panel \\ ours"


def page(run: AgreementRun) -> str:
    """Return the whole page."""
    parts = ["# Agreement with the human experts\n", _how(run)]
    parts += [section for model in run.models for section in (_model_section(model), _published_section(model))]
    parts += [_shared_section(run), _differences(run), _inputs_section(run)]
    return "\n".join(part for part in parts if part)


def agreement_view(run: AgreementRun) -> RenderableType:
    """Return the main tables of every model, and what was written, for a terminal."""
    parts: list[RenderableType] = []
    for model in run.models:
        totals = _figures_table("stage order", model.totals)
        published = "" if model.published is None else _published_totals(model.published, model.totals)
        counts = _counts_table(model.outcomes, called=SHORT_NAMES)
        parts.append(Markdown("\n".join([f"**{cell(model.model)}**\n", counts, totals, published])))
    notes = [f"{counted(len(run.excluded), 'judged image')} excluded by the annotations."] if len(run.excluded) else []
    notes += [f"Stage {stage} did not run: {reason}." for stage, reason in run.basis.chain.not_run.items()]
    notes += [_undecided(run), *(_shared_sentence(one) for one in run.shared)]
    written = f"Written to {run.request.out}: {', '.join(FILES)}"
    return Group(*parts, *(Text(note, style="yellow") for note in notes), Text(written))


def _how(run: AgreementRun) -> str:
    """Say what was compared by what, and what to bear in mind."""
    order = next(iter(run.by_order))
    lines = [
        f"Made by {code(command(run))}; the files' hashes stand at the end.",
        "",
        f"{counted(len(run.mistakes), 'mistake')} of the panel's classified, exactly its images and predictions; "
        f"{counted(len(run.excluded), 'mistake')} on excluded images.",
        f"Stages asked: {', '.join(run.basis.chain.order)} ({order}{'' if order == AS_GIVEN else ' order'}).",
        *(f"Stage {name} did not run: {reason}." for name, reason in run.basis.chain.not_run.items()),
        _undecided(run),
        _circular(run),
        f"Kappa's interval: 95 %, percentile bootstrap of the cases, {N_RESAMPLES:,} resamples, seeded.",
    ]
    return "\n".join(lines) + "\n"


def _undecided(run: AgreementRun) -> str:
    if "fine_grained_oov" in run.basis.chain.not_run and "fine_grained_oov" not in run.verdicts.lacking:
        return "Out-of-vocabulary evidence plays no part."
    n_undecided = int(run.outcomes.undecided.sum())
    if not n_undecided:
        return "No case lacks out-of-vocabulary evidence."
    return (
        f"{counted(n_undecided, 'case')} reached the out-of-vocabulary stage without evidence: with it, each "
        "might be `fine_grained_oov` instead of what it fell through to. Figures are given by what is known, "
        "and in brackets from the worst to the best case of what is not."
    )


def _circular(run: AgreementRun) -> str:
    if not run.request.use_panel_list:
        return "The panel's own list of non-prototypical images was not used."
    if "non_prototypical" in run.basis.chain.not_run:
        return "The panel's own list of non-prototypical images plays no part."
    return (
        "The images that the panel calls non-prototypical are the list of stage `non_prototypical`, as in "
        "the published method (36 images, from the judgements of both models): for that category agreement "
        f"is circular. The row “{NOT_CIRCULAR}” leaves it out; `--no-panel-list` does not use the list."
    )


def _model_section(model: ModelAgreement) -> str:
    tables = [
        text
        for order, outcomes in model.by_order.items()
        for text in (f"Rows the panel's category, columns ours, stages in {_order(order)}:\n", _counts_table(outcomes))
    ]
    return "\n".join(
        [
            f"## {cell(model.model)}\n",
            _trivial(model.figures[WHOLE]),
            _figures_table("stage order", model.totals),
            *tables,
            f"By severity, stages in {_order(next(iter(model.by_order)))}:\n",
            _figures_table("cases", model.figures),
            "Precision (of those we put there, the panel's share) and recall (of the panel's, ours):\n",
            _categories_table(model.figures),
        ]
    )


def _order(name: str) -> str:
    return "the order as given" if name == AS_GIVEN else f"{name} order"


def _trivial(whole: Agreement) -> str:
    """Say what the shares are to be held against."""
    share = percent(whole.n_most_frequent / max(whole.n, 1))
    return (
        f"Calling every case {whole.most_frequent} would agree on {whole.n_most_frequent} of {whole.n} ({share}) with "
        "a kappa of 0: kappa says more than shares.\n"
    )


def _figures_table(first: str, figures: dict[str, Agreement]) -> str:
    header = [first, "n", "same category", "share", "of those explained", "left as failures", "kappa", "bootstrap"]
    return md_table(header, ([part, *_figures_row(agreed)] for part, agreed in figures.items()))


def _figures_row(agreed: Agreement) -> list[str]:
    low, high = agreed.kappa_interval
    return [
        str(agreed.n),
        interval(agreed.n_agree),
        interval(agreed.agreement, percent),
        interval(agreed.agreement_of_explained, percent),
        f"{interval(agreed.n_failures)}, {interval(agreed.share_of_failures, percent)}",
        interval(agreed.kappa, decimal),
        f"{decimal(low)} to {decimal(high)}",
    ]


def _counts_table(outcomes: PanelOutcomes, *, called: Mapping[str, str] = MappingProxyType({})) -> str:
    shown = _shown_columns(outcomes)
    rows = [[name, *(interval(outcomes.counts.cell(name, column)) for column in shown)] for name in CATEGORIES]
    totals = ["sum", *(outcomes.counts.known[:, ERROR_TYPES.index(column)].sum() for column in shown)]
    return md_table([_CORNER, *(called.get(name, name) for name in shown)], [*rows, totals])


def _shown_columns(outcomes: PanelOutcomes) -> tuple[str, ...]:
    """Return the paper's columns, and the others where there are any."""
    n_cases = outcomes.counts.known.sum(axis=0)
    return tuple(name for name in COLUMNS if name in PAPERS_COLUMNS or n_cases[ERROR_TYPES.index(name)])


def _categories_table(figures: dict[str, Agreement]) -> str:
    rows = [
        [
            part,
            name,
            each.n_human,
            each.n_ours,
            each.n_both,
            interval(each.precision, percent),
            interval(each.recall, percent),
        ]
        for part, agreed in figures.items()
        if part != NOT_CIRCULAR
        for name, each in agreed.categories.items()
    ]
    return md_table(["cases", "category", "panel", "ours", "both", "precision", "recall"], rows, text_columns=2)


def _published_section(model: ModelAgreement) -> str:
    """Return totals and cells, theirs and ours in the stage order that they belong to; empty for other cases."""
    published = model.published
    if published is None:
        return ""
    ours = model.by_order[published.order_of_cells]
    what = (
        "The paper's table, in its own stage order."
        if published.is_whole
        else f"The paper gives totals only. Single verdicts of its program settle {published.n_settled} of the "
        f"{published.n} cases, in the program's order, and so the least of each cell."
    )
    rows = [
        [name, *(_published_cell(published, ours, name, column) for column in PAPERS_COLUMNS)] for name in CATEGORIES
    ]
    return "\n".join(
        [
            f"### Beside the published figures ({published.model})\n",
            _published_totals(published, model.totals),
            f"{what} Cells: published / ours; ≠ marks one that cannot be equal whatever the unknown evidence says.\n",
            md_table([_CORNER, *PAPERS_COLUMNS], rows),
        ]
    )


def _published_totals(published: PublishedAgreement, totals: dict[str, Agreement]) -> str:
    """Return a row a stage order: what was published for it, and ours."""
    rows = []
    for order, agreed in totals.items():
        theirs = published.n_agree.get(order, published.n_agree.get(""))
        unsure = " (order not stated)" if order not in published.n_agree and theirs is not None else ""
        agrees = "–" if theirs is None else f"{theirs}{unsure}"
        rows.append([order, agrees, interval(agreed.n_agree), published.n_failures, interval(agreed.n_failures)])
    header = ["stage order", "same category: published", "ours", "left as failures: published", "ours"]
    return md_table(header, rows)


def _published_cell(published: PublishedAgreement, ours: PanelOutcomes, human: str, column: str) -> str:
    least = "" if published.is_whole else "≥ "
    apart = " ≠" if published.is_apart(ours, human, column) else ""
    return f"{least}{published.cells[human][column]} / {interval(ours.counts.cell(human, column))}{apart}"


def _shared_section(run: AgreementRun) -> str:
    """Say what the panel's files have in common, and whether that tells how far it agrees with itself."""
    if not run.shared:
        return ""
    header = ["files", "images in both", "same prediction", "same category", "same severity", "both"]
    rows = [
        [
            " and ".join(one.models),
            one.n_images,
            one.n_cases,
            one.n_same_category,
            one.n_same_severity,
            one.n_same_both,
        ]
        for one in run.shared
    ]
    sentences = "\n".join(_shared_sentence(one) for one in run.shared)
    return f"## Mistakes that two of the panel's files share\n\n{md_table(header, rows)}\n{cell(sentences)}\n"


def _shared_sentence(one: SharedMistakes) -> str:
    if not one.n_cases:
        return f"{' and '.join(one.models)} share no case: how far the panel agrees with itself cannot be told."
    if one.is_copied:
        return (
            f"All {one.n_cases} cases that {' and '.join(one.models)} share are equal to the letter, so one file was "
            "copied from the other there: how far the panel agrees with itself cannot be told from them."
        )
    return (
        f"In {' and '.join(one.models)} the panel gives {one.n_same_category} of {one.n_cases} shared cases the same "
        "category."
    )


def _differences(run: AgreementRun) -> str:
    """List every case put elsewhere, by kind, the most frequent kind first."""
    parts = [
        "## Where we differ\n",
        f"{counted(len(run.differences.rows), 'case')}, by kind; a case has the first kind that fits.\n",
        md_table(["kind", "cases"], run.differences.kinds),
        "In each kind those come first whose types lie furthest apart in severity, then those that the panel "
        "finds most severe. Beside the panel's category stands what our stage of that name says of the "
        "case.\n",
    ]
    for kind, n_cases in run.differences.kinds:
        parts += [f"### {kind}: {n_cases}\n", f"{KINDS[kind]}\n", *_items(run, kind), ""]
    return "\n".join(parts)


def _items(run: AgreementRun, kind: str) -> Iterator[str]:
    """Yield one entry a case: what was taken for what, the panel's reason, ours."""
    mistakes, cases, names = run.mistakes, run.mistakes.cases, run.basis.labels.names
    ranked = run.differences.of_kind(kind).tolist()
    shown = ranked[: run.request.list_at_most]
    for row in shown:
        image = run.basis.annotations.file_names[int(cases.rows[row])].as_py()
        model = f", {cell(mistakes.models[mistakes.model[row]])}" if len(run.models) > 1 else ""
        lacks = " (no out-of-vocabulary evidence)" if run.outcomes.undecided[row] else ""
        category, severity = mistakes.category[row].as_py(), mistakes.severity[row].as_py()
        yield (
            f"1. **{cell(names[cases.label[row]])}** taken for **{cell(names[cases.prediction[row]])}** "
            f"({code(image)}{model})\n"
            f"   - panel: {cell(category)}, {cell(severity)}. "
            f"{cell(run.differences.panels_stage_says[row].as_py())}\n"
            f"   - ours: {ERROR_TYPES[run.outcomes.ours[row]]}{lacks}. {cell(run.verdicts.explanation[row].as_py())}"
        )
    if len(shown) < len(ranked):
        yield f"\nAnd {len(ranked) - len(shown)} more, in `cases.parquet`."


def _inputs_section(run: AgreementRun) -> str:
    """Say by which files it was judged: hash, and of published ones address, commit and licence."""
    columns = {"file": "file_name", "bytes": "n_bytes", "sha256": "sha256", "source": "source", "licence": "licence"}
    files = input_files(run.request.human, run.request.inputs)
    table = md_table(list(columns), ([file[name] for name in columns.values()] for file in files))
    addresses = [f"- {file['source']}: {code(file['address'])}" for file in files if file["address"]]
    return "\n".join(["## Files\n", table, *addresses, ""])
