"""WordNet 3.0's nouns: names, lemmas, and what lies above and below a synset.

A synset is a row here, 0..82,114, by ascending offset. "Above" runs through instance hypernyms too;
"below" follows plain hyponyms only.

Source: Fellbaum 1998, *WordNet: An Electronic Lexical Database*; names and relations as nltk reads them
    (it keeps relations in sets whose order changes from run to run: here they ascend).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from imagenet_errors.labels import LabelSpace
from imagenet_errors.problems import InputError, counted
from imagenet_errors.shipped import shipped
from imagenet_errors.tables import Ragged

Rows = NDArray[np.int32]

_WNID = re.compile(r"n\d{8}")
_SPELLING = 'Write a synset as "terrier.n.01" or "n02092468"'


@dataclass(frozen=True, eq=False)
class Wordnet:
    """The S noun synsets and their links; names and lemmas are read from ``path`` when first asked for.

    ``synsets`` int32 [S] are the offsets in the database, ascending; a wnid is ``n`` and eight digits of one.
    ``hypernym_links`` lists plain hypernyms, then instance hypernyms; ``hyponym_links`` plain hyponyms; each
    ascending.
    """

    synsets: NDArray[np.int32]
    hypernym_links: Ragged
    hyponym_links: Ragged
    path: Path

    def __len__(self) -> int:
        """Return the number of synsets S."""
        return len(self.synsets)

    @cached_property
    def names(self) -> pa.StringArray:
        """Every synset's name as nltk writes it: ``terrier.n.01``."""
        return _read(self.path, "name")[0]

    @cached_property
    def lemma_lists(self) -> pa.ListArray:
        """Every synset's lemmas, with underscores, as an Arrow list array [S]."""
        return _read(self.path, "lemmas")[0]

    def rows(self, keys: Sequence[str], *, where: Path | str = "WordNet 3.0") -> Rows:
        """Return the rows of synsets written as names or wnids, int32 [n]; quick for many at once.

        Raises
        ------
        InputError
            One is no noun synset of WordNet 3.0; the text suggests what may be meant.
        """
        found = np.full(len(keys), -1, dtype=np.int32)
        is_wnid = np.array([bool(_WNID.fullmatch(key)) for key in keys], dtype=np.bool_)
        found[is_wnid] = self._rows_of_offsets([int(key[1:]) for key in keys if _WNID.fullmatch(key)])
        if not is_wnid.all():
            found[~is_wnid] = self._rows_of_names([key for key in keys if not _WNID.fullmatch(key)])
        missing = np.flatnonzero(found < 0)
        if missing.size:
            raise self._unknown(keys[missing[0]], n_missing=missing.size, where=where)
        return found

    def rows_of_classes(self, labels: LabelSpace) -> Rows:
        """Return the row of each class's synset, int32 [C].

        Raises
        ------
        InputError
            A class has no wnid, or it is none of WordNet 3.0.
        """
        bare = [index for index, wnid in enumerate(labels.wnids) if not wnid]
        if bare:
            raise InputError(
                "--classes",
                f"{counted(len(bare), 'class', 'classes')} without a wnid: what is kin is told by WordNet",
                example=labels.names[bare[0]],
                fix="Add a column wnid (n02121620 for cat): WordNet 3.0's synset of each class.",
            )
        return self.rows(labels.wnids, where="the classes' wnids")

    def row(self, key: str, *, where: Path | str = "WordNet 3.0") -> int:
        """Return the row of one synset, written as a name or a wnid; raises like :meth:`rows`."""
        return int(self.rows([key], where=where)[0])

    def name(self, row: int) -> str:
        """Return the synset's name: ``"terrier.n.01"``."""
        return str(self.names[row])

    def wnid(self, row: int) -> str:
        """Return ``n`` and the eight digits of the synset's offset: ``"n02093256"``."""
        return f"n{self.synsets[row]:08d}"

    def lemmas(self, row: int) -> tuple[str, ...]:
        """Return the synset's lemmas as the database writes them: ``("tench", "Tinca_tinca")``."""
        return tuple(self.lemma_lists[row].as_py())

    def hypernyms(self, row: int) -> Rows:
        """Return the direct hypernyms, plain ones first, then instance hypernyms."""
        return self.hypernym_links[row]

    def hyponyms(self, row: int) -> Rows:
        """Return the direct plain hyponyms."""
        return self.hyponym_links[row]

    def ancestors(self, row: int) -> Rows:
        """Return the synset itself and all above it, nearest first."""
        return _closure(self.hypernym_links, row)

    def descendants(self, row: int) -> Rows:
        """Return the synset itself and all below it, nearest first."""
        return _closure(self.hyponym_links, row)

    def ancestor_pairs(self, rows: NDArray[np.integer]) -> tuple[NDArray[np.int64], Rows]:
        """Return every (position in ``rows``, ancestor row) once, sorted: many synsets' ancestors at once.

        Each synset counts as its own ancestor. With all classes' rows, the classes at or below a synset
        are ``owner[ancestor == synset]``.
        """
        owner, ancestor = np.arange(len(rows)), np.asarray(rows, dtype=np.int64)
        levels = [owner * len(self) + ancestor]
        while len(owner):
            above = self.hypernym_links.take(ancestor)
            level = np.unique(owner[above.owners] * len(self) + above.values)
            owner, ancestor = np.divmod(level, len(self))
            levels.append(level)
        owner, ancestor = np.divmod(np.unique(np.concatenate(levels)), len(self))
        return owner, ancestor.astype(np.int32)

    def hypernym_paths(self, row: int) -> list[tuple[int, ...]]:
        """Return every path from a root down to the synset, root first."""
        above = self.hypernyms(row).tolist()
        if not above:
            return [(row,)]
        return [(*path, row) for hypernym in above for path in self.hypernym_paths(hypernym)]

    def _rows_of_offsets(self, offsets: Sequence[int]) -> Rows:
        wanted = np.asarray(offsets, dtype=np.int64)
        at = np.minimum(np.searchsorted(self.synsets, wanted), len(self) - 1)
        return np.where(self.synsets[at] == wanted, at, -1).astype(np.int32)

    def _rows_of_names(self, keys: Sequence[str]) -> Rows:
        import pyarrow.compute as pc

        wanted = pa.array(keys, type=pa.string()).dictionary_encode()
        # Hashing the few names and probing them with the 82,115 is quicker than the other way round.
        hit = pc.index_in(self.names, value_set=wanted.dictionary)
        rows = np.flatnonzero(hit.is_valid().to_numpy(zero_copy_only=False))
        row_of = np.full(len(wanted.dictionary), -1, dtype=np.int32)
        row_of[hit.drop_null().to_numpy()] = rows
        indices: NDArray[np.int32] = wanted.indices.to_numpy()
        return row_of[indices]

    def _unknown(self, key: str, *, n_missing: int, where: Path | str) -> InputError:
        count = f" ({n_missing:,} unknown in all)" if n_missing > 1 else ""
        fix = f"{_SPELLING}; WordNet 3.1 and later number their synsets differently."
        if not _WNID.fullmatch(key):
            close = self._names_like(key)
            fix = f"Did you mean {' or '.join(close)}?" if close else f"{_SPELLING}."
        return InputError(where, f"no noun synset {key!r} in WordNet 3.0{count}", fix=fix)

    def _names_like(self, key: str) -> list[str]:
        import difflib

        import pyarrow.compute as pc

        spelt = key.strip().lower().replace(" ", "_")
        same_start = pc.starts_with(self.names, spelt[:1])
        return difflib.get_close_matches(spelt, self.names.filter(same_start).to_pylist(), n=3)


@lru_cache(maxsize=1)
def load_wordnet() -> Wordnet:
    """Load ``data/wordnet_nouns.parquet``."""
    path = shipped("data", "wordnet_nouns.parquet")
    synsets, *lists = _read(path, "synset", "hypernyms", "instance_hypernyms", "hyponyms")
    offsets = _integers(synsets)
    plain, instance, hyponyms = (_links(column, offsets) for column in lists)
    return Wordnet(offsets, _joined(plain, instance), hyponyms, path)


def _read(path: Path, *columns: str) -> list[Any]:
    import pyarrow.parquet as pq

    # Not pq.read_table: it imports pyarrow.dataset, which takes several times as long as reading.
    table = pq.ParquetFile(path).read(list(columns), use_threads=False)
    return [table[column].combine_chunks() for column in columns]


def _links(lists: pa.ListArray, synsets: NDArray[np.int32]) -> Ragged:
    """Turn lists of database offsets into lists of rows."""
    rows = np.searchsorted(synsets, _integers(lists.values)).astype(np.int32)
    return Ragged(_integers(lists.offsets).astype(np.int64), rows)


def _integers(column: pa.Int32Array) -> NDArray[np.int32]:
    # DLPack rather than to_numpy, which imports pandas wherever it is installed.
    return np.asarray(np.from_dlpack(column), dtype=np.int32)


def _joined(first: Ragged, second: Ragged) -> Ragged:
    """Return each row's values of the first, followed by those of the second."""
    values = np.concatenate((first.values, second.values))
    owners = np.concatenate((first.owners, second.owners))
    return Ragged(first.offsets + second.offsets, values[np.argsort(owners, kind="stable")])


def _closure(links: Ragged, row: int) -> Rows:
    """Return the row and all it leads to, breadth first, each once."""
    seen = np.zeros(len(links), dtype=np.bool_)
    level = np.array([row], dtype=np.int32)
    levels = []
    while level.size:
        seen[level] = True
        levels.append(level)
        reached = links.take(level).values
        fresh = reached[~seen[reached]]
        level = fresh[np.sort(np.unique(fresh, return_index=True)[1])]
    return np.concatenate(levels)
