"""Dots, lines and marks lie where their figures say, on scales that never change."""

import re

import numpy as np
import pytest

from imagenet_errors.chain import ERROR_TYPES
from imagenet_errors.report.looks import most_percent
from imagenet_errors.report.page.scatter import HEIGHT, WIDTH, marks, panels, trends
from imagenet_errors.report.points import BOUNDED, UNKNOWN, Points


def points(*models):
    """Each model: (MLA, severe errors in percent of its multi-label errors)."""
    counts = np.zeros((len(models), 4, len(ERROR_TYPES)), dtype=np.int64)
    counts[:, :, ERROR_TYPES.index("fine_grained")] = [[100 - severe] * 4 for _, severe in models]
    counts[:, :, ERROR_TYPES.index("model_failure")] = [[severe] * 4 for _, severe in models]
    mla = np.array([[accuracy] * 4 for accuracy, _ in models], dtype=float)
    return Points.measured(tuple(f"m{place}" for place in range(len(models))), counts, mla=mla, top1=mla, facts={})


def places(path):
    return [(float(x), float(y)) for x, y in re.findall(r"M([\d.]+) ([\d.]+)h0", path)]


OURS = points((60, 70), (90, 40), (75, 0))


def test_more_accurate_is_further_right_and_more_severe_is_higher():
    panel = panels(OURS, None)[0]
    (x0, y0), (x1, y1), (x2, y2) = places(panel.ours)
    assert 0 < x0 < x2 < x1 < WIDTH
    assert 0 < y0 < y1 < y2 < HEIGHT


def test_the_mark_lies_on_its_own_dot():
    panel = panels(OURS, None)[0]
    found = marks(panel, OURS)[1]
    assert (found.x, found.y) == places(panel.ours)[1]
    assert (found.accuracy, found.portion, found.expected) == (90, 40, None)


def test_ticks_are_at_the_figures_they_name():
    panel = panels(points((80, 40)), None)[0]
    ((x, y),) = places(panel.ours)
    assert [tick.at for tick in panel.x_ticks if tick.text == "80"] == [x]
    assert [tick.at for tick in panel.y_ticks if tick.text == "40"] == [y]
    assert float(panel.y_ticks[-1].text) == most_percent("model_failure")


def test_what_the_published_line_expects_is_told():
    published = points(*[(70 + step, 60 - step) for step in range(20)])
    panel = panels(OURS, published)[0]
    ours = points((75.0, 30))
    assert marks(panel, ours)[0].expected == pytest.approx(55)
    assert marks(panel, points((60, 30)))[0].expected is None


def test_severe_errors_have_a_line_on_either_side_of_90():
    published = points(*[(80 + step, 60 - step) for step in range(18)])
    assert len(panels(OURS, published)[0].lines) == 2
    assert len(panels(OURS, published)[1].lines) == 1


def test_a_model_without_multi_label_errors_has_no_mark():
    level, none = np.full((1, 4), 99.0), np.zeros((1, 4, len(ERROR_TYPES)), dtype=np.int64)
    nothing = Points.measured(("m",), none, mla=level, top1=level, facts={})
    panel = panels(nothing, None)[0]
    assert panel.ours == ""
    assert marks(panel, nothing)[0] is None


def test_what_hangs_on_missing_evidence_is_drawn_together_or_within_bounds():
    whole = points((80, 40))
    state, least = whole.state.copy(), whole.least.copy()
    oov, severe = ERROR_TYPES.index("fine_grained_oov"), ERROR_TYPES.index("model_failure")
    state[:, [oov, severe]], least[:, :, severe] = [UNKNOWN, BOUNDED], 30
    ours = Points(whole.models, whole.counts, least, whole.most, state, whole.mla, whole.top1, {})
    drawn = panels(ours, points(*[(70 + step, 60 - step) for step in range(20)]))
    assert drawn[0].error_types == ("fine_grained_oov", "model_failure")
    assert ("fine_grained_oov",) not in [panel.error_types for panel in drawn]
    assert marks(drawn[0], ours)[0].portion == pytest.approx(40)


def bent(n_models=60):
    """Shares of fine-grained errors that fall by half a point, then by three a point from an MLA of 85 on."""
    severe = [40 + 0.5 * step if step < 20 else 50 + 3 * (step - 20) for step in np.linspace(0, 30, n_models)]
    return points(*[(65 + step, share) for step, share in zip(np.linspace(0, 30, n_models), severe, strict=True)])


def test_a_trend_is_a_curve_where_a_line_leaves_the_data():
    bending, straight = bent(), points(*[(60 + step, 90 - step) for step in range(40)])
    (curve,), (line,) = (trends(cloud, [("fine_grained",)])[0] for cloud in (bending, straight))
    assert curve.is_curve
    assert not line.is_curve
    shares = bending.portions("fine_grained", among="multi_label")
    assert np.abs([curve.at(x) - y for x, y in zip(bending.mla[:, 0], shares, strict=True)]).max() < 2
    assert line.at(70) == pytest.approx(20)


def test_beyond_the_models_there_is_no_trend():
    (line,) = trends(points(*[(60 + step, 90 - step) for step in range(10)]), [("fine_grained",)])[0]
    assert (line.at(59.9), line.at(69.1)) == (None, None)


def test_trends_that_were_kept_are_the_same():
    first, again = (trends(bent(), [("fine_grained",), ("model_failure",)]) for _ in range(2))
    for one, other in zip(first, again, strict=True):
        assert all((a.x == b.x).all() and (a.y == b.y).all() for a, b in zip(one, other, strict=True))
    assert [len(found) for found in first] == [1, 2]  # severe errors alone have two lines


def test_a_bound_above_the_axis_is_cut_and_says_so():
    whole = points((80, 40))
    fine, oov = ERROR_TYPES.index("fine_grained"), ERROR_TYPES.index("fine_grained_oov")
    counts, most, state = whole.counts.copy(), whole.most.copy(), whole.state.copy()
    counts[:, :, oov], most[:, :, oov], state[:, oov] = 5, 60, BOUNDED
    state[:, ERROR_TYPES.index("model_failure")] = UNKNOWN
    counts[:, :, fine] -= 5
    ours = Points(whole.models, counts, counts, most, state, whole.mla, whole.top1, {})
    panel = next(panel for panel in panels(ours, None) if panel.error_types == ("fine_grained_oov",))
    found = marks(panel, ours)[0]
    assert found.bounds == (5, 60)
    assert found.is_cut  # the axis ends at 32 %
