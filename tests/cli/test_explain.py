"""``explain`` from a run directory to a table of explanations, whatever happens on the way."""

import os
import signal
import time

import pyarrow.parquet as pq
import pytest

from explain_world import column, without
from patience import PATIENCE_SECONDS
from timm_world import MODELS, arguments, end, make_images, needs_timm, start

needs_timm()
COLUMNS = {
    *("file_name", "prediction", "target", "error_type", "method", "grid", "baseline", "p_before", "margin_map"),
    *("order", "n_hidden_to_flip", "flips_to", "flips_to_type", "decoy", "n_hidden_to_decoy", "chance_flip"),
    *("transfer", "verdict", "seconds"),
}


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A run of a tiny model on twenty images, whose labels it gets wrong; made in a process of its own."""
    top = tmp_path_factory.mktemp("explain")
    images = make_images(top / "images", 20)
    status, errors = end(start(arguments(["tiny_net.seed1", "tiny_net.seed2"], images, top / "run")))
    assert status == 0, errors
    return top / "run", images


def command(run, images, *more):
    given = ["explain", run, "--model", "tiny_net.seed1", "--images", images, "--register", MODELS, "--device", "cpu"]
    types = ["--error-types", "model_failure,spurious_correlation,fine_grained"]
    return [*map(str, given), "--batch-size", "16", *types, *map(str, more)]


def test_locate_writes_the_columns_of_its_contract_and_says_first_whether_to_look(program, world, tmp_path):
    run, images = world
    answer = program(
        *command(run, images, "--grid", "4", "--limit", "3", "--also", "tiny_net.seed2", "--out", tmp_path)
    )
    assert answer.status == 0, answer.err
    assert answer.out.startswith("Hiding up to a quarter of the picture turns ")
    table = pq.read_table(tmp_path / "locate" / "tiny_net.seed1.parquet")
    assert set(table.column_names) >= COLUMNS
    assert len(table) == 3
    for row in table.to_pylist():
        assert len(row["margin_map"]) == 16
        assert row["verdict"] in ("located", "chance", "diffuse", "never")
        assert [other["model"] for other in row["transfer"]] == ["tiny_net.seed2"]
        assert (row["flips_to"] is None) == (row["flips_to_type"] is None) == (row["n_hidden_to_flip"] is None)


def test_answers_that_the_model_does_not_give_here_are_left_out_and_told(program, world, tmp_path):
    run, images = world
    given = ["explain", run, "--model", "tiny_net.seed2", "--run-model", "tiny_net.seed1", "--images", images]
    more = ["--register", MODELS, "--device", "cpu", "--limit", "3", "--method", "stability", "--out", tmp_path]
    answer = program(*map(str, [*given, *more, "--error-types", "model_failure,spurious_correlation,fine_grained"]))
    assert answer.status == 0, answer.err
    n_other = (
        pq.read_table(tmp_path / "stability" / "tiny_net.seed1.parquet")["verdict"].to_pylist().count("other_answer")
    )
    assert n_other
    assert f"{n_other} of 3 answers left out. {n_other}: the model now answers otherwise" in answer.err


def test_every_cell_can_be_tried_at_every_step(program, world, tmp_path):
    run, images = world
    needed = {}
    for n_tried in ("0", "1"):
        more = ("--grid", "4", "--limit", "4", "--cells-tried", n_tried, "--out", tmp_path / n_tried)
        assert program(*command(run, images, *more)).status == 0
        needed[n_tried] = column(tmp_path / n_tried / "locate" / "tiny_net.seed1.parquet", "order")
    assert [order[0] for order in needed["0"]] == [order[0] for order in needed["1"]]  # the first step tries all
    assert needed["0"] != needed["1"]


@pytest.mark.parametrize(
    ("method", "more", "line"),
    [
        pytest.param("sis", ("--pixels-per-step", "256"), "withstand their controls", id="sis"),
        pytest.param("stability", (), "stay in at least four fifths", id="stability"),
    ],
)
def test_the_other_methods_run_too(program, world, tmp_path, method, more, line):
    run, images = world
    answer = program(*command(run, images, "--method", method, "--limit", "2", *more, "--out", tmp_path))
    assert answer.status == 0, answer.err
    assert line in answer.out
    assert (tmp_path / method / "tiny_net.seed1.parquet").is_file()


def test_the_same_seed_gives_the_same_table(program, world, tmp_path):
    run, images = world
    tables = []
    for name in ("one", "other"):
        program(*command(run, images, "--grid", "4", "--limit", "2", "--out", tmp_path / name))
        tables.append(pq.read_table(tmp_path / name / "locate" / "tiny_net.seed1.parquet"))
    assert without(tables[0], "seconds") == without(tables[1], "seconds")


def test_killed_and_resumed_it_ends_in_the_same_table(world, tmp_path):
    run, images = world
    given = command(run, images, "--grid", "8", "--right-answers", "2")
    assert end(start([*given, "--out", str(tmp_path / "whole")]))[0] == 0
    killed = start([*given, "--out", str(tmp_path / "killed")])
    parts = tmp_path / "killed" / "locate" / "tiny_net.seed1.parts"
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not list(parts.glob("0*.parquet")) and killed.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    if killed.poll() is None:
        os.killpg(killed.pid, signal.SIGKILL)
    killed.communicate(timeout=PATIENCE_SECONDS)
    assert end(start([*given, "--out", str(tmp_path / "killed")]))[0] == 0
    whole, resumed = (
        pq.read_table(tmp_path / name / "locate" / "tiny_net.seed1.parquet") for name in ("whole", "killed")
    )
    assert without(whole, "seconds") == without(resumed, "seconds")


@pytest.mark.parametrize(
    ("more", "message"),
    [
        pytest.param(("--method", "guess"), "locate, sis, maps, stability", id="no such method"),
        pytest.param(("--error-types", "typo"), "model_failure", id="no such error type"),
        pytest.param(("--model", "tiny_net.seed3"), "--run-model", id="a model that the run has not"),
        pytest.param(("--cells-tried", "-1"), "--cells-tried", id="fewer cells than none"),
        pytest.param(("--grid", "99"), "2 to 32", id="a grid finer than the pixels"),
    ],
)
def test_what_cannot_be_is_refused_with_the_way_out(program, world, tmp_path, more, message):
    run, images = world
    answer = program(*command(run, images), "--out", tmp_path, *more)
    assert answer.status == 2
    assert message in answer.err


def test_without_a_model_or_images_it_says_what_is_needed(program, world):
    run, images = world
    assert "--model: is needed" in program("explain", run, "--images", images).err
    assert "--images: is needed" in program("explain", run, "--model", "tiny_net").err
