"""How far the panel agrees with itself is told by the cases that two of its files share."""

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from imagenet_errors.labels import imagenet_1k
from imagenet_errors.readers.annotations import read_annotations
from imagenet_errors.study.ceiling import ceilings
from imagenet_errors.study.judged import read_judged
from panel_world import panel_world


@pytest.fixture
def judged(tmp_path):
    world = panel_world(tmp_path)
    annotations = read_annotations(world.annotations, imagenet_1k())
    return read_judged((world.human, world.human_again), annotations)


def test_only_the_same_image_with_the_same_prediction_is_compared(judged):
    (found,) = ceilings(judged)
    assert (found.n_images, found.n_cases) == (4, 3)


def test_categories_and_severities_are_compared_apart_and_together(judged):
    (found,) = ceilings(judged)
    assert (found.n_same_category, found.n_same_severity, found.n_same_both) == (2, 2, 1)
    assert found.agreement == pytest.approx(2 / 3)


def test_kappa_is_scikit_learns_on_the_shared_cases(judged):
    (found,) = ceilings(judged)
    first, second = ["fine", "oov", "proto"], ["fine", "spurious", "proto"]
    assert found.kappa == pytest.approx(cohen_kappa_score(first, second))


def test_one_file_judges_nothing_twice(judged):
    alone = judged.take(np.flatnonzero(judged.of_model("vit_mistakes")))
    (found,) = ceilings(alone)
    assert found.n_cases == 0
    assert np.isnan(found.agreement)
