"""What the published statistics of 962 models say: portions by accuracy, slopes, and the two-piece fit as a figure.

    python scripts/report_published.py [--published-statistics DIR] --out reports/published.md

Without the option, the copy of ``imagenet-errors data fetch published`` is used. The
figure is written beside the page.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib as mpl
import numpy as np

from imagenet_errors.labels import GROUPS
from imagenet_errors.report.drawing import STYLE, FigureRequest, two_piece_figure
from imagenet_errors.report.fits import fit_line, two_piece
from imagenet_errors.report.looks import SEVERE
from imagenet_errors.report.points import Points, error_types, published_points

BINS = ((0.0, 80.0, "below 80"), (80.0, 90.0, "80 to 90"), (90.0, 95.0, "90 to 95"), (95.0, 101.0, "95 and above"))
FIGURE = "published_two_piece"


def portions_by_accuracy(points: Points) -> list[str]:
    """Return the table of each type's mean portion of multi-label errors, by multi-label accuracy."""
    mla = points.accuracy("multi_label")
    inside = [(mla >= low) & (mla < high) for low, high, _ in BINS]
    heads = [f"MLA {name} ({int(chosen.sum())} models)" for (_, _, name), chosen in zip(BINS, inside, strict=True)]
    lines = [f"| error type | {' | '.join(heads)} |", "| --- |" + " ---: |" * len(BINS)]
    for name in error_types("multi_label"):
        portions = points.portions(name, among="multi_label")
        means = " | ".join(f"{portions[chosen].mean():.1f} %" for chosen in inside)
        lines.append(f"| `{name}` | {means} |")
    return lines


def slopes(points: Points) -> list[str]:
    """Return the table of slopes: one line a type and group, in percentage points a point of the MLA of all images."""
    lines = [f"| error type | {' | '.join(GROUPS)} |", "| --- |" + " ---: |" * len(GROUPS)]
    for name in error_types("multi_label"):
        told = []
        for group in GROUPS:
            fit = fit_line(points.accuracy("multi_label"), points.portions(name, among="multi_label", group=group))
            told.append("–" if fit is None else f"{fit.slope:+.2f}")
        lines.append(f"| `{name}` | {' | '.join(told)} |")
    return lines


def page(points: Points) -> str:
    """Return the Markdown page."""
    x, y = points.accuracy("multi_label"), points.portions(SEVERE, among="multi_label")
    first, second = (fit for fit in two_piece(x, y) if fit is not None)
    lines = [
        f"# What {len(points)} published models say",
        "",
        "Made by `python scripts/report_published.py --out reports/published.md` from the statistics published",
        "with Peychev et al., NeurIPS 2023 (github.com/eth-sri/automated-error-analysis, Apache-2.0).",
        "",
        f"The share of `{SEVERE}` among multi-label errors changes by {first.slope:+.2f} points a point of",
        f"multi-label accuracy (MLA) below 90 % ({first.n} models) and by {second.slope:+.2f} from there on",
        f"({second.n} models): better models make fewer errors, and among those ever fewer severe ones.",
        "",
        f"![Share of model failures against multi-label accuracy]({FIGURE}.svg)",
        "",
        "## Mean share of multi-label errors",
        "",
        *portions_by_accuracy(points),
        "",
        "## Slopes of straight lines through all models, by group",
        "",
        "Percentage points of a type's share a point of the multi-label accuracy of all images, as published.",
        "",
        *slopes(points),
        "",
        f"Error types, least severe first: {', '.join(f'`{name}`' for name in error_types('top1'))}.",
        "All figures of this kind: `imagenet-errors figures --published --by data --by family --by group`.",
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Parse the arguments; write the page and its figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--published-statistics", type=Path, help="folder of the published stats CSV files")
    parser.add_argument("--out", type=Path, required=True, help="Markdown page to write")
    arguments = parser.parse_args()
    points = published_points(arguments.published_statistics)
    with mpl.rc_context(STYLE):
        figure = two_piece_figure(FigureRequest(points, arguments.out.parent))
        figure.savefig(arguments.out.with_name(f"{FIGURE}.svg"), metadata={"Date": None})
    partial = arguments.out.with_name(f".{arguments.out.name}")
    partial.write_text(page(points), encoding="utf-8")
    partial.replace(arguments.out)
    print(f"{arguments.out}: {len(points)} models, mean MLA {np.mean(points.accuracy('multi_label')):.1f} %")


if __name__ == "__main__":
    main()
