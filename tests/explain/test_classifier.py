"""A compiled classifier answers as the one it was made of, and leaves gradients to it."""

import shutil

import numpy as np
import pytest

from explain_world import classifier_of
from timm_world import needs_timm

needs_timm()
import torch  # noqa: E402

from imagenet_errors.explain.classifier import compiled  # noqa: E402


@pytest.fixture(scope="module")
def pair():
    if shutil.which("g++") is None:
        pytest.skip("torch compiles with a C++ compiler: there is no g++")
    torch.manual_seed(0)
    layers = (torch.nn.Conv2d(3, 8, 5, stride=2), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.Flatten())
    model = torch.nn.Sequential(*layers, torch.nn.Linear(8 * 14 * 14, 10)).eval()
    plain = classifier_of(model, channels_last=True)
    return plain, compiled(plain)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("n", [1, 5, 8, 21])
def test_any_number_of_pictures_has_the_same_logits(pair, n):
    plain, fast = pair
    pixels = torch.randn(n, 3, 32, 32, generator=torch.Generator().manual_seed(n))
    np.testing.assert_allclose(fast.logits(pixels), plain.logits(pixels), atol=1e-5)


def test_gradients_are_the_models_own(pair):
    plain, fast = pair
    assert fast.model is plain.model
    assert fast.module is plain.module
