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
