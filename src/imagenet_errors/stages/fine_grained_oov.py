"""Fine-grained out-of-vocabulary: the image shows kin of the prediction that is none of the classes.

Source: Peychev et al., NeurIPS 2023, section 3 (fine-grained OOV errors) and appendix (CLIP, WordNet).
Differs: the evidence is computed beforehand, once a case; this is a lookup, and cases without evidence
    fall through and are counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa

from imagenet_errors.evidence.oov import OovEvidence
from imagenet_errors.stages.wording import either, fill, named
from imagenet_errors.tables import Cases, Finding


@dataclass(frozen=True, eq=False)
class FineGrainedOov:
    """The object's own class is not among the classes, and the prediction is a class of its kind."""

    oov: OovEvidence

    name: ClassVar[str] = "fine_grained_oov"
    counts_as: ClassVar[str] = "minor"

    def __call__(self, cases: Cases) -> Finding:
        """Explain the cases whose evidence says so; evidence: the table's row, -1 where it has none."""
        row = self.oov.rows_of(cases)
        known = row >= 0
        explains = known.copy()
        explains[known] = self.oov.is_oov[row[known]]
        return Finding(explains, {"row": row}, lacks_evidence=~known)

    def says(self, cases: Cases, finding: Finding, names: pa.StringArray) -> pa.StringArray:
        """Say for each case what the evidence table holds: best proposal, its score, neighbour support."""
        prediction, row = named(cases.prediction, names), finding.evidence["row"]
        details = named(row, self.oov.details)
        yes = fill("The image shows something like {} that is none of the classes{}.", prediction, details)
        no = fill("Nothing like {} but outside the classes is found{}.", prediction, details)
        told = either(finding.explains, yes, no)
        return either(np.asarray(row) >= 0, told, "No evidence for this image and prediction.")

    def shows(self, finding: Finding, names: pa.StringArray) -> tuple[str, ...]:
        """Show all that the table holds for the first case, a line each; nothing where it has no evidence."""
        row = int(finding.evidence["row"][0])
        return () if row < 0 else self.oov.shown(row, names)
