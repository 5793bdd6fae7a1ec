"""No more bytes than expected are taken, none but the right ones kept, and a cut transfer is tried again."""

import hashlib
import os
import re

import pytest

from imagenet_errors.downloads.registry import PublishedFile
from imagenet_errors.downloads.transfer import Transfer
from imagenet_errors.problems import InputError

CONTENT = bytes(range(256)) * 1000
FILE = PublishedFile("a/file.bin", (), len(CONTENT), hashlib.sha256(CONTENT).hexdigest())


def transfer(tmp_path, file=FILE, advance=lambda _: None):
    return Transfer(file, tmp_path / file.place, tmp_path / "partials", advance)


def nothing_is_left(tmp_path):
    return not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_the_right_bytes_get_their_name(server, tmp_path):
    server.files["x"] = CONTENT
    heard = []
    assert transfer(tmp_path, advance=heard.append).take_from((f"{server.url}/x",)) == ""
    assert (tmp_path / "a" / "file.bin").read_bytes() == CONTENT
    assert sum(heard) == len(CONTENT)
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["file.bin"]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        pytest.param(CONTENT[:-1] + b" ", f"sha256 [0-9a-f]{{64}} instead of {FILE.sha256}", id="one byte wrong"),
        pytest.param(b"<html>sign in</html>", "20 bytes instead of 256,000; it looks like a web page and", id="page"),
        pytest.param(b"", "0 bytes instead of 256,000", id="nothing"),
        pytest.param(CONTENT + b" ", "256,001 bytes or more instead of 256,000", id="one byte too many"),
    ],
)
def test_wrong_bytes_are_never_kept_and_their_start_is_shown(server, tmp_path, body, said):
    server.files["x"] = body
    why = transfer(tmp_path).take_from((f"{server.url}/x",))
    assert why.startswith(f"{server.url}/x: not the file that is meant: ")
    assert re.search(said, why)
    assert nothing_is_left(tmp_path)


def test_a_download_stops_at_the_expected_size(server, tmp_path):
    n_sent = []

    def endless(request, _):
        request.send(b"", n_promised=1 << 40)
        try:
            while sum(n_sent) < 1 << 30:
                n_sent.append(request.wfile.write(CONTENT))
        except OSError:
            n_sent.append(0)

    server.answer = endless
    assert "bytes or more instead of 256,000" in transfer(tmp_path).take_from((f"{server.url}/x",))
    assert sum(n_sent) < 64 << 20  # what the system's buffers took before the connection was dropped
    assert nothing_is_left(tmp_path)


@pytest.mark.parametrize("promised", [len(CONTENT), None], ids=["said to be whole", "without a length"])
def test_a_transfer_that_is_cut_is_tried_once_more(server, tmp_path, promised):
    def cut_first(request, body):
        is_first = server.n_requests["x"] == 1
        request.send(body[:70_000] if is_first else body, n_promised=promised if is_first else None)

    server.files["x"], server.answer = CONTENT, cut_first
    assert transfer(tmp_path).take_from((f"{server.url}/x",)) == ""
    assert server.n_requests["x"] == 2


def test_a_transfer_that_is_always_cut_is_told_and_the_next_address_tried(server, tmp_path):
    server.answer = lambda request, _: request.send(CONTENT[:70_000], n_promised=len(CONTENT))
    why = transfer(tmp_path).take_from((f"{server.url}/x", f"{server.url}/y"))
    assert why.count("bytes instead of 256,000") == 2
    assert server.n_requests == {"x": 2, "y": 2}
    assert nothing_is_left(tmp_path)


def test_an_interrupt_leaves_nothing(server, tmp_path):
    server.files["x"] = CONTENT

    def interrupted(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        transfer(tmp_path, advance=interrupted).take_from((f"{server.url}/x",))
    assert nothing_is_left(tmp_path)


class Full:
    """A file on a full disk, which says so when it is written to, or only when it is closed."""

    def __init__(self, *, says_on):
        self.says_on = says_on

    def write(self, _):
        self.fail_on("write")

    def close(self):
        self.fail_on("close")

    def fail_on(self, what):
        if what == self.says_on:
            raise OSError(28, "No space left on device")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


@pytest.mark.parametrize("says_on", ["write", "close"])
def test_a_full_disk_is_no_fault_of_the_server(server, tmp_path, monkeypatch, says_on):
    def full(handle, _):
        os.close(handle)
        return Full(says_on=says_on)

    server.files["x"] = CONTENT
    monkeypatch.setattr("imagenet_errors.downloads.transfer.os.fdopen", full)
    with pytest.raises(InputError, match=r"cannot be written: No space left on device\. Make room"):
        transfer(tmp_path).take_from((f"{server.url}/x",))
    assert server.n_requests == {"x": 1}
    assert nothing_is_left(tmp_path)


def test_a_page_is_recognised_where_no_hash_is_known(server, tmp_path):
    unknown = PublishedFile("a/file.bin", (), None, "")
    server.files |= {"page": b" <html>sign in</html>", "x": b"anything"}
    assert "looks like a web page" in transfer(tmp_path, unknown).take_from((f"{server.url}/page",))
    assert transfer(tmp_path, unknown).take_from((f"{server.url}/x",)) == ""


def test_a_copy_that_cannot_be_read_is_told(tmp_path):
    assert "No such file" in transfer(tmp_path).take_from((tmp_path / "none",))
