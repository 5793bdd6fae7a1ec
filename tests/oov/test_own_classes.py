"""Out-of-vocabulary evidence for classes of one's own that have wnids, from images to verdicts."""

import pyarrow.parquet as pq
import pytest

from clip_models import write_config, write_image

CLASSES = {"cat": "n02121620", "dog": "n02084071", "car": "n02958343", "chair": "n03001627"}
PETS = 'domain = "d"\n[[superclass]]\nname = "pets"\nreason = "r"\nclasses = ["0 cat", "1 dog"]\n'


@pytest.fixture
def world(tmp_path):
    """Images in folders by class, and a model that calls every second one by the next class."""
    for library in ("torch", "open_clip", "faiss"):
        pytest.importorskip(library, reason=f"needs the extra oov: {library} is not installed")
    rows = [f"{index},{name},{wnid}" for index, (name, wnid) in enumerate(CLASSES.items())]
    (tmp_path / "classes.csv").write_text("\n".join(["index,name,wnid", *rows]) + "\n")
    (tmp_path / "pets.toml").write_text(PETS)
    predicted = []
    for index, name in enumerate(CLASSES):
        for number in range(6):
            write_image(tmp_path / "images" / name / f"{number}.jpg", seed=10 * index + number)
            write_image(tmp_path / "pool" / name / f"{number}.jpg", seed=1000 + 10 * index + number)
            predicted.append(f"{name}/{number}.jpg,{(index + number % 2) % len(CLASSES)}")
    (tmp_path / "model.csv").write_text("\n".join(["file_name,prediction", *predicted]) + "\n")
    return tmp_path


def common(world):
    return ("--classes", world / "classes.csv", "--superclasses", world / "pets.toml")


def evidence(program, world, *more):
    clip = ("--clip-model", write_config(world), "--clip-weights", "random:0", "--device", "cpu")
    given = ("evidence", world / "model.csv", "--images", world / "images", "--out", world / "oov.parquet")
    return program(*given, *common(world), *clip, *more)


@pytest.mark.parametrize("pool", [(), ("--pool", "pool")], ids=["the images themselves", "a folder by class"])
def test_evidence_is_found_and_decides(program, world, pool):
    answer = evidence(program, world, *(world / part if part == "pool" else part for part in pool))
    assert answer.status == 0, answer.err
    table = pq.read_table(world / "oov.parquet").to_pylist()
    assert len(table) == 9  # of 12 mistakes the three dogs called cats are fine-grained before
    assert {row["prediction"] for row in table} <= {0, 2, 3}
    answer = program("evaluate", world / "model.csv", *common(world), "--oov-evidence", world / "oov.parquet",
                     "--out", world / "run")  # fmt: skip
    assert answer.status == 0, answer.err
    rows = pq.read_table(world / "run" / "distribution.parquet").to_pylist()
    found = {row["error_type"]: row["count"] for row in rows if row["group"] == "all"}
    assert found["fine_grained"] == 3
    assert found["fine_grained_oov"] == sum(row["is_oov"] for row in table)
    answer = program("why", world / "run", f"{'dog'}/1.jpg")
    assert answer.status == 0
    assert "fine_grained_oov" in answer.out


def test_classes_without_wnids_are_refused_with_the_way_out_and_their_stage_has_not_run(program, world):
    rows = [f"{index},{name}" for index, name in enumerate(CLASSES)]
    (world / "classes.csv").write_text("\n".join(["index,name", *rows]) + "\n")
    answer = evidence(program, world)
    assert answer.status == 2
    assert "wnid" in answer.err
    answer = program("evaluate", world / "model.csv", *common(world), "--out", world / "run")
    assert "Stage fine_grained_oov did not run" in answer.out
