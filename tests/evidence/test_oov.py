"""Evidence on out-of-vocabulary cases is matched to images by name, and each case has one answer."""

import csv

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from imagenet_errors.evidence.oov import OOV_SCHEMA, read_oov_evidence
from imagenet_errors.images import ImageIndex, val_file_names
from imagenet_errors.inputs import load_basis
from imagenet_errors.problems import InputError
from imagenet_errors.tables import Cases, Ragged
from toy import inputs_of

IMAGES = ImageIndex(pa.array([f"ILSVRC2012_val_0000000{n}.JPEG" for n in (1, 2, 3)]))
ROWS = {
    "file_name": ["val/ILSVRC2012_val_00000003.JPEG", "ILSVRC2012_val_00000001.JPEG", "cat.JPEG"],
    "prediction": [5, 7, 9],
    "is_oov": [True, False, True],
}


def cases(*pairs):
    rows, prediction = (np.array(side) for side in zip(*pairs, strict=True))
    nothing = Ragged.of([[] for _ in pairs])
    return Cases(rows, prediction.astype(np.int16), np.zeros(len(pairs), dtype=np.int16), nothing)


def read_csv(tmp_path, text):
    (tmp_path / "oov.csv").write_text(text)
    return read_oov_evidence(tmp_path / "oov.csv", IMAGES)


def read_parquet(tmp_path, **columns):
    pq.write_table(pa.table(ROWS | columns), tmp_path / "oov.parquet")
    return read_oov_evidence(tmp_path / "oov.parquet", IMAGES)


def test_a_case_finds_its_row_and_others_find_none(tmp_path):
    found = read_parquet(tmp_path)
    rows = found.rows_of(cases((0, 7), (2, 5), (2, 7), (1, 5), (0, 8)))
    assert (rows >= 0).tolist() == [True, True, False, False, False]
    assert found.is_oov[rows[:2]].tolist() == [False, True]


def test_rows_of_images_that_are_not_annotated_are_counted(tmp_path):
    assert read_parquet(tmp_path).n_unknown == 1


def test_absent_columns_are_unknown_and_say_nothing(tmp_path):
    found = read_parquet(tmp_path)
    assert found.table.schema.equals(OOV_SCHEMA)
    assert found.table["best_name"].null_count == 2
    assert found.details.to_pylist() == ["", ""]


def test_what_is_known_ends_a_sentence(tmp_path):
    found = read_parquet(
        tmp_path,
        best_name=["seesaw", None, None],
        best_score=[0.585912, None, None],
        neighbour_support=[4, 0, None],
    )
    assert found.details.to_pylist() == [
        "; neighbours that are kin: 0 of 10",
        ": the best proposal is “seesaw” (58.6 %); neighbours that are kin: 4 of 10",
    ]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("file_name,prediction,is_oov\n00000002,7,True\n", id="leading zeros, as Python writes"),
        pytest.param("is_oov,prediction,file_name\ntrue,7,00000002\n", id="another order of columns"),
        pytest.param("file_name,prediction,is_oov\n00000002,7,1\n", id="1 and 0"),
        pytest.param('file_name,prediction,is_oov,top_proposals\n00000002,7,True,"[(1, 2)]"\n', id="lists as text"),
        pytest.param("file_name,prediction,is_oov,best_name\n00000002,7,True,\n", id="a column of nothing"),
        pytest.param("file_name,prediction,is_oov\n00000002,7,True\nval/00000002.png,7,True\n", id="an equal copy"),
    ],
)
def test_csv_is_read_as_well(tmp_path, text):
    found = read_csv(tmp_path, text)
    assert found.rows_of(cases((1, 7))).tolist() == [0]
    assert found.is_oov.tolist() == [True]


def test_equal_copies_of_any_case_are_one_row(tmp_path):
    rows = ["00000001,5,True", "00000001,5,True", "00000002,7,False", "00000002,7,False"]
    found = read_csv(tmp_path, "\n".join(["file_name,prediction,is_oov", *rows]))
    assert found.is_oov.tolist() == [True, False]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("", "the file is empty", id="empty"),
        pytest.param("PAR1", "the Parquet file is cut short", id="broken Parquet"),
        pytest.param("<html>403</html>\n", "web page", id="web page"),
        pytest.param("file_name,prediction\na,1\n", "no column is_oov; it has 'file_name', 'pred", id="column"),
        pytest.param("file_name,prediction,is_oov\na,cat,True\n", "no class in 1 cell of column prediction", id="name"),
        pytest.param(
            "file_name,prediction,is_oov\na,70000,True\n", "1 class outside 0..999 in column prediction", id="big"
        ),
        pytest.param(
            "file_name,prediction,is_oov\na,1000,True\n", r"1 class outside .*row 1: 1000", id="no such class"
        ),
        pytest.param("file_name,prediction,is_oov\na,-1,True\n", r"1 class outside 0..999", id="negative"),
        pytest.param(
            "file_name,prediction,is_oov\na,1,maybe\n", "no truth value in 1 cell of column is_oov", id="neither"
        ),
        pytest.param("file_name,prediction,is_oov\na,1,\n", "1 empty cell in column is_oov", id="empty cell"),
        pytest.param(
            "file_name,prediction,is_oov\n00000001,1,True\nILSVRC2012_val_00000001.JPEG,1,False\n",
            r"1 case judged both ways \(first: ILSVRC2012_val_00000001.JPEG, class 1\)",
            id="both ways",
        ),
        pytest.param("file_name,prediction,is_oov\ncat.jpg,1,True\n", r"none of its 1 row is about", id="others"),
    ],
)
def test_a_table_that_cannot_be_used_is_refused(tmp_path, text, said):
    with pytest.raises(InputError, match=f"oov.csv: .*{said}"):
        read_csv(tmp_path, text)


def test_an_empty_table_answers_no_case(tmp_path):
    found = read_csv(tmp_path, "file_name,prediction,is_oov\n")
    assert found.rows_of(cases((1, 7))).tolist() == [-1]


def test_the_published_evidence_is_read_whole(shared):
    path = shared / "published" / "oov_evidence.csv"
    with path.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    found = read_oov_evidence(path, ImageIndex(pa.array(sorted({row["file_name"] for row in rows}))))
    assert (len(found.codes), found.n_unknown) == (len(rows), 0)
    assert int(found.is_oov.sum()) == sum(row["is_oov"] == "True" for row in rows)


class TestCountedFromOne:
    """No mistake predicts the original label; a table of which many rows do counts its classes from 1."""

    def load(self, tmp_path, n_rows, n_equal, n_one_more=0, rejected=()):
        label = np.arange(n_rows) % 500 + 100
        prediction = label + 7
        prediction[:n_equal] = label[:n_equal]
        prediction[n_equal : n_equal + n_one_more] += 1 - 7
        names = val_file_names(np.arange(1, n_rows + 1)).to_pylist()
        labels = [999 if row in rejected else index for row, index in enumerate(label)]
        (tmp_path / "labels.csv").write_text(
            "file_name,labels,label\n"
            + "".join(f"{name},{one},{index}\n" for name, one, index in zip(names, labels, label, strict=True))
        )
        (tmp_path / "oov.csv").write_text(
            "file_name,prediction,is_oov\n"
            + "".join(f"{name},{index},True\n" for name, index in zip(names, prediction, strict=True))
        )
        return load_basis(inputs_of(tmp_path / "labels.csv", oov_evidence=tmp_path / "oov.csv"))

    def test_it_is_refused_with_both_counts(self, tmp_path):
        with pytest.raises(InputError, match=r"oov.csv: 5 of 100 rows .* none with every class -1: .*count from 1"):
            self.load(tmp_path, 100, 5)

    @pytest.mark.parametrize(
        ("n_rows", "n_equal", "more"),
        [
            pytest.param(99, 5, {}, id="too few rows to tell"),
            pytest.param(100, 2, {}, id="too few that equal the label"),
            pytest.param(100, 5, {"n_one_more": 1}, id="some would equal it with every class -1"),
            pytest.param(100, 5, {"rejected": range(5)}, id="labels that no annotator accepts"),
        ],
    )
    def test_what_may_be_right_is_read(self, tmp_path, n_rows, n_equal, more):
        assert len(self.load(tmp_path, n_rows, n_equal, **more).evidence["oov"].codes) == n_rows


def test_what_evidence_rests_on_is_told_the_commonest_first_and_equals_by_name(tmp_path):
    names = val_file_names(np.arange(1, 5)).to_pylist()
    pq.write_table(
        pa.table(
            {
                "file_name": names,
                "prediction": [5, 6, 7, 8],
                "is_oov": [True] * 4,
                "encoder": ["b/16", "a/32", "c/14", "c/14"],
            }
        ),
        tmp_path / "oov.parquet",
    )
    (tmp_path / "labels.csv").write_text("file_name,labels\n" + "".join(f"{name},1\n" for name in names))
    notes = load_basis(inputs_of(tmp_path / "labels.csv", oov_evidence=tmp_path / "oov.parquet")).evidence.notes["oov"]
    assert [note.split("the encoder ")[1] for note in notes] == [
        "c/14 in 2 of 4 rows",
        "a/32 in 1 of 4 rows",
        "b/16 in 1 of 4 rows",
    ]
