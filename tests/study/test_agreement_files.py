"""The files of ``agreement`` agree with one another, and hold nothing that JSON cannot."""

import json

import pyarrow.parquet as pq
import pytest

from imagenet_errors.study.agreement import AgreementRequest, agree
from imagenet_errors.study.agreement_files import FILES, write_agreement
from imagenet_errors.study.agreement_page import page
from panel_world import panel_world, write_judgements
from toy import inputs_of


@pytest.fixture
def written(tmp_path):
    """The folder written for the small world's judgements, or others."""

    def write(*rows, at="here"):
        folder = tmp_path / at
        folder.mkdir()
        world = panel_world(folder)
        if rows:
            write_judgements(world.human, *rows)
        inputs = inputs_of(world.annotations, superclasses=folder / "fish.toml", co_occurrence=folder / "pairs.csv")
        write_agreement(agree(AgreementRequest({"vit_mistakes": world.human}, inputs, folder / "out")), page=page)
        return folder / "out"

    return write


def test_all_files_are_written(written):
    assert {path.name for path in written().iterdir()} == set(FILES)


def test_counts_in_the_figures_are_those_of_the_cases(written):
    out = written()
    cases = pq.read_table(out / "cases.parquet").to_pylist()
    figures = json.loads((out / "agreement.json").read_text())["models"]["vit_mistakes"]["figures"]["all"]
    assert figures["n_agree"]["value"] == sum(row["agrees"] for row in cases)
    assert figures["n_undecided"] == sum(row["lacks_oov_evidence"] for row in cases)


def test_exactly_the_cases_that_differ_have_a_kind_of_difference(written):
    cases = pq.read_table(written() / "cases.parquet").to_pylist()
    assert all((row["kind_of_difference"] is None) == row["agrees"] for row in cases)


def test_undefined_figures_are_null_in_the_json(written):
    out = written(("i0.JPEG", 1, "Fine-grained error", "Minor"))
    figures = json.loads((out / "agreement.json").read_text())["models"]["vit_mistakes"]["figures"]["all"]
    assert figures["kappa"]["value"] is None
    assert figures["categories"]["non_prototypical"]["recall"]["value"] is None


def test_the_inputs_are_recorded_with_their_hashes(written):
    out = written()
    inputs = json.loads((out / "agreement.json").read_text())["inputs"]
    assert {row["file_name"] for row in inputs} == {
        "vit_mistakes.json",
        "annotations.csv",
        "fish.toml",
        "pairs.csv",
    }
    assert all(len(row["sha256"]) == 64 for row in inputs)


def test_the_same_files_elsewhere_give_the_same_bytes(written):
    here, there = written(at="here"), written(at="there")
    assert [(here / name).read_bytes() for name in FILES] == [(there / name).read_bytes() for name in FILES]


@pytest.mark.parametrize("name", ["agreement.json", "agreement.md", "table.csv"])
def test_nothing_says_where_files_lie(written, tmp_path, name):
    assert str(tmp_path) not in (written() / name).read_text()
