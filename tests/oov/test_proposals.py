"""Label proposals: the synsets around a prediction, less those that name what the image is known to show."""

import csv
import json
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from imagenet_errors.labels import LabelSpace, imagenet_1k
from imagenet_errors.oov.proposals import Proposer
from imagenet_errors.problems import InputError
from imagenet_errors.tables import Ragged
from imagenet_errors.wordnet import Wordnet, load_wordnet

WORDNET = load_wordnet()
CLASSES = WORDNET.rows(imagenet_1k().wnids)
IN_THREES = np.arange(1000)[:, None] // 3 == np.arange(1000) // 3
IMAGENET = Proposer(imagenet_1k(), WORDNET, IN_THREES)
CLASS = st.integers(0, 999)
SCRIPTS = Path(__file__).parents[2] / "scripts"
PUBLISHED = Path(__file__).parents[3] / "shared/data/published"
META_LABELS = {
    "device",
    "dog",
    "commodity",
    "bird",
    "structure",
    "covering",
    "wheeled_vehicle",
    "food",
    "equipment",
    "insect",
    "vehicle",
    "furniture",
    "primate",
    "vessel",
    "snake",
    "natural_object",
    "organism",
    "geological_formation",
    "clothing",
    "container",
}

# name, lemmas, hypernyms; the row is the offset
NOUNS = [
    ("entity.n.01", ["entity"], []),
    ("artifact.n.01", ["artifact"], [0]),
    ("device.n.01", ["device"], [1]),
    ("fastener.n.01", ["fastener", "Holding_Device"], [2]),
    ("padlock.n.01", ["padlock"], [3]),
    ("latch.n.01", ["latch", "catch"], [3]),
    ("hasp.n.01", ["hasp"], [3]),
    ("chain.n.01", ["chain"], [3]),
    ("bicycle_chain.n.01", ["bicycle_chain"], [7]),
    ("safe.n.01", ["safe", "catch"], [1]),
    ("vault.n.01", ["vault"], [1]),
]
PADLOCK, HASP, BICYCLE_CHAIN, SAFE, CHAIN = range(5)
TOY_WNIDS = ("n00000004", "n00000006", "n00000008", "n00000009", "n00000007")
TOY_NAMES = ("padlock", "hasp", "bicycle chain", "safe", "chain")
TOY_LABELS = LabelSpace(wnids=TOY_WNIDS, names=TOY_NAMES, descriptions=TOY_NAMES, groups=("",) * 5)


def links(rows):
    values = np.array([value for row in rows for value in row], dtype=np.int32)
    return Ragged(np.cumsum([0, *map(len, rows)]), values)


@pytest.fixture(scope="module")
def toy_wordnet(tmp_path_factory):
    path = tmp_path_factory.mktemp("wordnet") / "nouns.parquet"
    pq.write_table(pa.table({"name": [noun[0] for noun in NOUNS], "lemmas": [noun[1] for noun in NOUNS]}), path)
    above = [noun[2] for noun in NOUNS]
    below = [[row for row in range(len(NOUNS)) if own in above[row]] for own in range(len(NOUNS))]
    return Wordnet(np.arange(len(NOUNS), dtype=np.int32), links(above), links(below), path)


@pytest.fixture
def toy(toy_wordnet):
    def proposer(*sharing):
        shares = np.eye(5, dtype=np.bool_)
        for one, other in sharing:
            shares[one, other] = shares[other, one] = True
        return Proposer(TOY_LABELS, toy_wordnet, shares)

    return proposer


@pytest.mark.parametrize(
    ("sharing", "prediction", "target", "proposed"),
    [
        pytest.param([], PADLOCK, SAFE, "padlock latch hasp chain device fastener", id="siblings, and above"),
        pytest.param([], PADLOCK, HASP, "padlock latch chain", id="not the target, nor what is above it"),
        pytest.param([], PADLOCK, BICYCLE_CHAIN, "padlock latch hasp", id="nor a sibling above the target"),
        pytest.param([], SAFE, PADLOCK, "safe vault", id="no ancestor without a meta label on the way"),
        pytest.param([], CHAIN, BICYCLE_CHAIN, "chain padlock latch hasp", id="the prediction, above or not"),
        pytest.param([(SAFE, HASP)], SAFE, PADLOCK, "safe hasp vault", id="classes that share a superclass"),
        pytest.param([(SAFE, HASP)], SAFE, HASP, "safe hasp vault", id="even the target, if it shares one"),
        pytest.param(
            [(PADLOCK, CHAIN)],
            PADLOCK,
            BICYCLE_CHAIN,
            "padlock chain latch hasp",
            id="even one above the target",
        ),
    ],
)
def test_proposed_are_the_prediction_its_kin_its_siblings_and_its_ancestors(
    toy, toy_wordnet, sharing, prediction, target, proposed
):
    rows = toy(*sharing).synsets(prediction, target).tolist()
    assert [toy_wordnet.name(row).partition(".")[0] for row in rows] == proposed.split()


def test_every_lemma_is_a_name_in_lower_case_with_spaces(toy):
    assert toy().names(PADLOCK, SAFE)[-2:] == [("n00000003", "fastener"), ("n00000003", "holding device")]


def test_a_name_of_two_synsets_is_proposed_for_each(toy):
    names = toy((PADLOCK, SAFE)).names(PADLOCK, HASP)
    assert [synset for synset, name in names if name == "catch"] == ["n00000009", "n00000005"]


def test_each_name_is_in_the_vocabulary_once(toy):
    names = toy().vocabulary.to_pylist()
    assert sorted(names) == sorted({*names})
    assert {"catch", "holding device", "bicycle chain"} <= {*names}


def test_many_pairs_have_the_proposals_of_each():
    pairs = np.random.default_rng(0).integers(0, 1000, (2, 200))
    rows = IMAGENET.proposal_table(*pairs).to_pylist()
    assert [tuple(row.values()) for row in rows] == [
        (prediction, target, *name)
        for prediction, target in pairs.T.tolist()
        for name in IMAGENET.names(prediction, target)
    ]


def test_arrays_for_an_encoder_hold_what_the_table_says():
    pairs = np.random.default_rng(1).integers(0, 1000, (2, 50))
    proposals, table = IMAGENET.propose(*pairs), IMAGENET.proposal_table(*pairs)
    assert proposals.counts.tolist() == [len(IMAGENET.names(*pair)) for pair in pairs.T.tolist()]
    assert [WORDNET.wnid(row) for row in proposals.synsets] == table["synset"].to_pylist()
    assert proposals.vocabulary.take(pa.array(proposals.names)).to_pylist() == table["name"].to_pylist()


def test_no_pair_has_no_proposals():
    assert IMAGENET.proposal_table([], []).num_rows == 0


@given(CLASS, CLASS)
@settings(deadline=None)
def test_a_synset_is_proposed_once_and_the_prediction_first(prediction, target):
    rows = IMAGENET.synsets(prediction, target).tolist()
    assert rows[0] == CLASSES[prediction]
    assert len(rows) == len({*rows})


@given(CLASS, CLASS)
@settings(deadline=None)
def test_the_target_and_what_is_above_it_are_proposed_only_as_kin(prediction, target):
    proposed = set(IMAGENET.synsets(prediction, target).tolist())
    kin = set(CLASSES[IN_THREES[prediction]].tolist())
    assert not proposed & set(WORDNET.ancestors(CLASSES[target]).tolist()) - kin


@pytest.mark.parametrize(
    ("predictions", "targets", "says"),
    [
        pytest.param([0, 1000], [0, 0], r"1 index outside 0\.\.999 \(first: 1000\)", id="past the last class"),
        pytest.param([0, 0], [-1, -2], r"2 indices outside 0\.\.999 \(first: -1\)", id="negative"),
        pytest.param([0, 1], [0], "2 predictions for 1 target", id="not as many of both"),
    ],
)
def test_what_are_no_pairs_of_classes_is_refused(predictions, targets, says):
    with pytest.raises(InputError, match=says):
        IMAGENET.propose(predictions, targets)


@pytest.fixture(scope="module")
def nltk_synset():
    folder = os.environ.get("IMAGENET_ERRORS_WORDNET_DIR")
    if not folder:
        pytest.skip("IMAGENET_ERRORS_WORDNET_DIR names no folder with WordNet 3.0's database files")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(SCRIPTS)
        from build_wordnet import nltk_wordnet
    with nltk_wordnet(Path(folder), list(imagenet_1k().wnids)) as reader:
        yield lambda label: reader.synset_from_pos_and_offset("n", int(imagenet_1k().wnids[label][1:]))


def proposed_by_hand(prediction, target, nltk_synset):
    """The definition once more, on nltk's synsets and path by path."""
    own = nltk_synset(prediction)
    kin = {nltk_synset(label) for label in np.flatnonzero(IN_THREES[prediction]).tolist()}
    around = {child for above in own.hypernyms() for child in above.hyponyms()}
    for path in own.hypernym_paths():
        metas = [depth for depth, node in enumerate(path) if node.name().split(".")[0] in META_LABELS]
        around |= set(path[metas[0] :]) if metas else set()
    known = {node for path in nltk_synset(target).hypernym_paths() for node in path}
    return {own} | kin | (around - known)


def test_proposals_are_those_of_a_second_implementation_on_nltk(nltk_synset):
    for prediction, target in np.random.default_rng(2).integers(0, 1000, (400, 2)).tolist():
        by_hand = proposed_by_hand(prediction, target, nltk_synset)
        names = IMAGENET.names(prediction, target)
        assert sorted(names) == sorted(
            (f"n{synset.offset():08d}", lemma.replace("_", " ").lower())
            for synset in by_hand
            for lemma in synset.lemma_names()
        )


@pytest.fixture(scope="module")
def published_cases():
    """The published OOV cases: (prediction, target), number of proposals, the best ones' (wnid, name)."""
    if not PUBLISHED.is_dir():
        pytest.skip(f"the published cases are not at {PUBLISHED}")
    with (PUBLISHED / "published_cases.csv").open(newline="") as lines:
        rows = [row for row in csv.DictReader(lines) if row["error_type"] == "fine_grained_oov"]
    best = [{(f"n{synset:08d}", name) for synset, name, _ in json.loads(row["top_proposals"])} for row in rows]
    pairs = np.array([(int(row["prediction"]), int(row["target"])) for row in rows]).T
    return pairs, np.array([int(float(row["proposal_count"])) for row in rows]), best


@pytest.fixture(scope="module")
def published_kin():
    """bool [1000, 1000]: True where the published outputs show that two classes share a superclass."""
    shares = np.eye(1000, dtype=np.bool_)
    with (PUBLISHED / "superclass_pairs.csv").open(newline="") as lines:
        pairs = [(int(a), int(b)) for a, b, shared in list(csv.reader(lines))[1:] if shared == "True"]
    for a, b in pairs:
        shares[a, b] = shares[b, a] = True
    return shares


def test_published_proposals_that_are_no_class_are_all_proposed(published_cases):
    pairs, _, best = published_cases
    alone = Proposer(imagenet_1k(), WORDNET, np.eye(1000, dtype=np.bool_))
    for pair, names in zip(pairs.T.tolist(), best, strict=True):
        lacking = names - {*alone.names(*pair)}
        assert {synset for synset, _ in lacking} <= {*imagenet_1k().wnids}


def test_published_counts_are_never_exceeded_and_met_where_all_kin_are_known(published_cases, published_kin):
    pairs, counts, _ = published_cases
    ours = Proposer(imagenet_1k(), WORDNET, published_kin).propose(*pairs).counts
    assert np.all(ours <= counts)
    assert np.count_nonzero(ours == counts) >= 69
