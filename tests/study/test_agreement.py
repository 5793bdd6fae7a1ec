"""``agreement``: the panel's cases classified as ``evaluate`` would, the figures, and the published ones beside."""

import csv
import json

import pyarrow.parquet as pq
import pytest

from imagenet_errors.chain import PUBLISHED_ORDER
from imagenet_errors.study.outcomes import CATEGORIES
from panel_world import JUDGED, panel_world, write_judgements

VIT_3B_FORCED = {
    "fine_grained": (173, 13, 0, 10, 13),
    "fine_grained_oov": (7, 14, 0, 11, 4),
    "non_prototypical": (10, 2, 5, 3, 0),
    "spurious_correlation": (8, 5, 0, 7, 5),
}
COLUMNS = (*CATEGORIES, "model_failure")


@pytest.fixture
def world(tmp_path):
    return panel_world(tmp_path)


@pytest.fixture
def agree(program, world):
    """Run the command on the small world: the answer, and what it wrote."""

    def run(*more, human=None):
        files = [part for path in human or [world.human] for part in ("--human", path)]
        out = world.folder / "out"
        return program("agreement", *files, *world.options, *more, "--out", out), out

    return run


def figures(out, model="vit_mistakes", part="all"):
    return json.loads((out / "agreement.json").read_text())["models"][model]["figures"][part]


def test_every_judged_case_is_one_row_with_both_sides_and_our_reason(agree):
    _, out = agree()
    rows = pq.read_table(out / "cases.parquet").to_pylist()
    assert [(row["file_name"], row["prediction"]) for row in rows] == [judged[:2] for judged in JUDGED]
    assert [row["error_type"] for row in rows] == [
        "fine_grained",
        "fine_grained_oov",
        "model_failure",
        "spurious_correlation",
        "non_prototypical",
        "model_failure",
    ]
    assert rows[0]["explanation"] == "goldfish and tench are both fish."


def test_the_columns_of_the_cases_begin_as_agreed(agree):
    _, out = agree()
    assert pq.read_schema(out / "cases.parquet").names[:8] == [
        "file_name",
        "prediction",
        "model",
        "human_error_type",
        "human_category",
        "severity",
        "error_type",
        "explanation",
    ]


def test_the_table_has_the_panels_categories_as_rows_and_ours_as_columns(agree):
    _, out = agree()
    rows = {row["human"]: row for row in csv.DictReader((out / "table.csv").read_text().splitlines())}
    assert tuple(rows) == CATEGORIES
    assert [rows["fine_grained_oov"][column] for column in COLUMNS] == ["0", "1", "0", "0", "1"]


def test_agreement_is_told_by_what_is_known_and_from_worst_to_best_case(agree):
    _, out = agree()
    assert figures(out)["n_agree"] == {"value": 4, "low": 4, "high": 5}
    assert figures(out)["n_undecided"] == 1
    assert figures(out)["share_of_failures"]["value"] == pytest.approx(2 / 6)


def test_figures_are_given_by_severity_and_without_the_circular_category(agree):
    _, out = agree()
    sizes = {part: figures(out, part=part)["n"] for part in ("Major", "Minor", "Borderline")}
    assert sizes == {"Major": 3, "Minor": 2, "Borderline": 1}
    assert figures(out, part="all but non_prototypical")["n"] == 5


def test_the_panels_list_is_used_unless_turned_off_and_the_page_says_that_it_is_circular(agree):
    _, out = agree()
    assert "agreement is circular" in " ".join((out / "agreement.md").read_text().split())
    agree("--no-panel-list")
    assert figures(out)["n_agree"]["value"] == 3
    assert "was not used" in (out / "agreement.md").read_text()


def test_a_list_of_the_users_own_takes_the_panels_place(agree, world):
    own = world.folder / "odd.txt"
    own.write_text("i5.JPEG\n")
    _, out = agree("--no-panel-list", "--non-prototypical", own)
    types = pq.read_table(out / "cases.parquet")["error_type"].to_pylist()
    assert types[4:] == ["model_failure", "non_prototypical"]


def test_beside_the_published_table_stand_our_verdicts_in_the_published_order(agree, world):
    # i3 is listed as non-prototypical, and its classes co-occur as well: the order decides.
    write_judgements(world.human, ("i3.JPEG", 10, "Non-prototypical", "Minor"))
    _, out = agree()
    model = json.loads((out / "agreement.json").read_text())["models"]["vit_mistakes"]
    assert model["table"]["known"]["non_prototypical"]["non_prototypical"] == 1
    assert (
        model["by_order"]["the published program's"]["table"]["known"]["non_prototypical"]["spurious_correlation"] == 1
    )


def test_two_files_are_two_models_and_what_they_share_is_compared(agree, world):
    _, out = agree(human=[world.human, world.human_again])
    content = json.loads((out / "agreement.json").read_text())
    assert set(content["models"]) == {"vit_mistakes", "soups_mistakes"}
    (shared,) = content["shared_mistakes"]
    assert (shared["n_cases"], shared["n_same_category"], shared["n_same_both"]) == (3, 2, 1)
    assert not shared["is_copied"]


def test_of_several_files_each_has_its_own_severities(agree, world):
    _, out = agree(human=[world.human, world.human_again])
    sizes = {
        model: {part: figures(out, model, part)["n"] for part in ("all", "Major", "Minor", "Borderline")}
        for model in ("vit_mistakes", "soups_mistakes")
    }
    assert sizes == {
        "vit_mistakes": {"all": 6, "Major": 3, "Minor": 2, "Borderline": 1},
        "soups_mistakes": {"all": 4, "Major": 2, "Minor": 1, "Borderline": 1},
    }


def test_every_difference_is_listed_with_both_reasons(agree):
    _, out = agree()
    page = (out / "agreement.md").read_text()
    assert "**hen** taken for **brambling** (`i5.JPEG`)" in page
    assert "panel: Fine-grained error, Minor. No superclass holds brambling and any of: hen." in page
    assert "ours: model_failure. Nothing explains brambling where the accepted labels are: hen." in page


def test_a_long_list_of_differences_can_be_cut(agree):
    _, out = agree("--list-at-most", 0)
    page = (out / "agreement.md").read_text()
    assert "i5.JPEG" not in page
    assert "And 1 more, in `cases.parquet`." in page


def test_the_terminal_shows_the_table_the_figures_and_where_the_rest_lies(agree):
    answer, out = agree()
    row = next(line for line in answer.out.splitlines() if "4 (4 to 5)" in line)
    assert "66.7 % (66.7 % to" in row
    assert "1 case reached the out-of-vocabulary stage without evidence" in answer.out
    assert f"Written to {out}: cases.parquet, table.csv, agreement.json, agreement.md" in answer.out


def test_json_output_is_the_written_figures(agree):
    answer, out = agree("--json")
    assert json.loads(answer.out) == json.loads((out / "agreement.json").read_text())


def test_an_unusable_file_writes_nothing_and_ends_with_status_2(agree, world):
    write_judgements(world.human, ("i3.JPEG", 5, "Spurious Correlation", "Major"))
    answer, out = agree()
    assert (answer.status, out.exists()) == (2, False)
    assert "so no mistake (first: i3.JPEG: 5)" in answer.err


def test_a_missing_file_is_named(agree, world):
    answer, _ = agree(human=[world.folder / "nothing.json"])
    assert answer.err.startswith(
        f"Error: {world.folder / 'nothing.json'}: no such file. Check the path, or name one of"
    )


# --- the real panel -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def vit_3b(shared, tmp_path_factory):
    """The command's figures on ViT-3B's 378 judged mistakes, with the shared out-of-vocabulary outcomes."""
    import subprocess
    import sys

    out = tmp_path_factory.mktemp("vit_3b") / "out"
    command = [sys.executable, "-m", "imagenet_errors", "agreement", "--out", out]
    command += ["--human", shared / "human/vit3b_mistakes.json"]
    command += ["--annotations", shared / "annotations/human_accuracy_v3.0.0_labels_only.json"]
    command += ["--oov-evidence", shared / "published/oov_evidence.csv"]
    command += ["--stage-order", ",".join(PUBLISHED_ORDER)]
    subprocess.run([*map(str, command)], check=True, capture_output=True)
    return json.loads((out / "agreement.json").read_text())["models"]["vit3b_mistakes"]


def test_vit_3bs_mistakes_are_all_judged_and_known_as_the_published_ones(vit_3b):
    assert vit_3b["figures"]["all"]["n"] == 378
    assert vit_3b["published"]["model"] == "ViT-3B"


def test_fine_grained_is_called_so_at_least_as_often_as_published(vit_3b):
    assert vit_3b["table"]["known"]["fine_grained"]["fine_grained"] >= 173


@pytest.mark.parametrize("category", CATEGORIES)
def test_no_cell_stays_below_what_the_published_outputs_force(vit_3b, category):
    most = vit_3b["table"]["most"][category]
    for column, forced in zip(COLUMNS, VIT_3B_FORCED[category], strict=True):
        assert most[column] >= forced, column


def test_the_published_agreement_is_reached_in_the_best_case(vit_3b):
    agreed = vit_3b["figures"]["all"]["n_agree"]
    assert agreed["low"] <= agreed["value"] <= agreed["high"]
    assert agreed["high"] >= 225


def test_kappa_is_scikit_learns_on_the_real_table(vit_3b):
    from sklearn.metrics import cohen_kappa_score

    table = vit_3b["table"]["known"]
    cells = [(h, o, n) for h, row in table.items() for o, n in row.items()]
    human, ours = ([pair[side] for *pair, n in cells for _ in range(n)] for side in (0, 1))
    assert vit_3b["figures"]["all"]["kappa"]["value"] == pytest.approx(cohen_kappa_score(human, ours))


def test_the_real_table_is_as_it_was_found_in_both_orders(vit_3b):
    agreed = {order: part["figures"]["n_agree"] for order, part in vit_3b["by_order"].items()}
    assert agreed["the paper's"] == {"value": 226, "low": 210, "high": 256}
    assert agreed["the published program's"] == {"value": 223, "low": 209, "high": 253}
    assert vit_3b["table"]["known"]["fine_grained"]["fine_grained"] == 193


def test_on_a_narrow_screen_the_types_can_be_told_apart(agree, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    answer, _ = agree()
    assert all(name in answer.out for name in ("fine", "OOV", "non-proto", "spurious", "failure"))
    assert "…" not in answer.out.split("stage order")[0]
