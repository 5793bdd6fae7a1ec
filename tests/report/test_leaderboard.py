"""A run's models are ranked by any column, filtered by what is known of them, and exported."""

import csv
import io
import re

import pyarrow as pa
import pytest
from rich.console import Console

from imagenet_errors.chain import ERROR_TYPES
from imagenet_errors.problems import InputError
from imagenet_errors.report.leaderboard import (
    Choice,
    choose,
    leaderboard_view,
    read_leaderboard,
    to_csv,
    to_latex,
    to_markdown,
)

TABLE = pa.table(
    {
        "model": ["alex", "bit_l", "clip"],
        "top1_accuracy": [0.5, 0.75, 0.8],
        "mla": [0.6, 0.9, 0.9],
        "mla_minor": [0.7, 0.9, 0.9],
        "mla_explained": [0.8, 0.95, 0.95],
        "model_failure": [900, 100, 50],
        "arch_family": ["cnn", "cnn", "transformer"],
        "arch_group": ["CNN", "ResNet", "ViT"],
        "training_data": ["ImageNet-1k", "ImageNet-21k", "WIT"],
        "pretraining": [["supervised"], ["supervised"], ["CLIP", "distillation"]],
        "n_parameters": [61_000_000, None, 86_000_000],
    }
)


def models(**choice):
    return choose(TABLE, Choice(**choice))["model"].to_pylist()


@pytest.mark.parametrize(
    ("choice", "order"),
    [
        pytest.param({}, ["bit_l", "clip", "alex"], id="by MLA, equals by name"),
        pytest.param({"sort": "model_failure", "ascending": True}, ["clip", "bit_l", "alex"], id="fewest failures"),
        pytest.param({"sort": "n_parameters"}, ["clip", "alex", "bit_l"], id="unknown comes last"),
        pytest.param({"sort": "n_parameters", "ascending": True}, ["alex", "clip", "bit_l"], id="last either way"),
        pytest.param({"sort": "pretraining", "ascending": True}, ["clip", "alex", "bit_l"], id="by a list"),
        pytest.param({"top": 1}, ["bit_l"], id="the first one"),
    ],
)
def test_models_are_sorted_by_any_column(choice, order):
    assert models(**choice) == order


@pytest.mark.parametrize(
    ("where", "kept"),
    [
        pytest.param(["arch_family = 'cnn'"], {"alex", "bit_l"}, id="equal"),
        pytest.param(["arch_family ILIKE 'CNN'"], {"alex", "bit_l"}, id="whatever the case"),
        pytest.param(["training_data LIKE 'ImageNet%'"], {"alex", "bit_l"}, id="pattern"),
        pytest.param(["list_contains(pretraining, 'CLIP')"], {"clip"}, id="one of several methods"),
        pytest.param(["n_parameters < 70e6"], {"alex"}, id="unknown meets no condition"),
        pytest.param(["n_parameters IS NULL OR mla < 0.7"], {"alex", "bit_l"}, id="or"),
        pytest.param(["mla >= 0.9", "model_failure < 100"], {"clip"}, id="two conditions"),
    ],
)
def test_models_are_filtered_by_what_is_known_of_them(where, kept):
    assert set(models(where=tuple(where))) == kept


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        pytest.param({"sort": "beauty"}, "no column 'beauty' in this run. Columns: model, ", id="sort"),
        pytest.param({"columns": ("beauty",)}, "no column 'beauty'", id="columns"),
        pytest.param({"where": ("beauty=1",)}, 'column "beauty" not found', id="where"),
        pytest.param({"where": ("arch_family=cnn",)}, "text in single quotes: arch_family = 'cnn'", id="no quotes"),
        pytest.param({"where": ("mla <",)}, "--where: Parser Error", id="no condition"),
        pytest.param({"where": ("1 = 1) AND (SELECT 1 FROM 'x.csv'",)}, "--where: ", id="no file is read"),
    ],
)
def test_what_cannot_be_chosen_is_refused(choice, message):
    with pytest.raises(InputError) as refused:
        choose(TABLE, Choice(**choice))
    assert message in str(refused.value)


def test_the_columns_are_those_asked_for_after_the_model():
    assert choose(TABLE, Choice(columns=("arch_family", "mla"))).column_names == ["model", "arch_family", "mla"]


def test_csv_keeps_numbers_in_full():
    rows = list(csv.DictReader(io.StringIO(to_csv(choose(TABLE, Choice())))))
    assert [row["top1_accuracy"] for row in rows] == ["0.75", "0.8", "0.5"]
    assert rows[1]["pretraining"] == "CLIP + distillation"
    assert rows[0]["n_parameters"] == ""


def test_markdown_is_a_table_for_people():
    lines = to_markdown(choose(TABLE, Choice(columns=("mla", "n_parameters")))).splitlines()
    assert lines[2:] == ["| bit_l | 90.00 % | – |", "| clip | 90.00 % | 86.0 M |", "| alex | 60.00 % | 61.0 M |"]


def test_latex_is_a_tabular_without_raw_special_letters():
    lines = to_latex(choose(TABLE, Choice(columns=("mla", "arch_family"), top=1))).splitlines()
    assert lines[0] == r"\begin{tabular}{lrl}"
    assert r"bit\_l & 90.00 \% & cnn \\" in lines
    assert r"model & mla & arch\_family \\" in lines


def test_the_counts_of_a_run_add_up_to_its_errors(demo_run):
    for row in read_leaderboard(demo_run.folder).to_pylist():
        n_errors = round((1 - row["top1_accuracy"]) * row["n_evaluated"])
        assert sum(row[name] or 0 for name in ERROR_TYPES if name != "correct") == n_errors


def test_what_did_not_run_is_no_zero_in_any_format(demo_run):
    table = choose(read_leaderboard(demo_run.folder), Choice(columns=("fine_grained_oov", "model_failure"), top=1))
    assert table["fine_grained_oov"].to_pylist() == [None]
    n_failures = table["model_failure"][0].as_py()
    assert to_csv(table).splitlines()[1].endswith(f",,,,{n_failures},,{n_failures}")
    assert to_markdown(table).endswith(f"| not run | ≤ {n_failures:,} |\n")
    assert rf"& n/a & $\leq$ {n_failures:,} \\" in to_latex(table)


def test_bounds_stand_where_evidence_was_partial(made_run):
    table = choose(read_leaderboard(made_run.folder), Choice(columns=("fine_grained_oov", "mla_minor", "mla")))
    for row, line in zip(table.to_pylist(), to_markdown(table).splitlines()[2:], strict=True):
        assert row["fine_grained_oov_min"] < row["fine_grained_oov_max"]
        assert (
            f"| {row['fine_grained_oov_min']}–{row['fine_grained_oov_max']} | ≥ {row['mla_minor']:.2%} ".replace(
                "%", " %"
            )
            in line
        )
        assert f"| {row['mla']:.2%}".replace("%", " %") in line


def test_an_order_that_hangs_on_missing_evidence_is_said(program, made_run):
    assert (
        "model_failure depends on evidence that was missing"
        in program("summary", made_run.folder, "--sort", "model_failure").err
    )
    assert program("summary", made_run.folder, "--sort", "fine_grained").err == ""


@pytest.mark.parametrize(
    ("flags", "first"),
    [
        pytest.param(["--format", "csv"], "model,mla,top1_accuracy", id="csv"),
        pytest.param(["--format", "markdown", "--sort", "model"], "| model | top1_accuracy", id="markdown"),
        pytest.param(["--format", "latex"], r"\begin{tabular}", id="latex"),
        pytest.param([], "3 models", id="table"),
    ],
)
def test_the_command_prints_each_format(program, demo_run, flags, first):
    answer = program("summary", demo_run.folder, *flags)
    assert answer.status == 0
    assert answer.out.startswith(first)


@pytest.mark.parametrize("width", [60, 80, 160])
def test_a_screen_shows_whole_columns_and_says_which_have_no_room(demo_run, width):
    console = Console(width=width, file=io.StringIO())
    table = choose(read_leaderboard(demo_run.folder), Choice())
    console.print(leaderboard_view(table))
    shown = console.file.getvalue()
    assert "…" not in shown
    assert max(map(len, shown.splitlines())) <= width
    assert all(name in shown for name in table.column_names if not name.endswith(("_min", "_max")))
    assert ("No room for" in shown) == (width < 160)


def test_multi_label_accuracy_is_a_bound_where_no_other_label_is_known(program, val_images, tmp_path):
    truth = "".join(f"{name} {label}\n" for name, label in zip(val_images.names, val_images.label, strict=True))
    (tmp_path / "val.txt").write_text(truth)
    model = val_images.csv(tmp_path / "one.csv")
    several = [model, "--annotations", tmp_path / "val.txt", "--out"]
    whole = program("evaluate", *several, tmp_path / "run").out
    other = val_images.csv(tmp_path / "two.csv")
    beside = program("evaluate", other, *several, tmp_path / "both").out
    mla = re.search(r"\(MLA\) +│ +(≥ [\d.]+)%", whole)[1]
    assert f"{mla}%" in beside
    answer = program("summary", tmp_path / "run")
    assert answer.out.startswith("1 model ")
    assert f"{mla} %" in answer.out


def test_the_command_writes_a_file(program, demo_run, tmp_path):
    program("summary", demo_run.folder, "--columns", "all", "--out", tmp_path / "board.csv")
    assert (tmp_path / "board.csv").read_text().startswith("model,n_images,")


def test_an_unknown_format_or_a_folder_without_a_run_is_refused(program, demo_run, tmp_path):
    assert "--format: no format 'pdf'" in program("summary", demo_run.folder, "--format", "pdf").err
    assert "not a run directory" in program("summary", tmp_path).err
