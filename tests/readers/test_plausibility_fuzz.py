"""Real-looking predictions in a random part, order and layout, with a random fault: read right, refused, or said.

Never other predictions without a word, and never a refusal of what is right.
"""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from imagenet_errors.images import val_file_names
from imagenet_errors.labels import imagenet_1k
from imagenet_errors.problems import InputError
from imagenet_errors.readers.annotations import read_real, val_labels
from imagenet_errors.readers.class_axis import DEVKIT, class_axis
from imagenet_errors.readers.predictions import ReadRules, read_predictions
from real_looking import real_looking

LABELS = imagenet_1k()
REAL = read_real(LABELS)
LABEL = val_labels().astype(np.int64)
KIT = np.argsort(class_axis(DEVKIT, LABELS).class_at)
ORDERS = ("name", "folder", "any")
LAYOUTS = ("csv", "parquet", "npy")
PARTS = (30, 90, 200, 700, 2_000, 6_000, 20_000, 50_000)
ANY_NOTE = "too few"


def shuffled_inside_classes(top1, label, random):
    moved = top1.copy()
    moved[np.argsort(label, kind="stable")] = top1[np.lexsort((random.random(len(top1)), label))]
    return moved


def late(top1, _label, _random):
    return np.roll(top1, 1)


def slipped(top1, _label, random):
    start = random.integers(len(top1) // 10, 9 * len(top1) // 10)
    return np.append(top1[:start], np.roll(top1[start:], 1))


def a_part_lost(top1, _label, random):
    size = len(top1) // 8
    start = random.integers(0, len(top1) - size)
    moved = top1.copy()
    moved[start : start + size] = random.permutation(top1[start : start + size])
    return moved


def a_folder_missing(top1, _label, random):
    folder = random.integers(0, 999)
    return top1 - (top1 > folder)


def a_folder_too_many(top1, _label, random):
    return np.minimum(top1 + (top1 >= random.integers(0, 999)), 999)


def two_classes_in_one(top1, _label, random):
    one, other = random.choice(1000, 2, replace=False)
    return np.where(top1 == one, other, top1)


def in_bfloat16(top1, _label, _random):
    step = np.where(top1 > 512, 4, np.where(top1 > 256, 2, 1))
    return top1 // step * step


FAULTS = {
    "order inside classes": (shuffled_inside_classes, "another order inside the classes"),
    "one row late": (late, "another order inside the classes"),
    "slipped": (slipped, "slipped from some row on|another order inside the classes"),
    "a part lost": (a_part_lost, "slipped from some row on"),
    "folder missing": (a_folder_missing, "classes shifted|no index of their own"),
    "folder too many": (a_folder_too_many, "classes shifted|no index of their own"),
    "two classes in one": (two_classes_in_one, "no index of their own|is never predicted"),
    "uint8": (lambda top1, _label, _random: top1 % 256, "classes cut off"),
    "bfloat16": (in_bfloat16, "classes cut off"),
    "ten classes": (lambda top1, _label, _random: top1 % 10, "classes cut off"),
    "truth": (lambda _top1, label, _random: label, "the labels given as predictions"),
    "from 1": (lambda top1, _label, _random: top1 + 1, "nothing: always told"),
    "any classes": (lambda top1, _label, random: random.permutation(1000)[top1], "nothing: always told"),
    "any rows": (lambda top1, _label, random: random.permutation(top1), "nothing: always told"),
}
"""Fault -> how it changes predictions [n] in the file's order, and what a note says where it cannot be excluded."""


def written(folder, layout, rows, top1):
    """Write predictions of images by number; npy holds no names."""
    path = Path(folder, f"model.{layout}")
    names = val_file_names(rows + 1)
    if layout == "csv":
        lines = [f"{name},{index}" for name, index in zip(names.to_pylist(), top1.tolist(), strict=True)]
        path.write_text("\n".join(["file_name,prediction", *lines]))
    elif layout == "parquet":
        pq.write_table(pa.table({"file_name": names, "prediction": top1}), path)
    else:
        np.save(path, top1)
    return path


def part(n, order, random):
    """The images that a file has, by number, in its order."""
    rows = np.sort(random.choice(50_000, n, replace=False))
    if order == "folder":
        return rows[np.argsort(LABEL[rows], kind="stable")]
    return random.permutation(rows) if order == "any" else rows


def read(path):
    return read_predictions(path, REAL, LABELS, rules=ReadRules(allow_partial=True))


files = st.fixed_dictionaries(
    {
        "n": st.sampled_from(PARTS),
        "order": st.sampled_from(ORDERS),
        "layout": st.sampled_from(LAYOUTS),
        "accuracy": st.sampled_from((0.5, 0.65, 0.8, 0.9)),
        "seed": st.integers(0, 999),
    }
)


def made(file):
    """Return random numbers, the images of a file by number, and their predictions; npy holds all in a known order."""
    random = np.random.default_rng(file["seed"])
    whole = file["layout"] == "npy"
    order = "folder" if whole and file["order"] == "any" else file["order"]
    rows = part(50_000 if whole else file["n"], order, random)
    return random, rows, real_looking(file["accuracy"], file["seed"] % 3)[rows]


@settings(max_examples=60)
@given(file=files)
def test_what_is_right_is_read_right(tmp_path_factory, file):
    _, rows, top1 = made(file)
    found = read(written(tmp_path_factory.mktemp("right"), file["layout"], rows, top1))
    assert found.rows.tolist() == np.sort(rows).tolist()
    assert found.top1.tolist() == top1[np.argsort(rows)].tolist()


@settings(max_examples=20)
@given(file=files)
def test_mistakes_alone_are_read(tmp_path_factory, file):
    _, rows, top1 = made(file | {"layout": "parquet"})
    wrong = top1 != LABEL[rows]
    if wrong.any():
        found = read(written(tmp_path_factory.mktemp("mistakes"), "parquet", rows[wrong], top1[wrong]))
        assert found.intake.n_matched == wrong.sum()


@settings(max_examples=150)
@given(file=files, fault=st.sampled_from(sorted(FAULTS)))
def test_a_fault_is_refused_mended_or_said(tmp_path_factory, file, fault):
    random, rows, top1 = made(file)
    change, said = FAULTS[fault]
    path = written(tmp_path_factory.mktemp("fault"), file["layout"], rows, change(top1, LABEL[rows], random))
    try:
        found = read(path)
    except InputError:
        return
    same = found.top1.tolist() == top1[np.argsort(rows)].tolist()
    notes = " ".join(found.intake.notes)
    assert same or any(words in notes for words in said.split("|")), notes


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("n", [200, 50_000])
def test_ids_of_the_development_kit_are_proven_and_said(tmp_path, layout, n):
    if layout == "npy" and n < 50_000:
        pytest.skip("rows without names must be all of them")
    rows, top1 = np.arange(n), real_looking(0.75)[:n]
    found = read(written(tmp_path, layout, rows, KIT[top1] + 1))
    assert found.top1.tolist() == top1.tolist()
    assert "Only as ids of the ImageNet challenge's development kit are they right." in found.intake.notes
