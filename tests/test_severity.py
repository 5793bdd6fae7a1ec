"""Errors of one type are graded by how far WordNet puts the prediction from what is accepted."""

import numpy as np
import pyarrow as pa
import pytest

from imagenet_errors.labels import LabelSpace, imagenet_1k
from imagenet_errors.severity import grades
from imagenet_errors.tables import Annotations, Ragged, cases_of
from imagenet_errors.wordnet import load_wordnet

LABELS = imagenet_1k()


def graded(prediction, *accepted, labels=LABELS):
    indices = [labels.look_up(name, where="test") for name in accepted]
    annotations = Annotations(
        "toy",
        pa.array(["image"]),
        np.array(indices[:1], dtype=np.int16),
        Ragged.of([sorted(indices)]),
        np.array([False]),
    )
    predicted = np.array([labels.look_up(prediction, where="test")], dtype=np.int16)
    found = grades(cases_of(annotations, np.array([0]), predicted), labels)
    return int(found.steps[0]), found.shared[0].as_py()


@pytest.mark.parametrize(
    ("prediction", "accepted", "steps", "shared"),
    [
        pytest.param("beagle", ["Chihuahua"], 5, "dog", id="a dog for a dog"),
        pytest.param("bagel", ["pretzel"], 4, "bread", id="bread for bread"),
        pytest.param("jellyfish", ["school bus"], 12, None, id="a jellyfish for a bus"),
        pytest.param("beagle", ["school bus", "Walker hound"], 3, "hound", id="the nearest accepted label counts"),
        pytest.param("kite", ["bustard"], 6, "bird", id="birds"),
    ],
)
def test_the_distance_and_the_kind_that_both_are_are_told(prediction, accepted, steps, shared):
    assert graded(prediction, *accepted) == (steps, shared)


def test_the_steps_are_the_shortest_way_through_the_hypernyms():
    wordnet, random = load_wordnet(), np.random.default_rng(5)
    for a, b in random.integers(0, 1000, (60, 2)):
        climbs = [_steps_up(wordnet, LABELS.wnids[index]) for index in (a, b)]
        shortest = min(climbs[0][row] + climbs[1][row] for row in climbs[0].keys() & climbs[1].keys())
        assert graded(str(a), str(b))[0] == shortest


def _steps_up(wordnet, wnid):
    steps, level = {}, [wordnet.row(wnid)]
    for count in range(40):
        level = [row for row in level if row not in steps]
        steps |= dict.fromkeys(level, count)
        level = [int(above) for row in level for above in wordnet.hypernyms(row)]
    return steps


def test_classes_outside_wordnet_are_of_unknown_distance():
    own = LabelSpace(("x1", "x2"), ("bolt", "nut"), ("bolt", "nut"), ("other", "other"))
    assert graded("bolt", "nut", labels=own) == (-1, None)


def test_no_cases_have_no_grades():
    nothing = cases_of(
        Annotations(
            "toy", pa.array([], pa.string()), np.array([], dtype=np.int16), Ragged.of([]), np.array([], dtype=bool)
        ),
        np.array([], dtype=np.int64),
        np.array([], dtype=np.int16),
    )
    assert len(grades(nothing, LABELS).steps) == len(grades(nothing, LABELS).shared) == 0
