"""Two classes co-occur when images that show both are frequent enough."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from imagenet_errors.evidence.co_occurrence import co_occurrence, count_together, read_co_occurrence
from imagenet_errors.labels import imagenet_1k
from imagenet_errors.problems import InputError
from imagenet_errors.tables import Ragged

LABELS = imagenet_1k()
TABBY, SOFA, MUG = range(3)


def read(tmp_path, text):
    (tmp_path / "pairs.csv").write_text(text)
    return read_co_occurrence(tmp_path / "pairs.csv", LABELS)


@given(st.lists(st.sets(st.integers(0, 5), max_size=5), max_size=8))
def test_images_that_show_both_classes_are_counted(images):
    together = count_together(Ragged.of([sorted(image) for image in images]), 6)
    for a, b in combinations(range(6), 2):
        assert together[a, b] == together[b, a] == sum({a, b} <= image for image in images)
    assert not together.diagonal().any()


def test_a_pair_counts_from_two_images_on():
    found = co_occurrence(Ragged.of([[TABBY, SOFA], [TABBY, SOFA, MUG], [], [MUG]]), 3, source="toy")
    assert np.argwhere(found.pairs).tolist() == [[TABBY, SOFA], [SOFA, TABBY]]
    assert found.n_images[TABBY].tolist() == [0, 2, 1]


def test_pairs_that_share_a_superclass_are_dropped_and_still_counted():
    shares = np.zeros((3, 3), dtype=bool)
    shares[TABBY, SOFA] = shares[SOFA, TABBY] = True
    found = co_occurrence(Ragged.of([[TABBY, SOFA]] * 2), 3, source="toy").without(shares)
    assert not found.pairs.any()
    assert found.n_images[SOFA, TABBY] == 2


@pytest.mark.parametrize(
    ("text", "n_images"),
    [
        pytest.param("a,b\n65,7\n", 0, id="pairs alone"),
        pytest.param("b,n_images,a\n7,3,65\n", 3, id="with counts, in any order of columns"),
    ],
)
def test_a_file_of_pairs_holds_in_both_directions(tmp_path, text, n_images):
    found = read(tmp_path, text)
    assert np.argwhere(found.pairs).tolist() == [[7, 65], [65, 7]]
    assert found.n_images[7, 65] == found.n_images[65, 7] == n_images


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("", "not a table of class pairs", id="empty"),
        pytest.param("x,y\n1,2\n", "not a table of class pairs.*columns a,b", id="other columns"),
        pytest.param("a,b\ncat,dog\n", "not a table of class pairs", id="names"),
        pytest.param("a,b\n1,\n", "1 empty cell", id="empty cell"),
        pytest.param("a,b,n_images\n1,2,\n", "1 empty cell", id="empty count"),
        pytest.param("a,b\n1,2\n3,1000\n", r"1 pair outside .*\(first: row 3: 3,1000\)", id="no such class"),
        pytest.param("a,b\n-1,2\n", "1 pair outside", id="negative"),
    ],
)
def test_a_file_that_is_no_table_of_pairs_is_refused(tmp_path, text, said):
    with pytest.raises(InputError, match=f"pairs.csv: .*{said}"):
        read(tmp_path, text)
