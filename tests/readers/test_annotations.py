"""Annotations: which labels are right for an image, from ReaL, the official JSON, or a table of one's own."""

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from imagenet_errors.labels import imagenet_1k
from imagenet_errors.problems import InputError
from imagenet_errors.readers.annotations import annotations_table, read_annotations, read_real, val_labels

LABELS = imagenet_1k()
FIRST, SECOND = "ILSVRC2012_val_00000001.JPEG", "ILSVRC2012_val_00000002.JPEG"
SEA_SNAKE, SKI = LABELS.wnids[65], LABELS.wnids[795]


def read(tmp_path, text, name="labels.csv"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_annotations(path, LABELS)


def official(tmp_path, annots, problematic=(), **others):
    text = {"initial_annots": annots, "problematic_images": dict.fromkeys(problematic, "reason"), **others}
    return read(tmp_path, json.dumps(text), "official.json")


def accepted(annotations):
    return [annotations.accepted[row].tolist() for row in range(len(annotations))]


class TestReal:
    def test_lists_are_those_of_the_images_of_that_name(self):
        real = read_real(LABELS)
        assert real.file_names[0].as_py() == FIRST
        assert real.file_names[49_999].as_py() == "ILSVRC2012_val_00050000.JPEG"
        assert accepted(real)[:3] == [[], [795, 970], [230, 231]]
        assert val_labels()[:3].tolist() == real.label[:3].tolist() == [65, 970, 230]

    def test_3163_images_have_no_label_and_are_not_evaluated(self):
        real = read_real(LABELS)
        assert int(real.exclusions["no accepted label"].sum()) == 3_163
        assert not real.evaluated[0]

    def test_in_the_right_order_nine_in_ten_original_labels_are_accepted(self):
        real = read_real(LABELS)
        agree = real.accepted.any_of(real.accepted.values == real.label[real.accepted.owners])
        assert int(agree.sum()) == int(real.evaluated.sum()) == 42_164
        assert int(real.label_is_rejected.sum()) == 46_837 - 42_164

    def test_its_own_file_counts_images_from_1(self, tmp_path):
        real = read(tmp_path, "[[], [970, 795], [230, 231]]", "real.json")
        assert real.file_names.to_pylist() == [FIRST, SECOND, "ILSVRC2012_val_00000003.JPEG"]
        assert accepted(real) == [[], [795, 970], [230, 231]]
        assert real.evaluated.tolist() == [False, True, True]
        assert real.label.tolist() == [65, 970, 230]

    @pytest.mark.parametrize(
        "text",
        [
            pytest.param("[[1], 2]", id="not lists"),
            pytest.param('["a.JPEG"]', id="names"),
            pytest.param(json.dumps([[]] * 50_001), id="too many"),
            pytest.param("[[1000]]", id="no such class"),
            pytest.param("[[1]", id="cut off"),
        ],
    )
    def test_a_list_of_another_kind_is_refused(self, tmp_path, text):
        with pytest.raises(InputError, match=r"real.json: "):
            read(tmp_path, text, "real.json")


class TestOfficialJson:
    def test_correct_and_unclear_labels_are_accepted_and_wrong_ones_are_not(self, tmp_path):
        annots = {FIRST: {"correct": [SKI], "unclear": [SEA_SNAKE], "wrong": [LABELS.wnids[1]]}}
        found = official(tmp_path, annots)
        assert accepted(found) == [[65, 795]]
        assert found.label.tolist() == [65]

    def test_every_key_may_be_absent(self, tmp_path):
        found = official(tmp_path, {FIRST: {}, SECOND: {"unclear": [SKI]}})
        assert accepted(found) == [[], [795]]
        assert replace(found, rejected_labels="trust").evaluated.tolist() == [False, True]

    def test_images_come_sorted_by_name(self, tmp_path):
        found = official(tmp_path, {SECOND: {"correct": [SKI]}, FIRST: {"correct": [SEA_SNAKE]}})
        assert found.file_names.to_pylist() == [FIRST, SECOND]
        assert accepted(found) == [[65], [795]]

    def test_problematic_images_do_not_count_though_they_are_named(self, tmp_path):
        found = official(tmp_path, {SECOND: {"correct": [SKI]}}, problematic=[FIRST, SECOND])
        assert found.file_names.to_pylist() == [FIRST, SECOND]
        assert found.problematic.tolist() == [True, True]
        assert not found.evaluated.any()

    def test_other_parts_are_skipped_whatever_they_hold(self, tmp_path):
        annots = {FIRST: {"correct": [SKI], "notes": [1, {"deep": None}]}}
        found = official(tmp_path, annots, imagenet_m=[FIRST], model_predictions={"vit": [[0.5] * 3]})
        assert accepted(found) == [[795]]

    def test_a_byte_order_mark_is_no_obstacle(self, tmp_path):
        text = json.dumps({"initial_annots": {FIRST: {"correct": [SKI]}}})
        assert accepted(read(tmp_path, b"\xef\xbb\xbf" + text.encode(), "bom.json")) == [[795]]

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            pytest.param("{}", "initial_annots", id="another object"),
            pytest.param('{"initial_annots": {"a": ', "truncated", id="cut off"),
            pytest.param('{"initial_annots": {"a.JPEG": {"correct": "n01440764"}}}', "array", id="no list"),
        ],
    )
    def test_another_layout_is_refused(self, tmp_path, text, said):
        with pytest.raises(InputError, match=f"not the layout of human_accuracy_v3.0.0.json: .*{said}"):
            read(tmp_path, text, "other.json")

    def test_a_wnid_outside_the_classes_is_refused_by_image(self, tmp_path):
        with pytest.raises(InputError, match=f"{FIRST}: 'n01440765' is none of the 1000 classes"):
            official(tmp_path, {FIRST: {"correct": ["n01440765"]}})

    def test_the_shared_file_has_18692_evaluated_and_1308_excluded_images(self, shared):
        found = read_annotations(shared / "annotations" / "human_accuracy_v3.0.0_labels_only.json", LABELS)
        assert (len(found), int(found.evaluated.sum())) == (20_000, 18_692)


class TestTable:
    @pytest.mark.parametrize(
        "cell",
        [
            pytest.param("65 795", id="blanks"),
            pytest.param("795 65 65", id="any order, each once"),
            pytest.param('"[65, 795]"', id="list as text"),
            pytest.param('"65,795"', id="commas"),
            pytest.param("65;795", id="semicolons"),
            pytest.param(f"{SEA_SNAKE} {SKI}", id="wnids"),
        ],
    )
    def test_a_csv_cell_holds_several_labels(self, tmp_path, cell):
        assert accepted(read(tmp_path, f"file_name,labels\n{FIRST},{cell}\n")) == [[65, 795]]

    @pytest.mark.parametrize(
        "cell",
        [
            pytest.param("-1", id="negative"),
            pytest.param("1000", id="no such class"),
            pytest.param("70000", id="beyond 16 bits"),
            pytest.param("65.5", id="a fraction"),
            pytest.param("n01440765", id="unknown wnid"),
            pytest.param("crane", id="a name of two classes"),
        ],
    )
    def test_what_is_no_class_is_refused_and_never_becomes_another_one(self, tmp_path, cell):
        with pytest.raises(
            InputError, match=f"(no classes? in 1 cell of column labels.*{cell}|1 class outside 0..999.*{cell}|{cell})"
        ):
            read(tmp_path, f"file_name,labels\n{FIRST},{cell}\n")

    @pytest.mark.parametrize(
        "labels",
        [
            pytest.param(pa.array([[795, 65], [], None], pa.list_(pa.int64())), id="list of ints"),
            pytest.param(pa.array([[795, 65], [], None], pa.large_list(pa.int16())), id="large list"),
            pytest.param(pa.array([[SKI, SEA_SNAKE], [], None]), id="list of wnids"),
            pytest.param(pa.array(["795 65", "", None], pa.large_string()), id="text"),
        ],
    )
    def test_parquet_holds_lists_or_text(self, tmp_path, labels):
        names = ["ILSVRC2012_val_00000003.JPEG", SECOND, FIRST]
        pq.write_table(pa.table({"file_name": names, "labels": labels}), tmp_path / "a.parquet")
        assert accepted(read_annotations(tmp_path / "a.parquet", LABELS)) == [[], [], [65, 795]]

    def test_what_is_written_as_a_table_is_read_back(self, tmp_path):
        given = read(tmp_path, f"file_name,labels,problematic\n{FIRST},65 795,false\n{SECOND},,true\n")
        pq.write_table(annotations_table(given), tmp_path / "a.parquet")
        again = read_annotations(tmp_path / "a.parquet", LABELS)
        assert accepted(again) == accepted(given) == [[65, 795], []]
        assert again.problematic.tolist() == given.problematic.tolist() == [False, True]
        assert again.label.tolist() == given.label.tolist() == [65, 970]

    def test_an_empty_cell_of_problematic_means_no(self, tmp_path):
        found = read(tmp_path, f"file_name,labels,problematic\n{FIRST},65,\n{SECOND},970,true\n")
        assert found.problematic.tolist() == [False, True]

    def test_names_keep_their_leading_zeros(self, tmp_path):
        found = read(tmp_path, "file_name,labels\n00000001,65\n00000002,970\n")
        assert found.file_names.to_pylist() == ["00000001", "00000002"]
        assert found.label.tolist() == [65, 970]

    def test_the_original_label_of_other_sets_comes_from_the_folder_or_a_column(self, tmp_path):
        by_folder = read(tmp_path, f"file_name,labels\n{SKI}/6.jpeg,1\nv2\\{SEA_SNAKE}\\6.jpeg,2\n")
        assert by_folder.label.tolist() == [795, 65]
        by_column = read(tmp_path, "file_name,labels,label\ncat.jpg,1,281\n")
        assert by_column.label.tolist() == [281]

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            pytest.param("", "the file is empty", id="empty"),
            pytest.param(" \n ", "the file is empty", id="blank"),
            pytest.param("<html><h1>403</h1>", "this is a web page", id="web page"),
            pytest.param("picture,labels\na,1\n", "no column file_name; it has 'picture', 'labels'", id="no name"),
            pytest.param(
                f"file_name,labels\n{FIRST},1\n{FIRST},2\n", "1 image annotated more.*with all of its", id="double"
            ),
            pytest.param(f"file_name,labels\n{FIRST},1\nval/{FIRST},2\n", "1 image annotated more", id="two spellings"),
            pytest.param("file_name,labels\ncat.jpg,1\n", "original label of 1 image is not", id="no label"),
            pytest.param(
                "file_name,labels,label\ncat.jpg,1,1000\n", "1 class outside 0..999 in column label", id="label"
            ),
            pytest.param("file_name,labels,label\na,1,2\nb,1,\n", "1 empty cell in column label", id="gap"),
            pytest.param(
                "file_name,labels,label\na,1,x\n", "no class list in 1 cell of column label", id="label as text"
            ),
            pytest.param(
                "file_name,labels,problematic\na,1,bad\n", "no truth value in 1 cell of column problematic", id="reason"
            ),
            pytest.param(f"file_name,labels\n{SKI}/{FIRST},1\n", "folder of another class", id="torn"),
            pytest.param(b"PAR1 cut off", "the Parquet file is cut short", id="broken Parquet"),
        ],
    )
    def test_a_file_that_cannot_be_used_is_refused_with_the_reason(self, tmp_path, text, said):
        with pytest.raises(InputError, match=f"labels.csv: .*{said}"):
            read(tmp_path, text)


def test_labels_are_sorted_and_each_named_once_in_every_image_of_real():
    accepted = read_real(LABELS).accepted
    same_image = np.diff(accepted.owners) == 0
    assert (np.diff(accepted.values.astype(int))[same_image] > 0).all()
