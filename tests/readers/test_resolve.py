"""What a file says becomes a class: by wnid, exact text, or index on a known class axis; what is not clear is told."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from imagenet_errors.labels import imagenet_1k
from imagenet_errors.problems import InputError
from imagenet_errors.readers.class_axis import class_axis
from imagenet_errors.readers.raw import RawPredictions
from imagenet_errors.readers.resolve import NO_LABEL, resolve
from imagenet_errors.readers.scores import ArrayScores

LABELS = imagenet_1k()
WNIDS = LABELS.wnids


def resolved(*, index=None, text=None, axis=None, **others):
    n_rows = len(index if index is not None else text)
    raw = RawPredictions(
        format="test",
        n_rows=n_rows,
        index=None if index is None else np.array(index, dtype=np.int64),
        text=None if text is None else pa.array(text, type=pa.string()),
        **others,
    )
    return resolve(raw, LABELS, axis_name=axis, where=Path("model.csv"))


def from_scores(scores, *, axis=None, axis_labels=None):
    source = ArrayScores(np.asarray(scores, dtype=np.float32), "model.npy")
    n_rows, n_outputs = source.shape
    raw = RawPredictions(format="test", n_rows=n_rows, n_outputs=n_outputs, scores=source, axis_labels=axis_labels)
    return resolve(raw, LABELS, axis_name=axis, where=Path("model.npy"))


def one_hot(width, *positions):
    scores = np.zeros((len(positions), width), dtype=np.float32)
    scores[np.arange(len(positions)), positions] = 1
    return scores


def reasons(found):
    return {reason: rows.tolist() for reason, rows in found.raw.invalid.items()}


class TestIndexAndText:
    def test_an_index_is_a_class_in_the_order_of_wnids(self):
        assert resolved(index=[0, 65, 999]).top1.tolist() == [0, 65, 999]

    def test_the_wnid_wins_over_the_index_and_that_is_told(self):
        found = resolved(index=[0, 65], text=["n01443537", "n01751748"])
        assert found.top1.tolist() == [1, 65]
        assert found.raw.notes == (
            "in 1 row the index and the label disagree; the label was taken (first: row 1, index 0, label 'n01443537')",
        )

    @pytest.mark.parametrize(
        ("text", "index"),
        [
            pytest.param("crane", 134, id="the bird"),
            pytest.param("crane", 517, id="the machine"),
            pytest.param("missile", 744, id="open_clip's other missile"),
            pytest.param("polecat", 361, id="the skunk"),
        ],
    )
    def test_the_index_settles_a_name_of_several_classes(self, text, index):
        found = resolved(index=[index], text=[text])
        assert found.top1.tolist() == [index]
        assert not found.raw.notes

    def test_an_ambiguous_name_without_an_index_is_listed_and_not_guessed(self):
        found = resolved(text=["crane", "goldfish", "n01440764"])
        assert found.top1.tolist() == [-1, 1, 0]
        assert reasons(found) == {"the label text means more than one class": [0]}

    def test_the_index_is_taken_where_the_text_is_no_class_name_or_missing(self):
        for text in ("my own name", "drake"):
            found = resolved(index=[97, 8], text=[text, None])
            assert (found.top1.tolist(), found.n_disagree, found.raw.notes) == ([97, 8], 0, ())

    def test_a_wnid_outside_the_classes_is_invalid_whatever_the_index(self):
        found = resolved(index=[3, 0, 1], text=["n00007846", *WNIDS[:2]])
        assert found.top1.tolist() == [-1, 0, 1]
        assert reasons(found) == {"the wnid is none of the classes": [0]}

    def test_a_clear_label_is_taken_beside_an_index_of_another_axis(self):
        found = resolved(index=[9_000, 20_000, -1], text=WNIDS[:3])
        assert found.top1.tolist() == [0, 1, 2]
        assert not found.raw.invalid

    def test_an_unmapped_label_is_a_failure_and_no_class(self):
        found = resolved(text=["<unmapped:1234>", "goldfish", "tench"])
        assert found.top1.tolist() == [-1, 1, 0]
        assert reasons(found) == {"the label is <unmapped>": [0]}

    def test_a_row_that_says_nothing_has_a_reason_too(self):
        found = resolved(text=[None, "goldfish", "tench"])
        assert found.top1.tolist() == [-1, 1, 0]
        assert reasons(found) == {NO_LABEL: [0]}

    def test_a_row_that_the_reader_refused_stays_without_a_class(self):
        invalid = {"the confidence is NaN": np.array([0])}
        found = resolved(index=[0, 1], invalid=invalid)
        assert found.top1.tolist() == [-1, 1]
        assert reasons(found) == {"the confidence is NaN": [0]}

    def test_labels_of_another_kind_are_refused(self):
        with pytest.raises(InputError, match=r"2 labels of 3 cannot be read .*first: row 1: happy.*--include-ind"):
            resolved(text=["happy", "sad", "tench"])

    def test_they_are_so_from_half_of_the_rows_on(self):
        with pytest.raises(InputError, match="1 label of 2 cannot be read"):
            resolved(text=["happy", "tench"])
        assert resolved(text=["happy", "goldfish", "tench"]).top1.tolist() == [-1, 1, 0]

    def test_of_no_rows_there_is_nothing_to_refuse(self):
        assert resolved(text=[]).top1.tolist() == []


class TestAxes:
    @pytest.mark.parametrize("index", [1000, 21_000])
    def test_many_indices_beyond_the_axis_are_refused_with_the_flag(self, index):
        with pytest.raises(InputError, match=f"1 class index outside 0..999 .first: row 2: {index}.*--class-axis"):
            resolved(index=[0, index, 5])

    def test_indices_that_count_a_background_class_are_read_with_the_flag(self):
        assert resolved(index=[1, 66, 1000], axis="1001").top1.tolist() == [0, 65, 999]

    def test_the_background_itself_is_never_a_class(self):
        found = resolved(index=[0, 66], axis="1001")
        assert found.top1.tolist() == [-1, 65]
        assert list(reasons(found).values()) == [[0]]

    def test_an_index_on_a_larger_head_is_read_with_the_flag(self):
        axis = class_axis("21841", LABELS)
        at = {int(c): int(p) for p, c in enumerate(axis.class_at) if c >= 0}
        other = int(np.flatnonzero(axis.class_at < 0)[0])
        found = resolved(index=[at[65], other, at[0]], axis="21841")
        assert found.top1.tolist() == [65, -1, 0]
        assert reasons(found) == {"the class index is none of the classes on the 21841 axis": [1]}

    def test_an_axis_of_another_width_than_the_outputs_is_refused(self):
        with pytest.raises(InputError, match=r"1,000 outputs, but --class-axis 1001 has 1,001"):
            from_scores(one_hot(1000, 0), axis="1001")

    @pytest.mark.parametrize(
        ("width", "axes"),
        [(200, "imagenet-a or imagenet-r or FILE"), (999, "FILE"), (21_840, "FILE")],
    )
    def test_a_width_that_tells_nothing_is_refused_with_the_axes_that_are_as_wide(self, width, axes):
        with pytest.raises(
            InputError, match=f"1 row of {width:,} outputs, and which .*--class-axis {axes}: .*--classes"
        ):
            from_scores(one_hot(width, 0))

    def test_rows_as_many_as_there_are_classes_may_be_these(self):
        with pytest.raises(InputError, match=r"1,000 rows of 500 outputs.*save the array transposed \(array\.T\)"):
            from_scores(np.zeros((1000, 500)))


class TestScores:
    def test_of_1001_outputs_the_first_is_left_out_and_that_is_told(self):
        scores = one_hot(1001, 66, 0)
        scores[1, 5] = 0.5
        found = from_scores(scores)
        assert found.top1.tolist() == [65, 4]
        assert found.raw.notes[0] == "1,001 outputs: the first is a background class and was left out"

    def test_a_larger_head_is_restricted_to_the_1000_classes_and_the_missing_one_is_told(self):
        axis = class_axis("21843", LABELS)
        at = int(np.flatnonzero(axis.class_at == 65)[0])
        other = int(np.flatnonzero(axis.class_at < 0)[0])
        scores = one_hot(21_843, other)
        scores[0, at] = 0.5
        found = from_scores(scores)
        assert found.top1.tolist() == [65]
        assert "999 that stand for one of the classes" in found.raw.notes[0]
        assert "1 class of the 1,000 has none (first: 850 teddy" in found.raw.notes[0]

    def test_the_wnids_in_a_files_own_headers_are_its_axis(self):
        found = from_scores(one_hot(3, 0, 2, 1), axis_labels=(WNIDS[7], "n00007846", WNIDS[3]))
        assert found.top1[:2].tolist() == [7, 3]
        assert "2 that stand for one of the classes" in found.raw.notes[0]

    @pytest.mark.parametrize("headers", [WNIDS[:3], ("red", "green", "blue")], ids=["wnids", "no classes"])
    def test_a_stated_axis_wins_over_a_files_own_headers(self, headers, tmp_path):
        (tmp_path / "axis.txt").write_text("\n".join((WNIDS[7], WNIDS[5], WNIDS[3])))
        found = from_scores(one_hot(3, 0, 2, 1), axis=str(tmp_path / "axis.txt"), axis_labels=headers)
        assert (found.top1.tolist(), found.n_disagree) == ([7, 3, 5], 0)

    def test_rows_without_a_usable_output_are_no_labels_that_cannot_be_read(self):
        found = from_scores([[1.0, 2.0], [np.nan, 1.0]], axis_labels=WNIDS[:2])
        assert found.top1.tolist() == [1, -1]
        assert reasons(found) == {"an output is NaN": [1]}

    @pytest.mark.parametrize(
        ("axis_labels", "told"),
        [
            pytest.param(None, (), id="all of them, in order"),
            pytest.param(WNIDS[::-1], (), id="all of them, in another order"),
            pytest.param(
                ("n00007846", *WNIDS[1:]),
                (
                    "1,000 outputs: the 999 that stand for one of the classes were used; 1 class of the 1,000 has none "
                    "(first: 0 tench)",
                ),
                id="all but one",
            ),
        ],
    )
    def test_of_1000_outputs_only_what_they_lack_is_told(self, axis_labels, told):
        notes = from_scores(one_hot(1000, 7, 8), axis_labels=axis_labels).raw.notes
        assert tuple(note for note in notes if "outputs:" in note) == told

    def test_the_200_outputs_of_another_set_need_its_name(self):
        classes = class_axis("imagenet-a", LABELS).class_at
        assert from_scores(one_hot(200, 0, 199), axis="imagenet-a").top1.tolist() == classes[[0, 199]].tolist()

    @pytest.mark.parametrize("value", [np.nan, np.inf])
    def test_a_row_with_a_broken_output_is_invalid_and_no_tench(self, value):
        scores = one_hot(1000, 7, 7, 7)
        scores[0, 7], scores[1] = value, np.nan
        found = from_scores(scores)
        assert found.top1.tolist() == [-1, -1, 7]
        assert sorted(row for rows in reasons(found).values() for row in rows) == [0, 1]

    def test_of_equal_outputs_the_lowest_class_is_taken_and_counted(self):
        scores = np.zeros((1, 1000))
        scores[0, [3, 8]] = 0.4
        found = from_scores(scores)
        assert (found.top1.tolist(), found.raw.n_ties) == ([3], 1)


class TestMasked:
    """Of the classes that occur in a data set the best is taken."""

    SOME = replace(LABELS, occurring=(0, 5, 9))

    def resolve(self, raw):
        return resolve(raw, self.SOME, axis_name=None, where=Path("model.npy"), mask=True)

    def test_of_scores_the_best_of_the_classes_that_occur(self):
        scores = one_hot(1000, 7, 9, 0)
        scores[0, [0, 5]] = 0.2, 0.5
        source = ArrayScores(scores, "model.npy")
        found = self.resolve(RawPredictions(format="test", n_rows=3, n_outputs=1000, scores=source))
        assert found.top1.tolist() == [5, 9, 0]
        assert "of the 3 classes that occur the best was taken" in found.raw.notes

    def test_of_ranks_the_first_that_occurs_and_none_where_none_does(self):
        ranks = np.array([[7, 5, 0], [9, 0, 5], [1, 2, 3]])
        found = self.resolve(RawPredictions(format="test", n_rows=3, index=ranks[:, 0], ranks=ranks))
        assert found.top1.tolist() == [5, 9, -1]
        assert reasons(found) == {"none of its ranks occurs in the data set": [2]}

    def test_a_single_class_a_row_is_refused(self):
        with pytest.raises(InputError, match="one class a row, so that the best of those that occur is not known"):
            self.resolve(RawPredictions(format="test", n_rows=2, index=np.array([0, 7])))

    def test_where_all_classes_occur_there_is_nothing_to_mask(self):
        with pytest.raises(InputError, match="all classes occur"):
            resolve(
                RawPredictions(format="test", n_rows=1, index=np.array([0])),
                LABELS,
                axis_name=None,
                where=Path("model.npy"),
                mask=True,
            )


def test_an_index_of_other_classes_settles_no_ambiguous_text():
    names = [LABELS.names[index] for index in range(40)]
    found = resolved(index=[134] * 42, text=[*names, "crane", None])
    assert found.top1.tolist() == [*range(40), -1, -1]
    assert found.n_disagree == 40


def test_an_index_that_mostly_agrees_settles_an_ambiguous_text():
    names = [LABELS.names[index] for index in range(40)]
    assert resolved(index=[*range(40), 134], text=[*names, "crane"]).top1.tolist() == [*range(40), 134]
