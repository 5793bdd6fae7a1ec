"""Write reports/explain.md from what scripts/study_explain.py has made; see there for the command.

Only figures are published: the pictures are not ours to show. A stage that has not run, or ran on fewer answers than
asked for, is said to have.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from imagenet_errors.explain.ask import METHODS
from imagenet_errors.explain.maps import Maps
from imagenet_errors.explain.questions import judge_by
from imagenet_errors.explain.section import SIGNIFICANT, Explanations, summarised
from imagenet_errors.explain.sufficiency import SufficientSubsets
from imagenet_errors.inputs import load_basis
from imagenet_errors.labels import imagenet_1k
from imagenet_errors.measure import wilson
from imagenet_errors.problems import counted
from imagenet_errors.readers.arrow_tables import our_metadata
from imagenet_errors.report.markdown import md_table
from imagenet_errors.runs.manifest import read_manifest

Row = dict[str, Any]
COMMAND = "python scripts/study_explain.py --images ... --ratings ... --weights ..."
EXPECTED = {"canoe": ("10 %", ".03"), "tiger beetle": ("12 %", ".001"), "oboe": ("21 %", ".001")}
FAR_NEEDED, HITS_NEEDED = 0.95, 0.9
NEAR = 25
"""Where the object's class is among so many first answers without the object, the picture itself may speak of it."""


def write(work: Path, out: Path, *, n_wanted: int, n_plants: int) -> str:
    """Write the page; ``n_wanted``: errors, and right answers, that each method is to be asked about.

    ``n_plants``: pictures with a planted object that were asked for. Return what was written.
    """
    made = explanations(work)
    planted, masked = _json(work / "planted.json"), _json(work / "masked.json")
    parts = [
        _head(_progress(made, n_wanted, work) + _plants_reached(planted, n_plants)),
        _holds(made, planted, masked),
        _locate(made.get("locate")),
        _stability(made.get("stability")),
        _sis(made.get("sis")),
        _masked(masked),
    ]
    parts += [_three(_json(work / "three.json")), _maps(made.get("maps")), _ratings(work)]
    parts += [_planted(planted), _costs(_json(work / "costs.json"), _json(work / "cpu.json"))]
    out.write_text("\n\n".join(part.strip() for part in parts) + "\n", encoding="utf-8")
    return str(out)


def explanations(work: Path) -> dict[str, Explanations]:
    """Return what the finished rounds hold, by method; where none is finished, what is done of those begun."""
    rows = {method: _rows(_tables(work, method)) or _begun(work, method) for method in METHODS}
    return {method: summarised(found, method=method) for method, found in rows.items() if found}


def _begun(work: Path, method: str) -> list[Row]:
    rows = _rows(sorted((work / "rounds").glob(f"*/{method}/*.parts/*.parquet")))
    if rows:
        METHODS[method]().finish(rows, judge_by(load_basis(read_manifest(work).as_inputs())))
    return rows


def _rows(paths: Sequence[Path]) -> list[Row]:
    return [row for path in paths for row in pq.read_table(path, partitioning=None).to_pylist()]


def _options_of_maps(work: Path) -> list[Row]:
    """Return how the maps were made, from the finished rounds, else from those begun."""
    finished = [(our_metadata(path) or {}).get("method", {}) for path in _tables(work, "maps")]
    return finished or [_json(path)["method"] for path in sorted((work / "rounds").glob("*/maps/*.parts/facts.json"))]


def _tables(work: Path, method: str) -> list[Path]:
    return sorted((work / "rounds").glob(f"*/{method}/*.parquet"))


def _head(progress: str) -> str:
    return f"""# What explains the errors of EfficientNet-Lite0?

{progress}

Made by `{COMMAND}`.
Predictions: data/demo (1,300 validation images, 227 x 227), judged by the ReaL labels; networks and weights:
tf_efficientnet_lite0..2, converted by scripts/convert_efficientnet_lite.py. Errors are taken severe ones first: model
failures, spurious correlations, then fine-grained ones. Intervals are 95 % (Wilson); tests are exact and
two-sided. No picture is shown: they are not ours to publish. The command puts them into a run's report."""


def _progress(made: dict[str, Explanations], n_wanted: int, work: Path) -> str:
    """Say what was asked for and what was reached."""
    told = []
    for method in METHODS:
        rows = made[method].rows if method in made else ()
        right = len({row["file_name"] for row in rows if row["error_type"] == "correct"})
        wrong = len({row["file_name"] for row in rows}) - right
        told.append(f"`{method}` {wrong} + {right}")
    asked = f"**Asked: {n_wanted} errors and {n_wanted} right answers, by each of the four methods. Reached: "
    return asked + ", ".join(told) + ".**" + _less(made, work)


def _plants_reached(rows: list[Row] | None, n_wanted: int) -> str:
    n = len(rows or ())
    if n >= n_wanted:
        return f" Plants: {n} of {n_wanted}."
    return f" Plants: {n} of {n_wanted}; with the pictures and objects that were tried there are no more, or not yet."


def _less(made: dict[str, Explanations], work: Path) -> str:
    """Say where the study looks less closely than the command does by default."""
    told = []
    steps = {row["per_step"] for row in made["sis"].rows if row["cell"] == 1} if "sis" in made else set()
    if steps - {SufficientSubsets().pixels_per_step, None}:
        told.append(f"`sis` takes {max(steps):,} pixels at a step, by default {SufficientSubsets().pixels_per_step}")
    for options in _options_of_maps(work)[:1]:
        scales = ", ".join(map(str, options["scales"]))
        told.append(f"`maps` masks {scales} cells a side (by default {', '.join(map(str, Maps().scales))})")
        told.append(f"LIME draws {options['n_lime']} samples (by default {Maps().n_lime})")
    if not told:
        return ""
    return f" To save time {'; '.join(told)}."


def _holds(made: dict[str, Explanations], planted: list[Row] | None, masked: Row | None) -> str:
    """Say in a list what holds and what does not, each with its figures."""
    told = []
    if planted:
        told.append(_holds_planted(planted))
    if "locate" in made:
        pair, right = made["locate"].summary["errors"], made["locate"].summary["types"].get("correct")
        more = pair["n_accepted"] > pair["n_decoy"] and pair["p"] < SIGNIFICANT
        line = f"Errors turn into an accepted answer {'more often than' if more else 'no more often than'} into a decoy"
        line += f" ({pair['n_accepted']} against {pair['n_decoy']}, p = {pair['p']:.2g})"
        told.append(
            line + (f"; right ones into the nearest class in {right['n_accepted']} of {right['n']}." if right else ".")
        )
    if "stability" in made:
        told.append(f"Framing: {made['stability'].first_line}")
    told += [made[method].first_line for method in ("sis", "maps") if method in made]
    if masked is not None:
        told.append(_holds_masked(masked["rows"]))
    return "## What holds, and what does not\n\n" + "\n".join(f"- {line}" for line in told) if told else ""


def _holds_masked(rows: list[Row]) -> str:
    own = rows[0]["model"]

    def share(shown: str, *, by_itself: bool) -> str:
        same = [row["same"] for row in rows if row["shown"] == shown and (row["model"] == own) == by_itself]
        return f"{np.mean(same):.0%}"

    chosen, random = ("chosen_10%", "random_10%")
    return (
        f"A tenth of the pixels, chosen by sis, keeps Lite0's answer in {share(chosen, by_itself=True)} (random ones: "
        f"{share(random, by_itself=True)}); the two other models then give it in {share(chosen, by_itself=False)} "
        f"(random ones: {share(random, by_itself=False)})."
    )


def _holds_planted(rows: list[Row]) -> str:
    clear = [_is_never_or_chance(row) for row in _clear(rows)]
    shares = [
        ("the hidden part covers it", [row["hidden_hits"] for row in rows], HITS_NEEDED),
        ("without it nothing is located", [_is_never_or_chance(row) for row in rows], 1.0),
        (f"where its class is not among the first {NEAR} answers then", clear, 1.0),
        ("a class ranked 500th is never reached", [not row["far_turns"] for row in rows], FAR_NEEDED),
    ]
    told = [
        f"{what} in {share:.0%} (wanted {wanted:.0%}: {'holds' if share >= wanted else 'does not hold'})"
        for what, share, wanted in ((what, float(np.mean(held)), wanted) for what, held, wanted in shares if held)
    ]
    return f"A planted object is found: {'; '.join(told)}; {len(rows)} plants."


def _is_never_or_chance(row: Row) -> bool:
    return row["control"] in ("never", "chance")


def _not_run(title: str) -> str:
    return f"## {title}\n\nThis stage has not been run."


def _locate(made: Explanations | None) -> str:
    title = "Locate: which part, when hidden, turns the answer?"
    if made is None:
        return _not_run(title)
    rows = []
    for kind, found in made.summary["types"].items():
        verdicts = {each["verdict"]: each for each in found["verdicts"]}
        cells = [
            _share(verdicts[name]) if name in verdicts else "0" for name in ("located", "chance", "diffuse", "never")
        ]
        rows.append([kind, found["n"], found["n_accepted"], found["n_decoy"], f"{found['p']:.2g}", *cells])
    table = md_table(
        ["type", "n", "turned: accepted", "turned: decoy", "p", "located", "chance", "diffuse", "never"], rows
    )
    return f"""## {title}

{made.first_line}

{table}

Turned: within a quarter of the 64 cells, blurred. A right answer is aimed at the unaccepted class nearest to it
instead of an accepted one: how often *that* turns tells how much of the errors' turning is no more than hiding parts
of any picture does. {_located_more(made)}"""


def _located_more(made: Explanations) -> str:
    errors = [row for row in made.rows if row["verdict"] == "located" and row["error_type"] != "correct"]
    if not errors:
        return "No error is located."
    holds = sum(bool(row["other_baseline_flips"]) for row in errors)
    chance = np.median([row["chance_flip"] for row in errors])
    hidden = counted(round(float(np.median([row["n_hidden_to_flip"] for row in errors]))), "cell")
    types: dict[str, int] = {}
    for row in errors:
        types[row["flips_to_type"]] = types.get(row["flips_to_type"], 0) + 1
    told = ", ".join(f"`{kind}` {n}" for kind, n in sorted(types.items(), key=lambda item: -item[1]))
    lines = [
        f"Of {len(errors)} located errors {holds} turn under the same mask over the other baseline (channel mean) too;",
        f"the median mask hides {hidden}, and a random mask of its size turns the answer in",
        f"{chance:.0%} of draws at the median. What they are called then is: {told}.",
    ]
    lines += [
        f"{each['model']} makes {each['n_same']} of these {each['n']} errors too; their masks turn {each['n_turns']}."
        for each in made.summary["transfer"]
    ]
    return "\n".join(lines) + "\n\n" + _recurring(made.summary["recurring"])


def _recurring(pairs: Sequence[Row]) -> str:
    if not pairs:
        return "No pair of classes has two located errors, so no mean map is given."
    names = imagenet_1k().names
    told = [f"{names[pair['prediction']]} for {names[pair['goal']]} ({pair['n']})" for pair in pairs[:8]]
    return f"Pairs with several located errors: {'; '.join(told)}."


def _share(each: Row) -> str:
    return f"{each['n']} ({each['share']:.0%}; {each['low']:.0%}–{each['high']:.0%})"


def _stability(made: Explanations | None) -> str:
    title = "Stability: the picture or the framing?"
    if made is None:
        return _not_run(title)
    rows = []
    for kind, found in made.summary["types"].items():
        stable = next((each for each in found["verdicts"] if each["verdict"] == "stable"), None)
        shares = [f"{found[key]:.0%}" for key in ("share_stays", "share_right", "share_other_type")]
        rows.append([kind, found["n"], _share(stable) if stable else "0", *shares])
    table = md_table(["type", "n", "stable", "draws that stay", "become right", "become another type"], rows)
    return f"""## {title}

{made.first_line}

{table}

17 draws an image: the mirrored one, 8 crops of 0.8 to 1 of each side, 8 changes of colour by up to a fifth. Stable: at
least four fifths of the draws keep the answer."""


def _sis(made: Explanations | None) -> str:
    title = "Sufficient input subsets, with their controls"
    if made is None:
        return _not_run(title)
    rows = []
    for cell, kinds in made.summary["cells"].items():
        for kind, found in kinds.items():
            verdicts = {each["verdict"]: each["n"] for each in found["verdicts"]}
            medians = [f"{found[key]:.2g}" for key in ("share_kept", "p_dilated", "p_random", "p_complement")]
            counts = [verdicts.get(name, 0) for name in ("robust", "artefact", "inconclusive")]
            border = f"{found['border_share']:.0%} / {found['border_area']:.0%}"
            rows.append([cell, kind, found["n"], *medians, f"{found['n_far']}", border, *counts])
    header = ["cell", "of", "n", "kept", "p dilated", "p random", "p rest", "far class too", "border / area"]
    per_step = sorted({(row["cell"], row["per_step"]) for row in made.rows if row.get("per_step")})
    steps = ", ".join(f"{n} of {cell} px" for cell, n in per_step)
    return f"""## {title}

{made.first_line}

{md_table([*header, "robust", "artefact", "inconclusive"], rows)}

Medians over subsets that were found; threshold 0.9 of the answer's own probability; leaving at a step: {steps}.
"Far class too": the same search brings the class ranked 500th up to the same probability. "p dilated": the kept pixels'
3 x 3 neighbours revealed. "Border": the share of kept pixels in the outer tenth, beside its share of the area."""


def _masked(made: Row | None) -> str:
    title = "Do few pixels serve for testing?"
    if made is None:
        return _not_run(title)
    same: dict[tuple[str, str], dict[str, list[bool]]] = {}
    for row in made["rows"]:
        of = "right" if row["type"] == "correct" else "errors"
        same.setdefault((of, row["shown"]), {}).setdefault(row["model"], []).append(row["same"])
    models = list(dict.fromkeys(row["model"] for row in made["rows"]))
    order = {name: place for place, name in enumerate(("whole", "chosen_10%", "random_10%", "chosen_5%", "random_5%"))}
    table = [
        [of, shown.replace("_", ", "), len(found[models[0]]), *(f"{np.mean(found[model]):.0%}" for model in models)]
        for (of, shown), found in sorted(same.items(), key=lambda item: (item[0][0], order[item[0][1]]))
    ]
    return f"""## {title}

How often a model answers as Lite0 does of the whole picture, where only some of the pixels are left and the rest is
grey: those that Lite0's search ({made["per_step"]:,} pixels at a step) keeps longest, or as many at random.

{md_table(["of", "left", "n", *models], table)}

Pictures as files of 224 x 224 (`--export`), each model with its own size of input. What the pixels say to the model
that chose them alone is no property of the picture; what they say to the others beyond random ones may be."""


def _three(rows: list[Row] | None) -> str:
    title = "Three subsets as published: k = 100, threshold 0.9"
    if rows is None:
        return _not_run(title)
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in sorted(rows, key=lambda row: tuple(EXPECTED).index(row["name"])):
        groups.setdefault((row["setting"], row["image"]), []).append(row)
    table = md_table(
        ["preprocessing", "image", "of", "p whole", "kept", "p dilated", "expected: kept", "p dilated"],
        [
            [setting, image.lstrip("0"), found[0]["name"], f"{found[0]['p_before']:.3f}", *_kept(found)]
            for (setting, image), found in groups.items()
        ],
    )
    subsets = [row for row in rows if row["status"] == "found"]
    halved = sum(row["p_dilated"] < row["p_kept"] / 2 for row in subsets)
    return f"""## {title}

Revealing the kept pixels' neighbours halves the answer's probability, or worse, in {halved} of {len(subsets)} subsets,
by {len({row["setting"] for row in subsets})} preprocessings. {_noise(rows)}

{table}

Where revealing true pixels beside those that suffice brings the answer down, what is kept is a pattern made for the
network, not a part of the object. Expected: what another program's run of this search gave, on shared images of these
classes that are not named, by a preprocessing that is not either. Default here: timm's own, which is the network's."""


def _kept(rows: list[Row]) -> list[str]:
    """Return what is kept and the probability after dilation, as ranges over runs; and what is expected."""
    found = [row for row in rows if row["status"] == "found"]
    if not found:
        return [
            {"below": "below 0.9", "blank": "the blank suffices"}[rows[0]["status"]],
            "",
            *EXPECTED[rows[0]["name"]],
        ]
    kept, after = sorted(row["share_kept"] for row in found), sorted(row["p_dilated"] for row in found)
    if len(found) == 1:
        return [f"{kept[0]:.1%}", f"{after[0]:.3f}", *EXPECTED[found[0]["name"]]]
    return [f"{kept[0]:.1%}–{kept[-1]:.1%}", f"{after[0]:.3f}–{after[-1]:.3f}", *EXPECTED[found[0]["name"]]]


def _noise(rows: list[Row]) -> str:
    """Say how far the share kept hangs on the last digit, where that was run."""
    told = []
    for name, (share, _) in EXPECTED.items():
        kept = [row["share_kept"] for row in rows if row["name"] == name and "noise" in row["setting"]]
        if kept:
            told.append(f"{name} {min(kept):.1%} to {max(kept):.1%} in {len(kept)} runs (expected: {share})")
    if not told:
        return "How far the share kept hangs on rounding alone has not been run."
    return f"How much is kept hangs on rounding: with noise of 1e-6 in the pixels, {'; '.join(told)}."


def _maps(made: Explanations | None) -> str:
    title = "Maps: do three methods and three models agree?"
    if made is None:
        return _not_run(title)
    rows = [
        [
            kind,
            each["method"],
            each["compared"],
            each["n"],
            *(f"{each[key]:.2f}" for key in ("spearman", "top_overlap", "ssim")),
        ]
        for kind, found in made.summary["agreement"].items()
        for each in found
    ]
    table = md_table(["of", "method", "compared", "images", "rank", "top tenth", "SSIM"], rows)
    return f"""## {title}

{made.first_line}

{table}

On a common grid of 14 x 14. Within: one model, the map against that of the mirrored picture, of the other baseline,
of another seed: the ceiling. Models: lite0, lite1, lite2. Ensemble: the mean of two models' maps against the third's.
Models' LIME maps are compared over different draws. By chance the top tenths share a tenth."""


def _ratings(work: Path) -> str:
    title = "People's judgements: what light heads on frozen features read"
    paths = sorted((work / "explanations" / "ratings").glob("*.json"))
    if not paths:
        return _not_run(title)
    study = json.loads(paths[0].read_text(encoding="utf-8"))
    rows = [
        [row["model"], row["head"], f"{row['r']:.3f}", f"{row['share_of_ceiling']:.0%}", f"{row['beyond_quality']:.3f}"]
        for row in study["rows"]
    ]
    table = md_table(["features", "head", "r", "of the ceiling", "r beyond image quality"], rows)
    maps = [
        [
            kind,
            len(found),
            *(f"{np.nanmean([row[key] for row in found]):.2f}" for key in ("spearman", "top_overlap", "ssim")),
        ]
        for kind in ("within", "models", "ensembles")
        if (found := [row for row in study["maps"] if row["compared"] == kind])
    ]
    return f"""## {title}

ReaL's raters: {study["n_items"]:,} labels of {study["n_images"]:,} images, five answers each; predicted is the share
that says yes. Noise ceiling of the correlation: {study["ceiling"]:.3f}. Five folds over images.

{table}

Maps of the heads (occlusion, 7 x 7), for labels that raters disagree on:

{md_table(["compared", "pairs", "rank", "top tenth", "SSIM"], maps)}

Within: two heads on one model's features. Models: the same head on two models'. Ensembles: each model's mean head."""


def _planted(rows: list[Row] | None) -> str:
    title = "Planted truth"
    if not rows:
        return _not_run(title)
    n = len(rows)
    hidden = sum(row["hidden_hits"] for row in rows)
    hits = sum(row["first_cell_hits"] for row in rows)
    maps = sum(row["map_hits"] for row in rows)
    controls = sum(map(_is_never_or_chance, rows))
    clear = []
    if told_apart := _clear(rows):
        held = _told(sum(map(_is_never_or_chance, told_apart)), len(told_apart))
        clear = [[f"the same, its class not among the first {NEAR} answers", *held, "100%"]]
    far = sum(not row["far_turns"] for row in rows)
    verdicts = {name: sum(row["verdict"] == name for row in rows) for name in ("located", "chance", "diffuse", "never")}
    n_whole, n_objects = (len({row[key] for row in rows}) for key in ("name", "object"))
    told = ", ".join(f"{name} {count}" for name, count in verdicts.items() if count)
    table = md_table(
        ["what", "n", "share", "interval", "wanted"],
        [
            ["what is hidden until it is called A covers the pasted object", *_told(hidden, n), f"≥ {HITS_NEEDED:.0%}"],
            ["the first cell hidden lies in the pasted object", *_told(hits, n), ""],
            ["the margin map is lowest in the pasted object", *_told(maps, n), ""],
            ["without the object, aimed at it: never or chance", *_told(controls, n), "100%"],
            *clear,
            ["aimed at the class ranked 500th: never", *_told(far, n), f"≥ {FAR_NEEDED:.0%}"],
        ],
    )
    return f"""## {title}

A 45-pixel close-up of B (called rightly with 0.95 or more) pasted into a corner of A (rightly with 0.7 or less), where
the model then says B: {n} pictures, of {n_whole} pictures and {n_objects} objects.

{table}

Where B is among the model's first {NEAR} answers without the object already, the picture itself may speak of it: such
controls are told apart. Verdicts on the pasted pictures: {told}."""


def _clear(rows: list[Row]) -> list[Row]:
    return [row for row in rows if row["rank_without"] > NEAR]


def _told(hits: int, n: int) -> list[str]:
    low, high = wilson(hits, n)
    return [f"{hits} of {n}", f"{hits / n:.0%}", f"{low:.0%}–{high:.0%}"]


def _costs(costs: Row | None, cpu: dict[str, list[float]] | None) -> str:
    title = "What it costs"
    lines = [
        f"- `{method}`: {60 / np.median(seconds):.1f} images a minute ({np.median(seconds):.1f} s each)"
        for method, seconds in sorted((cpu or {}).items())
    ]
    speed = "Of one core, by CPU time, networks compiled (medians over the study's shards):\n\n" + "\n".join(lines)
    if costs is None:
        return _not_run(title) + (f"\n\n{speed}" if lines else "")
    rows = [
        [name, f"{costs[key]['ours']:.2f}", f"{costs[key]['theirs']:.2f}", f"{costs[key]['ratio']:.2f}", most]
        for name, key, most in (
            ("masking map, 8 x 8, against captum's FeatureAblation", "masking", "1.1"),
            ("Batched Gradient SIS, 3 images, k = 5,000, against the published loop", "gradient_sis", "1.0"),
        )
    ]
    return f"""## {title}

{md_table(["CPU seconds, medians of 5 in turn", "ours", "theirs", "ratio", "at most"], rows)}

Largest difference between the two maps: {costs["map_difference"]:.1e}. Pixels that leave at the same step as in the
published loop without its noise: {costs["same_order"]:.1%}. Networks as they are, not compiled.

{speed}"""


def _json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None
