"""The tables of ``sensitivity`` have a row a variant, a choice, a label set; what was not measured is empty."""

import csv

import pytest

from imagenet_errors.study.outcomes import Bounded
from imagenet_errors.study.sensitivity import SensitivityRequest, sensitivity
from imagenet_errors.study.sensitivity_page import FILES, beyond_chance, page, rows, write_sensitivity
from panel_world import panel_world
from toy import inputs_of


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("world")
    world = panel_world(folder)
    inputs = inputs_of(world.annotations, co_occurrence=folder / "pairs.csv")
    return sensitivity(SensitivityRequest({"vit_mistakes": world.human}, (), inputs, folder / "out"))


def test_the_base_comes_first_then_every_variant(run):
    table = rows(run)
    assert table[0]["choice"] == "as it is"
    assert len(table) == len(run.effects)


def test_without_predictions_nothing_is_measured_of_models(run):
    assert "changed" not in rows(run)[0]
    assert "no distributions" in page(run)


def test_without_a_figure_the_page_shows_none(run):
    assert "sensitivity.svg" not in page(run, with_figure=False)
    write_sensitivity(run, with_figure=False)
    assert {path.name for path in run.request.out.iterdir()} == set(FILES)
    with (run.request.out / "moves.csv").open() as file:
        assert list(csv.DictReader(file)) == []


def test_the_page_says_its_command_without_the_places_of_files(run):
    text = page(run)
    command = "sensitivity --human vit_mistakes.json --annotations annotations.csv --co-occurrence pairs.csv"
    assert f"Made by `imagenet-errors {command}`." in text
    assert str(run.request.out.parent) not in text


def test_each_choice_has_a_row_with_the_range_over_its_variants(run):
    (row,) = [line for line in page(run).splitlines() if line.startswith("| superclasses | 5 |")]
    assert row.count("|") == 6


@pytest.mark.parametrize(
    ("corrected", "says"),
    [
        pytest.param([(0.01, 0.001, 0.02), (1, 1, 1)], "yes", id="whatever unknown evidence says"),
        pytest.param([(0.01, 0.001, 0.2), (1, 1, 1)], "open", id="by what is known alone"),
        pytest.param([(0.2, 0.04, 1)], "open", id="if unknown evidence says so"),
        pytest.param([(0.2, 0.06, 1), (1, 1, 1)], "no", id="never"),
    ],
)
def test_beyond_chance_holds_only_if_it_does_whatever_is_unknown(run, corrected, says):
    from dataclasses import replace

    effects = [replace(run.base, corrected=Bounded(*chance)) for chance in corrected]
    assert beyond_chance(effects) == says
