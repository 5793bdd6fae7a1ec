"""Downloaded files are verified before use; a copy from anywhere is accepted if it is the right one."""

import hashlib
import http.server
import json
import threading

import pyarrow.parquet as pq
import pytest

from imagenet_errors import downloads
from imagenet_errors.downloads import CACHE_VARIABLE, Source, cached_path, fetch, fetched_multilabels, sources
from imagenet_errors.labels import imagenet_1k
from imagenet_errors.problems import InputError

LABELS = imagenet_1k()
CONTENT = json.dumps({"initial_annots": {"ILSVRC2012_val_00000001.JPEG": {"correct": [LABELS.wnids[65]]}}}).encode()
SHA = hashlib.sha256(CONTENT).hexdigest()


class Server(http.server.ThreadingHTTPServer):
    """Answers every request in the same way and counts them."""

    status, body, n_requests = 200, CONTENT, 0

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/labels.json"


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.n_requests += 1
        self.send_response(self.server.status)
        self.send_header("Content-Length", str(len(self.server.body)))
        self.end_headers()
        self.wfile.write(self.server.body)

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    with Server(("127.0.0.1", 0), Handler) as one:
        thread = threading.Thread(target=one.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield one
        one.shutdown()
        thread.join()


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    return tmp_path / "cache"


@pytest.fixture
def known(cache, server, monkeypatch):
    """Let the one source be the server's, and return a way to change what is known of it."""

    def says(**changes):
        facts = {
            "title": "Labels",
            "file_name": "labels.json",
            "url": [server.url],
            "licence": "own",
            "paper": "none",
            "used_by": "tests",
            "sha256": SHA,
            "size": len(CONTENT),
        }
        one = Source(**facts | changes)
        monkeypatch.setattr(downloads, "sources", lambda: {"multilabel": one})

    says()
    return says


def nothing_is_left(cache):
    return not list(cache.rglob("*.*"))


class TestDownload:
    def test_a_file_is_downloaded_once_and_kept(self, known, server, cache):
        path = fetch("multilabel")
        assert path == cache / "labels.json" == cached_path("multilabel")
        assert path.read_bytes() == CONTENT
        assert fetch("multilabel") == path
        assert server.n_requests == 1

    @pytest.mark.parametrize("status", [403, 404, 500])
    def test_a_server_that_refuses_is_quoted_with_the_way_out(self, known, server, cache, status):
        server.status = status
        with pytest.raises(InputError) as refused:
            fetch("multilabel")
        said = str(refused.value)
        assert f"labels.json could not be downloaded: {server.url}: {status}" in said
        assert f"sha256 {SHA}" in said
        assert f"put it at {cache / 'labels.json'}" in said
        assert "imagenet-errors data fetch multilabel --from FILE" in said
        assert nothing_is_left(cache)

    @pytest.mark.parametrize(
        ("body", "said"),
        [
            pytest.param(CONTENT[:-1], "bytes instead of", id="cut off"),
            pytest.param(CONTENT[:-1] + b" ", f"sha256 .* instead of {SHA}", id="one byte wrong"),
            pytest.param(b"<html>sign in</html>", "looks like a web page and starts with b'<html>", id="page"),
        ],
    )
    def test_wrong_bytes_are_never_kept_and_their_start_is_shown(self, known, server, cache, body, said):
        server.body = body
        with pytest.raises(InputError, match=f"not the file that is meant: .*{said}"):
            fetch("multilabel")
        assert nothing_is_left(cache)

    def test_nobody_answering_is_told_without_a_traceback(self, known, cache):
        known(url=["http://127.0.0.1:9/labels.json"])
        with pytest.raises(InputError, match=r"could not be downloaded: http://127.0.0.1:9.*--from FILE"):
            fetch("multilabel")

    def test_the_next_address_is_tried(self, known, server):
        known(url=["http://127.0.0.1:9/labels.json", server.url])
        assert fetch("multilabel").read_bytes() == CONTENT

    def test_a_source_without_an_address_says_what_goes_where(self, known, cache):
        known(url=[], sha256="", size=None)
        with pytest.raises(InputError, match=r"labels.json has no address .*hash is not known; own.* put it at"):
            fetch("multilabel")

    def test_a_source_without_a_known_hash_is_downloaded_unchecked(self, known):
        known(sha256="", size=None)
        assert fetch("multilabel").read_bytes() == CONTENT

    def test_a_file_that_went_bad_in_the_cache_is_refused(self, known, cache):
        fetch("multilabel").write_bytes(CONTENT + b" ")
        with pytest.raises(InputError, match=r"labels.json: not the file that is meant: .*Get labels.json again"):
            fetch("multilabel")


class TestLocalCopy:
    def test_a_right_copy_of_any_name_is_accepted_without_the_network(self, known, server, tmp_path):
        (tmp_path / "download (1)").write_bytes(CONTENT)
        assert fetch("multilabel", copy_from=tmp_path / "download (1)").read_bytes() == CONTENT
        assert server.n_requests == 0

    def test_a_copy_put_into_the_cache_by_hand_is_accepted(self, known, server, cache):
        cache.mkdir()
        (cache / "labels.json").write_bytes(CONTENT)
        assert fetch("multilabel").read_bytes() == CONTENT
        assert server.n_requests == 0

    def test_the_file_in_the_cache_is_its_own_copy(self, known, cache):
        assert fetch("multilabel", copy_from=fetch("multilabel")).read_bytes() == CONTENT

    def test_a_wrong_copy_is_refused_and_left_alone(self, known, cache, tmp_path):
        (tmp_path / "mine.json").write_bytes(b"<html>")
        with pytest.raises(InputError, match=r"mine.json: not the file .*6 bytes instead of .*b'<html>'"):
            fetch("multilabel", copy_from=tmp_path / "mine.json")
        assert (tmp_path / "mine.json").read_bytes() == b"<html>"
        assert nothing_is_left(cache)

    def test_a_copy_that_is_not_there_is_refused(self, known, tmp_path):
        with pytest.raises(InputError, match=r"none.json: no such file"):
            fetch("multilabel", copy_from=tmp_path / "none.json")

    def test_a_source_that_is_a_folder_is_copied_whole(self, known, cache, tmp_path):
        known(url=[], sha256="", size=None, file_name="stats")
        (tmp_path / "mine").mkdir()
        (tmp_path / "mine" / "all.csv").write_text("a\n")
        assert (fetch("multilabel", copy_from=tmp_path / "mine") / "all.csv").read_text() == "a\n"

    def test_a_cache_that_cannot_be_written_is_told_with_its_variable(self, known, cache, tmp_path):
        cache.write_text("a file where the folder should be")
        (tmp_path / "mine.json").write_bytes(CONTENT)
        with pytest.raises(InputError, match=f"cannot be written.*{CACHE_VARIABLE}"):
            fetch("multilabel", copy_from=tmp_path / "mine.json")


class TestMultilabels:
    def test_the_json_is_parsed_once_and_its_labels_kept_beside_it(self, known, cache):
        first = fetched_multilabels(LABELS)
        (cache / "labels.json").unlink()
        again = fetched_multilabels(LABELS)
        assert again.accepted[0].tolist() == first.accepted[0].tolist() == [65]
        assert [path.name for path in cache.glob("*")] == ["labels.labels.parquet"]

    @pytest.mark.parametrize("content", [pytest.param(b"PAR1", id="broken"), pytest.param(None, id="another's")])
    def test_what_is_beside_it_is_made_again_if_it_is_not_of_this_file(self, known, cache, content):
        fetched_multilabels(LABELS)
        small = cache / "labels.labels.parquet"
        if content is None:
            pq.write_table(pq.read_table(small).slice(0, 0).replace_schema_metadata(None), small)
        else:
            small.write_bytes(content)
        assert len(fetched_multilabels(LABELS)) == 1


def test_the_official_file_is_known_by_its_size_and_hash():
    official = sources()["multilabel"]
    assert official.size == 200_417_830
    assert official.sha256 == "d5b2b6111fc9efea16aaebd21bc5a401d16ad18285d3fd99635d8b32ebdb6287"
    assert official.url[0].startswith("https://")


def test_an_unknown_source_is_refused_with_the_known_ones():
    with pytest.raises(InputError, match=r"data: no source 'labels'.*Known are: multilabel, "):
        fetch("labels")


def test_without_the_variable_the_users_own_cache_is_used(monkeypatch):
    monkeypatch.delenv(CACHE_VARIABLE, raising=False)
    assert cached_path("multilabel").parent.name == "imagenet-errors"
