"""A newcomer is told the truth in words."""

import numpy as np
import pytest

from imagenet_errors.chain import COUNTS_AS, ERROR_TYPES
from imagenet_errors.report.page.headline import headline_of, in_words


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (0.0, "none is"),
        (0.004, "hardly any are"),
        (0.03, "about 3 in a hundred are"),
        (0.05, "about one in twenty is"),
        (0.249, "about one in four is"),
        (1 / 3, "about one in three is"),
        (0.4, "about two in five are"),
        (0.5, "about half are"),
        (0.66, "about two in three are"),
        (0.75, "about three in four are"),
        (0.9, "most are"),
        (0.999, "nearly all are"),
        (1.0, "all are"),
    ],
)
def test_shares_are_said_as_people_say_them(share, words):
    assert in_words(share) == words


@pytest.mark.parametrize("share", np.linspace(0.05, 0.36, 60))
def test_one_in_so_many_is_near_the_truth(share):
    words = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
    said = (words + " seventeen eighteen nineteen twenty").split().index(in_words(share).split()[3])
    assert 1 / said == pytest.approx(share, rel=0.25)


def test_every_error_is_counted_by_what_it_counts_as():
    counts = np.arange(len(ERROR_TYPES))
    head = headline_of(counts)
    assert head.right + head.minor + head.explained + head.severe == head.n_errors == counts[1:].sum()
    assert head.minor == sum(count for count, name in enumerate(ERROR_TYPES) if COUNTS_AS[name] == "minor")


@pytest.mark.parametrize(
    ("severe", "other", "claim"),
    [
        pytest.param(0, 0, "makes no error on these images", id="none"),
        pytest.param(1, 0, "makes a single error, and it is severe", id="one, severe"),
        pytest.param(0, 1, "makes a single error, and it is not severe", id="one, not severe"),
        pytest.param(30, 60, "makes 90 errors; about one in three is severe", id="many"),
    ],
)
def test_the_claim_reads_well_for_any_number_of_errors(severe, other, claim):
    counts = np.array([5, other, 0, 0, 0, 0, 0, severe])
    assert headline_of(counts).claim == claim
