"""Fine-grained: the prediction shares a superclass with an accepted label.

Source: Peychev et al., NeurIPS 2023, section 3 (fine-grained errors) and appendix (superclasses).
Differs: the kin named is the original label if it is one, else the lowest accepted label.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa

from imagenet_errors.evidence.superclasses import Superclasses
from imagenet_errors.stages.wording import either, fill, listed, named
from imagenet_errors.tables import Cases, Finding


@dataclass(frozen=True, eq=False)
class FineGrained:
    """A fine-grained confusion: the predicted class shares a superclass with an accepted label."""

    superclasses: Superclasses

    name: ClassVar[str] = "fine_grained"
    counts_as: ClassVar[str] = "minor"

    def __call__(self, cases: Cases) -> Finding:
        """Explain the cases whose prediction is kin to an accepted label; evidence: that label."""
        accepted = cases.accepted.values
        is_kin = self.superclasses.shares[cases.prediction_of_accepted, accepted]
        is_label = accepted == cases.label[cases.accepted.owners]
        kin = cases.accepted.best_of(is_kin * (1 + is_label))
        return Finding(kin >= 0, {"kin": kin})

    def says(self, cases: Cases, finding: Finding, names: pa.StringArray) -> pa.StringArray:
        """Say for each case which superclass holds both, or that none does."""
        kin, prediction = finding.evidence["kin"], named(cases.prediction, names)
        superclass = named(
            self.superclasses.first_shared(cases.prediction, kin),
            pa.array(self.superclasses.names, type=pa.string()),
        )
        yes = fill("{} and {} are both {}.", prediction, named(kin, names), superclass)
        no = fill("No superclass holds {} and any of: {}.", prediction, listed(cases.accepted, names))
        return either(finding.explains, yes, no)
