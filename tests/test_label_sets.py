"""Several label sets are joined image by image, or one is put in the other's place on the same images."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import toy
from imagenet_errors.label_sets import combined, on_images_of
from imagenet_errors.problems import InputError
from imagenet_errors.tables import Ragged
from toy import BEAGLE, MUG, SOFA, TABBY, TIGER_CAT


def label_set(name, problematic=(), **images):
    """Each image: (label, accepted labels)."""
    made = toy.annotations(*images.values())
    return replace(
        made,
        name=name,
        file_names=pa.array(list(images)),
        problematic=np.isin(np.array(list(images)), list(problematic)),
    )


FIRST = label_set("first", a=(TABBY, {TABBY, MUG}), b=(SOFA, {SOFA}))
SECOND = label_set("second", b=(SOFA, {SOFA, MUG}), c=(BEAGLE, {BEAGLE}), a=(TABBY, {TABBY, TIGER_CAT}))


def by_name(annotations):
    names = annotations.file_names.to_pylist()
    return {name: set(annotations.accepted[row].tolist()) for row, name in enumerate(names)}


def test_a_union_accepts_what_any_set_accepts_on_every_image():
    found = combined([FIRST, SECOND], "union")
    assert by_name(found) == {"a": {TABBY, MUG, TIGER_CAT}, "b": {SOFA, MUG}, "c": {BEAGLE}}
    assert found.name == "union of first, second"


def test_an_intersection_accepts_what_all_accept_on_the_images_of_all():
    assert by_name(combined([FIRST, SECOND], "intersection")) == {"a": {TABBY}, "b": {SOFA}}


def test_images_stand_in_the_order_of_their_names_with_their_labels():
    found = combined([SECOND, FIRST], "union")
    assert found.file_names.to_pylist() == ["a", "b", "c"]
    assert found.label.tolist() == [TABBY, SOFA, BEAGLE]


@pytest.mark.parametrize("how", ["union", "intersection"])
def test_what_one_set_calls_problematic_is_so(how):
    doubtful = label_set("doubtful", problematic={"b"}, a=(TABBY, {TABBY}), b=(SOFA, {SOFA}))
    assert combined([FIRST, doubtful], how).problematic.tolist() == [False, True]


def test_an_image_whose_sets_have_nothing_in_common_is_excluded_from_their_intersection():
    other = label_set("other", a=(TABBY, {TIGER_CAT}), b=(SOFA, {SOFA}))
    assert combined([FIRST, other], "intersection").evaluated.tolist() == [False, True]


def test_a_set_joined_with_itself_is_itself():
    for how in ("union", "intersection"):
        assert by_name(combined([SECOND, SECOND], how)) == by_name(SECOND)


def test_labels_that_annotators_reject_are_treated_as_in_the_first_set():
    judged = replace(FIRST, rejected_labels="judge")
    assert combined([judged, SECOND], "union").rejected_labels == "judge"
    assert combined([SECOND, judged], "union").rejected_labels == "exclude"


def test_images_are_known_however_their_names_are_written():
    plain = label_set("plain", **{"ILSVRC2012_val_00000001.JPEG": (TABBY, {TABBY})})
    with_folder = label_set("folder", **{"val/ILSVRC2012_val_00000001.JPEG": (TABBY, {MUG})})
    assert list(by_name(combined([plain, with_folder], "union")).values()) == [{TABBY, MUG}]


def test_sets_that_differ_over_an_original_label_are_refused():
    other = label_set("other", b=(MUG, {MUG}))
    with pytest.raises(InputError, match=r"other: another original label .* 1 image \(first: b: 4 among \[3, 4\]\)"):
        combined([FIRST, other], "union")


def test_an_unknown_way_is_refused():
    with pytest.raises(InputError, match="no way 'majority'"):
        combined([FIRST, SECOND], "majority")


def test_other_labels_take_the_place_of_the_bases_on_its_images():
    found = on_images_of(FIRST, SECOND)
    assert by_name(found) == {"a": {TABBY, TIGER_CAT}, "b": {SOFA, MUG}}
    assert found.label.tolist() == FIRST.label.tolist()
    assert (found.name, found.evaluated.tolist()) == ("second", [True, True])


def test_images_that_the_other_set_lacks_or_doubts_are_excluded():
    other = label_set("other", problematic={"a"}, a=(TABBY, {TABBY}))
    assert on_images_of(FIRST, other).evaluated.tolist() == [False, False]
    assert on_images_of(replace(FIRST, problematic=np.array([True, False])), SECOND).evaluated.tolist() == [False, True]


def test_images_of_several_original_labels_keep_all_of_them():
    originals = Ragged.of([[TABBY, MUG], [SOFA]])
    both = replace(FIRST, label_sets=originals)
    again = replace(label_set("again", a=(TABBY, {TABBY}), b=(SOFA, {SOFA})), label_sets=originals)
    found = combined([both, again], "union")
    assert [found.originals[row].tolist() for row in range(2)] == [[TABBY, MUG], [SOFA]]
    assert found.is_correct(np.array([0, 0, 1]), np.array([MUG, TABBY, MUG])).tolist() == [True, True, False]
    with pytest.raises(InputError, match="another original label"):
        combined([both, FIRST], "union")
