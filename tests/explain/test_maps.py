"""Maps of three methods, and how alike two maps are."""

import numpy as np
import pytest

from explain_world import SIDE, classifier_of, seeded
from imagenet_errors.explain.maps import (
    COMMON_GRID,
    Maps,
    agreement,
    compare_all,
    grad_cam,
    lime,
    multi_scale_masking,
    on_common_grid,
    ssim,
    top_overlap,
)
from imagenet_errors.problems import InputError


class Net:
    """A convolution and a linear head, in the two halves that timm's models have."""

    def __new__(cls):
        import torch

        class Halves(torch.nn.Module):
            num_features = 6

            def __init__(self):
                super().__init__()
                torch.manual_seed(1)
                self.features = torch.nn.Sequential(torch.nn.Conv2d(3, 6, 4, stride=4), torch.nn.ReLU())
                self.head = torch.nn.Linear(6, 5)

            def forward_features(self, pixels):
                return self.features(pixels)

            def forward_head(self, features):
                return self.head(features.mean(dim=(2, 3)))

            def forward(self, pixels):
                return self.forward_head(self.forward_features(pixels))

        return Halves().eval()


@pytest.fixture(scope="module")
def pixels():
    import torch

    return torch.randn(3, SIDE, SIDE, generator=torch.Generator().manual_seed(4))


def test_a_map_is_like_itself_and_unlike_another():
    one, other = seeded(1).random((2, 14, 14)).astype(np.float32)
    assert agreement(one, one) == pytest.approx({"spearman": 1, "top_overlap": 1, "ssim": 1})
    told = agreement(one, other)
    assert abs(told["spearman"]) < 0.2
    assert told["top_overlap"] < 0.4
    assert abs(told["ssim"]) < 0.2


def test_agreement_knows_no_units_and_a_flat_map_agrees_with_none():
    one = seeded(2).random((14, 14)).astype(np.float32)
    assert agreement(one, 3 * one + 5)["ssim"] == pytest.approx(1, abs=1e-4)
    assert np.isnan(agreement(one, np.zeros_like(one))["spearman"])
    assert np.isnan(ssim(one, np.zeros_like(one)))


def test_the_top_tenth():
    one = np.arange(100.0).reshape(10, 10)
    assert top_overlap(one, one[::-1, ::-1]) == 0
    assert top_overlap(one, np.roll(one, 5)) == 0.5


def test_ssim_is_scikit_images_where_it_is_installed():
    metrics = pytest.importorskip("skimage.metrics", reason="the oracle is not installed")
    one, other = seeded(3).random((2, 14, 14))
    a, b = ((each - each.mean()) / each.std() for each in (one, other))
    span = max(np.ptp(a), np.ptp(b))
    theirs = metrics.structural_similarity(a, b, win_size=7, data_range=span, use_sample_covariance=False, full=True)[1]
    assert ssim(one, other) == pytest.approx(theirs[3:-3, 3:-3].mean())


@pytest.mark.parametrize("size", [1, 4, 7, 14, 28])
def test_the_common_grid_keeps_level_and_side(size):
    values = np.tile(np.linspace(0, 1, size), (size, 1))
    common = on_common_grid(values)
    assert common.shape == (COMMON_GRID, COMMON_GRID)
    assert np.isfinite(common).all()
    assert (np.diff(common, axis=1) >= -1e-6).all()
    np.testing.assert_allclose(on_common_grid(np.ones((size, size))) >= 0.49, True)


def test_grad_cam_is_captums(pixels):
    captum = pytest.importorskip("captum.attr", reason="needs the extra explain: captum is not installed")
    net = Net()
    ours = grad_cam(classifier_of(net), pixels, 2, Maps(), 0)
    theirs = captum.LayerGradCam(net, net.features).attribute(pixels[None], 2, relu_attributions=True)
    np.testing.assert_allclose(ours, on_common_grid(theirs[0, 0].detach().numpy()), atol=1e-6)


def test_lime_is_the_same_for_a_seed_and_finds_the_cells(pixels):
    pytest.importorskip("captum", reason="needs the extra explain: captum is not installed")
    model, options = classifier_of(Net()), Maps(n_lime=60)
    one, again, other = (lime(model, pixels, 2, options, variant) for variant in (0, 0, 1))
    np.testing.assert_array_equal(one, again)
    assert not np.array_equal(one, other)
    assert one.shape == (COMMON_GRID, COMMON_GRID)


def test_masking_at_several_scales_is_high_where_the_answer_rests(pixels):
    import torch

    def corner(images):
        return torch.stack([images[:, :, :8, :8].mean(dim=(1, 2, 3)), images[:, 0, 0, 0] * 0], dim=1)

    found = multi_scale_masking(classifier_of(corner), pixels * 0 + 1, 0, Maps(scales=(4, 8)), 0)
    row, place = np.unravel_index(found.argmax(), found.shape)
    assert max(row, place) <= 3


def test_what_is_compared_with_what():
    flat = np.zeros((14, 14), dtype=np.float32)
    keys = [("lime", "a", "map"), ("lime", "a", "mirrored"), ("lime", "b", "map"), ("masking", "a", "map")]
    kinds = [(row["compared"], row["one"], row["other"]) for row in compare_all(dict.fromkeys(keys, flat))]
    assert kinds == [
        ("within", "lime · a · map", "lime · a · mirrored"),
        ("models", "lime · a · map", "lime · b · map"),
        ("methods", "lime · a · map", "masking · a · map"),
    ]


def test_models_are_compared_over_different_draws():
    """The same draws in front of two models would agree by themselves."""
    flat = np.zeros((14, 14), dtype=np.float32)
    names = ["a", "b", "c", "a+b"]
    found = dict.fromkeys([("lime", name, variant) for name in names for variant in ("map", "other seed")][:-1], flat)
    told = [(row["compared"], row["one"], row["other"]) for row in compare_all(found) if row["compared"] != "within"]
    assert len([kind for kind, *_ in told if kind == "models"]) == 6
    assert [row for row in told if row[0] == "ensemble"] == [
        ("ensemble", "lime · c · other seed", "lime · a+b · map"),
    ]
    for _, one, other in told:
        assert {one.split(" · ")[2], other.split(" · ")[2]} == {"map", "other seed"}


def test_an_ensemble_stands_beside_no_other_method():
    flat = np.zeros((14, 14), dtype=np.float32)
    assert compare_all({("lime", "a+b", "map"): flat, ("masking", "a+b", "map"): flat}) == []


def test_an_unknown_method_is_refused():
    with pytest.raises(InputError, match="grad_cam, lime, masking"):
        Maps(methods=("saliency",))
