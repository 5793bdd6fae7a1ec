"""Batched Gradient SIS on networks small enough to reckon by hand."""

import numpy as np
import pytest

from timm_world import needs_timm

needs_timm()
import torch  # noqa: E402
from torch import nn  # noqa: E402

from imagenet_errors.explain.gradient_sis import (  # noqa: E402
    batched_gradient_back_select,
    cell_back_select,
    sufficient_subsets,
)
from imagenet_errors.problems import InputError  # noqa: E402

WEIGHTS = torch.tensor([[4.0, -1.0], [2.0, 0.0]])
IMAGE = torch.tensor([[[[1.0, 2.0], [3.0, 4.0]]]])


def linear(images):
    score = (images[:, 0] * WEIGHTS).sum(dim=(1, 2))
    return torch.stack([score, torch.zeros_like(score)], dim=1)


def small_net(seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(
        nn.Conv2d(3, 4, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(64, 5)
    )


def as_published(model, images, k):
    """Reckon the order as the paper states it, one pixel at a time in plain Python."""
    with torch.no_grad():
        targets = model(images).argmax(1)
    orders = []
    for image, target in zip(images, targets, strict=True):
        mask = torch.zeros(image.shape[1:], requires_grad=True)
        order, step = np.full(mask.numel(), -1), 0
        while (order < 0).any():
            confidence = model(((1 - mask) * image)[None]).softmax(1)[0, target]
            (slope,) = torch.autograd.grad(confidence, mask)
            shown = [pixel for pixel in range(mask.numel()) if order[pixel] < 0]
            leaving = sorted(shown, key=lambda pixel: -float(slope.flatten()[pixel]))[:k]
            order[leaving] = step
            with torch.no_grad():
                mask.view(-1)[leaving] = 1
            step += 1
        orders.append(order.reshape(image.shape[1:]))
    return np.stack(orders)


@pytest.mark.parametrize(
    ("k", "order", "confidences"),
    [
        pytest.param(1, [[2, 0], [3, 1]], [0.99966, 0.999955, 0.999955, 0.997527], id="one at a time"),
        pytest.param(2, [[1, 0], [1, 0]], [0.99966, 0.999955], id="two at a time"),
        pytest.param(9, [[0, 0], [0, 0]], [0.99966], id="all at once"),
    ],
)
def test_the_linear_network_by_hand(k, order, confidences):
    removal_order, found = batched_gradient_back_select(linear, IMAGE, k)
    assert removal_order.tolist() == [order]
    np.testing.assert_allclose(found, [confidences], atol=1e-5)


def test_of_equal_slopes_the_lowest_index_leaves_first():
    removal_order, _ = batched_gradient_back_select(
        lambda x: x.sum(dim=(1, 2, 3), keepdim=True)[..., 0, 0].expand(-1, 2), IMAGE, 1
    )
    assert removal_order.tolist() == [[[0, 1], [2, 3]]]


@pytest.mark.parametrize("k", [1, 5, 7])
def test_images_in_one_batch_do_not_touch_each_other_and_follow_the_paper(k):
    model, images = small_net(), torch.randn(3, 3, 6, 5, generator=torch.Generator().manual_seed(1))
    removal_order, _ = batched_gradient_back_select(model, images, k)
    np.testing.assert_array_equal(removal_order, as_published(model, images, k))


def test_confidences_are_those_of_the_pixels_still_shown():
    model, images = small_net(), torch.randn(2, 3, 6, 6, generator=torch.Generator().manual_seed(2))
    removal_order, confidences = batched_gradient_back_select(model, images, 4, target=2)
    shown = torch.from_numpy(removal_order >= 5)[:, None]
    with torch.no_grad():
        np.testing.assert_allclose(confidences[:, 5], model(images * shown).softmax(1)[:, 2], atol=1e-6)


def test_cells_of_one_side_leave_as_a_whole_and_may_be_cut_at_the_edge():
    order, confidences = cell_back_select(small_net(), torch.randn(1, 3, 7, 10), 3, cell=4)
    assert order.shape == (1, 2, 3)
    assert confidences.shape == (1, 2)
    assert sorted(order.flatten().tolist()) == [0, 0, 0, 1, 1, 1]


def test_the_same_picture_gives_the_same_bytes():
    model, images = small_net(), torch.randn(2, 3, 8, 8)
    one, other = (batched_gradient_back_select(model, images, 3) for _ in range(2))
    assert [part.tobytes() for part in one] == [part.tobytes() for part in other]


def test_a_module_in_training_is_put_into_evaluation_mode_and_every_part_back():
    model = nn.Sequential(nn.Flatten(), nn.Dropout(0.5), nn.Dropout(0.5), nn.Linear(12, 3)).train()
    model[2].eval()
    images = torch.randn(1, 3, 2, 2)
    one, other = (batched_gradient_back_select(model, images, 1)[1] for _ in range(2))
    np.testing.assert_array_equal(one, other)
    assert [part.training for part in model] == [True, True, False, True]


def test_the_network_and_the_images_are_left_as_they_were():
    model, images = small_net(), torch.randn(2, 3, 6, 6).requires_grad_()
    before = images.detach().clone()
    removal_order, confidences = batched_gradient_back_select(model, images, 5)
    assert images.grad is None
    assert all(parameter.grad is None for parameter in model.parameters())
    assert torch.equal(images, before)
    assert (removal_order.dtype, confidences.dtype) == (np.int64, np.float32)


@pytest.mark.parametrize("without", [torch.no_grad, torch.inference_mode])
def test_it_may_be_called_where_gradients_are_off(without):
    model, images = small_net(), torch.randn(1, 3, 6, 6, generator=torch.Generator().manual_seed(4))
    wanted = batched_gradient_back_select(model, images, 5)
    with without():
        found = batched_gradient_back_select(model, images + 0, 5)
    np.testing.assert_array_equal(found[0], wanted[0])
    np.testing.assert_allclose(found[1], wanted[1], atol=1e-6)


def test_networks_of_double_precision_give_the_same_order():
    images = torch.randn(2, 3, 6, 6, generator=torch.Generator().manual_seed(5))
    single = batched_gradient_back_select(small_net(), images, 7)
    double = batched_gradient_back_select(small_net().double(), images.double(), 7)
    np.testing.assert_array_equal(single[0], double[0])
    np.testing.assert_allclose(single[1], double[1], atol=1e-5)


def test_one_target_for_all_is_that_target_for_each():
    model, images = small_net(), torch.randn(3, 3, 6, 6)
    all_alike = batched_gradient_back_select(model, images, 9, target=4)
    each = batched_gradient_back_select(model, images, 9, target=np.array([4, 4, 4]))
    np.testing.assert_array_equal(all_alike[0], each[0])
    with pytest.raises(InputError, match="2 for 3 images"):
        batched_gradient_back_select(model, images, 9, target=[4, 4])


def test_nan_raises():
    with pytest.raises(InputError, match="NaN"):
        batched_gradient_back_select(lambda x: linear(x) * float("nan"), IMAGE, 1)
    with pytest.raises(InputError, match="0 pixels"):
        batched_gradient_back_select(linear, IMAGE, 0)


def test_the_smallest_end_that_reaches_the_threshold_is_kept():
    order = np.array([[[2, 0], [3, 1]]] * 3)
    confidences = np.array([[0.95, 0.5, 0.92, 0.4]] * 3, dtype=np.float32)
    subsets = sufficient_subsets(order, confidences, np.array([0.9, 0.96, 0.3]), np.array([0.1, 0.1, 0.35]))
    assert subsets.status == ("found", "below", "blank")
    assert subsets.kept[0].tolist() == [[True, False], [True, False]]
    assert not subsets.kept[1:].any()
    np.testing.assert_allclose(subsets.confidence, [0.92, np.nan, 0.35])


def test_what_was_never_removed_is_not_what_was_removed_first():
    """Step 0 is a step: a pixel that left first must not be taken for one that stayed."""
    removal_order, _ = batched_gradient_back_select(linear, IMAGE, 1)
    subsets = sufficient_subsets(removal_order, np.array([[0.9, 0.8, 0.7, 0.95]]), np.array([0.9]), np.array([0.5]))
    assert subsets.kept[0].tolist() == [[False, False], [True, False]]
