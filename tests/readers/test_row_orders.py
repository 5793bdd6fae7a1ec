"""The orders that rows without names come in, and the files that state one."""

import json

import numpy as np
import pyarrow as pa
import pytest

from imagenet_errors.images import ImageIndex
from imagenet_errors.labels import imagenet_1k
from imagenet_errors.problems import InputError
from imagenet_errors.readers.annotations import read_real
from imagenet_errors.readers.row_orders import known_orders, stated_rows
from imagenet_errors.tables import Annotations, Ragged

NAMES = ["a.JPEG", "b.JPEG", "c.JPEG"]


def about(names, label=None):
    label = np.zeros(len(names), dtype=np.int16) if label is None else np.array(label, dtype=np.int16)
    accepted = Ragged.of([[int(one)] for one in label])
    annotations = Annotations("toy", pa.array(names), label, accepted, np.zeros(len(names), dtype=bool))
    return annotations, ImageIndex(annotations.file_names)


def orders(names):
    return {order.name: [names[row] for row in order.rows] for order in known_orders(*about(names))}


def stated(tmp_path, content, *, name="order.txt", n_rows=3):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    annotations, images = about(NAMES)
    known = known_orders(annotations, images)
    return stated_rows(str(path), n_rows, known, images, where="model.npy").tolist()


class TestKnownOrders:
    @pytest.fixture(scope="class")
    @staticmethod
    def real():
        annotations = read_real(imagenet_1k())
        return known_orders(annotations, ImageIndex(annotations.file_names))

    def test_validation_images_come_by_name_or_by_class_folder(self, real):
        by_name, by_folder = real
        assert (by_name.name, by_folder.name) == ("name", "imagefolder")
        assert by_name.rows[:3].tolist() == [0, 1, 2]
        assert (by_folder.rows[:2] + 1).tolist() == [293, 2138]
        assert (np.diff(by_folder.label) >= 0).all()

    def test_the_class_folders_hold_the_images_in_the_order_of_a_real_file(self, real, shared):
        names = json.loads((shared / "predictions" / "raw" / "resnet18_top5_row_order.json").read_text())
        rows = ImageIndex(pa.array(names)).file_names
        assert [int(name.as_py()[15:23]) - 1 for name in rows] == real[1].rows.tolist()

    def test_predictions_fit_one_of_the_two_orders_alone(self, real):
        by_name, by_folder = real
        assert by_folder.fits(by_folder.label)
        assert not by_name.fits(by_folder.label)

    def test_rows_without_a_class_do_not_hinder_that(self, real):
        top1 = real[0].label.copy()
        top1[::2] = -1
        assert real[0].fits(top1)

    def test_a_shift_is_seen_in_the_order_it_is_in(self, real):
        assert [order.shift(real[1].label + 1) for order in real] == [0, -1]

    def test_other_sets_come_in_lexicographic_or_in_natural_order(self):
        names = ["0/x.jpg", "1/x.jpg", "10/x.jpg", "11/x.jpg", "2/x.jpg"]
        assert orders(names) == {
            "imagefolder": names,
            "natural": ["0/x.jpg", "1/x.jpg", "2/x.jpg", "10/x.jpg", "11/x.jpg"],
        }

    def test_numbers_within_names_sort_naturally_by_value(self):
        names = ["n1/0.000116_a.jpg", "n1/0.00022_b.jpg"]
        assert orders(names)["natural"] == names[::-1]

    def test_one_order_is_named_where_both_are_the_same(self):
        assert list(orders(["a/1.jpg", "a/2.jpg", "b/1.jpg"])) == ["imagefolder"]

    def test_a_folder_comes_before_its_longer_namesake(self):
        names = ["n1-x/1.jpg", "n1/1.jpg"]
        assert orders(names)["imagefolder"] == ["n1/1.jpg", "n1-x/1.jpg"]


class TestStatedRows:
    @pytest.mark.parametrize(
        "content",
        [
            pytest.param("c.JPEG\na.JPEG\nb.JPEG\n", id="a name a line"),
            pytest.param("c.JPEG 3\na.JPEG 1\nb.JPEG 65\n", id="val.txt"),
            pytest.param("file_name,label\nc.JPEG,3\na.JPEG,1\nb.JPEG,2\n", id="CSV"),
            pytest.param('"c.JPEG"\t1\n"a.JPEG"\t2\n"b.JPEG"\t3\n', id="quoted, tabs"),
            pytest.param("\ufeffc.JPEG\r\n\r\na.JPEG\r\nb.JPEG", id="Windows"),
            pytest.param('["c.JPEG", "a.JPEG", "b.JPEG"]', id="JSON list"),
            pytest.param("index,filename\n1,a.JPEG\n2,b.JPEG\n0,c.JPEG\n", id="by an index column"),
            pytest.param(
                '[{"row": 2, "file": "a.JPEG"}, {"row": 1, "file": "c.JPEG"}, {"row": 3, "file": "b.JPEG"}]',
                id="records by row",
            ),
        ],
    )
    def test_a_list_of_names_states_an_order(self, tmp_path, content):
        assert stated(tmp_path, content) == [2, 0, 1]

    @pytest.mark.parametrize("kind", ["U6", "S6"])
    def test_so_does_a_samples_info_file(self, tmp_path, kind):
        np.savez(tmp_path / "samples_info.npz", sample_files=np.array(["c.JPEG", "a.JPEG"], dtype=kind), n=1)
        content = (tmp_path / "samples_info.npz").read_bytes()
        assert stated(tmp_path, content, n_rows=2) == [2, 0]

    def test_names_of_no_annotated_image_keep_their_place(self, tmp_path):
        assert stated(tmp_path, "x.JPEG\na.JPEG\nb.JPEG\n") == [-1, 0, 1]

    def test_names_may_hold_blanks(self, tmp_path):
        (tmp_path / "order.txt").write_text("my photo.JPEG\n")
        annotations, images = about(["my photo.JPEG"])
        rows = stated_rows(str(tmp_path / "order.txt"), 1, known_orders(annotations, images), images, where="m")
        assert rows.tolist() == [0]

    def test_the_order_must_have_a_name_for_every_row(self, tmp_path):
        with pytest.raises(InputError, match=r"model.npy: 4 rows, but the order .* has 3 names"):
            stated(tmp_path, "a.JPEG\nb.JPEG\nc.JPEG\n", n_rows=4)

    @pytest.mark.parametrize(
        "content",
        [
            pytest.param(b"PK\x03\x04 cut off", id="broken npz"),
            pytest.param(b"\x93NUMPY cut off", id="broken npy"),
            pytest.param(b"\xff\xfe\x00\x01", id="no text"),
            pytest.param("[1", id="broken JSON"),
            pytest.param("[1, 2, 3]", id="JSON numbers"),
        ],
    )
    def test_a_file_that_is_no_list_of_names_is_refused(self, tmp_path, content):
        with pytest.raises(InputError, match=r"order.txt: .*(damaged|UTF-16|breaks off|no column of image names)"):
            stated(tmp_path, content)

    def test_an_npz_without_names_is_refused_with_what_it_holds(self, tmp_path):
        np.savez(tmp_path / "probs.npz", probs=np.zeros(3))
        with pytest.raises(InputError, match=r"it holds probs.*sample_files"):
            stated(tmp_path, (tmp_path / "probs.npz").read_bytes())

    def test_an_unknown_order_is_refused_with_the_known_ones(self):
        annotations, images = about(NAMES)
        with pytest.raises(InputError, match=r"--row-order: no order and no file 'random'.*imagefolder, or FILE"):
            stated_rows("random", 3, known_orders(annotations, images), images, where="model.npy")
