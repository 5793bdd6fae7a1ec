"""Figures are drawn on fixed scales, say what they show, and are the same file when drawn again."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import PathCollection

from imagenet_errors.chain import ERROR_TYPES
from imagenet_errors.problems import InputError
from imagenet_errors.report.figures import (
    FigureRequest,
    bar_figure,
    dumbbell,
    portion_figure,
    two_piece_figure,
    write_figures,
)
from imagenet_errors.report.looks import most_percent
from imagenet_errors.report.points import FACTS, UNKNOWN, Points, categories, read_published
from imagenet_errors.workers import JOBS_VARIABLE


def points(n_models=30, *, mla=(70, 98), name="m"):
    random = np.random.default_rng(n_models)
    accuracy = np.repeat(np.linspace(*mla, n_models)[:, None], 4, axis=1)
    counts = random.integers(20, 60, (n_models, 4, len(ERROR_TYPES)))
    facts = {fact: tuple("xy"[place % 2] for place in range(n_models)) for fact in FACTS}
    models = tuple(f"{name}{place}" for place in range(n_models))
    return Points.measured(models, counts, mla=accuracy, top1=accuracy, facts=facts)


def drawn(request, error_type="model_failure", among="multi_label"):
    return portion_figure(request, categories(request.points, "family"), (error_type,), among=among)


def texts(figure):
    return " | ".join(text.get_text() for text in figure.findobj(lambda artist: hasattr(artist, "get_text")))


def test_every_type_asked_for_has_a_figure_in_every_format(tmp_path):
    types = ("class_overlap", "fine_grained")
    written = write_figures(FigureRequest(points(12), tmp_path, groupings=("family",), only=types))
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
        request = FigureRequest(points(12), tmp_path / folder, formats=("svg", "pdf"), only=("model_failure",))
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
    assert all("pp per point" in axis.get_title("right") for axis in figure.axes)


def test_models_outside_the_scale_are_counted(tmp_path):
    figure = drawn(FigureRequest(points(10, mla=(30, 80)), tmp_path))
    assert "4 outside the scale" in figure.axes[0].get_title("right")


def test_a_line_through_a_few_models_is_not_drawn(tmp_path):
    few, more = (drawn(FigureRequest(points(n), tmp_path)) for n in (4, 5))
    assert not few.axes[0].lines
    assert "trend of all" not in texts(few)
    assert more.axes[0].lines
    assert "trend of all" in texts(more)


def test_the_legend_names_the_kinds_and_the_published_models_behind(tmp_path):
    said = texts(drawn(FigureRequest(points(), tmp_path, behind=points(44))))
    assert "| x |" in said
    assert "44 published models" in said


def test_names_are_written_as_they_are(tmp_path):
    figure = drawn(FigureRequest(points(5, name="$\\frac$<b>"), tmp_path, named=True))
    figure.savefig(tmp_path / "named.svg")
    assert "$\\frac$<b>3" in texts(figure)


def test_the_two_pieces_say_their_slopes(tmp_path, shared):
    said = texts(two_piece_figure(FigureRequest(read_published(shared / "published"), tmp_path)))
    assert "below MLA 90: −1.03 pp per MLA point (409 models)" in said
    assert "from MLA 90: −3.05 pp per MLA point (553 models)" in said


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        pytest.param({"groupings": ("colour",)}, "--by: no 'colour'", id="grouping"),
        pytest.param({"formats": ("bmp",)}, "--format: no 'bmp'", id="format"),
        pytest.param({"only": ("correct",)}, "--type: no 'correct'", id="error type"),
        pytest.param({"x_axis": "year"}, "--x-axis: no 'year'", id="x-axis"),
    ],
)
def test_unknown_choices_are_refused_before_anything_is_written(tmp_path, changes, message):
    with pytest.raises(InputError, match=message):
        write_figures(FigureRequest(points(4), tmp_path / "out", **changes))
    assert not (tmp_path / "out").exists()


def test_the_command_draws_a_run(program, made_run, tmp_path):
    answer = program("figures", made_run.folder, "--out", tmp_path / "out", "--format", "png")
    assert answer.status == 0, answer.err
    assert "2 files of 3 models" in answer.out
    assert "x-axis" not in answer.out
    assert sorted(path.name for path in (tmp_path / "out").rglob("*.png")) == ["bars.png", "shares.png"]


def test_what_is_lacking_is_said_in_words(program, made_run):
    assert (
        "no-file.csv: no such file. Check the path."
        in program("figures", made_run.folder, "--factors", "no-file.csv").err
    )
    assert "figures: nothing to draw is named. Pass RUN_DIR" in program("figures").err


def test_a_type_that_is_asked_for_is_drawn_against_accuracy_however_few_the_models(program, made_run, tmp_path):
    asked = ("--type", "fine_grained", "--x-axis", "group")
    answer = program("figures", made_run.folder, *asked, "--out", tmp_path / "out", "--format", "png")
    assert "x-axis: accuracy of each group" in answer.out
    drawn = {path.relative_to(tmp_path / "out").as_posix() for path in (tmp_path / "out").rglob("*.png")}
    assert drawn == {f"{among}/data/fine_grained.png" for among in ("multi_label", "top1")}


def test_the_command_says_what_it_lacks(program, monkeypatch, tmp_path):
    monkeypatch.setenv("IMAGENET_ERRORS_CACHE", str(tmp_path))
    assert "Pass RUN_DIR, --published, or both." in program("figures").err
    assert program("figures", "--published", "--published-statistics", "nowhere").status == 2


def test_facts_of_a_run_tell_its_models_apart(made_run, tmp_path):
    import shutil

    from imagenet_errors.report.points import points_of_run
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


def lacking(n_models):
    """Models without OOV evidence: what comes later is known only together."""
    whole = points(n_models)
    state = whole.state.copy()
    state[:, [ERROR_TYPES.index(name) for name in OPEN]] = UNKNOWN
    return Points(**{**whole.__dict__, "state": state})


OPEN = ("fine_grained_oov", "non_prototypical", "spurious_correlation", "model_failure")


def test_what_was_not_measured_is_drawn_together_or_not_at_all(tmp_path):
    written = write_figures(FigureRequest(lacking(12), tmp_path, behind=points(40), formats=("png",)))
    names = {path.relative_to(tmp_path).as_posix() for path in written}
    assert f"multi_label/data/{'+'.join(OPEN)}.png" in names
    assert not [name for name in names if any(name.endswith(f"/{one}.png") for one in OPEN)]
    assert "model_failure_two_piece.png" not in names


def test_few_models_are_bars_and_shares_beside_the_published_line(tmp_path):
    bars = bar_figure(FigureRequest(points(3), tmp_path))
    assert "m0 (MLA 70.0)" in texts(bars)
    shares = dumbbell(FigureRequest(points(3), tmp_path, behind=points(40)))
    assert "model failures" in texts(shares)
    rings = [line for line in shares.axes[0].lines if line.get_markerfacecolor() == "white"]
    assert len(rings) == 3


def test_bars_of_few_models_say_what_hangs_on_missing_evidence(tmp_path):
    said = texts(bar_figure(FigureRequest(lacking(2), tmp_path)))
    assert "depends on missing evidence" in said
    assert "≤ " in said


def test_the_x_axis_is_the_accuracy_of_all_images_unless_the_groups_own_is_asked_for(tmp_path):
    some = points(12)
    some.mla[:, 1] = 60
    for x_axis, expected in (("all", some.mla[:, 0]), ("group", some.mla[:, 1])):
        figure = drawn(FigureRequest(some, tmp_path, groupings=("family",), x_axis=x_axis))
        dots = [each.get_offsets()[:, 0] for each in figure.axes[1].collections if isinstance(each, PathCollection)]
        assert sorted(np.unique(np.concatenate(dots))) == pytest.approx(np.unique(expected))
        assert ("of all images" in texts(figure)) == (x_axis == "all")


def test_names_do_not_lie_over_each_other(tmp_path):
    figure = drawn(FigureRequest(points(40, name="a_rather_long_name"), tmp_path, named=True))
    for axis in figure.axes:
        boxes = [text.get_window_extent() for text in axis.texts]
        assert boxes
        assert not [1 for place, box in enumerate(boxes) for other in boxes[:place] if box.overlaps(other)]


def test_an_svg_says_what_it_shows_to_those_who_cannot_see_it(tmp_path):
    (path,) = write_figures(FigureRequest(points(12), tmp_path, formats=("svg",), only=("multi_object",)))
    text = path.read_text(encoding="utf-8")
    assert text.count("<title>") == 1
    assert "<title>multi-object images against top-1 accuracy</title>" in text
    assert "<desc>12 models; share of multi-object images among top-1 errors" in text


def test_several_processes_draw_the_same_files(tmp_path, monkeypatch):
    only = ("class_overlap", "multi_object", "fine_grained")
    for folder, jobs in (("one", "1"), ("two", "2")):
        monkeypatch.setenv(JOBS_VARIABLE, jobs)
        write_figures(FigureRequest(points(12), tmp_path / folder, formats=("svg",), only=only))
    for path in (tmp_path / "one").rglob("*.svg"):
        assert path.read_bytes() == (tmp_path / "two" / path.relative_to(tmp_path / "one")).read_bytes()
