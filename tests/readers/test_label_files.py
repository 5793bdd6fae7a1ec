"""Label files are read as they were published: each layout is known by its content, whatever the file is called."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from imagenet_errors.labels import imagenet_1k
from imagenet_errors.problems import InputError
from imagenet_errors.readers.annotations import LabelRules, UnlabelledError, assembled, labels_told_by, read_annotations
from imagenet_errors.readers.label_files import joined_class_tables, read_label_file
from imagenet_errors.readers.original_labels import CLASS_FOLDER, INDEX_FOLDER, NameRule

LABELS = imagenet_1k()
FIRST, SECOND = "ILSVRC2012_val_00000001.JPEG", "ILSVRC2012_val_00000002.JPEG"


@pytest.fixture
def write(tmp_path):
    """Write a text or an object as JSON; return its path."""

    def written(name, content):
        text = content if isinstance(content, str) else json.dumps(content)
        (tmp_path / name).write_text(text, encoding="utf-8")
        return tmp_path / name

    return written


REFINED = {"b.jpeg": ["370"], "a.jpeg": ["356", "359"], "c.jpeg": []}
ORIGINAL = {
    "target_size": 3,
    "image_filenames": [["c", LABELS.wnids[5]], ["a", LABELS.wnids[356]], ["b", LABELS.wnids[1]]],
}

TEXT = """Alarm clock ----------
a.png 1 2 9.0 3.0
b.png 3 409 1.0 8.0
0 -> Alarm clock: top 1: 50
Chair ---------
c.png 5 6 2 1
"""
TO_CLASSES = {
    "Alarm clock": "analog clock; digital clock",
    "Chair": "barber chair; folding chair; rocking chair, rocker",
    "Coffee/French press": "espresso maker",
}


def lists(ragged):
    return [ragged[row].tolist() for row in range(len(ragged))]


def joined(*paths, **rules):
    return assembled([read_label_file(path, LABELS) for path in paths], LABELS, rules=LabelRules(**rules))


class TestImageNetV2:
    def test_multi_labels_need_a_second_file_for_the_original_ones(self, write):
        with pytest.raises(UnlabelledError, match="original label of 3 images"):
            read_annotations(write("refined.json", REFINED), LABELS)

    def test_the_list_of_images_tells_them_and_the_order_of_the_arrays(self, write):
        found = joined(write("refined.json", REFINED), write("b-33.json", ORIGINAL))
        assert found.file_names.to_pylist() == ["a.jpeg", "b.jpeg", "c.jpeg"]
        assert found.label.tolist() == [356, 1, 5]
        assert lists(found.accepted) == [[356, 359], [370], []]
        assert found.file_order.tolist() == [2, 0, 1]

    def test_a_column_beside_the_models_tells_them_too(self, write):
        table = write("models.csv", "file_name,label,alexnet,vgg\na,356,1,2\nb,1,1,2\nc,5,6,7\n")
        labels_from = labels_told_by(table, LABELS)
        files = [read_label_file(write("refined.json", REFINED), LABELS)]
        assert assembled(files, LABELS, rules=LabelRules(), labels_from=labels_from).label.tolist() == [356, 1, 5]

    def test_index_folders_tell_them(self, write):
        rule = NameRule((INDEX_FOLDER,))
        found = read_annotations(
            write("names.csv", "file_name\n370/b.jpeg\n0/a.jpeg\n"), LABELS, rules=LabelRules(rule)
        )
        assert found.label.tolist() == [0, 370]

    def test_what_timm_calls_label_is_the_prediction_and_tells_nothing(self, write):
        table = write("timm.csv", f"filename,index,label,prob\na.jpeg,1,{LABELS.wnids[1]},0.5\n")
        assert labels_told_by(table, LABELS).original is None


class TestCorrections:
    def test_unclear_labels_are_accepted_and_wrong_ones_are_not(self, write):
        text = (
            "id,category,original_label,proposed_labels,manually_validated,unclear_multi_labels,wrong_multi_labels,"
            f'is_problematic\n{SECOND},M,970,"795, 970",True,"1, 2",3,False\n{FIRST},Z,65,,True,,65,True\n'
        )
        found = read_annotations(write("multilabel.csv", text), LABELS)
        assert lists(found.accepted) == [[], [1, 2, 795, 970]]
        assert found.problematic.tolist() == [True, False]

    def test_a_star_alone_says_that_no_person_looked(self, write):
        text = f'id,original_label,proposed_labels,validation\n{FIRST},65,65,*\n{SECOND},970,"795, 970",++*\n'
        assert read_annotations(write("clean.csv", text), LABELS).notes == (
            "1 label of 2 rest on models alone (marked *)",
        )

    def test_experts_new_labels_replace_the_old_one(self, write):
        told = {FIRST: {"old_label": 65, "new_label": None}, SECOND: {"old_label": 970, "new_label": [795, 970]}}
        assert lists(read_annotations(write("experts.json", told), LABELS).accepted) == [[], [795, 970]]


class TestWeights:
    def test_a_row_for_each_image_and_label(self, write):
        text = f"file_name,label,probability\n{FIRST},65,0.9\n{FIRST},66,0.3\n{SECOND},970,0.6\n"
        path = write("weights.csv", text)
        assert lists(read_annotations(path, LABELS).accepted) == [[65], [970]]
        strict = LabelRules(min_probability=0.7)
        assert lists(read_annotations(path, LABELS, rules=strict).accepted) == [[65], []]

    def test_lists_beside_lists(self, tmp_path):
        table = {"file_name": [FIRST], "labels": [[65, 66, 67]], "scores": [[0.9, 0.1, 0.5]]}
        pq.write_table(pa.table(table), tmp_path / "w.parquet")
        assert lists(read_annotations(tmp_path / "w.parquet", LABELS).accepted) == [[65, 67]]

    def test_mturk_answers_weigh_the_given_and_the_guessed_label(self, write):
        header = "file_name,given,guessed,says_given,says_guessed,says_neither,says_both\n"
        found = read_annotations(write("mturk.csv", f"{header}a,7,8,1,1,0,3\nb,7,8,0,5,0,0\nc,7,8,1,1,3,0\n"), LABELS)
        assert (found.label.tolist(), lists(found.accepted)) == ([7, 7, 7], [[7, 8], [8], []])

    @pytest.mark.parametrize("is_raters", [False, True])
    def test_real_scores_and_raters_and_those_nobody_was_asked_about(self, tmp_path, is_raters):
        info = np.array([[FIRST, "65"], [FIRST, "66"], [SECOND, "1"]])
        share = np.array([0.8, 0.4, 0.0])
        answers = np.zeros((5, 3, 3))
        for label, yes in enumerate((5 * share).round().astype(int)):
            answers[:yes, label, 2] = 1
            answers[yes:, label, 0] = 1
        np.savez(tmp_path / "s.npz", tensor=answers if is_raters else share, info=info)
        found = read_annotations(tmp_path / "s.npz", LABELS)
        assert (len(found), lists(found.accepted)[:3]) == (50_000, [[65], [], [230]])


class TestObjectNet:
    def test_headings_are_folders_and_a_table_says_their_classes(self, write):
        paths = [write("to_1k.json", TO_CLASSES), write("VGG.txt", TEXT)]
        found = joined(*paths, names=NameRule((CLASS_FOLDER,)))
        assert found.file_names.to_pylist() == ["Alarm clock/a.png", "Alarm clock/b.png", "Chair/c.png"]
        assert lists(found.label_sets) == lists(found.accepted) == [[409, 530], [409, 530], [423, 559, 765]]
        assert found.label.tolist() == [409, 409, 423]

    def test_any_class_of_the_set_is_correct(self, write):
        found = joined(write("t.json", TO_CLASSES), write("V.txt", TEXT), names=NameRule((CLASS_FOLDER,)))
        rows, classes = np.array([0, 0, 1, 2]), np.array([530, 409, 531, 423])
        assert found.is_correct(rows, classes).tolist() == [True, True, False, True]
        assert not found.label_is_rejected.any()

    def test_two_tables_explain_each_other(self, write):
        files = [
            read_label_file(write(f"{n}.json", t), LABELS)
            for n, t in enumerate(({"alarm_clock": "Alarm clock"}, TO_CLASSES))
        ]
        assert joined_class_tables(files)["alarm_clock"] == (409, 530)
        assert joined_class_tables(files)["coffee_french press"] == (550,)

    def test_a_table_alone_names_no_image(self, write):
        with pytest.raises(UnlabelledError, match="names no image"):
            joined(write("t.json", TO_CLASSES))

    def test_a_table_to_other_classes_is_refused(self, write):
        with pytest.raises(InputError, match="none of which is described"):
            joined_class_tables([read_label_file(write("t.json", {"Chair": "a throne"}), LABELS)])

    def test_the_largest_score_is_the_prediction(self, write):
        from imagenet_errors.readers import read_raw

        raw = read_raw(write("VGG.txt", TEXT))
        assert (raw.names.to_pylist()[0], raw.index.tolist()) == ("Alarm clock/a.png", [1, 409, 5])


class TestSeveralFiles:
    def test_union_and_intersection(self, write):
        a = write("a.csv", f"file_name,labels\n{FIRST},65 66\n{SECOND},970\n")
        b = write("b.csv", f"file_name,labels\n{FIRST},65 67\n{SECOND},795 970\n")
        assert lists(joined(a, b).accepted) == [[65, 66, 67], [795, 970]]
        assert lists(joined(a, b, combine="intersection").accepted) == [[65], [970]]

    def test_images_that_only_a_list_of_labels_names_accept_theirs(self, write):
        stated = write("a.csv", "file_name,labels,label\nb.png,1 2,1\n")
        found = joined(stated, write("l.csv", "file_name,label\nc.png,3\na.png,4\nb.png,1\n"))
        assert (found.label.tolist(), lists(found.accepted)) == ([4, 1, 3], [[4], [1, 2], [3]])
        assert found.file_order.tolist() == [2, 0, 1]

    def test_a_label_column_may_hold_several(self, write):
        found = read_annotations(write("hard.csv", "file_name,label\na.png,1 2\nb.png,3\n"), LABELS)
        assert (lists(found.label_sets), lists(found.accepted)) == ([[1, 2], [3]], [[1, 2], [3]])

    def test_classes_counted_from_1_are_refused(self, write):
        from imagenet_errors.readers.original_labels import val_labels

        rows = [
            f"ILSVRC2012_val_{n:08}.JPEG,{label + 1}" for n, label in enumerate(val_labels()[:300], 1) if label < 999
        ]
        with pytest.raises(
            InputError, match=r"hold the original one in \d of \d+ images, and in \d+ with every class -1"
        ):
            read_annotations(write("one.csv", "\n".join(["file_name,labels", *rows]) + "\n"), LABELS)


CORGI, LYNX = LABELS.names[263], LABELS.names[287]  # "Pembroke" and "lynx"
RETRIEVER, SHARK = LABELS.names[207], LABELS.names[2]  # "golden retriever" and "great white shark"


class TestClassesByName:
    @pytest.mark.parametrize(
        "cell",
        [
            pytest.param(f'"{RETRIEVER}, {SHARK}"', id="between commas"),
            pytest.param(f"{RETRIEVER};{SHARK}", id="between semicolons"),
            pytest.param(f"\"['{RETRIEVER}', '{SHARK}']\"", id="a list as Python prints it"),
        ],
    )
    def test_names_in_a_cell_keep_their_blanks(self, write, cell):
        path = write("names.csv", f"file_name,labels\n{FIRST},{cell}\n{SECOND},{LYNX}\n")
        assert lists(read_annotations(path, LABELS).accepted) == [[2, 207], [287]]

    def test_a_whole_cell_is_a_name_where_it_is_one(self, write):
        text = f'file_name,label\n{FIRST},"{LABELS.descriptions[2]}"\n{SECOND},{RETRIEVER}\n'
        path = write("label.csv", text.replace(FIRST, "a.jpg").replace(SECOND, "b.jpg"))
        assert read_annotations(path, LABELS).label.tolist() == [2, 207]

    def test_wnids_between_blanks_are_as_many_classes(self, write):
        path = write("wnids.csv", f"file_name,labels\n{FIRST},{LABELS.wnids[2]} {LABELS.wnids[207]}\n")
        assert lists(read_annotations(path, LABELS).accepted) == [[2, 207]]

    def test_json_lists_hold_names_too(self, write):
        path = write("names.json", {FIRST: [RETRIEVER, "287"], SECOND: [CORGI]})
        assert lists(read_annotations(path, LABELS).accepted) == [[207, 287], [263]]

    def test_a_name_an_image_is_its_label_and_no_table_of_classes(self, write):
        path = write("label.json", {"a.jpg": RETRIEVER, "b.jpg": CORGI})
        assert read_annotations(path, LABELS).label.tolist() == [207, 263]

    def test_what_is_no_class_is_refused_with_the_ways_to_write_one(self, write):
        with pytest.raises(InputError, match=r"'unicorn' is none of the 1000 classes.*wnids or names"):
            read_label_file(write("names.json", {FIRST: ["unicorn"]}), LABELS)


class TestTables:
    def test_two_columns_without_headers_are_names_and_labels(self, write):
        path = write("val.txt", "a.JPEG 65\nb.JPEG 970\n")
        assert read_annotations(path, LABELS).label.tolist() == [65, 970]

    @pytest.mark.parametrize("header", ["labels", "accepted", "accepted_labels", "proposed labels"])
    def test_accepted_labels_go_by_several_names(self, write, header):
        path = write("own.csv", f"file_name,{header}\n{FIRST},65 66\n")
        assert lists(read_annotations(path, LABELS).accepted) == [[65, 66]]

    def test_a_column_of_labels_that_is_not_known_is_told(self, write):
        (note,) = read_annotations(write("own.csv", f"file_name,label,all_labels\n{FIRST},65,65 66\n"), LABELS).notes
        assert note == "not read: all_labels; accepted labels stand in a column called labels"

    def test_a_table_without_a_row_is_refused_by_its_own_name(self, write):
        with pytest.raises(InputError, match=r"empty\.csv: has columns and no row"):
            read_label_file(write("empty.csv", "file_name,label\n"), LABELS)

    def test_records_may_begin_with_their_list(self, write):
        path = write("records.json", [{"labels": [65, 66], "file_name": FIRST}, {"labels": [1], "file_name": SECOND}])
        assert lists(read_annotations(path, LABELS).accepted) == [[65, 66], [1]]


def test_annotations_in_cocos_layout_are_the_accepted_labels_by_name(write):
    content = {
        "images": [{"id": 7, "file_name": FIRST}, {"id": 9, "file_name": SECOND}],
        "categories": [{"id": 208, "name": RETRIEVER}, {"id": 3, "name": SHARK}],
        "annotations": [{"image_id": 9, "category_id": 3}, {"image_id": 7, "category_id": 208},
                        {"image_id": 7, "category_id": 3}],
    }  # fmt: skip
    assert lists(read_annotations(write("labels.json", content), LABELS).accepted) == [[2, 207], [2]]
