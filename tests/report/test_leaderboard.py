"""A run's models are ranked by any column, filtered by what is known of them, and exported."""

import csv
import io

import pyarrow as pa
import pytest

from imagenet_errors.problems import InputError
from imagenet_errors.report.leaderboard import Choice, choose, read_leaderboard, to_csv, to_latex, to_markdown

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
        pytest.param(["arch_family=cnn"], {"alex", "bit_l"}, id="arch_family=cnn"),
        pytest.param(["arch_family=CNN"], {"alex", "bit_l"}, id="arch_family=CNN"),
        pytest.param(["arch_family!=cnn"], {"clip"}, id="arch_family!=cnn"),
        pytest.param(["training_data=ImageNet*"], {"alex", "bit_l"}, id="training_data=ImageNet*"),
        pytest.param(["pretraining=CLIP"], {"clip"}, id="pretraining=CLIP"),
        pytest.param(["n_parameters<70e6"], {"alex"}, id="n_parameters<70e6"),
        pytest.param(["n_parameters!=1"], {"alex", "clip"}, id="n_parameters!=1"),
        pytest.param(["mla >= 0.9", "model_failure<100"], {"clip"}, id="mla >= 0.9, model_failure<100"),
    ],
)
def test_models_are_filtered_by_what_is_known_of_them(where, kept):
    assert set(models(where=tuple(where))) == kept


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        pytest.param({"sort": "beauty"}, "no column 'beauty' in this run. Columns: model, ", id="sort"),
        pytest.param({"columns": ("beauty",)}, "no column 'beauty'", id="columns"),
        pytest.param({"where": ("beauty=1",)}, "no column 'beauty'", id="where"),
        pytest.param({"where": ("large",)}, "--where: cannot read 'large'", id="no condition"),
        pytest.param({"where": ("mla<high",)}, "compares a number with 'high'", id="no number"),
        pytest.param({"where": ("arch_family<cnn",)}, "holds text, which < cannot compare", id="text"),
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


@pytest.fixture(scope="module")
def demo_run(tmp_path_factory):
    """The shipped predictions' run."""
    from imagenet_errors.evaluation import evaluate
    from imagenet_errors.readers.predictions import ReadRules
    from imagenet_errors.shipped import shipped
    from toy import inputs_of

    out = tmp_path_factory.mktemp("demo") / "run"
    evaluate((shipped("data", "demo"),), inputs_of("real"), out, rules=ReadRules(allow_partial=True))
    return out


def test_the_counts_of_a_run_add_up_to_its_errors(demo_run):
    from imagenet_errors.chain import ERROR_TYPES

    for row in read_leaderboard(demo_run).to_pylist():
        n_errors = round((1 - row["top1_accuracy"]) * row["n_evaluated"])
        assert sum(row[name] for name in ERROR_TYPES[1:]) == n_errors


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
    answer = program("summary", demo_run, *flags)
    assert answer.status == 0
    assert answer.out.startswith(first)


def test_the_command_writes_a_file(program, demo_run, tmp_path):
    program("summary", demo_run, "--columns", "all", "--out", tmp_path / "board.csv")
    assert (tmp_path / "board.csv").read_text().startswith("model,n_images,")


def test_an_unknown_format_or_a_folder_without_a_run_is_refused(program, demo_run, tmp_path):
    assert "--format: no format 'pdf'" in program("summary", demo_run, "--format", "pdf").err
    assert "not a run directory" in program("summary", tmp_path).err
