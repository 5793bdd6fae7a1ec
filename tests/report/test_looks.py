"""Every type has a colour, a meaning and a readable ink, on light and dark."""

from itertools import pairwise

import numpy as np
import pytest

from imagenet_errors.chain import ERROR_TYPES
from imagenet_errors.report.looks import looks, luminance, readable_on


def contrast(one, other):
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_every_error_type_has_a_look_of_its_own():
    assert [look.name for look in looks()] == list(ERROR_TYPES)
    for scheme in ("light", "dark"):
        assert len({getattr(look, scheme) for look in looks()}) == len(ERROR_TYPES)
    assert all(look.means.endswith(".") for look in looks())


@pytest.mark.parametrize("look", looks(), ids=lambda look: look.name)
def test_counts_are_readable_on_their_bars(look):
    assert contrast(look.light, look.light_ink) >= 4.5
    assert contrast(look.dark, look.dark_ink) >= 4.5


@pytest.mark.parametrize(("colour", "ink"), [("#ffffff", "#000000"), ("#000000", "#ffffff"), ("#b4233c", "#ffffff")])
def test_the_ink_is_the_one_that_stands_out(colour, ink):
    assert readable_on(colour) == ink


# Machado, Oliveira and Fernandes 2009: what people without one kind of cone see, on linear RGB.
BLINDNESS = {
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
}
XYZ = [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.072175], [0.0193339, 0.119192, 0.9503041]]


def lab(colour, seen):
    """CIELAB (white D65) of ``#rrggbb`` as it is seen."""
    parts = np.array([int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)])
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    xyz = np.array(XYZ) @ np.clip(np.array(seen) @ linear, 0, 1) / np.array([0.95047, 1, 1.08883])
    f = np.where(xyz > 216 / 24389, np.cbrt(xyz), (24389 / 27 * xyz + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("seen", BLINDNESS.values(), ids=BLINDNESS)
def test_neighbours_are_as_far_apart_in_the_dark_as_in_the_light(seen):
    errors = [look for look in looks() if look.name != "correct"]
    for look, after in pairwise(errors):
        light, dark = (
            np.linalg.norm(lab(getattr(look, scheme), seen) - lab(getattr(after, scheme), seen))
            for scheme in ("light", "dark")
        )
        assert dark >= light > 10, (look.name, after.name)


def test_types_that_count_alike_are_told_apart_by_a_hatch_too():
    for kind in ("right", "minor", "explained"):
        hatches = [look.is_hatched for look in looks() if look.counts_as == kind and look.name != "correct"]
        assert hatches == [place % 2 == 1 for place in range(len(hatches))]
