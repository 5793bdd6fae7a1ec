"""The published figures are the paper's and recognised by the panel's counts."""

import numpy as np
import pytest

from imagenet_errors.chain import ERROR_TYPES
from imagenet_errors.study.outcomes import CATEGORIES, OOV, PAPERS_COLUMNS, PanelOutcomes
from imagenet_errors.study.published import (
    ORDERS,
    PAPER,
    PROGRAM,
    PUBLISHED,
    published_for,
)

VIT, SOUPS = PUBLISHED


def test_greedy_soups_table_adds_up_to_the_papers_totals():
    assert sum(SOUPS.cells[name][name] for name in CATEGORIES) == SOUPS.n_agree[SOUPS.order_of_cells] == 164
    assert sum(row["model_failure"] for row in SOUPS.cells.values()) == SOUPS.n_failures == 30
    assert {name: sum(row.values()) for name, row in SOUPS.cells.items()} == SOUPS.n_human


def test_each_published_total_says_its_stage_order_where_that_is_known():
    assert SOUPS.n_agree == {PAPER: 164, PROGRAM: 162}
    assert VIT.n_agree == {"": 225}
    assert set(SOUPS.n_agree) | {SOUPS.order_of_cells, VIT.order_of_cells} <= set(ORDERS)


def test_the_two_orders_differ_in_the_place_of_one_stage():
    paper, program = ORDERS[PAPER], ORDERS[PROGRAM]
    assert paper.index("non_prototypical") + 1 == paper.index("spurious_correlation")
    assert program.index("spurious_correlation") + 1 == program.index("non_prototypical")


def test_what_single_verdicts_settle_of_vit_3b_stays_below_the_papers_totals():
    assert sum(VIT.n_human.values()) == VIT.n == 378
    assert VIT.n_settled == 290
    assert sum(VIT.cells[name][name] for name in CATEGORIES) <= VIT.n_agree[""] == 225
    assert all(sum(VIT.cells[name].values()) <= VIT.n_human[name] for name in CATEGORIES)


def outcomes(counts):
    human = np.repeat([ERROR_TYPES.index(name) for name in counts], list(counts.values())).astype(np.int8)
    return PanelOutcomes(human, np.stack([human, human]))


@pytest.mark.parametrize("known", PUBLISHED, ids=lambda known: known.model)
def test_the_cases_are_recognised_by_how_many_the_panel_put_into_each_category(known):
    assert published_for(outcomes(known.n_human)) is known


def test_other_cases_have_no_published_figures():
    assert published_for(outcomes({**SOUPS.n_human, "fine_grained": 1})) is None


def as_published(known, *, n_undecided=0, **moved):
    """Outcomes whose table is the known cells'; ``moved``: PANEL__FROM=TO moves one case."""
    pairs = [(name, column) for name in CATEGORIES for column, count in known.cells[name].items() for _ in range(count)]
    for key, to in moved.items():
        human, ours = key.split("__")
        pairs[pairs.index((human, ours))] = (human, to)
    human, ours = (np.array([ERROR_TYPES.index(pair[side]) for pair in pairs], dtype=np.int8) for side in (0, 1))
    if_yes = ours.copy()
    if_yes[np.flatnonzero(ours == ERROR_TYPES.index("model_failure"))[:n_undecided]] = OOV
    return PanelOutcomes(human, np.stack([ours, if_yes]))


def cells_apart(known, ours):
    return [(name, column) for name in CATEGORIES for column in PAPERS_COLUMNS if known.is_apart(ours, name, column)]


def test_greedy_soups_own_table_differs_nowhere():
    assert cells_apart(SOUPS, as_published(SOUPS)) == []


def test_a_case_placed_otherwise_is_two_cells_apart():
    outcomes = as_published(SOUPS, fine_grained__model_failure="fine_grained")
    assert cells_apart(SOUPS, outcomes) == [("fine_grained", "fine_grained"), ("fine_grained", "model_failure")]


def test_unknown_evidence_can_make_up_for_a_difference():
    outcomes = as_published(SOUPS, n_undecided=1, fine_grained__fine_grained_oov="model_failure")
    assert cells_apart(SOUPS, outcomes) == []
    assert outcomes.counts.cell("fine_grained", "fine_grained_oov") == (11, 11, 12)


def test_where_only_the_least_is_known_more_is_never_apart():
    more = as_published(VIT, fine_grained__model_failure="fine_grained")
    assert cells_apart(VIT, more) == [("fine_grained", "model_failure")]


@pytest.mark.parametrize("known", PUBLISHED, ids=lambda known: known.model)
def test_every_published_table_has_the_papers_five_columns(known):
    assert {tuple(row) for row in known.cells.values()} == {PAPERS_COLUMNS}
