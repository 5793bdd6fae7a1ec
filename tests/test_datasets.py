"""Data sets by name or file, and classes of one's own: from predictions to verdicts without ImageNet's tables."""

import json

import numpy as np
import pyarrow.parquet as pq
import pytest

from imagenet_errors.datasets import dataset_names, load_dataset
from imagenet_errors.images import val_file_names
from imagenet_errors.labels import imagenet_1k
from imagenet_errors.problems import InputError
from imagenet_errors.runs.manifest import read_manifest

WNIDS = imagenet_1k().wnids
NAMES = ("apple", "pear", "lion", "tiger", "chair", "couch")


@pytest.fixture
def fruit(tmp_path):
    """Six classes with groups, 60 labelled images, the superclass of cats, and a model that errs in a third."""
    (tmp_path / "classes.csv").write_text(
        "index,name,group\n" + "".join(f"{i},{name},{'living' if i < 4 else 'made'}\n" for i, name in enumerate(NAMES))
    )
    label = np.arange(60) % 6
    top1 = np.where(np.arange(60) % 3 == 0, (label + 1) % 6, label)
    rows = [f"{i}.png,{one}" for i, one in enumerate(label)]
    (tmp_path / "labels.csv").write_text("\n".join(["file_name,label", *rows]) + "\n")
    rows = [f"{i}.png,{one}" for i, one in enumerate(top1)]
    (tmp_path / "model.csv").write_text("\n".join(["file_name,prediction", *rows]) + "\n")
    (tmp_path / "cats.toml").write_text(
        'domain = "animals"\n[[superclass]]\nname = "big cats"\nreason = "Manes aside."\n'
        'classes = ["2 lion", "3 tiger"]\n'
    )
    return tmp_path


def counts(run, model, group="all"):
    rows = pq.read_table(run / "distribution.parquet").to_pylist()
    return {row["error_type"]: row["count"] for row in rows if (row["model"], row["group"]) == (model, group)}


@pytest.mark.parametrize("name", dataset_names())
def test_every_shipped_data_set_loads_and_says_what_it_is(name):
    found = load_dataset(name)
    assert found.title
    assert set(found.not_run) <= {"multi_object", "non_prototypical", "fine_grained_oov", "spurious_correlation"}


def test_200_classes_occur_in_imagenet_a_and_r_and_86_in_both():
    a, r = (set(load_dataset(f"imagenet-{letter}").labels.occurring) for letter in "ar")
    assert (len(a), len(r), len(a & r)) == (200, 200, 86)


def test_an_unknown_data_set_is_refused_with_those_there_are():
    with pytest.raises(InputError, match=r"no data set and no file 'imagenet-z'.*imagenet-v2"):
        load_dataset("imagenet-z")


@pytest.mark.parametrize(("occurring", "what"), [("[0, 9]", "names class 9"), ("[1, 1]", "names a class twice")])
def test_classes_that_occur_are_classes_of_the_data_set(tmp_path, occurring, what):
    (tmp_path / "classes.txt").write_text("cat\ndog\n")
    (tmp_path / "pets.toml").write_text(f'title = "Pets"\nclasses = "classes.txt"\noccurring = {occurring}\n')
    with pytest.raises(InputError, match=rf"{what}\. List class indices 0\.\.1, each once"):
        load_dataset(str(tmp_path / "pets.toml"))


class TestOwnClasses:
    def run(self, program, fruit, *more):
        arguments = ("--classes", fruit / "classes.csv", "--annotations", fruit / "labels.csv", "--out", fruit / "run")
        answer = program("evaluate", fruit / "model.csv", *arguments, *more)
        assert answer.status == 0, answer.err
        return fruit / "run"

    def test_the_whole_chain_runs_on_what_there_is(self, program, fruit):
        run = self.run(program, fruit, "--superclasses", fruit / "cats.toml")
        found = counts(run, "model")
        assert (found["correct"], found["fine_grained"], found["class_overlap"]) == (40, 0, None)

    def test_groups_are_those_of_the_file(self, program, fruit):
        run = self.run(program, fruit)
        assert counts(run, "model", "made")["correct"] + counts(run, "model", "living")["correct"] == 40

    def test_why_judges_by_the_same_classes(self, program, fruit):
        run = self.run(program, fruit)
        answer = program("why", run, "3.png")
        assert answer.status == 0
        assert "label: tiger" in answer.out
        assert read_manifest(run).classes.endswith("classes.csv")

    def test_a_toml_of_ones_own_says_it_all_once(self, program, fruit):
        (fruit / "fruit.toml").write_text(
            'title = "Fruit"\nclasses = "classes.csv"\nannotations = "labels.csv"\nsuperclasses = "cats.toml"\n'
        )
        answer = program("evaluate", fruit / "model.csv", "--dataset", fruit / "fruit.toml", "--out", fruit / "run")
        assert answer.status == 0, answer.err
        assert counts(fruit / "run", "model")["fine_grained"] == 0
        assert program("why", fruit / "run", "3.png").status == 0


class TestPairsOfOnesOwn:
    def test_an_image_never_supports_its_own_error(self, program, fruit):
        rows = [f"{i}.png,{i % 6},{i % 6}" + (" 4" if i in (0, 6) else "") for i in range(60)]
        (fruit / "multi.csv").write_text("\n".join(["file_name,label,labels", *rows]) + "\n")
        (fruit / "chair.csv").write_text(
            "file_name,prediction\n" + "".join(f"{i}.png,{4 if i in (0, 6, 12) else i % 6}\n" for i in range(60))
        )
        common = ("--classes", fruit / "classes.csv", "--annotations", fruit / "multi.csv", "--out", fruit / "run")
        assert program("evaluate", fruit / "chair.csv", *common).status == 0
        found = counts(fruit / "run", "chair")
        assert (found["multi_object"], found["spurious_correlation"], found["model_failure"]) == (2, 1, 0)


class TestImageNetA:
    def predictions(self, tmp_path, outside=False):
        labels = load_dataset("imagenet-a").labels
        first, second, *_ = labels.occurring
        stranger = next(index for index in range(1000) if index not in labels.occurring)
        rows = [
            f"{WNIDS[index]}/{n}.jpg,{stranger if outside else second}" for index in (first, second) for n in range(20)
        ]
        path = tmp_path / "resnet.csv"
        path.write_text("\n".join(["file_name,prediction", *rows]) + "\n")
        return path

    def test_the_folders_tell_the_labels_and_one_label_an_image_leaves_multi_object_out(self, program, tmp_path):
        path = self.predictions(tmp_path)
        answer = program("evaluate", path, "--dataset", "imagenet-a", "--out", tmp_path / "run")
        assert answer.status == 0, answer.err
        assert counts(tmp_path / "run", "resnet")["correct"] == 20
        assert counts(tmp_path / "run", "resnet")["multi_object"] is None
        assert read_manifest(tmp_path / "run").labels_from == str(path)
        assert (
            program("why", tmp_path / "run", f"{WNIDS[load_dataset('imagenet-a').labels.occurring[0]]}/3.jpg").status
            == 0
        )

    def test_predictions_outside_the_200_are_errors_and_counted(self, program, tmp_path):
        path = self.predictions(tmp_path, outside=True)
        assert (
            program("evaluate", path, "--dataset", "imagenet-a", "--no-check-order", "--out", tmp_path / "run").status
            == 0
        )
        summary = pq.read_table(tmp_path / "run" / "summary.parquet").to_pylist()[0]
        assert (summary["n_outside_classes"], summary["top1_accuracy"]) == (40, 0)
        assert "800 of which do not occur" in read_manifest(tmp_path / "run").class_rule

    def test_masking_chooses_among_the_200_and_says_so(self, program, tmp_path):
        occurring = load_dataset("imagenet-a").labels.occurring
        scores = np.random.default_rng(0).random((40, 1000)) / 10
        scores[:, next(index for index in range(1000) if index not in occurring)] += 9
        scores[np.arange(40), np.repeat(occurring[:2], 20)] = 5
        names = [f"{WNIDS[index]}/{n}.jpg" for index in occurring[:2] for n in range(20)]
        np.savez(tmp_path / "m.npz", sample_files=names, logits=scores)
        common = ("--dataset", "imagenet-a", "--no-check-order", "--out", tmp_path / "run")
        assert program("evaluate", tmp_path / "m.npz", "--mask-classes", *common).status == 0
        assert counts(tmp_path / "run", "m")["correct"] == 40
        assert read_manifest(tmp_path / "run").class_rule == "the best of the 200 classes that occur"

    def test_one_class_a_row_cannot_be_masked(self, program, tmp_path):
        path = self.predictions(tmp_path)
        answer = program("evaluate", path, "--dataset", "imagenet-a", "--mask-classes", "--out", tmp_path / "run")
        assert answer.status == 2
        assert "best of those that occur is not known" in answer.err


class TestImageNetC:
    def test_each_corruption_and_severity_is_a_model(self, program, tmp_path, val_images):
        lines = [
            f"{corruption}/{severity}/{name},{top1 if severity == 1 else 0}"
            for name, top1 in zip(val_images.names, val_images.top1, strict=True)
            for corruption, severity in (("fog", 1), ("fog", 2), ("snow", 1))
        ]
        (tmp_path / "net.csv").write_text("\n".join(["path,pred", *lines]) + "\n")
        common = ("--dataset", "imagenet-c", "--allow-partial", "--no-check-order", "--out", tmp_path / "run")
        answer = program("evaluate", tmp_path / "net.csv", *common)
        assert answer.status == 0, answer.err
        assert sorted(read_manifest(tmp_path / "run").models) == ["net fog 1", "net fog 2", "net snow 1"]
        assert counts(tmp_path / "run", "net fog 1") == counts(tmp_path / "run", "net snow 1")


def test_a_file_beside_the_labels_tells_the_original_ones_and_is_named(program, tmp_path):
    names = [f"{n:040x}" for n in range(60)]
    (tmp_path / "refined.json").write_text(json.dumps({f"{name}.jpeg": [str(n)] for n, name in enumerate(names)}))
    images = [[name, WNIDS[n]] for n, name in enumerate(names)]
    (tmp_path / "imagenetv2-b-33.json").write_text(json.dumps({"image_filenames": images[::-1]}))
    np.save(
        tmp_path / "net.npy", np.array([[n if n % 3 else n + 1] * 5 for n in range(60)])[::-1] + np.arange(5) * 7 % 60
    )
    common = ("--dataset", "imagenet-v2", "--annotations", tmp_path / "refined.json", "--out", tmp_path / "run")
    answer = program("evaluate", tmp_path / "net.npy", *common)
    assert answer.status == 0, answer.err
    assert counts(tmp_path / "run", "net")["correct"] == 40
    assert read_manifest(tmp_path / "run").labels_from.endswith("imagenetv2-b-33.json")


class TestWhatPeopleHave:
    """Files of classes of one's own as they come: other columns, other layouts, labels in other places."""

    def scores(self):
        scores = np.full((60, 6), 0.1)
        scores[np.arange(60), np.where(np.arange(60) % 3 == 0, (np.arange(60) + 1) % 6, np.arange(60) % 6)] = 0.5
        return scores

    def run(self, program, fruit, path, *more):
        common = ("--classes", fruit / "classes.csv", "--out", fruit / "run")
        answer = program("evaluate", path, *common, *more)
        assert answer.status == 0, answer.err
        return counts(fruit / "run", path.stem)["correct"]

    @pytest.mark.parametrize("order", [range(6), [3, 1, 0, 5, 4, 2]], ids=["in order", "in another order"])
    def test_probabilities_in_columns_called_by_the_classes(self, program, fruit, order):
        head = ["image", *(NAMES[index] for index in order)]
        rows = [f"{i}.png," + ",".join(f"{row[index]:.1f}" for index in order) for i, row in enumerate(self.scores())]
        (fruit / "shares.csv").write_text("\n".join([",".join(head), *rows]) + "\n")
        assert self.run(program, fruit, fruit / "shares.csv", "--annotations", fruit / "labels.csv") == 40

    @pytest.mark.parametrize("header", ["true", "y_true", "target", "label"])
    def test_a_column_of_labels_beside_the_prediction_tells_them(self, program, fruit, header):
        rows = [f"{i}.png,{i % 6},{row.argmax()}" for i, row in enumerate(self.scores())]
        (fruit / "both.csv").write_text("\n".join([f"filename,{header},pred", *rows]) + "\n")
        assert self.run(program, fruit, fruit / "both.csv") == 40
        assert read_manifest(fruit / "run").label_set == "the original labels alone, as both.csv tells them"

    def test_folders_called_by_the_classes_tell_labels(self, program, fruit):
        rows = [f"test/{NAMES[i % 6]}/{i}.png,{row.argmax()}" for i, row in enumerate(self.scores())]
        (fruit / "folders.csv").write_text("\n".join(["path,pred", *rows]) + "\n")
        assert self.run(program, fruit, fruit / "folders.csv") == 40

    def test_where_nothing_tells_labels_what_would_is_said(self, program, fruit):
        answer = program("evaluate", fruit / "model.csv", "--classes", fruit / "classes.csv", "--out", fruit / "run")
        assert answer.status == 2
        assert "Names in a folder by class would tell, too." in answer.err

    def test_validation_images_sorted_into_classes_of_ones_own_are_judged_by_these_alone(self, program, fruit):
        names = val_file_names(np.arange(1, 61)).to_pylist()
        labels = [f"{name},{i % 6} {(i + 1) % 6},{i % 6}" for i, name in enumerate(names)]
        (fruit / "val.csv").write_text("\n".join(["file_name,labels,label", *labels]))
        rows = [f"{name},{row.argmax()}" for name, row in zip(names, self.scores(), strict=True)]
        (fruit / "own.csv").write_text("\n".join(["image,pred", *rows]))
        assert self.run(program, fruit, fruit / "own.csv", "--annotations", fruit / "val.csv") == 40

    def test_labels_a_json_object_a_line_are_a_table(self, program, fruit):
        (fruit / "labels.jsonl").write_text(
            "\n".join(json.dumps({"file_name": f"{i}.png", "label": i % 6}) for i in range(60))
        )
        assert self.run(program, fruit, fruit / "model.csv", "--annotations", fruit / "labels.jsonl") == 40

    def test_hard_images_in_one_block_are_no_lost_rows(self, program, fruit):
        label = np.arange(4000) % 6
        wrong = np.arange(4000) % 10 == 0
        wrong[800:1000] |= np.arange(200) % 5 == 0
        top1 = np.where(wrong, (label + 1) % 6, label)
        rows = [f"{i}.png,{one}" for i, one in enumerate(label)]
        (fruit / "many.csv").write_text("\n".join(["file_name,label", *rows]) + "\n")
        rows = [f"{i}.png,{one}" for i, one in enumerate(top1)]
        (fruit / "block.csv").write_text("\n".join(["file_name,prediction", *rows]) + "\n")
        assert self.run(program, fruit, fruit / "block.csv", "--annotations", fruit / "many.csv") == (~wrong).sum()

    def test_rows_that_are_lost_are_told_without_wordnet(self, program, fruit):
        label = np.random.default_rng(0).integers(0, 6, 4000)
        top1 = np.where(np.arange(4000) % 10 == 0, (label + 1) % 6, label)
        top1[2000:] = np.roll(top1[2000:], 1)
        rows = [f"{i}.png,{one}" for i, one in enumerate(label)]
        (fruit / "many.csv").write_text("\n".join(["file_name,label", *rows]) + "\n")
        rows = [f"{i}.png,{one}" for i, one in enumerate(top1)]
        (fruit / "late.csv").write_text("\n".join(["file_name,prediction", *rows]) + "\n")
        common = ("--classes", fruit / "classes.csv", "--annotations", fruit / "many.csv", "--out", fruit / "run")
        answer = program("evaluate", fruit / "late.csv", *common)
        assert answer.status == 2
        assert "elsewhere: these predictions belong to other rows" in answer.err


def test_ground_truth_alone_leaves_multi_object_out_on_imagenet_too(program, tmp_path, val_images):
    truth = tmp_path / "val.txt"
    truth.write_text(
        "\n".join(f"{name} {label}" for name, label in zip(val_images.names, val_images.label, strict=True))
    )
    rows = "\n".join(f"{name},{index}" for name, index in zip(val_images.names, val_images.top1, strict=True))
    (tmp_path / "m.csv").write_text(f"file_name,prediction\n{rows}\n")
    answer = program("evaluate", tmp_path / "m.csv", "--annotations", truth, "--out", tmp_path / "run", "--json")
    assert "one label an image" in json.loads(answer.out)["stages_not_run"]["multi_object"]
