"""Two models beside each other: counted on common images, tested exactly, and never across what was not measured."""

import json
import shutil

import numpy as np
import pytest
from scipy.stats import binomtest

import imagenet_errors as ie
from imagenet_errors.compare import compare, mcnemar, parse_side


@pytest.fixture
def annotations(val_images, tmp_path):
    return val_images.annotations(tmp_path / "annotations.csv")


@pytest.fixture
def run(val_images, annotations, tmp_path):
    """Two models; the second differs on the first images: one error mended, one made, one named otherwise."""
    right = np.flatnonzero(val_images.top1 == val_images.label)[0]
    wrong = np.flatnonzero(val_images.top1 != val_images.label)[:2]
    other = val_images.top1.copy()
    other[right] = 999
    other[wrong[0]] = val_images.label[wrong[0]]
    other[wrong[1]] = 998
    predictions = {"one": (val_images.names, val_images.top1), "two": (val_images.names, other)}
    return ie.evaluate(predictions, annotations, out=tmp_path / "run")


@pytest.mark.parametrize(("b", "c"), [(0, 0), (1, 0), (3, 9), (40, 60), (500, 700)])
def test_the_exact_test_is_the_binomial_one(b, c):
    expected = binomtest(b, b + c).pvalue if b + c else 1
    assert mcnemar(b, c).p_value == pytest.approx(expected)


def test_changes_are_counted_by_type(run, val_images):
    comparison = run.compare("one", "two")
    n_wrong = int((val_images.top1 != val_images.label).sum())
    assert comparison.n_common == 300
    assert comparison.n_changed_predictions == 3
    assert sum(filter(None, comparison.gained.values())) == 2
    assert sum(filter(None, comparison.lost.values())) == 2
    assert comparison.same_error_share == pytest.approx((n_wrong - 2) / (n_wrong - 1))


def test_gained_and_lost_are_counted_by_type_with_overlaps_among_the_errors(val_images, tmp_path):
    """A husky called Eskimo dog (an overlap), mended; a tench called goldfish on either side; both right elsewhere."""
    husky, eskimo, tench, goldfish, hen = 250, 248, 0, 1, 8
    rows = [
        (husky, eskimo, husky),
        (tench, tench, goldfish),
        (tench, goldfish, hen),
        (hen, hen, hen),
        (husky, eskimo, eskimo),
    ]
    label, one, other = (list(each) for each in zip(*rows, strict=True))
    names = val_images.names[: len(rows)]
    lines = "".join(f"{name},{index},{index}\n" for name, index in zip(names, label, strict=True))
    (tmp_path / "labels.csv").write_text("file_name,labels,label\n" + lines)
    (tmp_path / "fish.toml").write_text(
        'domain = "animals"\n[[superclass]]\nname = "fish"\nreason = "They swim."\n'
        'classes = ["0 tench", "1 goldfish"]\n'
    )
    run = ie.evaluate(
        {"one": (names, np.array(one)), "two": (names, np.array(other))},
        tmp_path / "labels.csv",
        superclasses=tmp_path / "fish.toml",
        out=tmp_path / "run",
    )
    found = run.compare("one", "two")
    assert {name: n for name, n in found.lost.items() if n} == {"class_overlap": 1, "fine_grained": 1}
    assert {name: n for name, n in found.gained.items() if n} == {"fine_grained": 1, "model_failure": 1}
    assert (found.multi_label.only_first, found.multi_label.only_second) == (0, 1)
    assert (found.severe.only_first, found.severe.only_second) == (0, 1)
    assert found.same_error_share == 1 / 2
    back = run.compare("two", "one")
    assert (back.gained, back.lost, back.same_error_share) == (found.lost, found.gained, 1 / 2)
    assert (back.multi_label.only_first, back.multi_label.only_second) == (1, 0)
    assert (back.severe.only_first, back.severe.only_second) == (1, 0)


def test_a_type_that_did_not_run_is_none(run):
    comparison = run.compare("one", "two")
    assert comparison.gained["fine_grained_oov"] is None
    assert comparison.first.counts["fine_grained_oov"] is None


def test_a_side_says_on_how_many_images_its_model_was_evaluated_right_or_wrong(run):
    comparison = run.compare("one", "two")
    assert (comparison.first.n_evaluated, comparison.second.n_evaluated) == (300, 300)


def test_runs_of_other_annotations_are_said_to_be_so(run, val_images, tmp_path):
    others = val_images.annotations(tmp_path / "others.csv", at_0="1 2 3")
    ie.evaluate({"one": (val_images.names, val_images.top1)}, others, out=tmp_path / "second")
    comparison = compare((run.folder, "one"), (tmp_path / "second", None))
    assert any("different annotations: annotations.csv and others.csv" in note for note in comparison.notes)


def test_in_what_two_runs_differ_is_said_whichever_comes_first(run, tmp_path):
    other = tmp_path / "other"
    shutil.copytree(run.folder, other)
    facts = json.loads((run.folder / "run.json").read_text(encoding="utf-8"))
    for fact, value, told in (
        ("dataset", "sketches", "The runs are of different data sets: {} and {}."),
        ("label_set", "anew", "The runs were judged by different annotations: {} and {}."),
        ("class_rule", "the best of 3", "The models chose differently: {}, and {}."),
        ("class_rule", "", "The models chose differently: {}, and {}."),
        ("stage_order", facts["stage_order"][:-1], "The runs asked different stages: types that did not run in both"),
        ("command", ["evaluate"], ""),
    ):
        (other / "run.json").write_text(json.dumps(facts | {fact: value}), encoding="utf-8")
        sides, said = ((run.folder, "one"), (other, "one")), [facts[fact], value or "not known"]
        for _ in range(2):
            notes = " ".join(compare(*sides).notes)
            assert notes.startswith(told.format(*said)) if told else not notes
            sides, said = sides[::-1], said[::-1]


def test_runs_without_common_images_have_rates_alone(run, val_images, tmp_path):
    (tmp_path / "set.csv").write_text("file_name,labels,label\na/1.jpg,3,3\na/2.jpg,4,4\n")
    ie.evaluate({"one": (["a/1.jpg", "a/2.jpg"], [3, 7])}, tmp_path / "set.csv", out=tmp_path / "second")
    comparison = compare((run.folder, "one"), (tmp_path / "second", None))
    assert comparison.n_common == 0
    assert comparison.same_error_share is None
    assert comparison.second.rates["all"]["top1_accuracy"] == 0.5


@pytest.mark.parametrize(
    ("text", "expected"),
    [("runs/x", ("runs/x", None)), ("runs/x:vit", ("runs/x", "vit")), ("runs/x:a:b", ("runs/x:a", "b"))],
)
def test_a_side_is_a_run_and_perhaps_a_model(text, expected):
    run, model = parse_side(text)
    assert (str(run), model) == expected


class TestCommand:
    def test_json_is_one_versioned_object(self, program, run):
        answer = program("compare", f"{run.folder}:one", f"{run.folder}:two", "--json")
        content = json.loads(answer.out)
        assert content["layout"] == 1
        assert content["n_changed_predictions"] == 3
        assert content["gained"]["non_prototypical"] is None

    def test_markdown_is_fit_for_a_comment(self, program, run):
        answer = program("compare", f"{run.folder}:one", f"{run.folder}:two", "--format", "markdown")
        assert answer.out.startswith("### one → two")
        assert "| model\\_failure |" in answer.out
        assert "| fine\\_grained\\_oov | not run | not run | not run | not run |" in answer.out

    def test_people_see_tables(self, program, run):
        assert "3 of 300 common images" in program("compare", f"{run.folder}:one", f"{run.folder}:two").out

    def test_models_called_alike_are_told_apart_by_their_runs(self, program, run, tmp_path):
        shutil.copytree(run.folder, tmp_path / "later")
        answer = program("compare", f"{run.folder}:one", f"{tmp_path / 'later'}:one", "--format", "markdown")
        assert f"{run.folder.name}:one → later:one" in answer.out

    def test_several_models_must_be_told_apart(self, program, run):
        answer = program("compare", run.folder, run.folder)
        assert answer.status == 2
        assert "MODEL one of" in answer.err
