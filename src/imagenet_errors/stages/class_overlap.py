"""Class overlap: the predicted class is an accepted name for the original label's class.

Source: Peychev et al., NeurIPS 2023, section 3; Vasudevan et al. 2022, collapsed mappings.
Differs: the reason for each pair is part of the table and of the verdict.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa

from imagenet_errors.evidence.overlaps import Overlaps
from imagenet_errors.stages.wording import either, fill, named
from imagenet_errors.tables import Cases, Finding


@dataclass(frozen=True, eq=False)
class ClassOverlap:
    """The two classes mean the same thing: the prediction is right, and only the original label differs."""

    overlaps: Overlaps

    name: ClassVar[str] = "class_overlap"
    counts_as: ClassVar[str] = "right"

    def __call__(self, cases: Cases) -> Finding:
        """Explain the cases whose prediction also names the class of an original label."""
        label = self.overlaps.label_beside(cases)
        reason = self.overlaps.reason_of[label, cases.prediction]
        return Finding(reason >= 0, {"reason": reason, "label": label})

    def says(self, cases: Cases, finding: Finding, names: pa.StringArray) -> pa.StringArray:
        """Say for each case why the two classes overlap, or that they do not."""
        label, prediction = named(finding.evidence["label"], names), named(cases.prediction, names)
        reason = named(finding.evidence["reason"], self.overlaps.reasons)
        yes = fill("{} is also right where the label is {}: {}.", prediction, label, reason)
        return either(finding.explains, yes, fill("{} is no other name for {}.", prediction, label))
