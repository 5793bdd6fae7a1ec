"""``imagenet-errors data``: one command gets everything, says where it is, and what could not be had."""

import json
import re

import pytest

from download_world import JUDGED, TABLE, server, world

__all__ = ["server", "world"]


def test_all_is_fetched_and_listed(world, program):
    answer = program("data", "fetch", "all")
    assert answer.status == 0
    assert [line.partition(":")[0] for line in answer.out.splitlines()] == ["labels", "judged-a", "judged-b", "stats"]
    assert answer.err.count("Fetching ") == 4
    rows = json.loads(program("data", "list", "--json").out)
    assert {row["name"] for row in rows if row["state"] == "here"} == {
        "labels",
        "judged-a",
        "judged-b",
        "panel",
        "stats",
    }


def test_the_list_shows_size_licence_commit_and_state(world, program):
    out = program("data", "list").out
    assert all(word in out for word in ("size", "licence", "commit", "state", "01234567", "own", "not fetched"))


def test_a_narrow_screen_has_entries_for_a_table(world, program, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    out = re.sub(r"\x1b\[[0-9;]*m", "", program("data", "list").out)
    assert "│" not in out
    assert max(map(len, out.splitlines())) <= 80
    assert all(word in out for word in ("labels: ", "01234567", "own", "not fetched"))


def test_what_could_not_be_had_is_told_and_the_rest_done(world, program):
    world.server.files = {place: content for place, content in world.server.files.items() if content == TABLE}
    answer = program("data", "fetch", "all")
    assert answer.status == 1
    assert answer.out.startswith("labels: ")
    assert sum(line.startswith("Error: ") for line in answer.err.splitlines()) == 3


def test_one_that_cannot_be_had_is_bad_input(world, program):
    answer = program("data", "fetch", "labels", "--offline")
    assert answer.status == 2
    assert "--from FILE|DIR" in answer.err
    assert world.server.n_requests == {}


def test_a_local_copy_is_taken_and_its_place_printed(world, program, tmp_path):
    (tmp_path / "a b.json").write_bytes(JUDGED["judged-b"])
    out = program("data", "fetch", "judged-b", "--from", tmp_path / "a b.json").out
    assert out == program("data", "path", "judged-b").out == f"{world.place('judged/b.json')}\n"


@pytest.mark.parametrize("name", ["panel", "stats"])
def test_a_path_is_told_also_of_what_is_not_here(world, program, name):
    assert program("data", "path", name).out.count(str(world.cache)) == {"panel": 2, "stats": 1}[name]
