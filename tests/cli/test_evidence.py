"""``evidence`` through the command line, in a world where the answer is known."""

import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import evidence_world
from evidence_world import RULER, SPOON, TENCH, TRICYCLE, UNICYCLE, install, make
from imagenet_errors.labels import imagenet_1k
from imagenet_errors.readers.annotations import val_labels

LABELS = imagenet_1k()

BONESHAKER = "boneshaker 0.8, tricycle 0.6"
TRIKE = "tricycle 1"
FISH = "boneshaker 0.8, tench 0.6"
IMAGES = [
    pytest.param(BONESHAKER, [TRICYCLE] + [TENCH] * 9, True, id="outside the classes, one neighbour is kin"),
    pytest.param(TRIKE, [TRICYCLE] * 10, False, id="in the classes: a tricycle"),
    pytest.param(FISH, [TENCH] * 10, False, id="outside the classes, but no neighbour is kin"),
    pytest.param("scooter 1", [UNICYCLE] * 10, False, id="a name of a class and of something else is the class's"),
    pytest.param("cart 1", [UNICYCLE], True, id="fewer than ten neighbours"),
    pytest.param("cart 1", [TENCH] * 10 + [UNICYCLE], False, id="the eleventh neighbour does not count"),
]


@pytest.fixture(autouse=True)
def hand_made(monkeypatch):
    install(monkeypatch.setattr)


@pytest.fixture
def one_image(program, tmp_path):
    """Run the command for one image; return the row of evidence."""

    def run(text, neighbours):
        world, (name,) = make(tmp_path, [(text, UNICYCLE)])
        answer = program(*world.arguments(tmp_path / "oov.parquet", *world.table(**{name: neighbours})))
        assert answer.status == 0, answer.err
        (row,) = pq.read_table(tmp_path / "oov.parquet").to_pylist()
        return row

    return run


@pytest.mark.parametrize(("text", "neighbours", "is_oov"), IMAGES)
def test_what_is_outside_the_classes_and_among_kin_is_found(one_image, text, neighbours, is_oov):
    assert one_image(text, neighbours)["is_oov"] is is_oov


def test_a_row_says_everything(one_image):
    row = one_image(BONESHAKER, [TRICYCLE, UNICYCLE] + [TENCH] * 48)
    assert row["neighbour_support"] == 2
    assert row["neighbour_classes"] == [TRICYCLE, UNICYCLE] + [TENCH] * 8
    assert row["neighbour_is_kin"] == [True, True] + [False] * 8
    assert (row["best_synset"], row["best_name"]) == ("n02869563", "boneshaker")
    assert row["encoder"] == "ViT-L-14-336-quickgelu/openai"
    scores = [proposal["score"] for proposal in row["top_proposals"]]
    assert len(scores) == 5
    assert scores == sorted(scores, reverse=True)
    assert scores[0] == row["best_score"] > 0.99
    assert row["top_proposals"][1]["name"] == "tricycle"


def test_the_next_command_takes_what_this_one_was_given(program, tmp_path):
    world, (name,) = make(tmp_path, [(BONESHAKER, UNICYCLE)])
    classes = tmp_path / "classes.csv"
    rows = zip(LABELS.names, LABELS.wnids, strict=True)
    classes.write_text("".join(["index,name,wnid\n", *(f'{at},"{n}",{w}\n' for at, (n, w) in enumerate(rows))]))
    (tmp_path / "truth.csv").write_text(f"file_name,label\n{name},{val_labels()[int(name[15:23]) - 1]}\n")
    own = ("--classes", classes, "--annotations", tmp_path / "truth.csv")
    answer = program(*world.arguments(tmp_path / "oov.parquet", *own, *world.table(**{name: [TRICYCLE]})))
    assert answer.status == 0, answer.err
    told = shlex.split(answer.out.splitlines()[-1].removeprefix("Next: imagenet-errors "))
    assert told[told.index("--classes") + 1] == str(classes)
    assert program(*told, "--no-check-order", "--out", tmp_path / "run").status == 0


@pytest.fixture
def world(tmp_path):
    """Twelve images of six predictions, with training images that need a real search."""
    pytest.importorskip("faiss", reason="faiss searches the training images")
    random = np.random.default_rng(3)
    things = ["boneshaker", "cart", "tricycle", "handcart", "car"]
    predicted = [UNICYCLE, TRICYCLE, SPOON, RULER]
    images = [
        (f"{random.choice(things)} 0.8, {random.choice(things)} {random.random():.3f}", predicted[at % 4])
        for at in range(12)
    ]
    train = {
        UNICYCLE: [f"cart {random.random():.3f}, handcart 0.5" for _ in range(20)],
        TRICYCLE: [f"boneshaker {random.random():.3f}, car 0.5" for _ in range(20)],
        TENCH: [f"tench 0.5, tricycle {random.random():.3f}" for _ in range(20)] + [""],
    }
    return make(tmp_path, images, train=train)


@pytest.fixture
def whole(program, world, tmp_path):
    """The table of a run that nothing disturbed."""
    answer = program(*world[0].arguments(tmp_path / "whole.parquet", *world[0].trained))
    assert answer.status == 1, "one training image is empty"
    return pq.read_table(tmp_path / "whole.parquet")


def test_training_images_are_embedded_and_searched(whole, world):
    assert len(whole) == 12
    assert {len(classes) for classes in whole["neighbour_classes"].to_pylist()} == {10}
    assert 0 < sum(whole["is_oov"].to_pylist()) < 12


def test_corrupt_and_missing_images_are_listed_and_the_rest_is_done(program, world, tmp_path):
    arguments = world[0].arguments(tmp_path / "oov.parquet", *world[0].trained)
    (tmp_path / "val" / world[1][0]).write_text("")
    (tmp_path / "val" / world[1][1]).unlink()
    answer = program(*arguments)
    assert answer.status == 1
    listed = pd.read_csv(tmp_path / "oov.work/failures.csv")
    assert sorted(listed["what"]) == ["image", "image", "image of the pool"]
    assert {*listed["name"]} > {*world[1][:2]}
    assert pq.read_table(tmp_path / "oov.parquet").num_rows == 10


def test_an_image_that_was_mended_is_done_by_the_next_run(program, world, whole, tmp_path):
    arguments = world[0].arguments(tmp_path / "oov.parquet", *world[0].trained)
    image = tmp_path / "val" / world[1][0]
    text = image.read_text()
    image.write_text("")
    assert program(*arguments).status == 1
    image.write_text(text)
    program(*arguments)
    assert pq.read_table(tmp_path / "oov.parquet").equals(whole)


def test_a_finished_run_started_again_does_nothing_and_loads_nothing(program, world, whole, tmp_path, monkeypatch):
    monkeypatch.setattr("imagenet_errors.oov.clip.load_encoder", None)
    answer = program(*world[0].arguments(tmp_path / "whole.parquet", *world[0].trained))
    assert answer.status == 0
    assert "0 cases decided now, 12 in" in answer.out


def test_a_second_model_adds_its_own_cases_only(program, world, whole, tmp_path):
    other = tmp_path / "other.csv"
    other.write_text(f"file_name,predicted_class\n{world[1][0]},{RULER}\n{world[1][1]},{TRICYCLE}\n")
    arguments = world[0].arguments(tmp_path / "whole.parquet", *world[0].trained, others=(other,))
    assert "1 cases decided now, 13 in" in program(*arguments).out.replace("1 case ", "1 cases ")
    kept = pq.read_table(tmp_path / "whole.parquet").to_pylist()
    assert all(row in kept for row in whole.to_pylist())


def test_two_runs_at_once_do_not_lose_each_others_rows(program, world, tmp_path, monkeypatch):
    arguments = world[0].arguments(tmp_path / "oov.parquet", *world[0].trained)
    build = evidence_world.build.build

    def overtaken(plan, *, meter):
        build(plan, meter=meter)
        return build(plan, meter=meter)

    monkeypatch.setattr(evidence_world.build, "build", overtaken)
    answer = program(*arguments)
    assert answer.status == 2
    assert "another run added rows meanwhile. Run the same command again." in answer.err
    assert pq.read_table(tmp_path / "oov.parquet").num_rows == 12


def test_plan_says_what_there_is_to_do_and_does_nothing(program, world, tmp_path):
    answer = program(*world[0].arguments(tmp_path / "oov.parquet", *world[0].trained, "--plan"))
    assert answer.status == 0
    assert "12 reach fine_grained_oov" in answer.out
    assert "images of the pool to embed: 61 of 61; then 12 images to search" in answer.out
    assert not (tmp_path / "oov.parquet").exists()
    assert not (tmp_path / "oov.work").exists()


def test_the_plan_as_json(program, world, tmp_path):
    answer = program(*world[0].arguments(tmp_path / "oov.parquet", *world[0].trained, "--plan", "--json"))
    assert json.loads(answer.out)["n_to_do"] == 12


def test_cases_explained_by_an_earlier_stage_get_no_evidence(program, tmp_path):
    goldfish = TENCH + 1
    world, names = make(tmp_path, [("cart 1", goldfish), ("cart 1", UNICYCLE)])
    table = world.table(**{name: [UNICYCLE] for name in names})
    (tmp_path / "annotations.csv").write_text(f"file_name,labels\n{names[0]},0 1\n{names[1]},0\n")
    program(*world.arguments(tmp_path / "oov.parquet", *table))
    assert pq.read_table(tmp_path / "oov.parquet")["file_name"].to_pylist() == names[1:]


def test_evaluate_and_why_use_the_table(program, world, whole, tmp_path):
    row = next(row for row in whole.to_pylist() if row["is_oov"])
    sources = ("--annotations", tmp_path / "annotations.csv", "--oov-evidence", tmp_path / "whole.parquet")
    run = ("evaluate", tmp_path / "model.csv", *sources, "--no-check-order", "--out", tmp_path / "run")
    assert program(*run).status == 0
    answer = program("why", tmp_path / "run", row["file_name"])
    assert "verdict: fine_grained_oov" in answer.out
    assert "nearest images of 61 images of train: " in answer.out
    assert f"kin of the prediction among the 10 nearest: {row['neighbour_support']}" in answer.out
    assert f"1. {row['best_name']}" in answer.out
    assert f"of {row['proposal_count']} proposals" in answer.out


@pytest.mark.parametrize("change", ["encoder", "superclasses", "neighbours"])
def test_rows_of_another_making_are_not_mixed(program, world, whole, tmp_path, change):
    (tmp_path / "own.toml").write_text("")
    more = {
        "encoder": ("--clip-weights", "laion2b", *world[0].trained),
        "superclasses": ("--superclasses", own_superclasses(tmp_path), *world[0].trained),
        "neighbours": world[0].table(**{world[1][0]: [1]}),
    }[change]
    answer = program(*world[0].arguments(tmp_path / "whole.parquet", *more))
    assert answer.status == 2
    assert f"was made with another {change}" in answer.err
    assert pq.read_table(tmp_path / "whole.parquet").equals(whole)


def own_superclasses(folder):
    path = folder / "own.json"
    path.write_text('{"wheels": [["wheeled_vehicle"]]}\n')
    return path


def test_redo_begins_the_table_anew_and_keeps_embeddings(program, world, whole, tmp_path):
    answer = program(
        *world[0].arguments(tmp_path / "whole.parquet", *world[0].trained),
        *("--superclasses", own_superclasses(tmp_path), "--redo", "--json"),
    )
    told = json.loads(answer.out)
    assert told["n_new"] == told["n_to_do"] == 12
    assert told["n_images_to_embed"] == told["n_pool_images_to_embed"] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(("--neighbours", "a.csv", "--train-images", "b"), "2 of them given", id="twice neighbours"),
        pytest.param(("--neighbours", "none.csv"), "none.csv: no such file", id="file that is not there"),
        pytest.param(("--train-images", "TMP", "--engine", "slurm"), "no engine 'slurm'", id="unknown engine"),
        pytest.param(
            ("--train-images", "TMP", "--stage-order", "fine_grained"), "fine_grained_oov is not in it", id="no stage"
        ),
    ],
)
def test_what_cannot_be_done_is_said_and_nothing_is_written(program, world, tmp_path, arguments, message):
    places = {"TMP": tmp_path / "train"}
    answer = program(*world[0].arguments(tmp_path / "oov.parquet"), *[places.get(a, a) for a in arguments])
    assert answer.status == 2
    assert message in answer.err
    assert not (tmp_path / "oov.parquet").exists()


def test_a_csv_file_is_not_written(program, world, tmp_path):
    answer = program(*world[0].arguments(tmp_path / "oov.csv", *world[0].trained))
    assert (answer.status, "written as Parquet" in answer.err) == (2, True)


def test_a_full_disk_is_reported_and_loses_nothing(program, world, whole, tmp_path, monkeypatch):
    sync, room = os.fsync, iter([True] * 8 + [False] * 100)

    def fsync(handle):
        if not next(room):
            raise OSError(28, "No space left on device")
        sync(handle)

    arguments = world[0].arguments(tmp_path / "oov.parquet", *world[0].trained)
    monkeypatch.setattr(os, "fsync", fsync)
    answer = program(*arguments)
    assert answer.status == 2
    assert "No space left on device" in answer.err
    assert "Make room and run the same command again" in answer.err
    assert not [*tmp_path.rglob("*.partial")]
    monkeypatch.setattr(os, "fsync", sync)
    assert program(*arguments).status == 1
    assert pq.read_table(tmp_path / "oov.parquet").equals(whole)


@pytest.mark.parametrize("cut", [0, 100, -1], ids=["empty", "its beginning only", "its last byte lost"])
def test_damaged_shards_are_made_again(program, world, whole, tmp_path, cut):
    for shard in (tmp_path / "whole.work").rglob("*.arrow"):
        shard.write_bytes(shard.read_bytes()[:cut])
    (tmp_path / "whole.parquet").unlink()
    program(*world[0].arguments(tmp_path / "whole.parquet", *world[0].trained))
    assert pq.read_table(tmp_path / "whole.parquet").equals(whole)


RUN = "import evidence_world, sys; evidence_world.install(); evidence_world.die_at(int(sys.argv.pop(1)))"


def killed(arguments, *, at=0, seconds=None):
    """Run the program in a process of its own that dies at its nth write or after a time; return its status."""
    paths = [str(Path(evidence_world.__file__).parent), *sys.path]
    command = [sys.executable, "-c", f"{RUN}; from imagenet_errors.cli import main; main()", str(at)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    with subprocess.Popen(
        [*command, *map(str, arguments)], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        try:
            process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.kill()
    return process.returncode


@pytest.mark.parametrize("seed", range(3))
def test_a_run_killed_at_random_writes_ends_with_the_same_table(world, whole, tmp_path, seed):
    random = np.random.default_rng(seed)
    arguments = world[0].arguments(tmp_path / "oov.parquet", *world[0].trained)
    statuses = [killed(arguments, at=int(random.integers(2, 14))) for _ in range(4)]
    assert statuses[0] == -signal.SIGKILL
    assert killed(arguments) in (0, 1)
    assert pq.read_table(tmp_path / "oov.parquet").equals(whole)
    assert not [*tmp_path.rglob("*.partial")]


@pytest.mark.parametrize("seed", range(2))
def test_a_run_killed_at_random_times_ends_with_the_same_table(world, whole, tmp_path, seed):
    random = np.random.default_rng(100 + seed)
    arguments = world[0].arguments(tmp_path / "oov.parquet", *world[0].trained)
    for _ in range(3):
        killed(arguments, seconds=random.uniform(0.8, 2.5))
    assert killed(arguments) in (0, 1)
    assert pq.read_table(tmp_path / "oov.parquet").equals(whole)


def published(folder, names, classes):
    """Write neighbours as the published program does."""
    np.savez(folder / "valid_clip_knn.npz", topk_train_indices=classes, topk_train_targets=classes)
    files = np.array([f"n01440764/{name}" for name in names])
    np.savez(folder / "samples_info.npz", sample_files=files, targets=np.zeros(len(names), int))
    return folder / "valid_clip_knn.npz"


def test_published_neighbours_serve(program, tmp_path):
    world, names = make(tmp_path, [(BONESHAKER, UNICYCLE), (BONESHAKER, UNICYCLE)])
    classes = np.array([[TRICYCLE] * 50, [TENCH] * 50])
    path = published(tmp_path, names, classes)
    assert program(*world.arguments(tmp_path / "oov.parquet", "--neighbours", path)).status == 0
    assert pq.read_table(tmp_path / "oov.parquet")["is_oov"].to_pylist() == [True, False]


def without_pool(path):
    """Return a table without the column that says in words what its pool is."""
    return pq.read_table(path).drop(["pool"])


def test_published_embeddings_give_what_the_images_give(program, world, whole, tmp_path):
    paths = sorted(path for path in (tmp_path / "train").rglob("*.JPEG") if path.read_text())
    np.savez(
        tmp_path / "train_clip_embeddings.npz",
        train_files=np.array([path.name for path in paths]),
        targets=np.array([evidence_world.CLASSES.index_of_wnid[path.parent.name] for path in paths]),
        embeddings=7 * np.array([evidence_world.shown(path.read_text()) for path in paths], dtype=np.float32),
    )
    given = ("--train-embeddings", tmp_path / "train_clip_embeddings.npz")
    assert program(*world[0].arguments(tmp_path / "oov.parquet", *given)).status == 0
    assert without_pool(tmp_path / "oov.parquet").equals(whole.drop(["pool"]))


def test_shards_of_another_run_serve(program, world, whole, tmp_path):
    (folder,) = (tmp_path / "whole.work").glob("*/pool")
    arguments = world[0].arguments(tmp_path / "oov.parquet", "--train-embeddings", folder)
    assert program(*arguments).status == 0
    assert without_pool(tmp_path / "oov.parquet").equals(whole.drop(["pool"]))


def test_shards_of_another_encoder_are_refused(program, world, whole, tmp_path):
    (folder,) = (tmp_path / "whole.work").glob("*/pool")
    other = ("--train-embeddings", folder, "--clip-weights", "laion2b")
    answer = program(*world[0].arguments(tmp_path / "oov.parquet", *other))
    assert answer.status == 2
    assert "of another encoder than ViT-L-14-336-quickgelu/laion2b" in answer.err


def test_without_a_case_there_is_a_table_without_rows(program, tmp_path):
    world, (name,) = make(tmp_path, [("tench 1", TENCH)])
    assert program(*world.arguments(tmp_path / "oov.parquet", *world.table(**{name: [1]}))).status == 0
    assert pq.read_table(tmp_path / "oov.parquet").num_rows == 0


def test_images_without_neighbours_are_listed(program, tmp_path):
    world, names = make(tmp_path, [(BONESHAKER, UNICYCLE), (BONESHAKER, UNICYCLE)])
    answer = program(*world.arguments(tmp_path / "oov.parquet", *world.table(**{names[0]: [TRICYCLE]})))
    assert answer.status == 1
    assert f"1 image could not be used: {names[1]}: no neighbours are known" in answer.out


def test_a_library_that_is_missing_is_named_with_its_extra(program, tmp_path, monkeypatch):
    world, (name,) = make(tmp_path, [(BONESHAKER, UNICYCLE)])
    monkeypatch.undo()
    monkeypatch.setitem(sys.modules, "open_clip", None)
    answer = program(*world.arguments(tmp_path / "oov.parquet", *world.table(**{name: [1]})))
    assert answer.status == 2
    assert "[clip]" in answer.err


def test_without_a_pool_the_evaluated_images_are_it_and_none_is_its_own_neighbour(program, tmp_path):
    """Two images of equal content are labelled spoon: neither is the neighbour of the other."""
    pytest.importorskip("faiss", reason="faiss searches the pool")
    world, names = make(tmp_path, [(BONESHAKER, UNICYCLE), (BONESHAKER, UNICYCLE), ("cart 1", TENCH)])
    rows = [f"{name},{label}" for name, label in zip(names, (SPOON, SPOON, TENCH), strict=True)]
    (tmp_path / "annotations.csv").write_text(
        "\n".join(["file_name,labels,label", *(f"{row},{row.split(',')[1]}" for row in rows)])
    )
    answer = program(*world.arguments(tmp_path / "oov.parquet"))
    assert answer.status == 0, answer.err
    assert "pool: the 3 evaluated images themselves, each left out for itself" in answer.out
    for row in pq.read_table(tmp_path / "oov.parquet").to_pylist():
        assert row["neighbour_classes"] == [TENCH], "the other spoon is a duplicate, by its content"
        assert row["pool"] == "the 3 evaluated images themselves, each left out for itself"


def test_a_folder_of_any_labelled_images_is_a_pool(program, world, whole, tmp_path):
    arguments = world[0].arguments(tmp_path / "oov.parquet", "--pool", tmp_path / "train")
    assert program(*arguments).status == 1
    assert pq.read_table(tmp_path / "oov.parquet").equals(whole)
    sampled = world[0].arguments(tmp_path / "few.parquet", "--pool", tmp_path / "train", "--pool-per-class", 2)
    answer = program(*sampled)
    assert "images of train, 2 of each class at most" in answer.out


def test_the_commonest_cases_can_be_done_first(program, world, tmp_path):
    other = tmp_path / "other.csv"
    other.write_text(f"file_name,predicted_class\n{world[1][0]},{UNICYCLE}\n{world[1][1]},{TRICYCLE}\n")
    arguments = world[0].arguments(tmp_path / "oov.parquet", *world[0].trained, "--cover", 0.1, others=(other,))
    answer = program(*arguments, "--plan")
    assert "are left for later: the others are 10% of what the models did" in answer.out


def test_tables_are_joined_and_planned_from_the_command_line(program, world, whole, tmp_path):
    half = whole.slice(0, 5)
    pq.write_table(half, tmp_path / "half.parquet")
    answer = program(
        "evidence", "merge", tmp_path / "half.parquet", tmp_path / "whole.parquet", "--out", tmp_path / "m.parquet"
    )
    assert answer.status == 0, answer.err
    assert "12 cases in" in answer.out
    assert "5 of them in several tables" in answer.out
    reading = ("--annotations", tmp_path / "annotations.csv", "--no-check-order")
    given = (
        tmp_path / "model.csv",
        *reading,
        "--oov-evidence",
        tmp_path / "half.parquet",
        "--out",
        tmp_path / "todo.csv",
    )
    answer = program("evidence", "plan", *given)
    assert answer.status == 0, answer.err
    assert "12 cases, 5 of them covered" in answer.out
    assert len(pd.read_csv(tmp_path / "todo.csv")) == 7
