"""A run directory is there whole or not at all, and its tables have one schema whatever they hold."""

import json

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from imagenet_errors.labels import GROUPS
from imagenet_errors.measure import Measures
from imagenet_errors.mistakes import Tally
from imagenet_errors.problems import InputError
from imagenet_errors.runs.directory import (
    ACCURACY,
    DISTRIBUTION,
    SUMMARY,
    VERDICTS,
    ModelResult,
    accuracy_table,
    class_name_column,
    distribution_table,
    error_type_column,
    read_run_table,
    summary_table,
    writing_run,
)
from imagenet_errors.runs.manifest import Manifest, read_manifest

MANIFEST = Manifest(version="1", annotations="real")
NO_IMAGES = np.full(4, np.nan)


def result(counts, accuracy=NO_IMAGES):
    counts = np.array(counts)
    measures = Measures(GROUPS, counts, counts - 1, counts + 2, accuracy, accuracy, accuracy, accuracy)
    return ModelResult("model", Tally(10, 8, 6, 0, 0, 0), 3, measures)


@pytest.mark.parametrize(
    ("table", "schema"),
    [(distribution_table, DISTRIBUTION), (summary_table, SUMMARY), (accuracy_table, ACCURACY)],
    ids=["distribution", "summary", "accuracy"],
)
def test_a_model_without_images_has_the_same_columns(table, schema):
    empty, usual = result(np.zeros((4, 8), dtype=int)), result(np.ones((4, 8), dtype=int), np.full(4, 0.5))
    assert table([empty]).schema.equals(schema)
    assert table([usual, empty]).schema.equals(schema)


def test_the_summary_counts_what_was_excluded():
    (row,) = summary_table([result(np.ones((4, 8), dtype=int), np.full(4, 0.5))]).to_pylist()
    assert (row["n_images"], row["n_evaluated"], row["n_excluded"]) == (10, 8, 2)
    assert row["n_without_oov_evidence"] == 3
    assert row["accepted_accuracy"] == 0.75


def test_what_did_not_run_is_null_and_never_zero():
    rows = distribution_table([result(np.ones((4, 8), dtype=int))], ("fine_grained_oov",)).to_pylist()
    by_type = {row["error_type"]: row for row in rows if row["group"] == "all"}
    columns = ("count", "count_min", "count_max", "portion_of_top1_errors", "portion_of_multi_label_errors")
    assert all(by_type["fine_grained_oov"][column] is None for column in columns)
    assert [by_type["fine_grained"][column] for column in columns[:3]] == [1, 0, 3]


def columns(n_rows):
    return [
        pa.array([f"{row}" for row in range(n_rows)], pa.string()),
        pa.array([0] * n_rows, pa.int16()),
        pa.array([0] * n_rows, pa.int16()),
        pa.nulls(n_rows, pa.float32()),
        pa.array([[0]] * n_rows, pa.list_(pa.int16())),
        error_type_column(np.zeros(n_rows, dtype=np.int8)),
        pa.nulls(n_rows, pa.string()),
        pa.DictionaryArray.from_arrays(pa.array([0] * n_rows, pa.int16()), pa.array(["model"])),
        *[class_name_column(np.zeros(n_rows, dtype=np.int16), pa.array(["tench"]))] * 2,
        pa.nulls(n_rows, pa.int16()),
    ]


@pytest.mark.parametrize("n_rows", [0, 3])
def test_verdicts_keep_their_schema_on_disk(tmp_path, n_rows):
    with writing_run(tmp_path / "run") as writer:
        writer.verdicts("model", columns(n_rows))
    table = pq.read_table(tmp_path / "run" / "verdicts" / "model.parquet")
    assert table.schema.equals(VERDICTS)
    assert len(table) == n_rows


def test_bounds_are_kept_of_numbers_and_not_of_texts(tmp_path):
    with writing_run(tmp_path / "run") as writer:
        writer.table("some.parquet", pa.table({"index": [3, 8], "confidence": [0.25, 0.5], "file_name": ["a", "b"]}))
    group = pq.ParquetFile(tmp_path / "run" / "some.parquet").metadata.row_group(0)
    bounds = [group.column(place).statistics for place in range(3)]
    assert [each and (each.min, each.max) for each in bounds] == [(3, 8), (0.25, 0.5), None]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())], ids=str)
def test_verdicts_that_another_program_stored_again_are_read_as_they_were(tmp_path, kind):
    with writing_run(tmp_path / "run") as writer:
        writer.verdicts("model", columns(3))
    path = tmp_path / "run" / "verdicts" / "model.parquet"
    table = pq.read_table(path)
    fields = [field.with_type(kind) if "string" in str(field.type) else field for field in VERDICTS]
    pq.write_table(table.cast(pa.schema(fields)), path)
    assert not pq.read_table(path).schema.equals(VERDICTS)
    found = read_run_table(path, VERDICTS, needed=VERDICTS.names)
    assert found.schema.equals(VERDICTS)
    assert found.to_pylist() == table.to_pylist()


def test_what_was_begun_and_failed_leaves_nothing(tmp_path):
    def begin():
        with writing_run(tmp_path / "deep" / "run") as writer:
            writer.verdicts("model", columns(2))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        begin()
    assert not (tmp_path / "deep" / "run").exists()
    assert list((tmp_path / "deep").iterdir()) == []


def test_run_json_is_put_in_place_last(tmp_path, monkeypatch):
    """A directory without run.json is not whole, so readers can tell."""
    from pathlib import Path

    with writing_run(tmp_path / "run") as writer:
        writer.manifest(MANIFEST)
    moved = []
    replace = Path.replace
    monkeypatch.setattr(Path, "replace", lambda self, target: moved.append(self.name) or replace(self, target))
    with writing_run(tmp_path / "run") as writer:
        writer.manifest(msgspec.structs.replace(MANIFEST, command=["again"]))
        writer.verdicts("model", columns(1))
        writer.table("summary.parquet", summary_table([]))
    assert moved[-1] == "run.json"
    assert read_manifest(tmp_path / "run").command == ["again"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        pytest.param(lambda out: out.write_text("mine"), "is a file, not a folder", id="a file"),
        pytest.param(
            lambda out: (out / "verdicts").mkdir(parents=True) or (out / "verdicts" / "thesis.tex").write_text("mine"),
            "holds 1 file that this program would replace and did not write",
            id="somebody else's verdicts",
        ),
    ],
)
def test_a_place_that_is_not_a_runs_is_refused(tmp_path, make, message):
    make(tmp_path / "run")
    with pytest.raises(InputError, match=message), writing_run(tmp_path / "run"):
        pass


def test_reading_a_run_that_is_not_whole_says_so(tmp_path):
    with pytest.raises(InputError, match=r"no run\.json"):
        read_manifest(tmp_path)


def test_run_json_is_text_for_people(tmp_path):
    with writing_run(tmp_path / "run") as writer:
        writer.manifest(msgspec.structs.replace(MANIFEST, models={"vít": {}}))
    text = (tmp_path / "run" / "run.json").read_text(encoding="utf-8")
    assert '"vít"' in text
    assert json.loads(text)["models"] == {"vít": {}}


def test_the_old_run_json_goes_first(tmp_path, monkeypatch):
    """Killed in between, the directory must not pass for the old run."""
    from pathlib import Path

    def write():
        with writing_run(tmp_path / "run") as writer:
            writer.verdicts("model", columns(1))
            writer.table("summary.parquet", summary_table([]))
            writer.manifest(msgspec.structs.replace(MANIFEST, models={"model": {}}))

    write()
    unlink, replace, steps = Path.unlink, Path.replace, []
    monkeypatch.setattr(Path, "unlink", lambda self, **how: steps.append(self) or unlink(self, **how))
    monkeypatch.setattr(Path, "replace", lambda self, target: steps.append(target) or replace(self, target))
    write()
    inside = [path.name for path in steps if path.parent in (tmp_path / "run", tmp_path / "run" / "verdicts")]
    touched = [name for name in inside if not name.startswith(".")]
    assert touched[0] == touched[-1] == "run.json"
    assert "model.parquet" in touched
