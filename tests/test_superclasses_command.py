"""``superclasses`` shows the relation to people and machines, the shipped one or a user's."""

import json

import numpy as np
import pytest

from imagenet_errors.evidence.superclasses import load_superclasses

OWN = """
domain = "animals"

[[superclass]]
name = "fishes with a sword"
reason = "They look alike."
classes = ["5 electric ray", "n01498041 stingray"]
"""


@pytest.fixture
def own(tmp_path):
    (tmp_path / "own.toml").write_text(OWN, encoding="utf-8")
    return tmp_path / "own.toml"


def test_json_is_one_object_of_name_to_class_indices(program):
    relation = json.loads(program("superclasses", "--json").out)
    shares = np.eye(1000, dtype=bool)
    for classes in relation.values():
        assert len(classes) >= 2
        shares[np.ix_(classes, classes)] = True
    assert (shares == load_superclasses().shares).all()


def test_all_are_in_the_table(program):
    answer = program("superclasses")
    assert all(name in " ".join(answer.out.split()) for name in load_superclasses().names[:5])
    assert f"{len(load_superclasses())} superclasses" in answer.out


def test_one_shows_its_reason_and_members(program, own):
    answer = program("superclasses", "fishes with a sword", "--superclasses", own)
    assert "They look alike." in answer.out
    assert "n01496331" in answer.out
    assert "stingray" in answer.out


@pytest.mark.parametrize("written", ["5", "n01496331", "electric ray", "Electric_Ray"])
def test_a_class_may_be_written_as_one_likes(program, own, written):
    answer = program("superclasses", written, "--superclasses", own)
    assert answer.status == 0
    assert "fishes with a sword" in answer.out


def test_json_of_a_class_gives_its_superclasses(program, own):
    answer = program("superclasses", "5", "--json", "--superclasses", own)
    assert json.loads(answer.out) == {"fishes with a sword": [5, 6]}


def test_a_class_alone_is_said_to_be_so(program, own):
    assert "in no superclass" in program("superclasses", "0", "--superclasses", own).out


def test_an_unknown_name_is_refused_with_names_like_it(program, own):
    answer = program("superclasses", "fishes with a swrd", "--superclasses", own)
    assert answer.status == 2
    assert "fishes with a sword" in answer.err


@pytest.mark.parametrize(("word", "n_found"), [("dog", 15), ("dogs", 15), ("Dog", 15), ("vehicle", 10)])
def test_a_kind_finds_what_contains_it(program, word, n_found):
    relation = json.loads(program("superclasses", word, "--json").out)
    assert len(relation) >= n_found
    assert "terriers" not in program("superclasses", "fruit").out
    out = " ".join(program("superclasses", word).out.split())
    assert all(name in out for name in relation)


def test_classes_of_ones_own_need_superclasses_of_their_own(program, tmp_path):
    (tmp_path / "classes.csv").write_text("index,name\n0,cat\n1,dog\n", encoding="utf-8")
    answer = program("superclasses", "--classes", tmp_path / "classes.csv")
    assert answer.status == 2
    assert "are of ImageNet's classes, not of these. Pass --superclasses FILE" in answer.err
