"""Multi-object: the predicted class is one of the image's accepted labels.

Source: Peychev et al., NeurIPS 2023, section 3; Shankar et al. 2020 (multi-label annotations).
Differs: nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa

from imagenet_errors.stages.wording import either, fill, listed, named
from imagenet_errors.tables import Cases, Finding


@dataclass(frozen=True, eq=False)
class MultiObject:
    """The image shows several objects: the prediction is an accepted label, only not the original one."""

    name: ClassVar[str] = "multi_object"
    counts_as: ClassVar[str] = "right"

    def __call__(self, cases: Cases) -> Finding:
        """Explain the cases whose prediction is accepted for the image."""
        return Finding(cases.accepted.any_of(cases.accepted.values == cases.prediction_of_accepted))

    def says(self, cases: Cases, finding: Finding, names: pa.StringArray) -> pa.StringArray:
        """Say for each case whether the prediction is among the accepted labels, and name them."""
        prediction, accepted = named(cases.prediction, names), listed(cases.accepted, names)
        yes = fill("{} is one of the image's accepted labels: {}.", prediction, accepted)
        return either(finding.explains, yes, fill("{} is not among the accepted labels: {}.", prediction, accepted))
