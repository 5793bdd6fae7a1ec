"""A run for other tools: what they are given is the run's own verdicts, and hostile names stay text."""

import csv
import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from imagenet_errors.export.comma_separated import escaped
from imagenet_errors.export.rows import RunToExport
from imagenet_errors.export.samples import field_names
from imagenet_errors.export.targets import TARGETS, export
from imagenet_errors.problems import InputError

MODELS = ("good", "fair", "part")


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out"


def exported(run, to, out, **more):
    return export(RunToExport(run, **more), to, out)


@pytest.fixture
def images(made_run, tmp_path):
    """A folder with ten of the run's images, of a known size."""
    picture = pytest.importorskip("PIL.Image")
    for name in made_run.verdicts("good").file_name[:10]:
        (tmp_path / "images" / "n0").mkdir(parents=True, exist_ok=True)
        picture.new("RGB", (8, 6)).save(tmp_path / "images" / "n0" / name)
    return tmp_path / "images"


class TestCsv:
    def test_it_has_every_verdict_of_every_model(self, made_run, out):
        exported(made_run.folder, "csv", out)
        table = pd.read_csv(out / "verdicts.csv")
        for model in MODELS:
            ours, theirs = made_run.verdicts(model), table[table.model == model]
            assert theirs.file_name.tolist() == ours.file_name.tolist()
            assert theirs.error_type.tolist() == ours.error_type.astype(str).tolist()
            assert theirs.prediction_name.tolist() == ours.prediction_name.astype(str).tolist()

    def test_accepted_labels_are_indices_and_names(self, made_run, out):
        exported(made_run.folder, "csv", out, models=("good",))
        table = pd.read_csv(out / "verdicts.csv", dtype={"accepted": str})
        assert table.accepted.tolist() == ["; ".join(map(str, one)) for one in made_run.verdicts("good").accepted]
        assert table.accepted_names.tolist() == table.target_name.tolist()

    @pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"])
    def test_a_formula_is_text(self, text):
        assert escaped(pa.array([text, "a=1"])).to_pylist() == [f"'{text}", "a=1"]

    def test_names_with_quotes_and_markup_are_read_back_as_they_are(self, hostile_run, out):
        exported(hostile_run.folder, "csv", out)
        with (out / "verdicts.csv").open(encoding="utf-8", newline="") as lines:
            names = [row["file_name"] for row in csv.DictReader(lines)]
        assert (
            names
            == hostile_run.verdicts(next(iter(RunToExport(hostile_run.folder).manifest().models))).file_name.tolist()
        )


class TestCoco:
    def test_results_refer_to_images_and_categories(self, made_run, out):
        exported(made_run.folder, "coco", out)
        labels = json.loads((out / "labels.json").read_text(encoding="utf-8"))
        names = {image["id"]: image["file_name"] for image in labels["images"]}
        categories = {category["id"]: category["name"] for category in labels["categories"]}
        assert len(names) == 300
        assert len(categories) == 1000
        for model in MODELS:
            ours = made_run.verdicts(model)
            results = json.loads((out / f"results.{model}.json").read_text(encoding="utf-8"))
            assert [names[row["image_id"]] for row in results] == ours.file_name.tolist()
            assert [categories[row["category_id"]] for row in results] == ours.prediction_name.astype(str).tolist()
            assert [row["error_type"] for row in results] == ours.error_type.astype(str).tolist()

    def test_annotations_are_the_accepted_labels(self, made_run, out):
        exported(made_run.folder, "coco", out, models=("good",))
        annotations = json.loads((out / "labels.json").read_text(encoding="utf-8"))["annotations"]
        accepted = made_run.verdicts("good").accepted
        assert [one["category_id"] - 1 for one in annotations] == [index for one in accepted for index in one]
        assert len({one["id"] for one in annotations}) == len(annotations)
        assert "bbox" not in annotations[0]

    def test_with_the_images_there_are_sizes_and_boxes(self, made_run, out, images):
        exported(made_run.folder, "coco", out, images=images)
        labels = json.loads((out / "labels.json").read_text(encoding="utf-8"))
        sized = [image for image in labels["images"] if "width" in image]
        assert [(image["width"], image["height"]) for image in sized] == [(8, 6)] * 10
        assert next(one["bbox"] for one in labels["annotations"] if "bbox" in one) == [0, 0, 8, 6]

    def test_pycocotools_opens_it(self, made_run, out):
        coco = pytest.importorskip("pycocotools.coco", reason="needs pycocotools, which is not installed")
        exported(made_run.folder, "coco", out)
        assert len(coco.COCO(str(out / "labels.json")).getImgIds()) == 300


class TestCleanlab:
    def test_issues_are_the_error_types_and_scores_rank_the_sure_mistakes_first(self, made_run, out):
        exported(made_run.folder, "cleanlab", out)
        ours, issues = made_run.verdicts("good"), pd.read_parquet(out / "good.issues.parquet")
        failed = ours.error_type == "model_failure"
        assert issues.is_model_failure_issue.tolist() == failed.tolist()
        assert np.allclose(issues.model_failure_score, np.where(failed, 1 - ours.confidence, 1))
        assert issues.given_label.tolist() == ours.target.tolist()

    def test_the_summary_counts_them(self, made_run, out):
        exported(made_run.folder, "cleanlab", out, models=("fair",))
        summary = pd.read_parquet(out / "fair.issue_summary.parquet").set_index("issue_type")
        counts = made_run.verdicts("fair").error_type.value_counts()
        assert {name: summary.num_issues[name] for name in summary.index} == {
            name: counts[name] for name in summary.index
        }

    def test_types_whose_stage_did_not_run_are_left_out(self, demo_run, out):
        exported(demo_run.folder, "cleanlab", out, models=("efficientnet_lite0",))
        issues = pd.read_parquet(out / "efficientnet_lite0.issues.parquet")
        assert "is_fine_grained_oov_issue" not in issues
        assert issues.is_spurious_correlation_issue.any()


class TestFiftyOne:
    def test_every_sample_has_the_fields_that_the_metadata_names(self, made_run, out):
        exported(made_run.folder, "fiftyone", out)
        metadata = json.loads((out / "metadata.json").read_text(encoding="utf-8"))
        samples = json.loads((out / "samples.json").read_text(encoding="utf-8"))["samples"]
        fields = {field["db_field"]: field for field in metadata["sample_fields"]}
        assert len(samples) == 300
        for sample in samples:
            assert {name for name in sample if not name.startswith("_")} <= set(fields)
        ours = made_run.verdicts("good")
        assert [sample["good_error_type"] for sample in samples] == ours.error_type.astype(str).tolist()
        assert [sample["good_reason"] or "" for sample in samples] == ours.explanation.fillna("").tolist()
        assert len({sample["_id"]["$oid"] for sample in samples}) == 300

    def test_a_model_without_a_prediction_of_an_image_has_no_field_there(self, made_run, out):
        exported(made_run.folder, "fiftyone", out)
        samples = json.loads((out / "samples.json").read_text(encoding="utf-8"))["samples"]
        assert sum("part" in sample for sample in samples) == 200

    def test_one_model_has_plain_field_names(self):
        assert field_names(("resnet50.a1_in1k",))["resnet50.a1_in1k"] == ("prediction", "error_type", "reason")

    def test_field_names_are_identifiers_and_differ(self):
        names = [fields[0] for fields in field_names(("a.b", "a-b", "1x", "tags", "<b>", "é")).values()]
        assert all(name.isidentifier() for name in names)
        assert len(set(names)) == len(names)

    def test_made_again_it_is_the_same(self, made_run, tmp_path):
        for name in ("one", "two"):
            exported(made_run.folder, "fiftyone", tmp_path / name)
        assert (tmp_path / "one" / "samples.json").read_bytes() == (tmp_path / "two" / "samples.json").read_bytes()

    def test_with_the_images_the_places_are_theirs(self, made_run, out, images):
        exported(made_run.folder, "fiftyone", out, images=images)
        samples = json.loads((out / "samples.json").read_text(encoding="utf-8"))["samples"]
        assert sum(sample["filepath"].startswith(str(images.resolve())) for sample in samples) == 10

    def test_fiftyone_opens_it(self, made_run, out, images, monkeypatch, tmp_path):
        monkeypatch.setenv("FIFTYONE_DATABASE_DIR", str(tmp_path / "database"))
        fiftyone = pytest.importorskip("fiftyone", reason="needs fiftyone, which is not installed")
        exported(made_run.folder, "fiftyone", out, images=images)
        dataset = fiftyone.Dataset.from_dir(str(out), dataset_type=fiftyone.types.FiftyOneDataset)
        assert len(dataset) == 300
        assert dataset.count_values("good_error_type")["model_failure"] > 0


class TestWandb:
    def test_the_real_client_writes_an_offline_run_a_model(self, made_run, out):
        pytest.importorskip("wandb", reason="needs the extra wandb: wandb is not installed")
        exported(made_run.folder, "wandb", out, models=("good", "part"))
        runs = sorted(out.glob("offline-run-*"))
        assert len(runs) == 2
        assert {path.name for path in out.iterdir()} == {run.name for run in runs}
        assert all(list(run.glob("*.wandb")) for run in runs)
        (table,) = runs[0].rglob("errors*.table.json")
        rows = json.loads(table.read_text(encoding="utf-8"))["data"]
        ours = made_run.verdicts("good")
        assert [row[0] for row in rows] == ours.file_name[ours.error_type != "correct"].tolist()


@pytest.mark.parametrize("to", [name for name in TARGETS if name != "wandb"])
def test_hostile_names_are_exported_too(hostile_run, out, to):
    assert exported(hostile_run.folder, to, out).files


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param(("--to", "pdf"), "--to: no target 'pdf'. Known: csv, coco", id="target"),
        pytest.param(("--to", "csv", "--model", "x"), "no model 'x' in this run. It has: good, fair, part", id="model"),
        pytest.param(("--to", "coco", "--images", "."), "none of the run's images is in it", id="images"),
    ],
)
def test_what_cannot_be_exported_is_said_and_nothing_left(
    program, made_run, out, arguments, said, tmp_path, monkeypatch
):
    (tmp_path / "empty").mkdir()
    picture = pytest.importorskip("PIL.Image")
    picture.new("RGB", (2, 2)).save(tmp_path / "empty" / "other.png")
    monkeypatch.chdir(tmp_path / "empty")
    answer = program("export", made_run.folder, *arguments, "--out", out)
    assert answer.status == 2
    assert said in answer.err
    assert not out.exists()


def test_a_folder_that_is_no_run_is_refused(tmp_path):
    with pytest.raises(InputError, match="not a run directory"):
        exported(tmp_path, "csv", tmp_path / "out")


def test_the_command_says_what_was_written_and_how_to_open_it(program, made_run, out):
    answer = program("export", made_run.folder, "--to", "csv", "--out", out)
    assert answer.out.startswith(f"Written to {out}: verdicts.csv\n")
    assert f"Open {out}/verdicts.csv" in answer.out
