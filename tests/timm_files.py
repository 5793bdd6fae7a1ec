"""Prediction files as timm's inference.py writes them, with pandas, from scores of a few images."""

from pathlib import Path

import numpy as np
import pandas as pd

NAMES = ("ILSVRC2012_val_00000293.JPEG", "ILSVRC2012_val_00002138.JPEG", "ILSVRC2012_val_00003014.JPEG")
LEMMAS = np.array(
    [
        "tench, Tinca tinca",
        "jack-o'-lantern",
        "sea snake",
        "alp",
        "hen-of-the-woods, hen of the woods, Polyporus frondosus, Grifola frondosa",
        "crane",
    ]
)
TOP1 = (2, 1, 4)
TOP1_PROBS = (0.5, 0.6, 0.7)


def probabilities(n_outputs=6):
    """Return float32 [3, C] whose top-1 is TOP1 with TOP1_PROBS."""
    weights = 1.0 + np.arange(3 * n_outputs).reshape(3, n_outputs) % n_outputs / n_outputs
    weights[range(3), TOP1] = 0
    rest = (1 - np.array(TOP1_PROBS))[:, None]
    scores = weights / weights.sum(axis=1, keepdims=True) * rest
    scores[range(3), TOP1] = TOP1_PROBS
    return scores.astype(np.float32)


def timm_frame(scores, *, topk=1, index=False, labels=LEMMAS, separate=False, output="prob", filename="filename"):
    """Return the frame that timm makes of scores [n, C]; topk 0 keeps every output."""
    columns = {filename: list(NAMES)}
    parts = {}
    if topk:
        order = np.argsort(-scores, axis=1, kind="stable")[:, :topk]
        if index:
            parts["index"] = order
        if labels is not None:
            parts["label"] = labels[order]
        scores = np.take_along_axis(scores, order, axis=1)
    parts[output] = scores
    for header, values in parts.items():
        if separate and scores.shape[1] > 1:
            columns |= {f"{header}_{i}": values[:, i] for i in range(values.shape[1])}
        else:
            columns[header] = list(values[:, 0] if values.shape[1] == 1 else values)
    return pd.DataFrame(columns)


def _json_records(frame: pd.DataFrame, path: Path) -> None:
    frame.to_json(path, lines=True, orient="records")


WRITERS = {
    "csv": lambda frame, path: frame.to_csv(path, index=False),
    "parquet": lambda frame, path: frame.set_index(frame.columns[0]).to_parquet(path),
    "json": lambda frame, path: frame.set_index(frame.columns[0]).to_json(path, indent=4, orient="index"),
    "json-split": lambda frame, path: frame.to_json(path, indent=4, orient="split", index=False),
    "json lines": _json_records,
}
"""The result formats, each written as timm writes it."""
