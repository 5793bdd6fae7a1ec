"""Non-prototypical: the image is a known non-prototypical instance of its label.

Source: Peychev et al., NeurIPS 2023, section 3; the list is the panel's of Vasudevan et al. 2022.
Differs: the list is given by the user; none is built in.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa

from imagenet_errors.evidence.non_prototypical import NonPrototypicalImages
from imagenet_errors.stages.wording import either, fill, named
from imagenet_errors.tables import Cases, Finding


@dataclass(frozen=True, eq=False)
class NonPrototypical:
    """The object is not a prototypical instance of its class, and hard to recognise for people, too."""

    non_prototypical: NonPrototypicalImages

    name: ClassVar[str] = "non_prototypical"
    counts_as: ClassVar[str] = "explained"

    def __call__(self, cases: Cases) -> Finding:
        """Explain every case of a listed image."""
        return Finding(self.non_prototypical.is_listed[cases.rows])

    def says(self, cases: Cases, finding: Finding, names: pa.StringArray) -> pa.StringArray:
        """Say for each case whether its image is on the list."""
        label = named(cases.label, names)
        yes = fill("The image is listed as a non-prototypical {}.", label)
        return either(finding.explains, yes, fill("The image is not listed as a non-prototypical {}.", label))
