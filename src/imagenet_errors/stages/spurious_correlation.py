"""Spurious correlation: the prediction often appears together with an accepted label in other images.

Source: Peychev et al., NeurIPS 2023, section 3 (spurious correlations: co-occurrence in ReaL labels).
Differs: names the accepted label seen most often beside the prediction, with the number of images.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa

from imagenet_errors.evidence.co_occurrence import CoOccurrence
from imagenet_errors.stages.wording import either, fill, listed, named
from imagenet_errors.tables import Cases, Finding


@dataclass(frozen=True, eq=False)
class SpuriousCorrelation:
    """The predicted class often co-occurs with an accepted label in other images, but is not in this one."""

    co_occurrence: CoOccurrence

    name: ClassVar[str] = "spurious_correlation"
    counts_as: ClassVar[str] = "explained"

    def __call__(self, cases: Cases) -> Finding:
        """Explain the cases whose prediction co-occurs with an accepted label; evidence: that label."""
        counts, n_images = self.co_occurrence.support(cases)
        seen = np.where(counts, 1 + n_images, 0)
        companion = cases.accepted.best_of(seen)
        best = np.zeros(len(cases), dtype=np.int32)
        np.maximum.at(best, cases.accepted.owners, np.where(counts, n_images, 0))
        return Finding(companion >= 0, {"companion": companion, "n_images": best})

    def says(self, cases: Cases, finding: Finding, names: pa.StringArray) -> pa.StringArray:
        """Say for each case in how many other images the two appear together, or that they do not."""
        prediction, n_images = named(cases.prediction, names), finding.evidence["n_images"]
        companion = named(finding.evidence["companion"], names)
        counted = fill("{} and {} appear together in {} other images.", prediction, companion, n_images)
        yes = either(n_images > 0, counted, fill("{} and {} are a listed pair.", prediction, companion))
        no = fill("{} does not co-occur with any of: {}.", prediction, listed(cases.accepted, names))
        return either(finding.explains, yes, no)
