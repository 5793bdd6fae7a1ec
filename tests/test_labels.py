"""The label space knows its classes by index, wnid and name, and trusts no number without its name."""

import pytest

from imagenet_errors.labels import GROUPS, imagenet_1k
from imagenet_errors.problems import InputError
from toy import LABELS

IMAGENET = imagenet_1k()


def test_names_are_unique_even_when_case_is_ignored_but_for_two():
    assert len(set(IMAGENET.names)) == 1000


def test_wnids_ascend():
    assert list(IMAGENET.wnids) == sorted(IMAGENET.wnids)


@pytest.mark.parametrize(("group", "n_classes"), list(zip(GROUPS, (1000, 410, 522, 68), strict=True)))
def test_groups_have_the_published_sizes(group, n_classes):
    assert IMAGENET.in_group(group).sum() == n_classes


@pytest.mark.parametrize(
    ("written", "index"),
    [
        pytest.param("5 electric ray", 5, id="index"),
        pytest.param("n01496331 electric ray", 5, id="wnid"),
        pytest.param("  0 tench ", 0, id="spaces around"),
    ],
)
def test_a_class_is_found_by_number_and_name(written, index):
    assert IMAGENET.find(written, where="dogs.toml") == index


@pytest.mark.parametrize(
    ("written", "message"),
    [
        pytest.param("5", "class 5 is 'electric ray', not ''", id="a bare index"),
        pytest.param("5 tench", "class 5 is 'electric ray', not 'tench'", id="another class's name"),
        pytest.param("1000 tench", "no class '1000'", id="beyond the last"),
        pytest.param("n00000001 tench", "no class 'n00000001'", id="unknown wnid"),
        pytest.param("tench", "no class 'tench'", id="a name alone"),
        pytest.param("", "no class ''", id="nothing"),
    ],
)
def test_a_slip_is_refused_with_the_file_and_the_right_name(written, message):
    with pytest.raises(InputError, match=r"^dogs\.toml: ") as refused:
        IMAGENET.find(written, where="dogs.toml")
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("written", "index"),
    [
        pytest.param("65", 65, id="index"),
        pytest.param("0", 0, id="the first index"),
        pytest.param("n01440764", 0, id="the first wnid"),
        pytest.param("n01751748", 65, id="wnid"),
        pytest.param("sea snake", 65, id="name"),
        pytest.param("sea_snake", 65, id="name with underscore"),
        pytest.param("Sea Snake", 65, id="another case"),
        pytest.param("Tinca tinca", 0, id="a lemma that only one class has"),
        pytest.param("tench, Tinca tinca", 0, id="description"),
        pytest.param("polecat", 358, id="a shown name that is another's synonym"),
        pytest.param("cardigan", 474, id="a garment"),
        pytest.param("Cardigan", 264, id="a dog"),
    ],
)
def test_people_may_write_a_class_as_they_like(written, index):
    assert IMAGENET.look_up(written, where="CLASS") == index


@pytest.mark.parametrize(
    ("written", "message"),
    [
        pytest.param("crane", "134 (crane (wading bird)) or 517 (crane (lifting device))", id="two classes"),
        pytest.param("panther", "names 2 classes", id="a lemma of two"),
        pytest.param("sea snak", "Did you mean sea snake", id="a slip"),
        pytest.param("hammerhed", "Did you mean hammerhead or hammer or hammerhead shark?", id="the three closest"),
        pytest.param("1000", "no class '1000'", id="beyond the last"),
        pytest.param("qqq", "Write an index 0..999 or a wnid.", id="nothing is close"),
    ],
)
def test_what_names_no_single_class_is_refused(written, message):
    with pytest.raises(InputError) as refused:
        IMAGENET.look_up(written, where="CLASS")
    assert message in str(refused.value)


def test_every_class_is_in_all_and_one_other_group():
    members = sum(LABELS.in_group(group).astype(int) for group in GROUPS)
    assert members.tolist() == [2] * 5
