"""From the paths that a user gives to models' predictions."""

import csv
import hashlib
import json
import os
import tracemalloc

import numpy as np
import pytest
from sklearn.utils.extmath import softmax

from imagenet_errors.labels import imagenet_1k
from imagenet_errors.problems import InputError
from imagenet_errors.readers.annotations import read_annotations, read_real
from imagenet_errors.readers.model_files import model_files, model_name
from imagenet_errors.readers.parts import read_together
from imagenet_errors.readers.predictions import ReadRules, read_predictions
from imagenet_errors.readers.scores import reduce_scores

LABELS = imagenet_1k()
PARTIAL = ReadRules(allow_partial=True)


def write(folder, *names):
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("file_name,prediction\n")
    return folder


def found(folder, *given):
    models = model_files([folder / one for one in given] or [folder])
    return [path.relative_to(folder).as_posix() for model in models for path in model.paths]


@pytest.mark.parametrize(
    ("path", "name"),
    [
        pytest.param("resnet50.csv", "resnet50", id="stem"),
        pytest.param("resnet50.a1_in1k.csv", "resnet50.a1_in1k", id="timm's tag stays"),
        pytest.param("resnet50-224.csv.gz", "resnet50-224", id="compressed"),
        pytest.param("VIT.PARQUET", "VIT", id="upper case"),
        pytest.param("vit", "vit", id="no extension"),
        pytest.param("out/timm--vit_base.augreg/preds.npz", "timm--vit_base.augreg", id="published program"),
    ],
)
def test_a_model_is_named_by_its_file(tmp_path, path, name):
    assert model_name(tmp_path / path) == name


class TestFiles:
    def test_a_folder_gives_its_predictions_by_name_and_nothing_else(self, tmp_path):
        write(tmp_path, "b.csv", "a.parquet", "README.txt", ".hidden.csv", "plot.png", "samples_info.npz")
        write(tmp_path, "deeper/c.csv")
        assert found(tmp_path) == ["a.parquet", "b.csv"]

    def test_the_published_programs_folders_are_models(self, tmp_path):
        write(tmp_path, "vit/preds.npz", "resnet/preds.npz", "samples_info.npz")
        assert found(tmp_path) == ["resnet/preds.npz", "vit/preds.npz"]

    def test_lists_of_names_and_probabilities_beside_classes_are_no_models(self, tmp_path):
        write(tmp_path, "top5preds.npy", "top5probs.npy", "order.json")
        (tmp_path / "order.json").write_text(json.dumps(["a.JPEG", "b.JPEG"], indent=1))
        assert found(tmp_path) == ["top5preds.npy"]

    def test_parts_of_one_model_are_grouped_by_their_names(self, tmp_path):
        write(tmp_path, "vit-rank-0.csv", "vit-rank-1.csv", "resnet-18.csv", "resnet-34.csv", "deit_part_7.csv")
        models = [(model.model, len(model.paths)) for model in model_files([tmp_path])]
        assert models == [("deit_part_7", 1), ("resnet-18", 1), ("resnet-34", 1), ("vit", 2)]

    def test_tables_in_folders_are_named_by_the_folder(self, tmp_path):
        write(tmp_path, "vit.parquet/part-00000-ab.snappy.parquet", "vit.parquet/part-00001-ab.snappy.parquet")
        write(tmp_path, "vit.parquet/_SUCCESS")
        write(tmp_path / "hive", "rank=0/a.csv", "rank=1/a.csv")
        (spark,) = model_files([tmp_path])
        (given,) = model_files([tmp_path / "vit.parquet"])
        (hive,) = model_files([tmp_path / "hive"])
        assert [(one.model, len(one.paths)) for one in (spark, given, hive)] == [("vit", 2), ("vit", 2), ("hive", 2)]

    def test_links_that_lead_nowhere_are_named_and_not_passed_over(self, tmp_path):
        (tmp_path / "gone.csv").symlink_to(tmp_path / "nothing.csv")
        (tmp_path / "loop.csv").symlink_to(tmp_path / "loop.csv")
        assert found(tmp_path) == ["gone.csv", "loop.csv"]
        for model in model_files([tmp_path]):
            with pytest.raises(InputError, match=r"(gone|loop).csv: "):
                read_predictions(model.path, read_real(LABELS), LABELS, rules=PARTIAL)

    def test_files_are_taken_in_the_order_given_and_once_each(self, tmp_path):
        write(tmp_path, "b.csv", "a.csv")
        assert found(tmp_path, "b.csv", "a.csv", "../" + tmp_path.name + "/b.csv") == ["b.csv", "a.csv"]

    @pytest.mark.parametrize(
        ("given", "said"),
        [
            pytest.param(["none.csv"], "none.csv: no such file or folder", id="absent"),
            pytest.param(["empty"], "no predictions in this folder.*parquet", id="empty folder"),
            pytest.param(["x/m.csv", "y/m.csv"], "both are named 'm'.*rename", id="same stem"),
            pytest.param(["x/m.csv", "x/m.json"], "both are named 'm'", id="same stem, other kind"),
        ],
    )
    def test_what_cannot_be_told_apart_or_found_is_refused(self, tmp_path, given, said):
        write(tmp_path, "x/m.csv", "y/m.csv", "x/m.json")
        (tmp_path / "empty").mkdir()
        with pytest.raises(InputError, match=said):
            model_files([tmp_path / one for one in given])

    def test_no_file_at_all_is_refused(self):
        with pytest.raises(InputError, match=r"PREDICTIONS: no file given.*--demo"):
            model_files([])


class TestReading:
    def test_a_plain_file_is_read_matched_and_named(self, tmp_path, val_images):
        predictions = read_predictions(val_images.csv(tmp_path / "toy.csv"), read_real(LABELS), LABELS, rules=PARTIAL)
        assert predictions.model == "toy"
        assert predictions.top1.tolist() == val_images.top1.tolist()
        assert predictions.intake.n_matched == predictions.intake.n_rows == 300

    def test_rows_in_another_order_than_their_names_are_refused(self, tmp_path, val_images):
        permuted = np.random.default_rng(0).permutation(300)
        path = val_images.csv(tmp_path / "toy.csv", **{f"at_{n}": val_images.top1[m] for n, m in enumerate(permuted)})
        with pytest.raises(InputError, match=r"toy.csv: accuracy is at chance"):
            read_predictions(path, read_real(LABELS), LABELS, rules=PARTIAL)

    def test_published_mistakes_are_read_as_a_partial_file(self, shared, tmp_path):
        with (shared / "published" / "published_cases.csv").open(encoding="utf-8", newline="") as lines:
            cases = {row["file_name"]: row["prediction"] for row in csv.DictReader(lines)}
        rows = [f"{name},{prediction}" for name, prediction in cases.items()]
        (tmp_path / "mistakes.csv").write_text("\n".join(["file_name,prediction", *rows]))
        path = shared / "annotations" / "human_accuracy_v3.0.0_labels_only.json"
        annotations = read_annotations(path, LABELS)
        predictions = read_predictions(tmp_path / "mistakes.csv", annotations, LABELS, rules=PARTIAL)
        assert predictions.intake.n_matched == len(cases)
        assert (predictions.top1 != annotations.label[predictions.rows]).all()

    def test_real_rows_without_names_are_proven_to_lie_in_class_folders(self, shared):
        path = shared / "predictions" / "raw" / "resnet18_top5_int64.npy"
        predictions = read_predictions(path, read_real(LABELS), LABELS, rules=ReadRules())
        assert "only the order imagefolder fits" in predictions.intake.notes[-1]
        assert np.mean(predictions.top1 == read_real(LABELS).label) == pytest.approx(0.6976, abs=2e-4)


class TestScoresInBlocks:
    """An npy file of scores is never in memory as a whole: it is read and hashed as its rows are gone through."""

    @pytest.fixture
    def scores(self, val_images):
        scores = np.random.default_rng(0).normal(size=(300, 1000))  # longer than the bytes that are kept
        scores[range(300), val_images.top1] += 9
        return scores

    @pytest.mark.parametrize("order", ["C", "F"])
    def test_they_are_taken_for_what_a_whole_array_is_and_hashed(self, tmp_path, val_images, scores, order):
        path, names = tmp_path / "model.npy", tmp_path / "order.txt"
        np.save(path, np.array(scores, order=order))
        names.write_text("\n".join(val_images.names))
        rules = ReadRules(row_order=str(names), allow_partial=True)
        predictions = read_predictions(path, read_real(LABELS), LABELS, rules=rules)
        assert predictions.top1.tolist() == val_images.top1.tolist()
        np.testing.assert_allclose(predictions.confidence, softmax(scores).max(axis=1), rtol=1e-6)
        assert predictions.intake.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()

    def test_a_file_that_is_cut_short_meanwhile_is_refused(self, tmp_path, scores):
        np.save(tmp_path / "model.npy", scores)

        def read():
            with read_together((tmp_path / "model.npy",), columns={}) as raw:
                os.truncate(tmp_path / "model.npy", 2_300_000)
                reduce_scores(raw)

        with pytest.raises(InputError, match=r"model\.npy: the file changed while it was read"):
            read()

    def test_other_bytes_behind_the_same_date_are_refused(self, tmp_path, scores):
        path = tmp_path / "model.npy"
        np.save(path, scores)
        dates = path.stat().st_atime_ns, path.stat().st_mtime_ns
        with read_together((path,), columns={}) as raw:
            reduce_scores(raw)
            with path.open("r+b") as file:
                file.seek(-1, os.SEEK_END)
                file.write(b"\x01")
            os.utime(path, ns=dates)
            with pytest.raises(InputError, match=r"model\.npy: the file changed while it was read"):
                reduce_scores(raw)

    def test_memory_does_not_grow_with_the_file(self, tmp_path):
        np.lib.format.open_memmap(tmp_path / "model.npy", mode="w+", dtype=np.float32, shape=(50_000, 1_000)).flush()
        tracemalloc.start()
        with read_together((tmp_path / "model.npy",), columns={}) as raw:
            n_ties = reduce_scores(raw).n_ties
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert n_ties == 50_000
        assert peak < 20e6
