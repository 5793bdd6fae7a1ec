"""Superclasses: read from TOML or from the published method's predicates, and looked up by class or pair."""

import json

import numpy as np
import pytest

from imagenet_errors.evidence.superclasses import load_superclasses
from imagenet_errors.labels import imagenet_1k
from imagenet_errors.problems import InputError

SHARKS = '[[superclass]]\nname = "sharks"\nreason = "Grey fins."\nbelow = ["shark.n.01"]\n'
SEA = (
    '[[superclass]]\nname = "sea animals"\nreason = "Seen in water."\nbelow = ["shark.n.01"]\n'
    'classes = ["5 electric ray", "n01498041 stingray"]\n'
)
PAIR = '[[superclass]]\nname = "rays"\nreason = "Flat."\nclasses = ["5 electric ray", "6 stingray"]\n'


def entry(**parts):
    """One superclass as TOML, from a complete one with some parts replaced."""
    whole = {"name": "sharks", "reason": "Grey fins.", "below": ["shark.n.01"]} | parts
    return "[[superclass]]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in whole.items())


@pytest.fixture
def load(tmp_path):
    """Load superclasses from the text of one domain's file."""

    def read(*entries, name="fish.toml"):
        path = tmp_path / name
        path.write_text('domain = "fish"\n' + "\n".join(entries), encoding="utf-8")
        return load_superclasses(path)

    return read


def test_below_takes_every_class_at_or_below_the_synset(load):
    assert load(SHARKS).members[0].tolist() == [2, 3, 4]


def test_a_class_is_named_by_index_or_wnid_with_its_name_behind(load):
    assert load(SEA).members[0].tolist() == [2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    ("exceptions", "members"),
    [
        pytest.param({"except_classes": ["4 hammerhead"]}, [2, 3], id="a class"),
        pytest.param({"except_below": ["mackerel_shark.n.01"]}, [3, 4], id="all below a synset"),
    ],
)
def test_exceptions_are_taken_away_again(load, exceptions, members):
    assert load(entry(**exceptions)).members[0].tolist() == members


def test_two_classes_share_where_a_superclass_holds_both_and_every_class_shares_with_itself(load):
    shares = load(SHARKS, PAIR).shares
    assert shares[[2, 4, 5], [4, 2, 6]].all()
    assert not shares[2, 5]
    assert shares.sum() == 1000 + 3 * 2 + 2
    assert shares[999, 999]


def test_the_smallest_shared_superclass_is_the_one_told(load):
    superclasses = load(SEA, SHARKS, PAIR)
    assert superclasses.shared_by(2, 3) == ("sea animals", "sharks")
    told = superclasses.first_shared(np.array([2, 2, 5, 2, 7]), np.array([3, 5, 6, 9, 7]))
    assert told.tolist() == [1, 0, 2, -1, -1]


def test_of_equally_small_superclasses_the_first_in_the_file_is_told(load):
    twin = entry(name="grey fish")
    assert load(SHARKS, twin).first_shared(np.array([2]), np.array([3])).tolist() == [0]


def test_a_class_knows_its_superclasses_and_the_others_are_alone(load):
    superclasses = load(SEA, SHARKS)
    assert superclasses.of_class(2) == (0, 1)
    assert superclasses.of_class(0) == ()
    assert len(superclasses.singles) == 995


def test_a_folder_is_read_file_by_file_in_the_order_of_names(tmp_path):
    for name, text in (("b.toml", SHARKS), ("a.toml", PAIR)):
        (tmp_path / name).write_text(f'domain = "{name[0]}"\n{text}', encoding="utf-8")
    assert load_superclasses(tmp_path).names == ("rays", "sharks")
    assert load_superclasses(tmp_path).domains == ("a", "b")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param(entry(below=["shark.n.99"]), "'sharks': no noun synset 'shark.n.99'", id="no synset"),
        pytest.param(entry(below=["table.n.01"]), "no class is at or below 'table.n.01'", id="no class there"),
        pytest.param(entry(classes=["5 ray"]), "class 5 is 'electric ray', not 'ray'", id="another's name"),
        pytest.param(entry(classes=["5"]), 'Write "5 electric ray"', id="an index without a name"),
        pytest.param(entry(classes=["n00000000 ray"]), "no class 'n00000000'", id="no class"),
        pytest.param(entry(member=["x"]), "superclass 'sharks': Object contains unknown field", id="a slip"),
        pytest.param(entry(name=""), "superclass 1: the name is not one line", id="no name"),
        pytest.param(entry(reason="a\nb"), "the reason is not one line", id="a reason of two lines"),
        pytest.param(entry(below=[], classes=["5 electric ray"]), "it has 1 class", id="one member"),
        pytest.param(entry(except_classes=["0 tench"]), "'0 tench' takes no class away", id="a stale exception"),
        pytest.param(SHARKS + SHARKS, "1 name used twice (first: 'sharks'", id="a name twice"),
        pytest.param("[[superclass]\n", "no valid TOML", id="broken TOML"),
        pytest.param("a = " + "[" * 5000, "no valid TOML", id="nested without end"),
        pytest.param('[[superclass]]\nname = "x"\n', "missing required field `reason`", id="no reason"),
    ],
)
def test_a_fault_is_told_with_file_entry_and_way_out(load, text, said):
    with pytest.raises(InputError) as error:
        load(text)
    assert said in str(error.value)
    assert "fish.toml" in str(error.value)
    assert error.value.fix


def test_a_place_without_definitions_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"holds no \.toml file"):
        load_superclasses(tmp_path)
    with pytest.raises(InputError, match="no such file or folder"):
        load_superclasses(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("lines", "members"),
    [
        pytest.param(['{"sharks": [["shark"]]}'], {"sharks": [2, 3, 4]}, id="one lemma"),
        pytest.param(['{"some": [["shark"], ["ray"]]}'], {"some": [2, 3, 4, 5, 6]}, id="any one list suffices"),
        pytest.param(['{"both": [["fish", "salmon"]]}'], {"both": [391]}, id="all lemmas of a list must occur"),
        pytest.param(
            ['{"a": [["great_white_shark"]]}', "", '{"b": [["great white shark"]]}'],
            {"a": [2], "b": [2]},
            id="an object a line, underscores or spaces",
        ),
        pytest.param(['{"a": [["shark"]],', '"b": [["ray"]]}'], {"a": [2, 3, 4], "b": [5, 6]}, id="one object"),
        pytest.param(
            ['{"dog": [["Cardigan"]], "any": [["chihuahua"]]}'],
            {"dog": [264], "any": [151]},
            id="case counts only where it is needed",
        ),
        pytest.param(['{"c": [["unicorn"]], "d": [["ray"]]}'], {"d": [5, 6]}, id="one that fits nothing"),
    ],
)
def test_the_published_predicate_file_is_read_too(tmp_path, lines, members):
    path = tmp_path / "superclasses.json"
    path.write_text("\n".join(lines), encoding="utf-8")
    superclasses = load_superclasses(path)
    found = {name: classes.tolist() for name, classes in zip(superclasses.names, superclasses.members, strict=True)}
    assert found == members


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param('{"sharks": "shark"}', "superclasses.json, line 1: no lemma predicate", id="no lists"),
        pytest.param('{"a": [["ray"]]}\n{"b": ', "superclasses.json, line 2", id="broken JSON"),
        pytest.param('{"a": []}', "'a' has an empty list of lemmas", id="no lemma"),
        pytest.param('{"a": [["unicorn"]]}', "no superclass that holds a class", id="nothing fits"),
    ],
)
def test_a_fault_in_a_predicate_file_is_told(tmp_path, text, said):
    path = tmp_path / "superclasses.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as error:
        load_superclasses(path)
    assert said in str(error.value)
    assert error.value.fix


def test_a_lemma_predicate_means_the_same_as_its_synset_where_the_lemma_has_one_sense(tmp_path):
    path = tmp_path / "superclasses.json"
    path.write_text('{"terriers": [["terrier"]]}', encoding="utf-8")
    terriers = load_superclasses(path).members[0]
    assert terriers.tolist() == list(range(179, 205))


def test_the_shipped_definitions_are_loaded_once():
    assert load_superclasses() is load_superclasses()
    assert load_superclasses().n_classes == len(imagenet_1k())
