"""The Python face: what is in memory is read by the readers' rules, and the run is the one the command writes."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import imagenet_errors as ie
from imagenet_errors.datasets import load_dataset

PUBLIC = {"ERROR_TYPES", "ErrorTypes", "InputError", "Run", "__version__", "classes", "evaluate", "judge", "load_run"}


@pytest.fixture
def annotations(val_images, tmp_path):
    return val_images.annotations(tmp_path / "annotations.csv")


@pytest.fixture
def frame(val_images):
    return pd.DataFrame({"file_name": val_images.names, "predicted_class": val_images.top1})


@pytest.fixture
def run(frame, annotations):
    return ie.evaluate({"model": frame}, annotations)


def test_the_public_names_are_the_documented_ones():
    assert set(ie.__all__) == set(dir(ie)) == PUBLIC
    for name in PUBLIC:
        assert getattr(ie, name) is not None


def test_importing_loads_nothing_heavy_and_the_function_stays_a_function():
    code = "import imagenet_errors as ie, sys; print(*sys.modules); from imagenet_errors import evaluation; ie.evaluate"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert set(loaded).isdisjoint({"numpy", "pyarrow", "pandas", "torch", "cyclopts", "msgspec", "rich"})


def scores_of(val_images):
    scores = np.zeros((len(val_images.names), 1000), dtype=np.float32)
    scores[np.arange(len(scores)), val_images.top1] = 1
    return scores


@pytest.mark.parametrize(
    "given",
    [
        pytest.param(lambda images, _: pd.DataFrame({"image": images.names, "class": images.top1}), id="frame"),
        pytest.param(lambda images, _: pd.DataFrame({"class": images.top1}, images.names), id="names as the index"),
        pytest.param(lambda images, _: pa.table({"file_name": images.names, "index": images.top1}), id="Arrow"),
        pytest.param(lambda images, _: (images.names, images.top1), id="names and classes"),
        pytest.param(lambda images, _: (images.names, images.top1.tolist()), id="lists"),
        pytest.param(
            lambda images, _: (images.names, [ie.classes.wnids[index] for index in images.top1]), id="names and wnids"
        ),
        pytest.param(lambda images, _: {"model": (images.names, scores_of(images))}, id="names and scores"),
        pytest.param(lambda images, folder: images.csv(folder / "model.csv"), id="path"),
        pytest.param(lambda images, folder: [str(images.csv(folder / "model.csv"))], id="list of texts"),
        pytest.param(lambda images, folder: {"model": images.csv(folder / "other.csv")}, id="a path by another name"),
    ],
)
def test_predictions_may_be_given_as(given, val_images, annotations, tmp_path, run):
    found = ie.evaluate(given(val_images, tmp_path), annotations)
    assert found.models == ("model",)
    assert found.distribution.equals(run.distribution)
    verdicts, expected = found.verdicts(), run.verdicts()
    for name in ("file_name", "prediction", "error_type", "explanation"):
        assert verdicts[name].combine_chunks().equals(expected[name].combine_chunks())


def test_torch_tensors_are_scores_too(val_images, annotations, run):
    torch = pytest.importorskip("torch")
    found = ie.evaluate((val_images.names, torch.from_numpy(scores_of(val_images)).bfloat16()), annotations)
    assert found.distribution.equals(run.distribution)


@pytest.mark.parametrize(
    ("given", "what"),
    [
        pytest.param(lambda images: (images.names[:5], images.top1), "5 image names for 300 predictions", id="lengths"),
        pytest.param(lambda _: 3, "cannot read predictions from a int", id="a number"),
        pytest.param(lambda images: (images.names, images.top1 + 0.5), "is no predictions", id="no whole numbers"),
        pytest.param(lambda _: {}, "no file given", id="nothing"),
        pytest.param(lambda _: [], "no file given", id="an empty list"),
    ],
)
def test_what_is_no_prediction_is_refused_in_words(given, what, val_images, annotations):
    with pytest.raises(ie.InputError, match=what):
        ie.evaluate(given(val_images), annotations)


def test_it_is_bit_for_bit_what_the_command_writes(program, val_images, annotations, tmp_path):
    file = val_images.csv(tmp_path / "model.csv")
    assert program("evaluate", file, "--annotations", annotations, "--out", tmp_path / "command").status == 0
    ie.evaluate(file, annotations, out=tmp_path / "python")
    names = ["verdicts/model.parquet", "distribution.parquet", "summary.parquet", "accuracy.parquet"]
    for name in names:
        assert (tmp_path / "python" / name).read_bytes() == (tmp_path / "command" / name).read_bytes(), name


def test_nothing_is_left_where_nothing_was_asked_for(frame, annotations, tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    run = ie.evaluate({"model": frame}, annotations)
    folder = run.folder
    assert list((tmp_path / "here").iterdir()) == []
    del run
    assert not folder.exists()


def test_a_saved_run_is_loaded_again(run, tmp_path):
    saved = run.save(tmp_path / "run")
    again = ie.load_run(tmp_path / "run")
    assert again.models == saved.models == run.models
    for name in ("summary", "distribution", "accuracy"):
        assert getattr(again, name).equals(getattr(run, name))
    assert again.verdicts().equals(run.verdicts())


def test_errors_are_verdicts_that_are_not_correct(run, val_images):
    assert len(run.errors()) == (val_images.top1 != val_images.label).sum()
    kinds = run.errors(type="model_failure")["error_type"].to_pylist()
    assert kinds
    assert set(kinds) == {"model_failure"}
    with pytest.raises(ie.InputError, match="no error type 'severe'"):
        run.errors(type="severe")


def test_a_model_must_be_named_where_there_are_several(frame, annotations):
    run = ie.evaluate({"a": frame, "b": frame}, annotations)
    with pytest.raises(ie.InputError, match=r"several models.*It has: a, b"):
        run.verdicts()
    assert run.compare("a", "b").n_changed_predictions == 0


def test_why_gives_the_decision_paths(run, val_images):
    (path,) = run.why(val_images.names[0])
    assert path.models == {"model": None}
    assert len(path.answers) == 1 + 6


def test_the_page_is_written_where_it_is_asked_for(run, tmp_path):
    pytest.importorskip("jinja2")
    assert run.report(tmp_path / "page.html") == tmp_path / "page.html"
    assert "model_failure" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_a_notebook_shows_the_bar_and_hostile_names_as_text(frame, annotations):
    html = ie.evaluate({"<script>": frame}, annotations)._repr_html_()
    assert "&lt;script&gt;" in html
    assert "<script>" not in html
    assert "model_failure: " in html


@pytest.mark.parametrize(
    ("given", "what"),
    [
        pytest.param({"annotations": None}, "a NoneType names no label files", id="no annotations"),
        pytest.param({"annotations": []}, "a list names no label files", id="an empty list"),
        pytest.param({"annotations": {"a.jpg": [1]}}, "a dict names no label files", id="labels themselves"),
        pytest.param({"classes": ["cat", "dog"]}, "a list is no file of classes", id="names of classes"),
    ],
)
def test_what_names_no_file_is_refused_in_words(frame, given, what):
    with pytest.raises(ie.InputError, match=what):
        ie.evaluate(frame, **given)


def test_an_order_of_stages_may_be_written_as_on_the_command_line(frame, annotations):
    run = ie.evaluate(frame, annotations, stage_order="multi_object, class_overlap")
    assert list(run.manifest.requested_stage_order) == ["multi_object", "class_overlap"]


def test_evidence_may_be_several_files_in_a_list(frame, annotations, val_images, tmp_path):
    paths = [tmp_path / "a.txt", tmp_path / "b.txt"]
    for path, name in zip(paths, val_images.names, strict=False):
        path.write_text(f"{name}\n")
    run = ie.evaluate(frame, annotations, non_prototypical=[paths[0], str(paths[1])])
    assert "non_prototypical" not in run.manifest.stages_not_run


def test_what_is_printed_is_short_and_for_people(run, val_images):
    assert repr(run) == "<Run: 1 model, 300 images evaluated>"
    assert repr(ie.classes) == "<LabelSpace: 1,000 classes, tench, goldfish, great white shark, ...>"
    lines = str(run.why(val_images.names[0])[0]).splitlines()
    assert lines[0].startswith(f"{val_images.names[0]}: label ")
    assert lines[-1].startswith("verdict: ")


class TestJudge:
    def test_one_case_is_judged_without_files(self):
        path = ie.judge("ILSVRC2012_val_00038461.JPEG", "mouse")
        assert (path.label, path.error_type) == ("table lamp", "spurious_correlation")
        assert "appear together in 3 other images" in path.explanation

    @pytest.mark.parametrize("prediction", [673, "673", "n03793489", "mouse"])
    def test_a_class_is_meant_by_index_wnid_or_name(self, prediction):
        assert ie.judge(38461, prediction).prediction == "mouse"

    @pytest.mark.parametrize(
        ("image", "prediction", "what"),
        [
            pytest.param("no.JPEG", 1, "is not an annotated image", id="unknown image"),
            pytest.param(1, 1, "no accepted label", id="excluded image"),
            pytest.param(2, "cran", "no class 'cran'", id="unknown class"),
            pytest.param(2, "crane", "names 2 classes", id="two classes"),
        ],
    )
    def test_what_cannot_be_judged_is_said(self, image, prediction, what):
        with pytest.raises(ie.InputError, match=what):
            ie.judge(image, prediction)


class TestOtherDataSets:
    FIRST, SECOND = load_dataset("imagenet-a").labels.occurring[:2]

    def names(self):
        return [f"{ie.classes.wnids[index]}/{n}.jpg" for index in (self.FIRST, self.SECOND) for n in range(20)]

    def scores(self):
        """Return scores whose best class occurs nowhere, and whose best of those that occur is the first."""
        occurring = load_dataset("imagenet-a").labels.occurring
        scores = np.zeros((40, len(ie.classes)), dtype=np.float32)
        scores[:, self.FIRST] = 1
        scores[:, next(index for index in range(len(ie.classes)) if index not in occurring)] = 2
        return scores

    @pytest.mark.parametrize(("mask", "right"), [(True, 0.5), (False, 0.0)])
    def test_names_in_memory_tell_the_labels_and_the_run_keeps_them(self, tmp_path, mask, right):
        given = (self.names(), self.scores())
        run = ie.evaluate(given, dataset="imagenet-a", mask_classes=mask, check_order=False)
        assert run.summary["top1_accuracy"].to_pylist() == [right]
        saved = run.save(tmp_path / "run")
        del run
        assert saved.why(self.names()[25])[0].label == ie.classes.names[self.SECOND]
        assert saved.manifest.class_rule.startswith("the best of the 200" if mask else "the best of 1,000")

    def test_a_column_of_labels_in_memory_tells_them(self, tmp_path):
        (tmp_path / "classes.csv").write_text("index,name\n0,cat\n1,dog\n")
        frame = pd.DataFrame({"file_name": ["a.png", "b.png"], "label": [0, 1], "one": [0, 0], "two": [1, 1]})
        run = ie.evaluate(frame, classes=tmp_path / "classes.csv", check_order=False)
        assert run.summary["top1_accuracy"].to_pylist() == [0.5, 0.5]

    def test_one_case_of_another_data_set_is_judged_by_its_name(self):
        path = ie.judge(self.names()[0], self.SECOND, dataset="imagenet-a")
        assert (path.label, path.prediction) == (ie.classes.names[self.FIRST], ie.classes.names[self.SECOND])
        assert {answer.stage: answer.answer for answer in path.answers}["multi_object"] == "not run"

    def test_one_case_of_classes_of_ones_own_is_judged(self, tmp_path):
        (tmp_path / "classes.csv").write_text("index,name\n0,cat\n1,dog\n")
        (tmp_path / "pets.toml").write_text(
            'domain = "d"\n[[superclass]]\nname = "pets"\nreason = "r"\nclasses = ["0 cat", "1 dog"]\n'
        )
        files = {"classes": tmp_path / "classes.csv", "superclasses": tmp_path / "pets.toml"}
        assert ie.judge("cat/1.png", "dog", **files).error_type == "fine_grained"
