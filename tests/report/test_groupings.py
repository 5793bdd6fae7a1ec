"""Models are told apart by data, family, group and pretraining, as far as they are known."""

import numpy as np
import pytest

from imagenet_errors.report.groupings import GROUPINGS, categories, n_training_images, readable
from imagenet_errors.report.looks import luminance
from imagenet_errors.report.published import FACTS, Points

DATA = ("ImageNet-1k (1.2M)", "LAION-2B (2.3B)", "ImageNet-1k (1.2M)", "ImageNet-21k (14M)")


def points(**facts):
    nothing = np.zeros((4, 4))
    whole = dict.fromkeys(FACTS, ("",) * 4) | facts
    return Points(tuple("abcd"), np.zeros((4, 4, 8), dtype=np.int64), nothing, nothing, whole)


@pytest.mark.parametrize("grouping", GROUPINGS)
def test_every_model_is_of_one_kind(grouping):
    facts = {"training_data": DATA, "arch_family": ("cnn", "mlp", "cnn", ""), "extra_annotations": ("[]",) * 4}
    kinds = categories(points(**facts), grouping)
    assert np.sum([kind.holds for kind in kinds], axis=0).tolist() == [1, 1, 1, 1]


def test_more_training_data_is_darker_and_comes_later():
    kinds = categories(points(training_data=DATA), "data")
    assert [kind.name for kind in kinds] == ["ImageNet-1k (1.2M)", "ImageNet-21k (14M)", "LAION-2B (2.3B)"]
    shades = [luminance(kind.colour) for kind in kinds]
    assert shades == sorted(shades, reverse=True)
    assert len({kind.marker for kind in kinds}) == 3


def test_a_kind_that_is_not_known_is_called_so():
    kinds = categories(points(arch_family=("cnn", "", "cnn", "cnn")), "family")
    assert [kind.name for kind in kinds] == ["cnn", "unknown"]


def test_models_of_which_nothing_is_known_are_one_kind():
    (kind,) = categories(points(), "group")
    assert kind.holds.all()


@pytest.mark.parametrize(
    ("written", "n_images"),
    [("Instagram (940M)", 940e6), ("Instagram (3.6B)", 3.6e9), ("ImageNet-1k", None), ("LAION-2B", None)],
)
def test_the_number_of_training_images_is_read_from_the_name(written, n_images):
    assert n_training_images(written) == (None if n_images is None else pytest.approx(n_images))


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("['Self-Supervised Learning', 'CLIP Training']", "Self-Supervised Learning, CLIP Training"),
        ("[]", "supervised"),
        ("cnn", "cnn"),
        ("", ""),
    ],
)
def test_lists_are_made_readable(written, text):
    assert readable(written) == text
