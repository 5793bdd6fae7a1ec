"""Small scatter plots for the page: portions against multi-label accuracy, as SVG coordinates for the template."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from imagenet_errors.chain import ERROR_TYPES
from imagenet_errors.prepared import prepared, stamp
from imagenet_errors.report import fits
from imagenet_errors.report.fits import LinearFit, curve, fit_line, two_piece
from imagenet_errors.report.looks import SEVERE
from imagenet_errors.report.points import Points, Scale, comparable, error_types, scale_of

WIDTH, HEIGHT = 320, 220
_LEFT, _RIGHT, _TOP, _BOTTOM = 36, 10, 10, 32
_AMONG = "multi_label"


class Tick(msgspec.Struct, frozen=True):
    """A place on an axis and what stands there."""

    at: float
    text: str


class Trend(msgspec.Struct, frozen=True, eq=False):
    """What a cloud of models does along the accuracy: a line, x and y float64 [2], or a curve, [k]; x ascends."""

    x: NDArray[np.float64]
    y: NDArray[np.float64]

    @property
    def is_curve(self) -> bool:
        """True where a line would leave the data."""
        return len(self.x) > 2

    def at(self, accuracy: float) -> float | None:
        """Return its height; None beyond the models."""
        inside = self.x[0] <= accuracy <= self.x[-1]
        return float(np.interp(accuracy, self.x, self.y)) if inside else None


class Panel(msgspec.Struct, frozen=True):
    """The plot of one error type, or of several whose share is exact only together; the same for every model of a page.

    ``published``, ``ours`` and ``lines`` are path data of dots and trends; ``trends`` of the published models.
    """

    error_types: tuple[str, ...]
    published: str
    ours: str
    trends: tuple[Trend, ...]
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


class Mark(msgspec.Struct, frozen=True):
    """One model on a panel: where, its figures in percent, and what published models of its accuracy have.

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

    @property
    def is_cut(self) -> bool:
        """True where the upper bound lies above the axis."""
        return self.bounds is not None and self.bounds[1] > self.panel.scale.most


def panels(ours: Points, published: Points | None, *, trend_of: Points | None = None) -> tuple[Panel, ...]:
    """Return a panel for the severe errors, then one for each other type of which anything is known.

    The trend is that of the published models, or of ``trend_of``.
    """
    severe = comparable(SEVERE, ours, published)
    others = [(name,) for name in error_types(_AMONG) if name != SEVERE and _is_known(ours, name)]
    if published is not None:  # a type that occurs in none of them was not asked there
        others = [names for names in others if published.counts[:, 0, ERROR_TYPES.index(names[0])].any()]
    types, basis = (severe, *others), trend_of or published
    found = [()] * len(types) if basis is None else trends(basis, types)
    return tuple(_panel(names, ours, published, trend) for names, trend in zip(types, found, strict=True))


def trends(points: Points, types: Sequence[tuple[str, ...]]) -> list[tuple[Trend, ...]]:
    """Return the trend of each share: a curve where a line leaves the data, and two lines for severe errors alone.

    They are kept: a curve takes longer to find than all the rest of a page.
    """
    x, shares = points.accuracy(_AMONG), [points.portions(names, among=_AMONG) for names in types]
    made_of: list[str | bytes] = [
        stamp([Path(fits.__file__), Path(__file__)]),
        x.tobytes(),
        *(share.tobytes() for share in shares),
    ]
    severe_alone = [names == (SEVERE,) for names in types]

    def make() -> pa.Table:
        pieces = [
            (place, trend)
            for place, (share, is_severe) in enumerate(zip(shares, severe_alone, strict=True))
            for trend in _trends(x, share, is_severe=is_severe)
        ]
        columns = {
            "type": pa.array([place for place, _ in pieces], type=pa.int64()),
            "x": pa.array([trend.x.tolist() for _, trend in pieces], type=pa.list_(pa.float64())),
            "y": pa.array([trend.y.tolist() for _, trend in pieces], type=pa.list_(pa.float64())),
        }
        return pa.table(columns)

    found: list[tuple[Trend, ...]] = [()] * len(types)
    for row in prepared([*made_of, str(severe_alone)], make).to_pylist():
        found[row["type"]] += (Trend(np.array(row["x"]), np.array(row["y"])),)
    return found


def _trends(x: NDArray[np.float64], y: NDArray[np.float64], *, is_severe: bool) -> list[Trend]:
    smooth = None if is_severe else curve(x, y)
    if smooth is not None:
        return [Trend(*smooth)]
    lines = two_piece(x, y) if is_severe else (fit_line(x, y),)
    return [_straight(line) for line in lines if line is not None]


def _straight(line: LinearFit) -> Trend:
    ends = np.array([line.x_min, line.x_max])
    return Trend(ends, line.at(ends))


def _is_known(points: Points, name: str) -> bool:
    return bool(np.isfinite(points.bounds(name, among=_AMONG)[1]).any())


def _panel(names: tuple[str, ...], ours: Points, published: Points | None, found: tuple[Trend, ...]) -> Panel:
    scale = scale_of(names, among=_AMONG, ours=ours, published=published)
    low, high = scale.x
    return Panel(
        error_types=names,
        published="" if published is None else _dots(published, names, scale),
        ours=_dots(ours, names, scale),
        trends=found,
        lines=tuple(_line(trend, scale) for trend in found),
        x_ticks=tuple(Tick(_x(value, scale), f"{value:.0f}") for value in np.linspace(low, high, 6).tolist()),
        y_ticks=tuple(Tick(_y(value, scale), f"{value:g}") for value in _rounds(scale.most)),
        scale=scale,
    )


def severe_slopes(points: Points) -> list[float]:
    """Return how the share of severe errors changes, in pp per point of MLA, below an MLA of 90 % and from there on."""
    lines = two_piece(points.accuracy(_AMONG), points.portions(SEVERE, among=_AMONG))
    return [line.slope for line in lines if line is not None]


def marks(panel: Panel, ours: Points) -> list[Mark | None]:
    """Return where each of our models lies; None if it has no multi-label accuracy or no such errors."""
    low, high = ours.bounds(panel.error_types[0], among=_AMONG)
    columns = (ours.accuracy(_AMONG), ours.portions(panel.error_types, among=_AMONG), low, high)
    return [_mark(panel, *figures) for figures in zip(*(column.tolist() for column in columns), strict=True)]


def _mark(panel: Panel, accuracy: float, portion: float, low: float, high: float) -> Mark | None:
    if not np.isfinite(accuracy):
        return None
    if np.isfinite(portion):
        x, y = _x(accuracy, panel.scale), _y(portion, panel.scale)
        return Mark(panel, x, y, accuracy, portion, _expected(panel, accuracy))
    if len(panel.error_types) > 1 or not np.isfinite(high):
        return None
    ends = _y(low, panel.scale), _y(high, panel.scale)
    return Mark(panel, _x(accuracy, panel.scale), ends[1], accuracy, portion, None, *ends, bounds=(low, high))


def _expected(panel: Panel, accuracy: float) -> float | None:
    """Return what published models of such accuracy have, if there are any."""
    heights = [height for trend in panel.trends if (height := trend.at(accuracy)) is not None]
    return heights[-1] if heights else None


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


def _line(trend: Trend, scale: Scale) -> str:
    return "M" + "L".join(f"{_x(a, scale):g} {_y(b, scale):g}" for a, b in zip(trend.x, trend.y, strict=True))
