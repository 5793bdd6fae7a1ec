"""Figures for a paper. Few models: their errors as stacked bars, and each type's share beside the published line.
Many models: each error type's portion against accuracy, on scales that never change.

Source: Peychev et al., NeurIPS 2023: portions of top-1 errors against top-1 accuracy and of multi-label errors against
    multi-label accuracy (of all images, for every group of classes), linear fits, and the two-piece fit of model
    failures split at an MLA of 90.
Differs: top-1 is over the evaluated images; where a line leaves the data, a smooth curve is drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from imagenet_errors.chain import ERROR_TYPES
from imagenet_errors.datasets import load_dataset
from imagenet_errors.files import written_whole
from imagenet_errors.mistakes import Progress, silent
from imagenet_errors.problems import InputError, counted
from imagenet_errors.report.drawing import (
    FORMATS,
    STYLE,
    FigureRequest,
    bar_figure,
    dumbbell,
    portion_figure,
    two_piece_figure,
    types_text,
    x_text,
)
from imagenet_errors.report.factors import factor_figure, factors_csv
from imagenet_errors.report.fits import TWO_PIECE_SPLIT
from imagenet_errors.report.looks import ACCURACY_NAME, ERRORS_NAME, SEVERE
from imagenet_errors.report.points import (
    GROUPINGS,
    Points,
    categories,
    comparable,
    error_types,
    is_like_published,
    points_of_run,
    published_points,
    unasked_by_all,
)
from imagenet_errors.runs.tables import RunTables
from imagenet_errors.shipped import needs
from imagenet_errors.workers import forks, in_turn

if TYPE_CHECKING:
    from matplotlib.figure import Figure

AMONG = ("multi_label", "top1")
X_AXES = ("all", "group")
_DPI = 200
FEW_MODELS = 10
"""So many models are shown one by one, in bars; more as a cloud."""
_WORTH_PROCESSES = 4


@dataclass(frozen=True)
class _Plan:
    """A figure to come: its file's name without ending, title, description, and what draws it."""

    name: str
    title: str
    description: str
    draw: Callable[[], Figure]


def points_to_draw(
    run: RunTables | None, *, published: bool, statistics: Path | None = None
) -> tuple[Points, Points | None]:
    """Return the models in front and those behind: a run's and the published ones, or these alone without a run.

    ``statistics``: the folder of the published tables, where it is not fetched.

    Raises
    ------
    InputError
        There is nothing to draw, or the published models were judged on other images than the run's.
    """
    data_set = load_dataset() if run is None else run.manifest.as_inputs().data_set
    if published and not is_like_published(data_set):
        what = "the published models were judged on ImageNet's validation images and on ImageNet-A, those of the run "
        raise InputError("--published", f"{what}on neither", fix="Leave it out, or leave RUN_DIR out.")
    theirs = published_points(statistics, data_set) if published else None
    if run is not None:
        return points_of_run(run, unasked_by_all(run, data_set, theirs)), theirs
    if theirs is None:
        raise InputError("figures", "nothing to draw is named", fix="Pass RUN_DIR, --published, or both.")
    return theirs, None


def write_figures(request: FigureRequest, *, progress: Progress = silent) -> list[Path]:
    """Draw and write every figure, in as many processes as ``n_jobs()`` says; return the files, in the order written.

    Raises
    ------
    InputError
        matplotlib is not installed, or a grouping, format or error type is unknown.
    """
    _check(request)
    needs("matplotlib", extra="report")
    needs("matplotlib.figure", extra="report")  # so that it is loaded once for all workers
    numbers = range(len(list(_plans(request))))
    written: list[Path] = []
    most = None if forks() and len(numbers) >= _WORTH_PROCESSES else 1  # matplotlib cannot draw in several threads
    for paths in progress("Drawing figures", in_turn(partial(_draw, request), numbers, most=most), len(numbers)):
        written += paths
    if request.factors:
        written.append(_write_text(request.out / "factors.csv", factors_csv(request.factors)))
    return written


def _draw(request: FigureRequest, number: int) -> list[Path]:
    """Draw and write one of the figures."""
    import matplotlib as mpl

    plan = next(islice(_plans(request), number, None))
    with mpl.rc_context(STYLE):
        return _save(plan, request)


def _check(request: FigureRequest) -> None:
    for what, given, known in (
        ("--by", request.groupings, tuple(GROUPINGS)),
        ("--format", request.formats, FORMATS),
        ("--type", request.only, tuple(name for name in ERROR_TYPES if name != "correct")),
        ("--x-axis", (request.x_axis,), X_AXES),
    ):
        unknown = [name for name in given if name not in known]
        if unknown:
            raise InputError(what, f"no {unknown[0]!r}", fix=f"Choose from: {', '.join(known)}.")


def against_accuracy(request: FigureRequest) -> bool:
    """Tell whether types are drawn against accuracy: those asked for are, and all where there are many models."""
    return bool(request.only) or len(request.points) > FEW_MODELS


def _plans(request: FigureRequest) -> Iterator[_Plan]:
    of_models = f"of {counted(len(request.points), 'model')}"
    if against_accuracy(request):
        yield from _clouds(request)
    else:
        yield _Plan("bars", f"Errors {of_models} by type", _bars_text(request), lambda: bar_figure(request))
        yield _Plan("shares", f"Shares of error types {of_models}", _shares_text(request), lambda: dumbbell(request))
    for rates in request.factors:
        what = "Each error type's rate by ImageNet-X factor, over its rate among all images."
        yield _Plan(f"factors/{rates.model}", f"{rates.model} by factor", what, partial(factor_figure, rates))


def _clouds(request: FigureRequest) -> Iterator[_Plan]:
    wanted = request.only or ERROR_TYPES
    merged = comparable(SEVERE, request.points, request.behind)
    for grouping in request.groupings:
        kinds = categories(request.points, grouping)
        for among in AMONG:
            for names in [*((name,) for name in error_types(among)), *([merged] if len(merged) > 1 else [])]:
                if not set(names) & set(wanted) or not _is_drawable(request.points, names, among):
                    continue
                yield _Plan(
                    f"{among}/{grouping}/{'+'.join(names)}",
                    f"{types_text(names)} against {ACCURACY_NAME[among]}",
                    f"{counted(len(request.points), 'model')}; share of {types_text(names)} among "
                    f"{ERRORS_NAME[among]}, by {x_text(among, request)}.",
                    partial(portion_figure, request, kinds, names, among=among),
                )
    if SEVERE in wanted and len(merged) == 1 and len(request.points) > FEW_MODELS:
        lines = f"lines below and from an MLA of {TWO_PIECE_SPLIT:.0f}"
        models = counted(len(request.points), "model")
        what = f"Share of model failures among the multi-label errors of {models}, with {lines}."
        yield _Plan(f"{SEVERE}_two_piece", "Model failures by accuracy", what, lambda: two_piece_figure(request))


def _is_drawable(points: Points, names: tuple[str, ...], among: str) -> bool:
    """Tell whether anything is known of the types: their exact share, or at least bounds."""
    if np.isfinite(points.portions(names, among=among)).any():
        return True
    return len(names) == 1 and bool(np.isfinite(points.bounds(names[0], among=among)[1]).any())


def _bars_text(request: FigureRequest) -> str:
    models = ", ".join(request.points.models)
    return f"Top-1 errors of {models} by error type, from class overlaps to model failures."


def _shares_text(request: FigureRequest) -> str:
    beside = "" if request.behind is None else f", beside the trend of {len(request.behind)} published models"
    return f"Share of each error type among the multi-label errors of {', '.join(request.points.models)}{beside}."


def _save(plan: _Plan, request: FigureRequest) -> list[Path]:
    figure = plan.draw()
    if figure.get_layout_engine() is not None:
        figure.draw_without_rendering()
        figure.set_layout_engine("none")  # the layout is found now, and need not be found again for every format
    paths = []
    for kind in request.formats:
        path = request.out / f"{plan.name}.{kind}"
        try:
            with written_whole(path) as unfinished:
                _PRINTERS[kind](figure, unfinished, plan)
        except OSError as error:
            raise InputError(path, f"cannot be written: {error.strerror}", fix="Choose another --out.") from None
        paths.append(path)
    return paths


# Straight to the canvas of each format: savefig would draw everything twice. Without the date, so that a figure drawn
# again is the same file.
def _print_png(figure: Figure, path: Path, _plan: _Plan) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure.dpi = _DPI
    FigureCanvasAgg(figure).print_png(path)


def _print_pdf(figure: Figure, path: Path, plan: _Plan) -> None:
    from matplotlib.backends.backend_pdf import FigureCanvasPdf

    FigureCanvasPdf(figure).print_pdf(path, metadata={"CreationDate": None, "Title": plan.title})


def _print_svg(figure: Figure, path: Path, plan: _Plan) -> None:
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    FigureCanvasSVG(figure).print_svg(path, metadata={"Date": None, "Title": plan.title})
    _describe(path, plan)


_PRINTERS = {"png": _print_png, "svg": _print_svg, "pdf": _print_pdf}


def _describe(path: Path, plan: _Plan) -> None:
    """Give an SVG a title and a description that screen readers read, as its first elements."""
    from xml.sax.saxutils import escape

    text = path.read_text(encoding="utf-8")
    start = text.index(">", text.index("<svg ")) + 1
    end = text.index("</title>", start) + len("</title>") if text[start:].lstrip().startswith("<title>") else start
    head = f"\n <title>{escape(plan.title)}</title>\n <desc>{escape(plan.description)}</desc>"
    path.write_text(text[:start] + head + text[end:], encoding="utf-8")


def _write_text(path: Path, text: str) -> Path:
    try:
        with written_whole(path) as unfinished:
            unfinished.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(path, f"cannot be written: {error.strerror}", fix="Choose another --out.") from None
    return path
