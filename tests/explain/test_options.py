"""Options that cannot be are refused before a model is loaded, and those that decide are part of what is resumed."""

import pytest

from imagenet_errors.explain.locate import Locate
from imagenet_errors.explain.maps import Maps
from imagenet_errors.explain.questions import ErrorChoice, name_in_run
from imagenet_errors.explain.section import summarised
from imagenet_errors.explain.stability import Stability
from imagenet_errors.explain.sufficiency import SufficientSubsets
from imagenet_errors.problems import InputError


@pytest.mark.parametrize(
    ("make", "where"),
    [
        pytest.param(lambda: Locate(grid=1), "--grid: 1 is below 2", id="a grid of one cell"),
        pytest.param(lambda: Locate(baseline="grey"), "--baseline: no baseline 'grey'", id="baseline"),
        pytest.param(lambda: Locate(n_tried=-1), "--cells-tried", id="cells tried"),
        pytest.param(lambda: Locate(n_random=0), "n_random", id="no random mask"),
        pytest.param(lambda: Locate(seed=-1), "--seed", id="seed"),
        pytest.param(lambda: SufficientSubsets(threshold=0), "--threshold", id="threshold 0"),
        pytest.param(lambda: SufficientSubsets(threshold=1.5), "--threshold: 1.5 is no share", id="threshold above 1"),
        pytest.param(lambda: SufficientSubsets(threshold=float("nan")), "--threshold", id="threshold NaN"),
        pytest.param(lambda: SufficientSubsets(pixels_per_step=0), "--pixels-per-step", id="no pixel a step"),
        pytest.param(lambda: SufficientSubsets(cells=()), "cells", id="no size of cell"),
        pytest.param(lambda: Maps(methods=("saliency",)), "no way 'saliency' to make maps", id="map"),
        pytest.param(lambda: Maps(scales=(1,)), "scales", id="scale"),
        pytest.param(lambda: Maps(n_lime=0), "n_lime", id="samples"),
        pytest.param(lambda: Stability(n_crops=-1), "n_crops", id="crops"),
        pytest.param(lambda: ErrorChoice(limit=-1), "--limit: -1 is below 0", id="limit"),
        pytest.param(lambda: ErrorChoice(n_right=-1), "--right-answers", id="right answers"),
        pytest.param(lambda: ErrorChoice(("correct",)), "--error-types", id="no error"),
    ],
)
def test_what_cannot_be_is_refused_at_once(make, where):
    with pytest.raises(InputError, match=where):
        make()


def test_boxes_are_read_before_anything_is_asked(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        Stability(boxes=tmp_path / "boxes.csv")


def test_a_name_that_is_stated_stands_for_no_other_model():
    assert name_in_run(["net", "net_a"], "net.tag", "net") == "net"
    assert name_in_run(["net", "net_a"], "net.tag", "net", stated="net_a") == "net_a"
    with pytest.raises(InputError, match="--run-model: no 'net_b' in this run") as told:
        name_in_run(["net", "net_a"], "net.tag", "net", stated="net_b")
    assert "net, net_a" in told.value.fix


@pytest.mark.parametrize("method", ["locate", "sis", "maps", "stability"])
def test_where_nothing_could_be_asked_nothing_is_claimed(method):
    row = {"file_name": "a", "prediction": 1, "verdict": "other_answer", "error_type": "model_failure", "seconds": None}
    told = summarised([row], method=method)
    assert told.first_line == "No answer was explained."
    assert not told.shows_pictures
    assert told.left_out.startswith("1 of 1 answer left out.")
