"""A pair of classes overlaps when the table of overlaps says so, in that direction, and gives a reason."""

import numpy as np
import pytest

from imagenet_errors.evidence.overlaps import load_overlaps
from imagenet_errors.labels import imagenet_1k
from imagenet_errors.problems import InputError

LABELS = imagenet_1k()
WEASELS = (356, 357, 358, 359)
ONE_WAY = {(250, 248), (249, 248), (385, 101), (386, 101), (504, 968), (482, 848), (435, 876)}
BOTH_WAYS = {(836, 837), (638, 639), (657, 744), (620, 681), (664, 782)}


def test_exactly_the_published_pairs_overlap():
    accepted = load_overlaps(LABELS).reason_of >= 0
    pairs = {(int(label), int(also)) for label, also in np.argwhere(accepted)}
    weasels = {(a, b) for a in WEASELS for b in WEASELS if a != b}
    assert pairs == ONE_WAY | BOTH_WAYS | {(b, a) for a, b in BOTH_WAYS} | weasels


@pytest.mark.parametrize(
    ("label", "prediction", "accepted"),
    [
        pytest.param(250, 248, True, id="a Siberian husky is an Eskimo dog"),
        pytest.param(248, 250, False, id="an Eskimo dog is no Siberian husky"),
        pytest.param(249, 250, False, id="two kinds of one breed are not each other"),
        pytest.param(836, 837, True, id="sunglass, sunglasses"),
        pytest.param(837, 836, True, id="and the other way"),
        pytest.param(0, 0, False, id="a class does not overlap itself"),
    ],
)
def test_overlap_has_a_direction(label, prediction, accepted):
    overlaps = load_overlaps(LABELS)
    assert overlaps.accepts(np.array([label]), np.array([prediction])).tolist() == [accepted]


def test_every_pair_has_a_reason():
    overlaps = load_overlaps(LABELS)
    used = np.unique(overlaps.reason_of[overlaps.reason_of >= 0])
    assert used.tolist() == list(range(len(overlaps.reasons)))
    assert all(reason.as_py() for reason in overlaps.reasons)


def test_an_index_that_does_not_fit_its_name_is_refused(tmp_path):
    header = "label,label_name,also_accepted,also_name,reason\n"
    (tmp_path / "overlaps.csv").write_text(header + "249,malamute,247,Eskimo dog,slip\n")
    with pytest.raises(InputError, match=r"overlaps.csv: class 247 is .*, not 'Eskimo dog'"):
        load_overlaps(LABELS, tmp_path / "overlaps.csv")
