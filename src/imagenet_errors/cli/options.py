"""Options that several commands have, spelled once: dataclasses that a command takes and that give what they fill."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, make_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Group, Parameter

from imagenet_errors.chain import DEFAULT_ORDER
from imagenet_errors.datasets import IMAGENET, dataset_names
from imagenet_errors.downloads import OFFLINE_VARIABLE, names_for
from imagenet_errors.evidence.source import Source
from imagenet_errors.evidence.sources import OPTIONS
from imagenet_errors.inputs import Inputs
from imagenet_errors.problems import InputError
from imagenet_errors.readers.label_files import MIN_PROBABILITY
from imagenet_errors.readers.predictions import ReadRules
from imagenet_errors.workers import JOBS_VARIABLE

INPUTS = Group("Inputs", sort_key=1)
EVIDENCE = Group("Evidence", sort_key=2)
READING = Group("Reading", sort_key=3)
OUTPUT = Group("Output", sort_key=4)
COMPUTING = Group("Computing", sort_key=3)

SOME_FAILED = 1
"""The exit status where some models or images could not be used and the rest was done."""
ROLES = ("name", "index", "label", "confidence", "scores")

Predictions = Annotated[
    Path,
    Parameter(help="Files or folders of predictions; each file is one model, named by its stem.", group=INPUTS),
]
"""One of any number of arguments."""
RunDir = Annotated[Path, Parameter(help="A run directory.", group=INPUTS)]
Out = Annotated[Path | None, Parameter(help="The folder to write.", group=OUTPUT)]
Offline = Annotated[
    bool, Parameter(help="Download nothing; use what is here or on the mirror's disk.", group=INPUTS, negative=())
]
AsJson = Annotated[bool, Parameter(name="--json", help="Print JSON instead of tables.", group=OUTPUT, negative=())]


Jobs = Annotated[
    int | None,
    Parameter(help="Files to work on at once; by default as many as there are cores to use.", group=COMPUTING),
]


def _evidence_field(source: Source) -> tuple[str, Any, Any]:
    """Return one source's option as a field: name, type with its help, default."""
    names = names_for(source.flag)
    told = f"{source.help} Also by name: {', '.join(names)}." if names else source.help
    parameter = Parameter(help=told, group=EVIDENCE, show_default=False, negative=())
    if source.many:
        return source.option, Annotated[tuple[str, ...], parameter], field(default=())
    return source.option, Annotated[str | None, parameter], field(default=None)


if TYPE_CHECKING:

    class EvidenceFiles:
        """The user's files for the sources of evidence: an attribute for each of ``OPTIONS``."""

else:
    EvidenceFiles = Parameter(name="*")(
        make_dataclass(
            "EvidenceFiles",
            [_evidence_field(source) for source in OPTIONS.values()],
            frozen=True,
            kw_only=True,
            namespace={"__module__": __name__},
        )
    )
NO_FILES = EvidenceFiles()


Classes = Annotated[
    Path | None,
    Parameter(
        help="Classes of one's own: a table index,name[,wnid][,group], a name a line, or JSON (a list, index -> name).",
        group=INPUTS,
    ),
]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class DatasetOptions:
    """Which images they are, and which classes models choose from."""

    dataset: Annotated[
        str, Parameter(help=f"{', '.join(dataset_names())}, or a TOML file of one's own.", group=INPUTS)
    ] = IMAGENET
    classes: Classes = None

    def as_arguments(self) -> tuple[str, ...]:
        """Return them as one types them, none where they are the defaults."""
        dataset = () if self.dataset == IMAGENET else ("--dataset", self.dataset)
        return dataset if self.classes is None else (*dataset, "--classes", str(self.classes))


MaskClasses = Annotated[
    bool,
    Parameter(help="Of scores or ranks, take the best class that occurs in the data set.", group=READING, negative=()),
]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class BasisOptions(DatasetOptions):
    """What the verdicts rest on, but for the files of evidence."""

    annotations: Annotated[
        tuple[str, ...],
        Parameter(
            help="real (shipped ReaL labels; of other data sets: their own), FILE, or what is fetched once: "
            f"{', '.join(names_for('--annotations'))}. May be given several times.",
            group=INPUTS,
            negative=(),
        ),
    ] = ("real",)
    combine: Annotated[
        str, Parameter(help="Several annotations: union or intersection of their accepted labels.", group=INPUTS)
    ] = "union"
    min_label_probability: Annotated[
        float, Parameter(help="Accept labels from this probability or weight on, where files give one.", group=INPUTS)
    ] = MIN_PROBABILITY
    rejected_labels: Annotated[
        str,
        Parameter(
            help="Images whose original label no annotator accepts: exclude them, judge (right is what is accepted) "
            "or trust the label.",
            group=INPUTS,
        ),
    ] = "exclude"
    stage_order: Annotated[
        str,
        Parameter(
            help="Stages by name, in the order to ask them, separated by commas.", group=EVIDENCE, show_default=False
        ),
    ] = ""

    def inputs(self, files: EvidenceFiles, *, offline: bool = False) -> Inputs:
        """Return what the library takes; evidence that is named and not here is fetched, unless ``offline``."""
        stay_offline(offline)
        order = tuple(self.stage_order.replace(" ", "").split(",")) if self.stage_order else DEFAULT_ORDER
        first, *more = self.annotations or ("real",)
        inputs = Inputs(
            first,
            {},
            order,
            self.rejected_labels,
            dataset=self.dataset,
            classes=self.classes,
            more_annotations=tuple(more),
            combine=self.combine,
            min_label_probability=self.min_label_probability,
        )
        return inputs.with_evidence(**{option: getattr(files, option) for option in OPTIONS})


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class PanelBasisOptions(BasisOptions):
    """What the verdicts rest on where they are set against the panel's: the labels that it worked from."""

    annotations: Annotated[
        tuple[str, ...],
        Parameter(help="multilabel (the labels that the panel worked from), real or FILE.", group=INPUTS, negative=()),
    ] = ("multilabel",)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ReadingOptions:
    """What the user states about predictions files; everything else is proven from the file or refused."""

    allow_partial: Annotated[
        bool,
        Parameter(help="Evaluate just the annotated images that a file has.", group=READING, negative=()),
    ] = False
    row_order: Annotated[
        str, Parameter(help="Order of rows: name, imagefolder, or FILE of image names.", group=READING)
    ] = ""
    class_axis: Annotated[
        str, Parameter(help="Order of outputs: imagenet-1k, 1001, 21841, ... or FILE of wnids.", group=READING)
    ] = ""
    column: Annotated[
        tuple[str, ...],
        Parameter(
            help=f"ROLE=NAME: which column is {', '.join(ROLES)}. May be given several times.",
            group=READING,
            show_default=False,
            negative=(),
        ),
    ] = ()
    mask_classes: MaskClasses = False
    check_order: Annotated[
        bool, Parameter(help="Refuse files that no real model writes (wrong row order or classes).", group=READING)
    ] = True

    def rules(self, *, allow_partial: bool = False) -> ReadRules:
        """Return what the library takes.

        Raises
        ------
        InputError
            A role of ``column`` is none of ROLES.
        """
        return ReadRules(
            row_order=self.row_order or None,
            class_axis=self.class_axis or None,
            columns=columns_stated(self.column),
            allow_partial=allow_partial or self.allow_partial,
            check_order=self.check_order,
            mask_classes=self.mask_classes,
        )


def stay_offline(wanted: bool) -> None:
    """Let nothing in this process, nor in those it starts, download published files."""
    if wanted:
        os.environ[OFFLINE_VARIABLE] = "1"


def use_jobs(wanted: int | None) -> None:
    """Let this process work on so many files at once; None: as many as it may use cores.

    Raises
    ------
    InputError
        It is no number from 1 on.
    """
    if wanted is not None and wanted < 1:
        raise InputError("--jobs", f"is {wanted}", fix="Write how many files to work on at once, from 1 on.")
    if wanted is not None:
        os.environ[JOBS_VARIABLE] = str(wanted)


def columns_stated(stated: tuple[str, ...]) -> dict[str, str]:
    """Return role -> column name out of ``ROLE=NAME`` texts.

    Raises
    ------
    InputError
        A role is none of ROLES.
    """
    columns = dict(pair.partition("=")[::2] for pair in stated)
    for role, name in columns.items():
        if role not in ROLES or not name:
            raise InputError(
                "--column", f"cannot read {role}={name}", fix=f"Write ROLE=NAME, ROLE one of {', '.join(ROLES)}."
            )
    return columns


def out_or_default(out: Path | None, given: tuple[Path, ...], *, alone: str) -> Path:
    """Return ``--out``, or ``runs/<name of the input>``; ``alone``: the name where no input has one."""
    if out is not None:
        return out
    if len(given) != 1:
        return Path("runs") / alone
    from imagenet_errors.readers.model_files import model_name

    only = given[0].resolve()
    return Path("runs") / (only.name if only.is_dir() else model_name(only))


def needed(path: Path | None, option: str, what: str) -> Path:
    """Return the path of an option that has no default.

    Raises
    ------
    InputError
        It was not given.
    """
    if path is None:
        raise InputError(option, "is needed", fix=f"Pass {what}.")
    return path


OF_IMAGENET = DatasetOptions()
AS_PUBLISHED = BasisOptions()
READ_STRICTLY = ReadingOptions()
FROM_EXPERTS = PanelBasisOptions()
