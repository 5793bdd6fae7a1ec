"""The published tables say what the paper says of them, and what was not measured is compared with nothing."""

import csv

import numpy as np
import pytest

from imagenet_errors.chain import ERROR_TYPES
from imagenet_errors.datasets import load_dataset
from imagenet_errors.labels import GROUPS
from imagenet_errors.problems import InputError
from imagenet_errors.report.fits import two_piece
from imagenet_errors.report.looks import touched
from imagenet_errors.report.points import (
    BOUNDED,
    EXACT,
    FACTS,
    GROUPINGS,
    UNKNOWN,
    Points,
    categories,
    comparable,
    error_types,
    n_training_images,
    points_of_run,
    published_folder,
    published_points,
    read_published,
    readable,
    scale_of,
    unasked_by_all,
)
from imagenet_errors.runs.tables import load_run_tables

COUNTS = (
    *("num_group_correct", "num_collapsed_mappings", "num_ambiguous", "num_same_superclass", "num_OOV_clip"),
    *("num_non_prototypical", "num_common_co_occ", "num_not_classified"),
)


@pytest.fixture(scope="module")
def published(shared):
    return read_published(shared / "published")


def write_tables(folder, *, groups=GROUPS, **changes):
    """Write tables of two models; the second's counts are twice the first's."""
    columns = {"model_dir_id": ["a", "b"], "mla_group": [80, 90], "num_group_samples": [100, 200]}
    columns |= {name: ["x", "y"] for name in FACTS}
    columns |= {name: [place + 1, 2 * (place + 1)] for place, name in enumerate(COUNTS)} | changes
    for group in groups:
        with (folder / f"stats_imagenet_{group}.csv").open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([columns, *zip(*columns.values(), strict=True)])
    return folder


BINS = [(0, 80), (80, 90), (90, 95), (95, 101)]


@pytest.mark.parametrize(
    ("error_type", "means"),
    [
        pytest.param("model_failure", [57.2, 45.6, 36.1, 23.1], id="model failures"),
        pytest.param("fine_grained", [32.4, 39.8, 45.4, 55.7], id="fine-grained"),
    ],
)
def test_mean_portions_by_accuracy_are_the_published_ones(published, error_type, means):
    mla, portions = published.accuracy("multi_label"), published.portions(error_type, among="multi_label")
    found = [portions[(mla >= low) & (mla < high)].mean() for low, high in BINS]
    assert found == pytest.approx(means, abs=0.06)


def test_the_slopes_of_model_failures_are_the_published_ones(published):
    x, y = published.accuracy("multi_label"), published.portions("model_failure", among="multi_label")
    assert [fit.slope for fit in two_piece(x, y)] == pytest.approx([-1.03, -3.05], abs=0.006)


def test_all_962_models_are_there_with_portions_that_add_up(published):
    assert len(published) == 962
    for group in GROUPS:
        parts = [published.portions(name, among="top1", group=group) for name in ERROR_TYPES[1:]]
        assert np.sum(parts, axis=0) == pytest.approx(100)


def test_counts_and_accuracies_are_read_by_column(tmp_path):
    points = read_published(write_tables(tmp_path))
    assert points.counts[1, 0].tolist() == [2 * place for place in range(1, 9)]
    assert points.mla[:, 2].tolist() == [80, 90]
    assert points.top1[:, 0] == pytest.approx([1, 1])


def test_a_portion_without_errors_is_unknown(tmp_path):
    points = read_published(write_tables(tmp_path, **{name: [0, 1] for name in COUNTS[1:]}))
    assert np.isnan(points.portions("fine_grained", among="top1")).tolist() == [True, False]


@pytest.mark.parametrize(
    ("groups", "changes", "message"),
    [
        pytest.param(GROUPS[:2], {}, "no stats_imagenet_artifact.csv in it", id="table missing"),
        pytest.param(
            GROUPS, {"mla_group": ["?", "?"]}, "stats_imagenet_all.csv: not a CSV table", id="text for a number"
        ),
    ],
)
def test_tables_that_cannot_be_used_are_refused(tmp_path, groups, changes, message):
    with pytest.raises(InputError, match=message):
        read_published(write_tables(tmp_path, groups=groups, **changes))


def test_a_missing_column_is_named(tmp_path):
    write_tables(tmp_path)
    (tmp_path / "stats_imagenet_all.csv").write_text("model_dir_id\na\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"stats_imagenet_all\.csv: no column num_group_samples"):
        read_published(tmp_path)


def test_what_was_fetched_is_found_by_itself(tmp_path, monkeypatch):
    monkeypatch.setenv("IMAGENET_ERRORS_CACHE", str(tmp_path))
    monkeypatch.setenv("IMAGENET_ERRORS_OFFLINE", "1")
    monkeypatch.delenv("IMAGENET_ERRORS_MIRROR", raising=False)
    assert published_folder(None, load_dataset()) is None
    with pytest.raises(InputError, match=r"published: .* is not in the cache, and nothing is downloaded"):
        published_points(None)
    write_tables(tmp_path)
    monkeypatch.setattr("imagenet_errors.downloads.at_hand", lambda name: (tmp_path,) if name == "published" else ())
    assert published_points(None).models == ("a", "b")


def test_a_runs_models_are_points_too(made_run):
    points = points_of_run(load_run_tables(made_run.folder))
    verdicts = made_run.verdicts("good")
    place = points.models.index("good")
    assert points.top1[place, 0] == pytest.approx(100 * (verdicts.error_type == "correct").mean())
    n_errors = (verdicts.error_type != "correct").sum()
    fine = (verdicts.error_type == "fine_grained").sum() / n_errors
    assert points.portions("fine_grained", among="top1")[place] == pytest.approx(100 * fine)
    assert np.isnan(points.portions("model_failure", among="top1")[place])  # evidence is there for half of the cases
    assert points.bounds("model_failure", among="top1")[1][place] == pytest.approx(
        100 * (verdicts.error_type == "model_failure").sum() / n_errors
    )


def some(**states):
    """One model with ten errors of each type; ``states``: type -> how far its count is known."""
    counts = np.full((1, len(GROUPS), len(ERROR_TYPES)), 10, dtype=np.int64)
    state = np.array([[states.get(name, EXACT) for name in ERROR_TYPES]], dtype=np.int8)
    least, most = np.where(state[:, None] == BOUNDED, 6, counts), np.where(state[:, None] == BOUNDED, 14, counts)
    level = np.full((1, len(GROUPS)), 90.0)
    return Points(("m",), counts, least, most, state, level, level, {})


OPEN = ("fine_grained_oov", "non_prototypical", "spurious_correlation", "model_failure")


def test_a_share_that_hangs_on_missing_evidence_is_known_only_together():
    points = some(**dict.fromkeys(OPEN, UNKNOWN))
    for name in OPEN:
        assert np.isnan(points.portions(name, among="multi_label")).all()
        assert np.isnan(points.bounds(name, among="multi_label")).all()
    assert points.portions(OPEN, among="multi_label") == pytest.approx(80)
    assert points.portions("fine_grained", among="multi_label") == pytest.approx(20)
    assert np.isnan(points.portions(OPEN[:2], among="multi_label")).all()


def test_partial_evidence_gives_bounds_and_no_share():
    points = some(fine_grained_oov=BOUNDED, model_failure=BOUNDED)
    assert np.isnan(points.portions("model_failure", among="multi_label")).all()
    assert np.ravel(points.bounds("model_failure", among="multi_label")) == pytest.approx([12, 28])
    assert np.ravel(points.bounds("fine_grained", among="multi_label")) == pytest.approx([20, 20])


def test_where_errors_may_be_no_errors_shares_of_them_are_not_known():
    points = some(multi_object=UNKNOWN, model_failure=UNKNOWN)
    assert np.isnan(points.portions("fine_grained", among="multi_label")).all()
    assert points.portions("fine_grained", among="top1") == pytest.approx(100 / 7)


def test_what_is_compared_is_what_both_sides_measured():
    whole, lacking = some(), some(**dict.fromkeys(OPEN, UNKNOWN))
    assert comparable("model_failure", whole, whole) == ("model_failure",)
    assert comparable("model_failure", lacking, whole) == comparable("model_failure", whole, lacking) == OPEN


def test_a_stage_that_did_not_run_touches_all_that_come_later():
    order = ("class_overlap", "multi_object", "fine_grained", *OPEN[:3])
    assert touched(["non_prototypical"], order) == ["non_prototypical", "spurious_correlation", "model_failure"]
    assert touched([], order) == []


def test_weights_that_the_published_tables_hold_are_said_to_be_no_worse(shared, tmp_path, published):
    """Without OOV evidence, the same weights have the same share of all that this evidence could explain."""
    from imagenet_errors.evaluation import evaluate
    from toy import inputs_of

    annotations = shared / "annotations" / "human_accuracy_v3.0.0_labels_only.json"
    names = ("densenet169", "vgg16", "vgg19_bn", "resnet18")
    files = [shared / "predictions_many" / f"{name}.parquet" for name in names]
    evaluate(files, inputs_of(str(annotations)), tmp_path / "run")
    ours = points_of_run(load_run_tables(tmp_path / "run", models=names))
    types = comparable("model_failure", ours, published)
    theirs = published.portions(types, among="multi_label")
    places = [published.models.index(f"torchvision--{name}") for name in names]
    assert np.isnan(ours.portions("model_failure", among="multi_label")).all()
    assert ours.portions(types, among="multi_label") == pytest.approx(theirs[places], abs=0.6)


def test_multi_label_errors_are_those_of_types_that_are_wrong_by_every_label():
    assert set(error_types("top1")) - set(error_types("multi_label")) == {"class_overlap", "multi_object"}


DATA = ("ImageNet-1k (1.2M)", "LAION-2B (2.3B)", "ImageNet-1k (1.2M)", "ImageNet-21k (14M)")


def four(**facts):
    nothing = np.zeros((4, 4))
    whole = dict.fromkeys(FACTS, ("",) * 4) | facts
    counts = np.zeros((4, 4, len(ERROR_TYPES)), dtype=np.int64)
    return Points.measured(tuple("abcd"), counts, mla=nothing, top1=nothing, facts=whole)


@pytest.mark.parametrize("grouping", GROUPINGS)
def test_every_model_is_of_one_kind(grouping):
    facts = {"training_data": DATA, "arch_family": ("cnn", "mlp", "cnn", ""), "extra_annotations": ("[]",) * 4}
    kinds = categories(four(**facts), grouping)
    assert np.sum([kind.holds for kind in kinds], axis=0).tolist() == [1, 1, 1, 1]


def test_more_training_data_comes_later_and_looks_otherwise():
    kinds = categories(four(training_data=DATA), "data")
    assert [kind.name for kind in kinds] == ["ImageNet-1k (1.2M)", "ImageNet-21k (14M)", "LAION-2B (2.3B)"]
    assert len({(kind.marker, kind.colour) for kind in kinds}) == 3


def test_published_models_are_told_apart_by_data_in_at_most_six_colours(published):
    kinds = categories(published, "data")
    assert len({kind.colour for kind in kinds}) == len(kinds) <= 6
    assert np.sum([kind.holds for kind in kinds], axis=0).tolist() == [1] * len(published)


def test_a_kind_that_is_not_known_is_called_so():
    kinds = categories(four(arch_family=("cnn", "", "cnn", "cnn")), "family")
    assert [kind.name for kind in kinds] == ["cnn", "unknown"]


def test_models_of_which_nothing_is_known_are_one_kind():
    (kind,) = categories(four(), "group")
    assert kind.holds.all()


@pytest.mark.parametrize(
    ("written", "n_images"),
    [("Instagram (940M)", 940e6), ("Instagram (3.6B)", 3.6e9), ("ImageNet-1k", None), ("LAION-2B", None)],
)
def test_the_number_of_training_images_is_read_from_the_name(written, n_images):
    assert n_training_images(written) == (None if n_images is None else pytest.approx(n_images))


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("['Self-Supervised Learning', 'CLIP Training']", "Self-Supervised Learning, CLIP Training"),
        ("[]", "supervised"),
        ("cnn", "cnn"),
        ("", ""),
    ],
)
def test_lists_are_made_readable(written, text):
    assert readable(written) == text


class TestImageNetA:
    def test_its_published_tables_are_found_beside_imagenets(self, shared):
        points = read_published(shared / "published", load_dataset("imagenet-a"))
        assert (len(points), points.n_images) == (962, 7_500)
        assert read_published(shared / "published").n_images == 18_692

    def test_tables_that_name_no_data_set_are_those_asked_for(self, tmp_path):
        for path in write_tables(tmp_path).glob("stats_imagenet_*.csv"):
            path.rename(tmp_path / path.name.replace("stats_imagenet", "non_problematic_stats"))
        assert read_published(tmp_path, load_dataset("imagenet-a")).models == ("a", "b")

    def test_imagenets_tables_are_not_taken_for_its_own(self, tmp_path):
        with pytest.raises(InputError, match=r"no stats_imagenet-a_all\.csv"):
            read_published(write_tables(tmp_path), load_dataset("imagenet-a"))

    @pytest.fixture
    def run(self, program, tmp_path):
        first, second = load_dataset("imagenet-a").labels.occurring[:2]
        wnids = load_dataset("imagenet-a").labels.wnids
        rows = [f"{wnids[label]}/{n}.jpg,{second}" for label in (first, second) for n in range(20)]
        (tmp_path / "net.csv").write_text("\n".join(["file_name,prediction", *rows]) + "\n")
        assert (
            program("evaluate", tmp_path / "net.csv", "--dataset", "imagenet-a", "--out", tmp_path / "run").status == 0
        )
        return tmp_path / "run"

    def test_stages_that_neither_side_asked_leave_the_shares_comparable(self, run, shared):
        data_set, tables = load_dataset("imagenet-a"), load_run_tables(run)
        published = read_published(shared / "published", data_set)
        unasked = unasked_by_all(tables, data_set, published)
        assert set(unasked) == {"multi_object", "non_prototypical"}
        assert "fine_grained" in points_of_run(tables).open_types
        assert "fine_grained" not in points_of_run(tables, unasked).open_types
        assert unasked_by_all(tables, data_set, None) == ()

    def test_its_models_lie_inside_the_scale(self, run, shared):
        data_set = load_dataset("imagenet-a")
        published = read_published(shared / "published", data_set)
        ours = points_of_run(load_run_tables(run))
        scale = scale_of(("model_failure",), among="multi_label", ours=ours, published=published)
        assert (scale.x, scale.most) == ((0.0, 100.0), 100.0)
        val = read_published(shared / "published")
        assert scale_of(("model_failure",), among="multi_label", ours=val, published=val).x == (50.0, 100.0)

    def test_page_and_figures_show_the_published_models_behind_it(self, program, run, shared):
        statistics = ("--published-statistics", shared / "published")
        assert program("report", run, *statistics).status == 0
        page = (run / "report.html").read_text()
        assert "962 published models" in page
        assert "Neither the published models nor this one were asked about" in page
        answer = program("figures", run, *statistics, "--out", run / "figures", "--format", "svg")
        assert answer.status == 0, answer.err
