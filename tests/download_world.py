"""A server on this machine, and sources of our own that it serves in a mirror's layout."""

import hashlib
import http.server
import importlib
import json
import os
import subprocess
import sys
import threading
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from imagenet_errors.downloads import CACHE_VARIABLE, MIRROR_VARIABLE, OFFLINE_VARIABLE, Connection, registry
from imagenet_errors.downloads.content import content_of
from imagenet_errors.labels import imagenet_1k

COMMIT = "0123456789abcdef0123456789abcdef01234567"
NAME = "ILSVRC2012_val_{:08}.JPEG"
WNIDS = imagenet_1k().wnids
TABLE = (
    "id,category,original_label,proposed_labels,manually_validated,unclear_multi_labels,wrong_multi_labels,"
    "is_problematic\n"
    f'{NAME.format(2)},M,970,"795, 970",True,,,True\n'
    f'{NAME.format(1)},M,65,65,True,62,"58, 60",False\n'
).encode()
OFFICIAL = json.dumps(
    {
        "initial_annots": {
            NAME.format(1): {"correct": [WNIDS[65]], "unclear": [WNIDS[62]], "wrong": [WNIDS[58]]},
            NAME.format(2): {"correct": [WNIDS[795], WNIDS[970]]},
        },
        "problematic_images": {NAME.format(2): "blurred"},
        "imagenet_m": [],
    }
).encode()
JUDGED = {
    "judged-a": json.dumps({NAME.format(1): {"top_prediction": 62}}).encode(),
    "judged-b": json.dumps({NAME.format(2): {"top_prediction": 970}}).encode(),
}
STATISTICS = {"stats/all.csv": b"model\na\n", "stats/other.csv": b"model\nb\nc\n"}


class Server(http.server.ThreadingHTTPServer):
    """Serves ``files`` by path and counts what is asked for; ``answer`` may answer in another way instead."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files, self.n_requests, self.answer, self.go_on = {}, Counter(), None, threading.Event()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.n_requests[self.path.lstrip("/")] += 1
        body = self.server.files.get(self.path.lstrip("/"))
        if self.server.answer is not None:
            self.server.answer(self, body)
        elif body is None:
            self.send(b"no such file", status=404)
        else:
            self.send(body)

    def send(self, body, *, status=200, n_promised=None):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body) if n_promised is None else n_promised))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def log_message(self, *_):
        pass


@contextmanager
def running():
    with Server() as one:
        thread = threading.Thread(target=one.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield one
        finally:
            one.go_on.set()
            one.shutdown()
            thread.join()


@pytest.fixture
def server():
    with running() as one:
        yield one


@dataclass(frozen=True)
class World:
    """Sources of our own, the server that has them, and an empty cache."""

    server: Server
    cache: Path
    toml: Path
    said: list

    @property
    def network(self):
        return Connection(say=self.said.append)

    def know(self, text):
        """Let the sources be those of a TOML text."""
        self.toml.write_text(text, encoding="utf-8")

    def place(self, path):
        return self.cache / "owner" / "repo" / COMMIT / path

    @property
    def kept(self):
        """What is in the cache but locks, relative to it."""
        files = (path for path in self.cache.rglob("*") if path.is_file() and path.name != "lock")
        return sorted(path.relative_to(self.cache).as_posix() for path in files)

    def start(self, code):
        """Run code in another process that knows these sources; ``fetch`` is imported."""
        before = (
            "from pathlib import Path; from imagenet_errors.downloads import fetch, registry;"
            f"registry.shipped = lambda *_: Path({str(self.toml)!r});"
        )
        return subprocess.Popen(
            [sys.executable, "-c", before + code],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ,
        )


def file_table(key, content, **place):
    facts = {**place, "sha256": hashlib.sha256(content).hexdigest()}
    lines = [f'{name} = "{value}"' for name, value in facts.items()]
    return "\n".join([f"[[sources.{key}]]", *lines, f"bytes = {len(content)}", ""])


def source_table(name, *, options, more=""):
    facts = f'title = "What {name} is"\nlicence = "own"\npaper = "none"\noptions = {json.dumps(options)}\n'
    where = "" if "parts" in more or "local" in name else f'repository = "owner/repo"\ncommit = "{COMMIT}"\n'
    return f"[sources.{name}]\n{facts}{where}{more}\n"


def own_sources(url, content):
    return "\n".join(
        [
            f'mirrors = ["{url}/first/{{repository}}/{{commit}}/{{path}}", "{url}/second/{{repository}}@{{path}}"]',
            source_table("labels", options=["--annotations"], more=f'content = "{content}"'),
            file_table("labels.files", TABLE, path="labels/multilabel.csv"),
            file_table("labels.other_layouts", OFFICIAL, url=f"{url}/bucket/official.json"),
            source_table("judged-a", options=["--human"]),
            file_table("judged-a.files", JUDGED["judged-a"], path="judged/a.json"),
            source_table("judged-b", options=["--human"]),
            file_table("judged-b.files", JUDGED["judged-b"], path="judged/b.json"),
            source_table("panel", options=["--human", "--non-prototypical"], more='parts = ["judged-a", "judged-b"]'),
            source_table("stats", options=["--published-statistics"], more="is_folder = true"),
            *(file_table("stats.files", content, path=path) for path, content in STATISTICS.items()),
            source_table("local", options=["--oov-evidence"]),
            '[[sources.local.files]]\npath = "evidence.csv"\n',
        ]
    )


@pytest.fixture
def world(server, tmp_path, monkeypatch):
    for name in (MIRROR_VARIABLE, OFFLINE_VARIABLE):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("PYTHONPATH", str(Path(registry.__file__).parents[2]))
    importlib.import_module("imagenet_errors.cli.options")  # its help names what is shipped, not what is known here
    (tmp_path / "table.csv").write_bytes(TABLE)
    one = World(server, tmp_path / "cache", tmp_path / "sources.toml", [])
    one.know(own_sources(server.url, content_of(tmp_path / "table.csv")))
    monkeypatch.setattr(registry, "shipped", lambda *_: one.toml)
    by_path = {"labels/multilabel.csv": TABLE, "judged/a.json": JUDGED["judged-a"], "judged/b.json": JUDGED["judged-b"]}
    server.files |= {f"first/owner/repo/{COMMIT}/{path}": content for path, content in (by_path | STATISTICS).items()}
    return one
