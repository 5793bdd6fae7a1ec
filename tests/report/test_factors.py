"""Error types by image factors: rates by pandas, and the real factors give the published picture."""

import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from imagenet_errors.chain import ERROR_TYPES
from imagenet_errors.problems import InputError
from imagenet_errors.report.factors import factor_figure, factor_rates, factors_csv, read_factors
from imagenet_errors.runs.tables import load_run_tables

NAMES = ("smaller", "pose", "style")


@pytest.fixture(scope="module")
def run(made_run):
    return load_run_tables(made_run.folder, models=("good", "part"))


@pytest.fixture(scope="module")
def table(run):
    random = np.random.default_rng(2)
    names = run.file_names.to_pylist()[:280]
    flags = {
        name: (random.random(len(names)) < share).astype(int)
        for name, share in zip(NAMES, (0.4, 0.6, 0.02), strict=True)
    }
    return pd.DataFrame({"file_name": names, "class": run.label[:280], **flags, "justification": "odd"})


@pytest.fixture(scope="module")
def file(table, tmp_path_factory):
    path = tmp_path_factory.mktemp("factors") / "factors.jsonl"
    table.to_json(path, orient="records", lines=True)
    return path


def test_columns_of_flags_are_the_factors(file, table, run):
    factors = read_factors(file, run.file_names)
    assert factors.names == NAMES
    assert factors.annotated.sum() == 280
    assert factors.holds.sum(axis=1).tolist() == [table[name].sum() for name in NAMES]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_other_tables_laid_out_alike_are_read_too(table, run, file, tmp_path, ending):
    path = tmp_path / f"factors.{ending}"
    getattr(table, f"to_{ending}")(path, index=False)
    assert (read_factors(path, run.file_names).holds == read_factors(file, run.file_names).holds).all()


def test_ratios_are_rates_over_the_rate_of_all_annotated_images(file, table, run, made_run):
    rates = factor_rates(run, 0, read_factors(file, run.file_names))
    joined = made_run.verdicts("good").merge(table, on="file_name")
    assert set(rates.names) == {"smaller", "pose"}  # of style there are too few images
    for row, name in enumerate(rates.names):
        for place, error_type in enumerate(ERROR_TYPES):
            has = joined.error_type == error_type
            if not has[joined[name] == 1].any():
                assert np.isnan(rates.ratio[row, place])
                continue
            expected = has[joined[name] == 1].mean() / has.mean()
            assert rates.ratio[row, place] == pytest.approx(expected)
            assert rates.low[row, place] <= expected <= rates.high[row, place]


def test_the_interval_holds_the_truth_as_often_as_it_says(run):
    """Factors that have nothing to do with the errors: about 95 of 100 intervals hold a ratio of 1."""
    from imagenet_errors.report.factors import Factors

    random = np.random.default_rng(0)
    n_images = len(run.file_names)
    holds = random.random((300, n_images)) < 0.5
    rates = factor_rates(run, 0, Factors(tuple(map(str, range(300))), holds, np.ones(n_images, dtype=bool)))
    place = ERROR_TYPES.index("fine_grained")
    inside = (rates.low[:, place] <= 1) & (rates.high[:, place] >= 1)
    assert 0.91 <= inside.mean() <= 0.985


def test_the_table_and_the_figure_hold_every_factor(file, run):
    rates = factor_rates(run, 0, read_factors(file, run.file_names))
    lines = factors_csv([rates]).splitlines()
    assert lines[0] == "model,factor,error_type,n_images,n_errors,ratio,low,high"
    assert len(lines) == 1 + len(rates.names) * len(ERROR_TYPES)
    labels = [label.get_text() for label in factor_figure(rates).axes[0].get_yticklabels()]
    assert [label.split(" (")[0] for label in labels] == list(rates.names)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param({"name": "a", "pose": 1}, "no column file_name", id="no names"),
        pytest.param({"file_name": "a", "class": 7}, "no column of zeros and ones", id="no flags"),
        pytest.param({"file_name": "elsewhere.JPEG", "pose": 1}, "about none of the run", id="other images"),
    ],
)
def test_tables_of_another_kind_are_refused(run, tmp_path, content, message):
    (tmp_path / "x.jsonl").write_text(json.dumps(content) + "\n", encoding="utf-8")
    with pytest.raises(InputError, match=message):
        read_factors(tmp_path / "x.jsonl", run.file_names)


def test_the_command_draws_and_writes_them(program, made_run, file, tmp_path):
    answer = program("figures", made_run.folder, "--factors", file, "--format", "svg", "--out", tmp_path)
    assert answer.status == 0, answer.err
    assert {path.stem for path in (tmp_path / "factors").glob("*.svg")} == {"good", "fair", "part"}
    assert (tmp_path / "factors.csv").is_file()


def test_real_factors_give_the_known_picture(shared, tmp_path):
    """ResNet-50, ReaL labels, the original label trusted; ImageNet-X's top factors where its package is at hand."""
    from imagenet_errors.evaluation import evaluate
    from toy import inputs_of

    path = Path(os.environ.get("IMAGENET_X_FACTORS", ""))
    if not path.is_file():
        pytest.skip("IMAGENET_X_FACTORS names no imagenet_x_val_top_factor.jsonl (package imagenet-x)")
    inputs = replace(inputs_of("real"), rejected_labels="trust")
    evaluate([shared / "predictions" / "ResNet50.csv"], inputs, tmp_path / "run")
    run = load_run_tables(tmp_path / "run")
    rates = factor_rates(run, 0, read_factors(path, run.file_names))

    def ratio(factor, error_type):
        return rates.ratio[rates.names.index(factor), ERROR_TYPES.index(error_type)]

    assert ratio("smaller", "spurious_correlation") == pytest.approx(2.2, abs=0.06)
    assert ratio("smaller", "model_failure") == pytest.approx(2.1, abs=0.06)
    assert ratio("texture", "spurious_correlation") == pytest.approx(3.2, abs=0.06)
    assert ratio("texture", "model_failure") == pytest.approx(2.9, abs=0.06)
    assert ratio("subcategory", "class_overlap") == pytest.approx(3.2, abs=0.06)
    pose = rates.ratio[rates.names.index("pose"), 1:]
    assert np.nanmax(pose) < 0.8
