"""Outputs become the five best classes; NaN, damaged images and want of memory are no class 0."""

import numpy as np
import pytest

from imagenet_errors.labels import imagenet_1k
from imagenet_errors.predict.networks import head_of
from imagenet_errors.problems import InputError
from timm_world import needs_timm

needs_timm()

from imagenet_errors.predict.inference import (  # noqa: E402
    Capacity,
    choose_device,
    is_out_of_memory,
    top_classes,
)

LABELS = imagenet_1k()


def outputs(n_outputs, *best, n_rows=1):
    """Return zeros but for the ``best`` outputs of each row: first 9, then 8, ..."""
    import torch

    values = torch.zeros(n_rows, n_outputs)
    for rank, place in enumerate(best):
        values[:, place] = 9.0 - rank
    return values


def test_the_best_five_come_in_order_with_their_softmax():
    values = outputs(1000, 7, 3, 999, 0, 500)
    classes, shares = top_classes(values, head_of("m", 1000, LABELS))
    assert classes.tolist() == [[7, 3, 999, 0, 500]]
    expected = np.exp([9.0, 8, 7, 6, 5]) / (np.exp([9.0, 8, 7, 6, 5]).sum() + 995)
    np.testing.assert_allclose(shares[0], expected, rtol=1e-5)


def test_equal_outputs_come_in_the_order_of_their_classes():
    values = outputs(1000)
    values[0, [700, 20, 300]] = 5.0
    classes, _ = top_classes(values, head_of("m", 1000, LABELS))
    assert classes.tolist() == [[20, 300, 700, 0, 1]]


def test_a_background_output_is_never_predicted():
    classes, shares = top_classes(outputs(1001, 0, 8), head_of("m", 1001, LABELS))
    assert classes[0, 0] == 7
    assert shares[0, 0] == pytest.approx(np.exp(8) / (np.exp(8) + 999))


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_row_with_an_impossible_output_is_invalid_and_no_tench(bad):
    values = outputs(1000, 5, n_rows=2)
    values[0, 400] = bad
    classes, shares = top_classes(values, head_of("m", 1000, LABELS))
    assert classes[:, 0].tolist() == [-1, 5]
    assert np.isnan(shares[0]).all()


def test_minus_infinity_masks_a_class_and_all_of_them_a_row():
    values = outputs(1000, 5, n_rows=2)
    values[0, 5] = float("-inf")
    values[1] = float("-inf")
    classes, _ = top_classes(values, head_of("m", 1000, LABELS))
    assert classes[:, 0].tolist() == [0, -1]


def test_a_head_of_fewer_than_five_classes_is_filled_up():
    head = head_of("m", 2, LABELS, label_names=["n01443537", "n01440764"])
    classes, shares = top_classes(outputs(2, 0), head)
    assert classes.tolist() == [[1, 0, -1, -1, -1]]
    assert np.isnan(shares[0, 2:]).all()


def test_room_is_halved_until_one_image_is_left():
    capacity = Capacity(5, choose_device("cpu"))
    for size in (2, 1):
        capacity.halve(RuntimeError(), where="m")
        assert capacity.n_images == size
    with pytest.raises(InputError, match="m: memory runs out with one image at a time"):
        capacity.halve(RuntimeError(), where="m")


@pytest.mark.parametrize(
    ("error", "is_memory"),
    [
        ("CUDA out of memory. Tried to allocate", True),
        ("DefaultCPUAllocator: can't allocate memory: you tried", True),
        ("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`", True),
        ("mat1 and mat2 shapes cannot be multiplied", False),
    ],
)
def test_want_of_memory_is_told_from_other_errors(error, is_memory):
    assert is_out_of_memory(RuntimeError(error)) == is_memory


@pytest.mark.parametrize("name", ["cuda:99", "toaster"])
def test_a_device_that_is_not_there_is_refused(name):
    with pytest.raises(InputError, match=f"--device: '{name}' cannot be used"):
        choose_device(name)
