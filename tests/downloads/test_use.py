"""A name stands wherever a file may: in the library's inputs and on the command line."""

import re
from pathlib import Path

import pytest

from download_world import TABLE
from imagenet_errors.downloads import names_for, registry
from imagenet_errors.inputs import Inputs, load_annotations
from imagenet_errors.labels import imagenet_1k
from imagenet_errors.problems import InputError

TOP = Path(__file__).parents[2]


@pytest.fixture
def own_options(world):
    """The world's sources, the panel's parts being lists for --non-prototypical too."""
    world.know(world.toml.read_text().replace('["--human"]', '["--human", "--non-prototypical"]'))
    return world


class TestInputs:
    def test_named_annotations_are_fetched_and_called_by_their_name(self, world):
        annotations = load_annotations(Inputs("labels"), imagenet_1k())
        assert annotations.name == "labels"
        assert [labels.tolist() for labels in annotations.accepted] == [[62, 65], [795, 970]]
        assert Inputs("labels").annotations_place == "labels"
        assert Inputs("labels").files == ()
        assert Inputs("labels").published_files == (world.place("labels/multilabel.csv"),)

    def test_named_evidence_becomes_its_files(self, own_options):
        inputs = Inputs().with_evidence(non_prototypical=("panel", "judged-a"))
        a, b = own_options.place("judged/a.json"), own_options.place("judged/b.json")
        assert inputs.evidence == {"non_prototypical": (a, b, a)}

    def test_a_text_may_be_a_path_and_a_path_is_never_a_name(self, own_options, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        Path("panel").write_text("ILSVRC2012_val_00000001.JPEG\n")
        for given in ("./panel", Path("panel")):
            assert Inputs().with_evidence(non_prototypical=given).evidence == {"non_prototypical": (Path("panel"),)}
        assert own_options.server.n_requests == {}

    def test_what_is_neither_is_refused_with_the_names(self, own_options):
        with pytest.raises(InputError, match=r"panle: no such file\. Check the path, or name one of: .*panel"):
            Inputs().with_evidence(non_prototypical="panle")
        with pytest.raises(InputError, match=r"label: no such file\. Check the path, or name one of: labels\."):
            Inputs("label").check()

    def test_a_named_source_of_another_kind_is_refused(self, own_options):
        with pytest.raises(
            InputError, match=r"--annotations: panel is not for this option\. It takes labels, or a path"
        ):
            Inputs("panel").check()


class TestCommandLine:
    def test_offline_asks_for_nothing_and_says_the_way_out(self, world, program, tmp_path, monkeypatch):
        monkeypatch.setenv("IMAGENET_ERRORS_OFFLINE", "")  # so that what --offline sets is undone
        (tmp_path / "preds.csv").write_text("file_name,predicted_class\nILSVRC2012_val_00000001.JPEG,65\n")
        answer = program(
            "evaluate", tmp_path / "preds.csv", "--annotations", "labels", "--offline", "--out", tmp_path / "run"
        )
        assert answer.status == 2
        assert "data fetch labels --from FILE|DIR" in answer.err
        assert world.server.n_requests == {}
        assert not (tmp_path / "run").exists()

    def test_the_first_use_fetches_and_run_json_says_what_judged(self, world, program, tmp_path):
        import json

        (tmp_path / "preds.csv").write_text("file_name,predicted_class\nILSVRC2012_val_00000001.JPEG,62\n")
        told = [tmp_path / "preds.csv", "--annotations", "labels", "--out", tmp_path / "run"]
        assert program("evaluate", *told).status == 0
        assert program("evaluate", *told).status == 0
        assert sum(world.server.n_requests.values()) == 1
        (facts,) = json.loads((tmp_path / "run" / "run.json").read_bytes())["judged_by"]
        assert facts["source"] == "labels"
        assert facts["n_bytes"] == len(TABLE)


@pytest.mark.parametrize("option", sorted({option for one in registry.sources().values() for option in one.options}))
def test_the_page_for_beginners_lists_every_name(option):
    (row,) = re.findall(rf"^\| `{option}` \| (.*) \|$", (TOP / "docs" / "start.md").read_text(), re.MULTILINE)
    assert set(names_for(option)) | {"real"} == set(re.findall(r"`([^`]+)`", row)) | {"real"}
