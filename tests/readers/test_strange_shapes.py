"""More files as tools and people write them, seen by a stranger: each is read for what it says.

One made-up model on some eighty validation images, whose classes and confidences are known.
"""

import bz2
import csv
import io
import json
import lzma
import re
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.orc as orc
import pytest

from imagenet_errors.images import val_file_names
from imagenet_errors.labels import imagenet_1k
from imagenet_errors.problems import InputError
from imagenet_errors.readers.annotations import read_real, val_labels
from imagenet_errors.readers.class_axis import DEVKIT, class_axis
from imagenet_errors.readers.formats import read_raw
from imagenet_errors.readers.model_files import model_files
from imagenet_errors.readers.predictions import ReadRules, read_models
from real_looking import real_looking

LABELS = imagenet_1k()
REAL = read_real(LABELS)
LABEL = val_labels().astype(np.int64)
TOP1 = real_looking(accuracy=0.75, seed=11)
NAMES = val_file_names(np.arange(1, len(LABEL) + 1)).to_pylist()
BY_FOLDER = np.argsort(LABEL, kind="stable")
ONCE = [index for index, name in enumerate(LABELS.names) if LABELS.names.count(name) == 1 and name.isascii()]
ROWS = [i for i in range(400) if TOP1[i] in ONCE and "crane" not in LABELS.names[TOP1[i]]][:80]
SHARE = {i: round(0.3 + (7 * i % 600) / 1000, 3) for i in ROWS}


def ranks(i):
    """Three classes, best first, and their values."""
    classes = [int(TOP1[i]), int(TOP1[i] + 7) % 1000, int(TOP1[i] + 19) % 1000]
    return classes, [SHARE[i], 0.2, 0.05]


def pairs(i):
    return list(zip(*ranks(i), strict=True))


def read(path, **rules):
    (files,) = model_files([path])
    models = read_models(
        files if len(files.paths) > 1 else path, REAL, LABELS, rules=ReadRules(allow_partial=True, **rules)
    )
    (predictions,) = (one.predictions() for one in models)
    return predictions


def check(predictions, rows=ROWS, *, has_shares=True):
    assert dict(zip(predictions.rows.tolist(), predictions.top1.tolist(), strict=True)) == {i: TOP1[i] for i in rows}
    if has_shares:
        assert predictions.confidence == pytest.approx([SHARE[i] for i in sorted(rows)], abs=1e-3)
    return " ".join(predictions.intake.notes)


def lines(make):
    return "".join(f"{make(i)}\n" for i in ROWS)


def named(index):
    return LABELS.names[index]


PLAIN = "image,pred,prob\n" + lines(lambda i: f"{NAMES[i]},{TOP1[i]},{SHARE[i]}")
TEXTS = {
    "headers in Chinese": PLAIN.replace("image,pred,prob", "\u56fe\u50cf,\u9884\u6d4b,\u7f6e\u4fe1\u5ea6"),
    "percent in the header": "image,pred,confidence_percent\n"
    + lines(lambda i: f"{NAMES[i]},{TOP1[i]},{100 * SHARE[i]:.2f}"),
    "numbers inside headers": "image,top1_class,top2_class,top1_prob,top2_prob\n"
    + lines(lambda i: f"{NAMES[i]},{ranks(i)[0][0]},{ranks(i)[0][1]},{SHARE[i]},0.2"),
    "ordinals": "image,first,second,third,first_prob,second_prob,third_prob\n"
    + lines(lambda i: ",".join(map(str, [NAMES[i], *ranks(i)[0], *ranks(i)[1]]))),
    "classes and values in turn": lines(
        lambda i: ",".join(map(str, [NAMES[i], *(x for pair in zip(*ranks(i), strict=True) for x in pair)]))
    ),
    "the confidence of the label beside": "image,label,label_prob,prediction,prediction_prob\n"
    + lines(lambda i: f"{NAMES[i]},{LABEL[i]},0.25,{TOP1[i]},{SHARE[i]}"),
    "names between bars": "image,top5,top5_prob\n"
    + lines(lambda i: f"{NAMES[i]},{'|'.join(map(named, ranks(i)[0]))},{100 * SHARE[i]:.1f}%|20%|5%"),
    "lists without quotes": lines(lambda i: f"{NAMES[i]}\t{ranks(i)[0]}\t{ranks(i)[1]}"),
    "the header repeated": PLAIN.replace(f"{NAMES[ROWS[40]]}", f"{NAMES[ROWS[40]]}", 1)
    .replace(f"\n{NAMES[ROWS[40]]}", f"\nimage,pred,prob\n{NAMES[ROWS[40]]}"),
    "a summary behind": PLAIN + "\n * Acc@1 75.300 Acc@5 92.1\nTop-1: 75.3%, Top-5: 92.1%, n: 80, done\n",
    "a row in one cell": lines(lambda i: f'"{NAMES[i]};{named(TOP1[i])};{SHARE[i]}"'),
    "a row in one cell, beside empty ones": "image;pred;prob,,\n"
    + lines(lambda i: f'"val/{NAMES[i]};{TOP1[i]};{str(SHARE[i]).replace(".", ",")}",,'),
    "quoted cells in one cell": '"image,pred,prob"\n'
    + lines(lambda i: f'"""{NAMES[i]}"",""{LABELS.descriptions[TOP1[i]]}"",{SHARE[i]}"'),
    "rows with a comma in one cell": "image;pred;prob\n"
    + lines(lambda i: ('"{}"' if "," in LABELS.descriptions[TOP1[i]] else "{}").format(
        f"{NAMES[i]};{LABELS.descriptions[TOP1[i]]};{SHARE[i]}")),
    "Markdown": "| image | pred | prob |\n|---|---:|:--:|\n"
    + lines(lambda i: f"| {NAMES[i]} | {TOP1[i]} | {SHARE[i]} |"),
    "a database's shell": " image | pred | prob\n-------+------+------\n"
    + lines(lambda i: f" {NAMES[i]} | {TOP1[i]} | {SHARE[i]}") + "(80 rows)\n",
    "darknet": "layer     filters    size\n" + lines(
        lambda i: f"{NAMES[i]}: Predicted in 4.2 milli-seconds.\n{100 * SHARE[i]:.2f}%: {named(TOP1[i])}\n2%: tench"
    ),
    "Caffe's example": lines(
        lambda i: f'---------- Prediction for {NAMES[i]} ----------\n{SHARE[i]} - "{LABELS.wnids[TOP1[i]]} a, b"\n'
        '0.0200 - "n01440764 tench, Tinca tinca"'
    ),
    "TensorFlow's label_image": lines(
        lambda i: f"{NAMES[i]}\ntench (score = 0.02000)\n{named(TOP1[i])} (score = {SHARE[i]:.5f})"
    ),
    "PaddleClas": lines(
        lambda i: f"filename: {NAMES[i]}, top-5, class_ids: {ranks(i)[0]}, scores: {ranks(i)[1]}, label_names: ['a']"
    ),
    "an arrow": lines(lambda i: f"{NAMES[i]} -> {TOP1[i]} ({SHARE[i]})"),
    "addresses": "url,pred,prob\n"
    + lines(lambda i: f"https://b.s3.amazonaws.com/val%2F{NAMES[i]}?sig=1,{TOP1[i]},{SHARE[i]}"),
    "single quotes": "'image','label','prob'\n"
    + lines(lambda i: f"'{NAMES[i]}','{LABELS.descriptions[TOP1[i]]}','{SHARE[i]}'"),
    "scores by class in cells": "image\toutput\n"
    + lines(lambda i: f"{NAMES[i]}\t{ {named(k): share for k, share in zip(*map(reversed, ranks(i)), strict=True)} }"),
    "classes and their values in a cell, worst first": "image,top3\n"
    + lines(lambda i: f"{NAMES[i]},{'; '.join(f'{named(k)}: {share}' for k, share in reversed(pairs(i)))}"),
    "values in brackets in a cell": "image;top3\n"
    + lines(lambda i: f"{NAMES[i]};{', '.join(f'{named(k)} ({share:.1%})' for k, share in pairs(i))}"),
    "values in a cell of some images' second class": "image\ttop\n"
    + lines(lambda i: f"{NAMES[i]}\t{'|'.join(f'{k}:{share}' for k, share in pairs(i)[: 1 + i % 3])}"),
    "several classes behind an image": lines(
        lambda i: f"{NAMES[i]}: {', '.join(f'{named(k)} ({share:.1%})' for k, share in reversed(pairs(i)))}"
    ),
    "Python's tuples": repr([(NAMES[i], int(TOP1[i]), SHARE[i]) for i in ROWS]),
    "Keras' batches of one": json.dumps(
        {NAMES[i]: [[(LABELS.wnids[k], "x", share) for k, share in zip(*ranks(i), strict=True)]] for i in ROWS}
    ),
    "Hugging Face's batches of one": json.dumps(
        [{"image": NAMES[i], "preds": [[{"label": LABELS.wnids[k], "score": share}
                                        for k, share in zip(*ranks(i), strict=True)]]} for i in ROWS]
    ),
    "shortened names": PLAIN.replace(NAMES[0][:11], "").replace(".JPEG", ""),
    "names as bytes": PLAIN.replace(NAMES[0][:6], f"b'{NAMES[0][:6]}").replace(".JPEG", ".JPEG'"),
    "names in batches of one": "image,pred,prob\n" + lines(lambda i: f'"(\'val/{NAMES[i]}\',)",[{TOP1[i]}],{SHARE[i]}'),
    "Python's dict a line": lines(
        lambda i: {"file_name": NAMES[i], "class_ids": ranks(i)[0], "scores": ranks(i)[1], "none": None}
    ),
    "objects of several lines": lines(
        lambda i: json.dumps({"image": NAMES[i], "pred": int(TOP1[i]), "prob": SHARE[i]}, indent=2)
    ),
    "lists of records a line": json.dumps(
        [{"image": NAMES[i], "pred": int(TOP1[i]), "prob": SHARE[i]} for i in ROWS[:9]])
    + "\n" + json.dumps([{"image": NAMES[i], "pred": int(TOP1[i]), "prob": SHARE[i]} for i in ROWS[9:]]),
    "batches a line": "".join(
        json.dumps({"paths": [NAMES[i] for i in part], "preds": [int(TOP1[i]) for i in part],
                    "probs": [SHARE[i] for i in part], "batch": k}) + "\n"
        for k, part in enumerate([ROWS[:32], ROWS[32:64], ROWS[64:]])
    ),
    "lists of one": json.dumps([{"image": [NAMES[i]], "pred": [int(TOP1[i])], "prob": [SHARE[i]]} for i in ROWS]),
    "pairs of class and score": lines(
        lambda i: json.dumps({"image": NAMES[i], "topk": [list(pair) for pair in zip(*ranks(i), strict=True)]})
    ),
    "names of classes and values in turn": lines(
        lambda i: ",".join([NAMES[i], *(f"{named(k)},{share}" for k, share in pairs(i))])
    ),
    "Label Studio": json.dumps(
        [{"data": {"image": f"/data/{NAMES[i]}"}, "predictions": [{"score": SHARE[i], "result": [
            {"from_name": "choice", "type": "choices", "value": {"choices": [named(TOP1[i])]}}]}]} for i in ROWS]),
    "named values below each other": lines(
        lambda i: f"Image: {NAMES[i]}\nPredicted class: {named(TOP1[i])}\nTrue class: x\nConfidence: {SHARE[i]}\n--"
    ),
    "named values between quotes": lines(
        lambda i: f'file="val/{NAMES[i]}" pred="{LABELS.descriptions[TOP1[i]]}" prob={SHARE[i]}'
    ),
    "named values of several words": lines(
        lambda i: f"Image: {NAMES[i]} Prediction: {named(TOP1[i])} Confidence: {SHARE[i]}"
    ),
    "scores by class in cells, one class called file": "image\toutput\n"
    + lines(lambda i: f"{NAMES[i]}\t" + json.dumps({named(TOP1[i]): SHARE[i], "file": 0.01, "lynx": 0.02})),
    "columns that are only numbered": "c0,c1,c2\n" + lines(lambda i: f"{NAMES[i]},{TOP1[i]},{SHARE[i]}"),
    "a key before each value": lines(lambda i: f"{NAMES[i]} gt={LABEL[i]} pred={TOP1[i]} prob={SHARE[i]}"),
    "a key before each value, between commas": lines(
        lambda i: f"image: {NAMES[i]}, pred: {named(TOP1[i])}, prob: {SHARE[i]}"
    ),
    "a spreadsheet's formulas": "image,pred,prob\n"
    + lines(lambda i: f'{NAMES[i]},"=""{TOP1[i]:04d}""",{SHARE[i]}'),
    "a spreadsheet's apostrophes": "image,pred,prob\n" + lines(lambda i: f"{NAMES[i]},'{TOP1[i]},'{SHARE[i]}"),
    "a grid": "+-------+------+------+\n| image | pred | prob |\n+=======+======+======+\n"
    + lines(lambda i: f"| {NAMES[i]} | {TOP1[i]} | {SHARE[i]} |\n+-------+------+------+"),
    "drawn boxes": "\u250c\u2500\u2500\u2500\u2500\u2510\n\u2502 image \u2502 pred \u2502 prob \u2502\n"
    + lines(lambda i: f"\u2502 {NAMES[i]} \u2502 {TOP1[i]} \u2502 {SHARE[i]} \u2502")
    + "\u2514\u2500\u2500\u2500\u2500\u2518\n",
    "a count before each line": lines(lambda i: f"[{i + 1}/400] {NAMES[i]}: {named(TOP1[i])} ({SHARE[i]})"),
    "Ultralytics' log": lines(
        lambda i: f"image {i + 1}/80 /data/{NAMES[i]}: 224x224 {named(TOP1[i])} {SHARE[i]}, tench 0.05, 3.{i % 9}ms"
    ),
    "jax' print": "image;pred;prob\n"
    + lines(lambda i: f"{NAMES[i]};Array({TOP1[i]}, dtype=int32);Array({SHARE[i]}, dtype=float32)"),
    "TensorFlow's print": "image;pred;prob\n"
    + lines(lambda i: f"{NAMES[i]};<tf.Tensor: shape=(), dtype=int64, numpy={TOP1[i]}>;"
            f"tf.Tensor({SHARE[i]}, shape=(), dtype=float32)"),
    "Julia's vectors": "image;top3;top3_prob\n" + lines(lambda i: f"{NAMES[i]};Any{ranks(i)[0]};Float32{ranks(i)[1]}"),
    "R's vectors": "image;top3;top3_prob\n"
    + lines(lambda i: f"{NAMES[i]};c({str(ranks(i)[0])[1:-1]});c({str(ranks(i)[1])[1:-1]})"),
    "Python's dict of numpy's numbers": repr({NAMES[i]: (np.int64(TOP1[i]), np.float32(SHARE[i])) for i in ROWS}),
    "a pair in a cell": "image;pred\n" + lines(lambda i: f"{NAMES[i]};({TOP1[i]}, {SHARE[i]})"),
    "pairs in a cell, worst first": "image;output\n"
    + lines(lambda i: f"{NAMES[i]};{[(named(k), share) for k, share in reversed(pairs(i))]}"),
    "a list of an index, a name and a score": json.dumps(
        {NAMES[i]: [int(TOP1[i]), named(TOP1[i]), SHARE[i]] for i in ROWS}),
    "a list of the truth, the prediction and its score": json.dumps(
        {NAMES[i]: [int(LABEL[i]), int(TOP1[i]), SHARE[i]] for i in ROWS}),
    "a pair by name": json.dumps({NAMES[i]: [int(TOP1[i]), SHARE[i]] for i in ROWS}),
    "pairs of score and class": json.dumps({NAMES[i]: [[share, k] for k, share in pairs(i)] for i in ROWS}),
    "classes in one list, scores in another": json.dumps({NAMES[i]: ranks(i) for i in ROWS}),
    "scores as texts": json.dumps({NAMES[i]: {named(k): f"{share:.1%}" for k, share in pairs(i)} for i in ROWS}),
    "columns as lists": json.dumps(
        [[NAMES[i] for i in ROWS], [int(TOP1[i]) for i in ROWS], [SHARE[i] for i in ROWS]]),
    "predictions by name beside other objects": json.dumps(
        {"model": {"name": "vit"}, "predictions": {NAMES[i]: {"class": int(TOP1[i]), "prob": SHARE[i]} for i in ROWS}}),
    "predictions beside an accuracy": json.dumps(
        {"model": "vit", "top1": 75.0, "results": [{"img": {"path": NAMES[i]}, "pred": int(TOP1[i]), "prob": SHARE[i]}
                                                   for i in ROWS]}),
    "objects in objects": json.dumps(
        {"test": {"outputs": {NAMES[i]: {"class": int(TOP1[i]), "prob": SHARE[i]} for i in ROWS}}}),
}  # fmt: skip
WITHOUT_SHARES = {
    "hyphens for blanks": "image,pred\n" + lines(lambda i: f"{NAMES[i]},{named(TOP1[i]).replace(' ', '-')}"),
    "names of several words behind a blank": lines(lambda i: f"{NAMES[i]} {named(TOP1[i])}"),
    "a list of rows, the headers first": json.dumps([["image", "pred"], *([NAMES[i], int(TOP1[i])] for i in ROWS)]),
    "names between commas": "image,top3\n" + lines(lambda i: f'{NAMES[i]},"{", ".join(map(named, ranks(i)[0]))}"'),
    "names between slashes": "image,top3\n" + lines(lambda i: f"{NAMES[i]},{' / '.join(map(named, ranks(i)[0]))}"),
    "names between arrows, some images with one": "image,top3\n"
    + lines(lambda i: f"{NAMES[i]},{' > '.join(map(named, ranks(i)[0][: 1 + i % 3]))}"),
    "names below each other in a cell": "image,top3\n"
    + lines(lambda i: '{},"{}"'.format(NAMES[i], "\n".join(map(named, ranks(i)[0])))),
    "names with slashes between slashes": "image,top2\n"
    + lines(lambda i: f"{NAMES[i]},{named(TOP1[i])}/baluster / handrail"),
    "names with commas between commas, in lower case": "image,top3\n"
    + lines(lambda i: f'{NAMES[i]},"{",".join(LABELS.descriptions[k] for k in ranks(i)[0]).lower()}"'),
    "Kaggle's boxes": "ImageId,PredictionString\n"
    + lines(lambda i: f"{NAMES[i][:-5]},{' '.join(f'{LABELS.wnids[k]} 10 2 30 4' for k in ranks(i)[0][: 1 + i % 3])}"),
    "YAML": lines(lambda i: f"{NAMES[i]}: {TOP1[i]}"),
    "a sentence": "image,answer\n" + lines(lambda i: f"{NAMES[i]},The image shows a {named(TOP1[i])}."),
    "the index behind": "image,answer\n" + lines(lambda i: f"{NAMES[i]},{named(TOP1[i])} ({TOP1[i]})"),
    "the confidence behind": "image,answer\n" + lines(lambda i: f"{NAMES[i]},{named(TOP1[i])} 97.3%"),
    "the label's wnid beside a model's output": "wnid,image,model_out\n"
    + lines(lambda i: f"{LABELS.wnids[LABEL[i]]},{NAMES[i]},{TOP1[i]}"),
    "seconds are no confidence": "image,pred,latency\n" + lines(lambda i: f"{NAMES[i]},{TOP1[i]},0.0{i % 9}"),
    "uncertainty is none either": "image,pred,uncertainty\n" + lines(lambda i: f"{NAMES[i]},{TOP1[i]},0.{i % 9}"),
    "by folder": json.dumps({"a": {NAMES[i]: int(TOP1[i]) for i in ROWS[::2]},
                             "b": {NAMES[i]: int(TOP1[i]) for i in ROWS[1::2]}}),
    "by predicted class": json.dumps(
        {LABELS.wnids[k]: [NAMES[i] for i in ROWS if TOP1[i] == k] for k in {TOP1[i] for i in ROWS}}
    ),
    "the confidence behind an index": "image,answer\n" + lines(lambda i: f"{NAMES[i]},{TOP1[i]} ({SHARE[i]:.1%})"),
    "classes and confidences behind each other": lines(
        lambda i: f"{NAMES[i]} {' '.join(f'{k}:{share}' for k, share in pairs(i))}"
    ),
    "the confidence in front": "image,answer\n" + lines(lambda i: f"{NAMES[i]},{SHARE[i]:.1%} {named(TOP1[i])}"),
    "the confidence behind a dash": "image,answer\n" + lines(lambda i: f"{NAMES[i]},{named(TOP1[i])} - {SHARE[i]:.1%}"),
    "wnids in upper case": "image,answer\n" + lines(lambda i: f"{NAMES[i]},{LABELS.wnids[TOP1[i]].upper()}"),
    "a class's folder": "image,answer\n" + lines(lambda i: f"{NAMES[i]},/data/train/{LABELS.wnids[TOP1[i]]}/"),
    "right and wrong are no confidence": "image,output,score\n"
    + lines(lambda i: f"{NAMES[i]},{named(TOP1[i])},{float(TOP1[i] == LABEL[i])}"),
    "a line of Python": f"preds = { {NAMES[i]: int(TOP1[i]) for i in ROWS} }\n",
    "a line of JavaScript": "const preds = " + json.dumps({NAMES[i]: int(TOP1[i]) for i in ROWS}) + ";\n",
    "sections": "[predictions]\n" + lines(lambda i: f"{NAMES[i]} = {TOP1[i]}"),
    "what MXNet prints": "image,pred\n" + lines(lambda i: f'{NAMES[i]},"\n[{TOP1[i]}.]\n<NDArray 1 @cpu(0)>"'),
    "an index and a name in a cell": "image;pred\n" + lines(lambda i: f"{NAMES[i]};{(int(TOP1[i]), named(TOP1[i]))}"),
    "a list of pairs of texts": json.dumps([[NAMES[i], named(TOP1[i])] for i in ROWS]),
    "lists of a batch": json.dumps(
        [[[NAMES[i] for i in part], [int(TOP1[i]) for i in part]] for part in (ROWS[:32], ROWS[32:])]),
    "boxes beside a label": "image;label;box\n" + lines(lambda i: f"{NAMES[i]};{TOP1[i]};[{100 + i % 9}, 0.{i % 9}5]"),
    "Python's dict": repr({NAMES[i]: int(TOP1[i]) for i in ROWS}),
    "a comma too many": "{" + "".join(f'"{NAMES[i]}": {TOP1[i]},\n' for i in ROWS) + "}",
}  # fmt: skip


@pytest.fixture
def path(tmp_path):
    return tmp_path / "vit.out"


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_classes_and_confidences_are_read(path, text):
    path.write_text(text, encoding="utf-8")
    check(read(path))


@pytest.mark.parametrize("text", WITHOUT_SHARES.values(), ids=WITHOUT_SHARES)
def test_classes_are_read(path, text):
    path.write_text(text, encoding="utf-8")
    predictions = read(path)
    check(predictions, has_shares=False)
    assert predictions.confidence is None or np.isnan(predictions.confidence).all()


def test_what_was_left_out_of_a_text_is_said(path):
    path.write_text(TEXTS["a summary behind"])
    assert "2 lines behind the table (first: '* Acc@1" in check(read(path))
    path.write_text(TEXTS["the header repeated"])
    assert "The header stands in the file 2 times" in check(read(path))


def test_a_line_cut_short_is_no_summary(path):
    path.write_text(PLAIN + NAMES[500][:20])
    with pytest.raises(InputError, match="line 82 has 1 cell, the first has 3"):
        read(path)


def zipped(text):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("out/preds.csv", text)
        archive.writestr("__MACOSX/out/._preds.csv", "x")
    return content.getvalue()


@pytest.mark.parametrize(
    "pack",
    [
        pytest.param(bz2.compress, id="bzip2"),
        pytest.param(lzma.compress, id="xz"),
        pytest.param(lambda text: pa.compress(text, codec="zstd", asbytes=True), id="zstd"),
        pytest.param(zipped, id="zip of one file"),
        pytest.param(lambda text: text.decode().encode("utf-16"), id="UTF-16"),
        pytest.param(lambda text: text.decode().encode("utf-16-le"), id="UTF-16 without its mark"),
        pytest.param(lambda text: text.decode().encode("utf-32"), id="UTF-32"),
    ],
)
def test_packed_and_recoded_texts_are_read(path, pack):
    path.write_bytes(pack(PLAIN.encode()))
    check(read(path))


def test_orc_is_read(path):
    table = pa.table({"image": [NAMES[i] for i in ROWS], "pred": TOP1[ROWS], "prob": [SHARE[i] for i in ROWS]})
    orc.write_table(table, str(path))
    check(read(path))


def scores(rows, order=None):
    values = np.full((len(rows), 1000), 1e-4, dtype=np.float32)
    values[np.arange(len(rows)), TOP1[rows]] = [SHARE.get(i, 0.5) for i in rows]
    return values if order is None else values[:, order]


def safetensors(arrays):
    names = {"float32": "F32", "int64": "I64", "uint16": "BF16"}
    header, values = {}, b""
    for key, array in arrays.items():
        span = [len(values), len(values) + array.nbytes]
        header[key] = {"dtype": names[array.dtype.name], "shape": array.shape, "data_offsets": span}
        values += array.tobytes()
    text = json.dumps({"__metadata__": {"by": "test"}, **header}).encode()
    return len(text).to_bytes(8, "little") + text + values


@pytest.mark.parametrize("is_bfloat16", [False, True])
def test_safetensors_are_read(path, is_bfloat16):
    values = scores(BY_FOLDER)
    if is_bfloat16:
        values = (values.view(np.uint32) >> 16).astype(np.uint16)
    path.write_bytes(safetensors({"image_logits": values, "labels": LABEL[BY_FOLDER]}))
    check(read(path), range(len(LABEL)), has_shares=False)
    path.write_bytes(path.read_bytes()[:-7])
    with pytest.raises(InputError, match="cut short or damaged"):
        read(path)


@pytest.mark.parametrize("behind", [False, True])
def test_labels_saved_beside_scores_are_no_output(tmp_path, behind):
    label, values = LABEL[BY_FOLDER, None], scores(BY_FOLDER)
    np.save(tmp_path / "vit.npy", np.hstack([values, label] if behind else [label, values]))
    predictions = read(tmp_path / "vit.npy")
    notes = check(predictions, range(len(LABEL)), has_shares=False)
    assert f"The {'last' if behind else 'first'} of 1,001 columns holds whole numbers" in notes
    assert "background" not in notes
    assert predictions.confidence.max() < 0.6  # a softmax that counts the label would give 1


def test_columns_called_like_classes_may_come_in_any_order(tmp_path):
    order = [index for index in np.random.default_rng(2).permutation(1000).tolist() if index in ONCE]
    text = io.StringIO()
    csv.writer(text).writerows(
        [["image", *map(named, order)], *([NAMES[i], *row] for i, row in zip(ROWS, scores(ROWS, order), strict=True))]
    )
    (tmp_path / "vit.csv").write_text(text.getvalue())
    check(read(tmp_path / "vit.csv"), has_shares=False)


def test_columns_in_an_order_of_their_own_that_share_a_name_are_refused(tmp_path):
    order = np.random.default_rng(2).permutation(1000).tolist()
    called = ["crane" if index in (134, 517) else named(index) for index in order]
    rows = [[NAMES[i], *row] for i, row in zip(ROWS, scores(ROWS, order), strict=True)]
    text = io.StringIO()
    csv.writer(text).writerows([["image", *called], *rows])
    (tmp_path / "vit.csv").write_text(text.getvalue())
    with pytest.raises(InputError, match=r"2 columns of scores .*'?crane.*by wnid"):
        read(tmp_path / "vit.csv")


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        pytest.param([TOP1, LABEL], "'column 2' holds the original labels", id="labels behind"),
        pytest.param([LABEL, TOP1], "'column 1' holds the original labels", id="labels in front"),
        pytest.param([np.arange(50_000), TOP1], "'column 1' counts the rows", id="row numbers"),
        pytest.param(
            [TOP1, LABEL, np.full(50_000, 0.5)], "'column 2' holds the original labels", id="a confidence, too"
        ),
    ],
)
def test_a_table_saved_as_an_array_is_read_by_what_its_columns_hold(tmp_path, columns, said):
    order = slice(None) if np.array_equal(columns[0], np.arange(50_000)) else BY_FOLDER
    np.save(tmp_path / "vit.npy", np.column_stack([column[order] for column in columns]))
    assert said in check(read(tmp_path / "vit.npy"), range(len(LABEL)), has_shares=False)


def test_arrays_with_axes_of_length_one_and_one_hot_ones_are_read(tmp_path):
    np.save(tmp_path / "vit.npy", TOP1.reshape(-1, 1, 1))
    check(read(tmp_path / "vit.npy"), range(len(LABEL)), has_shares=False)
    np.save(tmp_path / "vit.npy", TOP1[:, None] == np.arange(1000))
    check(read(tmp_path / "vit.npy"), range(len(LABEL)), has_shares=False)


def test_ranks_beside_their_values_in_an_npz_are_no_scores(tmp_path):
    classes = np.stack([TOP1, (TOP1 + 7) % 1000], axis=1)
    np.savez(tmp_path / "vit.npz", pred=classes[BY_FOLDER], conf=np.tile([0.5, 0.25], (50_000, 1)))
    predictions = read(tmp_path / "vit.npz")
    check(predictions, range(len(LABEL)), has_shares=False)
    assert (predictions.confidence == 0.5).all()


@pytest.mark.parametrize(
    ("head", "write"),
    [
        pytest.param("file,pred", lambda _, i: f"{i + 1}.jpg", id="numbers with an ending"),
        pytest.param("path,pred", lambda _, i: f"images/{i}.png", id="in a folder, from 0"),
        pytest.param("image_id,pred", lambda _, i: f"{i + 1}.0", id="numbers that became floats"),
        pytest.param("idx,pred", lambda place, _: str(place), id="places in class folders"),
        pytest.param("index,label", lambda place, _: str(place), id="beside a label"),
    ],
)
def test_numbers_for_names_are_places_in_an_order(tmp_path, head, write):
    place = np.argsort(BY_FOLDER)
    rows = np.random.default_rng(3).permutation(50_000)[:3000]
    (tmp_path / "vit.csv").write_text("\n".join([head, *(f"{write(place[i], i)},{TOP1[i]}" for i in rows)]))
    assert "only that fits the labels" in check(read(tmp_path / "vit.csv"), rows.tolist(), has_shares=False)


def test_the_same_numbers_in_many_folders_are_no_places(tmp_path):
    (tmp_path / "v2.csv").write_text(
        "path,pred\n" + "".join(f"{LABEL[i]}/{i % 10}.jpeg,{TOP1[i]}\n" for i in range(500))
    )
    with pytest.raises(InputError, match="none of its 500 rows is an annotated image"):
        read(tmp_path / "v2.csv")


SHUFFLED = np.random.default_rng(4).permutation(1000)
REFUSED = {
    "classes renamed": (SHUFFLED[TOP1][BY_FOLDER], r"in the order imagefolder .* classes are in another order.*FILE"),
    "class folders in another order": (TOP1[BY_FOLDER][::-1], "class folders are in another order.*--row-order FILE"),
    "rows of another order": (
        np.random.default_rng(4).permutation(TOP1),
        "accuracy is at chance in every common order",
    ),
}


@pytest.mark.parametrize(("top1", "said"), REFUSED.values(), ids=REFUSED)
def test_what_is_in_another_order_is_told_apart(tmp_path, top1, said):
    np.save(tmp_path / "vit.npy", top1)
    with pytest.raises(InputError, match=said):
        read(tmp_path / "vit.npy")


def test_the_devkits_scores_without_names_need_two_flags_which_work(tmp_path):
    kit = np.argsort(class_axis(DEVKIT, LABELS).class_at)
    values = np.zeros((50_000, 1000), dtype=np.float16)
    values[np.arange(50_000), kit[TOP1[BY_FOLDER]]] = 1
    np.save(tmp_path / "vit.npy", values)
    with pytest.raises(InputError, match="--row-order imagefolder and --class-axis devkit"):
        read(tmp_path / "vit.npy")
    flags = {"row_order": "imagefolder", "class_axis": "devkit"}
    check(read(tmp_path / "vit.npy", **flags), range(len(LABEL)), has_shares=False)


def test_a_head_of_the_files_own_few_classes_is_told(tmp_path):
    few = np.flatnonzero(np.isin(LABEL, [0, 217, 482, 491, 497, 566, 569, 571, 574, 701]))
    numbers = {index: k for k, index in enumerate(sorted(set(LABEL[few].tolist())))}
    rows = "".join(f"{NAMES[i]},{numbers[int(LABEL[i])] if i % 9 else 3}\n" for i in few)
    (tmp_path / "vit.csv").write_text("image,pred\n" + rows)
    with pytest.raises(InputError, match=r"images of 10 classes, and only classes 0 to 9 .*--class-axis FILE"):
        read(tmp_path / "vit.csv")


@pytest.mark.parametrize("is_shuffled", [False, True])
def test_a_weak_model_is_no_fault_but_shuffled_it_is(tmp_path, is_shuffled):
    top1, random = TOP1.copy(), np.random.default_rng(6)
    worse = random.random(50_000) < 0.65
    top1[worse] = (LABEL + random.choice([-3, -2, -1, 1, 2, 3], 50_000))[worse] % 1000
    for index in range(1000 if is_shuffled else 0):
        own = np.flatnonzero(index == LABEL)
        top1[own] = random.permutation(top1[own])
    (tmp_path / "weak.csv").write_text("image,pred\n" + "".join(f"{a},{b}\n" for a, b in zip(NAMES, top1, strict=True)))
    if is_shuffled:
        with pytest.raises(InputError, match="another order inside the classes"):
            read(tmp_path / "weak.csv")
    else:
        assert "another order inside the classes" in " ".join(read(tmp_path / "weak.csv").intake.notes)


def test_columns_that_never_agree_are_ranks_and_no_models(tmp_path):
    text = "image,best,other,last\n" + lines(lambda i: ",".join(map(str, [NAMES[i], *ranks(i)[0]])))
    (tmp_path / "vit.csv").write_text(text)
    with pytest.raises(InputError, match=r"3 columns that never name one class.*--column index='best'"):
        read(tmp_path / "vit.csv")
    check(read(tmp_path / "vit.csv", columns={"index": "best"}), has_shares=False)


def test_models_by_name_and_image_in_json_are_several(tmp_path):
    both = {m: {NAMES[i]: int(TOP1[i] + (i % 9 == k)) % 1000 for i in ROWS} for k, m in enumerate(("vit", "clip"))}
    (tmp_path / "all.json").write_text(json.dumps(both))
    models = read_models(tmp_path / "all.json", REAL, LABELS, rules=ReadRules(allow_partial=True))
    assert [one.model for one in models] == ["vit", "clip"]


def test_parts_by_their_count_are_joined_and_others_numbered_alike_are_named(tmp_path):
    for k in range(3):
        rows = "image,pred\n" + "".join(f"{NAMES[i]},{TOP1[i]}\n" for i in ROWS[k::3])
        (tmp_path / f"vit-0000{k}-of-00003.csv").write_text(rows)
        (tmp_path / f"clip_{k}.csv").write_text(rows)
    assert [files.model for files in model_files([tmp_path])] == ["clip_0", "clip_1", "clip_2", "vit"]
    with pytest.raises(InputError, match=r"If clip_0\.csv to clip_2\.csv are parts of one model, name them so: part-0"):
        read_models(tmp_path / "clip_1.csv", REAL, LABELS, rules=ReadRules())[0].predictions()


@pytest.mark.parametrize("start", [b"(dp0\nS'a'", b"cnumpy.core.multiarray\n"])
def test_pickles_of_old_protocols_are_known(path, start):
    path.write_bytes(start)
    with pytest.raises(InputError, match="this is a pickle"):
        read(path)


def test_names_in_quotes_are_no_rows_in_one_cell(path):
    path.write_text("".join(f'"{text}"\n' for text in LABELS.descriptions))
    assert read_raw(path).text.to_pylist() == list(LABELS.descriptions)


def test_an_apostrophe_in_single_quotes_ends_no_cell(path):
    for inside in ("jack-o'-lantern", "jack-o''-lantern", r"jack-o\'-lantern"):
        path.write_text("'image','label'\n" + "".join(f"'{NAMES[i]}','{inside}'\n" for i in range(3)))
        assert read_raw(path).text.to_pylist() == ["jack-o'-lantern"] * 3


def test_single_quotes_beside_double_ones_belong_to_the_names(path):
    path.write_text("".join(f"\"{NAMES[i]}\",'tabby'\n" for i in range(3)))
    assert read_raw(path).text.to_pylist() == ["'tabby'"] * 3


@pytest.mark.parametrize("mark", [", ", "|", "/"])
def test_of_names_in_alphabetical_order_the_best_is_not_known(path, mark):
    cells = [mark.join(sorted(map(named, ranks(i)[0]), key=str.casefold)) for i in ROWS]
    path.write_text("image,top3\n" + "".join(f'{NAMES[i]},"{cell}"\n' for i, cell in zip(ROWS, cells, strict=True)))
    with pytest.raises(InputError, match=r"stand in alphabetical order in all \d+ lists.*Write them best first"):
        read(path)


def test_of_names_in_columns_in_alphabetical_order_neither(path):
    path.write_text(lines(lambda i: ",".join([NAMES[i], *sorted(map(named, ranks(i)[0]), key=str.casefold)])))
    with pytest.raises(InputError, match="stand in alphabetical order"):
        read(path)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("image;top3\n" + lines(lambda i: f"{NAMES[i]};{set(ranks(i)[0])}"), id="indices in cells"),
        pytest.param("image\ttop3\n" + lines(lambda i: f"{NAMES[i]}\t{set(map(named, ranks(i)[0]))}"), id="names"),
        pytest.param(repr({NAMES[i]: set(map(named, ranks(i)[0])) for i in ROWS}), id="what Python prints"),
    ],
)
def test_a_set_does_not_tell_the_best_class(path, text):
    path.write_text(text)
    with pytest.raises(InputError, match=r"as a set, which has no order.*\(first: \{.*Write lists, best first"):
        read(path)


def with_first(cell):
    return "image,top2\n" + lines(lambda i: f'{NAMES[i]},"{cell if i == ROWS[0] else f"{named(TOP1[i])}, ski"}"')


@pytest.mark.parametrize("cell", ["polecat, tabby", "crane, tabby"])
def test_of_names_between_commas_a_first_one_of_two_classes_is_ambiguous(path, cell):
    path.write_text(with_first(cell))
    assert f"means more than one class (first: row 1: '{cell}')" in check(read(path), ROWS[1:], has_shares=False)


@pytest.mark.parametrize("mark", [", ", "/"])
def test_a_name_before_others_means_what_it_means_alone(path, mark):
    first = {index: text.split(", ")[0] for index, text in enumerate(LABELS.descriptions)}
    rows, maillot = (
        ROWS[:60],
        LABELS.index_of_wnid["n03710637"],
    )  # whose description is that of another class, shortened
    cells = [*(first[TOP1[i]] for i in rows), first[maillot]]
    names = [*(NAMES[i] for i in rows), NAMES[500]]
    path.write_text("image,top2\n" + "".join(f'{a},"{b}{mark}tench"\n' for a, b in zip(names, cells, strict=True)))
    assert f"means more than one class (first: row 61: 'maillot{mark}tench')" in check(
        read(path), rows, has_shares=False
    )


def test_where_something_else_stands_between_commas_the_file_is_refused(path):
    path.write_text(with_first("tabby, no such thing"))
    with pytest.raises(InputError, match=r"80 labels of 80 cannot be read as a class.*several of a row between '\|'"):
        read(path)


@pytest.mark.parametrize(
    ("header", "is_read"), [pytest.param("confidence", False), pytest.param("confidence_percent", True)]
)
def test_percentages_are_read_where_the_header_says_so_and_else_that_is_said(path, header, is_read):
    path.write_text(f"image,pred,{header}\n" + lines(lambda i: f"{NAMES[i]},{TOP1[i]},{100 * SHARE[i]:.1f}"))
    notes = check(read(path), has_shares=is_read)
    assert ("Percentages are read under a header with 'percent'" in notes) == (not is_read)


def test_percentages_without_a_header_are_read_once_one_is_written_as_the_note_says(path):
    path.write_text(lines(lambda i: f"{NAMES[i]},{named(TOP1[i])},{100 * SHARE[i]:.1f}"))
    notes = check(read(path), has_shares=False)
    first_line = re.search(r"a first line such as (\S+)\)", notes)[1]
    path.write_text(f"{first_line}\n{path.read_text()}")
    check(read(path))


MANY = range(400)


def with_values(values):
    return "".join(f"{NAMES[i]},{named(TOP1[i])},{values[i]:.2f}\n" for i in MANY)


def test_many_values_from_90_to_100_and_none_beyond_are_percentages_and_that_is_said(path):
    share = np.random.default_rng(5).uniform(30, 99, 400)
    path.write_text(with_values(share))
    predictions = read(path)
    assert predictions.confidence == pytest.approx(share[predictions.rows] / 100, abs=1e-4)
    assert "'column 3' was read as percentages: no value is above 100, and" in " ".join(predictions.intake.notes)


@pytest.mark.parametrize(
    "values",
    [
        pytest.param(np.random.default_rng(5).normal(14, 4, 400).clip(0), id="logits"),
        pytest.param(np.random.default_rng(5).uniform(30, 101, 400), id="some above 100"),
        pytest.param(np.random.default_rng(5).uniform(-1, 99, 400), id="some below 0"),
        pytest.param(np.r_[np.full(390, 20.5), np.full(10, 95.5)], id="few near 100"),
    ],
)
def test_other_values_above_1_are_no_confidence(path, values):
    path.write_text(with_values(values))
    predictions = read(path)
    assert predictions.confidence is None
    assert "holds values outside 0..1" in " ".join(predictions.intake.notes)


@pytest.mark.parametrize("kind", ["U", "S"])
def test_a_table_of_texts_saved_as_an_array_is_read(tmp_path, kind):
    np.save(tmp_path / "vit.npy", np.array([[NAMES[i], named(TOP1[i]), str(SHARE[i])] for i in ROWS], dtype=kind))
    check(read(tmp_path / "vit.npy"))


@pytest.mark.parametrize(
    "arrays",
    [
        pytest.param([TOP1[ROWS], [SHARE[i] for i in ROWS]], id="classes and confidences"),
        pytest.param([[ranks(i)[0] for i in ROWS], [ranks(i)[1] for i in ROWS]], id="ranks and their values"),
    ],
)
def test_arrays_without_names_of_their_own_are_known_by_what_they_hold(tmp_path, arrays):
    np.savez(tmp_path / "vit.npz", np.array(NAMES)[ROWS], *map(np.array, arrays))
    check(read(tmp_path / "vit.npz"))


def test_columns_of_one_name_can_be_told_apart_as_the_message_says(path):
    path.write_text(
        "image,pred,prob,pred,prob\n" + lines(lambda i: f"{NAMES[i]},{TOP1[i]},{SHARE[i]},{(i * 7) % 999},0.1")
    )
    with pytest.raises(InputError, match=r"2 columns may be the index: 'pred', 'pred\.1'"):
        read(path)
    check(read(path, columns={"index": "pred", "confidence": "prob"}))


def test_a_model_that_says_one_class_of_all_images_is_read_for_that(path):
    path.write_text("image,pred\n" + lines(lambda i: f"{NAMES[i]},tench"))
    assert set(read(path, check_order=False).top1) == {0}


def test_a_head_of_some_classes_needs_its_names_and_the_images_names(tmp_path):
    classes, rows = np.arange(0, 500, 5), np.flatnonzero((LABEL % 5 == 0) & (LABEL < 500))[:300]
    shown = np.where(np.arange(300) % 4, LABEL[rows], (LABEL[rows] + 5) % 500)
    np.save(tmp_path / "vit.npy", (shown[:, None] == classes).astype(np.float32))
    said = r"300 rows of 100 outputs.*--class-axis FILE: .* 100 lines\. Rows .* need --row-order FILE, too"
    with pytest.raises(InputError, match=said):
        read(tmp_path / "vit.npy")
    (tmp_path / "axis.txt").write_text("\n".join(LABELS.wnids[index] for index in classes))
    (tmp_path / "names.txt").write_text("\n".join(NAMES[i] for i in rows))
    found = read(tmp_path / "vit.npy", class_axis=str(tmp_path / "axis.txt"), row_order=str(tmp_path / "names.txt"))
    assert dict(zip(found.rows.tolist(), found.top1.tolist(), strict=True)) == dict(zip(rows, shown, strict=True))


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("predictions:\n" + lines(lambda i: f"- image: {NAMES[i]}\n  pred: {TOP1[i]}"), id="a list"),
        pytest.param(lines(lambda i: f"{NAMES[i]}:\n  class: {TOP1[i]}\n  score: {SHARE[i]}"), id="by image"),
    ],
)
def test_nested_yaml_is_refused_with_a_conversion_that_works(tmp_path, monkeypatch, text):
    pytest.importorskip("yaml")
    (tmp_path / "vit.yaml").write_text(text)
    with pytest.raises(InputError, match="this is YAML, which is not read") as refused:
        read(tmp_path / "vit.yaml")
    monkeypatch.chdir(tmp_path)
    exec("\n".join(line.strip() for line in refused.value.fix.splitlines()[1:]))
    check(read(tmp_path / "vit.json"), has_shares=False)


CLASS_LISTS = {
    "names": "\n".join(text.split(", ")[0] for text in LABELS.descriptions),
    "Kaggle's mapping": "\n".join(map(" ".join, zip(LABELS.wnids, LABELS.descriptions, strict=True))),
    "Keras' index": json.dumps({i: [wnid, "x"] for i, wnid in enumerate(LABELS.wnids)}),
    "Hugging Face's ids": json.dumps({"id2label": dict(enumerate(LABELS.descriptions))}),
    "a table": "index,wnid,name\n" + "".join(f"{i},{wnid},x\n" for i, wnid in enumerate(LABELS.wnids)),
}


@pytest.mark.parametrize("text", CLASS_LISTS.values(), ids=CLASS_LISTS)
def test_a_list_of_the_classes_is_told_and_goes_where_the_message_says(tmp_path, text):
    (tmp_path / "classes").write_text(text)
    with pytest.raises(InputError, match=r"a list of 1,000 classes, without an image .*--class-axis.*--classes"):
        read(tmp_path / "classes")
    np.savez(tmp_path / "vit.npz", names=np.array(NAMES)[ROWS], logits=np.eye(1000, dtype=np.float32)[TOP1[ROWS]])
    check(read(tmp_path / "vit.npz", class_axis=str(tmp_path / "classes")), has_shares=False)


def test_predictions_of_each_class_once_are_no_list_of_the_classes(path):
    path.write_text("\n".join(map(str, np.random.default_rng(3).permutation(1000))))
    with pytest.raises(InputError, match="1,000 rows without image names"):
        read(path)
