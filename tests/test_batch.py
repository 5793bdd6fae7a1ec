"""A batch loses nothing: every model ends in the summary or, with its reason, among the failures."""

import os
import signal

import pyarrow.parquet as pq
import pytest

from timm_world import arguments, end, kill_after, make_images, needs_timm, start, tables_of, wait_for_models

needs_timm()


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    return make_images(tmp_path_factory.mktemp("batch") / "images", 10)


def failures(run):
    table = pq.read_table(run / "failures.parquet").to_pydict()
    return dict(zip(table["model"], table["reason"], strict=True))


def test_good_models_are_evaluated_and_bad_ones_listed_with_their_reasons(program, images, tmp_path):
    run = tmp_path / "run"
    bad = ["nonsense", "unbuildable_net", "raising_net", "nan_net", "odd_net", "headless_net"]
    answer = program(*arguments([*bad, "tiny_net.seed1", "wide_net", "half_net"], images, run))
    assert answer.status == 1
    summary = pq.read_table(run / "summary.parquet")
    assert sorted(summary["model"].to_pylist()) == ["half_net.x", "tiny_net.seed1", "wide_net.in22k"]
    reasons = failures(run)
    assert len(reasons) == len(bad)
    assert "timm 1" in reasons["nonsense"]
    assert "no such layer" in reasons["unbuildable_net.x"]
    assert "this model cannot see" in reasons["raising_net.x"]
    assert "all 10 predictions are invalid: its outputs are NaN or infinite" in reasons["nan_net.x"]
    assert "7 outputs" in reasons["odd_net.x"]
    assert "it yields features" in reasons["headless_net.x"]


def test_the_summary_holds_what_is_known_of_the_models(program, images, tmp_path):
    run = tmp_path / "run"
    assert program(*arguments(["tiny_net.seed1", "wide_net"], images, run)).status == 0
    rows = {row["model"]: row for row in pq.read_table(run / "summary.parquet").to_pylist()}
    assert rows["wide_net.in22k"]["training_data"] == "ImageNet-21k"
    assert rows["tiny_net.seed1"]["n_parameters"] == 4000
    assert rows["tiny_net.seed1"]["training_data"] is None


def test_a_second_run_predicts_nothing_and_gives_the_same_tables(program, images, tmp_path):
    run = tmp_path / "run"
    program(*arguments(["tiny_net.*"], images, run))
    before, changed = tables_of(run), (run / "predictions" / "tiny_net.seed1.parquet").stat().st_mtime_ns
    answer = program(*arguments(["tiny_net.*"], images, run))
    assert "6 done, 0 to predict" in answer.out
    assert tables_of(run) == before
    assert (run / "predictions" / "tiny_net.seed1.parquet").stat().st_mtime_ns == changed


def test_more_models_are_added_to_a_run_and_damaged_files_mended(program, images, tmp_path):
    run = tmp_path / "run"
    program(*arguments(["tiny_net.seed1", "tiny_net.seed2"], images, run))
    damaged = run / "predictions" / "tiny_net.seed2.parquet"
    damaged.write_bytes(damaged.read_bytes()[:500])
    answer = program(*arguments(["tiny_net.seed1", "tiny_net.seed2", "tiny_net.seed3"], images, run))
    assert answer.status == 0
    assert "1 done, 2 to predict" in answer.out
    assert pq.read_table(run / "summary.parquet").num_rows == 3


def test_the_plan_alone_writes_nothing(program, images, tmp_path):
    answer = program(*arguments(["tiny_net.*", "nonsense"], images, tmp_path / "run", "--plan"))
    assert answer.status == 1
    assert "0 done, 6 to predict, 1 cannot be used" in answer.out
    assert not (tmp_path / "run").exists()


def test_when_every_model_fails_the_reasons_are_written_still(program, images, tmp_path):
    answer = program(*arguments(["raising_net", "nan_net"], images, tmp_path / "run"))
    assert answer.status == 1
    assert set(failures(tmp_path / "run")) == {"raising_net.x", "nan_net.x"}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        pytest.param({"--annotations": "nowhere.json"}, "nowhere.json: no such file", id="no annotations"),
        pytest.param({"--images": "nowhere"}, "nowhere: no such folder", id="no images"),
        pytest.param({"--allow-partial": None}, "annotated images are not in it", id="images are lacking"),
        pytest.param({"--precision": "int3"}, "--precision: no precision 'int3'", id="precision"),
        pytest.param({"--engine": "steam"}, "--engine: no engine 'steam'", id="engine"),
        pytest.param({"--device": "cuda:77"}, "--device: 'cuda:77' cannot be used", id="device"),
    ],
)
def test_what_cannot_work_is_refused_before_the_first_prediction(program, images, tmp_path, changed, message):
    given = arguments(["tiny_net.seed1"], images, tmp_path / "run")
    for flag, value in changed.items():
        if flag in given and value is None:
            given.remove(flag)
        elif flag in given:
            given[given.index(flag) + 1] = value
        else:
            given += [flag, value]
    answer = program(*given)
    assert answer.status == 2
    assert message in answer.err
    assert not (tmp_path / "run").exists()


def test_images_that_nobody_annotated_are_refused_at_once(program, tmp_path):
    folder = make_images(tmp_path / "images", 2)
    for path in folder.iterdir():
        path.rename(path.with_name(path.name.replace("ILSVRC2012_val", "holiday")[:-12] + "x.JPEG"))
    answer = program(*arguments(["tiny_net.seed1"], folder, tmp_path / "run"))
    assert answer.status == 2
    assert "is annotated" in answer.err


def test_a_signal_to_all_processes_at_once_is_heard_by_the_program_alone(images, tmp_path):
    """As Slurm sends it: the processes that decode images end with the program, not before it."""
    predictions = tmp_path / "run" / "predictions"
    ended = start(arguments(["tiny_net.seed1", "slow_net"], images, tmp_path / "run", "--workers", 1))
    wait_for_models(ended, predictions, 1)
    os.killpg(ended.pid, signal.SIGTERM)
    status, errors = end(ended)
    assert (status, errors.splitlines()[-1]) == (143, "Terminated: nothing was left half-written.")
    assert "Traceback" not in errors
    assert "tiny_net.seed1.parquet" in [path.name for path in predictions.iterdir()]


def test_killed_at_any_point_the_same_command_goes_on_to_the_same_tables(images, tmp_path):
    command = arguments(["tiny_net.*", "slow_net", "raising_net"], images, tmp_path / "killed")
    predictions = tmp_path / "killed" / "predictions"
    for n_models in (1, 4):
        n_before = kill_after(start(command), predictions, n_models)
        assert n_before < 7
    status, errors = end(start(command))
    assert status == 1, errors
    whole = arguments(["tiny_net.*", "slow_net", "raising_net"], images, tmp_path / "whole")
    assert end(start(whole))[0] == 1
    interrupted, uninterrupted = tables_of(tmp_path / "killed"), tables_of(tmp_path / "whole")
    for tables in (interrupted, uninterrupted):
        tables["failures"].pop("file")
    assert interrupted == uninterrupted
    assert not [path for path in predictions.iterdir() if path.name.startswith(".")]
