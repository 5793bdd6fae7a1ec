"""Files as people really have them: each is read for what it says, or refused with a way out that works.

All are about sixty validation images and one made-up model, written in the shapes that tools and people write.
"""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from imagenet_errors.images import val_file_names
from imagenet_errors.labels import imagenet_1k
from imagenet_errors.problems import InputError
from imagenet_errors.readers.annotations import read_real, val_labels
from imagenet_errors.readers.model_files import model_files
from imagenet_errors.readers.predictions import ReadRules, read_models
from real_looking import real_looking

LABELS = imagenet_1k()
REAL = read_real(LABELS)
LABEL = val_labels().astype(np.int64)
N = 60
TOP1 = real_looking(accuracy=0.75, seed=5)
NAMES = val_file_names(np.arange(1, len(LABEL) + 1)).to_pylist()
BY_FOLDER = np.argsort(LABEL, kind="stable")
ROWS = [(NAMES[i], int(TOP1[i]), int(LABEL[i])) for i in range(N)]
FIRST_NAMES = [text.split(", ")[0] for text in LABELS.descriptions]


def read(path, **rules):
    models = read_models(path, REAL, LABELS, rules=ReadRules(allow_partial=True, **rules))
    return {one.model: one.predictions() for one in models}


def lines(template, *, head=""):
    """One line an image: name, index, wnid, label of the class, its neighbours in ranks."""
    return head + "".join(
        template.format(
            name=name,
            index=index,
            wnid=LABELS.wnids[index],
            text=LABELS.names[index],
            truth=truth,
            second=(index + 7) % 1000,
            third=(index + 19) % 1000,
        )
        + "\n"
        for name, index, truth in ROWS
    )


def records(make):
    return [make(name, index) for name, index, _ in ROWS]


def pipeline(index):
    return [{"label": LABELS.names[index], "score": 0.75}, {"label": "tench", "score": 0.01}]


def hexadecimal(kind):
    return lambda index: np.array([index], dtype=kind).tobytes().hex().upper()


TEXTS = {
    "a blank first line": lines("{name},{index}", head="\nfile_name,pred\n"),
    "a comment and a blank line": lines("{name},{index}", head="# vit\n\nfile_name,pred\n"),
    "Excel's sep line": lines("{name};{index}", head="sep=;\nfile_name;pred\n"),
    "a title": lines("{name},{index}", head="Results of run 7\n\nfile_name,pred\n"),
    "log lines": lines("{name},{index}", head="Loading model, please wait\nDone, 12 s\nfile_name,pred\n"),
    "blanks around texts": lines("{name} , {wnid}", head="name , wnid\n"),
    "blanks before quotes": lines('{name}, "{wnid}"', head="name, label\n"),
    "tensors on a device": lines("{name},\"tensor({index}, device='cuda:0')\"", head="file,pred\n"),
    "tensors with a type": lines('{name},"tensor([{index}], dtype=torch.int32)"', head="file,pred\n"),
    "lower case": lines("{name},{text}", head="file,pred\n").lower().replace("ilsvrc", "ILSVRC"),
    "index and name": lines('{name},"{index} {text}"', head="file,pred\n"),
    "wnid and name": lines('{name},"{wnid}_{text}"', head="file,pred\n"),
    "a prompt": lines('{name},"a photo of a {text}."', head="file,pred\n"),
    "ranks between blanks": lines("{name},{index} {second} {third}", head="file,top5\n"),
    "ranks between semicolons": lines("{name},{index};{second};{third}", head="file,top5\n"),
    "ranks in brackets": lines('{name},"({index}, {second}, {third})"', head="file,top5\n"),
    "ranks without a header": lines("{name},{index},{second},{third}"),
    "percent signs": lines("{name};{index};55,3 %", head="file_name;predicted_class;predicted_probability\n"),
    "exponents": lines('{name},{index},"5,53E-01"', head="file_name,predicted_class,predicted_probability\n"),
    "the truth beside a model's column": lines("{name},{truth},{index}", head="filename,label,resnet50\n"),
    "a German header": lines("{name};{truth};{index}", head="Datei;Label;Vorhersage\n"),
    "suffixes of a merge": lines("{name},{truth},{index}", head="file_name,class_0,class_1\n"),
    "a row a rank": "image,rank,class\n"
    + "".join(f"{name},{k},{(index + 7 * k) % 1000}\n" for name, index, _ in ROWS for k in (2, 0, 1)),
    "a row a rank, by confidence": "image,class,prob\n"
    + "".join(f"{name},{(index + 7 * k) % 1000},{0.5 - k / 10}\n" for name, index, _ in ROWS for k in (2, 0, 1)),
    "a pipeline's output in cells": "image,output\n"
    + "".join(f'{name},"{pipeline(index)}"\n' for name, index, _ in ROWS if "'" not in LABELS.names[index]),
}
JSONS = {
    "pipeline lists below a key": records(lambda name, index: {"image": name, "output": pipeline(index)}),
    "results beside metadata": {
        "model": "vit", "config": {"lr": 0.1}, "results": records(lambda name, index: {"image": name, "pred": index}),
    },
    "FiftyOne's own classes": {
        "classes": sorted(LABELS.names),
        "labels": {name[:-5]: sorted(LABELS.names).index(LABELS.names[index]) for name, index, _ in ROWS},
    },
    "scores by class": {name: {"tench": 0.01, LABELS.names[index]: 0.9} for name, index, _ in ROWS},
    "a W&B table": {
        "columns": ["id", "image", "prediction", "truth"],
        "data": [
            [k, {"_type": "image-file", "path": f"media/{name}"}, index, truth]
            for k, (name, index, truth) in enumerate(ROWS)
        ],
    },
    "an object an image": records(lambda name, index: {name: index}),
}  # fmt: skip


def as_read(predictions):
    return dict(zip(predictions.rows.tolist(), predictions.top1.tolist(), strict=True))


def check(models, n_least=N):
    (predictions,) = models.values()
    found = as_read(predictions)
    assert len(found) >= n_least
    assert {row: int(TOP1[row]) for row in found} == found
    return predictions


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_texts_are_read(tmp_path, text):
    path = tmp_path / "vit.csv"
    path.write_text(text, encoding="utf-8")
    check(read(path), n_least=N - 3)


@pytest.mark.parametrize("content", JSONS.values(), ids=JSONS)
def test_json_is_read(tmp_path, content):
    (tmp_path / "vit.json").write_text(json.dumps(content), encoding="utf-8")
    check(read(tmp_path / "vit.json"))


@pytest.mark.parametrize("kind", ["<i4", "<i8", "<f4"])
def test_an_mlperf_accuracy_log_is_read(tmp_path, kind):
    written = hexadecimal(kind)
    order = np.random.default_rng(1).permutation(400)
    log = [{"seq_id": k, "qsl_idx": int(i), "data": written(TOP1[i])} for k, i in enumerate(order)]
    (tmp_path / "mlperf_log_accuracy.json").write_text(json.dumps(log))
    check(read(tmp_path / "mlperf_log_accuracy.json"), n_least=400)


@pytest.mark.parametrize("has_path", [True, False])
def test_hugging_faces_image_column_gives_the_name_where_it_has_one(tmp_path, has_path):
    images = [{"bytes": b"\xff\xd8\xff", "path": name if has_path else None} for name, _, _ in ROWS]
    table = pa.table({"image": images, "label": [truth for *_, truth in ROWS], "prediction": [i for _, i, _ in ROWS]})
    pq.write_table(table, tmp_path / "vit.parquet")
    if has_path:
        check(read(tmp_path / "vit.parquet"))
    else:
        with pytest.raises(InputError, match="60 rows without image names"):
            read(tmp_path / "vit.parquet")


def test_a_map_of_scores_by_class_is_read(tmp_path):
    maps = pa.array(
        [[(LABELS.names[index], 0.9), ("tench", 0.1)] for _, index, _ in ROWS], pa.map_(pa.string(), pa.float64())
    )
    pq.write_table(pa.table({"file_name": [name for name, *_ in ROWS], "scores": maps}), tmp_path / "vit.parquet")
    check(read(tmp_path / "vit.parquet"))


@pytest.mark.parametrize("kind", [np.int16, np.uint16, np.int32])
def test_narrow_classes_of_many_rows_are_read_whatever_the_first_is(tmp_path, kind):
    top1 = TOP1[BY_FOLDER].copy()
    top1[0] = 0
    np.save(tmp_path / "vit.npy", top1.astype(kind))
    (found,) = read(tmp_path / "vit.npy").values()
    assert len(found.rows) == len(LABEL)


def test_classes_in_a_byte_are_refused_where_images_have_larger_labels(tmp_path):
    np.save(tmp_path / "vit.npy", TOP1.astype(np.uint8))
    with pytest.raises(InputError, match=r"vit\.npy: .*uint8"):
        read(tmp_path / "vit.npy")


def test_the_truth_saved_before_the_predictions_is_told_apart(tmp_path):
    np.savez(tmp_path / "vit.npz", LABEL[BY_FOLDER], TOP1[BY_FOLDER])
    check(read(tmp_path / "vit.npz"), n_least=len(LABEL))


def test_a_folders_wnid_beside_an_index_is_the_truth(tmp_path):
    rows = [f"{LABELS.wnids[truth]}/{name},{LABELS.wnids[truth]},{index}" for name, index, truth in ROWS]
    (tmp_path / "vit.csv").write_text("path,wnid,idx\n" + "\n".join(rows))
    assert "is the folder in the image's name" in " ".join(check(read(tmp_path / "vit.csv")).intake.notes)


def test_a_column_a_model_gives_several_models_named_by_their_headers(tmp_path):
    other = np.where(np.arange(N) % 9, TOP1[:N], (TOP1[:N] + 5) % 1000)
    rows = [f"{name},{truth},{index},{two}" for (name, index, truth), two in zip(ROWS, other, strict=True)]
    (tmp_path / "many.csv").write_text("file_name,label,alexnet,timm/vit\n" + "\n".join(rows))
    found = read(tmp_path / "many.csv")
    assert list(found) == ["alexnet", "timm_vit"]
    assert as_read(found["timm_vit"]) == dict(enumerate(other.tolist()))


def test_three_seeds_are_no_ranks(tmp_path):
    rows = [f"{name},{index},{index},{(index + (k % 5 == 0)) % 1000}" for k, (name, index, _) in enumerate(ROWS)]
    (tmp_path / "vit.csv").write_text("file_name,pred_0,pred_1,pred_2\n" + "\n".join(rows))
    with pytest.raises(InputError, match=r"columns may be the index: 'pred_0', 'pred_2'.*--column index=NAME"):
        read(tmp_path / "vit.csv")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param(
            "," + ",".join(name for name, *_ in ROWS) + "\npred," + ",".join(str(index) for _, index, _ in ROWS),
            "images stand in columns: 60 headers of 61 are image names .*Transpose",
            id="an image a column",
        ),
        pytest.param(
            "path,pred\n" + "".join(f"fog/{k}/{name},{index + k}\n" for name, index, _ in ROWS[:9] for k in (1, 2)),
            "same image occurs under several folders.*fog/1/.*fog/2/.*one file for each setting",
            id="ImageNet-C",
        ),
        pytest.param(
            lines('{name},"[-0.1 0.2 \u2026 0.1]"', head="filename,logits\n"),
            r"vit.csv, column 'logits': numpy left values out .*60 rows \(first: row 1\)",
            id="shortened arrays",
        ),
        pytest.param(
            "path,pred\n" + "".join(f"train/n01440764/{i:08d}.jpg,{i}\n" for i in range(1, 50)),
            "none of its 49 rows is an annotated image",
            id="numbers in a training folder",
        ),
    ],
)
def test_what_it_is_is_said(tmp_path, text, said):
    (tmp_path / "vit.csv").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=said):
        read(tmp_path / "vit.csv")


def test_invalid_rows_are_told_with_their_reason(tmp_path):
    rows = [f"{name},{'crane' if k % 10 == 0 else LABELS.wnids[i]}" for k, (name, i, _) in enumerate(ROWS)]
    (tmp_path / "vit.csv").write_text("filename,label\n" + "\n".join(rows))
    (found,) = read(tmp_path / "vit.csv").values()
    assert found.intake.n_invalid == 6
    told = "Not used: 6 rows, because the label text means more than one class (first: row 1: 'crane')."
    assert told in found.intake.notes


@pytest.mark.parametrize(
    "place",
    [
        pytest.param(np.append(np.arange(50_000), np.arange(48)), id="padding behind"),
        pytest.param(np.concatenate([np.arange(r, 50_048, 64) for r in range(64)]) % 50_000, id="worker by worker"),
    ],
)
def test_rows_of_a_distributed_sampler_are_told_by_what_they_repeat(tmp_path, place):
    np.save(tmp_path / "vit.npy", TOP1[BY_FOLDER][place])
    check(read(tmp_path / "vit.npy"), n_least=len(LABEL))


def test_scores_with_a_row_a_class_are_transposed_and_that_is_said(tmp_path):
    scores = np.zeros((1000, len(LABEL)), dtype=np.float16)
    scores[TOP1, np.arange(len(LABEL))] = 1
    np.save(tmp_path / "vit.npy", scores)
    assert "it was transposed" in check(read(tmp_path / "vit.npy"), n_least=len(LABEL)).intake.notes[0]


def test_a_text_an_image_is_one_model(tmp_path):
    folder = tmp_path / "labels"
    folder.mkdir()
    for name, index, _ in ROWS:
        (folder / f"{name[:-5]}.txt").write_text(f"0.98 {LABELS.names[index]}\n0.01 tench\n")
    (files,) = model_files([folder])
    assert check(read(files)).confidence[0] == pytest.approx(0.98)


@pytest.mark.parametrize("ending", ["csv", "npy"])
def test_parts_of_one_model_are_joined_and_that_is_said(tmp_path, ending):
    for rank in range(4):
        path = tmp_path / f"vit-rank-{rank}.{ending}"
        if ending == "npy":
            np.save(path, TOP1[rank * 12_500 : (rank + 1) * 12_500])
        else:
            path.write_text("file,pred\n" + "".join(f"{name},{index}\n" for name, index, _ in ROWS[rank::4]))
    (files,) = model_files([tmp_path])
    found = read(files)
    assert list(found) == ["vit"]
    assert "4 files were joined as parts of one model" in check(found).intake.notes[0]


def test_files_of_the_same_images_are_not_joined(tmp_path):
    for part in (1, 2):
        (tmp_path / f"vit-part-{part}.csv").write_text(lines("{name},{index}", head="file,pred\n"))
    (files,) = model_files([tmp_path])
    with pytest.raises(InputError, match=r"60 images are in both.*names that differ in more than a number"):
        read(files)


@pytest.mark.parametrize(
    ("n_rows", "n_corrected"), [pytest.param(8, 0, id="too few rows"), pytest.param(N, 2, id="corrected labels")]
)
def test_a_label_that_cannot_be_told_from_a_prediction_is_asked_about(tmp_path, n_rows, n_corrected):
    rows = [
        f"{name},{(truth + (k < n_corrected)) % 1000},{index}" for k, (name, index, truth) in enumerate(ROWS[:n_rows])
    ]
    (tmp_path / "vit.csv").write_text("filename,label,resnet50\n" + "\n".join(rows))
    with pytest.raises(InputError, match=r"2 columns may be the predicted class: 'label' .*--column index=NAME"):
        read(tmp_path / "vit.csv")
