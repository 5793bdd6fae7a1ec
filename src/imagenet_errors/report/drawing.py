"""One figure of some models: portions against accuracy in panels, or few models' errors as bars and shares.

Which are drawn, and into what files, ``figures`` says; its sources stand there, too.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from imagenet_errors.report.factors import FactorRates
from imagenet_errors.report.fits import TWO_PIECE_SPLIT, LinearFit, curve, fit_line, two_piece
from imagenet_errors.report.looks import ACCURACY_NAME, ERRORS_NAME, SEVERE, in_prose, look_of, looks
from imagenet_errors.report.points import Category, Points, comparable, error_types, scale_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = ("png", "svg", "pdf")
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
    "figure.constrained_layout.w_pad": 0.12,
    "pdf.fonttype": 42,  # text stays text
    "svg.fonttype": "none",
    "svg.hashsalt": "imagenet-errors",  # the same data give the same file
}
_INK, _SOFT, _CLOUD, _FRONT = "#1d1c1a", "#77736a", "#c9c4b8", "#3b6f9c"
FEWEST_FITTED = 5
"""A line through fewer models says nothing of models at large."""
_FEWEST_OF_KIND = 20
"""Kinds of models with at least so many get a line of their own."""
_MOST_NAMED = 12


@dataclass(frozen=True, eq=False)
class FigureRequest:
    """What to draw: ``points`` in front, ``behind`` in grey; ``groupings`` by which the points are told apart.

    ``only`` just these error types, all if empty. ``named``: write models' names beside outliers and the frontier.
    ``x_axis``: accuracy of ``all`` images for every group, as published, or of the ``group`` itself.
    """

    points: Points
    out: Path
    behind: Points | None = None
    groupings: tuple[str, ...] = ("data",)
    formats: tuple[str, ...] = FORMATS
    only: tuple[str, ...] = ()
    named: bool = False
    x_axis: str = "all"
    factors: tuple[FactorRates, ...] = ()


def types_text(names: Sequence[str]) -> str:
    """Return one type, or several together, in the words of the paper."""
    return " + ".join(in_prose(name) for name in names)


def x_text(among: str, request: FigureRequest) -> str:
    """Say what the x-axis shows."""
    whose = "of all images" if request.x_axis == "all" else "on the group itself"
    return f"{ACCURACY_NAME[among]} {whose}"


def portion_figure(request: FigureRequest, kinds: Sequence[Category], names: Sequence[str], *, among: str) -> Figure:
    """Return the portion of a type, or of several together, against accuracy: a panel for each group, a legend beneath.

    A share that is known within bounds only is drawn as an interval, and no line is put through it.
    """
    figure, grid = _panel_grid(len(request.points.groups))
    for axis, group in zip(grid.ravel(), request.points.groups, strict=False):
        _frame(axis, request, names, among=among, title=group)
        if request.behind is not None and group in request.behind.groups:
            x, y = _xy(request.behind, names, request, among=among, group=group)
            axis.scatter(x, y, s=7, color=_CLOUD, linewidths=0, alpha=0.6)
        x, y = _xy(request.points, names, request, among=among, group=group)
        n_outside = _draw_points(axis, kinds, x, y)
        _draw_bounds(axis, request, names, among=among, group=group)
        if request.named:
            _name_points(axis, request.points.models, x, y)
        _draw_kinds(axis, kinds, x, y)
        fit = _draw_trend(axis, x, y)
        _note(axis, fit, n_outside)
    for axis in grid[-1]:
        axis.set_xlabel(f"{x_text(among, request)}, %")
    for axis in grid[:, 0]:
        axis.set_ylabel(
            f"{textwrap.fill(types_text(names), 44)},\n% of {ERRORS_NAME[among]}",
            fontsize=7 if len(names) == 1 else 5.5,
        )
    _legend(figure, kinds, n_behind=0 if request.behind is None else len(request.behind))
    return figure


def _panel_grid(n_panels: int) -> tuple[Figure, NDArray[Any]]:
    """Return a figure of up to two panels a row that share their axes, object [R, 1 or 2]; one too many is hidden."""
    from matplotlib.figure import Figure

    n_rows, n_columns = -(-n_panels // 2), min(n_panels, 2)
    height = 1.2 + 2.2 * n_rows
    figure = Figure(figsize=(7.0, height))  # margins are fixed: finding them anew takes as long as drawing
    grid = figure.subplots(n_rows, n_columns, sharex=True, sharey=True, squeeze=False)
    figure.subplots_adjust(0.1, 0.95 / height, 0.985, 1 - 0.25 / height, wspace=0.07, hspace=0.17)
    if n_panels < grid.size:
        grid[-1, -1].set_visible(False)
        grid[-2, -1].tick_params(labelbottom=True)
    return figure, grid


def two_piece_figure(request: FigureRequest) -> Figure:
    """Return the portion of model failures against MLA over all classes, with the two-piece fit."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.0, 3.6), layout="constrained")
    axis = figure.subplots()
    _frame(axis, request, (SEVERE,), among="multi_label", title="")
    if request.behind is not None:
        x, y = _xy(request.behind, (SEVERE,), request, among="multi_label", group="all")
        axis.scatter(x, y, s=8, color=_CLOUD, linewidths=0, alpha=0.6)
    x, y = _xy(request.points, (SEVERE,), request, among="multi_label", group="all")
    axis.scatter(x, y, s=10, color=_FRONT, alpha=0.75, linewidths=0)
    if request.named:
        _name_points(axis, request.points.models, x, y)
    axis.axvline(TWO_PIECE_SPLIT, color=_SOFT, linewidth=0.7, linestyle=(0, (2, 3)))
    for fit, where in zip(two_piece(x, y), ("below", "from"), strict=True):
        _draw_line(axis, fit, color=look_of(SEVERE).light, label=_slope_text(fit, where))
    axis.set_xlabel(f"{ACCURACY_NAME['multi_label']}, %")
    axis.set_ylabel(f"{in_prose(SEVERE)}, % of {ERRORS_NAME['multi_label']}")
    if any(_is_worth_a_line(fit) for fit in two_piece(x, y)):
        axis.legend(loc="lower left")
    return figure


def bar_figure(request: FigureRequest) -> Figure:
    """Return few models' top-1 errors by type, as stacked bars; the numbers where they fit."""
    from matplotlib.figure import Figure

    points = request.points
    order = np.argsort(-np.nan_to_num(points.mla[:, 0]), kind="stable")
    figure = Figure(figsize=(7.0, 0.9 + 0.42 * len(order)), layout="constrained")
    axis = figure.subplots()
    widest = max(1, int(points.counts[:, 0, 1:].sum(axis=1).max()))
    for row, model in enumerate(order):
        left = 0
        for place, look in enumerate(looks()):
            count = int(points.counts[model, 0, place])
            if look.name == "correct" or not count:
                continue
            is_open = bool(points.is_open[model, place])
            axis.barh(row, count, left=left, color=look.light, edgecolor="white", linewidth=0.6, hatch="///" * is_open)
            if count > 0.045 * widest:
                text = axis.text(left + count / 2, row, f"{'≤ ' * is_open}{count:,}", color=look.light_ink)
                text.set(ha="center", va="center", fontsize=6)
                text.set_bbox({"facecolor": look.light, "edgecolor": "none", "pad": 0.8})
            left += count
    labels = [f"{points.models[model]} (MLA {points.mla[model, 0]:.1f})" for model in order]
    axis.set_yticks(range(len(order)), labels, parse_math=False)
    axis.invert_yaxis()
    axis.grid(visible=False, axis="y")
    axis.set_xlabel("top-1 errors")
    _type_legend(figure, points)
    return figure


def _type_legend(figure: Figure, points: Points) -> None:
    from matplotlib.patches import Patch

    there = [look for place, look in enumerate(looks()) if place and points.counts[:, 0, place].any()]
    handles = [Patch(color=look.light, label=in_prose(look.name)) for look in there]
    if points.open_types:
        handles.append(Patch(facecolor="white", edgecolor=_SOFT, hatch="///", label="depends on missing evidence"))
    figure.legend(handles=handles, loc="outside lower center", ncols=min(4, len(handles)), fontsize=6.5)


def dumbbell(request: FigureRequest) -> Figure:
    """Return few models' shares of multi-label errors, a panel for each type, beside the line through the published.

    Types that depend on missing evidence stand together, as far as their share is exact only together.
    """
    from matplotlib.figure import Figure

    points = request.points
    merged = comparable(SEVERE, points, request.behind)
    single = [(name,) for name in error_types("multi_label") if name not in points.open_types and name not in merged]
    panels = [merged, *single]
    order = np.argsort(-np.nan_to_num(points.mla[:, 0]), kind="stable")
    figure = Figure(figsize=(7.0, 0.9 + (0.32 + 0.2 * len(order)) * len(panels)), layout="constrained")
    axes = np.atleast_1d(figure.subplots(len(panels), 1))
    spans = [_draw_dumbbells(axis, request, names, order) for axis, names in zip(axes, panels, strict=True)]
    half = 0.5 * max(5.0, *(high - low for low, high in spans)) + 1  # of one length, so that the panels compare
    for axis, (low, high) in zip(axes, spans, strict=True):
        axis.set_xlim((low + high) / 2 - half, (low + high) / 2 + half)
    beside = "; ring: published models of the same MLA" if request.behind else ""
    axes[-1].set_xlabel(f"% of multi-label errors{beside}")
    return figure


def _draw_dumbbells(axis: Axes, request: FigureRequest, names: tuple[str, ...], order: Any) -> tuple[float, float]:
    """Draw a panel; return the least and the largest share in it."""
    points = request.points
    share, mla = points.portions(names, among="multi_label"), points.accuracy("multi_label")
    expected = _published_share(request.behind, names, mla)
    colour = look_of(names[-1]).light
    for row, model in enumerate(order):
        if np.isfinite(expected[model]):
            axis.plot([expected[model], share[model]], [row, row], color=_CLOUD, linewidth=2, zorder=1)
            axis.plot(expected[model], row, "o", color="white", markeredgecolor=_SOFT, markersize=5, zorder=2)
        axis.plot(share[model], row, "o", color=colour, markersize=5.5, zorder=3)
    axis.set_yticks(range(len(order)), [points.models[model] for model in order], parse_math=False)
    axis.set_ylim(len(order) - 0.5, -0.5)
    axis.set_title(types_text(names), loc="left")
    shown = np.concatenate((share, expected))
    return float(np.nanmin(shown, initial=100.0)), float(np.nanmax(shown, initial=0.0))


def _published_share(behind: Points | None, names: Sequence[str], mla: Any) -> Any:
    """Return the published trend's share at each MLA; NaN outside the published models, or without them."""
    if behind is None:
        return np.full(len(mla), np.nan)
    x, y = behind.accuracy("multi_label"), behind.portions(names, among="multi_label")
    trend, line = curve(x, y), fit_line(x, y)
    if line is None:
        return np.full(len(mla), np.nan)
    heights = np.interp(mla, *trend) if trend is not None else line.at(mla)
    return np.where((mla >= line.x_min) & (mla <= line.x_max), heights, np.nan)


def _slope_text(fit: LinearFit | None, where: str) -> str:
    if fit is None:
        return ""
    return f"{where} MLA {TWO_PIECE_SPLIT:.0f}: {fit.slope:+.2f} pp per MLA point ({fit.n} models)".replace("-", "−")


def _frame(axis: Axes, request: FigureRequest, names: Sequence[str], *, among: str, title: str) -> None:
    scale = scale_of(names, among=among, ours=request.points, published=request.behind)
    axis.set_xlim(*scale.x)
    axis.set_ylim(0, scale.most)
    if title:
        axis.set_title(title, loc="left")


def _xy(points: Points, names: Sequence[str], request: FigureRequest, *, among: str, group: str) -> tuple[Any, Any]:
    x = points.accuracy(among, group if request.x_axis == "group" else "all")
    return x, points.portions(names, among=among, group=group)


def _draw_points(axis: Axes, kinds: Sequence[Category], x: Any, y: Any) -> int:
    """Draw every category of models; return how many models lie outside the fixed scale."""
    for category in kinds:
        inside = category.holds
        axis.scatter(x[inside], y[inside], s=12, color=category.colour, marker=category.marker, alpha=0.7, linewidths=0)
    (low, high), top = axis.get_xlim(), axis.get_ylim()[1]
    known = np.isfinite(x) & np.isfinite(y)
    return int((known & ~((x >= low) & (x <= high) & (y <= top))).sum())


def _draw_bounds(axis: Axes, request: FigureRequest, names: Sequence[str], *, among: str, group: str) -> None:
    """Draw an interval for each model whose share is known within bounds only."""
    if len(names) != 1:
        return
    low, high = request.points.bounds(names[0], among=among, group=group)
    x = request.points.accuracy(among, group if request.x_axis == "group" else "all")
    wide = np.isfinite(high) & (high > low)
    axis.vlines(x[wide], low[wide], high[wide], color=_FRONT, linewidth=0.8, alpha=0.5)


def _name_points(axis: Axes, models: Sequence[str], x: Any, y: Any) -> None:
    """Name the frontier and the outliers, as many as there is room for without one name over another."""
    known = np.flatnonzero(np.isfinite(x) & np.isfinite(y))
    if not len(known):
        return
    from matplotlib.patheffects import withStroke

    renderer = axis.figure.canvas.get_renderer() if hasattr(axis.figure.canvas, "get_renderer") else None
    taken: list[Any] = []
    for model in _worth_naming(known, x, y)[:_MOST_NAMED]:
        # parse_math off: a "$" in a model's name is a "$", not a formula.
        for dx, dy, align in ((4, 3, "left"), (-4, 3, "right"), (4, -7, "left"), (-4, -7, "right")):
            text = axis.annotate(
                models[model], (x[model], y[model]), (dx, dy), textcoords="offset points", ha=align, fontsize=5.5,
                color=_INK, parse_math=False, zorder=6, path_effects=[withStroke(linewidth=1.6, foreground="white")],
            )  # fmt: skip
            box = text.get_window_extent(renderer)
            if axis.bbox.x0 <= box.x0 and box.x1 <= axis.bbox.x1 and not any(box.overlaps(other) for other in taken):
                taken.append(box)
                break
            text.remove()


def _worth_naming(known: Any, x: Any, y: Any) -> list[int]:
    """Return models by how much their name tells: the most accurate, the extremes, then those far from the trend."""
    fit, smooth = fit_line(x[known], y[known]), curve(x[known], y[known])
    off = np.zeros(len(known))
    if fit is not None:
        off = np.abs(y[known] - (fit.at(x[known]) if smooth is None else np.interp(x[known], *smooth)))
    first = [
        known[np.argmax(x[known])],
        known[np.argmin(y[known])],
        known[np.argmax(y[known])],
        known[np.argmin(x[known])],
    ]
    return list(dict.fromkeys(int(model) for model in [*first, *known[np.argsort(-off, kind="stable")]]))


def _is_worth_a_line(fit: LinearFit | None) -> TypeGuard[LinearFit]:
    return fit is not None and fit.n >= FEWEST_FITTED


def _draw_kinds(axis: Axes, kinds: Sequence[Category], x: Any, y: Any) -> None:
    """Draw thin lines, or curves, through the larger kinds of models, where there are several."""
    large = [category for category in kinds if category.holds.sum() >= _FEWEST_OF_KIND]
    for category in large if len(large) > 1 else ():
        inside = category.holds
        fit, smooth = fit_line(x[inside], y[inside]), curve(x[inside], y[inside])
        if fit is not None:
            ends = np.array([fit.x_min, fit.x_max])
            line = smooth if smooth is not None else (ends, fit.at(ends))
            axis.plot(*line, color=category.colour, linewidth=0.9, alpha=0.9)


def _draw_trend(axis: Axes, x: Any, y: Any) -> LinearFit | None:
    """Draw a smooth curve where a line leaves the data, else the line with its band; return the line for its slope."""
    fit, smooth = fit_line(x, y), curve(x, y)
    if smooth is not None:
        axis.plot(*smooth, color=_INK, linewidth=1.2)
    else:
        _draw_line(axis, fit, color=_INK)
    return fit


def _draw_line(axis: Axes, fit: LinearFit | None, *, color: str, label: str = "") -> None:
    if not _is_worth_a_line(fit):
        return
    x = np.linspace(fit.x_min, fit.x_max, 60)
    line, half = fit.at(x), fit.half_band(x)
    axis.fill_between(x, line - half, line + half, color=color, alpha=0.16, linewidth=0)
    axis.plot(x, line, color=color, linewidth=1.2, label=label)


def _note(axis: Axes, fit: LinearFit | None, n_outside: int) -> None:
    """Write the line's slope, and how many models the fixed scale leaves out, into the panel's title line."""
    notes = [f"{fit.slope:+.2f} pp per point".replace("-", "−")] if _is_worth_a_line(fit) else []
    notes += [f"{n_outside} outside the scale"] if n_outside else []
    axis.set_title("; ".join(notes), loc="right", fontsize=6.5, fontweight="normal", color=_SOFT)


def _legend(figure: Figure, kinds: Sequence[Category], *, n_behind: int) -> None:
    from matplotlib.lines import Line2D

    handles: list[Any] = [
        Line2D([], [], linestyle="", marker=category.marker, color=category.colour, markersize=4.5, label=category.name)
        for category in kinds
    ]
    if n_behind:
        label = f"{n_behind} published models"
        handles.append(Line2D([], [], linestyle="", marker="o", color=_CLOUD, markersize=4, label=label))
    if any(axes.lines for axes in figure.axes):
        handles.append(Line2D([], [], color=_INK, linewidth=1.2, label="trend of all (line with 95 % band, or curve)"))
    figure.legend(handles=handles, loc="lower center", ncols=min(len(handles), 4), fontsize=6.5)
