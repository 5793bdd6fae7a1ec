"""``sensitivity``: what becomes of agreement and distributions when one choice is made otherwise."""

import csv
import re
import sys

import pytest

from imagenet_errors.study.sensitivity import SensitivityRequest, sensitivity
from imagenet_errors.study.sensitivity_page import write_sensitivity
from panel_world import panel_world
from toy import inputs_of

PREDICTIONS = {
    "good": (0, 0, 0, 10, 8, 8),
    "bad": (1, 9, 9, 10, 10, 10),
    "worse": (1, 9, 9, 20, 10, 10),
}


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("world")
    world = panel_world(folder)
    (folder / "models").mkdir()
    for name, classes in PREDICTIONS.items():
        rows = [f"i{row}.JPEG,{index}" for row, index in enumerate(classes)]
        (folder / "models" / f"{name}.csv").write_text("\n".join(["file_name,index", *rows, "i6.JPEG,4"]))
    (folder / "pairs.csv").write_text("a,b,n_images\n5,10,3\n")
    support = "file_name,prediction,is_oov,neighbour_support\n"
    rows = "i1.JPEG,9,true,4\ni3.JPEG,10,false,0\ni4.JPEG,10,false,0\ni5.JPEG,10,false,0\n"
    (folder / "oov.csv").write_text(support + rows)
    return world


def vary(world, out, *predictions, annotations=None, **more):
    """Vary everything in the small world; return the table by (choice, variant)."""
    inputs = inputs_of(
        annotations or world.annotations,
        oov_evidence=world.folder / "oov.csv",
        superclasses=world.folder / "fish.toml",
        co_occurrence=world.folder / "pairs.csv",
    )
    request = SensitivityRequest({"vit_mistakes": world.human}, predictions, inputs, out, **more)
    write_sensitivity(sensitivity(request), with_figure=False)
    return {(row["choice"], row["variant"]): row for row in read(out / "sensitivity.csv")}


def read(path):
    return list(csv.DictReader(path.read_text().splitlines()))


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    return tmp_path_factory.mktemp("out")


@pytest.fixture(scope="module")
def table(world, out):
    return vary(world, out, world.folder / "models")


BASE = ("as it is", "as it is")


def test_the_base_is_the_agreement_that_agreement_tells(table):
    assert (table[BASE]["n_cases"], table[BASE]["n_agree"], table[BASE]["n_agree_most"]) == ("6", "4", "5")


def test_a_higher_bar_for_neighbours_loses_the_case_that_rests_on_few(table):
    kept, lost = (table["neighbour support", f"{n_least} of 10"] for n_least in (4, 5))
    assert (kept["n_agree"], kept["n_lost"]) == ("4", "0")
    assert (lost["n_agree"], lost["n_lost"], lost["n_gained"]) == ("3", "1", "0")


def test_a_higher_bar_for_co_occurrence_loses_the_pair_seen_seldom(table):
    assert [table["co-occurrence", f"in {n} images"]["n_agree"] for n in (3, 5)] == ["4", "3"]


def test_without_the_panels_list_its_category_is_lost(table):
    assert table["non-prototypical images", "no list"]["n_agree"] == "3"


def test_changed_is_the_share_of_all_models_errors_that_get_another_type(table):
    # Errors on images that count: 1 + 6 + 6. The one pair seen 3 times explains two of them.
    assert table[BASE]["n_top1_errors"] == "13"
    assert float(table["co-occurrence", "in 5 images"]["changed"]) == pytest.approx(2 / 13)
    assert float(table[BASE]["changed"]) == 0


def test_portions_are_of_top1_errors_averaged_over_the_models(table):
    expected = (0 + 1 / 6 + 1 / 6) / 3
    assert float(table[BASE]["portion_fine_grained"]) == pytest.approx(expected)
    ends = ("_least", "_most")
    shares = [float(share) for name, share in table[BASE].items() if "portion_" in name and not name.endswith(ends)]
    assert sum(shares) == pytest.approx(1)


def test_without_predictions_there_are_no_distributions(world, tmp_path):
    assert "changed" not in vary(world, tmp_path / "out")[BASE]
    assert "no distributions" in (tmp_path / "out" / "sensitivity.md").read_text()


def test_the_page_names_what_was_not_varied(table, out):
    page = (out / "sensitivity.md").read_text()
    assert "| accepted labels | ReaL has labels of no annotated image |" in page
    assert "| out-of-vocabulary evidence | no second table of it was given |" in page


def test_chance_is_corrected_for_the_number_of_variants(table):
    least = min(float(row["chance"]) for row in table.values())
    row = next(row for row in table.values() if float(row["chance"]) == least)
    assert float(row["chance_corrected"]) == pytest.approx(min(1.0, least * (len(table) - 1)))


def test_moves_add_up_to_the_errors_that_count_under_both(table, out):
    moves = [row for row in read(out / "moves.csv") if row["variant"] == "in 5 images"]
    assert sum(int(row["n_errors"]) for row in moves) == 13
    assert {(row["from"], row["to"]): row["n_errors"] for row in moves}["spurious_correlation", "model_failure"] == "2"


LABELS = "file_name,labels,label\n"


@pytest.fixture(scope="module")
def with_labels(world, tmp_path_factory):
    """The table, and what was written, with two more label sets; one knows half of the images."""
    folder = tmp_path_factory.mktemp("labels")
    (folder / "wide.csv").write_text(f"{LABELS}i0.JPEG,0 1,0\ni1.JPEG,0 9,0\ni2.JPEG,0,0\ni4.JPEG,8,8\n")
    (folder / "few.csv").write_text(f"{LABELS}i1.JPEG,0 9,0\ni4.JPEG,8,8\n")
    sets = (str(folder / "wide.csv"), str(folder / "few.csv"))
    return vary(world, folder / "out", world.folder / "models", label_sets=sets), folder / "out"


def test_each_label_set_is_a_row_on_the_images_that_it_has(with_labels):
    _, out = with_labels
    counted = {row["label_set"]: row["n_evaluated"] for row in read(out / "label_sets.csv")}
    assert (counted["annotations"], counted["wide"], counted["few"]) == ("6", "4", "2")
    assert counted["intersection of all"] == "2"
    assert counted["union of all"] == "6"


def test_a_wider_label_set_leaves_fewer_failures(with_labels):
    _, out = with_labels
    failures = {row["label_set"]: row for row in read(out / "label_sets.csv") if row["model"] == "bad"}
    assert (failures["annotations"]["multi_object"], failures["annotations"]["model_failure"]) == ("0", "2")
    assert (failures["wide"]["multi_object"], failures["wide"]["model_failure"]) == ("2", "1")


def test_label_sets_are_compared_on_the_same_images_too(with_labels):
    table, out = with_labels
    assert table["accepted labels", "few, same images"]["n_cases"] == "2"
    page = (out / "sensitivity.md").read_text()
    assert "by wide, same images (columns)" in page
    assert "| wide | 4 | 3 |" in page


def test_a_label_set_that_cannot_be_measured_says_why(world, tmp_path):
    (tmp_path / "elsewhere.csv").write_text(f"{LABELS}x/y.JPEG,0,0\n")
    vary(world, tmp_path / "out", world.folder / "models", label_sets=(str(tmp_path / "elsewhere.csv"),))
    page = (tmp_path / "out" / "sensitivity.md").read_text()
    assert "| label set elsewhere |" in page


def test_tables_of_evidence_from_other_pools_are_compared(world, tmp_path):
    pool = tmp_path / "val_pool.csv"
    rows = ("i1.JPEG,9,false,small", "i2.JPEG,9,true,small", "i3.JPEG,10,false,small")
    pool.write_text("\n".join(["file_name,prediction,is_oov,encoder", *rows]) + "\n")
    table = vary(world, tmp_path / "out", oov_tables=(pool,))
    row = table["out-of-vocabulary evidence", "val_pool (small)"]
    assert (row["n_gained"], row["n_gained_most"], row["n_lost"], row["n_lost_most"]) == ("1", "1", "1", "2")


def test_files_that_cannot_be_read_are_listed_and_the_rest_is_measured(world, tmp_path):
    (tmp_path / "broken.csv").write_text("file_name,index\nnowhere.JPEG,1\n")
    vary(world, tmp_path / "out", world.folder / "models", tmp_path / "broken.csv")
    page = (tmp_path / "out" / "sensitivity.md").read_text()
    assert "| model broken |" in page
    assert "distributions of 3 models' errors" in page


def test_the_figure_is_drawn_the_same_every_time(program, world, tmp_path):
    pytest.importorskip("matplotlib", reason="the figure needs the extra report")
    figure, drawn = tmp_path / "sensitivity.svg", []
    for _ in range(2):
        command = ["sensitivity", world.folder / "models", "--human", world.human, *world.options]
        assert program(*command, "--out", tmp_path).status == 0
        drawn.append(figure.read_bytes())
    assert drawn[0] == drawn[1]
    assert figure.with_suffix(".png").read_bytes().startswith(b"\x89PNG")


def test_without_matplotlib_the_figure_is_refused_before_any_work(program, monkeypatch, world, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    answer = program("sensitivity", "--human", world.human, *world.options, "--out", tmp_path / "out")
    assert answer.status == 2
    assert re.search(r"pip install .*\[report\]", answer.err)
    assert not (tmp_path / "out").exists()


def test_real_labels_are_tried_on_the_same_images(shared, program, tmp_path):
    options = ["--annotations", shared / "annotations/human_accuracy_v3.0.0_labels_only.json"]
    options += ["--human", shared / "human/vit3b_mistakes.json", "--no-figure", "--out", tmp_path / "out"]
    assert program("sensitivity", *options).status == 0
    rows = {row["variant"]: row for row in read(tmp_path / "out" / "sensitivity.csv")}
    # Of the 378 images so many have ReaL labels that accept the original one.
    assert int(rows["ReaL, same images"]["n_cases"]) == 220
    assert int(rows["as it is"]["n_cases"]) == 378
