"""A pool's embeddings lie in shards that can be made anywhere and read as one."""

import numpy as np
import pytest

from evidence_world import CLASSES, install, vector
from imagenet_errors.image_folder import labelled_images
from imagenet_errors.oov.clip import EncoderSpec
from imagenet_errors.oov.cosine import normalised
from imagenet_errors.oov.pool import content_codes, embed_shard, embed_tasks, load_pool, pool_identity, pool_table
from imagenet_errors.oov.shards import failures_stated, write_shard
from imagenet_errors.problems import InputError

SPEC = EncoderSpec()


@pytest.fixture(autouse=True)
def hand_made(monkeypatch):
    install(monkeypatch.setattr)


def test_equal_files_have_equal_codes_and_none_is_0(tmp_path):
    for name, text in (("a", "1"), ("b", "2"), ("c", "1")):
        (tmp_path / name).write_text(text)
    one, two, three = content_codes([tmp_path / name for name in "abc"]).tolist()
    assert one == three != two
    assert 0 not in (one, two)


@pytest.fixture
def tasks(tmp_path):
    for row in range(40):
        path = tmp_path / "train" / CLASSES.wnids[row % 4] / f"{row}.JPEG"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("" if row == 9 else f"thing{row} 1")
    return embed_tasks(SPEC, labelled_images(tmp_path / "train", CLASSES), tmp_path / "out")


def test_every_image_is_in_one_task(tasks):
    assert [len(task.files) for task in tasks] == [16, 16, 8]
    assert len({file for task in tasks for file in task.files}) == 40
    assert [task.path.name[:6] for task in tasks] == ["00000-", "00001-", "00002-"]


def test_shards_hold_vectors_and_classes_of_what_could_be_read(tasks, tmp_path):
    assert [embed_shard(task) for task in tasks] == [16, 16, 8]
    train = load_pool([task.path for task in tasks], SPEC.identity, where=tmp_path)
    files = [file for task in tasks for file in task.files if not file.endswith("/9.JPEG")]
    assert train.classes.tolist() == [CLASSES.index_of_wnid[file.split("/")[0]] for file in files]
    expected = [vector(f"thing{file.split('/')[1][:-5]}") for file in files]
    assert np.allclose(train.take(np.arange(39)), expected, atol=1e-3)
    assert train.matrices[0].dtype == np.float16
    assert [file for task in tasks for file in failures_stated(task.path)] == ["n01443537/9.JPEG"]


def test_a_task_is_done_when_its_shard_is_whole(tasks):
    assert not tasks[0].is_done
    embed_shard(tasks[0])
    assert tasks[0].is_done
    tasks[0].path.write_bytes(tasks[0].path.read_bytes()[:-1])
    assert not tasks[0].is_done


def test_other_images_are_other_shards(tasks, tmp_path):
    (tmp_path / "train" / CLASSES.wnids[0] / "00.JPEG").write_text("new 1")
    again = embed_tasks(SPEC, labelled_images(tmp_path / "train", CLASSES), tmp_path / "out")
    assert {task.path for task in again}.isdisjoint(task.path for task in tasks)


@pytest.mark.parametrize("n_rows", [7, 16, 100])
def test_blocks_run_through_all_rows(tasks, tmp_path, n_rows):
    for task in tasks:
        embed_shard(task)
    train = load_pool([task.path for task in tasks], SPEC.identity, where=tmp_path)
    blocks = [(start, block.copy()) for start, block in train.blocks(n_rows)]
    assert np.array_equal(np.vstack([block for _, block in blocks]), train.take(np.arange(39)).astype(np.float32))
    assert [start for start, _ in blocks] == list(range(0, 39, n_rows))


def test_a_shard_that_is_missing_or_anothers_is_refused(tasks, tmp_path):
    embed_shard(tasks[0])
    with pytest.raises(InputError, match=r"2 shards missing.* \(first: 00001-\w+.arrow: missing\)"):
        load_pool([task.path for task in tasks], SPEC.identity, where=tmp_path)
    with pytest.raises(InputError, match=r"of another encoder than other/tag .*quickgelu/openai\)"):
        load_pool([tasks[0].path], "other/tag", where=tmp_path)


def test_vectors_that_are_not_of_length_1_are_refused(tmp_path):
    rows = 3 * normalised(np.random.default_rng(0).standard_normal((4, 8)))
    write_shard(tmp_path / "a.arrow", pool_table(list("abcd"), np.zeros(4, np.int16), rows), pool_identity("a/b"))
    with pytest.raises(InputError, match="4 rows of 4 not of length 1"):
        load_pool([tmp_path / "a.arrow"], "a/b", where=tmp_path)


def test_a_set_without_images_is_refused(tmp_path):
    with pytest.raises(InputError, match="not one embedding"):
        load_pool([], "a/b", where=tmp_path)
