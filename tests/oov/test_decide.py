"""All cases at once are decided as one case at a time would be, by the definition."""

import csv
import json

import numpy as np
import pyarrow as pa
import pytest

from evidence_world import DIM, vector
from imagenet_errors.evidence.oov import OOV_SCHEMA
from imagenet_errors.evidence.superclasses import load_superclasses
from imagenet_errors.labels import imagenet_1k
from imagenet_errors.oov.cosine import normalised
from imagenet_errors.oov.decide import OovCases, OovDecider
from imagenet_errors.oov.proposals import Proposer
from imagenet_errors.wordnet import load_wordnet

CLASSES = imagenet_1k()
PROPOSER = Proposer(CLASSES, load_wordnet(), load_superclasses().shares)
NAMES = np.array([vector(name) for name in PROPOSER.vocabulary.to_pylist()])
JUDGE = OovDecider(PROPOSER, NAMES, "hand/made", "a pool")
N_CASES, N_IMAGES = 400, 60


def made_cases():
    """Images that resemble a proposed name; predictions that repeat; neighbours that are sometimes kin."""
    random = np.random.default_rng(11)
    prediction = random.choice(random.integers(0, 1000, 40), N_CASES).astype(np.int16)
    target = random.integers(0, 1000, N_CASES).astype(np.int16)
    image = random.integers(0, N_IMAGES, N_CASES)
    vectors = random.standard_normal((N_IMAGES, DIM)) / 16
    for case in range(N_CASES):
        names = PROPOSER.names(int(prediction[case]), int(target[case]))
        vectors[image[case]] += 0.2 * vector(names[random.integers(len(names))][1])
    neighbours = random.integers(0, 1000, (N_IMAGES, 50)).astype(np.int16)
    neighbours[image[:200], random.integers(0, 20, 200)] = prediction[:200]
    neighbours[:5, 3:] = -1
    names = pa.array([f"image{at}" for at in image])
    return OovCases(names, prediction, target, image, normalised(vectors), neighbours)


CASES = made_cases()
TABLE = JUDGE.decide(CASES)


def decided_by_hand(case):
    """One case by the definition, with plain numpy and lists."""
    prediction, target = int(CASES.prediction[case]), int(CASES.target[case])
    proposals = PROPOSER.names(prediction, target)
    cosine = [float(CASES.vectors[CASES.image[case]].astype(float) @ vector(name)) for _, name in proposals]
    softmax = np.exp(100 * np.array(cosine))
    softmax /= softmax.sum()
    best = int(np.argmax(softmax))
    near = [int(index) for index in CASES.neighbours[CASES.image[case]][:10] if index >= 0]
    support = sum(index == prediction or bool(PROPOSER.shares[index, prediction]) for index in near)
    inside = {name for synset, name in proposals if synset in CLASSES.index_of_wnid}
    return {
        "is_oov": support > 0 and proposals[best][1] not in inside,
        "neighbour_support": support,
        "proposal_count": len(proposals),
        "best_name": proposals[best][1],
        "scores": np.sort(softmax)[::-1][:5],
        "neighbour_classes": near,
    }


ROWS = TABLE.to_pylist()


def test_every_case_is_decided_as_by_hand():
    for case, row in enumerate(ROWS):
        by_hand = decided_by_hand(case)
        scores = by_hand.pop("scores")
        assert np.allclose([proposal["score"] for proposal in row["top_proposals"]], scores, atol=1e-5)
        assert {key: row[key] for key in by_hand} == by_hand


def test_both_answers_occur():
    assert 20 < sum(row["is_oov"] for row in ROWS) < N_CASES - 20


def test_the_table_has_the_contracts_columns():
    assert TABLE.schema == OOV_SCHEMA
    assert TABLE["file_name"].to_pylist() == CASES.file_names.to_pylist()
    assert TABLE["top_proposals"][0][0]["synset"].as_py() == TABLE["best_synset"][0].as_py()


@pytest.mark.parametrize(
    "chosen", [slice(7, 8), slice(0, 400, 3), slice(399, None, -1)], ids=["one", "some", "reversed"]
)
def test_a_row_depends_on_no_other_case(chosen):
    part = CASES.take(np.arange(N_CASES)[chosen])
    assert JUDGE.decide(part).to_pylist() == ROWS[chosen]


def test_no_case_gives_no_row():
    none = np.array([], dtype=np.int16)
    cases = OovCases(pa.array([], pa.string()), none, none, none.astype(int), CASES.vectors, CASES.neighbours)
    assert JUDGE.decide(cases).schema == OOV_SCHEMA


def test_a_name_of_a_class_and_of_another_synset_counts_as_the_class():
    unicycle = CLASSES.look_up("unicycle", where="test")
    owners = {synset for synset, name in PROPOSER.names(unicycle, 0) if name == "scooter"}
    assert owners == {"n03791053", "n04149374"}, "a class, and a child's toy"
    one = np.array([unicycle], dtype=np.int16)
    kin = np.full((1, 10), unicycle, dtype=np.int16)
    cases = OovCases(pa.array(["a"]), one, one * 0, np.zeros(1, int), vector("scooter")[None], kin)
    (row,) = JUDGE.decide(cases).to_pylist()
    assert (row["best_synset"], row["is_oov"]) == ("n03791053", False)
    assert [proposal["synset"] for proposal in row["top_proposals"][:2]] == ["n03791053", "n04149374"]


def test_an_image_of_the_published_best_name_is_decided_as_published(shared):
    with (shared / "published/published_cases.csv").open(newline="") as lines:
        rows = [row for row in csv.DictReader(lines) if row["error_type"] == "fine_grained_oov"]
    best = [json.loads(row["top_proposals"])[0][1] for row in rows]
    prediction = np.array([int(row["prediction"]) for row in rows], dtype=np.int16)
    cases = OovCases(
        pa.array([row["file_name"] for row in rows]),
        prediction,
        np.array([int(row["target"]) for row in rows], dtype=np.int16),
        np.arange(len(rows)),
        np.array([vector(name) for name in best]),
        np.repeat(prediction[:, None], 10, axis=1),
    )
    table = JUDGE.decide(cases)
    assert table["best_name"].to_pylist() == best
    assert all(table["is_oov"].to_pylist())


def test_a_pair_with_fewer_than_five_proposals_lists_those():
    """Such pairs are rare: the rest of the five places must stay empty, not repeat the first."""
    counts = PROPOSER.propose(np.repeat(np.arange(1000), 2), np.tile([0, 999], 1000)).counts.reshape(1000, 2)
    few, target = np.argwhere((counts > 0) & (counts < 5))[0]
    cases = OovCases(
        pa.array(["a"]),
        np.array([few], dtype=np.int16),
        np.array([[0, 999][target]], dtype=np.int16),
        np.array([0]),
        normalised(np.random.default_rng(0).standard_normal((1, DIM))),
        np.array([[1]], dtype=np.int16),
    )
    (row,) = JUDGE.decide(cases).to_pylist()
    assert len(row["top_proposals"]) == row["proposal_count"] == counts[few, target]
    assert len({proposal["name"] for proposal in row["top_proposals"]}) == len(row["top_proposals"])
    assert sum(proposal["score"] for proposal in row["top_proposals"]) == pytest.approx(1)


def test_beside_a_case_with_more_proposals_the_few_of_another_are_still_all():
    """Cases of one prediction are scored together: what only the other is offered may not fill the empty places."""
    prediction, targets = np.array([543, 543], dtype=np.int16), np.array([422, 0], dtype=np.int16)
    few, many = PROPOSER.propose(prediction, targets).counts
    assert few < 5 <= many
    together = OovCases(
        pa.array(["a", "b"]),
        prediction,
        targets,
        np.array([0, 0]),
        normalised(np.random.default_rng(0).standard_normal((1, DIM))),
        np.array([[1], [1]], dtype=np.int16),
    )
    row, _ = JUDGE.decide(together).to_pylist()
    assert len(row["top_proposals"]) == row["proposal_count"] == few
    assert sum(proposal["score"] for proposal in row["top_proposals"]) == pytest.approx(1)
