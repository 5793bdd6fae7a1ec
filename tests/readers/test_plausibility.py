"""What no real model does is refused, whatever the format; what real models do is not; what is too little is said."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from imagenet_errors.images import val_file_names
from imagenet_errors.labels import LabelSpace, imagenet_1k
from imagenet_errors.problems import InputError
from imagenet_errors.readers.annotations import read_real, val_labels
from imagenet_errors.readers.plausibility import CHECKS, judge
from imagenet_errors.readers.predictions import ReadRules, read_predictions
from imagenet_errors.readers.reading import Reading
from imagenet_errors.tables import Annotations, Ragged
from real_looking import real_looking

LABELS = imagenet_1k()
REAL = read_real(LABELS)
LABEL = val_labels().astype(np.int64)
BY_FOLDER = np.argsort(LABEL, kind="stable")
EVERY = np.arange(50_000)
PARTIAL = ReadRules(allow_partial=True)


def reading(top1, rows=EVERY, **more):
    """Predictions of all images by their number, of which the file has these rows in this order."""
    given = {"lacks": np.empty(0, dtype=np.int64), "labels": LABELS, "annotations": REAL} | more
    return Reading(LABEL[rows], np.asarray(top1)[rows], rows, np.arange(len(rows)), **given)


def doubt(top1, rows=EVERY, **more):
    found = judge(reading(top1, rows, **more)).doubt
    return "" if found is None else f"{found.what}. {found.fix}"


def notes(top1, rows=EVERY, **more):
    return " ".join(judge(reading(top1, rows, **more)).notes)


def some(n, seed=0):
    return np.random.default_rng(seed).choice(50_000, n, replace=False)


class TestRealLooking:
    @pytest.mark.parametrize("accuracy", [0.5, 0.75, 0.9])
    @pytest.mark.parametrize("rows", [EVERY, BY_FOLDER], ids=["by name", "by folder"])
    def test_a_whole_file_is_plausible_and_nothing_is_left_unchecked(self, accuracy, rows):
        assert judge(reading(real_looking(accuracy), rows)).notes == ()
        assert doubt(real_looking(accuracy), rows) == ""

    @pytest.mark.parametrize("n", [1, 19, 20, 60, 200, 1_300, 5_000, 20_000])
    def test_so_is_a_part_and_its_mistakes_alone(self, n):
        top1, rows = real_looking(0.6), some(n)
        wrong = np.flatnonzero(top1 != LABEL)
        assert doubt(top1, rows) == ""
        assert doubt(top1, wrong[:n]) == ""

    def test_a_file_sorted_by_right_and_wrong_or_by_confidence_is_plausible(self):
        top1 = real_looking(0.75)
        unsure = (top1 == LABEL) + np.random.default_rng(0).random(50_000)
        for rows in (np.argsort(top1 == LABEL, kind="stable"), np.argsort(-unsure)):
            assert doubt(top1, rows) == ""

    def test_a_single_class_is_plausible(self):
        assert doubt(real_looking(0.75), np.flatnonzero(LABEL == 207)) == ""


class TestTruth:
    def test_the_labels_themselves_are_refused_with_the_flag_that_names_a_column(self):
        assert "100.00% of 200 predictions are the original label" in doubt(LABEL, EVERY[:200])
        assert "--column index=NAME" in doubt(LABEL, EVERY[:200])

    def test_so_are_labels_with_a_few_corrections(self):
        top1 = LABEL.copy()
        top1[:400] = (top1[:400] + 1) % 1000
        assert "99.20%" in doubt(top1)

    def test_the_best_model_is_not(self):
        assert doubt(real_looking(0.93)) == ""

    def test_too_few_rows_or_classes_are_said(self):
        assert "the labels given as predictions" in notes(LABEL, EVERY[:60])
        assert "the labels given as predictions" in notes(LABEL, np.flatnonzero(LABEL < 10))


class TestRanks:
    TOP1 = real_looking(0.75)[:2_000]
    OTHERS = np.column_stack([(LABEL[:2_000] + step) % 1000 for step in (313, 415, 517)])
    RANKS = np.column_stack([TOP1, np.where(LABEL[:2_000] == TOP1, (TOP1 + 611) % 1000, LABEL[:2_000]), OTHERS])

    def of(self, ranks):
        return doubt(np.append(ranks[:, 0], LABEL[2_000:]), EVERY[:2_000], ranks=ranks)

    def test_sorted_ones_are_plausible(self):
        assert self.of(self.RANKS) == ""

    def test_ascending_or_unsorted_ones_are_refused_with_each_columns_share(self):
        assert "the top-5 columns are not sorted, best first: they are right in" in self.of(self.RANKS[:, ::-1])
        assert "not sorted" in self.of(np.random.default_rng(0).permuted(self.RANKS, axis=1))

    def test_shifted_classes_are_told_as_such(self):
        assert "class indices are shifted" in self.of(self.RANKS + 1)

    def test_three_seeds_are_no_ranks(self):
        seeds = np.column_stack([real_looking(0.75, seed)[:2_000] for seed in range(3)])
        assert "name a class twice among their 3 (first: row" in self.of(seeds)

    def test_the_first_row_that_names_a_class_twice_is_shown_with_its_guesses(self):
        ranks = self.RANKS.copy()
        ranks[37:97, 2] = ranks[37:97, 0]
        assert f"(first: row 38: {', '.join(map(str, ranks[37]))})" in self.of(ranks)

    def test_rows_without_a_further_rank_repeat_nothing(self):
        ranks = self.RANKS.copy()
        ranks[:, 2:] = -1
        assert self.of(ranks) == ""

    @pytest.mark.parametrize("name", ["p.csv", "p.parquet", "p.json", "p.npz", "p.npy"])
    def test_every_format_is_checked(self, name, tmp_path):
        n = 400
        path = write_ranks(tmp_path / name, self.RANKS[:n, ::-1])
        rules = ReadRules(allow_partial=True, row_order=order_file(tmp_path, n)) if name == "p.npy" else PARTIAL
        with pytest.raises(InputError, match="columns are not sorted, best first"):
            read_predictions(path, REAL, LABELS, rules=rules)


def order_file(folder, n):
    (folder / "order.txt").write_text("\n".join(val_file_names(np.arange(1, n + 1)).to_pylist()))
    return str(folder / "order.txt")


def write_ranks(path, ranks):
    names = val_file_names(np.arange(1, len(ranks) + 1)).to_pylist()
    columns = {f"pred_{place}": ranks[:, place].tolist() for place in range(ranks.shape[1])}
    if path.suffix == ".csv":
        lines = [f"{name},{','.join(map(str, row))}" for name, row in zip(names, ranks.tolist(), strict=True)]
        path.write_text("\n".join([f"file,{','.join(columns)}", *lines]))
    elif path.suffix == ".parquet":
        pq.write_table(pa.table({"file_name": names} | columns), path)
    elif path.suffix == ".json":
        path.write_text(
            json.dumps([{"file": name, "preds": row} for name, row in zip(names, ranks.tolist(), strict=True)])
        )
    elif path.suffix == ".npz":
        np.savez(path, file_names=np.array(names), preds=ranks)
    else:
        np.save(path, ranks)
    return path


class TestNarrowClasses:
    TOP1 = real_looking(0.75)

    @pytest.mark.parametrize("n", [200, 1_300, 50_000])
    def test_bytes_are_told(self, n):
        assert "uint8 cannot hold the classes. Save the classes as int16" in doubt(self.TOP1 % 256, EVERY[:n])
        assert ": int8 cannot hold the classes" in doubt(self.TOP1 % 128, EVERY[:n])

    def test_bfloat16_is_told(self):
        step = np.where(self.TOP1 > 512, 4, np.where(self.TOP1 > 256, 2, 1))
        assert "went through bfloat16" in doubt(self.TOP1 // step * step, EVERY[:300])

    def test_a_head_of_ten_classes_is_told(self):
        for largest in (9, 10):
            n_beyond = int((LABEL[:3_000] > largest).sum())
            found = doubt(self.TOP1 % (largest + 1), EVERY[:3_000])
            assert f"no class above {largest} is predicted, though {n_beyond:,} of 3,000 images" in found
        assert "--class-axis" in doubt(self.TOP1 % 10, EVERY[:300])

    @pytest.mark.parametrize(("n_beyond", "is_told"), [(49, False), (50, True)])
    def test_in_a_small_file_fifty_images_of_classes_that_it_never_names_are_enough(self, n_beyond, is_told):
        rows = np.append(np.flatnonzero(LABEL < 500)[:350], np.flatnonzero(LABEL >= 600)[:n_beyond])
        assert ("no class above 499 is predicted" in doubt(self.TOP1 % 500, np.sort(rows))) == is_told

    def test_so_is_a_head_of_two_but_of_one_class_nothing_can_be_told(self):
        two = np.flatnonzero(np.isin(LABEL, (207, 300)))
        assert "images of 2 classes, and only classes 0 to 1 are predicted" in doubt((LABEL == 300).astype(int), two)
        assert doubt(np.zeros(50_000, dtype=int), np.flatnonzero(LABEL == 207)) == ""

    def test_few_classes_spread_over_all_are_told(self):
        assert "only 20 classes are predicted for images of" in doubt(self.TOP1 // 50 * 50 + 49, EVERY[:2_000])

    def test_images_of_few_classes_need_no_others(self):
        assert doubt(self.TOP1, np.flatnonzero(LABEL < 120)) == ""


class TestShiftedRun:
    TOP1 = real_looking(0.75)

    @pytest.mark.parametrize("folder", [0, 500, 990])
    def test_a_missing_class_folder_is_told_with_where_it_begins(self, folder):
        found = doubt(self.TOP1 - (folder < self.TOP1))
        assert "with every class index" in found
        assert "--class-axis FILE" in found

    def test_the_run_is_told_by_its_first_and_its_last_class(self):
        found = doubt(self.TOP1 - (self.TOP1 > 500), some(1_300))
        assert found.startswith("from class 501 cloak to 999 toilet tissue ")

    def test_on_few_images_too(self):
        found = doubt(self.TOP1 - (self.TOP1 > 500), some(1_300))
        assert "from class 501 " in found or "from class 502 " in found or "from class 503 " in found
        assert "+1: a class folder was missing" in found

    def test_a_folder_too_many_is_told(self):
        assert "with every class index -1" in doubt(np.minimum(self.TOP1 + (self.TOP1 > 300), 999))

    def test_two_missing_folders_side_by_side_are_told(self):
        assert "with every class index +2" in doubt(np.maximum(self.TOP1 - 2 * (self.TOP1 > 300), 0))

    def test_that_few_rows_cannot_tell_is_said(self):
        assert "classes shifted from some class on" in notes(self.TOP1, EVERY[:300])


class TestNeverPredicted:
    TOP1 = real_looking(0.75)

    def test_two_classes_of_one_index_are_told(self):
        crane, bird = 517, 134
        found = doubt(np.where(crane == self.TOP1, bird, self.TOP1))
        assert "1 class of 1,000 never predicted (first: 517 " in found
        assert "of its 50 images are called 134 " in found

    def test_one_whose_images_are_called_this_and_that_is_told_though_most_of_it_is_kin(self):
        """Sunglasses mostly go to sunglass, which is the same; here only a third of them do."""
        scattered = np.where((LABEL == 837) | (self.TOP1 == 837), (EVERY * 7) % 1000, self.TOP1)
        few = np.flatnonzero(LABEL == 837)
        scattered[few[::3]] = 836
        scattered = np.where(scattered == 837, 838, scattered)
        assert "1 class of 1,000 never predicted (first: 837 " in doubt(scattered)

    def test_a_class_that_the_axis_lacks_is_none(self):
        lacking = np.where(self.TOP1 == 517, 134, self.TOP1)
        assert doubt(lacking, lacks=np.array([517])) == ""

    def test_kin_of_one_name_are_only_said(self):
        """Zero-shot models that are given two classes by one name always answer with the first."""
        twins = np.where(self.TOP1 == 837, 836, self.TOP1)
        assert doubt(twins) == ""
        assert "class 837 sunglasses is never predicted" in notes(twins)

    def test_a_weak_model_may_never_name_a_class_and_that_is_said(self):
        weak = np.where((real_looking(0.3) == 517), 134, real_looking(0.3))
        assert doubt(weak) == ""
        assert "no index of their own" in notes(weak)


class TestLostRows:
    TOP1 = real_looking(0.75)

    def slipped(self, start, stop, rows=EVERY):
        lines = self.TOP1[rows].copy()
        lines[start:stop] = np.roll(lines[start:stop], 1)
        moved = self.TOP1.copy()
        moved[rows] = lines
        return moved

    @pytest.mark.parametrize(("start", "stop"), [(25_000, 50_000), (0, 5_000), (47_000, 50_000), (20_000, 21_000)])
    def test_rows_that_slipped_are_told_with_their_place(self, start, stop):
        found = doubt(self.slipped(start, stop))
        assert f"between rows {start + 1:,} and {stop:,}" in found
        assert "belong to other rows" in found

    @pytest.mark.parametrize("n", [400, 2_000, 10_000])
    def test_so_they_are_in_a_part(self, n):
        rows = some(n)
        assert "belong to other rows" in doubt(self.slipped(n // 2, n, rows), rows)

    def test_three_blocks_of_fifty_rows_are_the_least_and_fewer_are_said_to_be_unchecked(self):
        rows = some(150)
        assert "between rows 101 and 150" in doubt(self.slipped(100, 150, rows), rows)
        assert doubt(self.slipped(100, 149, rows[:149]), rows[:149]) == ""
        assert "rows that slipped from some row on" in notes(self.slipped(100, 149, rows[:149]), rows[:149])

    @pytest.mark.parametrize("share", [0.3, 0.6])
    def test_so_are_stretches_where_only_some_rows_are_lost(self, share):
        random, rows = np.random.default_rng(0), np.arange(20_000, 30_000)
        lost = rows[random.random(len(rows)) < share]
        moved = self.TOP1.copy()
        moved[lost] = moved[random.permutation(lost)]
        assert "between rows 20,001 and 30,000" in doubt(moved)

    def test_in_a_small_file_a_third_of_the_rows_lost_is_told_too(self):
        random, rows = np.random.default_rng(3), some(2_000, seed=3)
        lost = rows[1_000:][random.random(1_000) < 0.35]
        moved = self.TOP1.copy()
        moved[lost] = moved[random.permutation(lost)]
        assert "between rows 1,001 and 2,000" in doubt(moved, rows)

    def test_where_few_mistakes_elsewhere_tell_how_kin_they_are_half_of_the_rows_lost_is_told(self):
        random, rows, accurate = np.random.default_rng(0), some(400), real_looking(0.9)
        lost = rows[300:][random.random(100) < 0.5]
        moved = accurate.copy()
        moved[lost] = moved[random.permutation(lost)]
        assert np.count_nonzero(accurate[rows] != LABEL[rows]) < 50
        assert "between rows 301 and 400" in doubt(moved, rows)
        assert doubt(accurate, rows) == ""

    def test_a_small_block_beside_them_that_is_a_little_below_what_is_expected_is_so_by_luck(self):
        random, rows, mistaken = np.random.default_rng(0), some(400), real_looking(0.8).copy()
        is_right = mistaken == LABEL
        strange = rows[300:][~is_right[rows[300:]] | (random.random(100) < 0.15)]
        mistaken[strange] = (LABEL[strange] + random.integers(2, 999, len(strange))) % 1000
        assert is_right[rows[250:300]].mean() < 0.9 * is_right[rows[:250]].mean()
        assert "between rows 301 and 400" in doubt(mistaken, rows)

    def test_a_stretch_of_hard_images_is_plausible_though_half_of_its_mistakes_are_no_kin(self):
        random = np.random.default_rng(0)
        hard = random.choice(np.flatnonzero(self.TOP1 != LABEL), 4_000, replace=False)
        strange = hard[random.random(len(hard)) < 0.5]
        mistaken = self.TOP1.copy()
        mistaken[strange] = mistaken[random.permutation(strange)]
        assert doubt(mistaken, np.insert(np.setdiff1d(EVERY, hard), 20_000, hard)) == ""

    @pytest.mark.parametrize(("n", "is_told"), [(20, True), (49, True), (50, False), (60, False)])
    def test_nor_are_strange_mistakes_told_where_fifty_elsewhere_are_as_strange(self, n, is_told):
        """Fewer elsewhere do not show how strange a model's mistakes are; they are then expected to be kin."""
        random, rows = np.random.default_rng(2), some(400)
        strange = np.append(random.choice(rows[:300], n, replace=False), random.choice(rows[300:], 60, replace=False))
        mistaken = LABEL.copy()
        mistaken[strange] = (LABEL[strange] + random.integers(2, 999, len(strange))) % 1000
        assert ("between rows 301 and 400" in doubt(mistaken, rows)) == is_told
        assert is_told or not doubt(mistaken, rows)

    @pytest.mark.parametrize(("n", "is_told"), [(14, False), (15, True)])
    def test_where_more_than_95_in_100_elsewhere_are_right_the_file_is_sorted_by_right_and_wrong(self, n, is_told):
        random, rows = np.random.default_rng(2), some(400)
        strange = np.append(random.choice(rows[:300], n, replace=False), random.choice(rows[300:], 60, replace=False))
        mistaken = LABEL.copy()
        mistaken[strange] = (LABEL[strange] + random.integers(2, 999, len(strange))) % 1000
        assert np.mean((mistaken == LABEL)[rows[:300]]) == 1 - n / 300
        assert ("between rows 301 and 400" in doubt(mistaken, rows)) == is_told

    def test_in_class_folders_rows_that_are_right_by_chance_alone_are_told(self):
        lost = BY_FOLDER[30_000:]
        moved = self.TOP1.copy()
        moved[lost] = moved[np.random.default_rng(0).permutation(lost)]
        assert "between rows 30,001 and 50,000" in doubt(moved, BY_FOLDER)

    def outside_wordnet(self):
        texts = tuple(f"class {index}" for index in range(1000))
        own = LabelSpace(wnids=texts, names=texts, descriptions=texts, groups=("other",) * 1000)
        shelved = Annotations(
            "own", pa.array(texts), LABEL[:1000].astype(np.int16), Ragged.of([[0]] * 1000), EVERY[:1000] < 0
        )
        return {"labels": own, "annotations": shelved}

    def test_classes_outside_wordnet_are_judged_by_chance_alone(self):
        whole = self.outside_wordnet()
        assert doubt(self.TOP1, EVERY[:1_000], **whole) == ""
        assert "belong to other rows" in doubt(self.slipped(500, 1_000), EVERY[:1_000], **whole)

    def test_in_class_folders_of_them_nothing_can_be_told_and_that_is_said(self):
        whole, by_folder = self.outside_wordnet(), np.argsort(LABEL[:1_000], kind="stable")
        moved = self.TOP1.copy()
        moved[by_folder[500:]] = np.random.default_rng(0).permutation(moved[by_folder[500:]])
        assert doubt(moved, by_folder, **whole) == ""
        assert "rows that slipped from some row on" in notes(moved, by_folder, **whole)


class TestOrderInsideTheClasses:
    TOP1 = real_looking(0.75)

    def exchanged(self, start=0):
        """Predictions in folder order, of which each class's are shuffled from some row on."""
        key = np.where(start > EVERY, EVERY / 50_000, np.random.default_rng(0).random(50_000))
        moved = self.TOP1.copy()
        moved[BY_FOLDER] = self.TOP1[BY_FOLDER][np.lexsort((key, LABEL[BY_FOLDER]))]
        return moved

    @pytest.mark.parametrize("rows", [EVERY, BY_FOLDER], ids=["by name", "by folder"])
    def test_another_order_is_told_though_accuracy_stays(self, rows):
        found = doubt(self.exchanged(), rows)
        assert "rows are in another order inside the classes. Pass --row-order FILE" in found
        n_mistakes = len(reading(self.exchanged(), rows).other.wrong)
        assert found.startswith(f"of {n_mistakes:,} mistakes between rows"), "all parts of the file are told"

    def test_one_row_late_is_told(self):
        late = self.TOP1.copy()
        late[BY_FOLDER] = np.roll(self.TOP1[BY_FOLDER], 1)
        assert np.mean(late == LABEL) > 0.7
        assert "another order inside the classes" in doubt(late, BY_FOLDER)

    def test_from_some_row_on_it_is_told_with_where(self):
        assert "between rows 4" in doubt(self.exchanged(40_000), BY_FOLDER)

    def test_a_sample_of_ten_images_a_class_is_enough(self):
        assert "another order inside the classes" in doubt(self.exchanged(), some(20_000))

    def test_fewer_are_said(self):
        assert "another order inside the classes" in notes(self.TOP1, some(2_000))


class TestNotes:
    def test_fewer_than_20_rows_tell_nothing(self):
        found = notes((LABEL + 1) % 1000, EVERY[:15])
        assert found == "15 rows are too few to tell whether rows and classes are in order (0 of 15 right)"

    def test_what_could_not_be_excluded_is_one_sentence(self):
        found = judge(reading(real_looking(0.75), EVERY[:300])).notes
        assert len(found) == 1
        assert found[0].startswith("300 rows: too few, or too few right, to check for ")

    def test_every_check_names_its_fault_once(self):
        faults = [check.fault for check in CHECKS]
        assert len(set(faults)) == len(faults)


class TestFlagsWork:
    """The way out that a refusal names leads on: it neither loops nor gives other figures."""

    TOP1 = real_looking(0.75)

    def written(self, tmp_path, top1):
        names = val_file_names(EVERY + 1)
        pq.write_table(pa.table({"file_name": names, "prediction": pa.array(top1)}), tmp_path / "p.parquet")
        return tmp_path / "p.parquet"

    def test_the_axis_without_the_missing_class_gives_the_right_predictions(self, tmp_path):
        known = np.where(self.TOP1 == 500, 499, self.TOP1)
        path = self.written(tmp_path, known - (known > 500))
        with pytest.raises(InputError, match="--class-axis FILE"):
            read_predictions(path, REAL, LABELS, rules=ReadRules())
        (tmp_path / "axis.txt").write_text("\n".join(wnid for index, wnid in enumerate(LABELS.wnids) if index != 500))
        found = read_predictions(path, REAL, LABELS, rules=ReadRules(class_axis=str(tmp_path / "axis.txt")))
        assert found.top1.tolist() == known.tolist()

    def test_the_order_inside_the_classes_can_be_stated(self, tmp_path):
        order = BY_FOLDER[np.lexsort((np.random.default_rng(1).random(50_000), LABEL[BY_FOLDER]))]
        np.save(tmp_path / "p.npy", self.TOP1[order])
        with pytest.raises(InputError, match="Pass --row-order FILE"):
            read_predictions(tmp_path / "p.npy", REAL, LABELS, rules=ReadRules())
        (tmp_path / "order.txt").write_text("\n".join(val_file_names(order + 1).to_pylist()))
        rules = ReadRules(row_order=str(tmp_path / "order.txt"))
        assert read_predictions(tmp_path / "p.npy", REAL, LABELS, rules=rules).top1.tolist() == self.TOP1.tolist()

    def test_the_checks_can_be_left_out(self, tmp_path):
        path = self.written(tmp_path, self.TOP1 % 256)
        found = read_predictions(path, REAL, LABELS, rules=ReadRules(check_order=False))
        assert found.intake.n_matched == 50_000


class TestOnRealModels:
    def test_none_of_the_90_is_refused_nor_unchecked(self, shared):
        for path in sorted((shared / "predictions_many").glob("*.parquet")):
            table = pq.read_table(path).sort_by("file_name")
            top1 = table["predicted_class"].to_numpy().astype(np.int64)
            found = judge(reading(top1))
            assert (found.doubt, found.notes) == (None, ()), path.stem

    def test_no_run_of_mlperf_is(self, shared):
        table = pq.read_table(shared / "datasets" / "mlperf-v0.5" / "top1.parquet").sort_by("image")
        for run in table.column_names[1:]:
            top1 = table[run].to_numpy().astype(np.int64)
            assert judge(reading(top1, np.flatnonzero(top1 >= 0))).doubt is None, run

    @pytest.mark.parametrize("kind", ["matched-frequency", "top-images"])
    def test_none_of_64_on_imagenet_v2_is(self, shared, kind):
        table = pq.read_table(shared / "datasets" / "imagenet-v2" / kind / "top1_of_64_models.parquet")
        label = table["label"].to_numpy().astype(np.int64)
        accepted = Ragged(np.arange(len(label) + 1), label.astype(np.int16))
        names = table["file_name"].combine_chunks().cast(pa.string())
        v2 = Annotations("v2", names, label.astype(np.int16), accepted, label < 0)
        rows = np.arange(len(label))
        for model in set(table.column_names) - {"file_name", "label"}:
            top1 = table[model].to_numpy().astype(np.int64)
            whole = Reading(label, top1, rows, rows, np.empty(0, dtype=np.int64), LABELS, v2)
            assert judge(whole).doubt is None, model


class TestWeakRanks:
    """A weak model's first guess is right less often than its others together, and by luck than one of them."""

    N = 400

    def ranks(self, *right):
        """Five guesses an image, of which so many are right in each column, spread over the rows."""
        label = LABEL[: self.N]
        ranks = np.column_stack([(label + step) % 1000 for step in (113, 217, 313, 415, 517)])
        stop = 0
        for column, n in enumerate(right):
            rows = np.random.default_rng(3).permutation(self.N)[stop : stop + n]
            ranks[rows, column] = label[rows]
            stop += n
        return ranks

    def told(self, *right):
        ranks = self.ranks(*right)
        return doubt(np.append(ranks[:, 0], LABEL[self.N :]), EVERY[: self.N], ranks=ranks)

    def test_a_first_guess_that_luck_puts_behind_the_second_is_honest(self):
        assert self.told(60, 68, 30, 20, 10) == ""

    def test_one_that_luck_cannot_put_there_is_not(self):
        assert "not sorted, best first" in self.told(40, 120, 20, 10, 10)

    def test_less_than_half_of_the_hits_is_honest_where_few_images_are_hit_at_all(self):
        assert self.told(80, 60, 35, 20, 10) == ""
