"""A run replaces what an earlier run wrote, and nothing else."""

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from imagenet_errors.problems import InputError
from imagenet_errors.runs.directory import FAILURES, check_out, writing_run
from imagenet_errors.runs.manifest import Manifest, manifest_bytes


def run_of(out, *models):
    with writing_run(out) as writer:
        for model in models:
            writer.table(f"verdicts/{model}.parquet", pa.table({"x": [1]}))
        writer.table("summary.parquet", pa.table({"model": list(models)}))
        writer.manifest(Manifest(version="0", annotations="real", models={model: {} for model in models}))


def test_a_run_replaces_an_earlier_one(tmp_path):
    run_of(tmp_path / "run", "a", "b")
    (tmp_path / "run" / "report.html").touch()
    run_of(tmp_path / "run", "c")
    assert [path.name for path in (tmp_path / "run" / "verdicts").iterdir()] == ["c.parquet"]
    assert not (tmp_path / "run" / "report.html").exists()


@pytest.mark.parametrize(
    "name", ["report.html", "failures.parquet", "verdicts/mine.parquet", "summary.parquet", "run.json"]
)
def test_a_users_own_file_of_a_runs_name_is_left_alone(tmp_path, name):
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("mine")
    with pytest.raises(InputError, match=rf"holds 1 file that .* did not write \(first: {name}\)"):
        run_of(tmp_path, "a")
    assert (tmp_path / name).read_text() == "mine"
    assert sorted(path.name for path in tmp_path.rglob("*") if path.is_file()) == [name.rpartition("/")[2]]


def test_a_users_file_among_a_runs_verdicts_is_left_alone(tmp_path):
    run_of(tmp_path / "run", "a")
    (tmp_path / "run" / "verdicts" / "mine.parquet").write_text("mine")
    with pytest.raises(InputError, match=r"first: verdicts/mine.parquet"):
        run_of(tmp_path / "run", "b")


def test_files_that_no_run_has_do_not_matter(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    run_of(tmp_path, "a")
    run_of(tmp_path, "a")
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_a_folder_of_verdicts_that_is_a_link_loses_nothing(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "mine.parquet").write_text("mine")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "verdicts").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="did not write"):
        run_of(tmp_path / "run", "a")
    assert (tmp_path / "elsewhere" / "mine.parquet").read_text() == "mine"


def test_what_a_killed_run_was_putting_into_place_is_ours(tmp_path):
    run_of(tmp_path / "run", "a")
    (tmp_path / "run" / "run.json").unlink()
    names = ["run.json", "summary.parquet", "verdicts/a.parquet", "verdicts/b.parquet"]
    (tmp_path / "run" / ".placing.json").write_bytes(msgspec.json.encode(names))
    run_of(tmp_path / "run", "b")
    assert [path.name for path in (tmp_path / "run" / "verdicts").iterdir()] == ["b.parquet"]
    assert not (tmp_path / "run" / ".placing.json").exists()


def test_the_failures_of_a_batch_without_results_are_ours(tmp_path):
    pq.write_table(FAILURES.empty_table(), tmp_path / "failures.parquet")
    check_out(tmp_path)


def test_a_full_disk_is_one_readable_line(tmp_path):
    def fill():
        with writing_run(tmp_path / "run"):
            raise OSError(28, "No space left on device")

    with pytest.raises(InputError, match="run: cannot be written: No space left on device"):
        fill()
    assert not [*tmp_path.iterdir()]


def test_the_content_of_run_json_is_the_manifests(tmp_path):
    run_of(tmp_path / "run", "a")
    manifest = Manifest(version="0", annotations="real", models={"a": {}})
    assert (tmp_path / "run" / "run.json").read_bytes() == manifest_bytes(manifest)
