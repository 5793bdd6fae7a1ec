"""Two classes co-occur when images that show both are frequent enough."""

import csv
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from imagenet_errors.evidence.co_occurrence import (
    co_occurrence,
    count_together,
    learnt,
    read_co_occurrence,
    with_labels,
)
from imagenet_errors.labels import imagenet_1k
from imagenet_errors.prepared import CACHE_VARIABLE
from imagenet_errors.problems import InputError
from imagenet_errors.readers.annotations import read_real
from imagenet_errors.tables import Annotations, Ragged, cases_of

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
        pytest.param("", "the file is empty", id="empty"),
        pytest.param("x,y\n1,2\n", "no column a or b; it has 'x', 'y'", id="other columns"),
        pytest.param("a,b\ncat,dog\n", "no class in 1 cell of column a .first: row 1: 'cat'", id="names"),
        pytest.param("a,b\n1,\n", "1 empty cell", id="empty cell"),
        pytest.param("a,b\n1,2\n3,1000\n", r"1 class outside .* column b \(first: row 2: 1000\)", id="no such class"),
        pytest.param("a,b\n-1,2\n", "1 class outside", id="negative"),
        pytest.param(f"a,b\n1,tench\n2,{'9' * 30}\n", "1 class outside", id="beyond int64"),
    ],
)
def test_a_file_that_is_no_table_of_pairs_is_refused(tmp_path, text, said):
    with pytest.raises(InputError, match=f"pairs.csv: .*{said}"):
        read(tmp_path, text)


def annotated(names, label, accepted, problematic=None):
    is_problematic = np.zeros(len(names), dtype=bool) if problematic is None else np.array(problematic)
    return Annotations("toy", pa.array(names), np.int16(label), Ragged.of(accepted), is_problematic)


def plain(ragged):
    return [ragged[row].tolist() for row in range(len(ragged))]


def val_names(*numbers):
    return [f"val/ILSVRC2012_val_{number:08d}.jpg" for number in numbers]


class TestLearnt:
    def test_labels_of_an_image_are_its_real_labels_and_the_original_one_each_once(self):
        real = annotated(["a", "b", "c"], [3, 5, 7], [[2, 3], [], [9]])
        assert plain(with_labels(real)) == [[2, 3], [], [7, 9]]

    def test_images_that_the_annotations_name_are_left_out_problematic_ones_too(self):
        rows = list(range(20_000))
        own = annotated(val_names(*(row + 1 for row in rows)), np.zeros(20_000), [[0]] * 20_000, [True] * 20_000)
        others = with_labels(read_real(LABELS)).take(np.arange(20_000, 50_000))
        found = learnt(own, LABELS)
        assert found.own is None
        assert (found.n_images == count_together(others, 1000)).all()
        assert found.source == f"{(others.lengths > 0).sum():,} ReaL images outside the annotations"

    def test_annotations_of_another_set_leave_all_real_images(self):
        assert learnt(annotated(["n01440764/6.jpeg"], [0], [[0]]), LABELS).source.startswith("46,837 ReaL images")

    def test_too_few_images_of_several_labels_outside_are_not_learnt_from(self):
        """Four thousand images are left, but fewer with more than one label than a tenth of all such images."""
        rows = np.arange(46_000)
        own = annotated(val_names(*(row + 1 for row in rows)), np.zeros(46_000), [[0]] * 46_000)
        assert learnt(own, LABELS).source == "46,837 ReaL images, an image never supporting its own error"

    @pytest.mark.parametrize("n_annotated", [20_000, 50_000], ids=["counted elsewhere", "an image has no say itself"])
    def test_what_was_learnt_is_kept_and_is_the_same_the_next_time(self, n_annotated, tmp_path, monkeypatch):
        monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
        own = annotated(val_names(*range(1, n_annotated + 1)), np.zeros(n_annotated), [[0]] * n_annotated)
        first, again = learnt(own, LABELS), learnt(own, LABELS)
        assert len(list(tmp_path.rglob("*.arrow"))) == 1
        assert (first.n_images == again.n_images).all()
        assert (first.pairs == again.pairs).all()
        assert first.source == again.source
        assert (first.own is None) == (again.own is None) == (n_annotated < 50_000)
        if first.own is not None:
            assert plain(first.own) == plain(again.own)

    def test_annotations_of_nearly_all_images_count_all_and_none_supports_its_own_error(self):
        """Two classes seen together in two images alone, both annotated: each image has but one other."""
        real = read_real(LABELS)
        together = np.triu(count_together(with_labels(real), 1000))
        first, second = np.argwhere(together == 2)[0]
        sets = with_labels(real)
        rows = [row for row in np.flatnonzero(sets.lengths > 1) if {first, second} <= set(sets[row].tolist())]
        labelled_anew = annotated(
            real.file_names.to_pylist(), real.label, [[first] if row in rows else [0] for row in range(len(real))]
        )
        pairs = learnt(labelled_anew, LABELS)
        other = next(row for row in range(len(real)) if row not in rows)
        cases = cases_of(labelled_anew, np.array([*rows, other]), np.array([second, second, 1], dtype=np.int16))
        counts, n_images = pairs.support(cases)
        assert pairs.pairs[first, second]
        assert counts[:2].tolist() == [False, False]
        assert n_images[:2].tolist() == [1, 1]

    def test_classes_that_real_does_not_describe_are_counted_in_the_annotations_themselves(self):
        from toy import LABELS as TOY_LABELS

        own = annotated(["a", "b", "c"], [0, 0, 1], [[0, 2], [0, 2], [1]])
        pairs = learnt(own, TOY_LABELS)
        assert pairs.n_images[0, 2] == 2
        _, n_images = pairs.support(cases_of(own, np.array([0]), np.array([2], dtype=np.int16)))
        assert n_images.tolist() == [1, 0]

    def test_outside_the_20000_the_counts_are_the_known_ones(self, shared):
        from imagenet_errors.readers.annotations import read_annotations

        annotations = read_annotations(shared / "annotations" / "human_accuracy_v3.0.0_labels_only.json", LABELS)
        pairs = learnt(annotations, LABELS)
        together = np.triu(pairs.n_images)
        assert pairs.source.startswith("28,098 ReaL images")
        assert (int(together.sum()), int((together > 0).sum()), int((together > 1).sum())) == (13_090, 5_456, 1_659)
        with (shared / "published" / "spurious_pairs_half.csv").open(newline="") as lines:
            published = [(int(row["a"]), int(row["b"])) for row in csv.DictReader(lines)]
        assert len(published) > 500
        assert all(pairs.pairs[pair] for pair in published)


def test_pairs_of_classes_counted_from_1_are_refused(tmp_path):
    seen = np.argwhere(np.triu(learnt(read_real(imagenet_1k()), imagenet_1k()).pairs))[:60]
    as_lines = "".join(f"{a + 1},{b + 1}\n" for a, b in seen)
    with pytest.raises(InputError, match=r"classes count from 1: of 60 pairs .*60 with every class -1"):
        read(tmp_path, "a,b\n" + as_lines)
