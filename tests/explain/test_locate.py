"""Locate: planted patches are found, and what is not there is not."""

import numpy as np
import pytest

from explain_world import BLUE, GREEN, NOTHING, RED, classifier_of, picture
from imagenet_errors.explain.locate import (
    Locate,
    answers_under,
    decoy_of,
    locate,
    random_masks,
    verdict_of,
)
from imagenet_errors.explain.masking import Maskable, blank_of, cell_of_pixels, masking_map
from imagenet_errors.problems import InputError

WHOLE_GREEN = (GREEN, (0, 32), (0, 32), 0.2)
RED_CORNER = (RED, (0, 8), (0, 8), 5.0)


def located(*patches, prediction=RED, goal=(GREEN,), grid=4, **options):
    shown = Maskable.of(classifier_of(), picture(*patches), grid=grid, baseline="mean")
    return locate(shown, prediction, goal, options=Locate(grid=grid, baseline="mean", **options))


def test_a_planted_patch_is_what_turns_the_answer():
    found = located(WHOLE_GREEN, RED_CORNER)
    assert found.search.order.tolist() == [0]
    assert found.search.answers.tolist() == [GREEN]
    assert (found.search.n_to_turn, found.target, found.decoy, found.verdict) == (1, GREEN, BLUE, "located")
    assert int(np.argmin(found.margin_map)) == 0


def test_the_margin_map_is_the_predictions_logit_less_the_accepted_ones():
    found = located(WHOLE_GREEN, RED_CORNER)
    assert found.margin_before == pytest.approx(5 * 100 / 16 - 0.2 * 100, rel=1e-4)
    assert found.margin_map[0] == pytest.approx(-0.2 * 100 * 15 / 16, rel=1e-4)
    assert found.margin_map[1] == pytest.approx(5 * 100 / 16 - 0.2 * 100 * 15 / 16, rel=1e-4)


def test_a_class_that_is_not_in_the_picture_is_never_reached():
    found = located(WHOLE_GREEN, RED_CORNER, goal=(NOTHING,))
    assert found.verdict == "never"
    assert found.search.n_to_turn is None
    assert len(found.search.order) == 8
    assert found.other_baseline_flips is None


def test_where_a_decoy_comes_forth_as_easily_it_is_chance():
    found = located(WHOLE_GREEN, (BLUE, (24, 32), (24, 32), 4.0), RED_CORNER)
    assert sorted(found.search.order.tolist()) == [0, 15]
    assert found.decoy_search.n_to_turn == 1
    assert found.verdict == "chance"


def test_random_masks_of_the_same_size_are_told():
    assert located(WHOLE_GREEN, RED_CORNER).chance_flip == pytest.approx(1 / 16, abs=0.15)
    assert located(WHOLE_GREEN, (RED, (0, 32), (0, 32), 0.2001), goal=(GREEN,)).chance_flip <= 1


def test_trying_a_few_cells_finds_what_trying_all_finds():
    patches = [WHOLE_GREEN, (RED, (0, 8), (0, 16), 4.0), (RED, (16, 24), (24, 32), 4.0)]
    few, every = (located(*patches, n_tried=n) for n in (3, 0))
    assert sorted(few.search.order.tolist()) == sorted(every.search.order.tolist())


@pytest.mark.parametrize(
    ("n_to_turn", "n_to_decoy", "verdict"),
    [
        pytest.param(4, None, "located", id="turned, no decoy"),
        pytest.param(4, 9, "located", id="the decoy takes more than twice as many"),
        pytest.param(4, 8, "chance", id="the decoy takes twice as many"),
        pytest.param(16, None, "located", id="a quarter of the cells"),
        pytest.param(17, None, "diffuse", id="more than a quarter"),
        pytest.param(None, 1, "never", id="not turned"),
    ],
)
def test_the_verdict_is_a_named_rule(n_to_turn, n_to_decoy, verdict):
    assert verdict_of(n_to_turn, n_to_decoy, 64) == verdict


def test_the_decoy_is_the_untaken_class_with_the_nearest_logit():
    assert decoy_of(np.array([9.0, 5.0, 4.5, 5.6, 0.0], dtype=np.float32), 1, {0, 1}) == 2
    assert decoy_of(np.array([9.0, 5.0, 4.5, 5.6, 0.0], dtype=np.float32), 1, {0, 1, 2}) == 3


def test_other_models_are_asked_behind_the_same_mask():
    shown = Maskable.of(classifier_of(), picture(WHOLE_GREEN, RED_CORNER), grid=4, baseline="mean")
    (row,) = answers_under([shown], np.eye(16, dtype=bool)[0], (GREEN,))
    assert row == {"model": "colours", "before": RED, "after": GREEN, "turns": True}


def test_random_masks_hide_so_many_cells_and_are_the_same_each_time():
    masks = random_masks(20, 5, 64, seed=3)
    assert (masks.sum(axis=1) == 5).all()
    np.testing.assert_array_equal(masks, random_masks(20, 5, 64, seed=3))
    assert len(np.unique(masks, axis=0)) == 20


@pytest.mark.parametrize(("size", "grid"), [((32, 32), 8), ((33, 31), 7), ((260, 260), 8)])
def test_cells_differ_by_a_pixel_at_most(size, grid):
    cells = cell_of_pixels(size, grid)
    assert cells.shape == size
    assert sorted(set(cells.ravel())) == list(range(grid * grid))
    widths = np.bincount(cells[0])
    assert widths.max() - widths.min() <= 1


def test_a_grid_finer_than_the_pixels_is_refused():
    with pytest.raises(InputError, match="2 to 32"):
        cell_of_pixels((32, 40), 33)


def test_the_blur_keeps_the_level_and_loses_the_edge():
    pixels = picture(WHOLE_GREEN, RED_CORNER)
    blurred = blank_of(pixels, "blur")
    assert float(blurred[GREEN].mean()) == pytest.approx(0.2, abs=1e-3)
    assert 0 < float(blurred[RED, 7, 7]) < 4
    with pytest.raises(InputError, match="blur, mean"):
        blank_of(pixels, "black")


def test_a_masking_map_is_captums_feature_ablation():
    captum = pytest.importorskip("captum.attr", reason="needs the extra explain: captum is not installed")
    import torch

    torch.manual_seed(0)
    layers = (torch.nn.Conv2d(3, 8, 5, stride=2), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(8 * 14 * 14, 10))
    model = torch.nn.Sequential(*layers)
    pixels = torch.randn(3, 32, 32)
    ours = masking_map(classifier_of(model.eval()), pixels, 3, grid=7)
    cells = torch.from_numpy(cell_of_pixels((32, 32), 7))[None, None]
    with torch.no_grad():
        theirs = captum.FeatureAblation(model).attribute(pixels[None], target=3, feature_mask=cells)
    middle = [2 + 32 * row // 7 for row in range(7)]
    np.testing.assert_allclose(ours, theirs[0, 0].numpy()[np.ix_(middle, middle)], atol=1e-4)
