"""Fixed axes, so that figures of different models, groups and days compare.

Wide enough for the 962 published models in every group, and round.
"""

from __future__ import annotations

ACCURACY_RANGE = {"multi_label": (50.0, 100.0), "top1": (50.0, 95.0)}
ACCURACY_NAME = {"multi_label": "multi-label accuracy (MLA)", "top1": "top-1 accuracy"}
ERRORS_NAME = {"multi_label": "multi-label errors", "top1": "top-1 errors"}

_MOST_PERCENT = {
    "class_overlap": 12.0,
    "multi_object": 100.0,
    "fine_grained": 100.0,
    "fine_grained_oov": 32.0,
    "non_prototypical": 2.5,
    "spurious_correlation": 24.0,
    "model_failure": 80.0,
}


def most_percent(error_type: str) -> float:
    """Return the upper end of the axis for a type's portion, in percent; 100 for a type not known here."""
    return _MOST_PERCENT.get(error_type, 100.0)
