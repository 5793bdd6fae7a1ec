"""Parquet and Feather: lists for a top-k, any text type, pandas' index, and our own shared files."""

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.ipc
import pyarrow.parquet
import pytest

from imagenet_errors.problems import InputError
from imagenet_errors.readers import read_raw
from imagenet_errors.readers.scores import reduce_scores
from timm_files import LEMMAS, NAMES, TOP1, TOP1_PROBS, WRITERS, probabilities, timm_frame

SHARED = Path(__file__).parents[3] / "shared" / "data" / "predictions_many"
TABLE = pa.table({"file_name": ["a.JPEG", "b.JPEG"], "predicted_class": pa.array([65, 3], pa.int16())})


def write_stream(table, path):
    with pa.ipc.new_stream(path, table.schema) as sink:
        sink.write_table(table)


@pytest.mark.parametrize(
    "variant",
    [
        pytest.param({}, id="default"),
        pytest.param({"topk": 5}, id="top-5"),
        pytest.param({"topk": 5, "separate": True}, id="top-5 in columns"),
    ],
)
def test_timm_parquet_gives_the_top1_of_its_lists(tmp_path, variant):
    path = tmp_path / "model.parquet"
    WRITERS["parquet"](timm_frame(probabilities(), index=True, **variant), path)
    raw = read_raw(path)
    assert pa.parquet.read_schema(path).names[-1] == "filename"  # pandas writes its index last
    assert (raw.names.to_pylist(), tuple(raw.index)) == (list(NAMES), TOP1)
    assert raw.text.to_pylist() == [*LEMMAS[[*TOP1]]]
    np.testing.assert_allclose(raw.confidence, TOP1_PROBS, rtol=1e-6)


@pytest.mark.parametrize("separate", [False, True])
def test_timm_parquet_of_every_output(tmp_path, separate):
    path = tmp_path / "model.parquet"
    WRITERS["parquet"](timm_frame(probabilities(1000), topk=0, separate=separate), path)
    reduced = reduce_scores(read_raw(path))
    assert (reduced.n_outputs, tuple(reduced.index)) == (1000, TOP1)


@pytest.mark.parametrize("write", [pa.parquet.write_table, pa.feather.write_feather, write_stream])
def test_every_arrow_container_is_read(tmp_path, write):
    path = tmp_path / "model.dat"
    write(TABLE, path)
    raw = read_raw(path)
    assert (raw.names.to_pylist(), raw.index.tolist()) == (["a.JPEG", "b.JPEG"], [65, 3])


@pytest.mark.parametrize("kind", ["int8", "uint16", "int64", "float32"])
@pytest.mark.parametrize("name_type", [pa.large_string(), pa.dictionary(pa.int32(), pa.string())], ids=str)
def test_any_number_and_text_types_are_read(tmp_path, kind, name_type):
    path = tmp_path / "model.parquet"
    names = TABLE["file_name"].cast(name_type)
    pa.parquet.write_table(pa.table({"n": names, "pred": TABLE[1].cast(kind)}), path)
    raw = read_raw(path)
    assert (raw.names.to_pylist(), raw.index.tolist()) == (["a.JPEG", "b.JPEG"], [65, 3])


def test_a_pandas_index_without_a_name_may_hold_the_image_names(tmp_path):
    path = tmp_path / "model.parquet"
    pd.DataFrame({"pred": [65, 3]}, index=["a.JPEG", "b.JPEG"]).to_parquet(path)
    assert read_raw(path).names.to_pylist() == ["a.JPEG", "b.JPEG"]


def test_a_missing_class_is_a_row_without_prediction(tmp_path):
    path = tmp_path / "model.parquet"
    pd.DataFrame({"image": ["a.JPEG", "b.JPEG"], "pred": [65, None]}).to_parquet(path)
    raw = read_raw(path)
    assert raw.index.tolist() == [65, -1]
    assert raw.invalid["no class given"].tolist() == [1]


def test_stated_columns_are_taken(tmp_path):
    path = tmp_path / "model.parquet"
    pa.parquet.write_table(TABLE.append_column("prediction", pa.array([7, 8])), path)
    assert read_raw(path, columns={"index": "prediction"}).index.tolist() == [7, 8]


def test_a_damaged_file_is_refused(tmp_path):
    path = tmp_path / "model.parquet"
    path.write_bytes(b"PAR1" + b"\0" * 40 + b"PAR1")
    with pytest.raises(InputError, match="cut short or damaged"):
        read_raw(path)


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared data lie beside a development checkout only")
def test_the_shared_files_are_read():
    for path in sorted(SHARED.glob("*.parquet"))[::30]:
        raw = read_raw(path)
        assert (raw.n_rows, raw.invalid, raw.notes) == (50_000, {}, ())
        assert raw.names[0].as_py() == "ILSVRC2012_val_00000001.JPEG"
