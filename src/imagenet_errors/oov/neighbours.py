"""Which images of a pool lie nearest to an image: exact search by inner product, in bounded memory.

faiss finds candidates in float32, block by block; their cosines are then computed exactly, so that the order, ties
included, is a fact of the vectors and not of the batch (see :mod:`imagenet_errors.oov.cosine`). Where the
candidates' margin does not prove that no other row belongs among the k nearest, the query is searched exactly.

Source: Peychev et al., NeurIPS 2023 (fine-grained OOV errors): 10 nearest training images in CLIP space; their
    published file keeps 50.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from imagenet_errors.oov.cosine import Float64, is_unit, on_grid
from imagenet_errors.oov.pool import Pool
from imagenet_errors.problems import InputError
from imagenet_errors.shipped import needs

N_KEPT, N_USED = 50, 10
"""Source: the published ``valid_clip_knn.npz`` holds 50; the method uses 10."""
_MARGIN = 50
"""Candidates beyond the k asked for: proof that none is missed, and from 100 on faiss collects them faster."""
_BLOCK_ROWS = 131_072
_QUERIES_AT_ONCE = 128
_FLOAT32_STEP = 2.0**-24
Halves = NDArray[np.float16]


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The k nearest images of the pool for each of q queries, nearest first; of equals, the lower row first.

    ``rows`` int32, ``classes`` int16 and ``similarity`` float32, all [q, k]. Where there are fewer than k images, and
    in rows whose query is no unit vector (a NaN, zeros), they hold -1, -1 and -inf.
    """

    rows: NDArray[np.int32]
    classes: NDArray[np.int16]
    similarity: NDArray[np.float32]


def search(
    queries: NDArray[np.float32], pool: Pool, *, k: int = N_KEPT, content: NDArray[np.uint64] | None = None
) -> Neighbours:
    """Return the k nearest images of the pool by cosine of queries [q, d].

    ``content`` uint64 [q]: the queries' codes; an image of the same content, the query itself above all, is never
    its neighbour.

    Raises
    ------
    InputError
        faiss is not installed, or the vectors are not as long as the pool's are.
    """
    if queries.ndim != 2 or queries.shape[1] != pool.dim:
        what = f"images have {queries.shape[-1]} dimensions, those of the pool {pool.dim}"
        raise InputError("neighbours", what, fix="Embed both with the same encoder.")
    rows = np.full((len(queries), k), -1, dtype=np.int64)
    similarity = np.full((len(queries), k), -np.inf)
    usable = np.flatnonzero(is_unit(queries))
    if usable.size:
        codes = np.zeros(len(queries), dtype=np.uint64) if content is None else content
        n_found = min(k + _n_alike(codes, pool), len(pool))
        found = _search(queries[usable], pool, n_found)
        found = _without_itself(*found, codes[usable], pool, k=k)
        n_found = min(k, n_found)
        rows[usable, :n_found], similarity[usable, :n_found] = found
    classes = np.where(rows >= 0, pool.classes[rows], -1).astype(np.int16)
    clipped = np.minimum(similarity, 1.0).astype(np.float32)  # rounded rows may come out at 1.0001
    return Neighbours(rows.astype(np.int32), classes, clipped)


def _n_alike(content: NDArray[np.uint64], pool: Pool) -> int:
    """Return how many images of the pool at most have the content of one query."""
    shared = pool.content[np.isin(pool.content, content[content > 0])]
    return int(np.unique(shared, return_counts=True)[1].max(initial=0))


def _without_itself(
    rows: NDArray[np.int64], similarity: Float64, content: NDArray[np.uint64], pool: Pool, *, k: int
) -> tuple[NDArray[np.int64], Float64]:
    """Return the k nearest that do not have the query's content; -1 and -inf where there are fewer."""
    is_itself = (pool.content[rows] == content[:, None]) & (content > 0)[:, None]
    order = np.argsort(is_itself, axis=1, kind="stable")[:, :k]
    is_itself = np.take_along_axis(is_itself, order, axis=1)
    return (
        np.where(is_itself, -1, np.take_along_axis(rows, order, axis=1)),
        np.where(is_itself, -np.inf, np.take_along_axis(similarity, order, axis=1)),
    )


def _search(queries: NDArray[np.float32], pool: Pool, k: int) -> tuple[NDArray[np.int64], Float64]:
    candidates, rough = _candidates(queries, pool, min(k + _MARGIN, len(pool)))
    exact, error = on_grid(queries), 2 * pool.dim * _FLOAT32_STEP  # of a float32 sum of d products
    possible = _possible(candidates, rough, k, error)
    rows, similarity = _ranked(possible, _similarities(exact, possible, pool), k)
    if candidates.shape[1] < len(pool):
        doubtful = np.flatnonzero(similarity[:, -1] <= rough.min(axis=1) + error)
        if doubtful.size:
            rows[doubtful], similarity[doubtful] = _search_exactly(exact[doubtful], pool, k)
    return rows, similarity


def _possible(candidates: NDArray[np.int64], rough: NDArray[np.float32], k: int, error: float) -> NDArray[np.int64]:
    """Return the candidates [q, m] that may be among the k nearest, for all that float32 could have turned."""
    order = np.argsort(-rough, axis=1)
    nearness = np.take_along_axis(rough, order, axis=1)
    n_possible = int((nearness >= nearness[:, k - 1 : k] - 2 * error).sum(axis=1).max())
    return np.take_along_axis(candidates, order[:, :n_possible], axis=1)


def _candidates(queries: NDArray[np.float32], pool: Pool, n: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return rows and float32 similarities [q, n] of the n nearest, in no particular order."""
    faiss = needs("faiss", extra="clip")
    queries = np.ascontiguousarray(queries, dtype=np.float32)
    best_rows = np.empty((len(queries), 0), dtype=np.int64)
    best = np.empty((len(queries), 0), dtype=np.float32)
    with ThreadPoolExecutor(faiss.omp_get_max_threads()) as threads:
        for start, block in pool.blocks(_BLOCK_ROWS, widen=_widener(faiss, pool.dim, threads)):
            near, rows = faiss.knn(queries, block, min(n, len(block)), metric=faiss.METRIC_INNER_PRODUCT)
            best, best_rows = np.hstack([best, near]), np.hstack([best_rows, rows + start])
            if best.shape[1] > n:
                kept = np.argpartition(-best, n - 1, axis=1)[:, :n]
                best, best_rows = np.take_along_axis(best, kept, axis=1), np.take_along_axis(best_rows, kept, axis=1)
    return best_rows, best


def _widener(faiss: Any, dim: int, threads: ThreadPoolExecutor) -> Callable[[Halves, NDArray[np.float32]], object]:
    """Return what writes float16 rows into float32 ones, on all cores: faiss's own and numpy's take one."""
    half = faiss.ScalarQuantizer(dim, faiss.ScalarQuantizer.QT_fp16)

    def widen_part(rows: Halves, into: NDArray[np.float32]) -> None:
        codes = np.ascontiguousarray(rows).view(np.uint8)
        half.decode_c(faiss.swig_ptr(codes), faiss.swig_ptr(into), len(rows))

    def widen(rows: Halves, into: NDArray[np.float32]) -> None:
        step = max(1, -(-len(rows) // faiss.omp_get_max_threads()))
        parts = [slice(at, at + step) for at in range(0, len(rows), step)]
        for _ in threads.map(widen_part, [rows[part] for part in parts], [into[part] for part in parts]):
            pass

    return widen


def _similarities(queries: Float64, rows: NDArray[np.int64], pool: Pool) -> Float64:
    """Return the exact similarities [q, m] of each query with its own rows."""
    similarity = np.empty(rows.shape)
    for start in range(0, len(queries), _QUERIES_AT_ONCE):
        part = slice(start, start + _QUERIES_AT_ONCE)
        vectors = pool.take(rows[part].ravel()).astype(np.float64).reshape(*rows[part].shape, -1)
        similarity[part] = np.einsum("qd,qmd->qm", queries[part], vectors, optimize=True)
    return similarity


def _search_exactly(queries: Float64, pool: Pool, k: int) -> tuple[NDArray[np.int64], Float64]:
    rows = np.empty((len(queries), 0), dtype=np.int64)
    similarity = np.empty((len(queries), 0))
    for start, block in pool.blocks(_BLOCK_ROWS // 8):
        here = np.broadcast_to(np.arange(start, start + len(block)), (len(queries), len(block)))
        rows, similarity = _ranked(
            np.hstack([rows, here]), np.hstack([similarity, queries @ block.astype(np.float64).T]), k
        )
    return rows, similarity


def _ranked(rows: NDArray[np.int64], similarity: Float64, k: int) -> tuple[NDArray[np.int64], Float64]:
    """Return the k most similar, most similar first, of equals the lower row first."""
    order: NDArray[Any] = np.lexsort((rows, -similarity), axis=1)[:, :k]
    return np.take_along_axis(rows, order, axis=1), np.take_along_axis(similarity, order, axis=1)
