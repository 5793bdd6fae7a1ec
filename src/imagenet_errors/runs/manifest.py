"""``run.json``: what a run was made from, what was skipped and why, enough to make it again; written and read here."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from imagenet_errors.chain import DEFAULT_ORDER
from imagenet_errors.datasets import IMAGENET
from imagenet_errors.downloads import FileFacts as PublishedFacts
from imagenet_errors.evidence.sources import OPTIONS
from imagenet_errors.files import sha256_of
from imagenet_errors.inputs import Inputs
from imagenet_errors.label_sets import COMBINATIONS
from imagenet_errors.problems import InputError, names_a_file, written
from imagenet_errors.readers.label_files import MIN_PROBABILITY
from imagenet_errors.tables import Intake

NAME = "run.json"
LABELS = "labels.parquet"
"""The original labels of a run whose images' labels no file tells; named in ``more_annotations`` without a folder."""
_PLACES = ("annotations", "more_annotations", "dataset", "classes", "labels_from")
"""Keys of files, or of names, beside those of evidence."""
_FOLDERS_UP = 4
"""So many folders above a run are searched for the files that were moved along with it."""
LAYOUT = 2
"""Raised when a reader of the run directory must know; runs without it are of layout 1."""


class InputFile(msgspec.Struct, frozen=True):
    """A file's place, size in bytes and sha256."""

    file: str
    n_bytes: int
    sha256: str


class FailureFacts(msgspec.Struct, frozen=True):
    """A model that could not be used, and why."""

    model: str
    file: str
    reason: str


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """The content of ``run.json``; paths are absolute there, and nowhere else in what a run writes.

    ``judged_by``: the files of labels and evidence, with address, commit and licence where they are published ones;
    ``more_annotations`` to ``labels_from`` as in ``inputs.Inputs``; ``class_rule``: what the models chose from, in
    words; ``masked_models``: those that chose among the classes that occur alone, None where that is not known;
    ``label_set``: what the labels that counted are called, where ``annotations`` leaves it to the data set.
    """

    layout: int = 1
    version: str
    command: list[str] = []
    finished: str = ""
    annotations: str
    label_set: str = ""
    rejected_labels: str = "trust"
    dataset: str = IMAGENET
    classes: str = ""
    class_rule: str = ""
    masked_models: list[str] | None = None
    more_annotations: list[str] = []
    combine: str = COMBINATIONS[0]
    min_label_probability: float = MIN_PROBABILITY
    labels_from: str = ""
    n_annotated: int = 0
    n_evaluated: int = 0
    n_excluded: int = 0
    excluded: dict[str, int] = {}
    n_distinct_cases: int = 0
    stage_order: list[str] = []
    requested_stage_order: list[str] = msgspec.field(default_factory=lambda: list(DEFAULT_ORDER))
    stages_not_run: dict[str, str] = {}
    evidence: dict[str, str | list[str] | None] = {}
    evidence_notes: dict[str, list[str]] = {}
    inputs: list[InputFile] = []
    judged_by: list[PublishedFacts] = []
    models: dict[str, dict[str, Any]] = {}
    failures: list[FailureFacts] = []

    @property
    def gone(self) -> list[str]:
        """The files of labels, classes and evidence that are no longer where they were."""
        every = [getattr(self, name) for name in _PLACES] + list(self.evidence.values())
        places = [one for each in every for one in (each if isinstance(each, list) else [each or ""])]
        return [place for place in places if Path(place).is_absolute() and not Path(place).exists()]

    @property
    def labels_used(self) -> str:
        """What the labels that counted are called; older runs tell what was asked for."""
        return self.label_set or Path(self.annotations).name

    @property
    def images_of(self) -> str:
        """The data set's name; of classes of one's own alone, that of their file."""
        own = Path(self.classes).stem if self.classes and self.dataset == IMAGENET else ""
        return own or Path(self.dataset).stem

    def as_inputs(self) -> Inputs:
        """Return what the run was made from, to judge a case again."""
        files = {
            option: tuple(Path(path) for path in ([given] if isinstance(given, str) else given))
            for option, given in self.evidence.items()
            if given and option in OPTIONS
        }
        return Inputs(
            self.annotations,
            files,
            tuple(self.requested_stage_order),
            self.rejected_labels,
            dataset=self.dataset,
            classes=Path(self.classes) if self.classes else None,
            more_annotations=tuple(self.more_annotations),
            combine=self.combine,
            min_label_probability=self.min_label_probability,
            labels_from=Path(self.labels_from) if self.labels_from else None,
        )


def data_set_facts(inputs: Inputs) -> dict[str, Any]:
    """Return what ``run.json`` says of the data set and its label files."""
    paths = {"classes": inputs.classes, "labels_from": inputs.labels_from}
    return {
        "dataset": inputs.data_set.place,
        "more_annotations": inputs.more_places,
        "combine": inputs.combine,
        "min_label_probability": inputs.min_label_probability,
        **{key: "" if path is None else written(path.resolve()) for key, path in paths.items()},
    }


def evidence_places(inputs: Inputs) -> dict[str, str | list[str] | None]:
    """Return the evidence files by option, as ``run.json`` names them: null or [] where none was given."""
    places: dict[str, str | list[str] | None] = {}
    for option, source in OPTIONS.items():
        paths = [written(path.resolve()) for path in inputs.evidence.get(option, ())]
        places[option] = paths if source.many else next(iter(paths), None)
    return places


def read_manifest(run: Path) -> Manifest:
    """Return the content of ``run.json``.

    Raises
    ------
    InputError
        The folder is no (whole) run directory, or its ``run.json`` is damaged or of a later version.
    """
    path = run / NAME
    if not path.is_file():
        raise InputError(
            run, "no run.json in it: not a run directory, or the run did not finish", fix="Evaluate again."
        )
    try:
        manifest = msgspec.json.decode(path.read_bytes(), type=Manifest)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(path, f"is no manifest of a run: {error}", fix="Evaluate again.") from None
    if manifest.layout > LAYOUT:
        what = f"was written by imagenet-errors {manifest.version}, which is newer"
        raise InputError(path, what, fix="Update imagenet-errors, or evaluate again.")
    _check_models(manifest.models, path)
    more = [str((run / name).resolve()) if name == LABELS else name for name in manifest.more_annotations]
    whole = msgspec.structs.replace(manifest, more_annotations=more, masked_models=_masked_models(manifest))
    return _moved_along(whole, run)


def _moved_along(manifest: Manifest, run: Path) -> Manifest:
    """Return the manifest with files that were moved together with the run where they are now; their hashes tell."""
    hashes = {each.file: each.sha256 for each in manifest.inputs}
    now = {place: _place_now(Path(place), hashes[place], run) for place in manifest.gone if place in hashes}
    if not now:
        return manifest

    def moved(place: Any) -> Any:
        return [now.get(one, one) for one in place] if isinstance(place, list) else now.get(place, place)

    fields = {name: moved(getattr(manifest, name)) for name in _PLACES}
    evidence = {option: moved(places) for option, places in manifest.evidence.items()}
    return msgspec.structs.replace(manifest, **fields, evidence=evidence)


def _place_now(place: Path, sha256: str, run: Path) -> str:
    """Return where a file is now that lay so in relation to the run; where it was, if it is not there either."""
    tails = [Path(*place.parts[-n:]) for n in range(1, min(_FOLDERS_UP, len(place.parts) - 1) + 1)]
    for folder in list(run.resolve().parents)[:_FOLDERS_UP]:
        for path in (folder / tail for tail in tails):
            if path.is_file() and sha256_of(path) == sha256:
                return written(path)
    return str(place)


def is_run(folder: Path) -> bool:
    """Tell whether a whole run lies in the folder."""
    return (folder / NAME).is_file()


def _check_models(models: Mapping[str, Any], path: Path) -> None:
    """Refuse names that would lead out of the run directory."""
    strange = [name for name in models if not names_a_file(name)]
    if strange:
        raise InputError(path, "names a model that is no file name", example=repr(strange[0]), fix="Evaluate again.")


def _masked_models(manifest: Manifest) -> list[str] | None:
    """Return the models that were masked; earlier versions said in ``class_rule`` how many, not which."""
    if manifest.masked_models is not None:
        return manifest.masked_models
    if "; " in manifest.class_rule:  # some were, and some not
        return None
    return list(manifest.models) if manifest.class_rule.endswith(" classes that occur") else []


def manifest_bytes(manifest: Manifest) -> bytes:
    """Return the file's content, indented for people."""
    return msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n"


def intake_facts(intake: Intake) -> dict[str, Any]:
    """Return what became of a file's rows, for ``run.json``."""
    return {
        key: list(value) if isinstance(value, tuple) else value
        for key, value in intake.__dict__.items()
        if key in ("format", "n_rows") or value
    }
