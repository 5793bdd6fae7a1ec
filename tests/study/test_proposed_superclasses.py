"""Superclasses proposed from WordNet are a file to be edited, and say so wherever they are used."""

import csv

import numpy as np
import pytest

from imagenet_errors.evidence.superclasses import load_superclasses
from imagenet_errors.labels import LabelSpace, imagenet_1k
from imagenet_errors.problems import InputError
from imagenet_errors.study.proposed_superclasses import as_toml, propose
from imagenet_errors.wordnet import load_wordnet

CLASSES = (
    ("n02123045", "tabby"),
    ("n02123159", "tiger cat"),
    ("n02088364", "beagle"),
    ("n04344873", "couch"),
    ("", "thing"),
)
OWN = LabelSpace(*zip(*CLASSES, strict=True), tuple(name for _, name in CLASSES), ("",) * len(CLASSES))


def test_groups_are_the_largest_that_hold_few_enough():
    assert [one.classes for one in propose(OWN, load_wordnet(), max_leaves=2)] == [(0, 1)]
    assert propose(OWN, load_wordnet(), max_leaves=3)[0].classes == (0, 1, 2)


def test_every_class_says_how_wordnet_leads_to_its_group():
    (cats,) = propose(OWN, load_wordnet(), max_leaves=2)
    assert cats.paths == ("tabby.n.01 < domestic_cat.n.01", "tiger_cat.n.02 < domestic_cat.n.01")


def test_the_file_is_read_back_as_not_reviewed(tmp_path):
    text = as_toml(propose(OWN, load_wordnet(), max_leaves=2), OWN, max_leaves=2)
    (tmp_path / "p.toml").write_text(text)
    found = load_superclasses(tmp_path / "p.toml", labels=OWN)
    assert found.names == ("domestic cat (proposed, not reviewed)",)
    assert "# 4 thing (no wnid)" in text
    (tmp_path / "p.toml").write_text(text.replace("reviewed = false\n", ""))
    assert load_superclasses(tmp_path / "p.toml", labels=OWN).names == ("domestic cat",)


def test_confusions_sort_and_are_told_but_make_no_group():
    confused = np.zeros((5, 5), dtype=np.int64)
    confused[0, 1], confused[0, 4] = 7, 99
    text = as_toml(propose(OWN, load_wordnet(), max_leaves=2), OWN, max_leaves=2, confused=confused)
    assert "confuse them 7 times" in text
    assert '"4 thing"' not in text


@pytest.mark.parametrize(("classes", "size"), [(OWN, 1), (LabelSpace(("", ""), ("a", "b"), ("a", "b"), ("", "")), 25)])
def test_without_wnids_or_room_nothing_can_be_proposed(classes, size):
    with pytest.raises(InputError, match="two classes"):
        propose(classes, load_wordnet(), max_leaves=size)


def test_the_command_asks_for_a_source_and_marks_the_run(program, tmp_path):
    assert "confusions alone propose nothing" in program("superclasses", "propose").err
    out = tmp_path / "p.toml"
    assert program("superclasses", "propose", "--wordnet", "--out", out).status == 0
    assert program("evaluate", "--demo", "--superclasses", out, "--out", tmp_path / "run").status == 0
    assert "proposed, not reviewed" in (tmp_path / "run" / "run.json").read_text()


def test_agreement_with_the_published_pairs(shared, tmp_path):
    kappa = pytest.importorskip("sklearn.metrics").cohen_kappa_score
    labels = imagenet_1k()
    (tmp_path / "p.toml").write_text(as_toml(propose(labels, load_wordnet()), labels, max_leaves=25))
    shares = load_superclasses(tmp_path / "p.toml").shares
    with (shared / "published" / "superclass_pairs.csv").open() as lines:
        pairs = list(csv.DictReader(lines))
    ours = [shares[int(pair["a"]), int(pair["b"])] for pair in pairs]
    assert kappa(ours, [pair["share_superclass"] == "True" for pair in pairs]) >= 0.50
