"""``agreement`` without arguments: both of the panel's files and its labels by name, the same as by path."""

import json

import pytest

from download_world import COMMIT, file_table, source_table
from imagenet_errors.downloads import CACHE_VARIABLE, MIRROR_VARIABLE, OFFLINE_VARIABLE, registry
from imagenet_errors.study.agreement_files import FILES
from panel_world import panel_world

PUBLISHED = {
    "vit3b": ("--human", "vit_mistakes.json"),
    "greedy-soups": ("--human", "soups_mistakes.json"),
    "multilabel": ("--annotations", "annotations.csv"),
}


@pytest.fixture
def world(tmp_path, monkeypatch):
    """The small world, whose files are published ones that a mirror on this disk has."""
    world = panel_world(tmp_path)
    mirror = tmp_path / "mirror" / "owner" / "repo" / COMMIT
    mirror.mkdir(parents=True)
    tables = ["mirrors = []", source_table("panel", options=["--human"], more='parts = ["vit3b", "greedy-soups"]')]
    for name, (option, file) in PUBLISHED.items():
        content = (tmp_path / file).read_bytes()
        (mirror / file).write_bytes(content)
        tables += [source_table(name, options=[option]), file_table(f"{name}.files", content, path=file)]
    (tmp_path / "sources.toml").write_text("\n".join(tables), encoding="utf-8")
    monkeypatch.setattr(registry, "shipped", lambda *_: tmp_path / "sources.toml")
    monkeypatch.setenv(MIRROR_VARIABLE, str(tmp_path / "mirror"))
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setenv(OFFLINE_VARIABLE, "1")
    return world


@pytest.fixture
def agree(program, world):
    """Run the command with more arguments; the folder that it wrote."""

    def run(*more, out="out"):
        evidence = ("--superclasses", world.folder / "fish.toml", "--co-occurrence", world.folder / "pairs.csv")
        answer = program("agreement", *more, *evidence, "--out", world.folder / out)
        assert answer.status == 0, answer.err
        return world.folder / out

    return run


def test_without_arguments_it_takes_both_files_and_the_labels_that_the_panel_had(agree):
    content = json.loads((agree() / "agreement.json").read_text())
    assert set(content["models"]) == {"vit_mistakes", "soups_mistakes"}
    assert content["annotations"] == "multilabel"
    assert set(content["models"]["vit_mistakes"]["by_order"]) == {"the paper's", "the published program's"}


def test_a_file_by_name_and_by_path_give_the_same_bytes(agree, world):
    named = agree("--human", "vit3b", out="named")
    given = agree("--human", world.human, out="given")
    assert [(named / file).read_bytes() for file in FILES] == [(given / file).read_bytes() for file in FILES]


def test_a_copy_of_a_published_file_is_known_whatever_its_name(agree, world):
    copy = world.folder / "copy.json"
    copy.write_bytes(world.human.read_bytes())
    named, given = agree("--human", "vit3b", out="named"), agree("--human", copy, out="given")
    assert (named / "agreement.json").read_bytes() == (given / "agreement.json").read_bytes()


def test_the_page_says_by_which_published_files_it_was_judged(agree):
    page = (agree() / "agreement.md").read_text()
    assert "--human vit3b --human greedy-soups --annotations multilabel" in page
    assert "| vit_mistakes.json |" in page
    assert "| vit3b | own |" in page


def test_one_file_twice_is_refused(program, world):
    answer = program("agreement", "--human", "panel", "--human", "vit3b", "--out", world.folder / "out")
    assert answer.status == 2
    assert "another file is of vit_mistakes, too" in answer.err
