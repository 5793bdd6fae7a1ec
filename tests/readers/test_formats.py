"""What a file holds is told from its bytes; what is no predictions file is refused with a way out."""

import gzip
import io
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from imagenet_errors.problems import InputError
from imagenet_errors.readers.formats import raw_of, recognised
from imagenet_errors.readers.opened import opened

TABLE = pa.table({"file_name": ["a.JPEG"], "prediction": [65]})


def written(write):
    sink = io.BytesIO()
    write(sink)
    return sink.getvalue()


def zipped(members):
    def write(sink):
        with zipfile.ZipFile(sink, "w") as archive:
            for name, content in members.items():
                archive.writestr(name, content)

    return written(write)


PARQUET = written(lambda sink: pa.parquet.write_table(TABLE, sink))
FEATHER = written(lambda sink: pa.feather.write_feather(TABLE, sink))
NPY = written(lambda sink: np.save(sink, np.arange(3)))
NPZ = written(lambda sink: np.savez(sink, top1=np.arange(3)))


def sniffed(path):
    with opened(path) as file:
        return recognised(file)


def read(path):
    with opened(path) as file:
        return raw_of(file)


@pytest.fixture
def file(tmp_path):
    """Return a path with an ending that says nothing, and a function that fills it."""

    def fill(content):
        path = tmp_path / "model.dat"
        path.write_bytes(content)
        return path

    return fill


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        pytest.param(PARQUET, "Parquet", id="Parquet"),
        pytest.param(FEATHER, "Arrow", id="Feather"),
        pytest.param(NPY, "npy", id="npy"),
        pytest.param(NPZ, "npz", id="npz"),
        pytest.param(b'{"a.JPEG": 1}', "JSON", id="JSON object"),
        pytest.param(b'\xef\xbb\xbf \n[["a.JPEG", 1]]', "JSON", id="JSON after a mark and blanks"),
        pytest.param(b"filename,label\na,b\n", "delimited text", id="CSV, whatever its ending"),
        pytest.param(gzip.compress(b"filename,label\na,b\n"), "delimited text", id="gzipped CSV"),
        pytest.param(gzip.compress(b'{"a.JPEG": 1}'), "JSON", id="gzipped JSON"),
    ],
)
def test_the_kind_is_told_from_the_bytes(file, content, kind):
    assert sniffed(file(content))[0].name == kind


def test_text_comes_unpacked_and_without_its_byte_order_mark(file):
    assert sniffed(file(gzip.compress(b"\xef\xbb\xbfname,index\n")))[1].content == b"name,index\n"


@pytest.mark.parametrize(
    ("content", "told"),
    [
        pytest.param(b"", "empty", id="empty file"),
        pytest.param(b" \n\n", "empty", id="blanks only"),
        pytest.param(pickle.dumps({"logits": [1]}), "this is a pickle", id="pickle"),
        pytest.param(zipped({"archive/data.pkl": "x"}), "torch", id="torch file"),
        pytest.param(zipped({"[Content_Types].xml": "x"}), "Excel", id="Excel sheet"),
        pytest.param(zipped({"readme": "x"}), "zip archive without arrays", id="zip without arrays"),
        pytest.param(b"\x89HDF\r\n\x1a\n", "HDF5", id="HDF5"),
        pytest.param(b"%PDF-1.7", "PDF", id="PDF"),
        pytest.param(b"<!DOCTYPE html><html>", "<!DOCTYPE html>", id="web page shows its first bytes"),
        pytest.param(b"\n<html>403 Forbidden", "<html>403 Forbidden", id="error page saved as data"),
        pytest.param(b"<table><tr><td>a.JPEG", "pandas.read_html", id="table of a web page"),
        pytest.param(b"version https://git-lfs.github.com/spec/v1\n", "git lfs pull", id="git-lfs pointer"),
        pytest.param("filename,index".encode("utf-16")[:-1], "UTF-16", id="UTF-16 cut short"),
        pytest.param("a.JPEG,caf\xe9".encode("latin-1"), "not UTF-8", id="Latin-1"),
        pytest.param(b"a\0b", "neither text nor a known format", id="unknown binary"),
        pytest.param(gzip.compress(PARQUET), "Unpack it first", id="gzipped Parquet"),
        pytest.param(gzip.compress(b"name,index\n" * 99)[:40], "cut short", id="gzip cut short"),
        pytest.param(PARQUET[:-9], "cut short", id="Parquet cut short"),
        pytest.param(NPZ[: len(NPZ) // 2], "cut short", id="npz cut in half"),
    ],
)
def test_what_is_no_predictions_file_is_refused(file, content, told):
    with pytest.raises(InputError, match=told.replace("(", r"\(")):
        read(file(content))


def test_a_pickle_is_never_loaded_and_the_message_says_how_to_convert_it(file):
    class Bomb:
        def __reduce__(self):
            return (pytest.fail, ("the pickle was loaded",))

    with pytest.raises(InputError, match=r"(?s)pickle\.loads.*json\.dumps.*numpy\.save"):
        read(file(pickle.dumps(Bomb())))


@pytest.mark.parametrize(
    ("saved", "kind"),
    [
        pytest.param({"a.JPEG": 65, "b.JPEG": 1}, "a dict or a list", id="classes by name"),
        pytest.param({"a.JPEG": np.int64(65), "b.JPEG": np.int64(1)}, "a dict or a list", id="numpy's numbers"),
        pytest.param([{"image": "a.JPEG", "pred": 65}, {"image": "b.JPEG", "pred": 1}], "a dict or a list", id="list"),
        pytest.param(np.array([65, 1]), "an array", id="array"),
        pytest.param(pd.DataFrame({"image": ["a.JPEG", "b.JPEG"], "pred": [65, 1]}), "a DataFrame", id="DataFrame"),
    ],
)
def test_a_pickle_converted_as_the_message_says_is_read(tmp_path, monkeypatch, saved, kind):
    monkeypatch.chdir(tmp_path)
    Path("FILE").write_bytes(pickle.dumps(saved))
    with pytest.raises(InputError) as refused:
        read(tmp_path / "FILE")
    lines = [line.strip() for line in refused.value.fix.splitlines()[1:]]
    exec("\n".join([*lines[:3], *(line for line in lines if line.endswith(f"# {kind}"))]))
    (written,) = tmp_path.glob("FILE.*")
    assert read(written).index.tolist() == [65, 1]


def test_a_folder_and_a_missing_file_are_named(tmp_path):
    with pytest.raises(InputError, match="folder"):
        read(tmp_path)
    with pytest.raises(InputError, match="no such file"):
        read(tmp_path / "missing.csv")
