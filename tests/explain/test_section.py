"""What stored explanations say together."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import stats

from imagenet_errors.explain.section import page_rows, shares, stored_explanations, summarised


def located(n_flip, n_decoy, *, verdict="located", kind="model_failure", prediction=3, goal=4, **more):
    return {
        "file_name": f"{n_flip}-{n_decoy}.JPEG",
        "prediction": prediction,
        "goal": goal,
        "error_type": kind,
        "grid": 8,
        "order": list(range(n_flip or 0)),
        "n_hidden_to_flip": n_flip,
        "n_hidden_to_decoy": n_decoy,
        "transfer": [{"model": "b", "before": 3, "after": 4, "turns": True}],
        "verdict": verdict,
        "picture": b"webp",
        "seconds": 2.0,
        **more,
    }


def test_accepted_against_decoy_is_told_first_and_pictures_only_if_it_is_more():
    clear = summarised([located(2, None)] * 10 + [located(None, 3, verdict="never")], method="locate")
    assert clear.first_line == (
        "Hiding up to a quarter of the picture turns 10 of 11 errors into an accepted answer and 1 into a decoy as "
        "near (exact paired test: p = 0.012)."
    )
    assert clear.shows_pictures
    chance = summarised([located(2, 3, verdict="chance")] * 10, method="locate")
    assert "No more than decoys: model_failure (10 against 10, p = 1); single pictures of these" in chance.first_line
    assert not chance.shows_pictures


def test_pictures_that_are_no_evidence_are_on_the_page_only_when_asked_for():
    rows = (located(2, None), located(2, 3, verdict="chance"))
    clear, chance = (summarised([row] * 10, method="locate", model="m") for row in rows)
    shown = page_rows([clear])["2-None.JPEG|3"]["m"]
    assert shown["picture"].startswith("data:image/webp;base64,")
    assert shown["locate"]["hidden"] == [0, 1]
    hidden = page_rows([chance])["2-3.JPEG|3"]["m"]
    assert "picture" not in hidden
    assert (hidden["locate"]["hidden"], hidden["locate"]["shows_picture"]) == ([], False)
    assert "picture" in page_rows([chance], anyway=True)["2-3.JPEG|3"]["m"]


def test_a_type_that_turns_no_more_than_its_decoy_shows_no_pictures_beside_one_that_does():
    rows = [located(2, None)] * 10 + [located(1, 1, kind="fine_grained")] * 10
    made = summarised(rows, method="locate", model="m")
    assert "fine_grained (10 against 10, p = 1)" in made.first_line
    assert "model_failure" not in made.first_line
    shown = page_rows([made])
    assert "picture" in shown["2-None.JPEG|3"]["m"]
    assert "picture" not in shown["1-1.JPEG|3"]["m"]


def test_only_a_quarter_of_the_cells_counts():
    pair = summarised([located(16, 17), located(17, 16)], method="locate").summary["errors"]
    assert (pair["n_accepted"], pair["n_decoy"], pair["n_accepted_only"], pair["n_decoy_only"]) == (1, 1, 1, 1)


def test_the_most_severe_type_comes_first_and_right_answers_last():
    rows = [located(1, None, kind=kind) for kind in ("correct", "fine_grained", "model_failure")]
    assert list(summarised(rows, method="locate").summary["types"]) == ["model_failure", "fine_grained", "correct"]
    assert summarised(rows, method="locate").summary["errors"]["n_accepted"] == 2


def test_class_pairs_that_recur_have_the_mean_of_what_was_hidden():
    rows = [located(1, None), located(2, None), located(2, None, prediction=9)]
    (pair,) = summarised(rows, method="locate").summary["recurring"]
    assert (pair["prediction"], pair["goal"], pair["n"]) == (3, 4, 2)
    assert pair["mean_map"][:3] == [1.0, 0.5, 0.0]


def test_a_mask_carries_over_where_the_other_model_made_the_same_error():
    (told,) = summarised([located(1, None), located(1, None, prediction=7)], method="locate").summary["transfer"]
    assert told == {"model": "b", "n": 2, "n_same": 1, "n_turns": 1}


def test_what_was_not_asked_is_told_with_the_way_out():
    rows = [located(1, None), located(2, None, verdict="other_answer"), located(3, None, verdict="unreadable")]
    told = summarised(rows, method="locate")
    assert told.left_out.startswith("2 of 3 answers left out. 1: the model now answers otherwise than in the run.")
    assert "--data KEY=VALUE" in told.left_out
    assert told.left_out.endswith("; 1: the image cannot be read.")
    assert summarised(rows[:1], method="locate").left_out == ""


def test_an_answer_with_a_row_for_each_size_of_cell_counts_once():
    found = {
        "error_type": "model_failure",
        "verdict": "robust",
        "status": "found",
        "threshold": 0.9,
        "p_far_best": 0.1,
        **dict.fromkeys(("share_kept", "p_dilated", "p_random", "p_complement", "border_share", "border_area"), 0.5),
    }
    rows = [{"file_name": "a", "prediction": 1, "cell": cell, "seconds": 1.0, **found} for cell in (1, 8, 16)]
    rows.append({**rows[0], "file_name": "b", "verdict": "unreadable"})
    assert summarised(rows, method="sis").left_out.startswith("1 of 2 answers left out.")


def agreeing(method, compared, value):
    return {
        "compared": compared,
        "one": f"{method} · a · map",
        "other": f"{method} · b · map",
        **dict.fromkeys(("spearman", "top_overlap", "ssim"), value),
    }


def test_agreement_across_models_stands_beside_its_ceiling():
    agreement = [agreeing("lime", "within", 0.8), agreeing("lime", "models", 0.2), agreeing("lime", "models", 0.4)]
    of = {"file_name": "a", "prediction": 1, "error_type": "correct"}
    row = {**of, "agreement": agreement, "verdict": "compared", "seconds": 1.0}
    told = summarised([row], method="maps")
    assert "lime 0.30 across models (ceiling 0.80)" in told.first_line
    assert [each["compared"] for each in told.summary["agreement"]["right"]] == ["models", "within"]


def test_a_runs_explanations_are_found_by_method_and_model(tmp_path):
    folder = tmp_path / "explanations" / "stability"
    folder.mkdir(parents=True)
    row = {"file_name": "a", "prediction": 1, "error_type": "model_failure", "verdict": "stable", "seconds": 1.0}
    shares = {"share_stays": 1.0, "share_right": 0.0, "share_other_type": 0.0}
    pq.write_table(pa.Table.from_pylist([{**row, **shares}]), folder / "m.parquet")
    (found,) = stored_explanations(tmp_path)
    assert (found.method, found.model) == ("stability", "m")
    assert found.first_line.startswith("1 of 1 errors stay")
    assert found.summary["types"]["model_failure"]["verdicts"][0]["low"] == pytest.approx(0.2065, abs=1e-3)
    assert stored_explanations(tmp_path / "nothing") == ()


def test_what_the_page_shows_is_json():
    agreement = [agreeing("lime", "within", 0.8), agreeing("lime", "models", float("nan"))]
    row = {"file_name": "a", "prediction": 1, "error_type": "model_failure", "agreement": agreement, "seconds": 1.0}
    made = summarised([{**row, "verdict": "compared", "names": [], "maps": []}], method="maps", model="m")
    shown = json.loads(json.dumps(page_rows([made]), allow_nan=False))["a|1"]["m"]["maps"]
    assert (shown["within"], shown["models"]) == (0.8, None)


def test_the_answer_that_reframed_pictures_give_instead_is_told():
    answers, types = [1, 1, 5, 5, 7], ["model_failure", "model_failure", "correct", "correct", "fine_grained"]
    row = {"file_name": "a", "prediction": 1, "error_type": "model_failure", "answers": answers, "answer_types": types}
    shares = {"share_stays": 0.4, "share_right": 0.4, "share_other_type": 0.2, "seconds": 1.0, "verdict": "framing"}
    shown = page_rows([summarised([row | shares], method="stability", model="m")])["a|1"]["m"]["stability"]
    assert (shown["n_draws"], shown["else"], shown["n_else"], shown["else_type"]) == (5, 5, 2, "correct")


def test_a_share_has_its_interval():
    rows = [{"verdict": "located"}] * 3 + [{"verdict": "never"}] * 4
    expected = stats.binomtest(3, 7).proportion_ci(method="wilson")
    share = next(each for each in shares(rows, "verdict") if each["verdict"] == "located")
    assert (share["low"], share["high"]) == pytest.approx((expected.low, expected.high))
