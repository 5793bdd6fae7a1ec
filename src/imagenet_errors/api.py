"""The Python face: evaluate what is in memory or in files, and ask the run."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from imagenet_errors.chain import DEFAULT_ORDER, ERROR_TYPES
from imagenet_errors.evaluation import evaluate as evaluate_all
from imagenet_errors.inputs import Basis, Inputs, load_basis
from imagenet_errors.label_sets import COMBINATIONS
from imagenet_errors.mistakes import Given
from imagenet_errors.problems import InputError, counted
from imagenet_errors.readers.annotations import UnlabelledError, labels_told_by_names
from imagenet_errors.readers.label_files import MIN_PROBABILITY
from imagenet_errors.readers.memory import in_memory, is_path
from imagenet_errors.readers.predictions import ReadRules
from imagenet_errors.runs.directory import TABLES, VERDICTS, read_run_table
from imagenet_errors.runs.manifest import Manifest, read_manifest
from imagenet_errors.why import DecisionPath, decision_path, row_of, why

if TYPE_CHECKING:
    from imagenet_errors.compare import ModelComparison


def evaluate(
    predictions: Any,
    annotations: str | Path | Sequence[str | Path] = "real",
    *,
    dataset: str | Path = "imagenet",
    classes: Path | str | None = None,
    out: Path | str | None = None,
    rejected_labels: str = "exclude",
    combine: str = COMBINATIONS[0],
    min_label_probability: float = MIN_PROBABILITY,
    stage_order: str | Sequence[str] | None = None,
    allow_partial: bool = False,
    row_order: str | None = None,
    class_axis: str | None = None,
    columns: Mapping[str, str] | None = None,
    check_order: bool = True,
    mask_classes: bool = False,
    **evidence: Any,
) -> Run:
    """Evaluate predictions and return the run; it is written only where ``out`` says, or by :meth:`Run.save`.

    Parameters
    ----------
    predictions
        A path or several (files and folders; a file is one model, named by its stem), or a mapping from a model's name
        to its predictions: a path, a DataFrame or Arrow table with the columns of any predictions file, a pair
        (image names, classes [n] or scores [n, C]), or an array alone with ``row_order``. Such predictions without a
        mapping are called ``model``.
    annotations
        ``"real"`` (shipped; of other data sets: their own), ``"multilabel"`` (fetched once), another name of
        ``data list``, or a file; or several.
    dataset, classes
        A data set by name or TOML file; a file of one's own classes.
    out
        The run directory to write.
    rejected_labels, combine, min_label_probability, stage_order
        As on the command line.
    allow_partial, row_order, class_axis, columns, check_order, mask_classes
        As on the command line.
    **evidence
        Files of evidence by option: ``oov_evidence=``, ``non_prototypical=``, ``co_occurrence=``, ``superclasses=``.

    Raises
    ------
    InputError
        Something given cannot be used; the text says what, and the way out.
    """
    given = _given(predictions)
    inputs = replace(
        Inputs.given(annotations, dataset=dataset, classes=classes, rejected_labels=rejected_labels),
        stage_order=DEFAULT_ORDER if stage_order is None else _stages(stage_order),
        combine=combine,
        min_label_probability=min_label_probability,
    ).with_evidence(**evidence)
    rules = ReadRules(row_order, class_axis, columns or {}, allow_partial, check_order, mask_classes)
    if out is not None:
        evaluate_all(given, inputs, Path(out), rules=rules)
        return Run(Path(out))
    folder = Path(tempfile.mkdtemp(prefix="imagenet-errors-"))
    try:
        evaluate_all(given, inputs, folder / "run", rules=rules)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    run = Run(folder / "run")
    weakref.finalize(run, shutil.rmtree, folder, ignore_errors=True)
    return run


def load_run(folder: Path | str) -> Run:
    """Return the run of a run directory.

    Raises
    ------
    InputError
        The folder is no whole run.
    """
    return Run(Path(folder))


def judge(
    image: str,
    prediction: int | str,
    annotations: str | Path | Sequence[str | Path] = "real",
    *,
    dataset: str | Path = "imagenet",
    classes: Path | str | None = None,
    rejected_labels: str = "exclude",
    **evidence: Any,
) -> DecisionPath:
    """Judge one case without any file: what each stage says of an image and a predicted class.

    ``prediction`` is a class by index, wnid or name; ``annotations``, ``dataset``, ``classes`` and evidence as
    :func:`evaluate` takes them. Where no annotations tell the image's label, its name does (``n01498041/x.jpg``).

    Raises
    ------
    InputError
        The image is not annotated or excluded, or no class is called so.
    """
    files = {option: _hashable(value) for option, value in evidence.items()}
    labels = annotations if isinstance(annotations, str | Path) else tuple(annotations)
    asked = (labels, dataset, classes, rejected_labels, tuple(sorted(files.items())))
    try:
        basis = _basis(*asked)
    except UnlabelledError:
        basis = _basis(*asked, image=str(image))
    row = row_of(basis.annotations, str(image), basis.labels)
    index = basis.labels.look_up(str(prediction), where="prediction")
    return decision_path(basis, row, index, models={})


@lru_cache(maxsize=4)
def _basis(
    annotations: str | Path | tuple[str | Path, ...],
    dataset: str | Path,
    classes: str | Path | None,
    rejected_labels: str,
    evidence: tuple[tuple[str, Any], ...],
    image: str = "",
) -> Basis:
    inputs = Inputs.given(annotations, dataset=dataset, classes=classes, rejected_labels=rejected_labels)
    told_by = [labels_told_by_names([image])] if image else []
    return load_basis(inputs.with_evidence(**dict(evidence)), told_by=told_by)


def _hashable(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _stages(order: str | Sequence[str]) -> tuple[str, ...]:
    """Return the names of stages, joined by commas as on the command line or not."""
    return tuple(name.strip() for name in (order.split(",") if isinstance(order, str) else order))


def _given(predictions: Any) -> list[Given]:
    """Return paths and predictions in memory, as ``mistakes.gather`` takes them."""
    if isinstance(predictions, list | tuple) and not predictions:
        return []
    if is_path(predictions):
        paths = [predictions] if isinstance(predictions, str | Path) else predictions
        return [Path(path) for path in paths]
    if not isinstance(predictions, Mapping):
        return [in_memory("model", predictions)]
    given: list[Given] = []
    for model, one in predictions.items():
        given.append((str(model), Path(one)) if isinstance(one, str | Path) else in_memory(str(model), one))
    return given


class Run:
    """A run: figures, verdicts and reasons of one or more models. Tables are Arrow tables (``.to_pandas()``)."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.manifest: Manifest = read_manifest(folder)

    @property
    def models(self) -> tuple[str, ...]:
        """The names of the models."""
        return tuple(self.manifest.models)

    @cached_property
    def summary(self) -> pa.Table:
        """One row a model: number of images, accuracies in 0..1, and what is known of the model."""
        return self._table("summary")

    @cached_property
    def distribution(self) -> pa.Table:
        """One row for each model, group and error type: count with its bounds, and shares; null: did not run."""
        return self._table("distribution")

    @cached_property
    def accuracy(self) -> pa.Table:
        """One row for each model and group: accuracies in 0..1."""
        return self._table("accuracy")

    @property
    def failures(self) -> pa.Table:
        """One row for each model that could not be used, with the reason."""
        rows = [{"model": each.model, "file": each.file, "reason": each.reason} for each in self.manifest.failures]
        return pa.Table.from_pylist(rows, pa.schema([(name, pa.string()) for name in ("model", "file", "reason")]))

    def verdicts(self, model: str | None = None) -> pa.Table:
        """Return one row for each evaluated image of a model, the only one unless named.

        Raises
        ------
        InputError
            The model is not in the run, or it has several and none is named.
        """
        return read_run_table(self.folder / "verdicts" / f"{self._model(model)}.parquet", VERDICTS, needed=())

    def errors(self, model: str | None = None, *, type: str | None = None) -> pa.Table:  # noqa: A002
        """Return a model's top-1 errors, or those of one error type.

        Raises
        ------
        InputError
            There is no such model or error type.
        """
        if type is not None and type not in ERROR_TYPES:
            raise InputError("type", f"no error type {type!r}", fix=f"There are: {', '.join(ERROR_TYPES)}.")
        table = self.verdicts(model)
        kinds = pc.cast(table["error_type"], pa.string())
        return table.filter(pc.not_equal(kinds, "correct") if type is None else pc.equal(kinds, type))

    def why(self, image: str | int, model: str | None = None) -> list[DecisionPath]:
        """Return what each stage says of an image: one path a distinct prediction, of one model or of all.

        Raises
        ------
        InputError
            The image is not in the run, or a file that the run used is gone.
        """
        return why(self.folder, str(image), model=model)

    def report(self, out: Path | str | None = None, *, images: Path | str | None = None) -> Path:
        """Write the page that shows the errors and return its path; ``report.html`` in the run's folder unless named.

        Raises
        ------
        InputError
            The page cannot be written.
        """
        from imagenet_errors.report.page.page import ReportRequest, write_report

        request = ReportRequest(
            run=self.folder, out=None if out is None else Path(out), images=None if images is None else Path(images)
        )
        return write_report(request).path

    def compare(self, one: str, other: str) -> ModelComparison:
        """Compare two models of this run.

        Raises
        ------
        InputError
            A model is not in the run.
        """
        from imagenet_errors.compare import compare

        return compare((self.folder, self._model(one)), (self.folder, self._model(other)))

    def save(self, out: Path | str) -> Run:
        """Write the run into a directory, as ``out=`` does, and return the run there.

        Raises
        ------
        InputError
            The directory cannot be written to.
        """
        from imagenet_errors.runs.directory import copy_run

        copy_run(self.folder, Path(out))
        return Run(Path(out))

    def _table(self, name: str) -> pa.Table:
        schema, needed = TABLES[name]
        return read_run_table(self.folder / f"{name}.parquet", schema, needed=needed)

    def _model(self, model: str | None) -> str:
        if model is None and len(self.models) == 1:
            return self.models[0]
        if model not in self.models:
            what = "several models: name one" if model is None else f"no model {model!r} in this run"
            raise InputError(self.folder.name, what, fix=f"It has: {', '.join(self.models[:20])}.")
        return model

    def __repr__(self) -> str:
        """Return how many models and images there are."""
        return f"<Run: {counted(len(self.models), 'model')}, {counted(self.manifest.n_evaluated, 'image')} evaluated>"

    def _repr_html_(self) -> str:
        """Show the bar and the figures of each model in a notebook."""
        from imagenet_errors.report.notebook import run_html

        return run_html(self.summary, self.distribution)
