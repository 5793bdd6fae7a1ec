"""The page of ``agreement`` says what was compared, by what, and what plays no part."""

import pytest

from imagenet_errors.chain import DEFAULT_ORDER, PUBLISHED_ORDER
from imagenet_errors.study.agreement import AgreementRequest, agree
from imagenet_errors.study.agreement_page import page
from imagenet_errors.study.published import PAPER, PROGRAM
from panel_world import BRAMBLING, JUDGED, JUDGED_AGAIN, panel_world, write_judgements
from toy import inputs_of


@pytest.fixture
def text_of(tmp_path):
    """The page for the small world, on one line."""

    def make(*rows, again=(), order=DEFAULT_ORDER, **changes):
        world = panel_world(tmp_path)
        write_judgements(world.human, *(rows or JUDGED))
        human = {"vit_mistakes": world.human}
        if again:
            human["soups_mistakes"] = write_judgements(world.human_again, *again)
        inputs = inputs_of(
            world.annotations,
            oov_evidence=tmp_path / "oov.csv",
            superclasses=tmp_path / "fish.toml",
            co_occurrence=tmp_path / "pairs.csv",
            stage_order=order,
        )
        return " ".join(page(agree(AgreementRequest(human, inputs, tmp_path / "out", **changes))).split())

    return make


@pytest.mark.parametrize(
    ("order", "says"),
    [
        pytest.param(DEFAULT_ORDER, "spurious_correlation (the paper's order).", id="the paper's order"),
        pytest.param(PUBLISHED_ORDER, "non_prototypical (the published program's order).", id="the published one"),
        pytest.param(
            ("multi_object", "fine_grained"), "Stages asked: multi_object, fine_grained (as given).", id="an own one"
        ),
    ],
)
def test_the_order_of_the_stages_is_named(text_of, order, says):
    assert says in text_of(order=order)


def test_stages_left_out_play_no_part(text_of):
    text = text_of(order=("multi_object", "fine_grained"))
    assert "Stage non_prototypical did not run: left out of --stage-order." in text
    assert "Out-of-vocabulary evidence plays no part." in text
    assert "list of non-prototypical images plays no part." in text


def test_cases_without_evidence_are_counted_and_bound_the_figures(text_of):
    text = text_of()
    assert "1 case reached the out-of-vocabulary stage without evidence" in text
    assert "| fine_grained_oov | 0 | 1 (1 to 2) | 0 | 0 | 1 (0 to 1) |" in text


def test_judged_images_that_are_excluded_are_counted(text_of):
    text = text_of(*JUDGED, ("i6.JPEG", 30, "Fine-grained error", "Minor"))
    assert "6 mistakes of the panel's classified" in text
    assert "1 mistake on excluded images" in text


def test_the_trivial_answer_stands_beside_the_agreement(text_of):
    assert "Calling every case fine_grained would agree on 2 of 6 (33.3 %) with a kappa of 0" in text_of()


def test_names_cannot_break_the_page(text_of):
    text = text_of(("i0.JPEG", 9, "Fine-grained error", "<script>|"))
    assert "Fine-grained error, &lt;script>\\|." in text


def test_the_table_is_given_in_both_published_orders(text_of):
    text = text_of(("i3.JPEG", BRAMBLING, "Non-prototypical", "Minor"))
    # The image is listed, and its classes co-occur as well: the order decides.
    assert "stages in the paper's order: | panel \\ ours | fine_grained" in text
    paper, program = (text.split(f"stages in {order} order:")[1] for order in (PAPER, PROGRAM))
    assert "| non_prototypical | 0 | 0 | 1 | 0 | 0 |" in paper[:600]
    assert "| non_prototypical | 0 | 0 | 0 | 1 | 0 |" in program[:600]


def test_an_order_of_ones_own_stands_beside_both(text_of):
    text = text_of(order=("multi_object", "fine_grained"))
    assert all(f"| {order} | 6 |" in text for order in ("as given", PAPER, PROGRAM))


def test_files_that_are_copies_tell_nothing_of_the_panel(text_of):
    text = text_of(again=JUDGED[2:5])
    assert "All 3 cases that vit_mistakes and soups_mistakes share are equal to the letter" in text
    assert "cannot be told from them" in text


def test_files_that_differ_are_set_side_by_side_without_a_claim(text_of):
    text = text_of(again=JUDGED_AGAIN)
    assert "| vit_mistakes and soups_mistakes | 4 | 3 | 2 | 2 | 1 |" in text
    assert "gives 2 of 3 shared cases the same category" in text
    assert "ceiling" not in text.lower()


def test_files_that_share_no_case_say_so(text_of):
    assert "share no case" in text_of(again=JUDGED_AGAIN[3:])
