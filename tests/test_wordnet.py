"""WordNet 3.0's nouns, looked up in the shipped table, agree with nltk and with what is published of them."""

import os
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from imagenet_errors.labels import imagenet_1k
from imagenet_errors.problems import InputError
from imagenet_errors.wordnet import load_wordnet

WORDNET = load_wordnet()
CLASSES = WORDNET.rows(imagenet_1k().wnids)
SOME_NOUNS = np.random.default_rng(0).choice(len(WORDNET), 500, replace=False).tolist()
SCRIPTS = Path(__file__).parents[1] / "scripts"


def names(rows):
    return [WORDNET.name(int(row)) for row in rows]


@pytest.fixture(scope="module")
def nltk_synset():
    folder = os.environ.get("IMAGENET_ERRORS_WORDNET_DIR")
    if not folder:
        pytest.skip("IMAGENET_ERRORS_WORDNET_DIR names no folder with WordNet 3.0's database files")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(SCRIPTS)
        from build_wordnet import nltk_wordnet
    with nltk_wordnet(Path(folder), list(imagenet_1k().wnids)) as reader:
        yield lambda row: reader.synset_from_pos_and_offset("n", int(WORDNET.synsets[row]))


@pytest.mark.parametrize("rows", [SOME_NOUNS, CLASSES.tolist()], ids=["some nouns", "the 1000 classes"])
class TestAgreesWithNltk:
    def test_on_names_and_lemmas(self, rows, nltk_synset):
        for row in rows:
            synset = nltk_synset(row)
            assert WORDNET.name(row) == synset.name()
            assert WORDNET.lemmas(row) == tuple(synset.lemma_names())

    def test_on_direct_relations(self, rows, nltk_synset):
        for row in rows:
            synset = nltk_synset(row)
            above = synset.hypernyms() + synset.instance_hypernyms()
            assert set(names(WORDNET.hypernyms(row))) == {other.name() for other in above}
            assert set(names(WORDNET.hyponyms(row))) == {other.name() for other in synset.hyponyms()}

    def test_on_paths_to_the_root(self, rows, nltk_synset):
        for row in rows:
            paths = {tuple(other.name() for other in path) for path in nltk_synset(row).hypernym_paths()}
            assert {tuple(names(path)) for path in WORDNET.hypernym_paths(row)} == paths

    def test_on_all_that_lies_above(self, rows, nltk_synset):
        for row in rows:
            synset = nltk_synset(row)
            above = synset.closure(lambda other: other.hypernyms() + other.instance_hypernyms())
            assert set(names(WORDNET.ancestors(row))) == {synset.name(), *(other.name() for other in above)}

    def test_on_all_that_lies_below(self, rows, nltk_synset):
        for row in rows:
            synset = nltk_synset(row)
            below = synset.closure(lambda other: other.hyponyms())
            assert set(names(WORDNET.descendants(row))) == {synset.name(), *(other.name() for other in below)}


def test_there_are_as_many_synsets_as_wordnet_counts_nouns():
    assert len(WORDNET) == 82_115
    assert len(set(WORDNET.names.to_pylist())) == 82_115


def test_every_class_has_the_synset_that_its_wnid_names():
    assert [WORDNET.wnid(row) for row in CLASSES] == list(imagenet_1k().wnids)


def test_304_classes_have_several_paths_to_the_root():
    assert sum(len(WORDNET.hypernym_paths(row)) > 1 for row in CLASSES.tolist()) == 304


@pytest.mark.parametrize(("lemma", "n_classes"), [("organism", 410), ("artifact", 522)])
def test_the_groups_are_the_classes_below_a_lemma(lemma, n_classes):
    below = [any(lemma in WORDNET.lemmas(row) for row in WORDNET.ancestors(own).tolist()) for own in CLASSES]
    assert sum(below) == n_classes
    assert below == imagenet_1k().in_group(lemma).tolist()


def test_names_and_wnids_may_be_mixed_and_repeated():
    rows = WORDNET.rows(["tench.n.01", "n01440764", "terrier.n.01", "tench.n.01"])
    assert names(rows) == ["tench.n.01", "tench.n.01", "terrier.n.01", "tench.n.01"]


def test_no_keys_have_no_rows():
    assert WORDNET.rows([]).tolist() == []


@pytest.mark.parametrize(
    ("key", "says"),
    [
        pytest.param("n01440765", "WordNet 3.1 and later number", id="an offset between two synsets"),
        pytest.param("n99999999", "WordNet 3.1 and later number", id="an offset past the end"),
        pytest.param("n00000000", "WordNet 3.1 and later number", id="an offset before the first"),
        pytest.param("terier.n.01", "terrier.n.01", id="a slip in a name"),
        pytest.param("Terrier", "terrier.n.01", id="a lemma instead of a name"),
        pytest.param("zzz", 'Write a synset as "terrier.n.01"', id="nothing like a name"),
        pytest.param("run.v.01", "run.n.01", id="a verb"),
        pytest.param("", "Write a synset", id="nothing"),
    ],
)
def test_what_is_no_noun_is_refused_with_a_way_out(key, says):
    with pytest.raises(InputError, match=says) as problem:
        WORDNET.row(key, where="dogs.toml")
    assert str(problem.value).startswith(f"dogs.toml: no noun synset {key!r} in WordNet 3.0")


def test_the_count_of_unknown_synsets_is_told():
    with pytest.raises(InputError, match=r"no noun synset 'a.n.99' in WordNet 3.0 \(2 unknown in all\)"):
        WORDNET.rows(["dog.n.01", "a.n.99", "n00000002"])


def test_paths_run_through_instance_hypernyms():
    einstein = WORDNET.row("einstein.n.01")
    assert "physicist.n.01" in names(WORDNET.hypernyms(einstein))
    assert names(WORDNET.hypernym_paths(einstein)[0])[0] == "entity.n.01"


def test_instances_are_not_below():
    physicist, einstein = WORDNET.rows(["physicist.n.01", "einstein.n.01"])
    assert einstein not in WORDNET.descendants(physicist)


def test_the_nearest_ancestors_come_first():
    assert names(WORDNET.ancestors(WORDNET.row("tench.n.01")))[:2] == ["tench.n.01", "cyprinid.n.01"]


def test_the_ancestors_of_many_are_those_of_each():
    owner, ancestor = WORDNET.ancestor_pairs(CLASSES)
    each = [sorted(WORDNET.ancestors(row).tolist()) for row in CLASSES]
    assert Counter(zip(owner.tolist(), ancestor.tolist(), strict=True)) == Counter(
        (position, row) for position, rows in enumerate(each) for row in rows
    )


def test_the_ancestors_of_none_are_none():
    owner, ancestor = WORDNET.ancestor_pairs(CLASSES[:0])
    assert (len(owner), len(ancestor)) == (0, 0)
