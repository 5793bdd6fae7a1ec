"""Heads on frozen features, by cross-validation over images."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge as TheirRidge

from explain_world import SIDE, classifier_of, seeded
from imagenet_errors.explain.heads import (
    Ridge,
    SmallNetwork,
    _ridges,
    compare_head_maps,
    cross_validated,
    folds_of,
    partial_correlation,
    quality_of,
    study_heads,
)
from imagenet_errors.explain.ratings import Ratings
from imagenet_errors.problems import InputError


def test_the_ridge_is_scikit_learns():
    random = seeded(2)
    columns, wanted = random.normal(size=(50, 8)), random.normal(size=50)
    (weights,) = _ridges(columns, wanted, (3.0,))
    np.testing.assert_allclose(weights, TheirRidge(alpha=3.0, fit_intercept=False).fit(columns, wanted).coef_)


@pytest.mark.parametrize("head", [Ridge(), SmallNetwork(0)], ids=["ridge", "network"])
def test_a_head_learns_what_is_linear(head):
    random = seeded(3)
    columns = random.normal(size=(400, 6))
    wanted = columns @ random.normal(size=6) * 0.1 + 0.5
    predicted = cross_validated(head, columns, wanted, np.arange(400) % 5)
    assert np.corrcoef(predicted, wanted)[0, 1] > 0.95


def test_a_network_is_the_same_for_a_seed():
    random = seeded(4)
    columns, wanted = random.normal(size=(60, 4)), random.random(60)
    one, again, other = (SmallNetwork(seed).fit(columns, wanted).predict(columns) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one, again)
    assert not np.allclose(one, other)


def test_all_items_of_an_image_are_in_one_fold():
    names = [f"{place // 3}.png" for place in range(60)]
    folds = folds_of(names)
    assert all(len(set(folds[start : start + 3])) == 1 for start in range(0, 60, 3))
    assert sorted(set(folds)) == [0, 1, 2, 3, 4]


def test_what_the_nuisance_explains_is_taken_away():
    random = seeded(5)
    nuisance = random.normal(size=500)
    one, other = nuisance + random.normal(size=500), nuisance + random.normal(size=500)
    assert np.corrcoef(one, other)[0, 1] > 0.4
    assert abs(partial_correlation(one, other, nuisance)) < 0.1


def network_classifier(seed, name):
    import torch

    class Halves(torch.nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(seed)
            self.features = torch.nn.Conv2d(3, 4, 8, stride=8)
            self.classifier = torch.nn.Linear(4, 1000)

        def forward_features(self, pixels):
            return self.features(pixels)

        def forward_head(self, features, pre_logits=False):
            pooled = features.mean(dim=(2, 3))
            return pooled if pre_logits else self.classifier(pooled)

        def get_classifier(self):
            return self.classifier

        def forward(self, pixels):
            return self.forward_head(self.forward_features(pixels))

    return classifier_of(Halves().eval(), name)


@pytest.fixture(scope="module")
def rated(tmp_path_factory):
    """Thirty pictures whose brightness is what people rate."""
    from PIL import Image

    folder, random = tmp_path_factory.mktemp("rated"), seeded(6)
    levels, paths = random.random(30), []
    for place, level in enumerate(levels):
        noise = random.integers(0, 30, (SIDE, SIDE, 3))
        paths.append(folder / f"{place:02d}.png")
        Image.fromarray((noise + 200 * level).astype(np.uint8)).save(paths[-1])
    given = levels[:, None] + random.normal(0, 0.1, (30, 4))
    return Ratings(tuple(path.name for path in paths), np.full(30, -1, np.int16), given), paths


def test_heads_are_measured_against_the_ceiling_and_the_image_quality(rated):
    ratings, paths = rated
    classifiers = [network_classifier(seed, name) for seed, name in ((0, "a"), (1, "b"))]
    study = study_heads(ratings, paths, classifiers, seeds=(0,))
    named = {(row["model"], row["head"]): row for row in study.rows}
    assert 0.9 < study.ceiling <= 1
    assert set(named) == {
        ("image quality", "ridge"),
        *((model, head) for model in "ab" for head in ("ridge", "network 0")),
        ("all models", "mean of ridge"),
        ("all models", "mean of network"),
    }
    assert named["image quality", "ridge"]["r"] > 0.9
    assert named["a", "ridge"]["r"] > 0.8
    assert named["a", "ridge"]["share_of_ceiling"] == pytest.approx(named["a", "ridge"]["r"] / study.ceiling)


def test_maps_of_heads_are_compared_within_and_across_models(rated):
    ratings, paths = rated
    classifiers = [network_classifier(seed, name) for seed, name in ((0, "a"), (1, "b"))]
    rows = compare_head_maps(ratings, paths, classifiers, items=[3], seeds=(0,))
    assert sorted(row["compared"] for row in rows) == ["ensembles", "models", "models", "within", "within"]


def test_too_few_images_are_refused(rated):
    ratings, paths = rated
    with pytest.raises(InputError, match="only 5 images"):
        study_heads(ratings.take(np.arange(5)), paths[:5], [])


def test_the_quality_of_a_blurred_picture_is_lower(tmp_path):
    from PIL import Image, ImageFilter

    sharp = Image.fromarray(seeded(7).integers(0, 255, (SIDE, SIDE, 3)).astype(np.uint8))
    sharp.save(tmp_path / "sharp.png")
    sharp.filter(ImageFilter.GaussianBlur(2)).save(tmp_path / "blurred.png")
    one, other = (quality_of(tmp_path / f"{name}.png") for name in ("sharp", "blurred"))
    assert one[0] == other[0]
    assert one[1] > other[1]
    assert one[2] > other[2]
