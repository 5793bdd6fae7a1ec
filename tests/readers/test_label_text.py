"""A label written as text means one class, or is called ambiguous, unknown or outside; it is never guessed."""

import csv
from collections import Counter
from pathlib import Path

import pytest

from imagenet_errors.labels import imagenet_1k
from imagenet_errors.readers.label_text import AMBIGUOUS, OUTSIDE, UNKNOWN, UNMAPPED, label_texts

LABELS = imagenet_1k()
TEXTS = label_texts(LABELS)


def names_of(vocabulary):
    """Twenty names and more, so that their vocabulary can be told."""
    with (Path(__file__).parents[2] / "data" / "class_names.csv").open(encoding="utf-8", newline="") as lines:
        return {int(row["index"]): row["name"] for row in csv.DictReader(lines) if row["vocabulary"] == vocabulary}


@pytest.mark.parametrize(
    ("text", "index"),
    [
        pytest.param("tench, Tinca tinca", 0, id="whole description"),
        pytest.param("tench, Tinca tinca: freshwater dace-like game fish", 0, id="timm's detailed"),
        pytest.param("n01440764", 0, id="wnid"),
        pytest.param("n01440764 tench, Tinca tinca", 0, id="wnid and names"),
        pytest.param("LABEL_65", 65, id="Hugging Face's number"),
        pytest.param("great_white_shark", 2, id="Keras's underscores"),
        pytest.param("great white shark", 2, id="first lemma"),
        pytest.param("Carcharodon carcharias", 2, id="a lemma that one class has"),
        pytest.param(" goldfish ", 1, id="blanks around"),
        pytest.param("maillot tank suit", 639, id="torchvision's name"),
        pytest.param("one-piece bathing suit", 639, id="open_clip's name"),
        pytest.param("Cardigan", 264, id="the dog"),
        pytest.param("cardigan", 474, id="the garment"),
        pytest.param("jack-o'-lantern", 607, id="apostrophe"),
    ],
)
def test_a_clear_label_means_its_class(text, index):
    assert TEXTS.classes_of([text]) == {text: index}


@pytest.mark.parametrize(
    ("text", "meaning", "possible"),
    [
        pytest.param("crane", AMBIGUOUS, {134, 517}, id="two whole descriptions"),
        pytest.param("polecat", AMBIGUOUS, {358, 361}, id="lemma of two classes"),
        pytest.param("tub", AMBIGUOUS, {435, 876}, id="another lemma of two"),
        pytest.param("sunglasses", AMBIGUOUS, {836, 837}, id="open_clip writes both so"),
        pytest.param("Tinca x tinca", UNKNOWN, set(), id="no name of any class"),
        pytest.param("nan", UNKNOWN, set(), id="nan"),
        pytest.param("LABEL_1000", UNKNOWN, set(), id="a number beyond the classes"),
        pytest.param("n00007846", OUTSIDE, set(), id="a wnid of none of the classes"),
        pytest.param("<unmapped:850>", UNMAPPED, set(), id="timm's mark of failure"),
    ],
)
def test_an_unclear_label_means_none(text, meaning, possible):
    assert TEXTS.classes_of([text]) == {text: meaning}
    assert TEXTS.could_mean(text) == possible


def test_the_descriptions_mean_their_classes_but_for_the_two_cranes():
    meant = TEXTS.classes_of(LABELS.descriptions)
    wrong = [index for index, text in enumerate(LABELS.descriptions) if meant[text] != index]
    assert wrong == [134, 517]
    assert meant["crane"] == AMBIGUOUS


def test_none_of_the_lemmas_of_two_classes_is_guessed():
    lemmas = Counter(lemma for text in LABELS.descriptions for lemma in set(text.split(", ")))
    double = {lemma for lemma, n_classes in lemmas.items() if n_classes > 1}
    whole = {lemma for lemma in double if LABELS.descriptions.count(lemma) == 1}
    assert len(double) == 18  # and a 19th, cardigan, where letter case is ignored
    assert {"crane", "polecat", "panther", "tub"} <= double - whole
    assert all(TEXTS.classes_of([lemma])[lemma] == AMBIGUOUS for lemma in double - whole)
    assert all(len(TEXTS.could_mean(lemma)) > 1 for lemma in double)


def test_a_list_of_torchvisions_names_is_read_as_such():
    names = names_of("torchvision")
    meant = TEXTS.classes_of(names.values())
    assert {index: meant[name] for index, name in names.items()} == {index: index for index in names}


def test_in_a_list_of_open_clips_names_the_identical_ones_stay_ambiguous():
    names = names_of("open_clip")
    meant = TEXTS.classes_of(names.values())
    wrong = {index for index, name in names.items() if meant[name] != index}
    assert wrong == {657, 744, 836, 837}
    assert all(meant[names[index]] == AMBIGUOUS for index in wrong)


def test_a_list_of_our_own_names_is_read_as_such():
    assert list(TEXTS.classes_of(LABELS.names).values()) == list(range(1000))


def test_a_vocabulary_is_not_believed_on_few_names():
    few = [names_of("torchvision")[index] for index in range(5)]
    assert TEXTS.classes_of([*few, "crane"])["crane"] == AMBIGUOUS
