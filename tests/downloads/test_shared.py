"""The published files themselves, served on this machine under the paths they have in public."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from download_world import running
from imagenet_errors.downloads import (
    CACHE_VARIABLE,
    MIRROR_VARIABLE,
    OFFLINE_VARIABLE,
    Connection,
    facts_of,
    fetch,
    layouts,
    resolve,
    source,
    sources,
)
from imagenet_errors.evaluation import evaluate
from imagenet_errors.inputs import Inputs
from imagenet_errors.labels import imagenet_1k
from imagenet_errors.readers.annotations import read_annotations
from imagenet_errors.runs.manifest import read_manifest

LABELS = imagenet_1k()


@pytest.fixture(scope="module")
def at_hand_here(shared):
    """Place below a mirror -> the shared file of those bytes, for the sources of which all files are shared."""
    by_size = {}
    for path in shared.rglob("*"):
        if path.suffix in (".csv", ".json", ".npz"):
            by_size.setdefault(path.stat().st_size, []).append(path)
    found = {}
    for name in (name for name, one in sources().items() if not one.parts):
        files = layouts(name)[0]
        copies = [
            next((path for path in by_size.get(file.n_bytes, []) if not file.problem_of(path)), None) for file in files
        ]
        if all(copies):
            found |= {(name, file.place): path for file, path in zip(files, copies, strict=True)}
    return found


@pytest.fixture
def mirror(at_hand_here, tmp_path, monkeypatch):
    with running() as server:
        server.files = {place: path.read_bytes() for (_, place), path in at_hand_here.items()}
        monkeypatch.setenv(MIRROR_VARIABLE, server.url)
        monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        monkeypatch.delenv(OFFLINE_VARIABLE, raising=False)
        yield server


def test_the_first_use_fetches_each_file_once_and_the_second_none(mirror, at_hand_here):
    for _ in range(2):
        for name in dict.fromkeys(name for name, _ in at_hand_here):
            fetch(name, network=Connection(say=lambda _: None))
    assert mirror.n_requests == {place: 1 for _, place in at_hand_here}
    assert len(mirror.n_requests) >= 15


def test_a_fetched_file_and_the_shared_one_are_told_in_the_same_words(mirror, shared):
    named = facts_of(*resolve("vit3b", "--human", Connection(say=lambda _: None)))
    assert named == facts_of(*resolve(shared / "human" / "vit3b_mistakes.json", "--human"))
    assert named[0].address == (
        "https://raw.githubusercontent.com/google-research/imagenet-mistakes/"
        "6fdda60a87dd79cdef764c8823db7b2f67c43a97/metadata/vit3b_mistakes.json"
    )


def test_the_folder_of_statistics_is_taken_under_the_names_it_has_here(shared, tmp_path, monkeypatch):
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    (folder,) = fetch("published", copy_from=shared / "published")
    assert len(list(folder.iterdir())) == 4


class TestMultilabels:
    def test_both_layouts_hold_the_same_labels_of_the_same_images(self, shared):
        table = read_annotations(shared / "datasets" / "val-labels" / "multilabel.csv", LABELS)
        official = read_annotations(shared / "annotations" / "human_accuracy_v3.0.0_labels_only.json", LABELS)
        assert table.file_names == official.file_names
        assert (table.label == official.label).all()
        assert (table.problematic == official.problematic).all()
        assert table.accepted.to_arrow() == official.accepted.to_arrow()
        assert (len(table), int(table.evaluated.sum())) == (20_000, 18_692)

    def test_the_official_layout_is_known_by_its_content(self, shared, tmp_path, monkeypatch):
        monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
        given = shared / "annotations" / "human_accuracy_v3.0.0_labels_only.json"
        (path,) = fetch("multilabel", copy_from=given)
        assert resolve("multilabel", "--annotations", Connection(is_offline=True)) == (path,)
        assert source("multilabel").title == facts_of(path)[0].title

    def test_verdicts_by_name_and_by_the_official_layout_are_the_same(self, mirror, shared, tmp_path):
        official = str(shared / "annotations" / "human_accuracy_v3.0.0_labels_only.json")
        models = [*(shared / "predictions").glob("*[A-Z]*.csv"), *(shared / "predictions_many").glob("*.parquet")]
        for annotations, out in (("multilabel", "named"), (official, "official")):
            evaluate(models, Inputs(annotations), tmp_path / out)
        named, other = (sorted((tmp_path / out).rglob("*.parquet")) for out in ("named", "official"))
        assert [path.name for path in named] == [path.name for path in other]
        assert len(named) >= 90
        assert all(pq.read_table(one).equals(pq.read_table(two)) for one, two in zip(named, other, strict=True))
        (facts,) = read_manifest(tmp_path / "named").judged_by
        assert (facts.source, facts.commit) == ("multilabel", source("multilabel").commit)
        assert Path(facts.address).name == facts.file_name == "multilabel.csv"
