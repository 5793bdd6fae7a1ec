"""Small scatter plots for the page: portions against multi-label accuracy, as SVG coordinates for the template."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from imagenet_errors.report.fits import LinearFit, fit_line, two_piece
from imagenet_errors.report.looks import SEVERE
from imagenet_errors.report.published import Points
from imagenet_errors.report.scales import ACCURACY_RANGE, most_percent

WIDTH, HEIGHT = 320, 220
_LEFT, _RIGHT, _TOP, _BOTTOM = 36, 10, 10, 32
_AMONG = "multi_label"


@dataclass(frozen=True)
class Tick:
    """A place on an axis and what stands there."""

    at: float
    text: str


@dataclass(frozen=True)
class Panel:
    """One error type's plot: path data of the dots and lines, and ticks; the same for every model of a page."""

    error_type: str
    published: str
    ours: str
    lines: tuple[str, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]


@dataclass(frozen=True)
class Mark:
    """One model on a panel: where, its figures in percent, and what the published line says at its accuracy."""

    panel: Panel
    x: float
    y: float
    accuracy: float
    portion: float
    expected: float | None


def panels(ours: Points, published: Points | None, error_types: tuple[str, ...]) -> tuple[Panel, ...]:
    """Return a panel for each error type."""
    return tuple(_panel(name, ours, published) for name in error_types)


def _panel(name: str, ours: Points, published: Points | None) -> Panel:
    fits = () if published is None else published_fits(published, name)
    return Panel(
        error_type=name,
        published="" if published is None else _dots(published, name),
        ours=_dots(ours, name),
        lines=tuple(_line(fit, name) for fit in fits),
        x_ticks=tuple(Tick(_x(value), f"{value:.0f}") for value in (50, 60, 70, 80, 90, 100)),
        y_ticks=tuple(Tick(_y(value, name), f"{value:g}") for value in _rounds(most_percent(name))),
    )


def published_fits(published: Points, name: str) -> tuple[LinearFit, ...]:
    """Return the line through the published models; two, split at MLA 90, for the severe errors."""
    x, y = published.accuracy(_AMONG), published.portions(name, among=_AMONG)
    fits = two_piece(x, y) if name == SEVERE else (fit_line(x, y),)
    return tuple(fit for fit in fits if fit is not None)


def mark(panel: Panel, ours: Points, model: int, *, published: Points | None) -> Mark | None:
    """Return where one of our models lies; None if it has no multi-label accuracy or no such errors."""
    accuracy = float(ours.accuracy(_AMONG)[model])
    portion = float(ours.portions(panel.error_type, among=_AMONG)[model])
    if not np.isfinite(accuracy) or not np.isfinite(portion):
        return None
    expected = None if published is None else _expected(published, panel.error_type, accuracy)
    return Mark(panel, _x(accuracy), _y(portion, panel.error_type), accuracy, portion, expected)


def _expected(published: Points, name: str, accuracy: float) -> float | None:
    """Return the published line's height, if there are published models of such accuracy."""
    inside = [fit for fit in published_fits(published, name) if fit.x_min <= accuracy <= fit.x_max]
    return float(inside[-1].at(np.array(accuracy))) if inside else None


def _rounds(most: float) -> list[float]:
    step = next(step for step in (0.5, 1, 2, 4, 8, 10, 20, 25) if most / step <= 5)
    return [step * count for count in range(int(most / step) + 1)]


def _x(accuracy: float) -> float:
    low, high = ACCURACY_RANGE[_AMONG]
    inside = min(max((accuracy - low) / (high - low), 0.0), 1.0)
    return round(_LEFT + inside * (WIDTH - _LEFT - _RIGHT), 1)


def _y(portion: float, name: str) -> float:
    inside = min(max(portion / most_percent(name), 0.0), 1.0)
    return round(HEIGHT - _BOTTOM - inside * (HEIGHT - _TOP - _BOTTOM), 1)


def _dots(points: Points, name: str) -> str:
    """Return all models as one path of dots: each a line without length, round by its caps."""
    x, y = points.accuracy(_AMONG), points.portions(name, among=_AMONG)
    known = np.isfinite(x) & np.isfinite(y)
    return "".join(f"M{_x(a):g} {_y(b, name):g}h0" for a, b in zip(x[known], y[known], strict=True))


def _line(fit: LinearFit, name: str) -> str:
    ends: NDArray[np.float64] = np.array([fit.x_min, fit.x_max])
    (left, right), (first, last) = ends, fit.at(ends)
    return f"M{_x(left):g} {_y(first, name):g}L{_x(right):g} {_y(last, name):g}"
