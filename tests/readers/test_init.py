"""read_raw: any file gives predictions or one readable refusal, never another exception."""

import gzip
import io
import json

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from imagenet_errors.problems import InputError
from imagenet_errors.readers import RawPredictions, read_raw
from imagenet_errors.readers.scores import reduce_scores

CSV = b'filename,index,label,prob\na.JPEG,65,"sea snake, x",0.5\nb.JPEG,3,alp,0.25\n'
LISTS = b"filename,index,label,prob\na.JPEG,[65  1],['sea snake' \"jack-o'-lantern\"],[0.5 0.1]\n"
JSON = json.dumps({"a.JPEG": {"index": 65, "label": "sea snake", "prob": 0.5}}).encode()
TABLE = pa.table({"filename": ["a.JPEG"], "index": [65], "prob": [0.5]})


def packed(write, value):
    sink = io.BytesIO()
    write(sink, value)
    return sink.getvalue()


WHOLE = {
    "CSV": CSV,
    "CSV with lists": LISTS,
    "gzipped CSV": gzip.compress(CSV),
    "JSON": JSON,
    "JSON lines": b'{"file": "a.JPEG", "pred": 65}\n{"file": "b.JPEG", "pred": 3}\n',
    "Parquet": packed(lambda sink, table: pa.parquet.write_table(table, sink), TABLE),
    "Feather": packed(lambda sink, table: pa.feather.write_feather(table, sink), TABLE),
    "npy": packed(np.save, np.arange(9, dtype=np.float32).reshape(3, 3)),
    "npz": packed(np.savez, np.arange(900, dtype=np.float32).reshape(3, 300)),
}
MAGIC = (b"", b"PAR1", b"ARROW1\0\0", b"\x93NUMPY", b"PK\3\4", b"\x1f\x8b")
MANY = settings(
    max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None
)


def predictions_or_refusal(path, content):
    """Read and reduce; the only exception that may come is the one for people."""
    path.write_bytes(content)
    try:
        raw = reduce_scores(read_raw(path))
    except InputError:
        return
    assert isinstance(raw, RawPredictions)
    assert raw.index is not None or raw.text is not None or raw.candidates


@pytest.mark.parametrize("content", WHOLE.values(), ids=WHOLE)
def test_the_ending_of_a_file_says_nothing(tmp_path, content):
    path = tmp_path / "model.xlsx"
    path.write_bytes(content)
    assert reduce_scores(read_raw(path)).n_rows in (1, 2, 3)


@pytest.mark.parametrize("content", WHOLE.values(), ids=WHOLE)
def test_a_file_cut_anywhere_is_read_or_refused(tmp_path, content):
    for kept in range(0, len(content), max(1, len(content) // 60)):
        predictions_or_refusal(tmp_path / "model.dat", content[:kept])


@MANY
@given(content=st.binary(max_size=80), magic=st.sampled_from(MAGIC))
def test_random_bytes_are_read_or_refused(tmp_path, content, magic):
    predictions_or_refusal(tmp_path / "model.dat", magic + content)


@MANY
@given(content=st.text(alphabet=",;\"[]{}:\n\t ab01.-#'e", max_size=80))
def test_random_tables_and_json_are_read_or_refused(tmp_path, content):
    predictions_or_refusal(tmp_path / "model.dat", content.encode())


@MANY
@given(st.data())
@pytest.mark.parametrize("kind", ["CSV", "CSV with lists", "JSON", "JSON lines", "npy", "npz", "Feather"])
def test_a_file_with_bytes_overwritten_is_read_or_refused(tmp_path, kind, data):
    content = bytearray(WHOLE[kind])
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    predictions_or_refusal(tmp_path / "model.dat", bytes(content))


def test_stated_columns_reach_the_reader(tmp_path):
    path = tmp_path / "model.csv"
    path.write_bytes(b"f,x,y\na.JPEG,65,3\n")
    assert read_raw(path, columns={"index": "y"}).index.tolist() == [3]
