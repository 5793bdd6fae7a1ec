"""Maps of what matters in a picture, by three methods and several models; and whether any two of them agree.

A map of a model is worth looking at only if it is more like the model's other maps of the picture (mirrored, over the
other baseline, with another seed: the ceiling) than chance, and it says something of the *answer* only if models that
answer alike have like maps. So agreement is what is measured, and maps are shown side by side, never one alone.

Source: *Non-identifiability of Explanations from Model Behavior*, arXiv 2604.07254, for the question and the three
    families (Grad-CAM, LIME, masking at several scales) and for ensembles of models.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from imagenet_errors.explain.classifier import Classifier
from imagenet_errors.explain.job import ModelGroup, Row, schema_of
from imagenet_errors.explain.masking import BASELINES, FEWEST_CELLS, cell_of_pixels, masking_map
from imagenet_errors.explain.pictures import small_picture
from imagenet_errors.explain.questions import Judge, Question
from imagenet_errors.measure import rank_correlation
from imagenet_errors.problems import InputError, refuse_below
from imagenet_errors.shipped import needs

COMMON_GRID = 14
SCALES = (4, 7, 14)
_TOP_SHARE = 0.1
_SSIM_WINDOW = 7

Map = NDArray[np.float32]
"""float32 [14, 14] on the common grid; the higher, the more the answer rests on the place."""
Key = tuple[str, str, str]
"""Method, model and variant of a map."""
AGREEMENT = pa.list_(
    pa.struct(
        [
            ("compared", pa.string()),
            ("one", pa.string()),
            ("other", pa.string()),
            ("spearman", pa.float32()),
            ("top_overlap", pa.float32()),
            ("ssim", pa.float32()),
        ]
    )
)

OTHER_SEED = "other seed"


@dataclass(frozen=True)
class Maps:
    """``methods``: of grad_cam, lime, masking; ``scales``: cells a side; ``n_lime`` samples a LIME map."""

    name: ClassVar[str] = "maps"
    schema: ClassVar[pa.Schema] = schema_of(
        ("p_before", pa.float32()),
        ("names", pa.list_(pa.string())),
        ("maps", pa.list_(pa.list_(pa.float32()))),
        ("agreement", AGREEMENT),
        ("picture", pa.binary()),
    )

    methods: tuple[str, ...] = ("grad_cam", "lime", "masking")
    scales: tuple[int, ...] = SCALES
    n_lime: int = 200
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse what cannot be.

        Raises
        ------
        InputError
            A method is none of those there are, or a number is too small.
        """
        refuse_below("scales", min(self.scales, default=0), FEWEST_CELLS)
        refuse_below("n_lime", self.n_lime, 1)
        refuse_below("--seed", self.seed, 0)
        unknown = [name for name in self.methods if name not in MAPPERS]
        if unknown:
            fix = f"There are: {', '.join(MAPPERS)}."
            raise InputError("methods", f"no way {unknown[0]!r} to make maps", fix=fix)

    def rows(self, group: ModelGroup, questions: Sequence[Question]) -> Iterator[list[Row]]:
        """Map each answer by every method and model, and compare."""
        for question in questions:
            path = group.images / question.file
            found: dict[Key, Map] = {}
            for model in (group.classifier, *group.others):
                pixels = model.see(path)
                for method in self.methods:
                    for variant, made in self._variants(method, model, pixels, question.prediction).items():
                        found[method, model.name, variant] = made
            pixels = group.classifier.see(path)
            yield [
                {
                    "p_before": _probability(group.classifier, pixels, question.prediction),
                    "names": [" · ".join(key) for key in found],
                    "maps": [made.flatten().tolist() for made in found.values()],
                    "agreement": compare_all(found | ensembles(found)),
                    "verdict": "compared",
                    "picture": small_picture(group.classifier.colours(pixels)),
                }
            ]

    def finish(self, rows: list[Row], judge: Judge) -> None:
        """Nothing here needs the chain."""

    def _variants(self, method: str, model: Classifier, pixels: Any, target: int) -> dict[str, Map]:
        """Return the map, and the model's other maps of the same picture that it should be like."""
        mapper = MAPPERS[method]
        turned = pixels.flip(-1)
        variants = {
            "map": mapper(model, pixels, target, self, 0),
            "mirrored": mapper(model, turned, target, self, 0)[:, ::-1],
        }
        if method == "masking":
            variants["other baseline"] = mapper(model, pixels, target, self, 1)
        if method == "lime":
            variants[OTHER_SEED] = mapper(model, pixels, target, self, 1)
        return variants


def _probability(model: Classifier, pixels: Any, target: int) -> float:
    logits = model.logits(pixels[None])[0].astype(np.float64)
    return float(np.exp(logits[target] - logits.max()) / np.exp(logits - logits.max()).sum())


def multi_scale_masking(model: Classifier, pixels: Any, target: int, options: Maps, variant: int) -> Map:
    """Return the mean over scales of occlusion maps, each in units of its own deviation."""
    baseline = BASELINES[1 - variant]  # the mean first: what captum's maps do
    maps = [masking_map(model, pixels, target, grid=grid, baseline=baseline) for grid in options.scales]
    scaled = [on_common_grid(each / (each.std() or 1.0)) for each in maps]
    mean: Map = np.mean(scaled, axis=0, dtype=np.float32)
    return mean


def grad_cam(model: Classifier, pixels: Any, target: int, options: Maps, variant: int) -> Map:
    """Return Grad-CAM on the features before the head, of convolutional networks and of transformers.

    Source: Selvaraju et al., ICCV 2017 (arXiv 1610.02391).

    Raises
    ------
    InputError
        The network has no features in places.
    """
    import torch

    module = model.module
    with torch.no_grad():
        features = module.forward_features(model.on_device(pixels[None]))
    features = features.detach().requires_grad_()
    logit = module.forward_head(features)[0, target]
    (slope,) = torch.autograd.grad(logit, features)
    places, slopes = (_in_places(module, each) for each in (features.detach(), slope))
    weights = slopes.mean(dim=(1, 2), keepdim=True)
    cam = torch.relu((weights * places).sum(dim=0)).float().cpu().numpy()
    return on_common_grid(cam)


def _in_places(module: Any, features: Any) -> Any:
    """Return [channels, rows, columns] of features [1, ...]: maps, maps with channels last, or tokens."""
    if features.ndim == 4:
        channels = int(getattr(module, "num_features", features.shape[1]))
        last = features.shape[1] != channels and features.shape[3] == channels
        return features[0].permute(2, 0, 1) if last else features[0]
    tokens = features[0, int(getattr(module, "num_prefix_tokens", 0)) :] if features.ndim == 3 else None
    side = 0 if tokens is None else round(len(tokens) ** 0.5)
    if tokens is None or side * side != len(tokens):
        raise InputError(type(module).__name__, "has no features in places", fix="Leave grad_cam out.")
    return tokens.T.reshape(-1, side, side)


def lime(model: Classifier, pixels: Any, target: int, options: Maps, variant: int) -> Map:
    """Return captum's LIME with the cells of a 7 x 7 grid as features, over the channels' mean.

    Source: Ribeiro, Singh, Guestrin, KDD 2016 (arXiv 1602.04938).

    Raises
    ------
    InputError
        captum is not installed.
    """
    needs("captum", extra="explain")
    import torch
    from captum.attr import Lime

    cells = torch.from_numpy(cell_of_pixels(model.size, 7))[None, None].to(model.device)
    state = torch.random.get_rng_state()
    torch.manual_seed(options.seed + variant)
    try:
        weights = Lime(model.answer, **_linear()).attribute(
            model.on_device(pixels[None]),
            target=target,
            feature_mask=cells,
            baselines=0,
            n_samples=options.n_lime,
            perturbations_per_eval=min(model.settings.batch_size, options.n_lime),
        )
    finally:
        torch.random.set_rng_state(state)
    whole = weights[0, 0].cpu().numpy()
    middle = ((2 * np.arange(7) + 1) * np.array(model.size)[:, None] // 14).astype(np.int64)
    return on_common_grid(whole[np.ix_(middle[0], middle[1])])


def _linear() -> dict[str, Any]:
    """Return captum's interpretable model: ridge regression in closed form, the same answer each time."""
    from captum._utils.models.linear_model import SkLearnRidge

    return {"interpretable_model": SkLearnRidge(alpha=1.0)}


MAPPERS: dict[str, Callable[[Classifier, Any, int, Maps, int], Map]] = {
    "grad_cam": grad_cam,
    "lime": lime,
    "masking": multi_scale_masking,
}


def on_common_grid(values: NDArray[Any]) -> Map:
    """Return a map [h, w] on the common grid by bilinear interpolation between the middles of its cells."""
    rows, columns = (_weights(size) for size in values.shape)
    common: Map = (rows @ values @ columns.T).astype(np.float32)
    return common


def _weights(n_cells: int) -> NDArray[np.float64]:
    """Return float64 [14, n]: how much of each cell a place on the common grid is made of."""
    place = np.clip((np.arange(COMMON_GRID) + 0.5) * n_cells / COMMON_GRID - 0.5, 0, n_cells - 1)
    distance = np.abs(place[:, None] - np.arange(n_cells))
    weights: NDArray[np.float64] = np.clip(1 - distance, 0, None)
    return weights


def ensembles(found: dict[Key, Map]) -> dict[Key, Map]:
    """Return, for each model left out, the mean of the other models' maps, each in units of its own deviation.

    Of occlusion maps that is the map of an ensemble, since its logits are the mean of its members'; named by the
    members joined with +. None for fewer than three models.
    """
    made: dict[Key, Map] = {}
    for method in dict.fromkeys(key[0] for key in found):
        models = [key[1] for key in found if key[0] == method and key[2] == "map"]
        for left_out in models if len(models) > 2 else ():
            members = [name for name in models if name != left_out]
            scaled = [found[method, name, "map"] / (found[method, name, "map"].std() or 1.0) for name in members]
            made[method, "+".join(members), "map"] = np.mean(scaled, axis=0, dtype=np.float32)
    return made


def compare_all(found: dict[Key, Map]) -> list[Row]:
    """Return the agreement of the pairs of maps that answer a question.

    ``within``: one model and method, the map and its variants (the ceiling); ``models``: one method, two models;
    ``ensemble``: one method, a model and the mean of the others; ``methods``: one model, two methods. Maps of a method
    that draws at random are compared across models over different draws: what is drawn alike agrees by itself.
    """
    drawn = {method for method, _, variant in found if variant == OTHER_SEED}
    compared = []
    for one, other in combinations(found, 2):
        kind = _kind_of(one, other, {"map", OTHER_SEED} if one[0] in drawn else {"map"})
        if kind:
            row = {"compared": kind, "one": " · ".join(one), "other": " · ".join(other)}
            compared.append({**row, **agreement(found[one], found[other])})
    return compared


def _kind_of(one: Key, other: Key, across_models: set[str]) -> str:
    """Return what a pair of maps answers, if anything; ``across_models``: the variants that models are compared by."""
    same_method, same_model, variants = one[0] == other[0], one[1] == other[1], {one[2], other[2]}
    if same_method and same_model:
        return "within" if "map" in variants else ""
    if same_model:
        return "methods" if variants == {"map"} and "+" not in one[1] else ""
    if not same_method or variants != across_models:
        return ""
    if "+" in one[1] or "+" in other[1]:
        return "" if {*one[1].split("+")} & {*other[1].split("+")} else "ensemble"
    return "models"


def agreement(one: Map, other: Map) -> Row:
    """Return how alike two maps are: by rank, by the top tenth of places, and by structure; NaN where undefined."""
    return {
        "spearman": rank_correlation(one.ravel().astype(np.float64), other.ravel().astype(np.float64)),
        "top_overlap": top_overlap(one, other),
        "ssim": ssim(one, other),
    }


def top_overlap(one: NDArray[Any], other: NDArray[Any]) -> float:
    """Return the share of the top tenth of places that two maps have in common; by chance a tenth."""
    n = max(1, round(_TOP_SHARE * one.size))
    tops = [set(np.argsort(-each.ravel(), kind="stable")[:n].tolist()) for each in (one, other)]
    return len(tops[0] & tops[1]) / n


def ssim(one: NDArray[Any], other: NDArray[Any]) -> float:
    """Return the structural similarity of two maps in units of their own deviation, over 7 x 7 windows.

    Source: Wang et al., IEEE TIP 2004, with K1 = 0.01, K2 = 0.03; NaN where a map is flat.
    """
    if not (one.std() and other.std()):
        return float("nan")
    a, b = ((each.astype(np.float64) - each.mean()) / each.std() for each in (one, other))
    span = max(np.ptp(a), np.ptp(b))
    windows = [np.lib.stride_tricks.sliding_window_view(each, (_SSIM_WINDOW, _SSIM_WINDOW)) for each in (a, b)]
    mean_a, mean_b = (each.mean(axis=(2, 3)) for each in windows)
    var_a, var_b = (each.var(axis=(2, 3)) for each in windows)
    covariance = (windows[0] * windows[1]).mean(axis=(2, 3)) - mean_a * mean_b
    c1, c2 = (0.01 * span) ** 2, (0.03 * span) ** 2
    alike = (2 * mean_a * mean_b + c1) * (2 * covariance + c2)
    return float((alike / ((mean_a**2 + mean_b**2 + c1) * (var_a + var_b + c2))).mean())
