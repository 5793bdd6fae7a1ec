"""Predictions put aside come back as they were, without the images that do not count; errors are remembered once."""

import numpy as np
import pytest

from imagenet_errors.mistakes import Shelf
from imagenet_errors.tables import Intake, Predictions
from toy import BEAGLE, MUG, SOFA, TABBY, TIGER_CAT, annotations

IMAGES = annotations((TABBY, {TABBY}), (BEAGLE, set()), (SOFA, {SOFA, TABBY}), (MUG, {MUG}))
"""The second image has no accepted label, so it does not count."""


@pytest.fixture
def shelf(tmp_path):
    return Shelf(tmp_path, IMAGES, 5)


def predictions(*top1, model="m", confidence=None):
    scores = None if confidence is None else np.array(confidence, dtype=np.float32)
    return Predictions(model, np.arange(len(top1)), np.array(top1, dtype=np.int16), scores, Intake("CSV", len(top1), 4))


def test_what_counts_comes_back_as_it_was(shelf):
    shelved = shelf.put(predictions(TABBY, MUG, TABBY, SOFA, confidence=[0.1, 0.2, 0.3, 0.4]))
    loaded = shelved.load()
    assert shelved.n_images == 4
    assert loaded.rows.tolist() == [0, 2, 3]
    assert loaded.top1.tolist() == [TABBY, TABBY, SOFA]
    assert loaded.confidence.tolist() == pytest.approx([0.1, 0.3, 0.4])
    assert (loaded.rows.dtype, loaded.top1.dtype) == (np.int64, np.int16)


def test_predictions_without_confidence_stay_without(shelf):
    assert shelf.put(predictions(TABBY, MUG, TABBY, SOFA)).load().confidence is None


def test_an_error_of_several_models_is_one_case(shelf):
    shelf.put(predictions(TIGER_CAT, MUG, TABBY, MUG, model="a"))
    shelf.put(predictions(TIGER_CAT, MUG, SOFA, BEAGLE, model="b"))
    cases = shelf.cases()
    assert list(zip(cases.rows.tolist(), cases.prediction.tolist(), strict=True)) == [
        (0, TIGER_CAT),
        (2, TABBY),
        (3, BEAGLE),
    ]
    assert cases.label.tolist() == [TABBY, SOFA, MUG]


def test_without_errors_there_are_no_cases(shelf):
    shelf.put(predictions(TABBY, MUG, SOFA, MUG))
    assert len(shelf.cases()) == 0
