r"""Study what explains the errors of EfficientNet-Lite0 on the shared images, and write reports/explain.md.

    python scripts/convert_efficientnet_lite.py --out weights
    python scripts/study_explain.py --images ../shared/data/images --ratings ../shared/data/human/real/raters.npz \
        --weights weights --work runs/explain

Every stage keeps what it has done below --work, so the same command goes on where it was interrupted; --only names
one stage. Errors are the severe ones first (model failures, spurious correlations, then fine-grained), right answers
are spread evenly over the folder; predictions are the shipped ones of data/demo, judged by the ReaL labels.
"""

from __future__ import annotations

import io
import json
import time
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from convert_efficientnet_lite import TAG, timm_name
from imagenet_errors.evaluation import evaluate
from imagenet_errors.explain.ask import FOLDER, ExplainRequest, explain, explain_ratings
from imagenet_errors.explain.classifier import Classifier, compiled, load_classifier, read_picture
from imagenet_errors.explain.gradient_sis import batched_gradient_back_select, sufficient_subsets
from imagenet_errors.explain.job import Method
from imagenet_errors.explain.locate import Locate, Search, decoy_of, greedy, verdict_of
from imagenet_errors.explain.maps import Maps
from imagenet_errors.explain.masking import Maskable, cell_of_pixels, masking_map
from imagenet_errors.explain.pictures import write_pictures
from imagenet_errors.explain.questions import ErrorChoice, Question, choose_questions
from imagenet_errors.explain.stability import Stability
from imagenet_errors.explain.sufficiency import (
    FAR_RANK,
    SufficientSubsets,
    back_select_all,
    dilated,
    probabilities,
    write_masked,
)
from imagenet_errors.inputs import Inputs
from imagenet_errors.labels import imagenet_1k
from imagenet_errors.predict.engines import LocalEngine
from imagenet_errors.predict.job import ModelOutcome
from imagenet_errors.predict.names import ModelSpec, resolve
from imagenet_errors.predict.settings import Settings, data_stated
from imagenet_errors.readers.predictions import ReadRules
from shipped_table import run

TOP = Path(__file__).resolve().parents[1]
DEMO = TOP / "data" / "demo"
SQUARE = ("crop_pct=1.0", "crop_mode=squash", "mean=0.4980392156862745", "std=0.5019607843137255")
"""The original preprocessing of square pictures, as in scripts/build_demo.py."""
TYPES = ("model_failure", "spurious_correlation", "fine_grained")
RUN_MODEL = "efficientnet_lite0"
PUBLISHED_K, PUBLISHED_THRESHOLD = 100, 0.9
THREE = {
    "canoe": ("00000347", "00010474"),
    "tiger beetle": ("00000361", "00002279", "00002845", "00023281", "00031488", "00035247"),
    "oboe": ("00026306", "00018402"),
}
"""All pictures of three classes."""
BY_DEFAULT = "timm's own"
IMAGENET = ("mean=0.485,0.456,0.406", "std=0.229,0.224,0.225")
ROUNDED, N_ROUNDED, ROUNDING = "timm's own, 1e-6 of noise", 5, 1e-6
"""Noise of a last digit, as another batch or processor makes it: how far does the search itself hang on it?"""
PREPROCESSINGS: dict[str, tuple[str, ...]] = {
    "timm's own, bilinear": ("interpolation=bilinear",),
    "timm's own, ImageNet's mean and deviation": IMAGENET,
    "as torchvision's examples prepare pictures": (*IMAGENET, "interpolation=bilinear"),
    "the middle 224 pixels, not scaled": ("crop_pct=0.987",),
    "the whole picture, scaled to 224": SQUARE,
}
"""Beside timm's own: crop_pct 0.875, bicubic, mean and deviation 0.5 are timm's own."""
ROUNDS, N_ROUNDS = "rounds", 5
CPU = "cpu.json"
MOST_OBJECTS, MOST_USES = 2, 6
PATCH = 45
"""Side of the pasted object in pixels, of 224."""
N_TRIED, CLOSE_UPS, ONE_IN = 300, (0.6, 0.45, 0.3), 18
"""Pictures that are looked at, shares of their sides, and which part is pasted: few are known again at this size."""


def main() -> str:
    """Run the stages that are not done, then write the page."""
    args = arguments().parse_args()
    import torch

    torch.set_num_threads(args.threads)
    for name, stage in STAGES.items():
        if args.only in (None, name):
            stage(args)
    if args.only in (None, "page"):
        import report_explain

        return report_explain.write(
            args.work, TOP / "reports" / "explain.md", n_wanted=args.answers, n_plants=args.planted
        )
    return f"{args.only}: done"


def arguments() -> ArgumentParser:
    """Return the parser of the command line."""
    options = ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--images", type=Path, required=True)
    options.add_argument("--ratings", type=Path, required=True)
    options.add_argument("--weights", type=Path, required=True, help="folder of the converted checkpoints")
    options.add_argument("--work", type=Path, default=Path("runs/explain"))
    options.add_argument("--threads", type=int, default=1)
    options.add_argument("--only", choices=[*STAGES, "page"])
    options.add_argument("--answers", type=int, default=100, help="so many wrong and right ones (default: %(default)s)")
    options.add_argument("--planted", type=int, default=60, help="so many pictures (default: %(default)s)")
    options.add_argument("--pixels-per-step", type=int, default=PUBLISHED_K, help="of sis (default: %(default)s)")
    return options


def settings(data: Sequence[str] = SQUARE) -> Settings:
    """Return how the networks are run: small batches are the fastest on a CPU."""
    return Settings(device="cpu", batch_size=16, channels_last=True, data=data_stated(list(data)))


def model_named(args: Namespace, variant: str) -> str:
    """Return ``NAME=CHECKPOINT``."""
    name = f"{timm_name(variant)}.{TAG}"
    return f"{name}={args.weights / name}.safetensors"


def spec_of(args: Namespace, variant: str) -> ModelSpec:
    """Return the model as the program resolves it."""
    return resolve([model_named(args, variant)]).models[0]


def evaluate_demo(args: Namespace) -> None:
    """Judge the shipped predictions by the ReaL labels."""
    if not (args.work / "run.json").is_file():
        files = sorted(DEMO.glob("efficientnet_lite*.csv"))
        evaluate(files, Inputs("real"), args.work, rules=ReadRules(allow_partial=True))


def explained(args: Namespace, method: Method, n: int, *, also: Sequence[str] = ()) -> None:
    """Explain n errors and n right answers by one method, round by round: what is done is a sample of the whole."""
    for number, images in enumerate(rounds(args, n)):
        request = ExplainRequest(
            run=args.work,
            model=model_named(args, "lite0"),
            images=images,
            method=method,
            choice=ErrorChoice(TYPES, 0, n),
            also=tuple(model_named(args, variant) for variant in also),
            compiled=True,
            run_model=RUN_MODEL,
            out=args.work / ROUNDS / str(number),
            settings=settings(),
        )
        explain(request, engine=LocalEngine(), tell=_Teller(args.work / CPU, method.name, number))


class _Teller:
    """Says what is done, and keeps the CPU seconds an answer of each shard but the first, which loads and compiles."""

    def __init__(self, file: Path, method: str, number: int) -> None:
        self._file, self._method, self._number = file, method, number
        self._start = time.process_time()

    def __call__(self, outcome: ModelOutcome, n: int, of: int) -> None:
        seconds, self._start = time.process_time() - self._start, time.process_time()
        print(f"{self._method}, round {self._number}: {n} of {of}, {seconds:.0f} s", outcome.reason, flush=True)
        if n > 1 and outcome.content is not None:
            names = pq.read_table(io.BytesIO(outcome.content), columns=["file_name"])["file_name"]
            kept = json.loads(self._file.read_text(encoding="utf-8")) if self._file.is_file() else {}
            kept.setdefault(self._method, []).append(seconds / len(names.unique()))
            _write(self._file, kept)


def rounds(args: Namespace, n: int) -> Iterator[Path]:
    """Yield folders of links to the images of each round: every fifth error, every fifth right answer."""
    asked = choose_questions(args.work, RUN_MODEL, args.images, ErrorChoice(TYPES, n, n))
    wrong = [question.file for question in asked if question.error_type != "correct"]
    right = [question.file for question in asked if question.error_type == "correct"]
    for number in range(N_ROUNDS):
        folder = args.work / f"images_{n}" / str(number)
        folder.mkdir(parents=True, exist_ok=True)
        for file in (*wrong[number::N_ROUNDS], *right[number::N_ROUNDS]):
            link = folder / Path(file).name
            if not link.is_symlink():
                link.symlink_to((args.images / file).resolve())
        yield folder


def run_locate(args: Namespace) -> None:
    """Locate, with the same masks in front of the two other models."""
    explained(args, Locate(), args.answers, also=("lite1", "lite2"))


def run_stability(args: Namespace) -> None:
    """Flip, crop and recolour."""
    explained(args, Stability(), args.answers)


def run_sis(args: Namespace) -> None:
    """Find sufficient subsets of pixels and cells."""
    explained(args, SufficientSubsets(args.pixels_per_step), args.answers)


def run_maps(args: Namespace) -> None:
    """Map by three methods and three models."""
    explained(args, Maps(scales=(4, 7), n_lime=60), args.answers, also=("lite1", "lite2"))


def run_masked(args: Namespace) -> None:
    """Leave 5 and 10 % of the pixels, chosen by sis or at random: do the three models answer as Lite0 did of all?"""
    asked = choose_questions(args.work, RUN_MODEL, args.images, ErrorChoice(TYPES, args.answers, args.answers))
    folder = args.work / "masked"
    _write_masked(args, folder, asked)
    rows: list[dict[str, Any]] = []
    for variant in ("lite0", "lite1", "lite2"):
        classifier = load_classifier(spec_of(args, variant), settings(), imagenet_1k())
        for shown in sorted(path.name for path in folder.iterdir()):
            files = [folder / shown / f"{Path(question.file).stem}.png" for question in asked]
            answers = [int(classifier.logits(classifier.see(file)[None])[0].argmax()) for file in files]
            rows += [
                {"model": variant, "shown": shown, "type": question.error_type, "same": answer == question.prediction}
                for question, answer in zip(asked, answers, strict=True)
            ]
    _write(args.work / "masked.json", {"per_step": args.pixels_per_step, "rows": rows})


def _write_masked(args: Namespace, folder: Path, asked: Sequence[Question], *, at_once: int = 16) -> None:
    """Write the pictures, a few at a time; those that are there stay."""
    import torch

    classifier = compiled(load_classifier(spec_of(args, "lite0"), settings(), imagenet_1k()))
    for start in range(0, len(asked), at_once):
        some = asked[start : start + at_once]
        if (folder / "whole" / f"{Path(some[-1].file).stem}.png").is_file():
            continue
        pixels = {question.file: classifier.see(args.images / question.file) for question in some}
        stacked = torch.stack(list(pixels.values()))
        targets = np.array([question.prediction for question in some])
        order, _ = back_select_all(classifier, stacked, [targets], per_step=args.pixels_per_step, cell=1)
        write_masked(folder, classifier, pixels, order[0], seed=start)
        write_pictures(folder / "whole", {name: classifier.colours(picture) for name, picture in pixels.items()})
        print(f"masked: {start + len(some)} of {len(asked)}", flush=True)


def run_ratings(args: Namespace) -> None:
    """Fit heads to people's answers."""
    request = ExplainRequest(
        run=args.work,
        model=model_named(args, "lite0"),
        images=args.images,
        also=tuple(model_named(args, variant) for variant in ("lite1", "lite2")),
        settings=settings(),
    )
    if not (args.work / FOLDER / "ratings" / f"{spec_of(args, 'lite0').name}.json").is_file():
        explain_ratings(request, args.ratings, n_maps=12)


def run_three(args: Namespace) -> None:
    """Search as published, k = 100 and threshold 0.9, in every picture of three classes and by other preprocessings."""
    kept_file = args.work / "three.json"
    rows: list[dict[str, Any]] = json.loads(kept_file.read_text(encoding="utf-8")) if kept_file.is_file() else []
    firsts = [images[0] for images in THREE.values()]
    asked = {
        BY_DEFAULT: ([image for images in THREE.values() for image in images], ()),
        ROUNDED: (firsts * N_ROUNDED, ()),
        **{name: (firsts, data) for name, data in PREPROCESSINGS.items()},
    }
    for name, (images, data) in asked.items():
        if name not in {row["setting"] for row in rows}:
            found = subsets_of(args, images, settings(data), noise=ROUNDING if name == ROUNDED else 0)
            rows += [{"setting": name, **row} for row in found]
            _write(kept_file, rows)


def subsets_of(args: Namespace, images: Sequence[str], chosen: Settings, *, noise: float) -> list[dict[str, Any]]:
    """Return what Batched Gradient SIS keeps of each image, and what becomes of the answer after dilation.

    ``noise``: standard deviation of what is added to the pixels, another draw for each image named.
    """
    import torch

    classifier = load_classifier(spec_of(args, "lite0"), chosen, imagenet_1k())
    pixels = torch.stack([classifier.see(_val_image(args, number)) for number in images])
    pixels += noise * torch.randn(pixels.shape, generator=torch.Generator().manual_seed(0))
    name_of = {number: name for name, numbers in THREE.items() for number in numbers}
    targets = np.array([imagenet_1k().names.index(name_of[number]) for number in images])
    before, every = probabilities(classifier, pixels), np.arange(len(images))
    (order,), (confidences,) = back_select_all(classifier, pixels, [targets], per_step=PUBLISHED_K, cell=1)
    blank = probabilities(classifier, pixels[:1] * 0)[0][targets]
    found = sufficient_subsets(order, confidences, np.full(len(images), PUBLISHED_THRESHOLD), blank)
    shown = torch.from_numpy(np.stack([dilated(kept) for kept in found.kept]))[:, None]
    after = probabilities(classifier, pixels * shown)[every, targets]
    return [
        {
            "image": number,
            "name": name_of[number],
            "p_before": before[place, targets[place]],
            "status": found.status[place],
            "share_kept": float(found.kept[place].mean()),
            "p_kept": float(found.confidence[place]),
            "p_dilated": after[place],
        }
        for place, number in enumerate(images)
    ]


def _val_image(args: Namespace, number: str) -> Path:
    path: Path = args.images / f"ILSVRC2012_val_{number}.JPEG"
    return path


def run_planted(args: Namespace) -> None:
    """Paste small objects, and see whether they are found; search for what is not there, and see whether it is not."""
    file = args.work / "planted.json"
    before: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else []
    done = {(row["name"], row["object"]): row for row in before}
    classifier = compiled(load_classifier(spec_of(args, "lite0"), settings(), imagenet_1k()))
    rows = []
    for plant in islice(plants(args, classifier), args.planted):
        key = (plant["name"], plant["object"])
        rows.append(done.pop(key) if key in done else judge_plant(classifier, plant))
        _write(file, [*rows, *done.values()])


def judge_plant(classifier: Classifier, plant: dict[str, Any]) -> dict[str, Any]:
    """Search in the pasted picture, in the picture without, and for the class ranked 500th."""
    own, pasted = plant["own"], plant["pasted"]
    shown = Maskable.of(classifier, plant["pixels"], grid=8, baseline="blur")
    first = shown.one_by_one()
    verdict, found = verdict_and_search(shown, first, pasted, own)
    without = Maskable.of(classifier, plant["unpasted"], grid=8, baseline="blur")
    alone = without.one_by_one()
    control, _ = verdict_and_search(without, alone, own, pasted)
    far = np.argsort(-first[0], kind="stable")[FAR_RANK - 1 : FAR_RANK]
    far_found = greedy(shown, first, far, limit=shown.n_cells // 2, n_tried=Locate().n_tried)
    cells = set(np.unique(cell_of_pixels(classifier.size, 8)[plant["where"]]).tolist())
    return {
        "name": plant["name"],
        "own": own,
        "pasted": pasted,
        "object": plant["object"],
        "corner": plant["corner"],
        "verdict": verdict,
        "n_to_turn": found.n_to_turn,
        "hidden_hits": found.n_to_turn is not None and not cells.isdisjoint(found.order[: found.n_to_turn].tolist()),
        "first_cell_hits": int(found.order[0]) in cells,
        "map_hits": int(np.argmin(first[1:, pasted] - first[1:, own])) in cells,
        "control": control,
        "rank_without": int((alone[0] > alone[0, pasted]).sum()) + 1,
        "far_turns": far_found.n_to_turn is not None,
    }


def verdict_and_search(picture: Maskable, first: Any, prediction: int, goal: int) -> tuple[str, Search]:
    """Return what :func:`locate` says by default, without the controls that decide nothing; and the search."""
    n, n_tried = picture.n_cells, Locate().n_tried
    search = greedy(picture, first, np.array([goal]), limit=n // 2, n_tried=n_tried)
    if search.n_to_turn is None:
        return verdict_of(None, None, n), search
    decoy = np.array([decoy_of(first[0], goal, {prediction, goal})])
    aimed = greedy(picture, first, decoy, limit=min(2 * search.n_to_turn, n // 2), n_tried=n_tried)
    return verdict_of(search.n_to_turn, aimed.n_to_turn, n), search


def plants(args: Namespace, classifier: Classifier, *, n_tried: int = N_TRIED) -> Iterator[dict[str, Any]]:
    """Yield pictures of A with a 45-pixel picture of B in a corner, which the model calls B.

    The model is sure of B (0.95 or more) and knows it again at this size; it is less sure of A (0.7 at most), or
    hardly a small picture would turn it. A has up to two objects, one object up to six pictures.
    """
    unsure, patches = right_answers(0, 0.7), strong_patches(args, classifier, n_tried)
    uses: Counter[int] = Counter()
    for place, name in enumerate(np.random.default_rng(0).permutation(sorted(unsure)).tolist()):
        own = unsure[name]
        others = [
            (number, *patch) for number, patch in enumerate(patches) if patch[1] != own and uses[number] < MOST_USES
        ]
        for plant in _pasted(args, classifier, name, own, others, place)[:MOST_OBJECTS]:
            uses[plant["object"]] += 1
            yield plant


def strong_patches(args: Namespace, classifier: Classifier, n_tried: int) -> list[tuple[Any, int]]:
    """Return the close-ups and their classes that the model is surest of by themselves, in the corner of grey."""
    import torch
    from PIL import Image

    sure = right_answers(0.95, 1)
    names = np.random.default_rng(1).permutation(sorted(sure))[:n_tried].tolist()
    pictures = [read_picture(args.images / name) for name in names]
    small = [_middle(picture, share) for share in CLOSE_UPS for picture in pictures]
    grey, shown = Image.new("RGB", classifier.size[::-1], (127, 127, 127)), []
    for patch in small:
        whole = grey.copy()
        whole.paste(patch, (0, 0))
        shown.append(classifier.transform(whole))
    labels = np.array([sure[name] for name in names] * len(CLOSE_UPS))
    p = probabilities(classifier, torch.stack(shown))[np.arange(len(labels)), labels]
    return [(small[place], int(labels[place])) for place in np.argsort(-p, kind="stable")[: len(p) // ONE_IN]]


def _middle(picture: Any, share: float) -> Any:
    """Return the middle of a picture, this share of each side, at the size that is pasted."""
    left, top = (round(side * (1 - share) / 2) for side in picture.size)
    return picture.crop((left, top, picture.width - left, picture.height - top)).resize((PATCH, PATCH))


def right_answers(least: float, most: float) -> dict[str, int]:
    """Return file name -> class of the demo's images that Lite0 calls rightly with a probability in the range."""
    import csv

    from imagenet_errors.readers.annotations import read_real

    real = read_real(imagenet_1k())
    label = dict(zip(real.file_names.to_pylist(), real.label.tolist(), strict=True))
    with (DEMO / f"{RUN_MODEL}.csv").open(encoding="utf-8", newline="") as lines:
        rows = [row for row in csv.DictReader(lines) if least <= float(row["predicted_probability"]) <= most]
    found = {row["file_name"]: int(row["predicted_class"]) for row in rows}
    return {name: index for name, index in found.items() if label[name] == index}


def _pasted(
    args: Namespace, classifier: Classifier, name: str, own: int, patches: Sequence[tuple[int, Any, int]], turn: int
) -> list[dict[str, Any]]:
    """Return those of the pictures with a patch in a corner that the model calls as the patch; corners take turns."""
    import torch

    picture, (height, width) = read_picture(args.images / name).resize(classifier.size[::-1]), classifier.size
    corners = ((0, 0), (width - PATCH, 0), (0, height - PATCH), (width - PATCH, height - PATCH))
    tried = []
    for number, patch, pasted in patches:
        corner = (number + turn) % len(corners)
        left, top = corners[corner]
        whole = picture.copy()
        whole.paste(patch, (left, top))
        where = (slice(top, top + PATCH), slice(left, left + PATCH))
        pixels = classifier.transform(whole)
        facts = {"name": name, "own": own, "object": number, "pasted": pasted, "corner": corner}
        tried.append({**facts, "where": where, "pixels": pixels})
    if not tried:
        return []
    answers = classifier.logits(torch.stack([each["pixels"] for each in tried])).argmax(axis=1)
    unpasted = classifier.transform(picture)
    return [
        {**each, "unpasted": unpasted} for each, answer in zip(tried, answers, strict=True) if answer == each["pasted"]
    ]


def run_costs(args: Namespace) -> None:
    """Measure masking maps beside captum's, and Batched Gradient SIS beside the published loop; CPU seconds."""
    file = args.work / "costs.json"
    if file.is_file():
        return
    import torch
    from captum.attr import FeatureAblation

    classifier = load_classifier(spec_of(args, "lite0"), settings(), imagenet_1k())
    pixels = torch.stack([classifier.see(_val_image(args, numbers[0])) for numbers in THREE.values()])
    cells = torch.from_numpy(cell_of_pixels(classifier.size, 8))[None, None]
    ablation = FeatureAblation(classifier.model)

    def theirs() -> Any:
        with torch.inference_mode():
            return ablation.attribute(
                classifier.on_device(pixels[:1]), target=472, feature_mask=cells, perturbations_per_eval=16
            )

    ours_map = masking_map(classifier, pixels[0], 472, grid=8)
    middle = [28 * row + 14 for row in range(8)]
    their_map = theirs()[0, 0].numpy()[np.ix_(middle, middle)]
    batch = classifier.on_device(pixels)
    for parameter in classifier.module.parameters():
        parameter.requires_grad_(True)  # as the published program leaves them
    costs = {
        "masking": medians(lambda: masking_map(classifier, pixels[0], 472, grid=8), theirs),
        "map_difference": float(np.abs(ours_map - their_map).max()),
        "gradient_sis": medians(
            lambda: batched_gradient_back_select(classifier.model, batch, 5000),
            lambda: published_loop(classifier.module, batch, 5000),
        ),
    }
    ours = batched_gradient_back_select(classifier.model, batch, 5000)[0]
    costs["same_order"] = float((ours == published_loop(classifier.module, batch, 5000)).mean())
    _write(file, costs)


def medians(ours: Callable[[], Any], theirs: Callable[[], Any], n: int = 5) -> dict[str, float]:
    """Return the median CPU seconds of both, run in turn."""
    spent: dict[str, list[float]] = {"ours": [], "theirs": []}
    for _ in range(n):
        for name, work in (("ours", ours), ("theirs", theirs)):
            start = time.process_time()
            work()
            spent[name].append(time.process_time() - start)
    found = {name: float(np.median(times)) for name, times in spent.items()}
    return {**found, "ratio": found["ours"] / found["theirs"]}


def published_loop(module: Any, images: Any, k: int) -> Any:
    """Do what the published program does at each step, without its noise: backward through the whole network.

    Source: Carter et al., NeurIPS 2021; written anew from its description: a mask of ones where hidden, the
    gradient accumulated in it, a sort-like choice among what is left, every class's confidence kept.
    """
    import torch

    masks = torch.zeros(len(images), 1, *images.shape[2:], requires_grad=True)
    steps = torch.zeros(masks.shape, dtype=torch.int64)
    targets = module(images).softmax(dim=1).argmax(dim=1, keepdim=True)
    kept = []
    for step in range(-(-masks[0].numel() // k)):
        module.zero_grad()
        masks.grad = None
        confidences = module((1 - masks) * images).softmax(dim=1)
        confidences.gather(1, targets).sum().backward()
        slope = torch.where(masks.detach() == 0, masks.grad, -torch.inf).flatten(1)
        n = min(k, int((masks[0] == 0).sum()))
        chosen = slope.topk(n, dim=1).indices
        with torch.no_grad():
            masks.view(len(masks), -1).scatter_(1, chosen, 1.0)
            steps.view(len(steps), -1).scatter_(1, chosen, step)
        kept.append(confidences.detach().numpy())
    return steps[:, 0].numpy()


def _write(path: Path, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=1, default=float) + "\n", encoding="utf-8")


STAGES: dict[str, Callable[[Namespace], None]] = {
    "evaluate": evaluate_demo,
    "stability": run_stability,
    "ratings": run_ratings,
    "costs": run_costs,
    "three": run_three,
    "planted": run_planted,
    "locate": run_locate,
    "sis": run_sis,
    "masked": run_masked,
    "maps": run_maps,
}

if __name__ == "__main__":
    run(main)
