"""The gate: conditions that hold fail, with status 3; what is not known never passes."""

import json
from xml.etree import ElementTree

import pytest

import imagenet_errors as ie


@pytest.fixture
def run(val_images, tmp_path):
    annotations = val_images.annotations(tmp_path / "annotations.csv")
    return ie.evaluate({"one": (val_images.names, val_images.top1)}, annotations, out=tmp_path / "run")


@pytest.fixture
def better(val_images, tmp_path):
    annotations = val_images.annotations(tmp_path / "annotations.csv")
    predictions = {"one": (val_images.names, val_images.label)}
    return ie.evaluate(predictions, annotations, out=tmp_path / "better", check_order=False)


@pytest.mark.parametrize(
    ("condition", "status"),
    [
        pytest.param("top1_accuracy < 0.99", 3, id="a figure beyond its limit"),
        pytest.param("top1_accuracy<0.1", 0, id="a figure within it"),
        pytest.param("model_failure > 0", 3, id="share of top-1 errors"),
        pytest.param("multi_label.model_failure > 1", 0, id="share of multi-label errors"),
        pytest.param("count.model_failure >= 1", 3, id="a count"),
        pytest.param("mla <= 1e0", 3, id="a number with an exponent"),
        pytest.param("fine_grained_oov > 0.5", 3, id="unknown, its stage did not run"),
    ],
)
def test_a_condition_that_holds_fails(program, run, condition, status):
    assert program("check", run.folder, "--fail-if", condition).status == status


def test_the_lines_that_failed_are_told(program, run):
    answer = program("check", run.folder, "--fail-if", "top1_accuracy < 0.99", "--fail-if", "mla < 0")
    assert answer.status == 3
    assert "FAILED one: top1_accuracy < 0.99: 0." in answer.out
    assert "1 of 2 checks passed" in answer.out


def test_a_figure_is_compared_with_the_baselines(program, run, better):
    worse = ("check", run.folder, "--baseline", better.folder, "--fail-if", "delta.mla < -0.005")
    assert program(*worse).status == 3
    gained = ("check", better.folder, "--baseline", run.folder, "--fail-if", "delta.mla < -0.005")
    assert program(*gained).status == 0


class TestAModelWithoutErrors:
    """Its share of model failures is no number, and beyond no limit."""

    @pytest.mark.parametrize("condition", ["model_failure > 0.35", "multi_label.model_failure > 0"])
    def test_passes_a_limit_on_a_share(self, program, better, condition):
        answer = program("check", better.folder, "--fail-if", condition, "--json")
        (check,) = json.loads(answer.out)["checks"]
        assert (answer.status, check["value"], check["reason"]) == (0, None, "no errors to have a share of")

    def test_fails_where_the_stage_did_not_run(self, program, better):
        assert program("check", better.folder, "--fail-if", "fine_grained_oov > 0.35").status == 3

    def test_is_no_baseline_for_a_share(self, program, run, better):
        answer = program("check", run.folder, "--baseline", better.folder, "--fail-if", "delta.model_failure > 0")
        assert answer.status == 3
        assert "unknown, here or in the baseline" in answer.out

    def test_has_improved_on_one_with_errors(self, program, run, better):
        gained = ("check", better.folder, "--baseline", run.folder, "--fail-if", "delta.model_failure > 0")
        assert program(*gained).status == 0


def test_a_run_without_an_evaluated_image_passes_nothing_and_says_why(program, val_images, tmp_path):
    rows = "".join(f"{name},{label},true\n" for name, label in zip(val_images.names, val_images.label, strict=True))
    (tmp_path / "a.csv").write_text(f"file_name,labels,problematic\n{rows}")
    predictions = {"one": (val_images.names, val_images.top1)}
    run = ie.evaluate(predictions, tmp_path / "a.csv", out=tmp_path / "none", check_order=False)
    answer = program("check", run.folder, "--fail-if", "model_failure > 0.35", "--fail-if", "mla < 0.1")
    assert answer.status == 3
    assert answer.out.count("unknown: no image was evaluated") == 2


@pytest.mark.parametrize(
    ("conditions", "what"),
    [
        pytest.param((), "--fail-if: is needed", id="none"),
        pytest.param(("__import__('os')",), "cannot read", id="code"),
        pytest.param(("mla = 1",), "cannot read", id="another sign"),
        pytest.param(("accuracy < 1",), "no figure 'accuracy'", id="unknown figure"),
        pytest.param(("delta.mla < 1",), "without --baseline RUN", id="no baseline"),
    ],
)
def test_what_is_no_condition_is_refused(program, run, conditions, what):
    given = [argument for condition in conditions for argument in ("--fail-if", condition)]
    answer = program("check", run.folder, *given)
    assert answer.status == 2
    assert what in answer.err


def test_json_and_junit_say_the_same(program, run, tmp_path):
    given = ("--fail-if", "mla < 0", "--fail-if", "mla < 2", "--junit-xml", tmp_path / "junit.xml", "--json")
    content = json.loads(program("check", run.folder, *given).out)
    assert content["failed"]
    assert [each["failed"] for each in content["checks"]] == [False, True]
    suite = ElementTree.parse(tmp_path / "junit.xml").getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
