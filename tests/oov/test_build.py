"""The whole of it with a real CLIP model equals a naive computation, case by case."""

import numpy as np
import pyarrow.parquet as pq
import pytest

from imagenet_errors.evidence.superclasses import load_superclasses
from imagenet_errors.images import val_file_names
from imagenet_errors.labels import imagenet_1k
from imagenet_errors.oov.proposals import Proposer
from imagenet_errors.readers.annotations import read_real
from imagenet_errors.wordnet import load_wordnet

torch = pytest.importorskip("torch", reason="torch runs the model")
open_clip = pytest.importorskip("open_clip", reason="open_clip has the model")
pytest.importorskip("faiss", reason="faiss searches the training images")
from clip_models import write_config, write_image  # noqa: E402

LABELS = imagenet_1k()
REAL = read_real(LABELS)
WEIGHTS = ("--clip-weights", "random:5", "--device", "cpu")


def generated(folder):
    """Thirty images under the first validation images' names, and a training set of forty."""
    names = val_file_names(np.flatnonzero(REAL.evaluated)[:30] + 1).to_pylist()
    for seed, name in enumerate(names):
        write_image(folder / "val" / name, seed)
    for seed in range(40):
        write_image(folder / "train" / LABELS.wnids[seed * 25] / f"{seed}.JPEG", 1000 + seed)
    return folder / "val", folder / "train", names


def real_images(folder, shared):
    """Sixty real images, and the next two hundred as a training set."""
    files = sorted((shared / "images").iterdir())
    (folder / "val").mkdir()
    for path in files[:60]:
        (folder / "val" / path.name).symlink_to(path)
    for number, path in enumerate(files[60:260]):
        inside = folder / "train" / LABELS.wnids[number * 5]
        inside.mkdir(parents=True, exist_ok=True)
        (inside / path.name).symlink_to(path)
    return folder / "val", folder / "train", [path.name for path in files[:60]]


@pytest.fixture(params=["generated images", "real images"])
def run(request, program, tmp_path):
    """Run the command on made-up mistakes; return the table and the folders."""
    if request.param == "real images":
        val, train, names = real_images(tmp_path, request.getfixturevalue("shared"))
    else:
        val, train, names = generated(tmp_path)
    guesses = np.random.default_rng(0).integers(0, 1000, len(names))
    rows = [f"{name},{guess}" for name, guess in zip(names, guesses, strict=True)]
    (tmp_path / "model.csv").write_text("\n".join(["file_name,predicted_class", *rows]) + "\n")
    config = write_config(tmp_path)
    answer = program(
        *("evidence", tmp_path / "model.csv", "--images", val, "--train-images", train),
        *("--out", tmp_path / "oov.parquet", "--clip-model", config, *WEIGHTS, "--no-check-order"),
    )
    assert answer.status == 0, answer.err
    return pq.read_table(tmp_path / "oov.parquet").to_pylist(), val, train, config


class Naive:
    """One image, one prompt, one case at a time, straight with open_clip."""

    def __init__(self, config, val, train):
        open_clip.add_model_config(config)
        torch.manual_seed(5)
        self.model, _, self.transform = open_clip.create_model_and_transforms(config.stem)
        self.model.eval()
        self.tokenizer = open_clip.get_tokenizer(config.stem)
        self.val = val
        paths = sorted(train.rglob("*.JPEG"))
        self.train = np.array([self.see(path) for path in paths])
        self.classes = np.array([LABELS.index_of_wnid[path.parent.name] for path in paths])
        self.shares = load_superclasses().shares
        self.proposer = Proposer(LABELS, load_wordnet(), self.shares)

    @torch.inference_mode()
    def see(self, path):
        from PIL import Image

        vector = self.model.encode_image(self.transform(Image.open(path).convert("RGB"))[None])[0].numpy()
        return vector / np.linalg.norm(vector)

    @torch.inference_mode()
    def read(self, name):
        vector = self.model.encode_text(self.tokenizer([f"A photo of a {name}"]))[0].numpy()
        return vector / np.linalg.norm(vector)

    def case(self, name, prediction, target):
        """The ten nearest classes with their similarities, and name -> score."""
        image = self.see(self.val / name)
        nearness = self.train @ image
        order = np.argsort(-nearness)[:10]
        names = [text for _, text in self.proposer.names(prediction, target)]
        scores = np.exp(100 * np.array([image @ self.read(text) for text in names]))
        return self.classes[order], nearness[order], names, scores / scores.sum()


def test_it_equals_the_naive_computation(run):
    rows, val, train, config = run
    naive = Naive(config, val, train)
    label = dict(zip(REAL.file_names.to_pylist(), REAL.label.tolist(), strict=True))
    assert len(rows) > 15
    for row in rows[:12]:
        classes, nearness, names, scores = naive.case(row["file_name"], row["prediction"], label[row["file_name"]])
        clear = np.diff(-nearness, prepend=-np.inf, append=np.inf)
        settled = np.minimum(clear[:-1], clear[1:]) > 1e-4  # float16 may turn what is nearer than that
        assert np.array_equal(np.array(row["neighbour_classes"])[settled], classes[settled])
        assert row["proposal_count"] == len(names)
        assert row["best_score"] == pytest.approx(scores.max(), rel=1e-3)
        found = {proposal["name"]: proposal["score"] for proposal in row["top_proposals"]}
        expected = dict(zip(names, scores, strict=True))
        assert all(score == pytest.approx(expected[name], rel=1e-3, abs=1e-6) for name, score in found.items())
