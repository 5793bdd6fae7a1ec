"""Is it the picture or its framing? The same image flipped, cropped and recoloured a little, and what it is called.

Every draw goes through the model's own preprocessing; the draws are the same for every image and seed.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from imagenet_errors.chain import COUNTS_AS
from imagenet_errors.explain.classifier import read_picture
from imagenet_errors.explain.job import ModelGroup, Row, schema_of
from imagenet_errors.explain.questions import Judge, Question
from imagenet_errors.problems import InputError, refuse_absent, refuse_below

KINDS = ("flip", "crop", "colour")
VERDICTS = ("stable", "framing")
_SMALLEST_CROP = 0.8
_MOST_COLOUR = 0.2
_STABLE = 0.8
_BOX_COLUMNS = ("file_name", "x0", "y0", "x1", "y1")


@dataclass(frozen=True)
class Stability:
    """``n_crops`` crops of 0.8 to 1 of each side, ``n_colours`` changes of brightness, contrast and saturation by up
    to a fifth, beside the mirrored picture; ``boxes``: a CSV file of file_name,x0,y0,x1,y1 in pixels.
    """

    name: ClassVar[str] = "stability"
    schema: ClassVar[pa.Schema] = schema_of(
        ("p_before", pa.float32()),
        ("kinds", pa.list_(pa.string())),
        ("answers", pa.list_(pa.int16())),
        ("answer_types", pa.list_(pa.string())),
        ("share_stays", pa.float32()),
        ("share_right", pa.float32()),
        ("share_other_type", pa.float32()),
        ("box_answer", pa.int16()),
        ("box_type", pa.string()),
    )

    n_crops: int = 8
    n_colours: int = 8
    seed: int = 0
    boxes: Path | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be.

        Raises
        ------
        InputError
            The file of boxes cannot be read, or a number is too small.
        """
        refuse_below("n_crops", self.n_crops, 0)
        refuse_below("n_colours", self.n_colours, 0)
        refuse_below("--seed", self.seed, 0)
        if self.boxes is not None:
            read_boxes(self.boxes)

    def rows(self, group: ModelGroup, questions: Sequence[Question]) -> Iterator[list[Row]]:
        """Ask about every draw of each image."""
        import torch

        classifier = group.classifier
        boxes = {} if self.boxes is None else read_boxes(self.boxes)
        for question in questions:
            picture = read_picture(group.images / question.file)
            draws = [("flip", mirrored(picture)), *self._crops(picture), *self._colours(picture)]
            box = boxes.get(question.file_name)
            shown = [picture, *(drawn for _, drawn in draws), *([picture.crop(box)] if box else [])]
            logits = classifier.logits(torch.stack([classifier.transform(each) for each in shown]))
            answers = logits.argmax(axis=1).tolist()
            powers = np.exp(logits[0].astype(np.float64) - logits[0].max())
            yield [
                {
                    "p_before": float(powers[question.prediction] / powers.sum()),
                    "kinds": [kind for kind, _ in draws],
                    "answers": answers[1 : 1 + len(draws)],
                    "box_answer": answers[-1] if box else None,
                }
            ]

    def finish(self, rows: list[Row], judge: Judge) -> None:
        """Say how many draws keep the answer, are right, or are wrong in another way."""
        asked = [row for row in rows if row["answers"] is not None]
        names = [row["file_name"] for row in asked for _ in row["answers"]]
        types = iter(judge(names, [answer for row in asked for answer in row["answers"]]))
        in_box = [row for row in asked if row["box_answer"] is not None]
        box_types = judge([row["file_name"] for row in in_box], [row["box_answer"] for row in in_box])
        for row, kind in zip(in_box, box_types, strict=True):
            row["box_type"] = kind
        for row in asked:
            row["answer_types"] = [next(types) for _ in row["answers"]]
            row |= shares_of(row)

    def _crops(self, picture: Any) -> list[tuple[str, Any]]:
        random = np.random.default_rng(self.seed)
        crops = []
        for _ in range(self.n_crops):
            width, height = (round(side * random.uniform(_SMALLEST_CROP, 1)) for side in picture.size)
            left, top = random.integers(picture.width - width + 1), random.integers(picture.height - height + 1)
            crops.append(("crop", picture.crop((int(left), int(top), int(left) + width, int(top) + height))))
        return crops

    def _colours(self, picture: Any) -> list[tuple[str, Any]]:
        from PIL import ImageEnhance

        random = np.random.default_rng((self.seed, 1))
        changed = []
        for _ in range(self.n_colours):
            drawn = picture
            for change in (ImageEnhance.Brightness, ImageEnhance.Contrast, ImageEnhance.Color):
                drawn = change(drawn).enhance(float(random.uniform(1 - _MOST_COLOUR, 1 + _MOST_COLOUR)))
            changed.append(("colour", drawn))
        return changed


def mirrored(picture: Any) -> Any:
    """Return a PIL picture, left and right exchanged."""
    from PIL import ImageOps

    return ImageOps.mirror(picture)


def shares_of(row: Row) -> Row:
    """Return the shares of draws by what became of them; ``stable``: four fifths of them keep the answer."""
    answers, types = np.array(row["answers"]), np.array(row["answer_types"])
    stays = answers == row["prediction"]
    right = np.array([COUNTS_AS[kind] == "right" for kind in types])
    share = float(stays.mean())
    return {
        "share_stays": share,
        "share_right": float(right.mean()),
        "share_other_type": float((~right & (types != row["error_type"])).mean()),
        "verdict": "stable" if share >= _STABLE else "framing",
    }


def read_boxes(path: Path) -> Mapping[str, tuple[int, int, int, int]]:
    """Return each image's box (left, top, right, bottom) in pixels; the first where it has several.

    Raises
    ------
    InputError
        There is no such file, it lacks a column, or a box is no box.
    """
    refuse_absent(path, fix="Check --boxes.")
    with path.open(encoding="utf-8-sig", newline="") as lines:
        table = csv.DictReader(lines)
        lacking = [name for name in _BOX_COLUMNS if name not in (table.fieldnames or ())]
        if lacking:
            raise InputError(path, f"no column {lacking[0]}", fix=f"Write the columns {','.join(_BOX_COLUMNS)}.")
        boxes: dict[str, tuple[int, int, int, int]] = {}
        for row in table:
            boxes.setdefault(row["file_name"], _box(row, path))
    return boxes


def _box(row: Mapping[str, str], path: Path) -> tuple[int, int, int, int]:
    try:
        left, top, right, bottom = (round(float(row[name])) for name in _BOX_COLUMNS[1:])
    except ValueError:
        left = top = right = bottom = 0
    if not (0 <= left < right and 0 <= top < bottom):
        raise InputError(path, "holds a box without area", example=row["file_name"], fix="Write x0 < x1 and y0 < y1.")
    return left, top, right, bottom
