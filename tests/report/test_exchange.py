"""A run's models for other programs: JSON, and a model card's metrics as the Hub reads them."""

import json

import pytest

from imagenet_errors.report.exchange import exchange_writers, to_json, to_model_card
from imagenet_errors.report.leaderboard import read_leaderboard


def card_of(text):
    yaml = pytest.importorskip("yaml", reason="needs PyYAML, which is not installed")
    return yaml.safe_load(text)["model-index"]


def test_json_is_one_versioned_object_with_every_column(demo_run):
    table = read_leaderboard(demo_run.folder)
    content = json.loads(to_json(table))
    assert content["layout"] == 1
    assert content["models"] == table.to_pylist()


def test_the_command_prints_json_with_null_where_a_stage_did_not_run(program, demo_run):
    answer = program("summary", demo_run.folder, "--format", "json", "--columns", "all")
    rows = json.loads(answer.out)["models"]
    assert [row["fine_grained_oov"] for row in rows] == [None] * 3


def test_a_model_card_has_each_models_metrics(program, demo_run):
    entries = card_of(program("summary", demo_run.folder, "--format", "model-card").out)
    rows = {row["model"]: row for row in read_leaderboard(demo_run.folder).to_pylist()}
    assert {entry["name"] for entry in entries} == set(rows)
    for entry in entries:
        (result,) = entry["results"]
        metrics = {metric["type"]: metric["value"] for metric in result["metrics"]}
        assert metrics["multi_label_accuracy"] == rows[entry["name"]]["mla"]
        assert metrics["model_failure"] == rows[entry["name"]]["model_failure"]
        assert (
            result["dataset"]["name"] == f"ImageNet-1k, {rows[entry['name']]['n_evaluated']:,} images with real labels"
        )


def test_the_hub_understands_the_card(demo_run):
    cards = pytest.importorskip("huggingface_hub.repocard_data", reason="needs huggingface_hub, which is not installed")
    write = exchange_writers(demo_run.folder)["model-card"]
    index = card_of(write(read_leaderboard(demo_run.folder).slice(0, 1)))
    name, results = cards.model_index_to_eval_results(index)
    assert name == "efficientnet_lite0"
    assert {result.task_type for result in results} == {"image-classification"}
    assert {"accuracy", "multi_label_accuracy", "model_failure"} <= {result.metric_type for result in results}


def test_a_name_of_any_signs_stays_one_text(hostile_run):
    from report_world import HOSTILE_MODEL

    table = read_leaderboard(hostile_run.folder)
    (entry,) = card_of(to_model_card(table, judged_on={HOSTILE_MODEL: "four images"}))
    assert entry["name"] == HOSTILE_MODEL
