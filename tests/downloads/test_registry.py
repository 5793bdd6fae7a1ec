"""What is told of a file that judged something is known by its bytes, wherever it lies."""

import hashlib

import pytest

from download_world import COMMIT, JUDGED, OFFICIAL, STATISTICS, TABLE
from imagenet_errors.downloads import facts_of, fetch, layouts, names_for, source, sources


def test_a_published_file_is_told_with_address_commit_hash_and_licence(world):
    (facts,) = facts_of(*fetch("labels", network=world.network))
    assert facts.source == "labels"
    assert facts.file_name == "multilabel.csv"
    assert facts.title == "What labels is"
    assert facts.address == f"{world.server.url}/first/owner/repo/{COMMIT}/labels/multilabel.csv"
    assert facts.commit == COMMIT
    assert facts.licence == "own"
    assert facts.sha256 == hashlib.sha256(TABLE).hexdigest()
    assert facts.n_bytes == len(TABLE)


def test_a_copy_elsewhere_is_told_in_the_same_words(world, tmp_path):
    (tmp_path / "my judgements.json").write_bytes(JUDGED["judged-a"])
    assert facts_of(tmp_path / "my judgements.json") == facts_of(*fetch("judged-a", network=world.network))


def test_another_layout_has_its_own_address_and_no_commit(world, tmp_path):
    (tmp_path / "official.json").write_bytes(OFFICIAL)
    (facts,) = facts_of(tmp_path / "official.json")
    assert (facts.source, facts.address, facts.commit) == ("labels", f"{world.server.url}/bucket/official.json", "")


def test_a_file_of_the_users_has_its_name_and_hash_alone(world, tmp_path):
    (tmp_path / "mine.csv").write_bytes(b"own")
    (facts,) = facts_of(tmp_path / "mine.csv")
    assert (facts.file_name, facts.sha256, facts.n_bytes) == ("mine.csv", hashlib.sha256(b"own").hexdigest(), 3)
    assert (facts.source, facts.title, facts.address, facts.commit, facts.licence) == ("",) * 5


def test_a_folder_is_told_file_by_file(world):
    facts = facts_of(*fetch("stats", network=world.network))
    assert [one.file_name for one in facts] == ["all.csv", "other.csv"]
    assert {one.source for one in facts} == {"stats"}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        pytest.param("local", b"file_name,prediction,is_oov\n", id="no hash known"),
        pytest.param("labels", OFFICIAL + b"\n", id="same content"),
    ],
)
def test_a_kept_copy_without_a_known_hash_is_told_by_its_source(world, tmp_path, name, content):
    (tmp_path / "mine").write_bytes(content)
    (facts,) = facts_of(*fetch(name, copy_from=tmp_path / "mine"))
    assert (facts.source, facts.title, facts.licence) == (name, f"What {name} is", "own")
    assert (facts.address, facts.commit, facts.sha256) == ("", "", hashlib.sha256(content).hexdigest())


def test_parts_are_the_files_of_their_sources(world):
    assert layouts("panel")[0] == layouts("judged-a")[0] + layouts("judged-b")[0]
    assert names_for("--human") == ("judged-a", "judged-b", "panel")
    assert len(layouts("stats")[0]) == len(STATISTICS)


def test_the_official_file_is_still_known_by_its_size_and_hash():
    ((table,), (official,)) = layouts("multilabel")
    assert (table.n_bytes, official.n_bytes) == (1_357_853, 200_417_830)
    assert official.sha256 == "d5b2b6111fc9efea16aaebd21bc5a401d16ad18285d3fd99635d8b32ebdb6287"
    assert table.addresses[0] == f"https://raw.githubusercontent.com/{table.place}"
    assert source("multilabel").commit in table.place


def test_what_is_fetched_in_all_is_a_few_megabytes():
    files = {file for name in sources() for file in layouts(name)[0]}
    assert sum(file.n_bytes or 0 for file in files) < 15e6
