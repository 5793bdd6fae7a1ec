"""A case reaches a stage when no earlier one explains it, and counts once however many models made it."""

import numpy as np
import pytest
from imagenet_errors.reaching import distinct_mistakes, reaching

from imagenet_errors.chain import DEFAULT_ORDER, build_chain
from imagenet_errors.labels import imagenet_1k
from imagenet_errors.problems import InputError
from imagenet_errors.readers.annotations import read_annotations
from imagenet_errors.readers.predictions import ReadRules
from imagenet_errors.tables import cases_of
from toy import BEAGLE, MUG, SOFA, TABBY, TIGER_CAT, annotations, whole_evidence

CASES = [
    pytest.param(SOFA, MUG, {MUG, SOFA}, False, id="the prediction is accepted"),
    pytest.param(TABBY, TIGER_CAT, {TABBY}, False, id="kin"),
    pytest.param(SOFA, BEAGLE, {SOFA}, True, id="unexplained"),
    pytest.param(SOFA, TABBY, {SOFA}, True, id="explained only by a later stage"),
]


@pytest.mark.parametrize(("label", "prediction", "accepted", "reaches"), CASES)
def test_earlier_stages_are_asked_first(label, prediction, accepted, reaches):
    case = cases_of(annotations((label, accepted)), np.array([0]), np.array([prediction], dtype=np.int16))
    chain = build_chain(whole_evidence(oov=None), DEFAULT_ORDER)
    assert bool(len(reaching(case, chain, "fine_grained_oov"))) is reaches


def test_the_chosen_order_counts():
    case = cases_of(annotations((SOFA, {SOFA})), np.array([0]), np.array([TABBY], dtype=np.int16))
    order = ("spurious_correlation", "fine_grained_oov")
    assert not len(reaching(case, build_chain(whole_evidence(oov=None), order), "fine_grained_oov"))


def test_a_stage_that_is_left_out_is_never_reached():
    case = cases_of(annotations((SOFA, {SOFA})), np.array([0]), np.array([TABBY], dtype=np.int16))
    with pytest.raises(InputError, match="fine_grained_oov is not in it"):
        reaching(case, build_chain(whole_evidence(oov=None), ("fine_grained",)), "fine_grained_oov")


def mistakes(val_images, tmp_path, files):
    path = val_images.annotations(tmp_path / "annotations.csv", at_3="")
    rules = ReadRules(allow_partial=True, check_order=False)
    return distinct_mistakes(
        files,
        read_annotations(path, imagenet_1k()),
        imagenet_1k(),
        rules=rules,
        progress=lambda _what, things, _n: iter(things),
    )


def test_what_several_models_did_counts_once(val_images, tmp_path):
    one = val_images.csv(tmp_path / "one.csv", at_0=999, at_1=998)
    two = val_images.csv(tmp_path / "two.csv", at_0=999, at_1=997, at_3=5)
    alone, both = (mistakes(val_images, tmp_path, files).cases for files in ([one], [one, two]))
    assert len(both) == len(alone) + 1
    assert 3 not in both.rows, "excluded images are left out"
    assert (both.prediction != both.label).all()


def test_a_file_that_cannot_be_used_is_named_and_the_others_count(val_images, tmp_path):
    good, bad = val_images.csv(tmp_path / "good.csv"), tmp_path / "bad.csv"
    bad.write_text("<html>")
    found = mistakes(val_images, tmp_path, [bad, good])
    assert list(found.unread) == [bad]
    assert found.n_models == 1
    with pytest.raises(InputError, match=r"bad\.csv"):
        mistakes(val_images, tmp_path, [bad])
