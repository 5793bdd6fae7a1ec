"""The published tables say what the paper says of them."""

import csv

import numpy as np
import pytest

from imagenet_errors.chain import ERROR_TYPES
from imagenet_errors.labels import GROUPS
from imagenet_errors.problems import InputError
from imagenet_errors.report.fits import two_piece
from imagenet_errors.report.published import (
    FACTS,
    points_of_run,
    published_folder,
    published_points,
    read_published,
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
    assert published_folder(None) is None
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
    severe = (verdicts.error_type == "model_failure").sum() / (verdicts.error_type != "correct").sum()
    assert points.portions("model_failure", among="top1")[place] == pytest.approx(100 * severe)
