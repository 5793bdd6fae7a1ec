"""Explanations of a run's errors as ``explain`` writes them, made up: of failures located ones, of others chance."""

import io

import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

from imagenet_errors.explain.locate import Locate
from imagenet_errors.explain.maps import Maps
from imagenet_errors.explain.stability import Stability
from imagenet_errors.explain.sufficiency import SufficientSubsets

GRID = 8
N_DRAWS = 17


def picture():
    out = io.BytesIO()
    Image.new("RGB", (64, 64), "teal").save(out, "WEBP")
    return out.getvalue()


def common(row):
    facts = ("file_name", "prediction", "target", "error_type")
    return {name: getattr(row, name) for name in facts} | {"seconds": 1.0}


def located(row, *, n_flip, n_decoy, verdict):
    return common(row) | {
        "method": "locate",
        "goal": row.target,
        "grid": GRID,
        "baseline": "blur",
        "order": [9, 10, 17, 18][: n_flip or 4],
        "n_hidden_to_flip": n_flip,
        "flips_to": None if n_flip is None else row.target,
        "flips_to_type": None if n_flip is None else "correct",
        "decoy": 7,
        "n_hidden_to_decoy": n_decoy,
        "chance_flip": 0.05,
        "other_baseline_flips": None if n_flip is None else True,
        "transfer": [{"model": "other", "before": row.prediction, "after": row.target, "turns": True}],
        "picture": picture(),
        "verdict": verdict,
    }


def stability(row, n_stays):
    stays, other = [row.prediction] * n_stays, [row.target] * (N_DRAWS - n_stays)
    return common(row) | {
        "method": "stability",
        "answers": stays + other,
        "answer_types": [row.error_type] * n_stays + ["correct"] * (N_DRAWS - n_stays),
        "share_stays": n_stays / N_DRAWS,
        "share_right": 1 - n_stays / N_DRAWS,
        "share_other_type": 0.0,
        "verdict": "stable" if n_stays / N_DRAWS >= 0.8 else "framing",
    }


def subset(row):
    probabilities = {"p_kept": 0.91, "p_dilated": 0.03, "p_random": 0.01, "p_complement": 0.2, "p_far_best": 0.0}
    facts = {"cell": 1, "threshold": 0.9, "status": "found", "share_kept": 0.12, "border_share": 0.2}
    return common(row) | facts | probabilities | {"method": "sis", "verdict": "artefact", "border_area": 0.2}


def maps(row):
    names = ["grad_cam · one · map", "lime · one · map", "lime · two · map"]
    scores = {"spearman": 0.25, "top_overlap": 0.2, "ssim": 0.1}
    agreement = [{"compared": "models", "one": names[1], "other": names[2], **scores}]
    agreement.append({"compared": "within", "one": names[1], "other": "lime · one · mirrored", **scores})
    made = [[place / 196 for place in range(196)]] * len(names)
    rest = {"method": "maps", "names": names, "maps": made, "agreement": agreement, "picture": picture()}
    return common(row) | rest | {"verdict": "compared"}


def explain_by_hand(run, verdicts, model):
    """Write tables of all methods for a model of the run; return the rows of ``verdicts`` that were explained.

    Failures turn by two cells and their decoys never; co-occurring classes turn, and so do their decoys.
    """
    failures = verdicts[verdicts.error_type == "model_failure"].head(12)
    spurious = verdicts[verdicts.error_type == "spurious_correlation"].head(5)
    errors = verdicts[verdicts.error_type != "correct"]
    rows = [located(row, n_flip=2, n_decoy=None, verdict="located") for row in failures.head(10).itertuples()]
    rows += [located(row, n_flip=None, n_decoy=None, verdict="never") for row in failures.tail(2).itertuples()]
    rows += [located(row, n_flip=2, n_decoy=2, verdict="chance") for row in spurious.itertuples()]
    write(run, model, Locate, rows)
    every = [stability(row, n_stays=17 if place % 3 else 5) for place, row in enumerate(errors.itertuples())]
    write(run, model, Stability, every)
    write(run, model, SufficientSubsets, [subset(row) for row in failures.head(3).itertuples()])
    write(run, model, Maps, [maps(row) for row in failures.head(3).itertuples()])
    return failures, spurious


def write(run, model, method, rows):
    path = run / "explanations" / method.name / f"{model}.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows, schema=method.schema), path)
