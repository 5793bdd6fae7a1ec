"""Options that several commands have, spelled once: dataclasses that a command takes and that give what they fill."""

from __future__ import annotations

from dataclasses import dataclass, field, make_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Group, Parameter

from imagenet_errors.chain import DEFAULT_ORDER
from imagenet_errors.evidence.source import Source
from imagenet_errors.evidence.sources import OPTIONS
from imagenet_errors.inputs import Inputs
from imagenet_errors.problems import InputError
from imagenet_errors.readers.predictions import ReadRules

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
AsJson = Annotated[bool, Parameter(name="--json", help="Print JSON instead of tables.", group=OUTPUT, negative=())]


def _evidence_field(source: Source) -> tuple[str, Any, Any]:
    """Return one source's option as a field: name, type with its help, default."""
    parameter = Parameter(help=source.help, group=EVIDENCE, show_default=False, negative=())
    if source.many:
        return source.option, Annotated[tuple[Path, ...], parameter], field(default=())
    return source.option, Annotated[Path | None, parameter], field(default=None)


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


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Basis:
    """What the verdicts rest on, but for the files of evidence."""

    annotations: Annotated[
        str,
        Parameter(help="real (shipped ReaL labels), multilabel (expert labels, fetched once) or FILE.", group=INPUTS),
    ] = "real"
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

    def inputs(self, files: EvidenceFiles) -> Inputs:
        """Return what the library takes."""
        order = tuple(self.stage_order.replace(" ", "").split(",")) if self.stage_order else DEFAULT_ORDER
        inputs = Inputs(self.annotations, {}, order, self.rejected_labels)
        return inputs.with_evidence(**{option: getattr(files, option) for option in OPTIONS})


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Reading:
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
        )


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


AS_PUBLISHED = Basis()
READ_STRICTLY = Reading()
