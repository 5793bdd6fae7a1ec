"""The table of ``sensitivity`` has a row a variant, and leaves empty what was not measured."""

import pytest

from imagenet_errors.study.sensitivity import Request, sensitivity
from imagenet_errors.study.sensitivity_files import FILES, page, rows, write_sensitivity
from panel_world import panel_world
from toy import inputs_of


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("world")
    world = panel_world(folder)
    sources = inputs_of(str(world.annotations), co_occurrence=folder / "pairs.csv")
    request = Request((world.human,), (), sources, folder / "out", command=("imagenet-errors", "sensitivity"))
    return sensitivity(request, progress=lambda _what, things, _n_things: iter(things))


def test_the_base_comes_first_then_every_variant(run):
    table = rows(run)
    assert table[0]["choice"] == "as it is"
    assert len(table) == len(run.effects)


def test_what_was_not_measured_is_empty(run):
    first = rows(run)[0]
    assert first["changed"] is None
    assert first["portion_fine_grained"] is None


def test_without_a_figure_the_page_shows_none(run):
    assert "sensitivity.svg" not in page(run, with_figure=False)
    write_sensitivity(run, with_figure=False)
    assert {path.name for path in run.request.out.iterdir()} == set(FILES)


def test_the_page_says_its_command(run):
    assert "Made by `imagenet-errors sensitivity`." in page(run)
