"""Page and figures of a run with classes of one's own: its names, its groups, and no published model beside it."""

import numpy as np
import pytest

from imagenet_errors.report.figures import FigureRequest, portion_figure
from imagenet_errors.report.page.page import ReportRequest, write_report
from imagenet_errors.report.points import categories, is_like_published, points_of_run
from imagenet_errors.runs.tables import load_run_tables
from report_world import Page

NAMES = ("apple", "pear", "lion", "tiger", "chair", "couch")


def table(path, head, rows):
    path.write_text("\n".join([head, *(",".join(map(str, row)) for row in rows)]) + "\n")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Six classes in two groups, and twelve models, each wrong in another share of 60 images."""
    folder = tmp_path_factory.mktemp("own")
    table(
        folder / "classes.csv", "index,name,group", [(i, n, "living" if i < 4 else "made") for i, n in enumerate(NAMES)]
    )
    label = np.arange(60) % 6
    table(folder / "labels.csv", "file_name,label", [(f"{i}.png", one) for i, one in enumerate(label)])
    (folder / "models").mkdir()
    for model in range(12):
        top1 = np.where(np.arange(60) * 7 % 60 < 6 + 2 * model, (label + 1) % 6, label)
        table(
            folder / "models" / f"m{model}.csv", "file_name,prediction", [(f"{i}.png", n) for i, n in enumerate(top1)]
        )
    (folder / "cats.toml").write_text(
        'domain = "animals"\n[[superclass]]\nname = "big cats"\nreason = "Manes."\nclasses = ["2 lion", "3 tiger"]\n'
    )
    return folder


@pytest.fixture
def run(folder, program):
    files = ("--classes", folder / "classes.csv", "--annotations", folder / "labels.csv")
    more = ("--superclasses", folder / "cats.toml", "--out", folder / "run")
    assert program("evaluate", folder / "models", *files, *more).status == 0
    return folder / "run"


def test_the_page_knows_the_classes_groups_and_superclasses_of_the_run(run):
    book = Page(write_report(ReportRequest(run)).path).book
    assert (book["classes"], book["groups"]) == (list(NAMES), ["living", "made"])
    assert [one["name"] for one in book["superclasses"]][:1] == ["big cats"]


def test_every_group_has_its_bar_and_its_accuracy(run):
    plain = Page(write_report(ReportRequest(run, models=("m0",))).path).plain
    assert "living" in plain
    assert "organism" not in plain


def test_the_published_models_are_not_compared_with_another_data_set(run, shared):
    page = Page(write_report(ReportRequest(run, published=shared / "published")).path)
    assert "are not compared with these" in page.plain
    assert "published models of its accuracy" not in page.plain


def test_superclasses_that_were_never_given_are_not_said_to_be_lost(folder, program):
    files = ("--classes", folder / "classes.csv", "--annotations", folder / "labels.csv", "--out", folder / "plain")
    assert program("evaluate", folder / "models" / "m0.csv", *files).status == 0
    assert "no longer at hand" not in Page(write_report(ReportRequest(folder / "plain")).path).plain


def test_a_figure_has_a_panel_for_each_group_of_the_run(run, tmp_path):
    points = points_of_run(load_run_tables(run))
    request = FigureRequest(points, tmp_path)
    figure = portion_figure(request, categories(points, "data"), ("fine_grained",), among="multi_label")
    shown = [axis.get_title(loc="left") or axis.get_title() for axis in figure.axes if axis.get_visible()]
    assert shown == ["all", "living", "made"]


def test_figures_refuse_to_draw_the_published_models_behind_another_data_set(run, shared, program):
    answer = program("figures", run, "--published-statistics", shared / "published")
    assert answer.status != 0
    assert "judged on ImageNet's validation images" in answer.err


def test_only_imagenets_validation_images_are_like_the_published(run, made_run):
    assert not is_like_published(load_run_tables(run).manifest.as_inputs().data_set)
    assert is_like_published(load_run_tables(made_run.folder).manifest.as_inputs().data_set)
