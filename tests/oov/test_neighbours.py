"""The search finds what brute force finds, whatever the ties, and in whatever blocks."""

import numpy as np
import pytest

from imagenet_errors.oov import neighbours
from imagenet_errors.oov.cosine import normalised
from imagenet_errors.oov.neighbours import search
from imagenet_errors.oov.pool import load_pool, pool_identity, pool_table
from imagenet_errors.oov.shards import write_shard
from imagenet_errors.problems import InputError

pytest.importorskip("faiss", reason="faiss does the search")
RANDOM = np.random.default_rng(5)
QUERIES = normalised(RANDOM.standard_normal((37, 48)))


def saved(folder, vectors, *, shard_rows=100, content=None):
    paths = []
    for start in range(0, len(vectors), shard_rows):
        part = slice(start, start + shard_rows)
        names = [f"{row}.JPEG" for row in range(len(vectors))][part]
        classes = (np.arange(len(vectors)) % 1000)[part].astype(np.int16)
        paths.append(folder / f"{start:05}.arrow")
        codes = None if content is None else content[part]
        write_shard(paths[-1], pool_table(names, classes, vectors[part], codes), pool_identity("a/b"))
    return load_pool(paths, "a/b", where=folder)


def brute_force(queries, vectors, k):
    """Every cosine in float64, sorted stably: of equals the lower row first."""
    stored = vectors.astype(np.float16).astype(np.float64)
    similarity = queries.astype(np.float64) @ stored.T
    order = np.argsort(-similarity, axis=1, kind="stable")[:, :k]
    return order, np.take_along_axis(similarity, order, axis=1)


@pytest.mark.parametrize("block", [64, 65_536], ids=["many blocks", "one block"])
@pytest.mark.parametrize("k", [1, 10, 50])
def test_it_equals_brute_force(tmp_path, monkeypatch, k, block):
    monkeypatch.setattr(neighbours, "_BLOCK_ROWS", block)
    vectors = normalised(RANDOM.standard_normal((1234, 48)))
    found = search(QUERIES, saved(tmp_path, vectors), k=k)
    rows, similarity = brute_force(QUERIES, vectors, k)
    assert np.array_equal(found.rows, rows)
    assert np.allclose(found.similarity, similarity, atol=1e-6)
    assert np.array_equal(found.classes, rows % 1000)


@pytest.mark.parametrize("n_equal", [2, 30, 500], ids="{} times".format)
def test_of_equally_near_images_the_lower_rows_come_first(tmp_path, n_equal):
    few = normalised(RANDOM.standard_normal((40, 48)))
    vectors = np.tile(few, (n_equal, 1))
    found = search(few[:5], saved(tmp_path, vectors), k=10)
    expected = [[row + 40 * copy for copy in range(min(10, n_equal))] for row in range(5)]
    assert found.rows[:, : len(expected[0])].tolist() == expected


def test_a_query_is_answered_the_same_alone_and_among_others(tmp_path):
    train = saved(tmp_path, normalised(RANDOM.standard_normal((999, 48))))
    among = search(QUERIES, train)
    for row in range(0, 37, 9):
        alone = search(QUERIES[row : row + 1], train)
        assert np.array_equal(alone.rows[0], among.rows[row])
        assert np.array_equal(alone.similarity[0], among.similarity[row])


def test_fewer_images_than_asked_for_leave_places_empty(tmp_path):
    vectors = normalised(RANDOM.standard_normal((5, 48)))
    found = search(QUERIES, saved(tmp_path, vectors), k=10)
    assert np.array_equal(np.sort(found.rows[:, :5]), np.tile(np.arange(5), (37, 1)))
    assert (found.rows[:, 5:] == -1).all()
    assert (found.classes[:, 5:] == -1).all()
    assert np.isneginf(found.similarity[:, 5:]).all()


@pytest.mark.parametrize("value", [np.nan, 0, np.inf], ids=["NaN", "zeros", "infinite"])
def test_a_query_without_direction_has_no_neighbours(tmp_path, value):
    queries = QUERIES[:3].copy()
    queries[1] = value
    found = search(queries, saved(tmp_path, normalised(RANDOM.standard_normal((99, 48)))))
    assert (found.rows[1] == -1).all()
    assert (found.rows[[0, 2]] >= 0).all()


def test_no_similarity_exceeds_1(tmp_path):
    vectors = normalised(RANDOM.standard_normal((200, 48)))
    found = search(vectors, saved(tmp_path, vectors), k=1)
    assert found.similarity.max() <= 1
    assert np.array_equal(found.rows[:, 0], np.arange(200))


def test_vectors_of_another_length_are_refused(tmp_path):
    train = saved(tmp_path, normalised(RANDOM.standard_normal((9, 48))))
    with pytest.raises(InputError, match="images have 64 dimensions, those of the pool 48"):
        search(normalised(RANDOM.standard_normal((2, 64))), train)


def test_no_query_has_no_answer(tmp_path):
    train = saved(tmp_path, normalised(RANDOM.standard_normal((9, 48))))
    assert search(QUERIES[:0], train).rows.shape == (0, 50)


def test_an_image_and_its_duplicates_are_never_its_own_neighbours(tmp_path):
    vectors = normalised(RANDOM.standard_normal((300, 48)))
    vectors[200:206] = vectors[7]
    content = np.arange(1, 301, dtype=np.uint64)
    content[200:206] = content[7]
    found = search(vectors, saved(tmp_path, vectors, content=content), k=10, content=content)
    nearest, _ = brute_force(vectors, vectors, 300)
    expected = [[row for row in rows if content[row] != content[query]][:10] for query, rows in enumerate(nearest)]
    assert found.rows.tolist() == expected


def test_when_nothing_else_is_there_an_image_has_no_neighbour(tmp_path):
    vectors = np.tile(normalised(RANDOM.standard_normal((1, 48))), (3, 1))
    content = np.array([5, 5, 5], dtype=np.uint64)
    found = search(vectors[:1], saved(tmp_path, vectors, content=content), k=2, content=content[:1])
    assert found.rows.tolist() == [[-1, -1]]
    assert found.classes.tolist() == [[-1, -1]]
    assert np.isneginf(found.similarity).all()


def test_unknown_content_is_not_equal_content(tmp_path):
    vectors = normalised(RANDOM.standard_normal((20, 48)))
    found = search(vectors[:4], saved(tmp_path, vectors), k=1, content=np.zeros(4, dtype=np.uint64))
    assert found.rows.ravel().tolist() == [0, 1, 2, 3]
