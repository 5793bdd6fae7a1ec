"""Figures are drawn on fixed scales, say what they show, and are the same file when drawn again."""

import numpy as np
import pandas as pd
import pytest

from imagenet_errors.chain import ERROR_TYPES
from imagenet_errors.problems import InputError
from imagenet_errors.report.figures import FigureRequest, error_types, portion_figure, two_piece_figure, write_figures
from imagenet_errors.report.groupings import categories
from imagenet_errors.report.published import FACTS, Points
from imagenet_errors.report.scales import most_percent


def points(n_models=30, *, mla=(70, 98), name="m"):
    random = np.random.default_rng(n_models)
    accuracy = np.repeat(np.linspace(*mla, n_models)[:, None], 4, axis=1)
    counts = random.integers(20, 60, (n_models, 4, 8))
    facts = {fact: tuple("xy"[place % 2] for place in range(n_models)) for fact in FACTS}
    return Points(tuple(f"{name}{place}" for place in range(n_models)), counts, accuracy, accuracy, facts)


def drawn(request, error_type="model_failure", among="multi_label"):
    return portion_figure(request, categories(request.points, "family"), error_type, among=among)


def texts(figure):
    return " | ".join(text.get_text() for text in figure.findobj(lambda artist: hasattr(artist, "get_text")))


def test_every_type_asked_for_has_a_figure_in_every_format(tmp_path):
    types = ("class_overlap", "fine_grained")
    written = write_figures(FigureRequest(points(6), tmp_path, groupings=("family",), only=types))
    names = {path.relative_to(tmp_path).as_posix() for path in written}
    assert all(path.stat().st_size > 1000 for path in written)
    for kind in ("png", "svg", "pdf"):
        assert {name for name in names if name.endswith(kind)} == {
            f"multi_label/family/fine_grained.{kind}",
            f"top1/family/class_overlap.{kind}",
            f"top1/family/fine_grained.{kind}",
        }


def test_a_figure_drawn_again_is_the_same_file(tmp_path):
    for folder in ("one", "two"):
        request = FigureRequest(points(4), tmp_path / folder, formats=("svg", "pdf"), only=("model_failure",))
        write_figures(request)
    for name in ("model_failure_two_piece.svg", "model_failure_two_piece.pdf", "top1/data/model_failure.svg"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


@pytest.mark.parametrize("among", ["top1", "multi_label"])
def test_scales_do_not_depend_on_the_models(tmp_path, among):
    for some in (points(5, mla=(60, 62)), points(40)):
        for axis in drawn(FigureRequest(some, tmp_path), among=among).axes:
            assert axis.get_ylim() == (0, most_percent("model_failure"))
            assert axis.get_xlim() == ((50, 100) if among == "multi_label" else (50, 95))


def test_there_is_a_panel_for_each_group_with_its_slope(tmp_path):
    figure = drawn(FigureRequest(points(), tmp_path))
    assert [axis.get_title("left") for axis in figure.axes] == ["all", "organism", "artifact", "other"]
    assert all("a point" in axis.get_title("right") for axis in figure.axes)


def test_models_outside_the_scale_are_counted(tmp_path):
    figure = drawn(FigureRequest(points(10, mla=(30, 80)), tmp_path))
    assert "4 outside the scale" in figure.axes[0].get_title("right")


def test_a_line_through_a_few_models_is_not_drawn(tmp_path):
    assert not drawn(FigureRequest(points(4), tmp_path)).axes[0].lines
    assert drawn(FigureRequest(points(5), tmp_path)).axes[0].lines


def test_the_legend_names_the_kinds_and_the_published_models_behind(tmp_path):
    said = texts(drawn(FigureRequest(points(), tmp_path, behind=points(44))))
    assert "| x |" in said
    assert "44 published models" in said


def test_names_are_written_as_they_are(tmp_path):
    figure = drawn(FigureRequest(points(5, name="$\\frac$<b>"), tmp_path, named=True))
    figure.savefig(tmp_path / "named.svg")
    assert "$\\frac$<b>3" in texts(figure)


def test_the_two_pieces_say_their_slopes(tmp_path, shared):
    from imagenet_errors.report.published import read_published

    said = texts(two_piece_figure(FigureRequest(read_published(shared / "published"), tmp_path)))
    assert "below MLA 90: −1.03 a point (409 models)" in said
    assert "from MLA 90: −3.05 a point (553 models)" in said


def test_multi_label_errors_are_the_last_five_types():
    assert error_types("multi_label") == ERROR_TYPES[3:]
    assert error_types("top1") == ERROR_TYPES[1:]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        pytest.param({"groupings": ("colour",)}, "--by: no 'colour'", id="grouping"),
        pytest.param({"formats": ("bmp",)}, "--format: no 'bmp'", id="format"),
        pytest.param({"only": ("correct",)}, "--type: no 'correct'", id="error type"),
    ],
)
def test_unknown_choices_are_refused_before_anything_is_written(tmp_path, changes, message):
    with pytest.raises(InputError, match=message):
        write_figures(FigureRequest(points(4), tmp_path / "out", **changes))
    assert not (tmp_path / "out").exists()


def test_the_command_draws_a_run(program, made_run, tmp_path):
    answer = program("figures", made_run.folder, "--out", tmp_path / "out", "--format", "png")
    assert answer.status == 0, answer.err
    assert "13 files of 3 models" in answer.out
    assert len(list((tmp_path / "out").rglob("*.png"))) == 13


def test_the_command_says_what_it_lacks(program, monkeypatch, tmp_path):
    monkeypatch.setenv("IMAGENET_ERRORS_CACHE", str(tmp_path))
    assert "Pass RUN_DIR, --published, or both." in program("figures").err
    assert "the published statistics are not at hand" in program("figures", "--published").err


def test_facts_of_a_run_tell_its_models_apart(made_run, tmp_path):
    import shutil

    from imagenet_errors.report.published import points_of_run
    from imagenet_errors.runs.tables import load_run_tables

    shutil.copytree(made_run.folder, tmp_path / "run")
    summary = pd.read_parquet(tmp_path / "run" / "summary.parquet")
    facts = {"training_data": ["ImageNet-1k", None, "JFT"], "n_training_images": [1_281_167, None, 300_000_000]}
    summary.assign(**facts, pretraining=[["supervised"], None, ["CLIP", "distillation"]]).to_parquet(
        tmp_path / "run" / "summary.parquet"
    )
    found = points_of_run(load_run_tables(tmp_path / "run", models=summary.model.tolist()))
    assert found.facts["training_data"] == ("ImageNet-1k (1.2M)", "", "JFT (300M)")
    assert found.facts["extra_annotations"] == ("supervised", "", "CLIP, distillation")
