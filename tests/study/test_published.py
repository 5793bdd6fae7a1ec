"""The published figures are the paper's, are recognised by the panel's counts, and single verdicts are matched."""

import numpy as np
import pyarrow as pa
import pytest
from sklearn.metrics import cohen_kappa_score

from imagenet_errors.chain import ERROR_TYPES
from imagenet_errors.images import ImageIndex
from imagenet_errors.problems import InputError
from imagenet_errors.study.outcomes import CATEGORIES, Outcomes, kappa
from imagenet_errors.study.published import PUBLISHED, published_for, read_published_verdicts
from imagenet_errors.tables import Cases, Ragged

VIT, SOUPS = PUBLISHED
IMAGES = ImageIndex(pa.array(["a.JPEG", "b.JPEG"]))


def test_greedy_soups_table_adds_up_to_the_papers_totals():
    assert sum(SOUPS.cells[name][name] for name in CATEGORIES) == SOUPS.n_agree == 164
    assert sum(row["model_failure"] for row in SOUPS.cells.values()) == SOUPS.n_failures == 30
    assert {name: sum(row.values()) for name, row in SOUPS.cells.items()} == SOUPS.n_human


def test_the_published_kappa_is_scikit_learns():
    cells = [(human, theirs, n) for human, row in SOUPS.cells.items() for theirs, n in row.items()]
    sides = [[pair[side] for *pair, n in cells for _ in range(n)] for side in (0, 1)]
    assert float(kappa(SOUPS.table)) == pytest.approx(cohen_kappa_score(*sides))


def test_what_single_verdicts_settle_of_vit_3b_stays_below_the_papers_totals():
    assert sum(VIT.n_human.values()) == VIT.n == 378
    assert VIT.n_settled == 290
    assert sum(VIT.cells[name][name] for name in CATEGORIES) <= VIT.n_agree == 225
    assert all(sum(VIT.cells[name].values()) <= VIT.n_human[name] for name in CATEGORIES)


def outcomes(counts):
    human = np.repeat([ERROR_TYPES.index(name) for name in counts], list(counts.values())).astype(np.int8)
    return Outcomes(human, human, np.zeros(len(human), dtype=bool))


@pytest.mark.parametrize("known", PUBLISHED, ids=lambda known: known.model)
def test_the_cases_are_recognised_by_how_many_the_panel_put_into_each_category(known):
    assert published_for(outcomes(known.n_human)) is known


def test_other_cases_have_no_published_figures():
    assert published_for(outcomes({**SOUPS.n_human, "fine_grained": 1})) is None


def test_single_verdicts_are_found_by_image_and_prediction(tmp_path):
    path = tmp_path / "cases.csv"
    path.write_text("file_name,prediction,error_type\nb.JPEG,7,fine_grained\nx.JPEG,1,correct\n")
    rows, prediction = np.array([0, 1, 1]), np.array([7, 7, 8], dtype=np.int16)
    cases = Cases(rows, prediction, prediction, Ragged.of([[], [], []]))
    found = read_published_verdicts(path, IMAGES).of(cases)
    assert found.tolist() == [-1, ERROR_TYPES.index("fine_grained"), -1]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param("file_name,prediction\na.JPEG,1\n", "error_type", id="a column is missing"),
        pytest.param("file_name,prediction,error_type\na.JPEG,one,correct\n", "one", id="no number"),
        pytest.param("file_name,prediction,error_type\na.JPEG,1,wrong\n", "1 verdict of an unknown", id="unknown type"),
    ],
)
def test_a_table_that_holds_no_verdicts_is_refused(tmp_path, text, says):
    path = tmp_path / "cases.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=says):
        read_published_verdicts(path, IMAGES)
