"""npz archives: the published program's, and any with scores or classes and perhaps names."""

import zipfile

import numpy as np
import pytest

from imagenet_errors.problems import InputError
from imagenet_errors.readers import read_raw as read_npz
from imagenet_errors.readers.npz_files import MemberScores
from imagenet_errors.readers.scores import reduce_scores

PROBS = np.random.default_rng(0).dirichlet(np.ones(1000), size=3).astype(np.float32)
TOP1 = PROBS.argmax(axis=1)
FILES = np.array(["n01440764/a.JPEG", "n01440764/b.JPEG", "n01443537/c.JPEG"])


@pytest.fixture
def saved(tmp_path):
    """Return a function that saves arrays as ROOT/vit--b/NAME and returns the path."""

    def save(name="preds.npz", compressed=False, **arrays):
        path = tmp_path / "vit--b" / name
        path.parent.mkdir(exist_ok=True)
        (np.savez_compressed if compressed else np.savez)(path, **arrays)
        return path

    return save


@pytest.mark.parametrize("folder", ["", "../"], ids=["beside", "one folder up"])
def test_the_published_program_s_files_get_their_names_from_its_list_of_samples(saved, folder):
    path = saved(top1=TOP1, top5=np.argsort(-PROBS, axis=1)[:, :5], probs=PROBS)
    np.savez(path.parent / f"{folder}samples_info.npz", sample_files=FILES, targets=np.arange(3))
    raw = read_npz(path)
    assert (raw.names.to_pylist(), raw.n_outputs) == (FILES.tolist(), 1000)
    assert raw.index.tolist() == TOP1.tolist()
    assert "names come from samples_info.npz" in raw.notes[-1]
    np.testing.assert_allclose(reduce_scores(raw).confidence, PROBS.max(axis=1))


def test_a_list_of_other_samples_is_not_used_and_that_is_said(saved):
    path = saved(top1=TOP1, probs=PROBS)
    np.savez(path.parent / "samples_info.npz", sample_files=FILES[:2], targets=np.arange(2))
    raw = read_npz(path)
    assert raw.names is None
    assert "samples_info.npz was not used" in raw.notes[-1]


def test_a_stated_top1_is_kept_against_the_probabilities_and_counted(saved):
    other = np.array([TOP1[0], TOP1[1], (TOP1[2] + 1) % 1000])
    reduced = reduce_scores(read_npz(saved(top1=other, probs=PROBS)))
    assert reduced.index.tolist() == other.tolist()
    assert "in 1 row of 3" in reduced.notes[-1]


@pytest.mark.parametrize("names", ["file_names", "filenames", "names", "sample_files", "paths"])
@pytest.mark.parametrize("scores", ["logits", "probs", "scores", "outputs"])
def test_scores_and_names_go_by_many_names(saved, names, scores):
    raw = read_npz(saved(**{names: FILES, scores: PROBS}))
    assert raw.names.to_pylist() == FILES.tolist()
    assert reduce_scores(raw).index.tolist() == TOP1.tolist()


@pytest.mark.parametrize(
    "arrays",
    [
        pytest.param({"arr_0": PROBS}, id="one array without a name"),
        pytest.param({"arr_0": np.asfortranarray(PROBS)}, id="columns first in memory"),
        pytest.param({"logits": PROBS, "labels": np.arange(3), "names": FILES.astype("S")}, id="labels are truth"),
        pytest.param({"probs": PROBS, "logits": -PROBS}, id="probabilities before logits"),
        pytest.param({"top1": TOP1}, id="classes alone"),
        pytest.param({"arr_0": TOP1}, id="one array of classes"),
        pytest.param({"pred": TOP1, "conf": PROBS.max(axis=1), "names": FILES}, id="classes and confidences"),
        pytest.param({"top5": np.argsort(-PROBS, axis=1)[:, :5]}, id="ranked classes"),
    ],
)
@pytest.mark.parametrize("compressed", [False, True])
def test_the_top1_is_found(saved, arrays, compressed):
    assert reduce_scores(read_npz(saved(compressed=compressed, **arrays))).index.tolist() == TOP1.tolist()


def test_the_user_may_state_the_scores(saved):
    path = saved(logits=PROBS, extra=-PROBS)
    assert reduce_scores(read_npz(path, columns={"scores": "extra"})).index.tolist() == (-PROBS).argmax(1).tolist()


def test_wnids_of_the_class_axis_are_its_labels(saved):
    wnids = np.array([f"n{i:08d}" for i in range(1000)][::-1])
    reduced = reduce_scores(read_npz(saved(logits=PROBS, classes=wnids)))
    assert reduced.text.to_pylist() == wnids[TOP1].tolist()


def test_scores_are_unpacked_a_block_at_a_time(saved, monkeypatch):
    monkeypatch.setattr("imagenet_errors.readers.scores.CHUNK_BYTES", 8000)  # two rows
    raw = read_npz(saved(logits=PROBS, compressed=True))
    assert isinstance(raw.scores, MemberScores)
    assert [len(block) for block in raw.scores.chunks()] == [2, 1]


@pytest.mark.parametrize(
    ("arrays", "told"),
    [
        pytest.param({"logits": PROBS, "outputs": PROBS}, "several arrays may be the scores", id="ambiguous"),
        pytest.param({"sample_files": FILES, "targets": TOP1}, "no column tells the predicted", id="samples"),
        pytest.param({"logits": PROBS.astype(object)}, "pickled Python objects", id="objects"),
        pytest.param({"logits": np.zeros((0, 1000))}, "no array with a row an image", id="no rows"),
        pytest.param({"x": np.array(3)}, r"shape \(\)", id="a single number"),
    ],
)
def test_what_is_uncertain_is_refused(saved, arrays, told):
    with pytest.raises(InputError, match=told):
        read_npz(saved(**arrays))


def test_an_archive_overwritten_in_the_middle_is_refused_when_its_scores_are_read(saved):
    path = saved(logits=PROBS)
    content = bytearray(path.read_bytes())
    content[6000:6010] = b"overwrites"
    path.write_bytes(content)
    with pytest.raises(InputError, match="cut short or damaged"):
        reduce_scores(read_npz(path))


def test_an_array_of_scores_shorter_than_its_header_says_is_refused(saved):
    """Every checksum of such an archive is right: it was written from a file that was cut."""
    path = saved(logits=PROBS)
    with zipfile.ZipFile(path) as archive:
        content = archive.read("logits.npy")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("logits.npy", content[:-1000])
    with pytest.raises(InputError, match="cut short or damaged"):
        reduce_scores(read_npz(path))
