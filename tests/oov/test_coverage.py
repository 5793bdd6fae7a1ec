"""Tables of several people become one, conflicts are listed; what a set of models lacks is listed by frequency."""

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from imagenet_errors.evidence.oov import OOV_SCHEMA
from imagenet_errors.inputs import Inputs
from imagenet_errors.oov.coverage import coverage_of, merge
from imagenet_errors.oov.table import Recipe, held_rows, write_rows
from imagenet_errors.problems import InputError
from imagenet_errors.readers.predictions import ReadRules

RECIPE = Recipe("ViT-B-32/openai", "1", "evaluated 2", 1)


def table(path, *cases, recipe=RECIPE, **columns):
    rows = [{"file_name": name, "prediction": index, "is_oov": is_oov, **columns} for name, index, is_oov in cases]
    write_rows(path, pa.Table.from_pylist(rows, schema=OOV_SCHEMA), recipe)
    return path


def test_each_case_is_there_once_and_conflicts_are_listed(tmp_path):
    ours = table(tmp_path / "ours.parquet", ("a", 1, True), ("a", 2, False), encoder="ViT-L")
    theirs = table(tmp_path / "theirs.parquet", ("a", 2, True), ("b", 1, True), ("a", 1, True), encoder="ViT-B")
    merged = merge([ours, theirs], tmp_path / "both.parquet")
    rows = pq.read_table(tmp_path / "both.parquet").to_pylist()
    assert [(row["file_name"], row["prediction"], row["is_oov"], row["encoder"]) for row in rows] == [
        ("a", 1, True, "ViT-L"),
        ("a", 2, False, "ViT-L"),
        ("b", 1, True, "ViT-B"),
    ]
    assert (merged.n_rows, merged.n_shared, merged.n_conflicts) == (3, 2, 1)
    listed = pd.read_csv(tmp_path / "both.conflicts.csv")
    assert listed[["file_name", "prediction", "is_oov", "encoder"]].to_numpy().tolist() == [
        ["a", 2, False, "ViT-L"],
        ["a", 2, True, "ViT-B"],
    ]
    assert listed["table"].tolist() == [str(ours), str(theirs)]


def test_tables_made_alike_make_one_that_can_be_added_to(tmp_path):
    paths = [table(tmp_path / f"{name}.parquet", (name, 1, True)) for name in "ab"]
    merged = merge(paths, tmp_path / "both.parquet")
    assert merged.conflict_file is None
    assert len(held_rows(tmp_path / "both.parquet", RECIPE)) == 2


def test_tables_made_otherwise_make_one_that_cannot(tmp_path):
    other = Recipe("ViT-L-14/openai", "1", "evaluated 2", 1)
    paths = [table(tmp_path / "a.parquet", ("a", 1, True)), table(tmp_path / "b.parquet", ("b", 1, True), recipe=other)]
    merge(paths, tmp_path / "both.parquet")
    with pytest.raises(InputError, match="was not written by this command"):
        held_rows(tmp_path / "both.parquet", RECIPE)


def test_a_table_of_decisions_alone_can_be_joined(tmp_path):
    (tmp_path / "theirs.csv").write_text("file_name,prediction,is_oov\na,1,True\nb,2,False\n")
    ours = table(tmp_path / "ours.parquet", ("a", 1, True))
    assert merge([ours, tmp_path / "theirs.csv"], tmp_path / "both.parquet").n_rows == 2


@pytest.mark.parametrize(
    ("names", "out", "message"),
    [
        pytest.param(["a.parquet"], "x.parquet", "1 table given", id="one table"),
        pytest.param(["a.parquet", "a.parquet"], "x.csv", "written as Parquet", id="CSV"),
        pytest.param(["a.parquet", "none.parquet"], "x.parquet", "none.parquet", id="a table that is not there"),
    ],
)
def test_what_cannot_be_joined_is_said(tmp_path, names, out, message):
    table(tmp_path / "a.parquet", ("a", 1, True))
    with pytest.raises(InputError, match=message):
        merge([tmp_path / name for name in names], tmp_path / out)
    assert not (tmp_path / out).exists()


@pytest.fixture
def covered(val_images, tmp_path):
    """Three models that made one mistake together and one each; a table has that of the first model."""
    models = {"one": {"at_1": 997}, "two": {"at_2": 998}, "three": {"at_4": 999}}
    keep = {f"at_{row}": label for row, label in enumerate(val_images.label.tolist())}
    for name, wrong in models.items():
        val_images.csv(tmp_path / "models" / f"{name}.csv", **{**keep, "at_0": 996, **wrong})
    held = table(tmp_path / "oov.parquet", (val_images.names[1], 997, True))
    inputs = Inputs(str(val_images.annotations(tmp_path / "annotations.csv")))
    return coverage_of([tmp_path / "models"], inputs, [held], rules=ReadRules(check_order=False, allow_partial=True))


def test_missing_cases_are_listed_with_the_commonest_first(covered, val_images):
    assert (covered.n_models, covered.n_cases, covered.n_cases_covered) == (3, 4, 1)
    assert (covered.n_mistakes, covered.n_covered) == (6, 1)
    rows = covered.missing.to_pylist()
    assert [(row["prediction"], row["n_models"]) for row in rows] == [(996, 3), (998, 1), (999, 1)]
    assert rows[0]["file_name"] == val_images.names[0]
    assert [round(row["share_covered"], 3) for row in rows] == [0.667, 0.833, 1.0]


def test_each_further_share_has_its_price(covered):
    assert [covered.needed(share) for share in (0.1, 0.5, 0.8, 1.0)] == [(0, 0), (1, 1), (2, 2), (3, 3)]
    assert "80%: 2 more cases (66.7% of those missing) on 2 images" in [*covered.lines()]


@pytest.mark.parametrize(("name", "read"), [("m.csv", pd.read_csv), ("m.parquet", pd.read_parquet)])
def test_the_list_is_written_as_its_name_says(covered, tmp_path, name, read):
    covered.save(tmp_path / name)
    assert read(tmp_path / name)["n_models"].tolist() == [3, 1, 1]
