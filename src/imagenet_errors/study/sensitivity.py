"""How much of a result hangs on each design choice: agreement with the panel, and the models' distributions.

Every choice is varied alone (see :mod:`imagenet_errors.study.variants`); all models' distinct cases are classified
once a variant. Beside that stands, for each label set on the images that it has, what ``evaluate`` would say.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow.compute as pc

from imagenet_errors.chain import build_chain
from imagenet_errors.evidence.oov import OovEvidence, read_oov_evidence
from imagenet_errors.evidence.sources import load_evidence
from imagenet_errors.files import check_folder
from imagenet_errors.images import ImageIndex
from imagenet_errors.inputs import Basis, Inputs, load_annotations, load_basis
from imagenet_errors.label_sets import COMBINATIONS, combined
from imagenet_errors.mistakes import Failure, Progress, gather, silent
from imagenet_errors.problems import InputError
from imagenet_errors.readers.predictions import ReadRules
from imagenet_errors.study.agreement import check_files, with_panel_list
from imagenet_errors.study.effects import (
    Effect,
    ModelErrors,
    effects_of,
    error_counts,
    model_errors,
    outcome_of,
    possible_of,
)
from imagenet_errors.study.outcomes import BoundedCounts
from imagenet_errors.study.panel import evaluated, read_panel
from imagenet_errors.study.variants import NotVaried, variants
from imagenet_errors.tables import Annotations

REAL = "ReaL"


@dataclass(frozen=True)
class SensitivityRequest:
    """What to vary, on the panel's files (model -> file) and which models' predictions (none: agreement alone).

    ``label_sets``: annotations to try beside ReaL's, named as ``--annotations`` is; ``oov_tables``: evidence to try
    instead of that in ``inputs``, from other pools of images or encoders.
    """

    human: Mapping[str, Path]
    predictions: tuple[Path, ...]
    inputs: Inputs
    out: Path
    label_sets: tuple[str, ...] = ()
    oov_tables: tuple[Path, ...] = ()
    use_panel_list: bool = True
    rules: ReadRules = field(default_factory=ReadRules)


@dataclass(frozen=True, eq=False)
class LabelSetFigures:
    """What M models' errors are by one label set, on the images that it has: ``counts`` [M, T]."""

    name: str
    n_evaluated: int
    models: tuple[str, ...]
    counts: BoundedCounts


@dataclass(frozen=True, eq=False)
class SensitivityRun:
    """All effects, the base first; the label sets' figures; and what could not be varied or read."""

    request: SensitivityRequest
    basis: Basis
    models: tuple[str, ...]
    n_mistakes: int
    effects: tuple[Effect, ...]
    label_sets: tuple[LabelSetFigures, ...]
    not_varied: tuple[NotVaried, ...]
    failures: tuple[Failure, ...]

    @property
    def base(self) -> Effect:
        """The result without any variation."""
        return self.effects[0]

    @property
    def choices(self) -> dict[str, tuple[Effect, ...]]:
        """The choices that were varied, in order, with their variants' effects."""
        names = dict.fromkeys(effect.variant.choice for effect in self.effects[1:])
        return {name: tuple(effect for effect in self.effects if effect.variant.choice == name) for name in names}


def sensitivity(request: SensitivityRequest, *, progress: Progress = silent) -> SensitivityRun:
    """Vary every choice and measure; nothing is written.

    Raises
    ------
    InputError
        A file cannot be used, or ``out`` is a file.
    """
    check_folder(request.out)
    check_files((*request.human.values(), *request.oov_tables))
    inputs = with_panel_list(request.inputs, request.human if request.use_panel_list else {})
    basis = load_basis(inputs, request.predictions)
    mistakes = read_panel(request.human, basis.annotations)
    evaluated(mistakes, basis.annotations)
    label_sets = _label_sets(request, basis)
    ways, not_varied = variants(basis, label_sets=label_sets, pools=_pools(request, basis))
    errors, failures = _errors(request, basis, progress)
    outcomes = (outcome_of(way, mistakes, errors) for way in progress("Varying choices", ways, len(ways)))
    figures, not_measured = _by_label_set(request, basis, label_sets, progress)
    return SensitivityRun(
        request=request,
        basis=basis,
        models=errors.models if errors else (),
        n_mistakes=len(mistakes),
        effects=effects_of(list(outcomes), mistakes, errors),
        label_sets=figures,
        not_varied=(*not_varied, *not_measured),
        failures=failures,
    )


def _errors(
    request: SensitivityRequest, basis: Basis, progress: Progress
) -> tuple[ModelErrors | None, tuple[Failure, ...]]:
    if not request.predictions:
        return None, ()
    with gather(request.predictions, basis, rules=request.rules, progress=progress) as mistakes:
        return model_errors(mistakes, basis.annotations), mistakes.failures


def _label_sets(request: SensitivityRequest, basis: Basis) -> dict[str, Annotations]:
    """Return the other label sets: ReaL's unless it is the base, those given, and the base and those as one."""
    given = {} if basis.inputs.annotations == "real" else {REAL: "real"}
    given |= {Path(name).stem: name for name in request.label_sets}
    sets = {
        name: load_annotations(replace(basis.inputs, annotations=place), basis.labels) for name, place in given.items()
    }
    together = [basis.annotations, *(sets[Path(name).stem] for name in request.label_sets)]
    if len(together) > 1:
        for how in COMBINATIONS:
            sets[f"{how} of all"] = combined(together, how)
    return sets


def _pools(request: SensitivityRequest, basis: Basis) -> dict[str, OovEvidence]:
    """Return the other tables of evidence by file name, with the pool and encoder that they say."""
    images = ImageIndex(basis.annotations.file_names)
    tables = [(path.stem, read_oov_evidence(path, images)) for path in request.oov_tables]
    return {" ".join([stem, *_made_with(oov)]): oov for stem, oov in tables}


def _made_with(oov: OovEvidence) -> list[str]:
    columns = [oov.table[name] for name in ("pool", "encoder") if name in oov.table.column_names]
    return [f"({value})" for column in columns for value in pc.unique(column.drop_null()).to_pylist()]


def _by_label_set(
    request: SensitivityRequest, basis: Basis, label_sets: Mapping[str, Annotations], progress: Progress
) -> tuple[tuple[LabelSetFigures, ...], tuple[NotVaried, ...]]:
    """Evaluate the models by every label set, on the images that it has."""
    figures: list[LabelSetFigures] = []
    not_measured: list[NotVaried] = []
    sets = {basis.annotations.name: basis.annotations, **label_sets} if request.predictions else {}
    for name, label_set in sets.items():
        try:
            figures.append(_figures(name, label_set, request, basis, progress))
        except InputError as problem:
            not_measured.append(NotVaried(f"label set {name}", str(problem)))
    return tuple(figures), tuple(not_measured)


def _figures(
    name: str, annotations: Annotations, request: SensitivityRequest, basis: Basis, progress: Progress
) -> LabelSetFigures:
    evidence = load_evidence(basis.inputs.evidence, annotations, basis.labels)
    chain = build_chain(evidence, basis.inputs.stage_order)
    of_set = Basis(basis.inputs, basis.labels, annotations, evidence, chain)
    with gather(request.predictions, of_set, rules=request.rules, progress=progress) as mistakes:
        errors = model_errors(mistakes, annotations)
    counts = error_counts(errors, possible_of(of_set, errors.cases))
    return LabelSetFigures(name, int(annotations.evaluated.sum()), errors.models, counts)
