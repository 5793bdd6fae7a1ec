"""Many pairs of classes in a CSV file, and the names proposed for each in another."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from imagenet_errors.evidence.superclasses import load_superclasses
from imagenet_errors.files import written_whole
from imagenet_errors.labels import imagenet_1k
from imagenet_errors.oov.proposals import Proposer
from imagenet_errors.problems import InputError
from imagenet_errors.wordnet import load_wordnet

_AT_A_TIME = 10_000


def proposer_of(superclasses: Path | None = None) -> Proposer:
    """Return the proposer over ImageNet-1k, with the shipped superclasses or the user's."""
    return Proposer(imagenet_1k(), load_wordnet(), load_superclasses(superclasses).shares)


def read_pairs(path: Path) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Read class indices from a CSV with the columns ``prediction`` and ``target``.

    Raises
    ------
    InputError
        The file is not there, or is no such table.
    """
    import pyarrow.csv

    try:
        table = pyarrow.csv.read_csv(path)
        prediction, target = (table[name].cast(pa.int64()).to_numpy() for name in ("prediction", "target"))
    except (OSError, KeyError, pa.ArrowException) as error:
        raise InputError(
            path, f"not a table of pairs: {error}", fix="Give a CSV with integer columns prediction,target."
        ) from None
    return prediction, target


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
            for start in range(0, len(prediction), _AT_A_TIME):
                chunk = slice(start, start + _AT_A_TIME)
                table = proposer.proposal_table(prediction[chunk], target[chunk])
                writer.write_table(table)
                n_rows += len(table)
    except OSError as error:
        raise InputError(out, f"cannot be written: {error}", fix="Choose another --out.") from None
    return n_rows
