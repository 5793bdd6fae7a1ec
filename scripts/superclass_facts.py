"""What is published of the method's own superclasses, each fact as a constraint on the relation.

A pair of classes shares a superclass or does not; the prediction of a fine-grained error is kin to one of the
accepted labels; and a published number of label proposals says how many lemmas the classes have that are proposed
only because they share a superclass with the prediction: it is a sum over the prediction's mates.

Source: Peychev et al., NeurIPS 2023, and the outputs of their program (eth-sri/automated-error-analysis).
"""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from imagenet_errors.chain import ERROR_TYPES, build_chain
from imagenet_errors.evidence.overlaps import load_overlaps
from imagenet_errors.evidence.sources import Evidence
from imagenet_errors.evidence.superclasses import Superclasses
from imagenet_errors.images import ImageIndex
from imagenet_errors.inputs import Inputs, load_annotations
from imagenet_errors.labels import GROUPS, imagenet_1k
from imagenet_errors.measure import group_membership
from imagenet_errors.oov.proposals import Proposer
from imagenet_errors.problems import InputError
from imagenet_errors.tables import Annotations, cases_of
from imagenet_errors.wordnet import load_wordnet

ANNOTATIONS = Path("annotations", "human_accuracy_v3.0.0_labels_only.json")
SAME_WEIGHTS = (
    "densenet169",
    "densenet201",
    "resnet18",
    "squeezenet1_0",
    "vgg11",
    "vgg13_bn",
    "vgg16",
    "vgg19_bn",
)
"""Models whose shared predictions come from the same weights as their published rows."""

NOT_KIN = ("fine_grained_oov", "non_prototypical", "spurious_correlation", "model_failure")
"""Published verdicts that say: the prediction shares a superclass with none of the accepted labels."""

Shares = NDArray[np.bool_]


@dataclass(frozen=True)
class Pair:
    """Two classes share a superclass (``kin``) or share none; ``a < b``."""

    a: int
    b: int
    kin: bool

    def holds(self, shares: Shares) -> bool:
        """Return whether a relation bool [C, C] agrees."""
        return bool(shares[self.a, self.b]) == self.kin


@dataclass(frozen=True)
class AnyOf:
    """The prediction shares a superclass with one of the labels at least."""

    prediction: int
    labels: tuple[int, ...]

    def holds(self, shares: Shares) -> bool:
        """Return whether a relation bool [C, C] agrees."""
        return bool(shares[self.prediction, list(self.labels)].any())


@dataclass(frozen=True)
class Sum:
    """The prediction's mates have so many lemmas that nothing but their superclass proposes.

    ``adds``: the lemmas that each of the C classes would add as a mate; 0 where it is proposed anyhow.
    """

    prediction: int
    target: int
    lemmas: int
    adds: tuple[int, ...]

    def holds(self, shares: Shares) -> bool:
        """Return whether a relation bool [C, C] agrees."""
        return int(shares[self.prediction] @ np.array(self.adds)) == self.lemmas


Fact = Pair | AnyOf | Sum


def rows_of(path: Path) -> Iterator[dict[str, str]]:
    """Yield the rows of a CSV of the published outputs.

    Raises
    ------
    InputError
        There is no such file.
    """
    if not path.is_file():
        raise InputError(path, "no such file", fix="Pass --published the folder of the published outputs.")
    with path.open(encoding="utf-8", newline="") as lines:
        yield from csv.DictReader(lines)


def read_facts(published: Path) -> list[Fact]:
    """Return every fact once: pairs, then choices among labels, then sums."""
    cases = list(rows_of(published / "published_cases.csv"))
    kin: dict[tuple[int, int], bool] = {}
    for a, b, is_kin in (*_listed_pairs(published), *_verdict_pairs(cases), *_proposed_mates(cases)):
        if a != b:
            kin[min(a, b), max(a, b)] = is_kin
    choices = {
        AnyOf(int(row["prediction"]), tuple(int(label) for label in row["labels"].split()))
        for row in cases
        if row["error_type"] == "fine_grained" and " " in row["labels"]
    }
    pairs = [Pair(a, b, is_kin) for (a, b), is_kin in sorted(kin.items())]
    return [*pairs, *sorted(choices, key=lambda choice: (choice.prediction, choice.labels)), *_sums(published, cases)]


def _listed_pairs(published: Path) -> Iterator[tuple[int, int, bool]]:
    for row in rows_of(published / "spurious_pairs_half.csv"):
        yield int(row["a"]), int(row["b"]), False
    for row in rows_of(published / "oov_proposal_counts_more.csv"):  # such a case was not explained as fine-grained
        yield int(row["prediction"]), int(row["target"]), False
    for row in rows_of(published / "superclass_pairs.csv"):
        yield int(row["a"]), int(row["b"]), row["share_superclass"] == "True"


def _verdict_pairs(cases: Iterable[dict[str, str]]) -> Iterator[tuple[int, int, bool]]:
    """Yield what single verdicts say of the prediction and each label, where they say it of each."""
    for row in cases:
        labels = row["labels"].split()
        if row["error_type"] in NOT_KIN or (row["error_type"] == "fine_grained" and len(labels) == 1):
            for label in labels:
                yield int(row["prediction"]), int(label), row["error_type"] == "fine_grained"


def _proposed_mates(cases: Iterable[dict[str, str]]) -> Iterator[tuple[int, int, bool]]:
    """Yield the classes among the five best proposals that only a shared superclass can have brought there."""
    without = _Proposed()
    index_of = {wnid: index for index, wnid in enumerate(imagenet_1k().wnids)}
    for row in cases:
        if row["proposal_count"]:
            prediction, target = int(row["prediction"]), int(row["target"])
            best = {f"n{offset:08d}" for offset, _, _ in json.loads(row["top_proposals"])}
            for wnid in best - {wnid for wnid, _ in without.mates(prediction, target)}:
                yield prediction, index_of[wnid], True


def _sums(published: Path, cases: Iterable[dict[str, str]]) -> list[Sum]:
    without = _Proposed()
    counted = [row for row in cases if row["proposal_count"]]
    counted += rows_of(published / "oov_proposal_counts_more.csv")
    proposals = {(int(row["prediction"]), int(row["target"])): int(float(row["proposal_count"])) for row in counted}
    return [
        Sum(prediction, target, n - len(without.mates(prediction, target)), without.adds(prediction, target))
        for (prediction, target), n in sorted(proposals.items())
    ]


class _Proposed:
    """The proposals of a prediction that has no mates."""

    def __init__(self) -> None:
        self._labels = imagenet_1k()
        wordnet = load_wordnet()
        self._proposer = Proposer(self._labels, wordnet, np.eye(len(self._labels), dtype=np.bool_))
        self._lemmas = [len(wordnet.lemmas(int(row))) for row in wordnet.rows(self._labels.wnids)]

    def mates(self, prediction: int, target: int) -> list[tuple[str, str]]:
        """Return (wnid, name) of every proposal."""
        return self._proposer.names(prediction, target)

    def adds(self, prediction: int, target: int) -> tuple[int, ...]:
        """Return the lemmas that each class would add as a mate."""
        proposed = {wnid for wnid, _ in self.mates(prediction, target)}
        pairs = zip(self._labels.wnids, self._lemmas, strict=True)
        return tuple(0 if wnid in proposed else n for wnid, n in pairs)


@dataclass(frozen=True, eq=False)
class Confusions:
    """The m distinct (image, prediction) cases that only superclasses can explain as fine-grained.

    ``prediction`` int16 [m]; ``accepted``: the labels of each; ``in_group`` bool [4, m]; ``made`` bool
    [models, m]: the model makes this error; ``images`` int [C, C], symmetric: distinct images with one
    accepted label that are taken for another class.
    """

    prediction: NDArray[np.int16]
    accepted: list[list[int]]
    in_group: NDArray[np.bool_]
    made: NDArray[np.bool_]
    models: tuple[str, ...]
    images: NDArray[np.int64]


def read_confusions(published: Path, models: Sequence[str] = ()) -> Confusions:
    """Read the errors of the models (all, unless named) whose predictions lie beside the published folder."""
    labels = imagenet_1k()
    annotations = load_annotations(Inputs(str(published.parent / ANNOTATIONS)), labels)
    folder = published.parent / "predictions_many"
    files = [folder / f"{model}.parquet" for model in models] or sorted(folder.glob("*.parquet"))
    errors = [_errors(file, annotations) for file in files]
    keys, which = np.unique(np.concatenate(errors), return_inverse=True)
    made = np.zeros((len(files), len(keys)), dtype=np.bool_)
    made[np.repeat(np.arange(len(files)), [len(error) for error in errors]), which] = True
    cases = cases_of(annotations, keys // len(labels), (keys % len(labels)).astype(np.int16))
    nothing_shared = Superclasses((), (), (), (), n_classes=len(labels))
    chain = build_chain(Evidence({"overlaps": load_overlaps(labels), "superclasses": nothing_shared}))
    left = chain.ask(cases).error_type == ERROR_TYPES.index("model_failure")
    offsets, values = cases.accepted.offsets, cases.accepted.values
    accepted = [values[offsets[row] : offsets[row + 1]].tolist() for row in np.flatnonzero(left)]
    prediction = (keys[left] % len(labels)).astype(np.int16)
    return Confusions(
        prediction=prediction,
        accepted=accepted,
        in_group=group_membership(cases.accepted, labels)[:, left],
        made=made[:, left],
        models=tuple(file.stem for file in files),
        images=_images(prediction, accepted, len(labels)),
    )


def _errors(predictions: Path, annotations: Annotations) -> NDArray[np.int64]:
    """Return image row x C + prediction of each wrong top-1 on an evaluated image."""
    table = pq.read_table(predictions)
    names = pa.array(table["file_name"].to_pylist(), type=pa.string())
    rows = ImageIndex(annotations.file_names).rows(names, where=predictions)
    top1 = table["predicted_class"].to_numpy().astype(np.int64)
    counted = rows >= 0
    counted[counted] = annotations.evaluated[rows[counted]]
    rows, top1 = rows[counted].astype(np.int64), top1[counted]
    wrong = top1 != annotations.label[rows]
    errors: NDArray[np.int64] = rows[wrong] * len(imagenet_1k()) + top1[wrong]
    return errors


def _images(prediction: NDArray[np.int16], accepted: list[list[int]], n_classes: int) -> NDArray[np.int64]:
    images = np.zeros((n_classes, n_classes), dtype=np.int64)
    single = [(labels[0], int(other)) for labels, other in zip(accepted, prediction, strict=True) if len(labels) == 1]
    np.add.at(images, tuple(np.array(single).T), 1)
    return images + images.T


def published_counts(published: Path) -> NDArray[np.int64]:
    """Return int [models, groups]: the published fine-grained counts of the models with known predictions."""
    theirs = {
        (row["model_dir_id"].removeprefix("torchvision--"), group): int(row["num_same_superclass"])
        for group in GROUPS
        for row in rows_of(published / f"stats_imagenet_{group}.csv")
    }
    return np.array([[theirs[model, group] for group in GROUPS] for model in SAME_WEIGHTS])


def facts_of_class(facts: Iterable[Fact], shares: Shares) -> NDArray[np.int64]:
    """Return int [C, 3]: the pairs and choices that name each class, its own sums, and the sums it is counted in."""
    touched: dict[int, list[int]] = defaultdict(lambda: [0, 0, 0])
    for fact in facts:
        if isinstance(fact, Sum):
            touched[fact.prediction][1] += 1
            for mate in np.flatnonzero(shares[fact.prediction] & (np.array(fact.adds) > 0)):
                touched[int(mate)][2] += 1
        else:
            named = (fact.a, fact.b) if isinstance(fact, Pair) else (fact.prediction, *fact.labels)
            for index in named:
                touched[index][0] += 1
    return np.array([touched[index] for index in range(len(shares))])
