"""What programs print while they classify: a line that names the image, then its classes with their probabilities.

Seen of darknet (``a.jpg: Predicted in 4 milli-seconds.``, ``66.60%: tabby``), Caffe's classification example
(``---------- Prediction for a.jpg ----------``, ``0.3134 - "n02123045 tabby, tabby cat"``), TensorFlow's label_image
(``tabby (score = 0.31)``), PaddleClas (``filename: a.jpg, top-5, class_ids: [281, ...], scores: [...]``), and YAML
(``a.jpg: 281``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from imagenet_errors.problems import InputError, counted
from imagenet_errors.readers.assemble import Columns
from imagenet_errors.readers.cells import scored_items

_NAME = re.compile(r"""[^\s"',;|()\[\]]*[^\s"',;|()\[\]:](?:\.(?:jpe?g|png|webp|bmp)|_val_\d{8})\b""", re.IGNORECASE)
_SAYS = re.compile(r"[\"']?\s*(?::|->|=>)\s*")
"""Between an image and its class on one line."""
_LISTS = re.compile(
    r"class[_ ]ids?(?:\(s\))?:\s*\[?(?P<label>\d+)[^\]]*\]?(?:.*?scores?(?:\(s\))?:\s*\[?(?P<prob>\d*\.?\d+))?"
)
_SIZED = re.compile(r"\d+x\d+ (?P<label>[^\d\s,].*?) (?P<prob>[01]\.\d+)(?:, |$)")
"""Ultralytics: ``image 1/9 a.jpg: 224x224 tabby 0.83, lynx 0.05, 3.1ms``."""
_FIRST = re.compile(r"\s*(?P<prob>\d*\.?\d+)\s*(?P<percent>%?)\s*[:\-]\s*\"?(?P<label>.*[^\s\"])\"?\s*")
_LAST = re.compile(
    r"\s*(?:\d+[.):]\s+)?\"?(?P<label>.*?[^\s:=(\"])\"?\s*(?:[:=(]|\bscore\b)+\s*(?:(?:score|prob\w*|conf\w*)\s*[=:]\s*)?"
    r"(?P<prob>\d*\.?\d+)\s*(?P<percent>%?)\)?\s*"
)
_SAMPLE_LINES = 200
_NEARLY_ALL = 0.9


@dataclass
class _Printed:
    """What is printed of an image: the rest of its own line, and (class, probability) pairs."""

    name: str
    rest: str
    classes: list[tuple[str, float | None]] = field(default_factory=list)


def is_log(head: bytes) -> bool:
    """Say whether a text's lines name images and, beside or below them, classes; a table's do not."""
    lines = [line for line in head.decode("utf-8", "replace").splitlines()[:_SAMPLE_LINES] if line.strip()]
    named = [(line, found) for line in lines if (found := _NAME.search(line))]
    if not named or any(_NAME.search(line, found.end()) for line, found in named):
        return False  # a line with several images is of no log: part of damaged JSON, rather
    says = [bool(_SAYS.match(line, found.end()) or _LISTS.search(line)) for line, found in named]
    if sum(says) >= _NEARLY_ALL * len(named):
        return True
    first = lines.index(named[0][0])
    below = [line for line in lines[first:-1] if not _NAME.search(line)]
    return len(below) >= len(named) and sum(bool(_pair(line)) for line in below) >= _NEARLY_ALL * len(below)


def read_log(text: bytes, path: Path) -> Columns:
    """Read each image's best class, and its probability.

    Raises
    ------
    InputError
        An image has no class.
    """
    printed = list(_printed(text.decode("utf-8")))
    bare = [one for one in printed if not one.classes and not one.rest]
    if bare:
        what = f"{counted(len(bare), 'image')} of {len(printed):,} without a class beside or below it"
        raise InputError(path, what, example=bare[0].name, fix="Write a row an image: file_name,predicted_class.")
    best = [max(one.classes, key=lambda pair: pair[1] or 0) if one.classes else (one.rest, None) for one in printed]
    names, labels = (
        pa.array(texts, type=pa.string()) for texts in ([one.name for one in printed], [k for k, _ in best])
    )
    columns = {"file_name": names, "prediction": labels}
    if any(value is not None for _, value in best):
        columns["prob"] = pa.array([value for _, value in best], type=pa.float64())
    return Columns(path, "a program's log", tuple(columns), tuple(columns.values()))


def _printed(text: str) -> Iterator[_Printed]:
    current: _Printed | None = None
    for line in text.splitlines():
        found = _NAME.search(line)
        if found is None:
            pair = _pair(line)
            if current is not None and pair is not None:
                current.classes.append(pair)
            continue
        if current is not None:
            yield current
        says = _SAYS.match(line, found.end())
        rest = line[says.end() :].strip() if says else ""
        several = scored_items(rest)
        pair = _listed(line) or _pair(rest)
        current = _Printed(found.group(), rest, [*several] if len(several) > 1 else [pair] if pair else [])
    if current is not None:
        yield current


def _listed(line: str) -> tuple[str, float | None] | None:
    found = _LISTS.search(line) or _SIZED.search(line)
    return (found["label"], float(found["prob"]) if found["prob"] else None) if found else None


def _pair(line: str) -> tuple[str, float | None] | None:
    """Return the class and the probability of a line; None where it is none."""
    found = _FIRST.fullmatch(line) or _LAST.fullmatch(line)
    if found is None:
        return None
    value = float(found["prob"]) / (100 if found["percent"] else 1)
    return (found["label"], value) if value <= 1 else None
