"""Text with a heading for each class and a line for each image below it, as ObjectNetReanalysis publishes predictions.

``Alarm clock -----`` begins a class; ``0ab390d15ad8445.png 896 804 435 648 876  107.62 96.70 ...`` is an image with its
five best classes and their scores; ``112 -> Wok: top 1: 17.89 ...`` sums a class up.

Source: Borji 2021 (arXiv 2004.02042), github.com/aliborji/ObjectNetReanalysis.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from imagenet_errors.problems import InputError
from imagenet_errors.readers.raw import RawPredictions

_HEADING = re.compile(r"\s*(?P<name>\S.*?)\s+-{8,}\s*$")
_FORMAT = "text with a heading a class"


def is_class_list(start: bytes) -> bool:
    """Say whether a file's first line is a class heading."""
    first = start.decode("utf-8", "replace").partition("\n")[0]
    return _HEADING.match(first) is not None


def class_list_names(text: bytes, path: Path) -> pa.StringArray:
    """Return ``class/image`` for every image, in the file's order.

    Raises
    ------
    InputError
        No image is named.
    """
    names = [f"{heading}/{cells[0]}" for heading, cells in _images(text)]
    if not names:
        raise InputError(path, "class headings without an image below them", fix="Copy the file again.")
    return pa.array(names, type=pa.string())


def read_class_list(text: bytes, path: Path) -> RawPredictions:
    """Read the predictions: of the classes in each line the one with the largest score.

    Raises
    ------
    InputError
        No image is named, or a line holds another number of classes and scores.
    """
    names = class_list_names(text, path)
    cells = [line for _, line in _images(text)]
    width = len(cells[0])
    odd = next((line for line in cells if len(line) != width), None)
    try:
        values = np.array([[float(value) for value in line[1:]] for line in cells if len(line) == width])
    except ValueError as error:
        raise InputError(
            path, f"a line holds something else than numbers: {error}", fix="Copy the file again."
        ) from None
    if odd is not None or values.shape[1] < 1:
        raise InputError(path, "lines of different lengths", example=" ".join(odd or cells[0]), fix="Copy it again.")
    has_scores = values.shape[1] > 1 and values.shape[1] % 2 == 0
    n_ranks = values.shape[1] // 2 if has_scores else values.shape[1]
    best = np.argmax(values[:, n_ranks:], axis=1) if has_scores else np.zeros(len(values), dtype=np.int64)
    index = values[:, :n_ranks].astype(np.int64)
    return RawPredictions(
        f"{_FORMAT}, top-{n_ranks}",
        len(values),
        names=names,
        index=index[np.arange(len(index)), best],
        ranks=None if has_scores else index,
    )


def _images(text: bytes) -> Iterator[tuple[str, list[str]]]:
    """Yield heading and cells of every image."""
    heading = ""
    for line in text.decode("utf-8", "replace").splitlines():
        found = _HEADING.match(line)
        if found:
            heading = found["name"].replace("/", "_")
        elif line.strip() and "->" not in line:
            yield heading, line.split()
