"""Every type has a colour, a meaning and a readable ink, on light and dark."""

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
