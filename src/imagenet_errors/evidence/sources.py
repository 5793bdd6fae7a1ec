"""All that the stages look things up in, each part there or not, with the reason where it is not."""

from __future__ import annotations

from dataclasses import dataclass

from imagenet_errors.evidence.co_occurrence import CoOccurrence
from imagenet_errors.evidence.non_prototypical import NonPrototypicalImages
from imagenet_errors.evidence.oov import OovEvidence
from imagenet_errors.evidence.overlaps import Overlaps
from imagenet_errors.evidence.superclasses import Superclasses

HOW_TO_GIVE = {
    "oov": "no out-of-vocabulary evidence was given: pass --oov-evidence FILE",
    "non_prototypical": "no list of non-prototypical images was given: pass --non-prototypical FILE",
}


@dataclass(frozen=True, eq=False)
class Evidence:
    """A stage's fields are named as these are; a stage runs when all of its fields are there."""

    overlaps: Overlaps | None = None
    superclasses: Superclasses | None = None
    oov: OovEvidence | None = None
    non_prototypical: NonPrototypicalImages | None = None
    co_occurrence: CoOccurrence | None = None
