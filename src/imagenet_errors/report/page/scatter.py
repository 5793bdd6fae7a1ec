"""Small scatter plots for the page: portions against multi-label accuracy, as SVG coordinates for the template."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from imagenet_errors.chain import ERROR_TYPES
from imagenet_errors.report.fits import LinearFit, fit_line, two_piece
from imagenet_errors.report.looks import SEVERE
from imagenet_errors.report.points import Points, Scale, comparable, error_types, scale_of

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
    """The plot of one error type, or of several whose share is exact only together; the same for every model of a page.

    ``published``, ``ours`` and ``lines`` are path data of dots and lines; ``fits`` are the lines themselves.
    """

    error_types: tuple[str, ...]
    published: str
    ours: str
    fits: tuple[LinearFit, ...]
    lines: tuple[str, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    scale: Scale

    @property
    def name(self) -> str:
        """Its name in the page."""
        return "-".join(self.error_types)

    @property
    def is_severe(self) -> bool:
        """True for the plot that leads: severe errors, or all that they can only be told together with."""
        return SEVERE in self.error_types


@dataclass(frozen=True)
class Mark:
    """One model on a panel: where, its figures in percent, and what the published line says at its accuracy.

    ``low`` and ``high`` are the heights of its bounds where evidence was partial; its ``portion`` is NaN then, and it
    is compared with nothing.
    """

    panel: Panel
    x: float
    y: float
    accuracy: float
    portion: float
    expected: float | None
    low: float | None = None
    high: float | None = None
    bounds: tuple[float, float] | None = None


def panels(ours: Points, published: Points | None) -> tuple[Panel, ...]:
    """Return a panel for the severe errors, then one for each other type of which anything is known."""
    severe = comparable(SEVERE, ours, published)
    others = [(name,) for name in error_types(_AMONG) if name != SEVERE and _is_known(ours, name)]
    if published is not None:  # a type that occurs in none of them was not asked there
        others = [names for names in others if published.counts[:, 0, ERROR_TYPES.index(names[0])].any()]
    return tuple(_panel(names, ours, published) for names in (severe, *others))


def _is_known(points: Points, name: str) -> bool:
    return bool(np.isfinite(points.bounds(name, among=_AMONG)[1]).any())


def _panel(names: tuple[str, ...], ours: Points, published: Points | None) -> Panel:
    fits = () if published is None else published_fits(published, names)
    scale = scale_of(names, among=_AMONG, ours=ours, published=published)
    low, high = scale.x
    return Panel(
        error_types=names,
        published="" if published is None else _dots(published, names, scale),
        ours=_dots(ours, names, scale),
        fits=tuple(fits),
        lines=tuple(_line(fit, scale) for fit in fits),
        x_ticks=tuple(Tick(_x(value, scale), f"{value:.0f}") for value in np.linspace(low, high, 6).tolist()),
        y_ticks=tuple(Tick(_y(value, scale), f"{value:g}") for value in _rounds(scale.most)),
        scale=scale,
    )


def published_fits(published: Points, names: tuple[str, ...]) -> tuple[LinearFit, ...]:
    """Return the line through the published models; two, split at MLA 90, for the severe errors alone."""
    x, y = published.accuracy(_AMONG), published.portions(names, among=_AMONG)
    fits = two_piece(x, y) if names == (SEVERE,) else (fit_line(x, y),)
    return tuple(fit for fit in fits if fit is not None)


def mark(panel: Panel, ours: Points, model: int) -> Mark | None:
    """Return where one of our models lies; None if it has no multi-label accuracy or no such errors."""
    accuracy = float(ours.accuracy(_AMONG)[model])
    portion = float(ours.portions(panel.error_types, among=_AMONG)[model])
    if not np.isfinite(accuracy):
        return None
    if np.isfinite(portion):
        x, y = _x(accuracy, panel.scale), _y(portion, panel.scale)
        return Mark(panel, x, y, accuracy, portion, _expected(panel, accuracy))
    if len(panel.error_types) > 1:
        return None
    low, high = (float(bound[model]) for bound in ours.bounds(panel.error_types[0], among=_AMONG))
    if not np.isfinite(high):
        return None
    ends = _y(low, panel.scale), _y(high, panel.scale)
    return Mark(panel, _x(accuracy, panel.scale), ends[1], accuracy, portion, None, *ends, bounds=(low, high))


def _expected(panel: Panel, accuracy: float) -> float | None:
    """Return the published line's height, if there are published models of such accuracy."""
    inside = [fit for fit in panel.fits if fit.x_min <= accuracy <= fit.x_max]
    return float(inside[-1].at(np.array(accuracy))) if inside else None


def _rounds(most: float) -> list[float]:
    step = next(step for step in (0.5, 1, 2, 4, 8, 10, 20, 25) if most / step <= 5)
    return [step * count for count in range(int(most / step) + 1)]


def _x(accuracy: float, scale: Scale) -> float:
    low, high = scale.x
    inside = min(max((accuracy - low) / (high - low), 0.0), 1.0)
    return round(_LEFT + inside * (WIDTH - _LEFT - _RIGHT), 1)


def _y(portion: float, scale: Scale) -> float:
    inside = min(max(portion / scale.most, 0.0), 1.0)
    return round(HEIGHT - _BOTTOM - inside * (HEIGHT - _TOP - _BOTTOM), 1)


def _dots(points: Points, names: tuple[str, ...], scale: Scale) -> str:
    """Return all models as one path of dots: each a line without length, round by its caps."""
    x, y = points.accuracy(_AMONG), points.portions(names, among=_AMONG)
    known = np.isfinite(x) & np.isfinite(y)
    return "".join(f"M{_x(a, scale):g} {_y(b, scale):g}h0" for a, b in zip(x[known], y[known], strict=True))


def _line(fit: LinearFit, scale: Scale) -> str:
    ends: NDArray[np.float64] = np.array([fit.x_min, fit.x_max])
    (left, right), (first, last) = ends, fit.at(ends)
    return f"M{_x(left, scale):g} {_y(first, scale):g}L{_x(right, scale):g} {_y(last, scale):g}"
