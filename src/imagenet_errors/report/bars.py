"""A bar for the terminal: how a model's errors share out, least severe to most, at a glance, without colour too."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from imagenet_errors.chain import COUNTS_AS, ERROR_TYPES

# Denser means worse, so that the bar reads in a file or without colours as well.
_SIGN = {"right": "░", "minor": "▒", "explained": "▓", "wrong": "█"}
STYLE = {"right": "green", "minor": "yellow", "explained": "dark_orange", "wrong": "red"}
LEGEND = {"right": "no error but by its label", "minor": "minor", "explained": "explained", "wrong": "severe"}


def severity_bar(counts: Sequence[int], *, width: int) -> Text:
    """Return a bar of ``width`` signs for one model's counts, one a type of ``chain.ERROR_TYPES``; empty if no errors.

    What is there at all gets at least one sign, and the lengths add up to the width.
    """
    sums = dict.fromkeys(_SIGN, 0)
    for name, count in zip(ERROR_TYPES[1:], counts[1:], strict=True):
        sums[COUNTS_AS[name]] += int(count)
    bar = Text(no_wrap=True)
    for kind, length in zip(sums, _lengths(list(sums.values()), width), strict=True):
        bar.append(_SIGN[kind] * length, style=STYLE[kind])
    return bar


def bar_legend() -> Text:
    """Return what the signs of the bars mean, in one line."""
    text = Text()
    for kind, means in LEGEND.items():
        text.append(f"{_SIGN[kind]}{_SIGN[kind]}", style=STYLE[kind])
        text.append(f" {means}   ")
    text.rstrip()
    return text


def _lengths(parts: list[int], width: int) -> list[int]:
    """Share out the width: each part's floor, at least 1 where there is any, the rest to the largest remainders."""
    total = sum(parts)
    if not total:
        return [0] * len(parts)
    exact = [part * width / total for part in parts]
    lengths = [max(int(share), 1 if part else 0) for share, part in zip(exact, parts, strict=True)]
    while sum(lengths) != width:
        step = 1 if sum(lengths) < width else -1
        # The part that is furthest from its share in the needed direction gives or takes one sign.
        open_ends = [place for place, length in enumerate(lengths) if parts[place] and length + step >= 1]
        if not open_ends:
            break
        place = max(open_ends, key=lambda place: step * (exact[place] - lengths[place]))
        lengths[place] += step
    return lengths
