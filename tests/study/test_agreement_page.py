"""The page of ``agreement`` says what was compared, by what, and what plays no part."""

import pytest

from imagenet_errors.chain import DEFAULT_ORDER, PUBLISHED_ORDER
from imagenet_errors.study.agreement import Request, agree
from imagenet_errors.study.agreement_page import page
from panel_world import JUDGED, panel_world, write_judgements
from toy import inputs_of


@pytest.fixture
def told(tmp_path):
    """The page for the small world, on one line."""

    def make(*rows, order=DEFAULT_ORDER, **changes):
        world = panel_world(tmp_path)
        write_judgements(world.human, *(rows or JUDGED))
        sources = inputs_of(
            str(world.annotations),
            oov_evidence=tmp_path / "oov.csv",
            superclasses=tmp_path / "fish.toml",
            co_occurrence=tmp_path / "pairs.csv",
            stage_order=order,
        )
        return " ".join(page(agree(Request((world.human,), sources, tmp_path / "out", **changes))).split())

    return make


@pytest.mark.parametrize(
    ("order", "says"),
    [
        pytest.param(DEFAULT_ORDER, "spurious_correlation (the paper's).", id="the paper's order"),
        pytest.param(PUBLISHED_ORDER, "non_prototypical (the published program's).", id="the published one"),
        pytest.param(("multi_object", "fine_grained"), "Stages asked: multi_object, fine_grained.", id="an own one"),
    ],
)
def test_the_order_of_the_stages_is_named(told, order, says):
    assert says in told(order=order)


def test_stages_left_out_play_no_part(told):
    text = told(order=("multi_object", "fine_grained"))
    assert "Stage non_prototypical did not run: left out of --stage-order." in text
    assert "Out-of-vocabulary evidence plays no part." in text
    assert "list of non-prototypical images plays no part." in text


def test_cases_without_evidence_are_counted_and_bound_the_figures(told):
    text = told()
    assert "1 case reached the out-of-vocabulary stage without evidence" in text
    assert "| fine_grained_oov | 0 | 1 (1 to 2) | 0 | 0 | 1 (0 to 1) |" in text


def test_judged_images_that_are_excluded_are_counted(told):
    text = told(*JUDGED, ("i6.JPEG", 30, "Fine-grained error", "Minor"))
    assert "6 judged mistakes classified" in text
    assert "1 judged mistake on excluded images" in text


def test_the_trivial_answer_stands_beside_the_agreement(told):
    assert "Calling every case fine_grained would agree on 2 (33.3 %) with a kappa of 0" in told()


def test_names_cannot_break_the_page(told):
    text = told(("i0.JPEG", 9, "Fine-grained error", "<script>|"))
    assert "Fine-grained error, &lt;script>\\|." in text
