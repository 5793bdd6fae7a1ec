"""What people see of the superclasses: one by its name, a class's own, changes, sizes, the page of all."""

import numpy as np
import pytest

from imagenet_errors.evidence.superclasses import Superclasses
from imagenet_errors.labels import imagenet_1k
from imagenet_errors.problems import InputError
from imagenet_errors.report.superclasses import Found, as_json, changed_pairs, find, page, shape_rows

LABELS = imagenet_1k()
TOY = Superclasses(
    names=("sharks", "sea animals"),
    reasons=("Grey fins.", "Seen <in> water."),
    domains=("fish", "fish"),
    members=(np.array([2, 3, 4], np.int16), np.array([2, 5], np.int16)),
    n_classes=1000,
)


@pytest.mark.parametrize(
    ("written", "found"),
    [
        pytest.param("sharks", Found((0,)), id="a superclass"),
        pytest.param("Sea_Animals", Found((1,)), id="whatever its case, with underscores"),
        pytest.param("2", Found((0, 1), 2), id="a class by index"),
        pytest.param("n01484850", Found((0, 1), 2), id="a class by wnid"),
        pytest.param("tiger shark", Found((0,), 3), id="a class by name"),
        pytest.param("goldfish", Found((), 1), id="a class alone"),
    ],
)
def test_a_word_means_a_superclass_or_a_class_with_its_superclasses(written, found):
    assert find(written, TOY, LABELS) == found


def test_an_unknown_word_is_told_with_names_like_it():
    with pytest.raises(InputError, match="no superclass or class 'sharx'") as error:
        find("sharx", TOY, LABELS)
    assert "sharks" in error.value.fix
    with pytest.raises(InputError, match="no class 'zzzz'"):
        find("zzzz", TOY, LABELS)


def test_the_json_has_the_class_indices_of_every_superclass():
    assert as_json(TOY) == {"sharks": [2, 3, 4], "sea animals": [2, 5]}


def test_changed_pairs_are_those_gained_and_those_lost_each_once():
    before, after = np.eye(4, dtype=bool), np.eye(4, dtype=bool)
    before[0, 1] = before[1, 0] = after[2, 3] = after[3, 2] = True
    change = changed_pairs(before, after)
    assert change.gained.tolist() == [[2, 3]]
    assert change.lost.tolist() == [[0, 1]]


def test_sizes_are_told_by_group_beside_the_published_ones():
    told = {row.what: (row.ours, row.published) for row in shape_rows(TOY, LABELS)}
    assert told["all: superclasses"] == ("2", "161")
    assert told["organism: sizes"] == ("2 to 3", "2 to 31")
    assert told["artifact: mean size"] == ("–", "5.3")
    assert told["all: classes alone"] == ("996", "74")
    assert told["pairs of classes that share one"] == ("4", "5,476")


def test_the_page_lists_every_superclass_with_members_and_reason_and_the_classes_alone():
    text = page(TOY, LABELS, note="A & B")
    assert "<h3>sharks <small>3</small></h3>" in text
    assert "hammerhead <i>4</i>" in text
    assert "Seen &lt;in&gt; water." in text
    assert "A &amp; B" in text
    assert "996 classes alone" in text
    assert text.count("<article>") == 2
