"""Proposals for one pair on the screen, for many in a file; both the same names."""

import csv

import pytest


def rows_of(path):
    with path.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


@pytest.fixture
def cases(tmp_path):
    path = tmp_path / "cases.csv"
    path.write_text("prediction,target\n0,389\n792,587\n", encoding="utf-8")
    return path


def test_a_pair_may_be_written_by_index_wnid_or_name(program):
    by_index = program("proposals", "0", "389").out
    assert "n01440764  tench" in by_index
    assert program("proposals", "n01440764", "barracouta").out == by_index
    assert program("proposals", "tench", "n02514041").out == by_index


def test_many_pairs_give_the_same_names_as_each_by_itself(program, cases, tmp_path):
    answer = program("proposals", "--cases", cases, "--out", tmp_path / "out.csv")
    assert answer.status == 0
    rows = rows_of(tmp_path / "out.csv")
    assert list(rows[0]) == ["prediction", "target", "synset", "name"]
    for prediction, target in (("0", "389"), ("792", "587")):
        alone = program("proposals", prediction, target).out.splitlines()
        together = [
            f"{r['synset']}  {r['name']}" for r in rows if (r["prediction"], r["target"]) == (prediction, target)
        ]
        assert together == alone


def test_classes_in_a_file_may_be_names_and_wnids(program, cases, tmp_path):
    named = tmp_path / "named.csv"
    named.write_text("prediction,target\ntench,barracouta\nn04376876,grand piano\n", encoding="utf-8")
    program("proposals", "--cases", named, "--out", tmp_path / "named_out.csv")
    program("proposals", "--cases", cases, "--out", tmp_path / "out.csv")
    by_index = [row for row in rows_of(tmp_path / "out.csv") if row["prediction"] == "0"]
    assert by_index == [row for row in rows_of(tmp_path / "named_out.csv") if row["prediction"] == "0"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param("a,b\n1,2\n", "not a table of pairs", id="other columns"),
        pytest.param("prediction,target\n1,tensh\n", "no class 'tensh'. Did you mean tench", id="no such name"),
        pytest.param("prediction,target\n1,1000\n", "1 index outside 0..999 (first: 1000)", id="no class"),
        pytest.param("", "not a table of pairs", id="empty"),
    ],
)
def test_a_wrong_file_is_refused_and_nothing_written(program, tmp_path, content, message):
    (tmp_path / "cases.csv").write_text(content, encoding="utf-8")
    answer = program("proposals", "--cases", tmp_path / "cases.csv", "--out", tmp_path / "out.csv")
    assert answer.status == 2
    assert message in answer.err
    assert [path.name for path in tmp_path.iterdir()] == ["cases.csv"]


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param((), id="nothing"),
        pytest.param(("0",), id="one class"),
        pytest.param(("--cases", "x.csv"), id="no place to write"),
        pytest.param(("0", "1", "--cases", "x.csv", "--out", "y.csv"), id="both ways at once"),
    ],
)
def test_wrong_usage_is_told(program, arguments):
    answer = program("proposals", *arguments)
    assert answer.status == 2
    assert "needs PREDICTION TARGET" in answer.err
