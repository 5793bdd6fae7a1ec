"""Which files make a model: mostly one each, but a distributed run leaves a part a worker.

Parts are told by their names (``predictions-rank-0.csv``, ``part-00000-....parquet``, folders ``rank=0``) and are
joined; that their images do not overlap is checked when they are read. A folder with a text an image, as YOLO writes
them, is one model, too."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from imagenet_errors.problems import InputError
from imagenet_errors.readers.contents import looks_like_image
from imagenet_errors.readers.formats import ENDINGS

_PART = re.compile(
    r"(?P<base>.*?)[-_. ]?(?P<word>rank|part|shard|chunk|worker|gpu|proc|process)[-_=]?\d+(?:[-_. ].*)?"
    r"|(?P<before>.*?)[-_. ]?\d+[-_]?(?P<of>of)[-_]?\d+",
    re.IGNORECASE,
)
_PARTITION = re.compile(r"[A-Za-z_][\w\-]*=[^/]*")
"""A folder of a partitioned table, as Spark, Hive and pyarrow name it: ``rank=0``."""
_SAMPLES = "samples_info.npz"


@dataclass(frozen=True)
class ModelFiles:
    """The files of one model, in the order of their names; mostly one. A table with a column a model holds several."""

    model: str
    paths: tuple[Path, ...]
    is_an_image_each: bool = False

    @property
    def path(self) -> Path:
        """What it goes by in messages: the file, or the folder of several."""
        return self.paths[0] if len(self.paths) == 1 else self.paths[0].parent


def model_name(path: Path) -> str:
    """Return the model's name: the stem; for the published program's ``MODEL/preds.npz``, the folder."""
    name = path.name
    if name == "preds.npz":
        return path.resolve().parent.name
    while Path(name).suffix.lower() in ENDINGS:
        name = Path(name).stem
    return name


def model_files(given: Sequence[Path]) -> tuple[ModelFiles, ...]:
    """Return the models meant by files and folders, a folder's in the order of their names.

    Raises
    ------
    InputError
        A path does not exist, a folder holds no predictions, or two files would be the same model.
    """
    models: list[ModelFiles] = []
    for path in given:
        if not path.exists() and not path.is_symlink():
            raise InputError(path, "no such file or folder", fix="Check the path.")
        found = _inside(path) if path.is_dir() else [ModelFiles(model_name(path), (path,))]
        if not found:
            raise InputError(path, "no predictions in this folder", fix=f"Known endings: {', '.join(ENDINGS)}.")
        models += found
    if not models:
        raise InputError("PREDICTIONS", "no file given", fix="Name files or folders of predictions, or pass --demo.")
    once: dict[tuple[Path, ...], ModelFiles] = {}
    for model in models:
        once.setdefault(tuple(map(_resolved, model.paths)), model)
    models = list(once.values())
    _refuse_twins(models)
    return tuple(models)


def _resolved(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError):  # a loop of links
        return path.absolute()


_NOT_READ = (".pkl", ".pickle", ".pt", ".pth", ".h5", ".hdf5", ".mat", ".xlsx", ".tar", ".zip", ".msgpack", ".joblib")


def unread_files(given: Sequence[Path]) -> tuple[Path, ...]:
    """Return the files in folders that may hold predictions and are of a kind that is not read: pickles, archives."""
    folders = (path for path in given if path.is_dir())
    return tuple(sorted(path for folder in folders for path in folder.glob("*") if path.suffix.lower() in _NOT_READ))


def _inside(folder: Path) -> list[ModelFiles]:
    """Return the models in a folder; links to nowhere and pipes are taken, too, to fail by name and not in silence."""
    files = sorted(path for path in folder.iterdir() if _may_hold_predictions(path))
    if len(files) > 1 and all(path.suffix == ".txt" and looks_like_image(path.stem) for path in files):
        return [ModelFiles(folder.resolve().name, tuple(files), is_an_image_each=True)]
    found = [*_joined(files, folder), *_in_folders(folder)]
    return sorted(found, key=lambda model: str(model.paths[0]))


def _in_folders(folder: Path) -> list[ModelFiles]:
    """Return the models in the folders of a folder: partitions of one, Spark's tables, published ``preds.npz``."""
    inner = sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith((".", "_")))
    found = [ModelFiles(path.name, (path / "preds.npz",)) for path in inner if (path / "preds.npz").is_file()]
    partitions = [path for path in inner if _PARTITION.fullmatch(path.name)]
    parts = tuple(file for path in partitions for file in sorted(path.rglob("*")) if _may_hold_predictions(file))
    if parts:
        found.append(ModelFiles(model_name(folder.resolve()), parts))
    for path in inner:
        if path.suffix.lower() in ENDINGS:
            files = tuple(sorted(file for file in path.iterdir() if _may_hold_predictions(file)))
            found += [ModelFiles(model_name(path), files)] if files else []
    return found


def _joined(files: Sequence[Path], folder: Path) -> list[ModelFiles]:
    """Group the parts of one model, which differ in a worker's number."""
    groups: dict[tuple[str, str], list[Path]] = {}
    for path in files:
        found = _PART.fullmatch(model_name(path))
        key = (str(path), "")
        if found:
            key = (found["base"] or found["before"] or "", (found["word"] or found["of"]).lower())
        groups.setdefault(key, []).append(path)
    models = []
    for (base, word), paths in groups.items():
        if word and len(paths) > 1:
            models.append(ModelFiles(base.strip("-_. ") or model_name(folder.resolve()), tuple(paths)))
        else:
            models += [ModelFiles(model_name(path), (path,)) for path in paths]
    return models


def _may_hold_predictions(path: Path) -> bool:
    return (
        not path.is_dir()
        and path.suffix.lower() in ENDINGS
        and path.name != _SAMPLES
        and not path.name.startswith((".", "_"))
        and path.stem.upper() != "README"
        and not _lies_beside(path)
    )


def _lies_beside(path: Path) -> bool:
    """Return True for a list of names (a row order) and for the probabilities that belong to classes."""
    if path.suffix == ".npy" and "probs" in path.name:
        return path.with_name(path.name.replace("probs", "preds")).is_file()
    if path.suffix != ".json" or not path.is_file():
        return False
    with path.open("rb") as file:
        return b"".join(file.read(64).split()).startswith(b'["')


def _refuse_twins(models: Sequence[ModelFiles]) -> None:
    owner: dict[str, ModelFiles] = {}
    for model in models:
        other = owner.setdefault(model.model, model)
        if other is not model:
            raise InputError(
                model.path,
                f"is the same model as {other.path}: both are named {model.model!r}",
                fix="A model is named by its file's stem; rename one of them.",
            )
