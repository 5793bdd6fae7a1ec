"""Sufficient subsets and what speaks against them."""

import numpy as np
import pytest

from explain_world import GREEN, RED, SIDE, classifier_of, picture
from imagenet_errors.explain.job import ModelGroup
from imagenet_errors.explain.questions import Question
from imagenet_errors.explain.sufficiency import (
    Subset,
    SufficientSubsets,
    back_select_all,
    border_of,
    dilated,
    last_share,
    spread,
    verdict_of,
)

FOUND = {"status": "found", "threshold": 0.9, "p_far_best": 0.1, "random_reaches": 0.0, "p_dilated": 0.95}


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        pytest.param({}, "robust", id="nothing speaks against it"),
        pytest.param({"p_dilated": 0.6}, "inconclusive", id="neighbours weaken it"),
        pytest.param({"p_dilated": 0.4}, "artefact", id="neighbours undo it"),
        pytest.param({"random_reaches": 0.2}, "artefact", id="a random subset does as well"),
        pytest.param({"p_far_best": 0.9}, "artefact", id="a far class comes forth as well"),
        pytest.param({"status": "blank"}, "inconclusive", id="the blank suffices"),
        pytest.param({"status": "below"}, "inconclusive", id="the whole does not reach it"),
    ],
)
def test_the_verdict_is_a_named_rule(change, verdict):
    assert verdict_of({**FOUND, **change}) == verdict


def test_dilation_reveals_the_eight_neighbours():
    kept = np.zeros((4, 5), dtype=bool)
    kept[0, 1] = True
    assert dilated(kept).astype(int).tolist() == [[1, 1, 1, 0, 0], [1, 1, 1, 0, 0], [0] * 5, [0] * 5]


def test_the_last_share_takes_what_left_last_and_of_ties_the_later():
    shown = last_share(np.array([[[0, 3], [1, 2]], [[1, 1], [1, 1]]]), 0.5)
    assert shown.astype(int).tolist() == [[[0, 1], [0, 1]], [[0, 0], [1, 1]]]


def test_cells_are_spread_and_cut_at_the_edge():
    assert spread(np.array([[True, False]]), 2, (2, 3)).astype(int).tolist() == [[1, 1, 0], [1, 1, 0]]


def test_the_border_is_the_outer_tenth():
    assert border_of((20, 20)).mean() == pytest.approx(1 - 0.8**2)


def test_several_targets_of_a_batch_are_searched_as_each_alone():
    import torch

    classifier = classifier_of(batch_size=3)
    pixels = torch.stack([picture((RED, (0, 8), (0, 8), 2.0)), picture((GREEN, (8, 16), (0, 8), 2.0))])
    targets = [np.array([RED, GREEN]), np.array([GREEN, RED])]
    order, confidences = back_select_all(classifier, pixels, targets, per_step=64, cell=1)
    assert order.shape == (2, 2, SIDE, SIDE)
    alone, _ = back_select_all(classifier, pixels[:1], [np.array([RED])], per_step=64, cell=1)
    np.testing.assert_array_equal(order[0, 0], alone[0, 0])
    assert confidences.shape == (2, 2, 16)


def test_the_controls_of_a_subset_in_a_picture_that_needs_no_more():
    kept = np.zeros((SIDE, SIDE), dtype=bool)
    kept[:8, :8] = True
    shown = picture((RED, (0, 8), (0, 8), 2.0), level=0.0)
    found = Subset(classifier_of(), shown, kept, RED).controls(0.9, n_random=4, seed=0)
    assert found["share_kept"] == pytest.approx(1 / 16)
    assert found["p_dilated"] == pytest.approx(1, abs=1e-3)
    assert not found["complement_keeps_answer"] or found["p_complement"] < 0.5
    assert 0 <= found["random_reaches"] <= 1


@pytest.fixture
def folder(tmp_path):
    from PIL import Image

    colours = np.zeros((SIDE, SIDE, 3), dtype=np.uint8)
    colours[8:16, 8:16, 0] = 255
    Image.fromarray(colours).save(tmp_path / "red.png")
    return tmp_path


def test_a_row_for_each_size_of_cell_and_pictures_to_test_the_subsets_with(folder, tmp_path):
    method = SufficientSubsets(pixels_per_step=64, cells=(1, 8), export=tmp_path / "masked")
    group = ModelGroup(classifier_of(), (), folder)
    (rows,) = method.rows(group, [Question("red.png", "red.png", RED, RED, (RED,), "correct")])
    assert [row["cell"] for row in rows] == [1, 8]
    assert all(row["status"] in ("found", "blank", "below") for row in rows)
    kept = np.unpackbits(np.frombuffer(rows[1]["kept"], dtype=np.uint8)).astype(bool)
    assert kept[:16].sum() == pytest.approx(rows[1].get("share_kept", 0) * 16)
    written = sorted(path.relative_to(tmp_path / "masked").as_posix() for path in (tmp_path / "masked").rglob("*.png"))
    assert written == [f"{kind}_{share}%/red.png" for kind in ("chosen", "random") for share in (10, 5)]


def test_no_question_no_rows(folder):
    assert list(SufficientSubsets().rows(ModelGroup(classifier_of(), (), folder), [])) == []
