"""The answer to ``evaluate`` at a glance, on a wide screen and on a narrow one."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from imagenet_errors.chain import ERROR_TYPES
from imagenet_errors.evaluation import evaluate
from imagenet_errors.readers.predictions import ReadRules
from imagenet_errors.report.terminal import bar_legend, evaluation_view, severity_bar
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


def test_a_stage_that_did_not_run_is_said_to_and_what_hangs_on_it_is_a_bound(evaluation, tmp_path):
    lines = shown(evaluation, 160, tmp_path).splitlines()
    (row,) = [line for line in lines if "two" in line and "%" in line]
    n_failures = evaluation.results[0].measures.counts[0, -1]
    assert row.count("not run") == 2
    assert f"≤ {n_failures}" in row


@pytest.fixture(scope="module")
def partial(made_run):
    """One model, with OOV evidence for half of its cases."""
    files = [made_run.folder.parent / "good.parquet"]
    inputs = inputs_of(str(made_run.annotations), oov_evidence=made_run.folder.parent / "oov.parquet")
    return evaluate(files, inputs, made_run.folder.parent / "partial", rules=ReadRules(check_order=False))


def test_partial_evidence_gives_bounds_and_one_line_says_how_much_is_known(partial, tmp_path):
    text = shown(partial, 160, tmp_path)
    (result,) = partial.results
    place = ERROR_TYPES.index("fine_grained_oov")
    least, most = int(result.measures.least[0, place]), int(result.measures.most[0, place])
    assert least < most
    assert f"{least}–{most}" in text
    lacking = partial.judged.verdicts.lacking["fine_grained_oov"]
    n_came = most - least + int(result.measures.counts[0, place]) + _explained_later(result, place)
    assert re.search(
        rf"Stage fine_grained_oov has evidence for {n_came - lacking.sum()} of the {n_came} distinct cases", text
    )
    (row,) = [line for line in text.splitlines() if "MLA, fine-grained errors as right" in line]
    assert row.count("≥") == row.count("%") == 4


def test_shares_are_bounded_as_the_counts_are(program, tmp_path):
    """No overlaps of these classes are known: any error might be one, and no multi-label error at all."""
    images = [(f"{at}.jpg", at % 3) for at in range(30)]
    rows = "".join(f"{name},{label},{label}\n" for name, label in images)
    (tmp_path / "labels.csv").write_text(f"file_name,label,labels\n{rows}x.jpg,0,0 1\n")
    (tmp_path / "classes.csv").write_text("index,name\n0,cat\n1,dog\n2,bus\n")
    wrong = "".join(f"{name},{(label + (at < 10)) % 3}\n" for at, (name, label) in enumerate(images))
    (tmp_path / "m.csv").write_text(f"file_name,prediction\n{wrong}x.jpg,0\n")
    (tmp_path / "oov.csv").write_text("file_name,prediction,is_oov\n0.jpg,1,true\n")
    own = ("--classes", tmp_path / "classes.csv", "--annotations", tmp_path / "labels.csv", "--no-check-order")
    out = program("evaluate", tmp_path / "m.csv", *own, "--oov-evidence", tmp_path / "oov.csv", "--out", tmp_path / "r")
    (row,) = [line for line in out.out.splitlines() if line.startswith("│ fine_grained_oov ")]
    assert [cell.strip() for cell in row.split("│")[2:-1]] == ["≤ 10", "≤ 100.0%", "~ 10.0%"]


def _explained_later(result, place):
    """Errors of later types that the stage could judge, and did not explain."""
    return int(result.measures.least[0, place + 1 :].sum())


def test_the_accepted_accuracy_is_told(partial, tmp_path):
    tally = partial.results[0].tally
    assert f"Accepted accuracy: {tally.n_accepted / tally.n_with_accepted:.2%}" in shown(partial, 160, tmp_path)


@pytest.mark.parametrize(
    ("counts", "bar"),
    [
        pytest.param([90, 2, 3, 3, 0, 0, 1, 1], "░░░░░▒▒▒▓█", id="in proportion, mildest first"),
        pytest.param([90, 0, 1000, 0, 0, 0, 0, 1], "░░░░░░░░░█", id="what is there is seen"),
        pytest.param([0, 0, 0, 0, 0, 0, 0, 7], "██████████", id="all severe"),
        pytest.param([90, 0, 0, 0, 0, 0, 0, 0], "", id="no errors"),
    ],
)
def test_errors_are_shared_out(counts, bar):
    assert severity_bar(counts, width=10).plain == bar


@given(st.lists(st.integers(0, 50_000), min_size=8, max_size=8), st.integers(4, 60))
def test_every_bar_with_errors_has_its_width(counts, width):
    assert len(severity_bar(counts, width=width).plain) == (width if any(counts[1:]) else 0)


def test_the_legend_names_every_sign():
    for sign in "░▒▓█":
        assert sign in bar_legend().plain


@given(st.lists(st.integers(0, 50_000), min_size=7, max_size=7), st.integers(1, 50_000), st.integers(4, 60))
def test_no_bar_however_short_loses_its_severe_part(counts, n_severe, width):
    assert "█" in severity_bar([*counts, n_severe], width=width).plain
