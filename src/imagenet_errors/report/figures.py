"""Figures for a paper: each error type's portion against accuracy, for all models, on scales that never change.

Source: Peychev et al., NeurIPS 2023, section 5: portions of top-1 errors against top-1 accuracy and of multi-label
    errors against multi-label accuracy, linear fits, and the two-piece fit of model failures split at MLA 90.
Differs: a group's portions stand against the group's own accuracy; top-1 is over the evaluated images.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from imagenet_errors.chain import ERROR_TYPES
from imagenet_errors.files import written_whole
from imagenet_errors.labels import GROUPS
from imagenet_errors.measure import IS_MULTI_LABEL_ERROR
from imagenet_errors.problems import InputError
from imagenet_errors.report.fits import TWO_PIECE_SPLIT, LinearFit, fit_line, two_piece
from imagenet_errors.report.groupings import GROUPINGS, Category, categories
from imagenet_errors.report.looks import SEVERE
from imagenet_errors.report.published import Points
from imagenet_errors.report.scales import ACCURACY_NAME, ACCURACY_RANGE, ERRORS_NAME, most_percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = ("png", "svg", "pdf")
AMONG = ("multi_label", "top1")
STYLE: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 7.5,
    "axes.titlesize": 8,
    "axes.titleweight": "bold",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.7,
    "axes.grid": True,
    "grid.color": "#e6e3dc",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "xtick.major.width": 0.7,
    "ytick.major.width": 0.7,
    "legend.frameon": False,
    "pdf.fonttype": 42,  # text stays text
    "svg.fonttype": "none",
    "svg.hashsalt": "imagenet-errors",  # the same data give the same file
}
_INK, _SOFT, _CLOUD = "#1d1c1a", "#77736a", "#c9c4b8"
_DPI = 220
FEWEST_FITTED = 5
"""A line through fewer models says nothing of models at large."""
_FEWEST_OF_KIND = 20
"""Kinds of models with at least so many get a line of their own."""


@dataclass(frozen=True, eq=False)
class FigureRequest:
    """What to draw: ``points`` in front, ``behind`` in grey; ``groupings`` by which the points are told apart."""

    points: Points
    out: Path
    behind: Points | None = None
    groupings: tuple[str, ...] = ("data",)
    formats: tuple[str, ...] = FORMATS
    only: tuple[str, ...] = ()
    """Just these error types; all, if empty."""
    named: bool = False
    """Write the models' names beside them (for few models)."""


def write_figures(request: FigureRequest) -> list[Path]:
    """Draw and write every figure; return the files, in the order written.

    Raises
    ------
    InputError
        matplotlib is not installed, or a grouping, format or error type is unknown.
    """
    _check(request)
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure  # noqa: F401  # only whether it is there
    except ImportError:
        raise InputError(
            "figures", "need matplotlib, which is not installed", fix="Run: pip install 'imagenet-errors[report]'"
        ) from None
    wanted = request.only or ERROR_TYPES
    written: list[Path] = []
    with mpl.rc_context(STYLE):
        for grouping in request.groupings:
            told = categories(request.points, grouping)
            portions = [(among, name) for among in AMONG for name in error_types(among) if name in wanted]
            for among, error_type in portions:
                figure = portion_figure(request, told, error_type, among=among)
                written += _save(figure, request, f"{among}/{grouping}/{error_type}")
        if SEVERE in wanted:
            written += _save(two_piece_figure(request), request, f"{SEVERE}_two_piece")
    return written


def error_types(among: str) -> tuple[str, ...]:
    """Return the types that have a portion among ``top1`` or ``multi_label`` errors."""
    is_one = IS_MULTI_LABEL_ERROR if among == "multi_label" else np.arange(len(ERROR_TYPES)) > 0
    return tuple(name for name, counts in zip(ERROR_TYPES, is_one, strict=True) if counts)


def _check(request: FigureRequest) -> None:
    for what, given, known in (
        ("--by", request.groupings, tuple(GROUPINGS)),
        ("--format", request.formats, FORMATS),
        ("--type", request.only, ERROR_TYPES[1:]),
    ):
        unknown = [name for name in given if name not in known]
        if unknown:
            raise InputError(what, f"no {unknown[0]!r}", fix=f"Choose from: {', '.join(known)}.")


def portion_figure(request: FigureRequest, told: Sequence[Category], error_type: str, *, among: str) -> Figure:
    """Return one type's portion against accuracy: a panel for each group of classes, a legend beneath."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 5.6), layout="constrained")
    axes = figure.subplots(2, 2, sharex=True, sharey=True)
    for axis, group in zip(axes.ravel(), GROUPS, strict=True):
        _frame(axis, error_type, among=among, title=group)
        if request.behind is not None:
            _scatter(axis, request.behind, error_type, among=among, group=group, color=_CLOUD, s=7)
        n_outside = _draw_points(axis, request, told, error_type, among=among, group=group)
        x, y = _xy(request.points, error_type, among=among, group=group)
        _draw_kinds(axis, told, x, y)
        fit = fit_line(x, y)
        _draw_fit(axis, fit, color=_INK)
        _note(axis, fit, n_outside)
    for axis in axes[1]:
        axis.set_xlabel(f"{ACCURACY_NAME[among]} on the group, %")
    for axis in axes[:, 0]:
        axis.set_ylabel(f"{error_type}, % of {ERRORS_NAME[among]}")
    _legend(figure, told, n_behind=0 if request.behind is None else len(request.behind))
    return figure


def two_piece_figure(request: FigureRequest) -> Figure:
    """Return the portion of model failures against MLA over all classes, with the two-piece fit."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.0, 3.6), layout="constrained")
    axis = figure.subplots()
    _frame(axis, SEVERE, among="multi_label", title="")
    if request.behind is not None:
        _scatter(axis, request.behind, SEVERE, among="multi_label", group="all", color=_CLOUD, s=8)
    x, y = _xy(request.points, SEVERE, among="multi_label", group="all")
    axis.scatter(x, y, s=10, color="#3b6f9c", alpha=0.75, linewidths=0)
    _name_points(axis, request, x, y)
    axis.axvline(TWO_PIECE_SPLIT, color=_SOFT, linewidth=0.7, linestyle=(0, (2, 3)))
    for fit, place in zip(two_piece(x, y), ("below", "from"), strict=True):
        _draw_fit(axis, fit, color="#b4233c", label=_slope_text(fit, place))
    axis.set_xlabel(f"{ACCURACY_NAME['multi_label']}, %")
    axis.set_ylabel(f"{SEVERE}, % of {ERRORS_NAME['multi_label']}")
    if any(_is_worth_a_line(fit) for fit in two_piece(x, y)):
        axis.legend(loc="lower left")
    return figure


def _slope_text(fit: LinearFit | None, place: str) -> str:
    if fit is None:
        return ""
    return f"{place} MLA {TWO_PIECE_SPLIT:.0f}: {fit.slope:+.2f} a point ({fit.n} models)".replace("-", "−")


def _frame(axis: Axes, error_type: str, *, among: str, title: str) -> None:
    axis.set_xlim(*ACCURACY_RANGE[among])
    axis.set_ylim(0, most_percent(error_type))
    if title:
        axis.set_title(title, loc="left")


def _xy(points: Points, error_type: str, *, among: str, group: str) -> tuple[Any, Any]:
    return points.accuracy(among, group), points.portions(error_type, among=among, group=group)


def _scatter(axis: Axes, points: Points, error_type: str, *, among: str, group: str, **look: Any) -> None:
    x, y = _xy(points, error_type, among=among, group=group)
    axis.scatter(x, y, linewidths=0, alpha=0.6, **look)


def _draw_points(
    axis: Axes, request: FigureRequest, told: Sequence[Category], error_type: str, *, among: str, group: str
) -> int:
    """Draw every category of models; return how many models lie outside the fixed scale."""
    x, y = _xy(request.points, error_type, among=among, group=group)
    for category in told:
        inside = category.holds
        axis.scatter(x[inside], y[inside], s=12, color=category.colour, marker=category.marker, alpha=0.7, linewidths=0)
    _name_points(axis, request, x, y)
    (low, high), top = ACCURACY_RANGE[among], most_percent(error_type)
    known = np.isfinite(x) & np.isfinite(y)
    return int((known & ~((x >= low) & (x <= high) & (y <= top))).sum())


def _name_points(axis: Axes, request: FigureRequest, x: Any, y: Any) -> None:
    for name, at, up in zip(request.points.models, x, y, strict=True) if request.named else ():
        # parse_math off: a "$" in a model's name is a "$", not a formula.
        axis.annotate(name, (at, up), (4, 3), textcoords="offset points", fontsize=5.5, color=_INK, parse_math=False)


def _is_worth_a_line(fit: LinearFit | None) -> TypeGuard[LinearFit]:
    return fit is not None and fit.n >= FEWEST_FITTED


def _draw_kinds(axis: Axes, told: Sequence[Category], x: Any, y: Any) -> None:
    """Draw thin lines through the larger kinds of models, where there are several."""
    large = [category for category in told if category.holds.sum() >= _FEWEST_OF_KIND]
    for category in large if len(large) > 1 else ():
        fit = fit_line(x[category.holds], y[category.holds])
        if fit is not None:
            ends = np.array([fit.x_min, fit.x_max])
            axis.plot(ends, fit.at(ends), color=category.colour, linewidth=0.9, alpha=0.9)


def _draw_fit(axis: Axes, fit: LinearFit | None, *, color: str, label: str = "") -> None:
    if not _is_worth_a_line(fit):
        return
    x = np.linspace(fit.x_min, fit.x_max, 60)
    line, half = fit.at(x), fit.half_band(x)
    axis.fill_between(x, line - half, line + half, color=color, alpha=0.16, linewidth=0)
    axis.plot(x, line, color=color, linewidth=1.2, label=label)


def _note(axis: Axes, fit: LinearFit | None, n_outside: int) -> None:
    """Write the line's slope, and how many models the fixed scale leaves out, into the panel's title line."""
    told = [f"{fit.slope:+.2f} a point".replace("-", "−")] if _is_worth_a_line(fit) else []
    told += [f"{n_outside} outside the scale"] if n_outside else []
    axis.set_title("; ".join(told), loc="right", fontsize=6.5, fontweight="normal", color=_SOFT)


def _legend(figure: Figure, told: Sequence[Category], *, n_behind: int) -> None:
    from matplotlib.lines import Line2D

    handles: list[Any] = [
        Line2D([], [], linestyle="", marker=category.marker, color=category.colour, markersize=4.5, label=category.name)
        for category in told
    ]
    if n_behind:
        cloud = Line2D(
            [], [], linestyle="", marker="o", color=_CLOUD, markersize=4, label=f"{n_behind} published models"
        )
        handles.append(cloud)
    handles.append(Line2D([], [], color=_INK, linewidth=1.2, label="linear fit of all, 95 % band"))
    figure.legend(handles=handles, loc="outside lower center", ncols=min(len(handles), 4), fontsize=6.5)


def _save(figure: Figure, request: FigureRequest, name: str) -> list[Path]:
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # the layout is found now, and need not be found again for every format
    paths = []
    for kind in request.formats:
        path = request.out / f"{name}.{kind}"
        try:
            with written_whole(path) as partial:
                figure.savefig(partial, format=kind, dpi=_DPI, metadata=_METADATA[kind])
        except OSError as error:
            raise InputError(path, f"cannot be written: {error.strerror}", fix="Choose another --out.") from None
        paths.append(path)
    return paths


# Without the date, so that a figure drawn again is the same file.
_METADATA: dict[str, dict[str, Any]] = {"png": {}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
