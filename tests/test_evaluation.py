"""From predictions files to a run directory, as a user runs it."""

import hashlib
import json
import os
import subprocess
import sys

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from imagenet_errors import evaluation
from imagenet_errors.chain import ERROR_TYPES
from imagenet_errors.labels import GROUPS, imagenet_1k
from imagenet_errors.mistakes import gather
from imagenet_errors.runs import directory as run_directory
from patience import PATIENCE_SECONDS
from toy import inputs_of

LABELS = imagenet_1k()


@pytest.fixture
def run(program, val_images, tmp_path):
    """Evaluate one model by the original labels and return the run directory."""
    annotations = val_images.annotations(tmp_path / "annotations.csv")
    predictions = val_images.csv(tmp_path / "model.csv")
    answer = program("evaluate", predictions, "--annotations", annotations, "--out", tmp_path / "run")
    assert answer.status == 0, answer.err
    return tmp_path / "run"


def test_every_file_has_the_stated_columns_and_types(run):
    for name, schema in {
        "verdicts/model.parquet": run_directory.VERDICTS,
        "distribution.parquet": run_directory.DISTRIBUTION,
        "summary.parquet": run_directory.SUMMARY,
        "accuracy.parquet": run_directory.ACCURACY,
    }.items():
        assert pq.read_schema(run / name).equals(schema), name


def test_a_verdict_a_row_for_every_evaluated_image(run, val_images):
    verdicts = pd.read_parquet(run / "verdicts" / "model.parquet")
    assert verdicts["file_name"].tolist() == sorted(val_images.names)
    assert verdicts["target"].tolist() == val_images.label.tolist()
    assert verdicts["prediction"].tolist() == val_images.top1.tolist()
    assert verdicts["confidence"].isna().all()
    assert set(verdicts["model"]) == {"model"}
    assert verdicts["target_name"].tolist() == [LABELS.names[index] for index in val_images.label]
    assert verdicts["prediction_name"].tolist() == [LABELS.names[index] for index in val_images.top1]
    assert [list(accepted) for accepted in verdicts["accepted"]] == [[label] for label in val_images.label]


def test_correct_rows_have_no_explanation_and_all_others_name_the_predicted_class(run):
    verdicts = pd.read_parquet(run / "verdicts" / "model.parquet")
    is_correct = verdicts["target"] == verdicts["prediction"]
    assert (verdicts["error_type"] == "correct").tolist() == is_correct.tolist()
    assert verdicts.loc[is_correct, "explanation"].isna().all()
    for prediction, sentence in verdicts.loc[~is_correct, ["prediction", "explanation"]].itertuples(index=False):
        assert LABELS.names[prediction] in sentence


def test_the_distribution_counts_the_verdicts_of_each_group(run):
    verdicts = pd.read_parquet(run / "verdicts" / "model.parquet")
    distribution = pd.read_parquet(run / "distribution.parquet")
    for group in GROUPS:
        inside = [bool(LABELS.in_group(group)[list(accepted)].any()) for accepted in verdicts["accepted"]]
        expected = verdicts[inside]["error_type"].value_counts().reindex(ERROR_TYPES, fill_value=0)
        found = distribution[distribution["group"] == group].set_index("error_type")["count"].dropna()
        assert found.to_dict() == expected[found.index].to_dict()
        assert set(ERROR_TYPES) - set(found.index) == {"fine_grained_oov", "non_prototypical"}


def test_portions_add_up_and_are_null_where_the_type_is_no_such_error(run):
    portions = pd.read_parquet(run / "distribution.parquet").query("group == 'all'").set_index("error_type")
    assert portions["portion_of_top1_errors"].sum() == pytest.approx(1)
    assert portions["portion_of_multi_label_errors"].sum() == pytest.approx(1)
    assert pd.isna(portions.loc["correct", "portion_of_top1_errors"])
    assert pd.isna(portions.loc["multi_object", "portion_of_multi_label_errors"])


def test_the_summary_gives_accuracies_as_shares(run, val_images):
    (row,) = pq.read_table(run / "summary.parquet").to_pylist()
    assert row["n_images"] == row["n_evaluated"] == len(val_images.label)
    assert row["n_excluded"] == 0
    assert row["top1_accuracy"] == pytest.approx(np.mean(val_images.top1 == val_images.label))
    assert row["top1_accuracy"] < 1
    assert row["mla"] <= row["mla_minor"] <= row["mla_explained"] <= 1


def test_run_json_tells_what_was_used_and_what_was_skipped(run, tmp_path):
    manifest = json.loads((run / "run.json").read_text(encoding="utf-8"))
    hashes = {entry["file"]: entry["sha256"] for entry in manifest["inputs"]}
    for name in ("model.csv", "annotations.csv"):
        path = tmp_path / name
        assert hashes[str(path)] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert manifest["stage_order"] == [
        "class_overlap",
        "multi_object",
        "fine_grained",
        "spurious_correlation",
    ]
    assert "--oov-evidence" in manifest["stages_not_run"]["fine_grained_oov"]
    assert "--non-prototypical" in manifest["stages_not_run"]["non_prototypical"]


def test_duckdb_reads_many_models_at_once_even_where_one_has_no_errors(program, val_images, tmp_path):
    perfect = "\n".join(["file_name,predicted_class", *map("{},{}".format, val_images.names, val_images.label)])
    (tmp_path / "perfect.csv").write_text(perfect, encoding="utf-8")
    annotations = val_images.annotations(tmp_path / "annotations.csv")
    files = [tmp_path / "perfect.csv", val_images.csv(tmp_path / "model.csv")]
    assert (
        program("evaluate", *files, "--annotations", annotations, "--no-check-order", "--out", tmp_path / "run").status
        == 0
    )
    query = f"select count(*) from '{tmp_path}/run/verdicts/*.parquet' where explanation is not null"
    assert duckdb.sql(query).fetchall() == [(int((val_images.top1 != val_images.label).sum()),)]


def test_problematic_images_and_images_without_labels_are_excluded_and_counted(program, val_images, tmp_path):
    table = pa.table(
        {
            "file_name": val_images.names,
            "labels": [[], *[[label] for label in val_images.label[1:]]],
            "problematic": [row == 1 for row in range(len(val_images.names))],
        }
    )
    pq.write_table(table, tmp_path / "annotations.parquet")
    predictions = val_images.csv(tmp_path / "model.csv")
    arguments = ("--annotations", tmp_path / "annotations.parquet", "--out", tmp_path / "run")
    assert program("evaluate", predictions, *arguments).status == 0
    (row,) = pq.read_table(tmp_path / "run" / "summary.parquet").to_pylist()
    assert (row["n_images"], row["n_evaluated"], row["n_excluded"]) == (300, 298, 2)


def test_the_same_case_gets_the_same_verdict_alone_and_among_many(program, val_images, tmp_path):
    annotations = val_images.annotations(tmp_path / "annotations.csv")
    one = val_images.csv(tmp_path / "one.csv")
    others = [val_images.csv(tmp_path / f"other{n}.csv", **{f"at_{n}": 999}) for n in range(4)]
    program("evaluate", one, "--annotations", annotations, "--out", tmp_path / "alone")
    program("evaluate", one, *others, "--annotations", annotations, "--out", tmp_path / "together")
    alone, together = (pq.read_table(tmp_path / run / "verdicts" / "one.parquet") for run in ("alone", "together"))
    assert alone.equals(together)


def test_a_bad_file_among_good_ones_is_listed_and_the_rest_is_done(program, val_images, tmp_path):
    annotations = val_images.annotations(tmp_path / "annotations.csv")
    good = val_images.csv(tmp_path / "good.csv")
    bad = val_images.csv(tmp_path / "bad.csv", keep=slice(10))
    answer = program("evaluate", good, bad, "--annotations", annotations, "--out", tmp_path / "run")
    assert answer.status == 1
    assert "no usable prediction for 290 of 300 images" in " ".join(answer.out.split())
    (failure,) = pq.read_table(tmp_path / "run" / "failures.parquet").to_pylist()
    assert (failure["model"], failure["file"]) == ("bad", "bad.csv")
    assert str(tmp_path) not in failure["reason"], "the table may be given away"
    assert [path.name for path in (tmp_path / "run" / "verdicts").iterdir()] == ["good.parquet"]


def test_a_pipe_in_a_folder_without_a_writer_is_a_failure_and_no_reason_to_wait(
    program, val_images, tmp_path, monkeypatch
):
    monkeypatch.setattr("imagenet_errors.readers.opened._PATIENCE_SECONDS", 0.1)
    val_images.csv(tmp_path / "in" / "good.csv")
    os.mkfifo(tmp_path / "in" / "pipe.csv")
    answer = program("evaluate", tmp_path / "in", "--annotations", "real", "--allow-partial", "--out", tmp_path / "run")
    assert answer.status == 1
    failures = pq.read_table(tmp_path / "run" / "failures.parquet").to_pylist()
    assert [row["model"] for row in failures] == ["pipe"]
    assert "pipe" in failures[0]["reason"]


def test_a_pipe_that_was_read_is_not_opened_again(val_images, tmp_path):
    path = val_images.csv(tmp_path / "m.csv")
    command = ["evaluate", "/dev/stdin", "--annotations", "real", "--allow-partial", "--out", str(tmp_path / "run")]
    with subprocess.Popen(["cat", path], stdout=subprocess.PIPE) as cat:
        ended = subprocess.run(
            [sys.executable, "-m", "imagenet_errors", *command],
            stdin=cat.stdout,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE_SECONDS,
        )
    assert ended.returncode == 0, ended.stderr
    (told,) = json.loads((tmp_path / "run" / "run.json").read_text())["inputs"]
    assert told["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()


def test_run_json_tells_what_was_read_of_labels_that_changed_since(val_images, tmp_path, monkeypatch):
    labels = val_images.annotations(tmp_path / "labels.csv")
    sha256 = hashlib.sha256(labels.read_bytes()).hexdigest()
    predictions = val_images.csv(tmp_path / "m.csv")

    def gather_late(*arguments, **options):
        labels.write_text("something else")
        return gather(*arguments, **options)

    monkeypatch.setattr(evaluation, "gather", gather_late)
    evaluation.evaluate([predictions], inputs_of(labels), tmp_path / "run")
    told = json.loads((tmp_path / "run" / "run.json").read_text())["inputs"]
    assert sha256 in [file["sha256"] for file in told]


def test_when_no_file_can_be_used_nothing_is_written(program, val_images, tmp_path):
    annotations = val_images.annotations(tmp_path / "annotations.csv")
    bad = [val_images.csv(tmp_path / f"bad{n}.csv", keep=slice(10 + n)) for n in range(2)]
    before = sorted(tmp_path.iterdir())
    answer = program("evaluate", *bad, "--annotations", annotations, "--out", tmp_path / "run")
    assert answer.status == 2
    assert "bad0.csv" in answer.err
    assert "bad1.csv" in answer.err
    assert sorted(tmp_path.iterdir()) == before


def test_a_partial_file_is_evaluated_when_that_is_allowed(program, val_images, tmp_path):
    annotations = val_images.annotations(tmp_path / "annotations.csv")
    some = val_images.csv(tmp_path / "some.csv", keep=slice(100))
    answer = program("evaluate", some, "--annotations", annotations, "--allow-partial", "--out", tmp_path / "run")
    assert answer.status == 0
    assert "200 evaluated images missing" in answer.out
    assert pq.read_table(tmp_path / "run" / "summary.parquet")["n_evaluated"].to_pylist() == [100]


def test_what_is_told_of_many_files_alike_is_told_once(program, val_images, tmp_path):
    annotations = val_images.annotations(tmp_path / "annotations.csv")
    files = [val_images.csv(tmp_path / f"m{n}.csv", keep=slice(100)) for n in range(7)]
    other = val_images.csv(tmp_path / "other.csv", keep=slice(90))
    answer = program(
        "evaluate", *files, other, "--annotations", annotations, "--allow-partial", "--out", tmp_path / "run"
    )
    told = [line for line in answer.out.splitlines() if "evaluated images missing" in line]
    assert [line.partition(": ")[0] for line in told] == ["m0, m1, m2, m3, m4 and 2 more models", "other"]


def test_an_earlier_run_in_the_same_place_is_replaced_and_other_files_stay(program, val_images, run, tmp_path):
    (run / "notes.txt").write_text("mine", encoding="utf-8")
    (run / "report.html").write_text("of the earlier run", encoding="utf-8")
    other = val_images.csv(tmp_path / "other.csv")
    program("evaluate", other, "--annotations", tmp_path / "annotations.csv", "--out", run)
    assert [path.name for path in (run / "verdicts").iterdir()] == ["other.parquet"]
    assert (run / "notes.txt").read_text(encoding="utf-8") == "mine"
    assert not (run / "report.html").exists()


def test_a_run_that_fails_leaves_the_earlier_one_as_it_was(program, val_images, run, tmp_path, monkeypatch):
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(run_directory.RunWriter, "manifest", full)
    answer = program("evaluate", tmp_path / "model.csv", "--annotations", tmp_path / "annotations.csv", "--out", run)
    assert answer.status == 2
    assert "No space left on device" in answer.err
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_evidence_given_by_the_user_is_used(program, val_images, tmp_path):
    wrong = np.flatnonzero(val_images.top1 != val_images.label)
    evidence = tmp_path / "evidence.csv"
    rows = [f"{val_images.names[row]},{val_images.top1[row]},True" for row in wrong]
    evidence.write_text("\n".join(["file_name,prediction,is_oov", *rows[1:]]), encoding="utf-8")
    annotations = val_images.annotations(tmp_path / "annotations.csv")
    predictions = val_images.csv(tmp_path / "model.csv")
    order = ("--stage-order", "fine_grained_oov")
    given = ("--annotations", annotations, "--oov-evidence", evidence, *order, "--out", tmp_path / "run")
    assert program("evaluate", predictions, *given).status == 0
    counts = pd.read_parquet(tmp_path / "run" / "distribution.parquet").query("group == 'all'")
    assert counts.set_index("error_type")["count"]["fine_grained_oov"] == len(wrong) - 1
    assert pq.read_table(tmp_path / "run" / "summary.parquet")["n_without_oov_evidence"].to_pylist() == [1]


def test_without_an_oov_table_every_case_that_would_ask_it_lacks_evidence(run):
    counts = pd.read_parquet(run / "distribution.parquet").query("group == 'all'").set_index("error_type")["count"]
    after = counts[["non_prototypical", "spurious_correlation", "model_failure"]].sum()
    assert pq.read_table(run / "summary.parquet")["n_without_oov_evidence"].to_pylist() == [after]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(("--rejected-labels", "drop", "--out", "run"), "exclude, judge, trust", id="no such choice"),
        pytest.param(("--annotations", "none.json", "--out", "run"), "none.json: no such file", id="no such file"),
        pytest.param(
            ("--annotations", "real", "--stage-order", "overlap", "--out", "run"),
            "no stage 'overlap'",
            id="stage",
        ),
        pytest.param(
            ("--annotations", "real", "--oov-evidence", "e.csv", "--out", "run"),
            "e.csv: no such file",
            id="evidence",
        ),
        pytest.param(("--annotations", "real", "--column", "x=y", "--out", "run"), "--column", id="column role"),
    ],
)
def test_wrong_usage_ends_with_status_2_and_a_message(program, val_images, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    answer = program("evaluate", val_images.csv(tmp_path / "model.csv"), *arguments)
    assert answer.status == 2
    assert message in answer.err
    assert not (tmp_path / "run").exists()


class TestRejectedLabels:
    """On the first image annotators accept only classes 5 and 6; the model names the label, then 5, then 7."""

    @pytest.fixture
    def verdicts(self, program, val_images, tmp_path):
        annotations = val_images.annotations(tmp_path / "annotations.csv", at_0="5 6")

        def judged(prediction, choice):
            file = val_images.csv(tmp_path / "model.csv", at_0=prediction)
            given = ("--annotations", annotations, "--rejected-labels", choice, "--out", tmp_path / "run")
            assert program("evaluate", file, *given).status == 0
            found = pd.read_parquet(tmp_path / "run" / "verdicts" / "model.parquet").set_index("file_name")
            return found["error_type"].get(val_images.names[0]), tmp_path / "run"

        return judged

    def test_such_images_are_excluded_by_name(self, verdicts, val_images):
        error_type, run = verdicts(val_images.label[0], "exclude")
        assert error_type is None
        assert json.loads((run / "run.json").read_text())["excluded"]["original label rejected"] == 1

    def test_judged_a_prediction_is_right_only_if_it_is_accepted(self, verdicts, val_images):
        assert verdicts(val_images.label[0], "judge")[0] == "model_failure"
        assert verdicts(5, "judge")[0] == "multi_object"

    def test_trusted_the_label_is_right(self, verdicts, val_images):
        assert verdicts(val_images.label[0], "trust")[0] == "correct"

    def test_the_accepted_accuracy_is_a_direct_count(self, verdicts, val_images):
        _, run = verdicts(5, "exclude")
        right = (val_images.top1[1:] == val_images.label[1:]).sum() + 1
        (row,) = pq.read_table(run / "summary.parquet").to_pylist()
        assert row["accepted_accuracy"] == pytest.approx(right / 300)


def test_top1_accuracy_of_all_counts_images_outside_the_annotations_too(program, val_images, tmp_path):
    """Annotated are the first 100 of 300 images; the file has all."""
    annotations = val_images.annotations(tmp_path / "annotations.csv")
    lines = annotations.read_text().splitlines()
    annotations.write_text("\n".join(lines[:101]) + "\n")
    file = val_images.csv(tmp_path / "model.csv")
    assert program("evaluate", file, "--annotations", annotations, "--out", tmp_path / "run").status == 0
    (row,) = pq.read_table(tmp_path / "run" / "summary.parquet").to_pylist()
    assert row["n_evaluated"] == 100
    assert row["top1_accuracy_all"] == pytest.approx(np.mean(val_images.top1 == val_images.label))
    assert row["top1_accuracy"] == pytest.approx(np.mean((val_images.top1 == val_images.label)[:100]))


def test_failures_are_graded_by_wordnet_and_the_sentence_names_what_both_are(program, val_images, tmp_path):
    annotations = val_images.annotations(tmp_path / "annotations.csv")
    file = val_images.csv(tmp_path / "model.csv")
    given = ("--annotations", annotations, "--stage-order", "class_overlap,multi_object", "--out", tmp_path / "run")
    assert program("evaluate", file, *given).status == 0
    verdicts = pd.read_parquet(tmp_path / "run" / "verdicts" / "model.parquet").set_index("file_name")
    failures = verdicts[verdicts["error_type"] == "model_failure"]
    assert failures["wordnet_steps"].notna().all()
    assert verdicts.loc[verdicts["error_type"] != "model_failure", "wordnet_steps"].isna().all()
    told = failures["explanation"].str.contains(r"Both are a kind of .* \(\d+ steps apart\)\.$")
    assert told.any()
    assert (failures["wordnet_steps"][told].mean()) < failures["wordnet_steps"].mean()


@pytest.mark.parametrize("inside", [".", "run", "a/run"])
def test_results_do_not_go_among_the_predictions(program, val_images, tmp_path, inside):
    folder = val_images.csv(tmp_path / "models" / "one.csv").parent
    (tmp_path / "link").symlink_to(folder)
    for out in (folder / inside, tmp_path / "link" / inside):
        answer = program("evaluate", folder, "--allow-partial", "--out", out)
        assert answer.status == 2
        assert "lies in the folder of predictions" in answer.err
    assert [path.name for path in folder.iterdir()] == ["one.csv"]


HOSTILE = ["=cmd|' C'!A0", "a\x1b[31mred", "[x](http:,,e", "$\u202efrac_{1}^2%&#~", "<b>"]


@pytest.fixture
def hostile_names(program, val_images, tmp_path):
    """A run of models with names that mean something to a spreadsheet, a terminal, Markdown, LaTeX."""
    for name in HOSTILE:
        val_images.csv(tmp_path / "models" / f"{name}.csv")
    answer = program("evaluate", tmp_path / "models", "--allow-partial", "--out", tmp_path / "run")
    assert answer.status == 0, answer.err
    assert not set("\x1b\u202e") & set(answer.out)
    return tmp_path / "run"


def test_no_name_gives_orders_to_what_shows_it(program, hostile_names):
    import csv

    tables = {
        kind: program("summary", hostile_names, "--columns", "model,mla", "--format", kind).out
        for kind in ("table", "csv", "markdown", "latex")
    }
    models = [row[0] for row in csv.reader(tables["csv"].splitlines())]
    assert f"'{HOSTILE[0]}" in models
    assert not [model for model in models if model[0] in "=+-@"]
    assert not set("\x1b\u202e") & set(tables["table"] + tables["markdown"] + tables["latex"])
    assert "](" not in tables["markdown"].replace("\\]", "")
    assert r"\u001b" not in tables["latex"]
    assert not [line for line in tables["latex"].splitlines()[3:-2] if line.startswith("[")]
