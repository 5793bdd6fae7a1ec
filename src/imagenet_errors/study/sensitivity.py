"""How much of a result hangs on each design choice: agreement with the panel, and the models' distributions.

Every choice is varied alone (see :mod:`imagenet_errors.study.variants`); all models' distinct cases are classified
once a variant.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from imagenet_errors.chain import ERROR_TYPES, Chain, build_chain
from imagenet_errors.files import check_folder
from imagenet_errors.inputs import Basis, Inputs, load_basis
from imagenet_errors.labels import imagenet_1k
from imagenet_errors.measure import IS_MULTI_LABEL_ERROR
from imagenet_errors.mistakes import Progress, gather
from imagenet_errors.study.agreement import class_names, classify
from imagenet_errors.study.judged import Judged, evaluated, read_judged
from imagenet_errors.study.outcomes import FAILURE, Agreement, agreement
from imagenet_errors.study.ranks import rank_correlation
from imagenet_errors.study.variants import NotVaried, Variant, variants
from imagenet_errors.tables import cases_of


@dataclass(frozen=True)
class Request:
    """What to vary, on which judged mistakes and which models' predictions (none: agreement alone)."""

    human: tuple[Path, ...]
    predictions: tuple[Path, ...]
    inputs: Inputs
    out: Path
    use_panel_list: bool = True
    command: tuple[str, ...] = ()

    @property
    def full_inputs(self) -> Inputs:
        """The inputs with the panel's own list, unless that is turned off."""
        own = self.human if self.use_panel_list else ()
        return self.inputs.with_evidence(non_prototypical=(*self.inputs.evidence.get("non_prototypical", ()), *own))


@dataclass(frozen=True, eq=False)
class Distributions:
    """What M models' errors become under one variant.

    ``counts`` int64 [M, T]; ``changed``: the share of all their top-1 errors that get another type than
    under the base, of those that count under both; ``rank_correlation``: Spearman's, of the models by their
    share of failures among multi-label errors, with the base. NaN where undefined.
    """

    counts: NDArray[np.int64]
    changed: float
    rank_correlation: float

    @property
    def portions(self) -> NDArray[np.float64]:
        """float64 [T]: each type's share of the top-1 errors, averaged over the models."""
        n_errors = self.counts.sum(axis=1, keepdims=True)
        return _mean_over_models(self.counts / np.maximum(n_errors, 1))

    @property
    def share_of_failures(self) -> float:
        """The share of failures among multi-label errors, averaged over the models."""
        return float(_mean_over_models(failures_of_multi_label(self.counts)))


@dataclass(frozen=True, eq=False)
class Effect:
    """One variant and what came of it; ``distributions`` is None without predictions.

    ``n_gained``: cases in the panel's category under the variant, not under the base; ``n_lost``: the other
    way round; both among those that count under both.
    """

    variant: Variant
    agreement: Agreement
    n_gained: int
    n_lost: int
    distributions: Distributions | None


@dataclass(frozen=True, eq=False)
class SensitivityRun:
    """All effects, the base first, and the choices that could not be varied."""

    request: Request
    models: tuple[str, ...]
    n_judged: int
    effects: tuple[Effect, ...]
    not_varied: tuple[NotVaried, ...]

    @property
    def base(self) -> Effect:
        """The result without any variation."""
        return self.effects[0]

    def of_choice(self, choice: str) -> tuple[Effect, ...]:
        """Return the effects of one choice's variants."""
        return tuple(effect for effect in self.effects if effect.variant.choice == choice)

    @property
    def choices(self) -> tuple[str, ...]:
        """The choices that were varied, in order."""
        return tuple(dict.fromkeys(effect.variant.choice for effect in self.effects[1:]))


@dataclass(frozen=True, eq=False)
class _Errors:
    """All models' top-1 errors on annotated images: ``model``, ``case`` int64 [E], a row of distinct cases.

    ``codes`` int64 [n] of those cases; ``rows`` int64 [n] and ``prediction`` int16 [n] what they are.
    """

    models: tuple[str, ...]
    model: NDArray[np.int64]
    case: NDArray[np.int64]
    rows: NDArray[np.int64]
    prediction: NDArray[np.int16]


def sensitivity(request: Request, *, progress: Progress) -> SensitivityRun:
    """Vary every choice and measure; nothing is written.

    Raises
    ------
    InputError
        A file cannot be used, or ``out`` is a file.
    """
    labels = imagenet_1k()
    check_folder(request.out)
    basis = load_basis(request.full_inputs)
    annotations = basis.annotations
    judged = read_judged(request.human, annotations)
    evaluated(judged, annotations)
    made, not_varied = variants(basis.inputs, annotations, basis.evidence, labels=labels)
    errors = _all_errors(request.predictions, basis, progress=progress)
    effects = list(_effects(progress("Varying choices", made, len(made)), judged, errors))
    return SensitivityRun(request, errors.models if errors else (), len(judged), tuple(effects), not_varied)


def failures_of_multi_label(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return float64 [M]: each model's share of failures among its multi-label errors; NaN without any."""
    n_errors = (counts * IS_MULTI_LABEL_ERROR).sum(axis=1)
    shares: NDArray[np.float64] = np.divide(
        counts[:, FAILURE], n_errors, out=np.full(len(counts), np.nan), where=n_errors > 0
    )
    return shares


def _all_errors(paths: Sequence[Path], basis: Basis, *, progress: Progress) -> _Errors | None:
    """Read every model's predictions, and find their errors and the distinct cases among them."""
    if not paths:
        return None
    with gather(paths, basis, progress=progress) as mistakes:
        cases, made = mistakes.cases, []
        for model in mistakes.models:
            predictions = model.load()
            wrong = ~basis.annotations.is_correct(predictions.rows, predictions.top1)
            made.append(cases.find(predictions.rows[wrong], predictions.top1[wrong]))
    return _Errors(
        models=tuple(model.model for model in mistakes.models),
        model=np.repeat(np.arange(len(made)), [len(rows) for rows in made]),
        case=np.concatenate(made),
        rows=cases.rows,
        prediction=cases.prediction,
    )


def _effects(made: Iterable[Variant], judged: Judged, errors: _Errors | None) -> Iterator[Effect]:
    """Yield one effect a variant; the first variant is the base that the others are compared with."""
    before: NDArray[np.int8] | None = None
    base: tuple[NDArray[np.int8], NDArray[np.int64]] | None = None
    for variant in made:
        chain = build_chain(variant.evidence, variant.order)
        found, agrees = _agreement(judged, variant, chain)
        before = agrees if before is None else before
        n_gained, n_lost = (
            int(((before == 0) & (agrees == 1)).sum()),
            int(((before == 1) & (agrees == 0)).sum()),
        )
        distributions = None
        if errors is not None:
            error_type = _types(errors, variant, chain)
            counts = _counts(errors, error_type)
            base = base or (error_type, counts)
            distributions = _distributions(errors, error_type, counts, base=base)
        yield Effect(variant, found, n_gained, n_lost, distributions)


def _types(errors: _Errors, variant: Variant, chain: Chain) -> NDArray[np.int8]:
    """Return int8 [n]: the distinct cases' error types, 0 where the image is excluded."""
    cases = cases_of(variant.annotations, errors.rows, errors.prediction)
    error_type = chain.ask(cases).error_type
    return np.where(variant.annotations.evaluated[errors.rows], error_type, np.int8(0))


def _agreement(judged: Judged, variant: Variant, chain: Chain) -> tuple[Agreement, NDArray[np.int8]]:
    """Return the figures, and int8 [n]: 1 where a judged case agrees, 0 where not, -1 if it is excluded."""
    annotations = variant.annotations
    relabelled = replace(judged, cases=cases_of(annotations, judged.cases.rows, judged.cases.prediction))
    _, outcomes = classify(relabelled, chain, names=class_names(imagenet_1k()))
    counting = annotations.evaluated[judged.cases.rows]
    agrees = np.where(counting, outcomes.human == outcomes.ours, np.int8(-1)).astype(np.int8)
    return agreement(outcomes.among(counting)), agrees


def _counts(errors: _Errors, error_type: NDArray[np.int8]) -> NDArray[np.int64]:
    """Return int64 [M, T]; errors on excluded images are counted nowhere."""
    n_types, n_models = len(ERROR_TYPES), len(errors.models)
    cells = errors.model * n_types + error_type[errors.case]
    counts = np.bincount(cells, minlength=n_models * n_types).reshape(n_models, n_types)
    counts[:, 0] = 0
    return counts


def _distributions(
    errors: _Errors,
    error_type: NDArray[np.int8],
    counts: NDArray[np.int64],
    *,
    base: tuple[NDArray[np.int8], NDArray[np.int64]],
) -> Distributions:
    base_type, base_counts = base
    n_of_case = np.bincount(errors.case, minlength=len(error_type))
    counting = (error_type > 0) & (base_type > 0)
    n_both = int(n_of_case[counting].sum())
    n_changed = int(n_of_case[counting & (error_type != base_type)].sum())
    return Distributions(
        counts=counts,
        changed=n_changed / n_both if n_both else float("nan"),
        rank_correlation=rank_correlation(failures_of_multi_label(counts), failures_of_multi_label(base_counts)),
    )


def _mean_over_models(values: NDArray[np.float64]) -> NDArray[np.float64]:
    known = values[~np.isnan(values).reshape(len(values), -1).any(axis=1)]
    return known.mean(axis=0) if len(known) else np.full(values.shape[1:], np.nan)
