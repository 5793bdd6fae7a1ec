"""The answer to ``evaluate`` at a glance, on a wide screen and on a narrow one."""

import pytest
from rich.console import Console

from imagenet_errors.evaluation import evaluate
from imagenet_errors.report.terminal import evaluation_view
from toy import inputs_of


@pytest.fixture(scope="module")
def evaluation(tmp_path_factory, val_images):
    folder = tmp_path_factory.mktemp("terminal")
    annotations = val_images.annotations(folder / "annotations.csv")
    files = tuple(val_images.csv(folder / f"{name}.csv") for name in ("[bold]one", "two"))
    return evaluate(files, inputs_of(str(annotations)), folder / "run")


def shown(evaluation, width, tmp_path):
    console = Console(width=width, record=True, file=(tmp_path / "screen").open("w", encoding="utf-8"))
    console.print(evaluation_view(evaluation, tmp_path))
    console.file.close()
    return console.export_text()


def test_a_wide_screen_has_every_type_and_a_bar(evaluation, tmp_path):
    text = shown(evaluation, 160, tmp_path)
    assert "overlap" in text
    assert "░" in text
    assert "█" in text


@pytest.mark.parametrize("width", [80, 100])
def test_a_narrow_screen_keeps_what_matters_in_lines_that_fit(evaluation, tmp_path, width):
    lines = shown(evaluation, width, tmp_path).splitlines()
    assert max(len(line) for line in lines) <= width
    (row,) = [line for line in lines if "two" in line and "%" in line]
    assert row.count("%") == 2
    assert "█" in row


def test_a_models_name_is_no_markup(evaluation, tmp_path):
    assert "[bold]one" in shown(evaluation, 160, tmp_path)
