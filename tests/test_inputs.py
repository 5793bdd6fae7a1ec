"""What the user names becomes the tables that the chain looks things up in."""

import csv

import numpy as np
import pyarrow as pa
import pytest

from imagenet_errors.evidence.co_occurrence import count_together
from imagenet_errors.inputs import Sources, load_annotations, load_evidence, other_real_images, with_labels
from imagenet_errors.labels import imagenet_1k
from imagenet_errors.problems import InputError
from imagenet_errors.readers.annotations import read_real
from imagenet_errors.tables import Annotations, Ragged

LABELS = imagenet_1k()


def annotated(names, label, accepted, problematic=None):
    n_images = len(names)
    is_problematic = np.zeros(n_images, dtype=bool) if problematic is None else np.array(problematic)
    return Annotations("toy", pa.array(names), np.int16(label), Ragged.of(accepted), is_problematic)


def plain(ragged):
    return [ragged[row].tolist() for row in range(len(ragged))]


class TestSources:
    def test_real_and_multilabel_are_no_files_of_the_users(self, tmp_path):
        assert Sources("real").files == Sources("multilabel").files == ()
        own = Sources(str(tmp_path / "a.csv"), oov_evidence=tmp_path / "o.csv", non_prototypical=(tmp_path / "n",))
        assert own.files == (tmp_path / "a.csv", tmp_path / "o.csv", tmp_path / "n")

    def test_the_place_of_annotations_is_their_name_or_whole_path(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        assert Sources("real").annotations_place == "real"
        assert Sources("a.csv").annotations_place == str((tmp_path / "a.csv").resolve())

    @pytest.mark.parametrize("part", ["annotations", "oov_evidence", "co_occurrence", "superclasses"])
    def test_a_file_that_is_not_there_is_refused(self, tmp_path, part):
        named = {"annotations": "real"} | {part: str(tmp_path / "x") if part == "annotations" else tmp_path / "x"}
        with pytest.raises(InputError, match=r"x: no such file"):
            Sources(**named).check_files()

    def test_a_folder_is_a_set_of_superclasses_and_nothing_else(self, tmp_path):
        Sources("real", superclasses=tmp_path).check_files()
        with pytest.raises(InputError, match=r"is a folder"):
            Sources(str(tmp_path)).check_files()


class TestOtherRealImages:
    def test_labels_of_an_image_are_its_real_labels_and_the_original_one_each_once(self):
        real = annotated(["a", "b", "c"], [3, 5, 7], [[2, 3], [], [9]])
        assert plain(with_labels(real)) == [[2, 3], [7, 9]]

    def test_images_that_the_annotations_name_are_left_out_problematic_ones_too(self):
        real = read_real(LABELS)
        named = [f"val/ILSVRC2012_val_{number:08d}.jpg" for number in range(1, 49_998)]
        own = annotated(named, np.zeros(49_997), [[0]] * 49_997, [True] * 49_997)
        last = [{*real.accepted[row], real.label[row]} for row in range(49_997, 50_000) if real.evaluated[row]]
        assert [set(row) for row in plain(other_real_images(own, LABELS))] == last

    def test_annotations_of_another_set_leave_all_real_images(self):
        own = annotated(["n01440764/6.jpeg"], [0], [[0]])
        assert len(other_real_images(own, LABELS)) == 46_837

    def test_outside_the_20000_the_counts_are_the_known_ones(self, shared):
        path = shared / "annotations" / "human_accuracy_v3.0.0_labels_only.json"
        annotations = load_annotations(str(path), LABELS)
        accepted = other_real_images(annotations, LABELS)
        several = accepted.lengths > 1
        together = np.triu(count_together(accepted, 1000))
        assert 50_000 - 20_000 - len(accepted) == 1_902
        assert (int((~several).sum()), int(several.sum())) == (21_476, 6_622)
        assert (int(together.sum()), int((together > 0).sum()), int((together > 1).sum())) == (13_090, 5_456, 1_659)

    def test_the_published_pairs_are_all_among_them(self, shared):
        path = shared / "annotations" / "human_accuracy_v3.0.0_labels_only.json"
        accepted = other_real_images(load_annotations(str(path), LABELS), LABELS)
        together = count_together(accepted, 1000)
        with (shared / "published" / "spurious_pairs_half.csv").open(newline="") as lines:
            pairs = [(int(row["a"]), int(row["b"])) for row in csv.DictReader(lines)]
        assert len(pairs) > 500
        assert all(together[pair] >= 2 for pair in pairs)


class TestLoadEvidence:
    @pytest.fixture
    def own(self, tmp_path):
        (tmp_path / "own.csv").write_text("file_name,labels\nILSVRC2012_val_00000002.JPEG,970 795\n")
        return load_annotations(str(tmp_path / "own.csv"), LABELS)

    def test_what_is_not_given_is_absent(self, own):
        evidence = load_evidence(Sources("own.csv"), own, LABELS)
        assert evidence.oov is None
        assert evidence.non_prototypical is None

    @pytest.mark.parametrize(
        ("annotations", "source"),
        [
            pytest.param("real", "all ReaL images", id="ReaL is the annotation"),
            pytest.param("own.csv", "ReaL images outside the annotations", id="others"),
        ],
    )
    def test_co_occurrence_comes_from_the_images_that_may_be_used(self, own, annotations, source):
        evidence = load_evidence(Sources(annotations), own, LABELS)
        assert evidence.co_occurrence.source == source

    def test_co_occurring_pairs_share_no_superclass(self):
        evidence = load_evidence(Sources("real"), read_real(LABELS), LABELS)
        assert evidence.co_occurrence.pairs.any()
        assert not (evidence.co_occurrence.pairs & evidence.superclasses.shares).any()

    def test_given_files_are_read(self, own, tmp_path):
        (tmp_path / "pairs.csv").write_text("a,b\n970,500\n")
        (tmp_path / "list.txt").write_text("ILSVRC2012_val_00000002.JPEG\n")
        (tmp_path / "oov.csv").write_text("file_name,prediction,is_oov\n00000002,7,True\n")
        sources = Sources(
            "own.csv",
            oov_evidence=tmp_path / "oov.csv",
            non_prototypical=(tmp_path / "list.txt",),
            co_occurrence=tmp_path / "pairs.csv",
        )
        evidence = load_evidence(sources, own, LABELS)
        assert np.argwhere(evidence.co_occurrence.pairs).tolist() == [[500, 970], [970, 500]]
        assert evidence.non_prototypical.is_listed.tolist() == [True]
        assert evidence.oov.is_oov.tolist() == [True]
