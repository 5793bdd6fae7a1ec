"""``agreement.md``: how far we agree with the panel, what was published, and every case where we differ."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from imagenet_errors.chain import DEFAULT_ORDER, ERROR_TYPES, PUBLISHED_ORDER
from imagenet_errors.labels import LabelSpace, imagenet_1k
from imagenet_errors.problems import counted
from imagenet_errors.report.markdown import cell, decimal, interval, md_table, percent
from imagenet_errors.study.agreement import NOT_CIRCULAR, WHOLE, AgreementRun, ModelAgreement
from imagenet_errors.study.agreement_cells import bounded_cell, shown_columns
from imagenet_errors.study.agreement_published import published_section, published_verdicts_section
from imagenet_errors.study.ceiling import Ceiling
from imagenet_errors.study.disagreements import KINDS
from imagenet_errors.study.outcomes import CATEGORIES, N_RESAMPLES, Agreement, Outcomes


def page(run: AgreementRun) -> str:
    """Return the whole page."""
    parts = ["# Agreement with the human experts\n", _how(run)]
    for model in run.models:
        parts += [_model_section(model), published_section(model)]
    parts += [published_verdicts_section(run), _ceiling_section(run), _differences(run)]
    return "\n".join(part for part in parts if part)


def _how(run: AgreementRun) -> str:
    """Say what was compared by what, and what to bear in mind."""
    sources = run.request.full_inputs
    names = {DEFAULT_ORDER: " (the paper's)", PUBLISHED_ORDER: " (the published program's)"}
    judged, excluded = (counted(len(part), "judged mistake") for part in (run.judged, run.excluded))
    lines = [
        f"Made by `{shlex.join(run.request.command)}`." if run.request.command else "",
        "",
        f"{judged} classified, exactly the panel's images and predictions; {excluded} on excluded images.",
        f"Stages asked: {', '.join(run.chain.order)}{names.get(sources.stage_order, '')}.",
        *(f"Stage {name} did not run: {reason}." for name, reason in run.chain.not_run.items()),
        _undecided(run),
        _circular(run),
        f"Kappa's interval: 95 %, percentile bootstrap of the cases, {N_RESAMPLES:,} resamples, seeded.",
    ]
    return "\n".join(lines) + "\n"


def _undecided(run: AgreementRun) -> str:
    if "fine_grained_oov" in run.chain.not_run and "fine_grained_oov" not in run.verdicts.lacking:
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
    if "non_prototypical" in run.chain.not_run:
        return "The panel's own list of non-prototypical images plays no part."
    return (
        "The images that the panel calls non-prototypical are the list of stage `non_prototypical`, as in "
        "the published method (36 images, from the judgements of both models): for that category agreement "
        f"is circular. The row “{NOT_CIRCULAR}” leaves it out; `--no-panel-list` does not use the list."
    )


def _model_section(model: ModelAgreement) -> str:
    return "\n".join(
        [
            f"## {model.model}\n",
            _lead(model.figures[WHOLE]),
            _figures_table(model.figures),
            "Rows the panel's category, columns ours:\n",
            outcomes_table(model.outcomes),
            "Precision (of those we put there, the panel's share) and recall (of the panel's, ours):\n",
            _categories_table(model.figures),
        ]
    )


def _lead(whole: Agreement) -> str:
    """Say the main figures in words, and what to hold them against."""
    trivial = percent(whole.n_most_frequent / max(whole.n, 1))
    return (
        f"The panel and we agree on {interval(whole.n_agree)} of {whole.n} cases, "
        f"{interval(whole.agreement, float)}; {interval(whole.n_failures)} are left as model failures, and "
        f"of the others we agree on {interval(whole.agreement_of_explained, float)}.\n"
        f"Calling every case {whole.most_frequent} would agree on {whole.n_most_frequent} ({trivial}) with a "
        f"kappa of 0: shares alone say little, kappa ({decimal(whole.kappa.value)}) says more.\n"
    )


def _figures_table(figures: dict[str, Agreement]) -> str:
    header = [
        "cases",
        "n",
        "same category",
        "share",
        "of those explained",
        "left as failures",
        "kappa",
        "interval",
    ]
    return md_table(header, (_figures_row(part, own) for part, own in figures.items()))


def _figures_row(part: str, figures: Agreement) -> list[str]:
    low, high = figures.kappa_interval
    return [
        part,
        str(figures.n),
        interval(figures.n_agree),
        interval(figures.agreement, float),
        interval(figures.agreement_of_explained, float),
        interval(figures.share_of_failures, float),
        decimal(figures.kappa.value),
        f"{decimal(low)} to {decimal(high)}",
    ]


def outcomes_table(outcomes: Outcomes) -> str:
    """Return the table of counts with their bounds; overlaps and multi-objects only where there are any."""
    shown = shown_columns(outcomes)
    rows = [[name, *(bounded_cell(outcomes, name, column) for column in shown)] for name in CATEGORIES]
    totals = ["sum", *(str(outcomes.table[:, ERROR_TYPES.index(column)].sum()) for column in shown)]
    return md_table(["panel \\ ours", *shown], [*rows, totals])


def _categories_table(figures: dict[str, Agreement]) -> str:
    rows = [
        [
            part,
            name,
            str(own.categories[name].n_human),
            str(own.categories[name].n_ours),
            str(own.categories[name].n_both),
            interval(own.categories[name].precision, float),
            interval(own.categories[name].recall, float),
        ]
        for part, own in figures.items()
        if part != NOT_CIRCULAR
        for name in CATEGORIES
    ]
    return md_table(["cases", "category", "panel", "ours", "both", "precision", "recall"], rows, text_columns=2)


def _ceiling_section(run: AgreementRun) -> str:
    """Say how far the panel agrees with itself, beside our agreement."""
    if not run.ceilings:
        return (
            "## The ceiling\n\n"
            "One file of judgements was given, so no case is judged twice, and how far the panel agrees with "
            "itself cannot be told. Give both of its files (`--human` twice).\n"
        )
    header = ["files", "images in both", "same prediction", "same category", "same severity", "both", "kappa"]
    of_models = [f"{model.model} {percent(model.figures[WHOLE].agreement.value)}" for model in run.models]
    return "\n".join(
        [
            "## The ceiling\n",
            "Images that both files judge, with the same prediction in both, put into the same category:\n",
            md_table(header, (_ceiling_row(one) for one in run.ceilings)),
            f"Our agreement with the panel: {', '.join(of_models)}. Nobody can be expected above its own.\n",
        ]
    )


def _ceiling_row(one: Ceiling) -> list[object]:
    low, high = one.kappa_interval
    return [
        " and ".join(one.models),
        one.n_images,
        one.n_cases,
        f"{one.n_same_category} ({percent(one.agreement)})",
        one.n_same_severity,
        one.n_same_both,
        f"{decimal(one.kappa)} ({decimal(low)} to {decimal(high)})",
    ]


def _differences(run: AgreementRun) -> str:
    """List every case judged differently, by kind, the most frequent kind first."""
    n_differing, labels = counted(len(run.differing.rows), "case"), imagenet_1k()
    parts = [
        "## Where we differ\n",
        f"{n_differing}, by kind; a case has the first kind that fits.\n",
        md_table(["kind", "cases"], run.differing.kinds),
        "In each kind those come first whose types lie furthest apart in severity, then those that the panel "
        "finds most severe. Beside the panel's category stands what our stage of that name says of the "
        "case.\n",
    ]
    for kind, n_cases in run.differing.kinds:
        parts += [f"### {kind}: {n_cases}\n", f"{KINDS[kind]}\n", *_items(run, kind, labels), ""]
    return "\n".join(parts)


def _items(run: AgreementRun, kind: str, labels: LabelSpace) -> Iterator[str]:
    """Yield one entry a case: what was taken for what, the panel's reason, ours."""
    judged, cases = run.judged, run.judged.cases
    ranked = run.differing.of_kind(kind).tolist()
    shown = ranked[: run.request.list_at_most]
    for row in shown:
        image = run.annotations.file_names[int(cases.rows[row])].as_py()
        label, prediction = labels.names[cases.label[row]], labels.names[cases.prediction[row]]
        model = f", {judged.models[judged.model[row]]}" if len(run.models) > 1 else ""
        lacks = " (no out-of-vocabulary evidence)" if run.outcomes.undecided[row] else ""
        ours, why = ERROR_TYPES[run.outcomes.ours[row]], run.verdicts.explanation[row].as_py()
        category, severity = judged.category[row].as_py(), judged.severity[row].as_py()
        yield (
            f"1. **{cell(label)}** taken for **{cell(prediction)}** (`{image}`{cell(model)})\n"
            f"   - panel: {cell(category)}, {cell(severity)}. "
            f"{cell(run.differing.panels_stage_says[row].as_py())}\n"
            f"   - ours: {ours}{lacks}. {cell(why)}"
        )
    if len(shown) < len(ranked):
        yield f"\nAnd {len(ranked) - len(shown)} more, in `cases.parquet`."
