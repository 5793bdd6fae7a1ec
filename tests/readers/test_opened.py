"""What a library raises on a broken file becomes one message; what we raise ourselves passes."""

import gzip
import hashlib
import os
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from imagenet_errors.problems import InputError
from imagenet_errors.readers import read_raw
from imagenet_errors.readers.opened import opened, refusing_damage


@pytest.mark.parametrize("raised", [zipfile.BadZipFile("x"), EOFError("x"), pa.ArrowInvalid("x"), OSError("x")])
def test_a_broken_file_is_one_kind_of_message(raised):
    told = r"model\.npz: the file is cut short or damaged \(first: x\)"
    with pytest.raises(InputError, match=told), refusing_damage("model.npz"):
        raise raised


def test_an_input_error_passes_as_it_is():
    with pytest.raises(InputError, match="no rows"), refusing_damage("model.npz"):
        raise InputError("model.npz", "no rows")


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


def write_zeros(path):
    with gzip.open(path, "wb") as file:
        for _ in range(80):
            file.write(b"0,0\n" * (1 << 18))


@pytest.mark.parametrize(
    ("write", "said"),
    [
        pytest.param(write_zeros, "that unpack to more than", id="gzip"),
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
