"""Rows become images by name, or by an order that is stated or proven; every row is counted in exactly one way."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from imagenet_errors.images import val_file_names
from imagenet_errors.labels import imagenet_1k
from imagenet_errors.problems import InputError
from imagenet_errors.readers.annotations import read_real, val_labels
from imagenet_errors.readers.match import MatchRules, match
from imagenet_errors.readers.raw import RawPredictions
from imagenet_errors.readers.resolve import Resolved, resolve
from imagenet_errors.tables import Annotations, Ragged
from real_looking import real_looking

LABELS = imagenet_1k()
REAL = read_real(LABELS)
TRUSTED = replace(REAL, rejected_labels="trust")
LABEL = val_labels()
ALL = val_file_names(np.arange(1, 50_001))
BY_FOLDER = np.argsort(LABEL, kind="stable")
PARTIAL = MatchRules(allow_partial=True)
UNCHECKED = MatchRules(allow_partial=True, check_order=False)


def predictions(top1, names=None, annotations=REAL, rules=PARTIAL, invalid=None):
    names = None if names is None else pa.array(names, type=pa.string())
    top1 = np.asarray(top1, dtype=np.int16)
    raw = RawPredictions(format="test", n_rows=len(top1), names=names, index=top1, invalid=invalid or {})
    return match(Resolved(raw, top1), annotations, LABELS, model="m", path=Path("model.csv"), rules=rules)


def annotated(names, label, problematic=()):
    order = np.argsort(names)
    label = np.array(label, dtype=np.int16)[order]
    accepted = Ragged.of([[int(one)] for one in label])
    is_problematic = np.isin(np.array(names)[order], problematic)
    return Annotations("toy", pa.array(np.array(names)[order].tolist()), label, accepted, is_problematic)


def model(n_rows=50_000, accuracy=0.75):
    return real_looking(accuracy)[:n_rows].astype(np.int16)


class TestByName:
    def test_rows_come_out_in_the_order_of_the_annotations(self):
        found = predictions([5, 6, 7], [ALL[9].as_py(), ALL[2].as_py(), ALL[4].as_py()])
        assert (found.rows.tolist(), found.top1.tolist()) == ([2, 4, 9], [6, 7, 5])

    def test_every_row_is_counted_in_exactly_one_way(self):
        names = [*ALL[:3].to_pylist(), ALL[1].as_py(), "photo.JPEG", ALL[7].as_py()]
        top1 = [1, 2, -1, 2, 5, 3]
        intake = predictions(top1, names, annotations=TRUSTED).intake
        counts = (intake.n_matched, intake.n_repeated, intake.n_invalid, intake.n_extra)
        assert counts == (3, 1, 1, 1)
        assert sum(counts) == intake.n_rows
        assert intake.n_missing == int(TRUSTED.evaluated.sum()) - 2  # the first image has no ReaL label

    def test_names_of_other_images_are_extra(self):
        found = predictions([1, 2], ["extra/photo.JPEG", ALL[0].as_py()])
        assert (found.rows.tolist(), found.intake.n_extra) == ([0], 1)

    def test_a_file_of_none_of_the_images_is_refused(self):
        with pytest.raises(InputError, match=r"none of its 2 rows is an annotated image \(first: 0/6.jpeg\)"):
            predictions([1, 2], ["0/6.jpeg", "1/6.jpeg"])

    def test_base_names_that_repeat_need_their_folders(self):
        v2 = annotated(["0/6.jpeg", "1/6.jpeg"], [0, 1])
        assert predictions([1, 0], ["v2/1/6.jpeg", "v2/0/6.jpeg"], v2).top1.tolist() == [0, 1]
        with pytest.raises(InputError, match=r"2 names by which several annotated images are called"):
            predictions([0, 1], ["6.jpeg", "6.jpeg"], v2)

    def test_confidence_stays_with_its_row(self):
        raw = RawPredictions(
            format="test", n_rows=2, names=ALL[3:5].take(pa.array([1, 0])), confidence=np.float32([0.1, 0.2])
        )
        resolved = Resolved(raw, np.int16([7, 8]))
        found = match(resolved, REAL, LABELS, model="m", path=Path("m.csv"), rules=PARTIAL)
        assert found.confidence.tolist() == pytest.approx([0.2, 0.1])


class TestCompleteness:
    NAMES = ("a.JPEG", "b.JPEG", "c.JPEG")

    def test_a_complete_file_is_accepted(self):
        found = predictions([1, 2, 3], self.NAMES, annotated(self.NAMES, [1, 2, 3]), MatchRules())
        assert found.intake.n_missing == 0

    def test_missing_images_are_refused_with_count_and_first(self):
        toy = annotated(self.NAMES, [1, 2, 3])
        with pytest.raises(InputError, match=r"for 2 of 3 images \(first: a.JPEG\).*--allow-partial"):
            predictions([2], ["b.JPEG"], toy, MatchRules())
        assert predictions([2], ["b.JPEG"], toy).intake.n_missing == 2

    def test_excluded_images_may_be_missing(self):
        toy = annotated(self.NAMES, [1, 2, 3], problematic=["a.JPEG"])
        assert predictions([2, 3], ["b.JPEG", "c.JPEG"], toy, MatchRules()).intake.n_missing == 0

    def test_invalid_rows_are_refused_with_reason_and_row_and_counted_if_allowed(self):
        toy = annotated(self.NAMES, [1, 2, 3])
        invalid = {"an output is NaN": np.array([1])}
        with pytest.raises(InputError, match=r"for 1 of 3 images; 1 because an output is NaN \(row 2\) \(first: b"):
            predictions([1, -1, 3], self.NAMES, toy, MatchRules(), invalid)
        found = predictions([1, -1, 3], self.NAMES, toy, PARTIAL, invalid)
        assert (found.rows.tolist(), found.intake.n_invalid, found.intake.n_missing) == ([0, 2], 1, 1)

    def test_a_file_without_any_usable_row_is_refused_even_if_partial(self):
        with pytest.raises(InputError, match=r"no usable prediction for 3 of 3"):
            predictions([-1, -1, -1], self.NAMES, annotated(self.NAMES, [1, 2, 3]))


class TestRepeatedRows:
    def test_equal_copies_are_kept_once_and_counted(self):
        found = predictions([1, 1, 1, 4], [ALL[0].as_py()] * 3 + [ALL[1].as_py()])
        assert (found.rows.tolist(), found.top1.tolist(), found.intake.n_repeated) == ([0, 1], [1, 4], 2)

    @pytest.mark.parametrize(
        ("other", "said"),
        [
            pytest.param(2, "class 1 in row 1, class 2 in row 2", id="two classes"),
            pytest.param(-1, "class 1 in row 1, no usable class in row 2", id="a class and none"),
        ],
    )
    def test_conflicting_copies_are_refused_with_their_rows(self, other, said):
        with pytest.raises(InputError, match=f"1 repeated row with another class.*{ALL[0]}: {said}"):
            predictions([1, other], [ALL[0].as_py(), "val/" + ALL[0].as_py()])

    def test_padding_and_gaps_of_a_distributed_run_are_told(self):
        names = ALL.to_pylist()
        names[-5:] = names[:5]
        top1 = model()
        top1[-5:] = top1[:5]
        found = predictions(top1, names)
        assert (found.intake.n_repeated, found.intake.n_missing) == (5, int(REAL.evaluated[-5:].sum()))
        with pytest.raises(InputError, match=r"no usable prediction for"):
            predictions(top1, names, rules=MatchRules())


class TestRowsWithoutNames:
    @pytest.mark.parametrize(
        ("order", "permutation"),
        [pytest.param("name", np.arange(50_000), id="name"), pytest.param("imagefolder", BY_FOLDER, id="folder")],
    )
    def test_the_one_order_that_fits_is_taken_and_told(self, order, permutation):
        top1 = model()
        found = predictions(top1[permutation], rules=MatchRules())
        assert found.top1.tolist() == top1.tolist()
        assert f"only the order {order} fits" in " ".join(found.intake.notes)

    @pytest.mark.parametrize("n_rows", [49_999, 1_300])
    def test_another_number_of_rows_is_refused(self, n_rows):
        with pytest.raises(InputError, match=f"{n_rows:,} rows without image names.*--row-order with a file"):
            predictions(model(n_rows))

    def test_rows_that_fit_no_order_are_refused(self):
        with pytest.raises(InputError, match=r"at chance in every common order.*--row-order with one of name, im"):
            predictions(np.random.default_rng(0).permutation(model()))

    def test_a_shifted_axis_is_told_with_the_flags_that_settle_it(self):
        with pytest.raises(InputError, match=r"order imagefolder with every class index -1.*--class-axis 1001"):
            predictions((model() + 1)[BY_FOLDER])

    def test_a_stated_order_is_taken(self, tmp_path):
        top1 = model(40, accuracy=1)
        (tmp_path / "order.txt").write_text("\n".join(ALL[:40].to_pylist()[::-1]))
        rules = MatchRules(row_order=str(tmp_path / "order.txt"), allow_partial=True)
        found = predictions(top1[::-1], rules=rules)
        assert found.top1.tolist() == top1.tolist()
        assert "as stated" in " ".join(found.intake.notes)

    def test_a_wrongly_stated_order_is_refused_with_the_right_one(self):
        with pytest.raises(InputError, match=r"rows fit the order imagefolder. Pass --row-order imagefolder"):
            predictions(model()[BY_FOLDER], rules=MatchRules(row_order="name"))

    def test_other_sets_are_proven_in_lexicographic_or_natural_order(self):
        names = [f"{folder}/{image}.jpeg" for folder in range(30) for image in range(3)]
        label = np.repeat(np.arange(30) * 30, 3)
        found = predictions(label, annotations=annotated(names, label), rules=MatchRules())
        assert found.top1.tolist() == annotated(names, label).label.tolist()
        assert "only the order natural fits" in " ".join(found.intake.notes)

    @pytest.mark.parametrize("n_classes", [30, 1_200])
    def test_moved_class_folders_of_other_sets_are_told_as_classes_in_another_order(self, n_classes):
        """Only of ImageNet's classes it is known which are kin, by which the two are told apart."""
        label = np.repeat(np.arange(n_classes), 4)
        names = [f"{each:04}/{place}.jpeg" for place, each in enumerate(label)]
        shown = np.random.default_rng(0).permutation(n_classes)[label]
        top1 = np.where(np.arange(len(label)) % 4, shown, (shown + 3) % n_classes)
        with pytest.raises(InputError, match=r"order imagefolder images of one .*: the classes are in another order"):
            predictions(top1, annotations=annotated(names, label))

    def test_two_orders_that_both_fit_prove_nothing(self):
        names = [f"{folder}/{image}.jpeg" for folder in "abcdefghij" for image in (1, 2, 10)]
        label = np.repeat(np.arange(10) * 90, 3)
        with pytest.raises(InputError, match=r"several orders fit: imagefolder, natural"):
            predictions(label, annotations=annotated(names, label), rules=MatchRules())


class TestDistributedSampler:
    """It repeats the first images until all workers have equally many; the rows may lie worker by worker."""

    def of(self, n_images, n_more, n_workers=1):
        names, label = [f"{number:04}.jpeg" for number in range(n_images)], np.arange(n_images)
        top1 = np.where(label % 5, label, (label + 7) % n_images)
        order = np.concatenate([np.arange(worker, n_images + n_more, n_workers) for worker in range(n_workers)])
        found = predictions(np.append(top1, top1[:n_more])[order], annotations=annotated(names, label))
        assert found.top1.tolist() == top1.tolist()
        return " ".join(found.intake.notes)

    @pytest.mark.parametrize(
        ("n_more", "n_workers", "told"),
        [
            pytest.param(8, 1, "8 rows of padding", id="padding behind"),
            pytest.param(20, 1, "20 rows of padding", id="as much as there may be"),
            pytest.param(8, 16, "8 rows of padding", id="16 workers with padding"),
            pytest.param(0, 2, "worker by worker", id="2 workers without"),
        ],
    )
    def test_a_thousand_images_tell_how_they_were_shared(self, n_more, n_workers, told):
        assert f"as a distributed sampler gives it ({told})" in self.of(1_000, n_more, n_workers)

    @pytest.mark.parametrize(("n_images", "n_more"), [(1_000, 21), (999, 6)], ids=["too much padding", "fewer images"])
    def test_more_padding_or_fewer_images_could_be_anything(self, n_images, n_more):
        with pytest.raises(InputError, match=f"{n_images + n_more:,} rows without image names"):
            self.of(n_images, n_more)


class TestIntegerIds:
    @pytest.mark.parametrize("base", [0, 1])
    def test_they_count_from_0_or_1_as_fits(self, base):
        ids = [str(number + base) for number in range(200)]
        found = predictions(model(200), ids)
        assert found.rows.tolist() == list(range(200))
        assert found.intake.notes[0] == f"image ids count from {base} in the order name: only that fits the labels"

    @pytest.mark.parametrize("base", [0, 1])
    def test_places_in_class_folders_are_as_provable(self, base):
        label = val_labels()
        place = np.random.default_rng(3).permutation(5000)
        order = np.argsort(label, kind="stable")[place]
        top1 = np.where(np.arange(5000) % 4, label[order], (label[order] + 5) % 1000)
        found = predictions(top1, [str(number + base) for number in place], annotations=read_real(imagenet_1k()))
        assert found.rows.tolist() == sorted(order.tolist())
        assert f"count from {base} in the order imagefolder" in " ".join(found.intake.notes)

    def test_images_of_class_0_count_as_any_others(self):
        rows = np.flatnonzero(LABEL < 2)
        found = predictions(LABEL[rows], [str(row) for row in rows], rules=UNCHECKED)
        assert found.rows.tolist() == rows.tolist()

    def test_what_cannot_be_told_is_refused(self):
        with pytest.raises(
            InputError, match=r"which order they count in .name, imagefolder; from 0 or 1. .*\(first: 7\).*8 digits"
        ):
            predictions([999, 998], ["7", "8"])

    def test_8_digits_count_from_1_as_published(self):
        assert predictions([5], ["00000007"]).rows.tolist() == [6]


class TestOrderCheck:
    def test_names_put_beside_predictions_in_another_order_are_told_with_the_flag(self):
        with pytest.raises(InputError, match=r"rows fit the order imagefolder. Pass --row-order imagefolder"):
            predictions(model()[BY_FOLDER], ALL.to_pylist())

    def test_and_that_flag_works(self):
        top1 = model()
        found = predictions(top1[BY_FOLDER], ALL.to_pylist(), rules=MatchRules(row_order="imagefolder"))
        assert found.top1.tolist() == top1.tolist()

    def test_50_permuted_rows_are_refused_and_50_mistakes_are_not(self):
        names = ALL[:50].to_pylist()
        permuted = np.random.default_rng(0).permutation(model(50))
        with pytest.raises(InputError, match=r"accuracy is at chance.*another order"):
            predictions(permuted, names)
        assert predictions(model(50, accuracy=0), names).intake.n_matched == 50

    def test_the_check_can_be_left_out(self):
        permuted = np.random.default_rng(0).permutation(model(50))
        rules = MatchRules(allow_partial=True, check_order=False)
        assert predictions(permuted, ALL[:50].to_pylist(), rules=rules).intake.n_matched == 50

    def test_indices_that_count_a_background_are_told_before_any_missing_image_and_the_flag_works(self):
        raw = RawPredictions(format="test", n_rows=50_000, names=ALL, index=model().astype(np.int64) + 1)
        path, rules = Path("model.csv"), MatchRules()
        resolved = resolve(raw, LABELS, axis_name=None, where=path)
        with pytest.raises(InputError, match=r"class indices are shifted.*Pass --class-axis 1001"):
            match(resolved, REAL, LABELS, model="m", path=path, rules=rules)
        resolved = resolve(raw, LABELS, axis_name="1001", where=path)
        found = match(resolved, REAL, LABELS, model="m", path=path, rules=rules)
        assert found.top1.tolist() == model().tolist()
