"""Delimited text: timm's CSV variants, ImageNet-X, caffe's val.txt, and what people write by hand."""

from pathlib import Path

import numpy as np
import pytest

from imagenet_errors.problems import InputError
from imagenet_errors.readers import read_raw
from imagenet_errors.readers.assemble import read_columns
from imagenet_errors.readers.delimited import read_delimited
from imagenet_errors.readers.opened import Opened
from imagenet_errors.readers.scores import reduce_scores
from timm_files import LEMMAS, NAMES, TOP1, TOP1_PROBS, WRITERS, probabilities, timm_frame

SHARED = Path(__file__).parents[3] / "shared" / "data" / "predictions"
WNIDS = np.array([f"n0000000{i}" for i in range(6)])
DETAILED = np.array([f"{lemmas}: a thing; or two, of 'some' \"kind\"" for lemmas in LEMMAS])


def read(text, **how):
    return read_columns(read_delimited(Opened(Path("model.csv"), memoryview(text.encode())), {}), **how)


def rows(raw):
    """Return (name, index, text) of each row."""
    none = [None] * raw.n_rows
    names = none if raw.names is None else raw.names.to_pylist()
    index = none if raw.index is None else raw.index.tolist()
    return list(zip(names, index, none if raw.text is None else raw.text.to_pylist(), strict=True))


def timm_csv(tmp_path, scores, **variant):
    path = tmp_path / "model.csv"
    WRITERS["csv"](timm_frame(scores, **variant), path)
    return read_raw(path)


@pytest.mark.parametrize(
    ("variant", "has_index", "labels"),
    [
        pytest.param({}, False, LEMMAS, id="default"),
        pytest.param({"index": True}, True, LEMMAS, id="--include-index"),
        pytest.param({"labels": WNIDS}, False, WNIDS, id="--label-type name"),
        pytest.param({"labels": DETAILED}, False, DETAILED, id="--label-type detailed"),
        pytest.param({"labels": None, "index": True}, True, None, id="--label-type none"),
        pytest.param({"topk": 5}, False, LEMMAS, id="--topk 5"),
        pytest.param({"topk": 5, "index": True}, True, LEMMAS, id="--topk 5 --include-index"),
        pytest.param({"topk": 5, "labels": DETAILED}, False, DETAILED, id="--topk 5 --label-type detailed"),
        pytest.param({"topk": 5, "index": True, "separate": True}, True, LEMMAS, id="--results-separate-col"),
        pytest.param({"topk": 5, "separate": True}, False, LEMMAS, id="--results-separate-col, labels only"),
        pytest.param({"output": "p", "filename": "img"}, False, LEMMAS, id="renamed columns"),
    ],
)
def test_timm_variants_give_the_same_top1(tmp_path, variant, has_index, labels):
    raw = timm_csv(tmp_path, probabilities(), **variant)
    assert raw.names.to_pylist() == list(NAMES)
    assert (None if raw.index is None else tuple(raw.index)) == (TOP1 if has_index else None)
    assert (None if raw.text is None else raw.text.to_pylist()) == (None if labels is None else [*labels[[*TOP1]]])
    np.testing.assert_allclose(raw.confidence, TOP1_PROBS, rtol=1e-5)


@pytest.mark.parametrize("separate", [False, True], ids=["one list column", "prob_0..prob_999 are classes"])
@pytest.mark.parametrize("output", ["prob", "logit"])
def test_timm_without_topk_gives_every_output(tmp_path, separate, output):
    scores = probabilities(1000)
    given = scores if output == "prob" else np.log(scores) + 3
    raw = timm_csv(tmp_path, given, topk=0, separate=separate, output=output)
    assert (raw.n_outputs, raw.index) == (1000, None)
    reduced = reduce_scores(raw)
    assert tuple(reduced.index) == TOP1
    np.testing.assert_allclose(reduced.confidence, TOP1_PROBS, rtol=1e-3)


def test_timm_logits_of_a_top_1_are_no_confidence_and_that_is_said(tmp_path):
    raw = timm_csv(tmp_path, probabilities() * 20, output="logit")
    assert raw.confidence is None
    assert "'logit' holds values outside 0..1" in raw.notes[0]


def test_timm_lists_of_many_outputs_that_numpy_shortened_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"--results-format parquet"):
        timm_csv(tmp_path, probabilities(2000), topk=0)


def test_timm_marks_classes_it_cannot_map_and_so_do_we():
    raw = read("filename,label,prob\na.JPEG,<unmapped:850>,0.5\n")
    assert raw.text.to_pylist() == ["<unmapped:850>"]


def test_timm_csv_text_inside_a_json_file_is_csv(tmp_path):
    path = tmp_path / "model.json"
    WRITERS["csv"](timm_frame(probabilities()), path)
    assert read_raw(path).format == "timm CSV"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("a.JPEG 65\nb.JPEG 3\n", [("a.JPEG", 65, None), ("b.JPEG", 3, None)], id="caffe val.txt"),
        pytest.param("a.JPEG   65 \r\nb.JPEG  3\r\n", [("a.JPEG", 65, None), ("b.JPEG", 3, None)], id="padded"),
        pytest.param("a.JPEG,65\nb.JPEG,3", [("a.JPEG", 65, None), ("b.JPEG", 3, None)], id="no header"),
        pytest.param("a.JPEG\tn01440764\n", [("a.JPEG", None, "n01440764")], id="tab, no header"),
        pytest.param("a.JPEG\ttench, Tinca tinca\n", [("a.JPEG", None, "tench, Tinca tinca")], id="tab, commas"),
        pytest.param("file;class_id\na.JPEG;65\n", [("a.JPEG", 65, None)], id="semicolons"),
        pytest.param("file|class_id\na.JPEG|65\n", [("a.JPEG", 65, None)], id="bars"),
        pytest.param("filename,index\r\na.JPEG,65\r\n", [("a.JPEG", 65, None)], id="CRLF"),
        pytest.param("# made by me\nfilename,index\n# half\na.JPEG,65\n", [("a.JPEG", 65, None)], id="comments"),
        pytest.param("filename,index\n\na.JPEG,65\n\n", [("a.JPEG", 65, None)], id="empty lines"),
        pytest.param('f,label\n"a,b.JPEG","x ""y"""\n', [("a,b.JPEG", None, 'x "y"')], id="quotes and commas"),
        pytest.param('filename,label\na.JPEG,"two\nlines"\n', [("a.JPEG", None, "two\nlines")], id="line break"),
        pytest.param("filename,label\na.JPEG,jack-o'-lantern\n", [("a.JPEG", None, "jack-o'-lantern")], id="'"),
        pytest.param("id,label\n00000293,nan\n", [("00000293", None, "nan")], id="leading zeros and nan stay"),
        pytest.param("filename,index\nnull,65\nnan,3\n", [("null", 65, None), ("nan", 3, None)], id="odd names"),
        pytest.param("65\n3\n", [(None, 65, None), (None, 3, None)], id="classes alone"),
        pytest.param(",filename,pred\n0,a.JPEG,65\n", [("a.JPEG", 65, None)], id="pandas index"),
        pytest.param("filename,pred\na.JPEG,tensor(65)\n", [("a.JPEG", 65, None)], id="printed tensors"),
    ],
)
def test_layouts(text, expected):
    assert rows(read(text)) == expected


def test_a_byte_order_mark_is_no_part_of_the_first_header(tmp_path):
    path = tmp_path / "model.csv"
    path.write_text("filename,index\na.JPEG,65\n", encoding="utf-8-sig")
    assert rows(read_raw(path)) == [("a.JPEG", 65, None)]


def test_decimal_commas_are_read_between_semicolons():
    assert read("file;pred;prob\na.JPEG;65;0,5\n").confidence.tolist() == [0.5]


@pytest.mark.parametrize("header", ["file,{}\n", ""], ids=["numbered headers", "no header"])
def test_a_matrix_of_scores_after_the_names(header):
    scores = probabilities(200)
    body = "".join(f"{name},{','.join(map(str, row))}\n" for name, row in zip(NAMES, scores, strict=True))
    raw = read(header.format(",".join(map(str, range(200)))) + body)
    assert raw.names.to_pylist() == list(NAMES)
    assert tuple(reduce_scores(raw).index) == TOP1


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param(
            "filename,index\na.JPEG,65\nb.JPEG\n",
            r"line 3 has 1 cell, the first has 2 \(first: b.JPEG\)",
            id="short",
        ),
        pytest.param(
            'filename,label\na.JPEG,"x\ny"\nb.JPEG,3,4\n',
            r"line 4 has 3 cells.*\(first: b.JPEG,3,4\)",
            id="long",
        ),
        pytest.param('filename,label\na.JPEG,"x\nb.JPEG,y\n', "quoted cell is never closed", id="open quote"),
        pytest.param("filename,index\n", "no rows", id="header alone"),
        pytest.param("filename,index\na.JPEG,abc\nb.JPEG,3\n", "row 1: 'abc'", id="word for a class"),
        pytest.param("model,top1,top1_err,top5\nresnet50,80,20,95\n", "table of accuracies", id="timm results"),
        pytest.param(
            'model,img_size,top1,top1_diff,param_count\nvit,224,80.1,+1.088,"1,014.45"\n',
            "table of accuracies",
            id="timm results with thousands commas",
        ),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_line(text, told):
    with pytest.raises(InputError, match=told):
        read(text)


@pytest.mark.parametrize("name", ["ViT", "ResNet50", "DINO"])
def test_the_imagenet_x_files_are_read(name):
    path = SHARED / f"{name}.csv"
    if not path.is_file():
        pytest.skip("the shared data lie beside a development checkout only")
    raw = read_raw(path)
    assert (raw.format, raw.n_rows, raw.invalid, raw.notes) == ("ImageNet-X CSV", 50_000, {}, ())
    assert raw.names[0].as_py() == "ILSVRC2012_val_00000293.JPEG"
    assert raw.index.min() == 0
    assert raw.index.max() == 999
    assert 0 < raw.confidence.min() <= raw.confidence.max() <= 1
