"""What a pool is, is told by its content."""

import numpy as np
import pytest

from imagenet_errors.oov.request import PoolChoice
from imagenet_errors.problems import InputError


def test_one_pool_at_most(tmp_path):
    PoolChoice().check()
    PoolChoice(neighbours=tmp_path).check()
    with pytest.raises(InputError, match="3 of them given"):
        PoolChoice(tmp_path, tmp_path, tmp_path).check()


def test_a_folder_of_shards_is_not_one_of_images(tmp_path):
    assert PoolChoice.of(tmp_path) == PoolChoice(images=tmp_path)
    (tmp_path / "00000.arrow").touch()
    assert PoolChoice.of(tmp_path) == PoolChoice(embeddings=tmp_path)


@pytest.mark.parametrize(
    ("arrays", "kind"),
    [
        pytest.param({"topk_train_targets": np.zeros((2, 50))}, "neighbours", id="published neighbours"),
        pytest.param({"embeddings": np.zeros((2, 3)), "targets": np.zeros(2)}, "embeddings", id="embeddings"),
    ],
)
def test_npz_files_are_told_by_their_arrays(tmp_path, arrays, kind):
    np.savez(tmp_path / "x.npz", **arrays)
    assert PoolChoice.of(tmp_path / "x.npz") == PoolChoice(**{kind: tmp_path / "x.npz"})


def test_a_table_is_one_of_neighbours(tmp_path):
    (tmp_path / "x.csv").write_text("file_name,neighbour_classes\n")
    assert PoolChoice.of(tmp_path / "x.csv").neighbours == tmp_path / "x.csv"


@pytest.mark.parametrize("choice", [{"embeddings": True}, {"per_class": 0}], ids=["embeddings", "none of each class"])
def test_only_images_can_be_sampled(tmp_path, choice):
    given = {"per_class": 3} | {key: tmp_path if value is True else value for key, value in choice.items()}
    with pytest.raises(InputError, match="images of each class cannot be taken"):
        PoolChoice(**given).check()
