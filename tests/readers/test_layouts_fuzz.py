"""Predictions in a random layout with a random fault are read for what they are, or refused; never as another number.

The layouts are those that tools and people write; the faults are such as change what a reader could take for the
prediction. Faults of the rows and the classes themselves are those of ``test_plausibility_fuzz``.
"""

import gzip
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from imagenet_errors.images import val_file_names
from imagenet_errors.labels import imagenet_1k
from imagenet_errors.problems import InputError
from imagenet_errors.readers.annotations import read_real, val_labels
from imagenet_errors.readers.predictions import ReadRules, read_predictions
from real_looking import real_looking

LABELS = imagenet_1k()
REAL = read_real(LABELS)
LABEL = val_labels().astype(np.int64)
TOP1 = real_looking(accuracy=0.76, seed=11)
NAMES = val_file_names(np.arange(1, len(LABEL) + 1)).to_pylist()
FIRSTS = [text.split(", ")[0] for text in LABELS.descriptions]

NAME_STYLES = {
    "bare": lambda i: NAMES[i],
    "folder": lambda i: f"{LABELS.wnids[LABEL[i]]}/{NAMES[i]}",
    "path": lambda i: f"/data/val/{NAMES[i][:-5]}.png",
    "Windows": lambda i: f"val\\{NAMES[i]}",
    "no ending": lambda i: NAMES[i][:-5],
    "Hugging Face": lambda i: f"{NAMES[i][:-5]}_{LABELS.wnids[LABEL[i]]}.JPEG",
}
CLASS_STYLES = {
    "index": str,
    "float": lambda index: f"{index}.0",
    "wnid": lambda index: LABELS.wnids[index],
    "name": lambda index: LABELS.names[index],
    "description": lambda index: LABELS.descriptions[index],
    "upper case": lambda index: LABELS.names[index].upper(),
    "lower first lemma": lambda index: FIRSTS[index].lower(),
    "Keras": lambda index: f"{LABELS.wnids[index]}_{FIRSTS[index].replace(' ', '_')}",
    "index and name": lambda index: f"{index} {LABELS.names[index]}",
    "prompt": lambda index: f"a photo of a {LABELS.names[index]}.",
    "Hugging Face": lambda index: f"LABEL_{index}",
    "tensor": lambda index: f"tensor({index}, device='cuda:0')",
    "ranks": lambda index: f"[{index}, {(index + 7) % 1000}, {(index + 501) % 1000}]",
    "ranks of text": lambda index: f"{index} {(index + 7) % 1000} {(index + 501) % 1000}",
}
HEADERS = (("file_name", "prediction"), ("image", "pred"), ("filename", "label"), ("path", "class_id"), ("foo", "bar"))
FAULTS = ("none", "truth beside", "seeds beside", "numbers beside", "shuffled truth", "counted from 1", "title above")


def table(draw_rows, names, written, fault):
    """Return columns; the first two are the image and what the file says of its class."""
    random = np.random.default_rng(0)
    columns = [[names(i) for i in draw_rows], written]
    if fault == "truth beside":
        columns.append([str(LABEL[i]) for i in draw_rows])
    if fault == "seeds beside":
        columns.append([str((TOP1[i] + (random.random() < 0.2)) % 1000) for i in draw_rows])
    if fault == "numbers beside":
        columns.append([str(random.integers(200, 700)) for _ in draw_rows])
    if fault == "shuffled truth":
        columns.append([str(LABEL[i]) for i in random.permutation(draw_rows)])
    return columns


def write_text(path, headers, columns, separator, fault):
    cells = [
        [f'"{cell}"' if set(cell) & set(f"{separator}, ") else cell for cell in row]
        for row in zip(*columns, strict=True)
    ]
    lines = [separator.join(headers), *(separator.join(row) for row in cells)]
    if fault == "title above":
        lines = ["# made by us", "", "Results", *lines]
    path.write_bytes(("\n".join(lines) + "\n").encode())


def write(path, layout, headers, columns, fault):
    records = [dict(zip(headers, row, strict=True)) for row in zip(*columns, strict=True)]
    if layout in (",", ";", "\t"):
        write_text(path, headers, columns, layout, fault)
    elif layout == "gzip":
        write_text(path, headers, columns, ",", fault)
        path.write_bytes(gzip.compress(path.read_bytes()))
    elif layout == "parquet":
        pq.write_table(pa.table(dict(zip(headers, columns, strict=True))), path)
    elif layout == "records":
        path.write_text(json.dumps({"model": "vit", "results": records}))
    elif layout == "lines":
        path.write_text("\n".join(map(json.dumps, records)))
    elif layout == "split":
        path.write_text(json.dumps({"columns": list(headers), "data": list(zip(*columns, strict=True))}))
    else:
        np.savez(path.with_suffix(".npz"), **dict(zip(headers, map(np.array, columns), strict=True)))
        path.with_suffix(".npz").rename(path)


@settings(max_examples=80, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_no_layout_makes_another_number_of_a_prediction(tmp_path_factory, data):
    random = np.random.default_rng(data.draw(st.integers(0, 99), label="rows"))
    chosen = random.permutation(len(LABEL))[: data.draw(st.sampled_from((30, 200, 1_500)), label="n")]
    names = NAME_STYLES[data.draw(st.sampled_from(sorted(NAME_STYLES)), label="names")]
    style = CLASS_STYLES[data.draw(st.sampled_from(sorted(CLASS_STYLES)), label="classes")]
    fault = data.draw(st.sampled_from(FAULTS), label="fault")
    layout = data.draw(st.sampled_from((",", ";", "\t", "gzip", "parquet", "records", "lines", "split", "npz")))
    top1 = (TOP1[chosen] + (fault == "counted from 1")) % 1000
    headers = [*data.draw(st.sampled_from(HEADERS), label="headers"), "resnet50"]
    columns = table(chosen, names, [style(int(index)) for index in top1], fault)
    path = tmp_path_factory.mktemp("fuzz") / "vit.dat"
    write(path, layout, headers[: len(columns)], columns, fault)
    if fault == "none":
        found = read_predictions(path, REAL, LABELS, rules=ReadRules(allow_partial=True))
    else:
        try:
            found = read_predictions(path, REAL, LABELS, rules=ReadRules(allow_partial=True))
        except InputError:
            return
    assert len(found.rows) > 0.9 * len(chosen)
    assert found.top1.tolist() == TOP1[found.rows].tolist()


@pytest.mark.parametrize("style", CLASS_STYLES)
@pytest.mark.parametrize("layout", [",", "records", "parquet"])
def test_each_way_to_write_a_class_is_read(tmp_path, style, layout):
    chosen = np.arange(200)
    columns = [[NAMES[i] for i in chosen], [CLASS_STYLES[style](int(TOP1[i])) for i in chosen]]
    write(tmp_path / "vit.dat", layout, ("file_name", "prediction"), columns, "none")
    found = read_predictions(tmp_path / "vit.dat", REAL, LABELS, rules=ReadRules(allow_partial=True))
    assert len(found.rows) > 190
    assert found.top1.tolist() == TOP1[found.rows].tolist()
