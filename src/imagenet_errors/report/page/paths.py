"""The decision path of every case of a run at once: each stage's answer, as ``why`` gives it for one.

The stages are asked again, of all cases together, with the evidence that the run names. Where that is gone, or no
longer leads to the verdicts that were written, the page says so instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from imagenet_errors.chain import Chain, Walk
from imagenet_errors.evidence.sources import Evidence
from imagenet_errors.images import ImageIndex
from imagenet_errors.inputs import load_basis
from imagenet_errors.labels import LabelSpace
from imagenet_errors.problems import InputError, counted
from imagenet_errors.runs.tables import ErrorCases, RunTables
from imagenet_errors.tables import Cases, cases_of

_SHOWN_PROPOSALS = 5


@dataclass(frozen=True, eq=False)
class StageAnswers:
    """One stage's answers to the n cases: ``explains`` and ``cannot_tell`` bool [n], and one sentence a case."""

    stage: str
    explains: NDArray[np.bool_]
    cannot_tell: NDArray[np.bool_]
    says: pa.StringArray


@dataclass(frozen=True, eq=False)
class Paths:
    """All stages' answers; ``holds`` bool [n]: the path ends at the verdict that was written.

    ``order``: all stages as ``why`` lists them; ``not_run``: stage -> reason. ``oov_rows`` int64 [n] are rows of
    ``oov_table``, -1 without evidence.
    ``missing`` says in a sentence why there are no paths, or not for all cases; empty otherwise.
    """

    steps: tuple[StageAnswers, ...] = ()
    holds: NDArray[np.bool_] | None = None
    order: tuple[str, ...] = ()
    not_run: dict[str, str] | None = None
    oov_rows: NDArray[np.int64] | None = None
    oov_table: pa.Table | None = None
    missing: str = ""


def decision_paths(run: RunTables, cases: ErrorCases, labels: LabelSpace) -> Paths:
    """Ask every stage about every case; what cannot be asked any more is told in ``missing``."""
    try:
        basis = load_basis(run.manifest.as_inputs())
    except InputError as error:
        return Paths(missing=f"The decision paths are not in this page, since {error.where}: {error.what}.")
    annotations, chain = basis.annotations, basis.chain
    rows = ImageIndex(annotations.file_names).rows(run.file_names, where=run.folder)[cases.image]
    if (rows < 0).any():
        return Paths(missing="The decision paths are not in this page: the annotations now lack images of the run.")
    asked = cases_of(annotations, rows, cases.prediction)
    walk = chain.ask(asked, every_stage=True)
    steps = _steps(walk, pa.array(labels.names, type=pa.string()))
    holds = walk.error_type == cases.error_type
    return Paths(
        steps=steps,
        holds=holds,
        order=chain.every_order,
        not_run=chain.not_run,
        oov_rows=_oov_rows(chain, asked),
        oov_table=_oov_table(basis.evidence),
        missing=_changed(holds),
    )


def _steps(walk: Walk, names: pa.StringArray) -> tuple[StageAnswers, ...]:
    answers = []
    for step in walk.steps:
        if step.finding is not None:
            lacks = step.finding.lacks_evidence
            cannot_tell = np.zeros(len(walk.cases), dtype=np.bool_) if lacks is None else lacks
            answers.append(StageAnswers(step.name, step.finding.explains, cannot_tell, step.says(walk.cases, names)))
    return tuple(answers)


def _changed(holds: NDArray[np.bool_]) -> str:
    n_changed = int((~holds).sum())
    if not n_changed:
        return ""
    return (
        f"The evidence has changed since the run: {counted(n_changed, 'error')} would be judged otherwise now, "
        "and are shown without a decision path."
    )


def _oov_rows(chain: Chain, asked: Cases) -> NDArray[np.int64] | None:
    for _, stage in chain.steps:
        oov = getattr(stage, "oov", None)
        if oov is not None:
            rows: NDArray[np.int64] = oov.rows_of(asked)
            return rows
    return None


def _oov_table(evidence: Evidence) -> pa.Table | None:
    return None if evidence.get("oov") is None else evidence["oov"].table


def proposals_of(paths: Paths, labels: LabelSpace) -> list[dict[str, Any]]:
    """Return what each evidence row that cases use says beyond the decision; see ``proposal_places``.

    ``neighbours``: class and kinship of the nearest training images; ``best``: name, synset, score, and the class
    index of the best proposals, -1 for one outside the classes.
    """
    used = _telling_rows(paths)
    if not len(used) or paths.oov_table is None:
        return []
    return [_evidence(row, labels) for row in paths.oov_table.take(pa.array(used)).to_pylist()]


def _evidence(row: dict[str, Any], labels: LabelSpace) -> dict[str, Any]:
    near = row.get("neighbour_classes") or []
    kin = row.get("neighbour_is_kin") or [False] * len(near)
    return {
        "is_oov": row["is_oov"],
        "support": row["neighbour_support"],
        "count": row["proposal_count"],
        "encoder": row["encoder"],
        "neighbours": [[index, int(bool(is_kin))] for index, is_kin in zip(near, kin, strict=False)],
        "best": [
            [
                entry["name"],
                entry["synset"],
                _rounded(entry["score"]),
                labels.index_of_wnid.get(entry["synset"], -1),
            ]
            for entry in _proposals(row)[:_SHOWN_PROPOSALS]
        ],
    }


def proposal_places(paths: Paths) -> NDArray[np.int64]:
    """Return int64 [n]: each case's place in ``proposals_of`` plus one; 0 where it has none."""
    if paths.oov_rows is None:
        return np.zeros(0, dtype=np.int64)
    used = _telling_rows(paths)
    places = np.searchsorted(used, paths.oov_rows)
    found = np.isin(paths.oov_rows, used)
    return np.where(found, places + 1, 0)


def _proposals(row: dict[str, Any]) -> list[dict[str, Any]]:
    if row["top_proposals"]:
        return list(row["top_proposals"])
    if row["best_name"]:
        return [{"name": row["best_name"], "synset": row["best_synset"], "score": row["best_score"]}]
    return []


def _rounded(score: float | None) -> float | None:
    return None if score is None else round(float(score), 4)


def _telling_rows(paths: Paths) -> NDArray[np.int64]:
    """Return the evidence rows, ascending, that cases use and that hold more than the decision."""
    if paths.oov_rows is None or paths.oov_table is None:
        return np.zeros(0, dtype=np.int64)
    used = np.unique(paths.oov_rows[paths.oov_rows >= 0])
    more = np.zeros(len(paths.oov_table), dtype=np.bool_)
    for name in ("neighbour_support", "neighbour_classes", "proposal_count", "best_name", "top_proposals"):
        if name in paths.oov_table.column_names:
            more |= paths.oov_table[name].is_valid().to_numpy()
    return used[more[used]]
