"""What a library raises on a broken file becomes one message; what we raise ourselves passes."""

import errno
import gzip
import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from imagenet_errors.problems import InputError
from imagenet_errors.readers import arrow_tables, assemble, npz_files, read_raw
from imagenet_errors.readers import opened as opened_files
from imagenet_errors.readers.opened import opened, refusing_damage


@pytest.mark.parametrize("raised", [zipfile.BadZipFile("x"), EOFError("x"), pa.ArrowInvalid("x"), OSError("x")])
def test_a_broken_file_is_one_kind_of_message(raised):
    told = r"model\.npz: the file is cut short or damaged \(first: x\)"
    with pytest.raises(InputError, match=told), refusing_damage("model.npz"):
        raise raised


def test_an_input_error_passes_as_it_is():
    with pytest.raises(InputError, match="no rows"), refusing_damage("model.npz"):
        raise InputError("model.npz", "no rows")


CUT_SHORT = """
import sys
from pathlib import Path
from imagenet_errors.problems import InputError
from imagenet_errors.readers import opened
path = Path(sys.argv[1])
path.write_bytes(b"x" * (1 << 27))
opened._HELD_UP_TO = int(sys.argv[2])
try:
    with opened.opened(path) as file:
        path.write_bytes(b"")
        assert bytes(file.content[-3:]) == b"xxx"
except InputError as error:
    assert "changed while it was read" in str(error)
else:
    sys.exit("the change was not seen")
"""


class TestBytes:
    def test_what_is_hashed_is_what_is_read_of_a_packed_text_too(self, tmp_path):
        path = tmp_path / "a.csv.gz"
        path.write_bytes(gzip.compress(b"file_name,pred\n"))
        with opened(path) as file:
            path.unlink()
            assert file.sha256 == hashlib.sha256(bytes(file.content)).hexdigest()
            assert file.unpacked().content == b"file_name,pred\n"
            assert file.unpacked().sha256 == file.sha256

    def test_a_file_that_changes_meanwhile_is_refused(self, tmp_path):
        path = tmp_path / "a.csv"
        path.write_text("one")
        with pytest.raises(InputError, match="changed while it was read"), opened(path):
            path.write_text("another")

    def test_what_is_amiss_in_a_file_that_changes_is_that_it_changes(self, tmp_path):
        path = tmp_path / "a.csv"
        path.write_text("one")

        def read():
            with opened(path):
                path.write_text("o")
                raise InputError(path, "the file is cut short or damaged")

        with pytest.raises(InputError, match="changed while it was read"):
            read()

    @pytest.mark.parametrize("held", [0, 1 << 30])
    def test_a_large_file_that_is_cut_short_meanwhile_ends_no_program(self, tmp_path, held):
        """A page of a mapped file that is not there any more would be the end of it, by SIGBUS."""
        ended = subprocess.run([sys.executable, "-c", CUT_SHORT, tmp_path / "a.npy", str(held)], check=False)
        assert ended.returncode == 0

    def test_a_full_disk_for_temporary_files_is_one_readable_line(self, tmp_path, monkeypatch):
        def full(*_):
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr("imagenet_errors.readers.opened._HELD_UP_TO", 2)
        monkeypatch.setattr(shutil, "copyfileobj", full)
        (tmp_path / "a.csv").write_text("one")
        with pytest.raises(InputError, match=r"No space left on device\. Make room there, or set TMPDIR"):
            opened(tmp_path / "a.csv").__enter__()

    def test_a_pipe_is_read_to_its_end(self):
        ours, theirs = os.pipe()
        content = b"0123456789" * 3000
        os.write(theirs, content)
        os.close(theirs)
        with opened(Path(f"/dev/fd/{ours}")) as file:
            assert file.content == content
        os.close(ours)

    def test_a_named_pipe_without_a_writer_does_not_hang(self, tmp_path, monkeypatch):
        monkeypatch.setattr("imagenet_errors.readers.opened._PATIENCE_SECONDS", 0.1)
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(InputError, match=r"pipe: (nothing is written to this pipe|the file is empty)"):
            read_raw(tmp_path / "pipe")

    def test_a_device_is_no_file(self):
        with pytest.raises(InputError, match="is no file, and not a pipe either"), opened(Path("/dev/zero")):
            pass


def write_npz(path, n_members):
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(n_members):
            archive.writestr(f"a{number}.npy", b"")


MANY = pa.table({"a": pa.array(np.zeros(6_000_000, np.int8))})


def many_in_npz(path):
    with path.open("wb") as file:
        np.savez_compressed(file, a=np.zeros(6_000_000, np.int8))


def repeated_text():
    """Return a table that stands for 400 MB of text in a few kilobytes."""
    text = pa.DictionaryArray.from_arrays(pa.array([0] * 4000, pa.int32()), pa.array(["x" * 100_000]))
    return pa.table({"file_name": text, "predicted_class": pa.array([1] * 4000)})


def plain_repeated_text(path):
    table = pa.table({"file_name": ["x" * 100_000] * 4000, "predicted_class": pa.array([1] * 4000)})
    pq.write_table(table, path, compression="zstd")


def write_zeros(path):
    with gzip.open(path, "wb") as file:
        for _ in range(80):
            file.write(b"0,0\n" * (1 << 18))


@pytest.mark.parametrize(
    ("write", "said"),
    [
        pytest.param(write_zeros, "that unpack to more than", id="gzip"),
        pytest.param(lambda path: pq.write_table(repeated_text(), path), "bytes of text in column", id="dictionary"),
        pytest.param(plain_repeated_text, "400,000,000 bytes of text in column 'file_name'; at most", id="text"),
        pytest.param(
            lambda path: pa.feather.write_feather(repeated_text(), path), "bytes of text in column", id="Feather"
        ),
        pytest.param(lambda path: pq.write_table(MANY, path), "6,000,000 rows; at most", id="rows"),
        pytest.param(lambda path: pa.feather.write_feather(MANY, path), "6,000,000 rows; at most", id="Feather rows"),
        pytest.param(lambda path: many_in_npz(path), "6,000,000 rows in array a; at most", id="npz rows"),
        pytest.param(lambda path: write_npz(path, 2_000), "2,000 arrays; at most 1,000", id="members"),
        pytest.param(lambda path: path.write_text("a," * 60_000 + "b\n"), "60,001 columns; at most", id="columns"),
        pytest.param(lambda path: path.write_text("[" * 200_000), "nested too deeply", id="lists"),
        pytest.param(lambda path: path.write_text('{"a":' * 200_000), "nested too deeply", id="objects"),
        pytest.param(lambda path: path.write_text('{"a.JPEG": 1' + "0" * 5000 + "}"), "too long", id="a long number"),
        pytest.param(
            lambda path: path.write_text('{"a.JPEG": 1' + "0" * 40 + "}"), "no class index", id="beyond int64"
        ),
    ],
)
def test_bombs_are_refused_in_words(tmp_path, write, said):
    write(tmp_path / "bomb")
    with pytest.raises(InputError, match=f"bomb: .*{said}"):
        read_raw(tmp_path / "bomb")


@pytest.mark.parametrize(
    "packed",
    [
        pytest.param(
            lambda text: b"".join(gzip.compress(text[at : at + 9]) for at in range(0, len(text), 9)), id="many"
        ),
        pytest.param(lambda text: gzip.compress(text) + bytes(70_000), id="zeros behind"),
        pytest.param(lambda text: gzip.compress(text[:50]) + bytes(20) + gzip.compress(text[50:]), id="zeros between"),
        pytest.param(lambda text: gzip.compress(text, 0), id="stored"),
    ],
)
def test_members_of_a_gzip_file_are_one_text(tmp_path, packed):
    text = b"file_name,pred\n" + b"".join(b"%d.JPEG,1\n" % number for number in range(5000))
    (tmp_path / "a.csv.gz").write_bytes(packed(text))
    with opened(tmp_path / "a.csv.gz") as file:
        assert file.unpacked().content == text


@pytest.mark.parametrize("cut", [1, 9, 3000])
def test_a_gzip_file_that_is_cut_short_is_refused(tmp_path, cut):
    content = np.random.default_rng(0).integers(0, 10, 9000, dtype=np.uint8).tobytes()
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(content, mtime=0)[:-cut])
    with opened(tmp_path / "a.csv.gz") as file, pytest.raises(InputError, match="cut short or damaged"):
        file.unpacked()


@pytest.mark.parametrize("n_more", [-8, 8])
def test_an_array_longer_or_shorter_than_its_header_is_refused(tmp_path, n_more):
    np.save(tmp_path / "a.npy", np.arange(9))
    content = (tmp_path / "a.npy").read_bytes()
    (tmp_path / "a.npy").write_bytes(content[:n_more] if n_more < 0 else content + bytes(n_more))
    with pytest.raises(InputError, match=r"8 bytes behind the array of shape \(9,\)|cut short"):
        read_raw(tmp_path / "a.npy")


def test_half_a_surrogate_pair_is_no_obstacle(tmp_path):
    (tmp_path / "a.json").write_text('{"\\ud800.JPEG": "\\udc00 tench", "b.JPEG": "tench"}')
    assert read_raw(tmp_path / "a.json").names.to_pylist() == ["?.JPEG", "b.JPEG"]


def test_a_table_that_no_memory_holds_is_refused_before_it_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr("imagenet_errors.readers.arrow_tables.free_memory", lambda: 7_000)
    pq.write_table(pa.table({"predicted_class": pa.array(np.zeros(1000))}), tmp_path / "a.parquet")
    with pytest.raises(InputError, match="8,000 bytes when it is read, and 7,000 are free"):
        read_raw(tmp_path / "a.parquet")


def test_the_page_states_the_limits_that_hold():
    page = (Path(__file__).parents[2] / "docs" / "read_your_file.md").read_text(encoding="utf-8")
    limits = page[page.index("## How large a file may be") :]
    gibibytes = {1 << 28: "256 MiB", 1 << 26: "64 MiB", 1 << 29: "512 MiB", 1 << 30: "1 GiB", 1 << 31: "2 GiB"}
    for limit in (assemble.MOST_COLUMNS, assemble.MOST_ROWS, npz_files._MOST_MEMBERS):
        assert f"| {limit:,} |" in limits
    for limit in (
        arrow_tables._MOST_TEXT,
        opened_files._ALWAYS_UNPACKED,
        npz_files._ALWAYS_UNPACKED,
        opened_files._HELD_UP_TO,
        opened_files._LARGEST_PIPE,
    ):
        assert gibibytes[limit] in limits
    assert opened_files._MOST_UNPACKED == npz_files._MOST_UNPACKED == 20
