"""A world of five classes for tests: two cats, a dog, a sofa and a mug."""

import numpy as np
import pyarrow as pa

from imagenet_errors.chain import DEFAULT_ORDER
from imagenet_errors.evidence.co_occurrence import CoOccurrence
from imagenet_errors.evidence.non_prototypical import NonPrototypicalImages
from imagenet_errors.evidence.oov import OOV_SCHEMA, OovEvidence
from imagenet_errors.evidence.overlaps import Overlaps
from imagenet_errors.evidence.sources import Evidence
from imagenet_errors.evidence.superclasses import Superclasses
from imagenet_errors.inputs import Inputs
from imagenet_errors.labels import LabelSpace
from imagenet_errors.tables import Annotations, Cases, Ragged, case_codes, cases_of

TABBY, TIGER_CAT, BEAGLE, SOFA, MUG = range(5)
NAMES = ("tabby", "tiger cat", "beagle", "sofa", "mug")
CLASS_NAMES = pa.array(NAMES)
LABELS = LabelSpace(
    wnids=tuple(f"n0000000{index}" for index in range(5)),
    names=NAMES,
    descriptions=NAMES,
    groups=("organism", "organism", "organism", "artifact", "other"),
)
SUPERCLASSES = Superclasses(
    names=("cats",),
    reasons=("both purr",),
    domains=("pets",),
    members=(np.array([TABBY, TIGER_CAT]),),
    n_classes=5,
)


def overlaps(*pairs):
    reason_of = np.full((5, 5), -1, dtype=np.int16)
    for label, prediction in pairs:
        reason_of[label, prediction] = 0
    return Overlaps(reason_of, pa.array(["a mug is a cup"]))


def co_occurrence(*pairs, n_images=7):
    table, counts = np.zeros((5, 5), dtype=bool), np.zeros((5, 5), dtype=np.int32)
    for a, b in pairs:
        table[a, b] = table[b, a] = True
        counts[a, b] = counts[b, a] = n_images
    return CoOccurrence(table, counts, "toy")


def oov(*rows):
    """Each row: (image row, prediction, is_oov, best name)."""
    ordered = sorted(rows)
    columns = {column.name: [None] * len(rows) for column in OOV_SCHEMA}
    columns["file_name"] = [f"image{row}" for row, *_ in ordered]
    columns["prediction"] = [prediction for _, prediction, *_ in ordered]
    columns["is_oov"] = [is_oov for _, _, is_oov, _ in ordered]
    columns["best_name"] = [name for *_, name in ordered]
    table = pa.table(columns, schema=OOV_SCHEMA)
    codes = case_codes(np.array([row for row, *_ in ordered]), np.array(columns["prediction"]))
    return OovEvidence(codes, table, n_unknown=0)


def listed(*rows, n_images=4):
    is_listed = np.zeros(n_images, dtype=bool)
    is_listed[list(rows)] = True
    return NonPrototypicalImages(is_listed)


def annotations(*images):
    """Each image: (label, accepted labels)."""
    return Annotations(
        name="toy",
        file_names=pa.array([f"image{row}" for row in range(len(images))]),
        label=np.array([label for label, _ in images], dtype=np.int16),
        accepted=Ragged.of(sorted(accepted) for _, accepted in images),
        problematic=np.zeros(len(images), dtype=bool),
    )


def one_case(accepted, prediction, label=SOFA) -> Cases:
    return cases_of(annotations((label, accepted)), np.array([0]), np.array([prediction], dtype=np.int16))


ABSENT = {"oov": "pass --oov-evidence FILE", "non_prototypical": "pass --non-prototypical FILE"}


def whole_evidence(**parts) -> Evidence:
    given = {
        "overlaps": overlaps((MUG, SOFA)),
        "superclasses": SUPERCLASSES,
        "oov": oov(),
        "non_prototypical": listed(),
        "co_occurrence": co_occurrence((SOFA, TABBY)),
    }
    return Evidence({name: part for name, part in (given | parts).items() if part is not None}, ABSENT)


def inputs_of(annotations="real", *, stage_order=DEFAULT_ORDER, **files) -> Inputs:
    """What a command line says: annotations by name or path, evidence files by option."""
    return Inputs(str(annotations), stage_order=stage_order).with_evidence(**files)
