"""The figure of ``sensitivity``: agreement under each variant, beside it what the models' errors become."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from imagenet_errors.report.looks import looks
from imagenet_errors.study.sensitivity import Effect, SensitivityRun

_ROW_INCHES, _WIDTH_INCHES, _MARGIN_INCHES = 0.27, 13.0, 1.7
_INK, _FAINT = "#1f2328", "#c9d1d9"


def draw(run: SensitivityRun, paths: Sequence[Path]) -> None:
    """Draw the figure into every path, in the format of its ending; the same run gives the same bytes."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    height = _MARGIN_INCHES + _ROW_INCHES * len(run.effects)
    with mpl.rc_context({"svg.hashsalt": "sensitivity", "font.size": 9, "svg.fonttype": "path"}):
        figure = Figure(figsize=(_WIDTH_INCHES if run.models else _WIDTH_INCHES / 2, height), layout="constrained")
        axes = figure.subplots(1, 2 if run.models else 1, sharey=True, squeeze=False)[0]
        _draw_agreement(axes[0], run)
        if run.models:
            _draw_distributions(axes[1], run)
        for path in paths:
            metadata = {"Date": None} if path.suffix == ".svg" else {}
            figure.savefig(path, dpi=150, metadata=metadata)


def _draw_agreement(axis: Any, run: SensitivityRun) -> None:
    """Draw a dot a variant, a bar from the worst to the best case of unknown evidence, a line at the base."""
    found = [effect.agreement.agreement for effect in run.effects]
    rows = np.arange(len(found))
    value, low, high = (100 * np.array([getattr(one, end) for one in found]) for end in ("value", "low", "high"))
    axis.axvline(value[0], color=_INK, linewidth=0.8, linestyle=":")
    axis.hlines(rows, low, high, color=_FAINT, linewidth=5, label="worst to best case of unknown evidence")
    axis.plot(value, rows, "o", color=_INK, markersize=5, label="same category as the panel")
    kappa = 100 * np.array([effect.agreement.kappa.value for effect in run.effects])
    axis.plot(kappa, rows, "D", color="#0f766e", markersize=4, label="100 × kappa")
    axis.set_yticks(rows, [_label(effect) for effect in run.effects])
    axis.invert_yaxis()
    axis.set_xlim(0, 100)
    axis.set_xlabel("agreement with the panel, % of the judged cases")
    axis.grid(axis="x", color=_FAINT, linewidth=0.4)
    axis.set_axisbelow(True)
    _legend(axis, n_columns=2)
    _frame(axis)


def _draw_distributions(axis: Any, run: SensitivityRun) -> None:
    """Draw a stacked bar a variant: each type's share of top-1 errors, averaged over the models."""
    rows = np.arange(len(run.effects))
    portions = 100 * np.array([effect.distributions.portions for effect in run.effects if effect.distributions])
    left = np.zeros(len(rows))
    for place, look in enumerate(looks()):
        if look.name == "correct":
            continue
        axis.barh(rows, portions[:, place], left=left, color=look.light, height=0.72, label=look.name)
        left += portions[:, place]
    axis.set_xlim(0, 100)
    axis.set_xlabel(f"share of top-1 errors, %, mean of {len(run.models)} models")
    _legend(axis, n_columns=4)
    axis.tick_params(axis="y", length=0)
    _frame(axis)


def _label(effect: Effect) -> str:
    variant = effect.variant
    return variant.name if variant.choice == variant.name else f"{variant.choice}: {variant.name}"


def _legend(axis: Any, *, n_columns: int) -> None:
    axis.legend(
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        ncols=n_columns,
        frameon=False,
        fontsize=8,
        handlelength=1.2,
        columnspacing=1.2,
    )


def _frame(axis: Any) -> None:
    for side in ("top", "right", "left"):
        axis.spines[side].set_visible(False)
    axis.tick_params(colors=_INK)
