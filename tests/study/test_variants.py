"""Each design choice is varied alone, and a choice that cannot be varied says why."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import toy
from imagenet_errors.chain import DEFAULT_ORDER, PUBLISHED_ORDER, build_chain
from imagenet_errors.inputs import Basis
from imagenet_errors.labels import imagenet_1k
from imagenet_errors.study.variants import BASE, variants, with_support, wordnet_cut
from imagenet_errors.wordnet import load_wordnet
from toy import BEAGLE, MUG, SOFA, TABBY, TIGER_CAT, inputs_of

LABELS = imagenet_1k()


def supported(*supports):
    """Out-of-vocabulary evidence that says how many neighbours are kin."""
    oov = toy.oov(*((row, MUG, True, "jug") for row in range(len(supports))))
    place = oov.table.schema.get_field_index("neighbour_support")
    column = pa.array(supports, type=pa.int16())
    return replace(oov, table=oov.table.set_column(place, "neighbour_support", column))


def made(annotations=None, inputs=None, *, label_sets=(), pools=(), **parts):
    inputs, evidence = inputs or inputs_of(), toy.whole_evidence(**parts)
    annotations = annotations or toy.annotations((TABBY, {TABBY}))
    basis = Basis(inputs, toy_labels(), annotations, evidence, build_chain(evidence, inputs.stage_order))
    return variants(basis, label_sets=dict(label_sets), pools=dict(pools))


def toy_labels():
    """Five real classes, so that WordNet knows them: two cats, a dog, a sofa and a mug."""
    indices = (281, 282, 162, 831, 504)
    return replace(toy.LABELS, wnids=tuple(LABELS.wnids[index] for index in indices))


def test_the_first_variant_is_the_method_as_it_is():
    (base, *others), _ = made()
    assert (base.choice, base.basis.inputs.stage_order) == (BASE, DEFAULT_ORDER)
    assert all(other.choice != BASE for other in others)


def test_each_variant_differs_from_the_base_in_its_own_choice_alone():
    (base, *others), _ = made(oov=supported(3))
    own = {
        "stage order": {"order"},
        "superclasses": {"superclasses", "co_occurrence"},
        "neighbour support": {"oov"},
        "co-occurrence": {"co_occurrence"},
        "non-prototypical images": {"non_prototypical"},
    }
    for other in others:
        here, there = (each.basis.evidence.parts for each in (other, base))
        changed = {name for name in there if here.get(name) is not there[name]}
        changed |= {"order"} if other.basis.inputs.stage_order != base.basis.inputs.stage_order else set()
        assert changed <= own[other.choice], other.name


@pytest.mark.parametrize(
    ("given", "names"),
    [
        pytest.param(DEFAULT_ORDER, ["the published program's", "errors reversed", "all reversed"], id="ours"),
        pytest.param(PUBLISHED_ORDER, ["the paper's", "errors reversed", "all reversed"], id="published"),
    ],
)
def test_stage_orders_are_those_that_differ_from_the_given_one(given, names):
    found, _ = made(inputs=inputs_of(stage_order=given))
    assert [variant.name for variant in found if variant.choice == "stage order"] == names


def test_reversing_the_errors_leaves_right_answers_first():
    found, _ = made()
    (order,) = [variant.basis.inputs.stage_order for variant in found if variant.name == "errors reversed"]
    assert order[:3] == ("class_overlap", "multi_object", "spurious_correlation")
    assert order[-1] == "fine_grained"


def test_a_higher_bar_for_neighbours_leaves_only_well_supported_cases():
    assert with_support(supported(1, 4, 10), 4).is_oov.tolist() == [False, True, True]


def test_cases_that_do_not_say_their_support_keep_their_decision():
    assert with_support(supported(None, 2), 10).is_oov.tolist() == [True, False]


def test_support_is_varied_from_1_to_10():
    found, _ = made(oov=supported(3))
    names = [variant.name for variant in found if variant.choice == "neighbour support"]
    assert names == [f"{n_least} of 10" for n_least in range(1, 11)]


@pytest.mark.parametrize(
    ("parts", "choice", "reason"),
    [
        pytest.param({"oov": None}, "neighbour support", "no out-of-vocabulary evidence", id="no evidence"),
        pytest.param({}, "neighbour support", "does not say how many neighbours", id="decisions alone"),
        pytest.param(
            {"co_occurrence": toy.co_occurrence((SOFA, TABBY), n_images=0)},
            "co-occurrence",
            "without the number of images",
            id="pairs alone",
        ),
        pytest.param({"non_prototypical": None}, "non-prototypical images", "no list", id="no list"),
        pytest.param({"co_occurrence": None}, "co-occurrence", "no pairs", id="no pairs"),
        pytest.param({}, "accepted labels", "no other label set", id="no labels"),
        pytest.param({}, "out-of-vocabulary evidence", "no second table", id="one table"),
    ],
)
def test_a_choice_that_cannot_be_varied_says_why(parts, choice, reason, tmp_path):
    pairs = tmp_path / "pairs.csv"
    pairs.write_text("a,b\n0,3\n")
    _, not_varied = made(inputs=inputs_of(co_occurrence=pairs), **parts)
    assert reason in {one.choice: one.reason for one in not_varied}[choice]


def test_co_occurrence_thresholds_count_images_and_never_join_kin():
    pairs = toy.co_occurrence((SOFA, TABBY), (TABBY, TIGER_CAT), n_images=3)
    found, _ = made(co_occurrence=pairs)
    tables = {v.name: v.basis.evidence["co_occurrence"].pairs for v in found if v.choice == "co-occurrence"}
    assert [tables[name][SOFA, TABBY] for name in ("in 3 images", "in 5 images")] == [True, False]
    assert not tables["in 1 image"][TABBY, TIGER_CAT]


def test_a_wider_superclass_takes_its_pairs_from_the_co_occurrences():
    pairs = toy.co_occurrence((TABBY, BEAGLE), n_images=3)
    found, _ = made(co_occurrence=pairs)
    wide, narrow = (next(v.basis.evidence for v in found if v.name == f"WordNet at depth {depth}") for depth in (6, 14))
    assert wide["superclasses"].shares[TABBY, BEAGLE]
    assert not wide["co_occurrence"].pairs[TABBY, BEAGLE]
    assert narrow["co_occurrence"].pairs[TABBY, BEAGLE]


@pytest.mark.parametrize(("upper", "lower"), [(0, 1), (6, 8), (8, 10), (12, 14)])
def test_a_deeper_cut_of_wordnet_is_a_finer_relation(upper, lower):
    wide, narrow = wordnet_cut(upper, LABELS).shares, wordnet_cut(lower, LABELS).shares
    assert (wide | ~narrow).all()
    assert wide.sum() >= narrow.sum()


def test_cut_at_the_root_all_classes_are_alike():
    assert wordnet_cut(0, LABELS).shares.all()


@pytest.mark.parametrize("depth", [6, 10, 13])
def test_a_cut_agrees_with_the_hypernym_paths_of_single_pairs(depth):
    wordnet, random = load_wordnet(), np.random.default_rng(depth)
    shares = wordnet_cut(depth, LABELS).shares
    rows = wordnet.rows(LABELS.wnids)
    for a, b in random.integers(0, 1000, (200, 2)).tolist():
        at_depth = [{p[depth] for p in wordnet.hypernym_paths(rows[i]) if len(p) > depth} for i in (a, b)]
        assert shares[a, b] == (a == b or bool(at_depth[0] & at_depth[1]))


def test_another_label_set_is_tried_on_the_same_images_with_the_same_evidence():
    other = replace(toy.annotations((TABBY, {TABBY, MUG})), name="other")
    (base, *others), _ = made(label_sets={"other": other})
    (found,) = [variant for variant in others if variant.choice == "accepted labels"]
    assert found.name == "other, same images"
    assert found.basis.annotations.accepted[0].tolist() == [TABBY, MUG]
    assert found.basis.evidence is base.basis.evidence


def test_labels_of_other_images_are_no_variant():
    other = replace(toy.annotations((TABBY, {TABBY})), file_names=pa.array(["elsewhere"]))
    _, not_varied = made(label_sets={"other": other})
    assert "other has labels of no annotated image" in [one.reason for one in not_varied]


def test_other_evidence_takes_the_place_of_the_first():
    pool = toy.oov((0, MUG, True, "jug"))
    found, _ = made(oov=toy.oov((0, MUG, False, None)), pools={"val": pool})
    (variant,) = [each for each in found if each.choice == "out-of-vocabulary evidence"]
    assert variant.name == "val"
    assert variant.basis.evidence["oov"] is pool
