"""``sensitivity``: what becomes of agreement and distributions when one choice is made otherwise."""

import csv
import sys

import pytest

from imagenet_errors.report.comparison import sign_test
from imagenet_errors.study.sensitivity import Request, sensitivity
from imagenet_errors.study.sensitivity_files import write_sensitivity
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


def vary(world, out, *predictions):
    """Vary everything in the small world; return the table by (choice, variant)."""
    sources = inputs_of(
        str(world.annotations),
        oov_evidence=world.folder / "oov.csv",
        superclasses=world.folder / "fish.toml",
        co_occurrence=world.folder / "pairs.csv",
    )
    request = Request((world.human,), predictions, sources, out)
    run = sensitivity(request, progress=lambda _what, things, _n_things: iter(things))
    write_sensitivity(run, with_figure=False)
    rows = csv.DictReader((out / "sensitivity.csv").read_text().splitlines())
    return {(row["choice"], row["variant"]): row for row in rows}


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    return tmp_path_factory.mktemp("out")


@pytest.fixture(scope="module")
def table(world, out):
    return vary(world, out, world.folder / "models")


BASE = ("as it is", "as it is")


def test_the_base_is_the_agreement_that_agreement_tells(table):
    assert (table[BASE]["n_judged"], table[BASE]["n_agree"], table[BASE]["n_agree_most"]) == ("6", "4", "5")


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
    shares = [float(share) for name, share in table[BASE].items() if name.startswith("portion_")]
    assert sum(shares) == pytest.approx(1)


def test_without_predictions_there_are_no_distributions(world, tmp_path):
    assert vary(world, tmp_path / "out")[BASE]["changed"] == ""
    assert "no distributions" in (tmp_path / "out" / "sensitivity.md").read_text()


def test_the_page_concludes_in_ten_lines_at_most_and_names_what_was_not_varied(table, out):
    page = (out / "sensitivity.md").read_text()
    conclusions = page.split("## What a reviewer should conclude")[1].split("## Agreement")[0]
    lines = [line for line in conclusions.splitlines() if line.strip()]
    assert 5 <= len(lines) <= 10
    assert "Not varied: accepted labels (no annotated image has ReaL labels)." in lines[-1]


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
    assert 'pip install "imagenet-errors[report]"' in answer.err
    assert not (tmp_path / "out").exists()


def test_real_labels_are_tried_on_the_same_images(shared, program, tmp_path):
    options = ["--annotations", shared / "annotations/human_accuracy_v3.0.0_labels_only.json"]
    options += ["--human", shared / "human/vit3b_mistakes.json", "--no-figure", "--out", tmp_path / "out"]
    assert program("sensitivity", *options).status == 0
    rows = {
        row["variant"]: row for row in csv.DictReader((tmp_path / "out" / "sensitivity.csv").read_text().splitlines())
    }
    # Of the 378 judged images so many have ReaL labels at all.
    assert int(rows["ReaL, same images"]["n_judged"]) == 314
    assert int(rows["as it is"]["n_judged"]) == 378


@pytest.mark.parametrize("moved", [(0, 0), (1, 0), (3, 9), (17, 0), (40, 55)])
def test_the_chance_of_gains_and_losses_is_scipys_binomial_test(moved):
    from scipy.stats import binomtest

    expected = binomtest(moved[0], sum(moved)).pvalue if sum(moved) else 1.0
    assert sign_test(*moved) == pytest.approx(expected)
