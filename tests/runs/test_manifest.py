"""``run.json`` is read as it was written, by this version or an earlier one, or refused in words."""

import json

import pytest

from imagenet_errors.inputs import Inputs
from imagenet_errors.problems import InputError
from imagenet_errors.runs.manifest import LAYOUT, evidence_places, read_manifest

FIRST = {
    "version": "0.1.0",
    "annotations": "real",
    "requested_stage_order": ["class_overlap"],
    "stages_not_run": {},
    "evidence": {"oov_evidence": "/x/oov.csv", "non_prototypical": ["/x/a", "/x/b"], "co_occurrence": None},
    "models": {"vit": {"format": "CSV", "n_rows": 3}},
}


def write(folder, content):
    (folder / "run.json").write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return folder


def test_a_run_of_the_first_version_is_read(tmp_path):
    manifest = read_manifest(write(tmp_path, FIRST))
    assert (manifest.layout, manifest.n_annotated, manifest.n_evaluated, manifest.n_excluded) == (1, 0, 0, 0)
    assert manifest.n_distinct_cases == 0
    inputs = manifest.as_inputs()
    assert isinstance(inputs, Inputs)
    assert inputs.rejected_labels == "trust", "that version did not know the question"
    assert {option: [str(path) for path in paths] for option, paths in inputs.evidence.items()} == {
        "oov_evidence": ["/x/oov.csv"],
        "non_prototypical": ["/x/a", "/x/b"],
    }


def test_one_file_of_evidence_is_named_as_such_and_several_as_a_list(tmp_path):
    one, *several = (tmp_path / name for name in ("oov.csv", "a.txt", "b.txt"))
    for path in (one, *several):
        path.touch()
    given = Inputs("real").with_evidence(oov_evidence=one, non_prototypical=tuple(several))
    assert {option: place for option, place in evidence_places(given).items() if place} == {
        "oov_evidence": str(one.resolve()),
        "non_prototypical": [str(path.resolve()) for path in several],
    }
    nothing = evidence_places(Inputs("real"))
    assert (nothing["oov_evidence"], nothing["non_prototypical"]) == (None, [])


def test_labels_that_the_run_itself_keeps_are_those_in_its_folder(tmp_path):
    manifest = read_manifest(write(tmp_path, FIRST | {"more_annotations": ["/x/labels.csv", "labels.parquet"]}))
    assert manifest.more_annotations == ["/x/labels.csv", str(tmp_path.resolve() / "labels.parquet")]


@pytest.mark.parametrize(
    ("said", "masked"),
    [
        pytest.param("", [], id="nothing"),
        pytest.param("the best of 1,000 classes", [], id="every class"),
        pytest.param("the best of 1,000 classes, 800 of which do not occur", [], id="every class, few of which occur"),
        pytest.param("the best of the 200 classes that occur", ["vit"], id="those that occur alone"),
        pytest.param(
            "1 model: the best of the 200 classes that occur; 1: the best of 1,000 classes, 800 of which do not occur",
            None,
            id="some so, some otherwise",
        ),
    ],
)
def test_which_models_were_masked_is_read_from_the_words_of_an_earlier_run(tmp_path, said, masked):
    assert read_manifest(write(tmp_path, FIRST | {"class_rule": said})).masked_models == masked
    now = {"class_rule": said, "masked_models": ["vit"]}
    assert read_manifest(write(tmp_path, FIRST | now)).masked_models == ["vit"]


@pytest.mark.parametrize(
    ("content", "what"),
    [
        pytest.param("", "no manifest of a run", id="empty"),
        pytest.param("[1]", "no manifest of a run", id="another kind of JSON"),
        pytest.param("[" * 100_000, "no manifest of a run", id="nested without end"),
        pytest.param({"version": "1"}, "annotations", id="a field is missing"),
        pytest.param(FIRST | {"models": 3}, "models", id="a field of another type"),
        pytest.param(FIRST | {"layout": LAYOUT + 1}, "which is newer", id="a later version"),
        pytest.param(FIRST | {"models": {"../../etc": {}}}, "no file name", id="a name that leads out"),
    ],
)
def test_what_is_no_manifest_is_refused_in_words(tmp_path, content, what):
    with pytest.raises(InputError, match=what):
        read_manifest(write(tmp_path, content))


def test_the_users_own_superclasses_are_kept_to_judge_by_again(program, val_images, tmp_path):
    own = tmp_path / "own.toml"
    own.write_text(
        'domain = "mine"\n[[superclass]]\nname = "everything"\nreason = "It is one."\nclasses = ["0 tench", "8 hen"]\n'
    )
    names = val_images.names[:2]
    (tmp_path / "vit.csv").write_text(f"file_name,predicted_class\n{names[0]},8\n{names[1]},1\n")
    (tmp_path / "labels.csv").write_text(f"file_name,labels,label\n{names[0]},0,0\n{names[1]},1,1\n")
    out = tmp_path / "run"
    given = ("--annotations", tmp_path / "labels.csv", "--superclasses", own, "--out", out)
    assert program("evaluate", tmp_path / "vit.csv", *given).status == 0
    assert read_manifest(out).as_inputs().file("superclasses") == own
    assert "hen and tench are both everything." in program("why", out, names[0]).out


def test_a_folder_without_one_is_no_run(tmp_path):
    with pytest.raises(InputError, match=r"no run\.json"):
        read_manifest(tmp_path)


def test_a_manifest_that_is_no_text_is_refused_in_words(tmp_path):
    (tmp_path / "run.json").write_bytes(b'{"version": "\xff", "annotations": "real"}')
    with pytest.raises(InputError, match="no manifest of a run"):
        read_manifest(tmp_path)
