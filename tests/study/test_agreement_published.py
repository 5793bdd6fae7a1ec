"""The published table stands beside ours, cell by cell, for whichever model's cases were judged."""

import numpy as np
import pytest

from imagenet_errors.chain import ERROR_TYPES
from imagenet_errors.study.agreement import ModelAgreement
from imagenet_errors.study.agreement_published import cells_apart, published_section
from imagenet_errors.study.outcomes import CATEGORIES, Outcomes
from imagenet_errors.study.published import PUBLISHED, published_for

VIT, SOUPS = PUBLISHED


def as_published(known, *, n_undecided=0, **moved):
    """Outcomes whose table is the known cells'; ``moved``: PANEL__FROM=TO moves one case."""
    pairs = [(name, column) for name in CATEGORIES for column, count in known.cells[name].items() for _ in range(count)]
    for key, to in moved.items():
        human, ours = key.split("__")
        pairs[pairs.index((human, ours))] = (human, to)
    human, ours = (np.array([ERROR_TYPES.index(p[side]) for p in pairs], dtype=np.int8) for side in (0, 1))
    undecided = np.zeros(len(pairs), dtype=bool)
    undecided[np.flatnonzero(ours == ERROR_TYPES.index("model_failure"))[:n_undecided]] = True
    return Outcomes(human, ours, undecided)


def section(outcomes):
    known = published_for(outcomes)
    return published_section(ModelAgreement("m", outcomes, {}, outcomes, known))


def test_greedy_soups_own_table_differs_nowhere():
    outcomes = as_published(SOUPS)
    assert cells_apart(SOUPS, outcomes) == []
    assert "| same category as the panel | 164 | 164 |" in section(outcomes)
    assert "| fine_grained | 140 / 140 | 12 / 12 | 1 / 1 | 7 / 7 | 12 / 12 |" in section(outcomes)


def test_a_case_placed_otherwise_is_two_cells_apart():
    outcomes = as_published(SOUPS, fine_grained__model_failure="fine_grained")
    assert cells_apart(SOUPS, outcomes) == [("fine_grained", "fine_grained"), ("fine_grained", "model_failure")]
    assert "fine_grained called fine_grained, fine_grained called model_failure" in section(outcomes)


def test_unknown_evidence_can_make_up_for_a_difference():
    outcomes = as_published(SOUPS, n_undecided=1, fine_grained__fine_grained_oov="model_failure")
    assert cells_apart(SOUPS, outcomes) == []
    assert "11 (11 to 12)" in section(outcomes)


def test_where_only_the_least_is_known_more_is_never_apart():
    more = as_published(VIT, fine_grained__model_failure="fine_grained")
    assert cells_apart(VIT, more) == [("fine_grained", "model_failure")]


def test_cases_of_another_model_have_no_section():
    few = as_published(SOUPS).among(np.arange(249) > 0)
    assert section(few) == ""


@pytest.mark.parametrize("known", PUBLISHED, ids=lambda known: known.model)
def test_every_published_table_has_the_papers_five_columns(known):
    assert {tuple(row) for row in known.cells.values()} == {(*CATEGORIES, "model_failure")}
