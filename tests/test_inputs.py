"""What the user names becomes the tables that the chain looks things up in."""

import os

import numpy as np
import pytest

from imagenet_errors import inputs
from imagenet_errors.inputs import load_basis
from imagenet_errors.problems import InputError
from toy import inputs_of


class TestInputs:
    def test_real_and_multilabel_are_no_files_of_the_users(self, tmp_path):
        assert inputs_of("real").files == inputs_of("multilabel").files == ()
        files = {"oov_evidence": tmp_path / "o.csv", "non_prototypical": (tmp_path / "n", tmp_path / "m")}
        assert inputs_of(tmp_path / "a.csv", **files).files == tuple(
            tmp_path / name for name in ("a.csv", "o.csv", "n", "m")
        )

    def test_the_place_of_annotations_is_their_name_or_whole_path(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        assert inputs_of("real").annotations_place == "real"
        assert inputs_of("a.csv").annotations_place == str((tmp_path / "a.csv").resolve())

    @pytest.mark.parametrize(("written", "meant"), [("Real", "real"), ("multi-label", "multilabel"), ("REAL", "real")])
    def test_a_name_is_understood_however_it_is_written(self, tmp_path, monkeypatch, written, meant):
        monkeypatch.chdir(tmp_path)
        assert inputs_of(written).annotations == meant
        (tmp_path / written).write_text("")
        assert inputs_of(written).annotations == written, "a file that is there is meant"

    @pytest.mark.parametrize("part", ["oov_evidence", "non_prototypical", "co_occurrence", "superclasses"])
    def test_an_evidence_file_that_is_not_there_is_refused(self, tmp_path, part):
        with pytest.raises(InputError, match=r"x: no such file"):
            inputs_of(**{part: tmp_path / "x"}).check()

    def test_annotations_that_are_not_there_are_refused(self, tmp_path):
        with pytest.raises(InputError, match=r"x: no such file"):
            inputs_of(tmp_path / "x").check()

    def test_a_pipe_is_no_file_of_labels_or_evidence(self, tmp_path):
        os.mkfifo(tmp_path / "pipe")
        for given in (inputs_of(tmp_path / "pipe"), inputs_of(oov_evidence=tmp_path / "pipe")):
            with pytest.raises(InputError, match=r"pipe: is a pipe or a device, no file\. Write its"):
                given.check()

    def test_labels_that_change_while_they_are_read_are_refused(self, tmp_path, val_images, monkeypatch):
        path = val_images.annotations(tmp_path / "labels.csv")
        read = inputs.load_annotations

        def read_and_write(*arguments):
            found = read(*arguments)
            path.write_text(path.read_text() + "more\n")
            return found

        monkeypatch.setattr(inputs, "load_annotations", read_and_write)
        with pytest.raises(InputError, match=r"labels\.csv: the file changed while it was read"):
            load_basis(inputs_of(path))

    def test_a_folder_is_a_set_of_superclasses_and_nothing_else(self, tmp_path):
        inputs_of(superclasses=tmp_path).check()
        with pytest.raises(InputError, match=r"is a folder"):
            inputs_of(tmp_path).check()

    def test_an_option_that_no_source_has_is_refused_with_those_there_are(self, tmp_path):
        with pytest.raises(InputError, match=r"is no source of evidence.*oov_evidence"):
            inputs_of(colours=tmp_path)


class TestLoadBasis:
    @pytest.fixture
    def annotations(self, tmp_path):
        (tmp_path / "own.csv").write_text("file_name,labels\nILSVRC2012_val_00000002.JPEG,970 795\n")
        return tmp_path / "own.csv"

    def test_what_is_not_given_is_absent_and_its_stage_says_how_to_give_it(self, annotations):
        basis = load_basis(inputs_of(annotations))
        assert basis.evidence.get("oov") is None
        assert "--oov-evidence" in basis.chain.not_run["fine_grained_oov"]
        assert "--non-prototypical" in basis.chain.not_run["non_prototypical"]

    def test_given_files_are_read(self, annotations, tmp_path):
        (tmp_path / "pairs.csv").write_text("a,b\n970,500\n")
        (tmp_path / "list.txt").write_text("ILSVRC2012_val_00000002.JPEG\nILSVRC2012_val_00000009.JPEG\n")
        (tmp_path / "oov.csv").write_text("file_name,prediction,is_oov\n00000002,7,True\n")
        given = {
            "oov_evidence": tmp_path / "oov.csv",
            "non_prototypical": (tmp_path / "list.txt",),
            "co_occurrence": tmp_path / "pairs.csv",
        }
        basis = load_basis(inputs_of(annotations, **given))
        assert np.argwhere(basis.evidence["co_occurrence"].pairs).tolist() == [[500, 970], [970, 500]]
        assert basis.evidence["non_prototypical"].is_listed.tolist() == [True]
        assert basis.evidence["oov"].is_oov.tolist() == [True]

    def test_listed_names_of_no_annotated_image_are_counted_and_said(self, annotations, tmp_path):
        (tmp_path / "list.txt").write_text("ILSVRC2012_val_00000002.JPEG\nILSVRC2012_val_00000009.JPEG\n")
        notes = " ".join(load_basis(inputs_of(annotations, non_prototypical=(tmp_path / "list.txt",))).notes)
        assert "1 listed name of no annotated image (first: ILSVRC2012_val_00000009.JPEG)" in notes

    def test_the_evidence_says_how_many_images_the_pairs_rest_on(self, annotations):
        assert any("46,836 ReaL images outside" in note for note in load_basis(inputs_of(annotations)).notes)
