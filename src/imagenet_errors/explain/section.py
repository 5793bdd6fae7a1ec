"""What stored explanations say together, for pages and terminals: figures with intervals, and first whether to look.

Only the tables below ``explanations/`` of a run are read; nothing is computed again and no model library is needed.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from imagenet_errors.chain import ERROR_TYPES
from imagenet_errors.compare import mcnemar
from imagenet_errors.measure import wilson
from imagenet_errors.problems import counted
from imagenet_errors.runs.directory import read_run_table

Row = dict[str, Any]
FOLDER = "explanations"
SIGNIFICANT = 0.05
UNREADABLE, OTHER_ANSWER = "unreadable", "other_answer"
"""Verdicts where nothing was asked: the image cannot be decoded; the model does not answer what the run says."""
_NOT_ASKED = {
    OTHER_ANSWER: "the model now answers otherwise than in the run. Most often the preprocessing is another: pass that "
    "of the predictions (--data KEY=VALUE); or the architecture is another than the weights'",
    UNREADABLE: "the image cannot be read",
}
_RECURS = 2
_METRICS = ("spearman", "top_overlap", "ssim")


@dataclass(frozen=True)
class Explanations:
    """One model's explanations by one method: ``rows`` as stored, ``summary`` of them, ``first_line`` for people.

    ``shows_pictures``: False where the figures say that single pictures are no evidence.
    """

    method: str
    model: str
    rows: tuple[Row, ...]
    summary: Row
    first_line: str
    shows_pictures: bool

    @property
    def left_out(self) -> str:
        """How many answers were not asked, and why, in a sentence; empty if all were."""
        counts = self.summary["not_asked"]
        reasons = "; ".join(f"{counts[verdict]:,}: {why}" for verdict, why in _NOT_ASKED.items() if counts[verdict])
        n = sum(counts.values())
        return f"{n:,} of {counted(self.summary['n'], 'answer')} left out. {reasons}." if reasons else ""

    def shows_picture_of(self, error_type: str) -> bool:
        """Tell whether a single picture of an answer of this type is evidence."""
        return self.shows_pictures and error_type in self.summary.get("shown_types", ERROR_TYPES)


def read_explanations(path: Path) -> pa.Table:
    """Return one table of explanations.

    Raises
    ------
    InputError
        It is damaged.
    """
    return read_run_table(path, pa.schema([]), needed=("file_name", "verdict", "seconds"), fix="Explain again.")


def stored_explanations(run: Path) -> tuple[Explanations, ...]:
    """Return all explanations in a run directory, by method and model; none where there are none.

    Raises
    ------
    InputError
        A table cannot be read.
    """
    paths = sorted(path for path in (run / FOLDER).glob("*/*.parquet") if path.parent.name in SUMMARIES)
    return tuple(summarised(_rows(path), method=path.parent.name, model=path.stem) for path in paths)


def summarised(rows: Sequence[Row], *, method: str, model: str = "") -> Explanations:
    """Return one table's rows with what they say together."""
    asked = [row for row in rows if row["verdict"] not in _NOT_ASKED]
    summary, line, shows = SUMMARIES[method](asked)
    if not asked:
        line, shows = "No answer was explained.", False
    answers = {(row["file_name"], row["prediction"]): row["verdict"] for row in rows}
    not_asked = {verdict: list(answers.values()).count(verdict) for verdict in _NOT_ASKED}
    whole = {"n": len(answers), "not_asked": not_asked, "seconds": _seconds(asked), **summary}
    return Explanations(method, model, tuple(rows), whole, line, shows)


def _rows(path: Path) -> list[Row]:
    rows: list[Row] = read_explanations(path).to_pylist()
    return rows


def _seconds(rows: Sequence[Row]) -> float:
    return float(np.median([row["seconds"] for row in rows])) if rows else float("nan")


def page_rows(explanations: Iterable[Explanations], *, anyway: bool = False) -> dict[str, dict[str, Row]]:
    """Return what an opened row of the page shows, for JSON.

    ``"<file name>|<prediction>"`` -> model -> method -> its columns; of ``sis`` a list, a row for each size of cell.
    ``shows_picture`` is False where the figures say that single pictures are no evidence, unless they are asked for
    ``anyway``; then the hidden part is left out. ``picture`` stands beside the methods, once for all of them.
    """
    by_case: dict[str, dict[str, Row]] = {}
    for each in explanations:
        for row in each.rows:
            if row["verdict"] in _NOT_ASKED:
                continue
            models = by_case.setdefault(f"{row['file_name']}|{row['prediction']}", {})
            methods = models.setdefault(each.model, {})
            shows = anyway or each.shows_picture_of(row["error_type"])
            if shows and row.get("picture"):
                methods.setdefault("picture", f"data:image/webp;base64,{base64.b64encode(row['picture']).decode()}")
            shown = {"verdict": row["verdict"], "shows_picture": shows, **_plain(_SHOWN[each.method](row, shows))}
            if each.method == "sis":
                methods.setdefault(each.method, []).append(shown)
            else:
                methods.setdefault(each.method, shown)
    return by_case


def _shown_located(row: Row, shows: bool) -> Row:
    keys = ("goal", "grid", "n_hidden_to_flip", "flips_to", "flips_to_type", "decoy", "n_hidden_to_decoy")
    shown = {key: row.get(key) for key in (*keys, "chance_flip", "other_baseline_flips", "transfer")}
    return {**shown, "hidden": row["order"][: row["n_hidden_to_flip"] or 0] if shows else []}


def _shown_subset(row: Row, _: bool) -> Row:
    keys = ("cell", "status", "share_kept", "p_kept", "p_dilated", "p_random", "p_complement")
    return {key: row.get(key) for key in keys}


def _shown_maps(row: Row, shows: bool) -> Row:
    first = [place for place, name in enumerate(row["names"]) if name.endswith(" map")] if shows else []
    ranks: dict[str, list[float]] = {kind: [] for kind in ("models", "within")}
    for each in row["agreement"]:
        if each["compared"] in ranks and each["spearman"] == each["spearman"]:
            ranks[each["compared"]].append(each["spearman"])
    return {
        **{kind: float(np.mean(values)) if values else None for kind, values in ranks.items()},
        "names": [row["names"][place].removesuffix(" · map") for place in first],
        "maps": [row["maps"][place] for place in first],
    }


def _shown_stability(row: Row, _: bool) -> Row:
    """Return the shares, and the answer that the draws most often give instead."""
    others = [(row["answers"].count(answer), -answer) for answer in set(row["answers"]) - {row["prediction"]}]
    n, answer = max(others, default=(0, 0))
    keys = ("share_stays", "share_right", "share_other_type", "box_answer", "box_type")
    shown = {key: row.get(key) for key in keys} | {"n_draws": len(row["answers"]), "n_else": n, "else": -answer}
    return {**shown, "else_type": row["answer_types"][row["answers"].index(-answer)] if n else None}


_SHOWN = {"locate": _shown_located, "sis": _shown_subset, "maps": _shown_maps, "stability": _shown_stability}


def _plain(value: Any) -> Any:
    """Return a value as JSON can hold it: NaN is null."""
    if isinstance(value, float):
        return None if value != value else round(value, 3)
    if isinstance(value, list):
        return [_plain(part) for part in value]
    return {key: _plain(part) for key, part in value.items()} if isinstance(value, dict) else value


def by_error_type(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Return the rows by type, the most severe first; ``correct`` last."""
    order = [*reversed(ERROR_TYPES[1:]), ERROR_TYPES[0]]
    return {kind: found for kind in order if (found := [row for row in rows if row["error_type"] == kind])}


def shares(rows: Sequence[Row], key: str) -> list[Row]:
    """Return how many rows have each value, most first, with the share's 95 % interval."""
    values, counts = np.unique([str(row[key]) for row in rows], return_counts=True)
    found = []
    for place in np.argsort(-counts, kind="stable"):
        n = int(counts[place])
        low, high = wilson(n, len(rows))
        bounds = {"low": float(low), "high": float(high)}
        found.append({key: str(values[place]), "n": n, "share": n / len(rows), **bounds})
    return found


def errors_of(rows: Sequence[Row]) -> list[Row]:
    """Return the rows that are errors."""
    return [row for row in rows if row["error_type"] != "correct"]


def _located(rows: Sequence[Row]) -> tuple[Row, str, bool]:
    """Sum up ``locate``: accepted answers against decoys, paired, within a quarter of the cells."""
    types = {
        kind: {"n": len(found), **paired(found), "verdicts": shares(found, "verdict")}
        for kind, found in by_error_type(rows).items()
    }
    shown_types = [
        kind for kind, found in types.items() if found["n_accepted"] > found["n_decoy"] and found["p"] < SIGNIFICANT
    ]
    errors = errors_of(rows)
    pair = paired(errors)
    line = (
        f"Hiding up to a quarter of the picture turns {pair['n_accepted']} of {len(errors)} errors into an accepted "
        f"answer and {pair['n_decoy']} into a decoy as near (exact paired test: p = {pair['p']:.2g})."
    )
    weak = [
        f"{kind} ({found['n_accepted']} against {found['n_decoy']}, p = {found['p']:.2g})"
        for kind, found in types.items()
        if kind not in ("correct", *shown_types)
    ]
    if weak:
        line += f" No more than decoys: {', '.join(weak)}; single pictures of these are no evidence, none is shown."
    summary = {
        "errors": pair,
        "types": types,
        "shown_types": shown_types,
        "recurring": recurring(errors),
        "transfer": transfer(errors),
    }
    return summary, line, any(kind != "correct" for kind in shown_types)


def paired(rows: Sequence[Row]) -> Row:
    """Return how many answers turn within a quarter of the cells: to accepted, to the decoy, to one alone; and p."""
    accepted, decoy = (
        np.array([_within_quarter(row, key) for row in rows], dtype=np.bool_)
        for key in ("n_hidden_to_flip", "n_hidden_to_decoy")
    )
    only = int((accepted & ~decoy).sum()), int((decoy & ~accepted).sum())
    return {
        "n_accepted": int(accepted.sum()),
        "n_decoy": int(decoy.sum()),
        "n_accepted_only": only[0],
        "n_decoy_only": only[1],
        "p": mcnemar(*only).p_value,
    }


def _within_quarter(row: Row, key: str) -> bool:
    return row[key] is not None and row[key] <= row["grid"] ** 2 // 4


def recurring(rows: Sequence[Row]) -> list[Row]:
    """Return class pairs with several located errors: how often each cell was hidden, float [n]."""
    pairs: dict[tuple[int, int], list[Row]] = {}
    for row in rows:
        if row["verdict"] == "located":
            pairs.setdefault((row["prediction"], row["goal"]), []).append(row)
    return [
        {"prediction": pair[0], "goal": pair[1], "n": len(found), "mean_map": _mean_map(found)}
        for pair, found in sorted(pairs.items(), key=lambda item: (-len(item[1]), item[0]))
        if len(found) >= _RECURS
    ]


def _mean_map(rows: Sequence[Row]) -> list[float]:
    hidden = np.zeros((len(rows), rows[0]["grid"] ** 2))
    for place, row in enumerate(rows):
        hidden[place, row["order"][: row["n_hidden_to_flip"]]] = 1
    mean: list[float] = hidden.mean(axis=0).tolist()
    return mean


def transfer(rows: Sequence[Row]) -> list[Row]:
    """Return, for each other model, how often the mask of a located error turns its wrong answer too."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        for other in row["transfer"] or () if row["verdict"] == "located" else ():
            found.setdefault(other["model"], []).append({**other, "same": other["before"] == row["prediction"]})
    told = []
    for model, others in found.items():
        same = [other for other in others if other["same"]]
        told.append(
            {"model": model, "n": len(others), "n_same": len(same), "n_turns": sum(other["turns"] for other in same)}
        )
    return told


def _sufficient(rows: Sequence[Row]) -> tuple[Row, str, bool]:
    """Sum up ``sis`` by size of cell."""
    cells = {}
    for cell in sorted({row["cell"] for row in rows}):
        of_cell = [row for row in rows if row["cell"] == cell]
        cells[cell] = {
            kind: {
                "n": len(found),
                "verdicts": shares(found, "verdict"),
                "statuses": shares(found, "status"),
                **{key: _median(found, key) for key in ("share_kept", "p_dilated", "p_random", "p_complement")},
                "n_far": sum(row["p_far_best"] >= row["threshold"] for row in found),
                "border_share": _mean(found, "border_share"),
                "border_area": _mean(found, "border_area"),
            }
            for kind, found in (("errors", errors_of(of_cell)), ("right", _right(of_cell)))
            if found
        }
    smallest = [row for row in rows if row["cell"] == min(cells, default=1)]
    robust = sum(row["verdict"] == "robust" for row in smallest)
    line = (
        f"{robust} of {len(smallest)} subsets of single pixels withstand their controls; "
        f"the median one keeps {_median(smallest, 'share_kept'):.0%} of the picture."
    )
    return {"cells": cells}, line, robust > 0


def _right(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if row["error_type"] == "correct"]


def _known(rows: Sequence[Row], key: str) -> list[float]:
    return [row[key] for row in rows if row[key] is not None]


def _median(rows: Sequence[Row], key: str) -> float:
    known = _known(rows, key)
    return float(np.median(known)) if known else float("nan")


def _mean(rows: Sequence[Row], key: str) -> float:
    known = _known(rows, key)
    return float(np.mean(known)) if known else float("nan")


def _mapped(rows: Sequence[Row]) -> tuple[Row, str, bool]:
    """Sum up ``maps``: agreement across models and methods against the ceiling within a model."""
    kinds = {"errors": mean_agreement(errors_of(rows)), "right": mean_agreement(_right(rows))}
    every = {(each["method"], each["compared"]): each for each in mean_agreement(rows)}
    told = []
    for method in sorted({method for method, _ in every}):
        within, models = every.get((method, "within")), every.get((method, "models"))
        if within and models:
            told.append(f"{method} {models['spearman']:.2f} across models (ceiling {within['spearman']:.2f})")
    line = f"Maps of the same answer agree by rank: {'; '.join(told) or 'nothing to compare'}."
    return {"agreement": kinds, "types": {k: mean_agreement(v) for k, v in by_error_type(rows).items()}}, line, True


def mean_agreement(rows: Sequence[Row]) -> list[Row]:
    """Return the mean over images of each image's mean agreement, by method and by what is compared."""
    per_image: dict[tuple[str, str], list[list[float]]] = {}
    for row in rows:
        of_image: dict[tuple[str, str], list[list[float]]] = {}
        for each in row["agreement"]:
            of_image.setdefault(_agreement_kind(each), []).append([each[metric] for metric in _METRICS])
        for key, values in of_image.items():
            known = np.array(values, dtype=np.float64)
            if not np.isnan(known).all(axis=0).any():
                per_image.setdefault(key, []).append(np.nanmean(known, axis=0).tolist())
    return [
        {
            "method": key[0],
            "compared": key[1],
            "n": len(values),
            **dict(zip(_METRICS, np.mean(values, axis=0).tolist(), strict=True)),
        }
        for key, values in sorted(per_image.items())
    ]


def _agreement_kind(each: Row) -> tuple[str, str]:
    one_method, other_method = (each[side].split(" · ")[0] for side in ("one", "other"))
    method = one_method if one_method == other_method else " / ".join(sorted((one_method, other_method)))
    return method, each["compared"]


def _stable(rows: Sequence[Row]) -> tuple[Row, str, bool]:
    """Sum up ``stability`` by error type."""
    types = {
        kind: {
            "n": len(found),
            "verdicts": shares(found, "verdict"),
            **{key: _mean(found, key) for key in ("share_stays", "share_right", "share_other_type")},
        }
        for kind, found in by_error_type(rows).items()
    }
    errors = errors_of(rows)
    stable = sum(row["verdict"] == "stable" for row in errors)
    line = f"{stable} of {len(errors)} errors stay in at least four fifths of the flips, crops and colour changes."
    return {"types": types}, line, True


SUMMARIES = {"locate": _located, "sis": _sufficient, "maps": _mapped, "stability": _stable}
