"""Label proposals: what an image may show besides the classes, when a model took it for one of them.

For a prediction p and an original label t, the WordNet synsets around p: p itself; every class that shares a
superclass with p; p's siblings (the other children of its direct hypernyms); and p's ancestors, along each
hypernym path from the first meta label on. Siblings and ancestors that are t, or above t, are left out: they
would name what the image is known to show. CLIP then chooses among the names of all these.

Source: Peychev et al., NeurIPS 2023 (fine-grained out-of-vocabulary errors). The published counts of
    proposals and their best five settle what the paper leaves open: see ``tests/oov/test_proposals.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from imagenet_errors.evidence.superclasses import load_superclasses
from imagenet_errors.files import unwritable, written_whole
from imagenet_errors.labels import LabelSpace
from imagenet_errors.problems import InputError, counted
from imagenet_errors.tables import Ragged
from imagenet_errors.wordnet import Wordnet, load_wordnet

Rows = NDArray[np.int32]
Pairs = tuple[NDArray[np.int64], Rows]
Classes = Sequence[int] | NDArray[np.integer]
_PAIRS_AT_ONCE = 10_000

META_LABELS = (
    "bird",
    "clothing",
    "commodity",
    "container",
    "covering",
    "device",
    "dog",
    "equipment",
    "food",
    "furniture",
    "geological_formation",
    "insect",
    "natural_object",
    "organism",
    "primate",
    "snake",
    "structure",
    "vehicle",
    "vessel",
    "wheeled_vehicle",
)
"""Where ancestors begin to be worth a name; what lies above is too general (entity, whole, artifact).

Source: the published method's list. A synset counts in every sense (``vessel.n.02`` and ``vessel.n.03``).
"""


@dataclass(frozen=True, eq=False)
class Proposals:
    """The proposed names of m pairs, one entry a (synset, lemma): pair i's are ``offsets[i]:offsets[i + 1]``.

    A name that two proposed synsets share stands there twice, as in the published lists. ``offsets``
    int64 [m + 1]; ``synsets`` int32 [n], rows of WordNet; ``names`` int32 [n], positions in ``vocabulary``,
    which holds every name that any pair of the label space can have, once.
    """

    offsets: NDArray[np.int64]
    synsets: Rows
    names: Rows
    vocabulary: pa.StringArray

    @property
    def counts(self) -> NDArray[np.int32]:
        """The number of proposals of each pair, int32 [m]: the published ``proposal_count``."""
        return np.diff(self.offsets).astype(np.int32)


@dataclass(frozen=True, eq=False)
class Proposer:
    """Proposes labels for pairs of classes; its tables are built at the first use, in some 0.1 s.

    ``shares`` bool [C, C] is True where two classes share a superclass (the diagonal does not matter).

    Example
    -------
    >>> from imagenet_errors.evidence.superclasses import load_superclasses
    >>> from imagenet_errors.wordnet import load_wordnet
    >>> from imagenet_errors.labels import imagenet_1k
    >>> proposer = Proposer(imagenet_1k(), load_wordnet(), load_superclasses().shares)
    >>> proposer.names(0, 4)[:2]  # tench, hammerhead
    [('n01440764', 'tench'), ('n01440764', 'tinca tinca')]
    """

    labels: LabelSpace
    wordnet: Wordnet
    shares: NDArray[np.bool_]

    def synsets(self, prediction: int, target: int) -> Rows:
        """Return the proposed synsets' rows, each once, int32 [k].

        The prediction comes first, then classes that share a superclass with it, siblings, ancestors; each
        kind by ascending offset, and a synset of two kinds with the first.

        Raises
        ------
        InputError
            There is no such class.
        """
        return self._around.candidates[self._proposed([prediction], [target]).values]

    def names(self, prediction: int, target: int) -> list[tuple[str, str]]:
        """Return (wnid of the synset, name) for every lemma of every proposed synset.

        Names are in lower case, with spaces.

        Raises
        ------
        InputError
            There is no such class.
        """
        _, candidates, names = self._entries([prediction], [target])
        wnids = [self._wnids[candidate] for candidate in candidates.tolist()]
        return list(zip(wnids, self.vocabulary.take(_arrow(names)).to_pylist(), strict=True))

    def propose(self, predictions: Classes, targets: Classes) -> Proposals:
        """Return the proposals of m pairs of class indices.

        Raises
        ------
        InputError
            An index is no class, or there are more predictions than targets or the reverse.
        """
        offsets, candidates, names = self._entries(predictions, targets)
        return Proposals(offsets, self._around.candidates[candidates], names, self.vocabulary)

    def proposal_table(self, predictions: Classes, targets: Classes) -> pa.Table:
        """Return one row a proposal: ``prediction``, ``target`` int16; ``synset``, ``name`` dictionary<str>.

        Rows run pair by pair in the given order, and as in :meth:`names` within each.

        Raises
        ------
        InputError
            An index is no class, or there are more predictions than targets or the reverse.
        """
        offsets, candidates, names = self._entries(predictions, targets)
        counts = np.diff(offsets)
        return pa.table(
            {
                "prediction": _arrow(np.repeat(np.asarray(predictions, dtype=np.int16), counts)),
                "target": _arrow(np.repeat(np.asarray(targets, dtype=np.int16), counts)),
                "synset": pa.DictionaryArray.from_arrays(_arrow(candidates), pa.array(self._wnids)),
                "name": pa.DictionaryArray.from_arrays(_arrow(names), self.vocabulary),
            }
        )

    @property
    def vocabulary(self) -> pa.StringArray:
        """Every name that can be proposed, once: what a text encoder has to embed."""
        return self._named[1]

    def _entries(self, predictions: Classes, targets: Classes) -> tuple[NDArray[np.int64], Rows, Rows]:
        """Return the pairs' offsets [m + 1], and of each proposal the candidate and the name [n]."""
        proposed = self._proposed(predictions, targets)
        names = self._named[0].take(proposed.values)
        candidates = np.repeat(proposed.values, np.diff(names.offsets))
        return names.offsets[proposed.offsets], candidates, names.values

    def _proposed(self, predictions: Classes, targets: Classes) -> Ragged:
        """Return the candidates proposed for each pair."""
        predicted, meant = (self._class_indices(classes) for classes in (predictions, targets))
        if len(predicted) != len(meant):
            raise InputError("proposals", f"{counted(len(predicted), 'prediction')} for {len(meant):,} targets")
        around = self._around
        entries = around.entries.take(predicted)
        candidates = around.candidate[entries.values]
        pairs = entries.owners
        keep = ~(around.droppable[entries.values] & around.is_above[meant[pairs], candidates])
        kept = np.concatenate(([0], np.cumsum(keep)))[entries.offsets]
        return Ragged(kept, candidates[keep])

    def _class_indices(self, classes: Classes) -> NDArray[np.integer]:
        indices = np.asarray(classes, dtype=np.int64)
        strangers = indices[(indices < 0) | (indices >= len(self.labels))]
        if strangers.size:
            what = f"{counted(strangers.size, 'index', 'indices')} outside 0..{len(self.labels) - 1}"
            raise InputError("proposals", what, example=strangers[0], fix="Give indices of classes.")
        return indices

    @cached_property
    def _around(self) -> _Around:
        return _around(self.wordnet.rows_of_classes(self.labels), self.shares, self.wordnet)

    @cached_property
    def _wnids(self) -> list[str]:
        return [self.wordnet.wnid(row) for row in self._around.candidates.tolist()]

    @cached_property
    def _named(self) -> tuple[Ragged, pa.StringArray]:
        """Each candidate's names, as links to the positions in the list of all of them."""
        import pyarrow.compute as pc

        lemmas = self.wordnet.lemma_lists.take(_arrow(self._around.candidates))
        names = pc.utf8_lower(pc.replace_substring(lemmas.flatten(), "_", " ")).dictionary_encode()
        offsets, values = np.from_dlpack(lemmas.offsets), np.from_dlpack(names.indices)
        return Ragged(offsets.astype(np.int64), values.astype(np.int32)), names.dictionary


@dataclass(frozen=True, eq=False)
class _Around:
    """The synsets around each of C classes, whatever the target.

    ``candidates`` int32 [U]: all of them, rows of WordNet, ascending. ``entries``: class -> 0..E - 1;
    ``candidate`` int32 [E]: position among the candidates; ``droppable`` bool [E]: only a sibling or an
    ancestor. ``is_above`` bool [C, U]: the candidate is the class or above it.
    """

    candidates: Rows
    entries: Ragged
    candidate: Rows
    droppable: NDArray[np.bool_]
    is_above: NDArray[np.bool_]


SIBLING = 2
"""The first kind, of prediction, kin, sibling and ancestor, that the target's own line is taken out of."""


def _around(classes: Rows, shares: NDArray[np.bool_], wordnet: Wordnet) -> _Around:
    n_classes = len(classes)
    itself = (np.arange(n_classes), classes)
    one, other = np.nonzero(shares)
    above = wordnet.ancestor_pairs(classes)
    kin = (one, classes[other])
    kinds = (itself, kin, _siblings(classes, wordnet), _proposable(above, wordnet))
    owner, row, kind = _first_kinds(kinds, len(wordnet))
    candidates, candidate = np.unique(row, return_inverse=True)
    offsets = np.concatenate(([0], np.cumsum(np.bincount(owner, minlength=n_classes))))
    return _Around(
        candidates=candidates.astype(np.int32),
        entries=Ragged(offsets, np.arange(len(row), dtype=np.int32)),
        candidate=candidate.astype(np.int32),
        droppable=kind >= SIBLING,
        is_above=_is_above(above, candidates, (n_classes, len(wordnet))),
    )


def _is_above(above: Pairs, candidates: Rows, shape: tuple[int, int]) -> NDArray[np.bool_]:
    """Return the (class, ancestor) pairs as a table bool [C, U] over the candidates."""
    n_classes, n_synsets = shape
    position = np.full(n_synsets, -1, dtype=np.int32)
    position[candidates] = np.arange(len(candidates))
    owner, column = above[0], position[above[1]]
    table = np.zeros((n_classes, len(candidates)), dtype=np.bool_)
    table[owner[column >= 0], column[column >= 0]] = True
    return table


def _siblings(classes: Rows, wordnet: Wordnet) -> Pairs:
    """Return (class, child of one of its direct hypernyms), the class itself among the children."""
    parents = wordnet.hypernym_links.take(classes)
    children = wordnet.hyponym_links.take(parents.values)
    return parents.owners[children.owners], children.values


def _proposable(above: Pairs, wordnet: Wordnet) -> Pairs:
    """Return those of the (class, ancestor) pairs that lie on a path at or after its first meta label.

    A path from the root to the class leads through an ancestor and a meta label at or above that just when
    the ancestor is or has one above it, for any way up goes on to the root: no path need be walked.
    """
    owner, ancestor = above
    rows, position = np.unique(ancestor, return_inverse=True)
    names = wordnet.names.take(_arrow(rows)).to_pylist()
    is_meta = np.zeros(len(wordnet), dtype=np.bool_)
    is_meta[rows] = [name.partition(".")[0] in META_LABELS for name in names]
    below, over = wordnet.ancestor_pairs(rows)
    reached = np.zeros(len(rows), dtype=np.bool_)
    reached[below[is_meta[over]]] = True
    keep = reached[position]
    return owner[keep], ancestor[keep]


def _first_kinds(kinds: tuple[Pairs, ...], n_synsets: int) -> tuple[NDArray[np.int64], Rows, NDArray[np.int64]]:
    """Return each (class, synset) once with the first kind it is of, ordered by class, kind and synset."""
    owner = np.concatenate([owners for owners, _ in kinds])
    row = np.concatenate([rows for _, rows in kinds])
    kind = np.repeat(np.arange(len(kinds)), [len(rows) for _, rows in kinds])
    _, first = np.unique(owner * n_synsets + row, return_index=True)
    owner, row, kind = owner[first], row[first], kind[first]
    order = np.lexsort((row, kind, owner))
    return owner[order], row[order], kind[order]


def _arrow(values: NDArray[np.integer]) -> pa.Array:
    """Return the integers as an Arrow array; pa.array would import pandas wherever it is installed."""
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [None, pa.py_buffer(values)])


def proposer_of(labels: LabelSpace, superclasses: Path | None = None) -> Proposer:
    """Return the proposer over classes that have wnids, with the user's superclasses or ImageNet's shipped ones.

    Classes of one's own without superclasses share none.
    """
    if superclasses is None and not labels.is_imagenet:
        return Proposer(labels, load_wordnet(), np.eye(len(labels), dtype=np.bool_))
    return Proposer(labels, load_wordnet(), load_superclasses(superclasses, labels=labels).shares)


def read_pairs(path: Path, labels: LabelSpace) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Read classes, by index, wnid or name, from a CSV with the columns ``prediction`` and ``target``.

    Raises
    ------
    InputError
        The file is not there, is no such table, or a class is not known.
    """
    import pyarrow.csv

    try:
        table = pyarrow.csv.read_csv(path)
        prediction, target = (_classes_of(table[name], labels, path) for name in ("prediction", "target"))
    except (OSError, KeyError, pa.ArrowException) as error:
        raise InputError(
            path, f"not a table of pairs: {error}", fix="Give a CSV with columns of classes prediction,target."
        ) from None
    return prediction, target


def _classes_of(column: pa.ChunkedArray, labels: LabelSpace, path: Path) -> NDArray[np.int64]:
    """Return class indices int64 [n] of a column of indices, or of texts that mean classes."""
    if not pa.types.is_string(column.type):
        return np.asarray(column.cast(pa.int64()).to_numpy(), dtype=np.int64)
    written = column.combine_chunks().dictionary_encode()
    index = [labels.look_up(text, where=path) for text in written.dictionary.to_pylist()]
    classes: NDArray[np.int64] = np.asarray(index, dtype=np.int64)[written.indices.to_numpy(zero_copy_only=False)]
    return classes


def write_proposals(proposer: Proposer, prediction: NDArray[np.int64], target: NDArray[np.int64], out: Path) -> int:
    """Write ``prediction,target,synset,name``, one row a proposal, and return the number of rows.

    Raises
    ------
    InputError
        An index is no class, or ``out`` cannot be written.
    """
    import pyarrow.csv

    header = proposer.proposal_table([], []).schema
    n_rows = 0
    try:
        with written_whole(out) as partial, pyarrow.csv.CSVWriter(partial, header) as writer:
            for start in range(0, len(prediction), _PAIRS_AT_ONCE):
                chunk = slice(start, start + _PAIRS_AT_ONCE)
                table = proposer.proposal_table(prediction[chunk], target[chunk])
                writer.write_table(table)
                n_rows += len(table)
    except OSError as error:
        raise unwritable(out, error) from None
    return n_rows
