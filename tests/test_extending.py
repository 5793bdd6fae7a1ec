"""The page on extending, followed to the letter on a copy of the package: a newcomer's stages are right everywhere."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from imagenet_errors.labels import GROUPS

TOP = Path(__file__).parents[1]
BLOCK = re.compile(r"^```python title=\"(?P<title>[^\"]+)\"\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)


def follow(page, copy):
    """Write the files and add the lines that the page shows."""
    for block in BLOCK.finditer(page):
        place, _, where = block["title"].partition(": ")
        path, code = copy / place, block["code"]
        if not where:
            assert not path.exists()
            path.write_text(code, encoding="utf-8")
            continue
        text = path.read_text(encoding="utf-8")
        if where == "imports":
            start = text.index("\nfrom imagenet_errors.") + 1
            path.write_text(text[:start] + code + text[start:], encoding="utf-8")
            continue
        table, _, successor = where.partition(", before ")
        start = text.index(f"    {successor},\n", text.index(f"{table}: tuple["))
        path.write_text(text[:start] + code + text[start:], encoding="utf-8")


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """Run the program of a copy that a newcomer extended by the page."""
    copy = tmp_path_factory.mktemp("copy")
    for part in ("src", "data", "superclasses"):
        shutil.copytree(TOP / part, copy / part, ignore=shutil.ignore_patterns("__pycache__"))
    follow((TOP / "docs" / "extending.md").read_text(encoding="utf-8"), copy)

    def run(*arguments):
        command = [sys.executable, "-m", "imagenet_errors", *map(str, arguments)]
        environment = {**os.environ, "PYTHONPATH": str(copy / "src")}
        ended = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
        assert ended.returncode == 0, ended.stderr
        return ended.stdout

    return run


@pytest.fixture(scope="module")
def world(program, val_images, tmp_path_factory):
    """A model's run with the list given, and the list itself: every third image dark, every tenth not listed."""
    folder = tmp_path_factory.mktemp("world")
    annotations = val_images.annotations(folder / "annotations.csv")
    predictions = val_images.csv(folder / "model.csv")
    answers = [f"{name},{'yes' if row % 3 == 0 else 'no'}" for row, name in enumerate(val_images.names) if row % 10]
    (folder / "night.csv").write_text("\n".join(answers) + "\n", encoding="utf-8")
    given = ("--annotations", annotations, "--night-scenes", folder / "night.csv")
    said = program("evaluate", predictions, *given, "--out", folder / "run")
    assert "images taken at night" in said
    return folder


def published_folder(folder):
    """The published tables' layout with two made-up models, which know nothing of the newcomer's stages."""
    folder.mkdir()
    columns = ["num_group_correct", "num_collapsed_mappings", "num_ambiguous", "num_same_superclass", "num_OOV_clip"]
    columns += ["num_non_prototypical", "num_common_co_occ", "num_not_classified"]
    for group in GROUPS:
        table = pd.DataFrame({"model_dir_id": ["a", "b", "c"], "mla_group": [80.0, 85.0, 90.0]})
        table = table.assign(num_group_samples=1000, mla_all=table["mla_group"], num_params=10**7)
        table = table.assign(**{name: [700 if "correct" in name else 50 - 5 * k for k in range(3)] for name in columns})
        table = table.assign(training_data="ImageNet-1k (1.2M)", arch="x", arch_family="cnn", arch_group="X")
        table.assign(extra_annotations="[]").to_csv(folder / f"stats_imagenet_{group}.csv", index=False)
    return folder


def counts(run):
    table = pd.read_parquet(run / "distribution.parquet").query("group == 'all'").set_index("error_type")
    return table[["count", "count_min", "count_max"]]


def test_verdicts_and_why_agree_on_the_new_types(program, world):
    verdicts = pd.read_parquet(world / "run" / "verdicts" / "model.parquet")
    for error_type, word in (("same_first_letter", "stands beside"), ("night_scene", "at night")):
        chosen = verdicts[verdicts["error_type"] == error_type]
        assert len(chosen)
        assert chosen["explanation"].str.contains(word).all()
        (path,) = json.loads(program("why", world / "run", chosen["file_name"].iloc[0], "--json"))
        assert path["error_type"] == error_type
        (answer,) = [answer for answer in path["answers"] if answer["stage"] == error_type]
        assert answer["answer"] == "yes"


def test_partial_evidence_bounds_the_counts_and_why_says_unknown(program, world, val_images):
    night = counts(world / "run").loc["night_scene"]
    assert night["count_min"] == night["count"] < night["count_max"]
    verdicts = pd.read_parquet(world / "run" / "verdicts" / "model.parquet").set_index("file_name")
    unlisted = [name for row, name in enumerate(val_images.names) if row % 10 == 0]
    failed = next(name for name in unlisted if verdicts.loc[name, "error_type"] == "model_failure")
    (path,) = json.loads(program("why", world / "run", failed, "--json"))
    assert {answer["stage"]: answer["answer"] for answer in path["answers"]}["night_scene"] == "unknown"


def test_run_json_names_the_list_by_its_option_with_its_hash(world):
    manifest = json.loads((world / "run" / "run.json").read_text(encoding="utf-8"))
    assert manifest["evidence"]["night_scenes"] == str(world / "night.csv")
    assert str(world / "night.csv") in [entry["file"] for entry in manifest["inputs"]]
    assert "night_scene" in manifest["stage_order"]


def test_without_its_list_the_stage_has_not_run(program, world):
    given = ("--annotations", world / "annotations.csv", "--out", world / "without")
    said = program("evaluate", world / "model.csv", *given)
    assert "Stage night_scene did not run: no list of night scenes was given: pass --night-scenes FILE." in said
    assert counts(world / "without").loc["night_scene"].isna().all()


def test_the_page_and_the_figures_show_them_beside_the_published_models(program, world, tmp_path):
    published = published_folder(tmp_path / "published")
    program("report", world / "run", "--published-statistics", published, "--out", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    for text in ("night_scene", "same_first_letter", "It was too dark to tell."):
        assert text in page
    given = ("--published-statistics", published, "--format", "svg", "--out", tmp_path / "figures")
    program("figures", world / "run", *given)
    assert "night scene" in (tmp_path / "figures" / "bars.svg").read_text(encoding="utf-8")


def test_agreement_and_sensitivity_ask_them_too(program, world, val_images, tmp_path):
    wrong = np.flatnonzero(val_images.top1 != val_images.label)[:12]
    judged = {
        val_images.names[row]: {
            "top_prediction": int(val_images.top1[row]),
            "failure category": "Spurious Correlation",
            "failure severity": "Major",
        }
        for row in wrong
    }
    (tmp_path / "panel.json").write_text(json.dumps(judged), encoding="utf-8")
    given = ("--human", tmp_path / "panel.json", "--annotations", world / "annotations.csv")
    night = ("--night-scenes", world / "night.csv")
    program("agreement", *given, *night, "--out", tmp_path / "agreement")
    assert "same_first_letter" in (tmp_path / "agreement" / "agreement.json").read_text(encoding="utf-8")
    program("sensitivity", world / "model.csv", *given, *night, "--no-figure", "--out", tmp_path / "sensitivity")
    assert "same_first_letter" in (tmp_path / "sensitivity" / "sensitivity.csv").read_text(encoding="utf-8")


def test_a_format_is_its_reader_and_its_line(program, val_images, tmp_path):
    head = "@relation answers\n@attribute file_name string\n@attribute prediction numeric\n@data\n"
    rows = [f"{name},{index}" for name, index in zip(val_images.names, val_images.top1, strict=True)]
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "vit.arff").write_text(head + "\n".join(rows), encoding="utf-8")
    said = program("evaluate", tmp_path / "models", "--allow-partial", "--out", tmp_path / "run")
    assert "vit: ARFF, 300 rows read, 300 matched" in said
