"""Light regression heads on frozen features: how much of people's judgement can be read off a network.

The share of raters who accept a label is predicted from the image's features times the label's weights, in
cross-validation over images, and measured against the noise ceiling. Beside the heads stands what the image's quality
alone would give, and whether maps of heads that predict alike are alike.

Source: *Non-identifiability of Explanations from Model Behavior*, arXiv 2604.07254.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from imagenet_errors.explain.classifier import Classifier, read_picture
from imagenet_errors.explain.maps import agreement, on_common_grid
from imagenet_errors.explain.masking import Maskable
from imagenet_errors.explain.ratings import Floats, Ratings, correlation, noise_ceiling
from imagenet_errors.problems import InputError, counted

_N_FOLDS = 5
_ALPHAS = (1.0, 10.0, 100.0, 1e3, 1e4, 1e5)
_HIDDEN, _STEPS, _RATE, _DECAY = 32, 150, 3e-3, 0.3
_MAP_GRID = 7


def folds_of(file_names: Sequence[str], seed: int = 0) -> NDArray[np.int64]:
    """Return int64 [n] in 0..4: each item's fold; all items of an image are in one."""
    _, image = np.unique(np.array(file_names), return_inverse=True)
    shuffled = np.random.default_rng(seed).permutation(image.max() + 1)
    return shuffled[image] % _N_FOLDS


class RatingHead(ABC):
    """A regression from columns [n, d] to a share; ``fit`` first. Columns are standardised."""

    def fit(self, columns: Floats, wanted: Floats) -> RatingHead:
        """Fit and return the head."""
        self._mean, self._deviation = columns.mean(axis=0), columns.std(axis=0)
        self._deviation[self._deviation == 0] = 1
        self._fit((columns - self._mean) / self._deviation, wanted)
        return self

    def predict(self, columns: Floats) -> Floats:
        """Return float64 [n]."""
        return self._predict((columns - self._mean) / self._deviation)

    @abstractmethod
    def _fit(self, columns: Floats, wanted: Floats) -> None: ...

    @abstractmethod
    def _predict(self, columns: Floats) -> Floats: ...


class Ridge(RatingHead):
    """Ridge regression; its penalty is the one that does best on a fifth of the items put aside."""

    def _fit(self, columns: Floats, wanted: Floats) -> None:
        aside = np.arange(len(columns)) % _N_FOLDS == 0
        self._level = float(wanted.mean())
        errors = [
            float(np.mean((columns[aside] @ weights - (wanted[aside] - self._level)) ** 2))
            for weights in _ridges(columns[~aside], wanted[~aside] - self._level, _ALPHAS)
        ]
        best = _ALPHAS[int(np.argmin(errors))]
        (self._weights,) = _ridges(columns, wanted - self._level, (best,))

    def _predict(self, columns: Floats) -> Floats:
        return columns @ self._weights + self._level


def _ridges(columns: Floats, wanted: Floats, alphas: Sequence[float]) -> list[Floats]:
    """Return the weights for each penalty, from one decomposition."""
    values, vectors = np.linalg.eigh(columns.T @ columns)
    turned = vectors.T @ (columns.T @ wanted)
    return [vectors @ (turned / (values + alpha)) for alpha in alphas]


class SmallNetwork(RatingHead):
    """One hidden layer of 32, trained by a fixed number of full steps from a seed."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def _fit(self, columns: Floats, wanted: Floats) -> None:
        import torch

        state = torch.random.get_rng_state()
        torch.manual_seed(self._seed)
        net = torch.nn.Sequential(
            torch.nn.Linear(columns.shape[1], _HIDDEN), torch.nn.Tanh(), torch.nn.Linear(_HIDDEN, 1)
        )
        torch.random.set_rng_state(state)
        x, y = torch.from_numpy(columns).float(), torch.from_numpy(wanted).float()
        steps = torch.optim.AdamW(net.parameters(), lr=_RATE, weight_decay=_DECAY)
        for _ in range(_STEPS):
            steps.zero_grad()
            torch.nn.functional.mse_loss(net(x)[:, 0], y).backward()
            steps.step()
        self._net = net.eval()

    def _predict(self, columns: Floats) -> Floats:
        import torch

        with torch.inference_mode():
            predicted: Floats = self._net(torch.from_numpy(columns).float())[:, 0].double().numpy()
        return predicted


def heads_of(seeds: Sequence[int]) -> dict[str, RatingHead]:
    """Return the heads by name: ridge, and the small network from each seed."""
    return {"ridge": Ridge(), **{f"network {seed}": SmallNetwork(seed) for seed in seeds}}


def cross_validated(head: RatingHead, columns: Floats, wanted: Floats, folds: NDArray[np.int64]) -> Floats:
    """Return float64 [n]: each item predicted by a head that has not seen its image."""
    predicted = np.empty(len(wanted))
    for fold in np.unique(folds):
        inside = folds == fold
        predicted[inside] = head.fit(columns[~inside], wanted[~inside]).predict(columns[inside])
    return predicted


def features_of(classifier: Classifier, pixels: Any) -> Floats:
    """Return float64 [m, F]: what the network's last layer sees."""
    import torch

    parts = []
    with torch.inference_mode():
        for start in range(0, len(pixels), classifier.settings.batch_size):
            batch = classifier.on_device(pixels[start : start + classifier.settings.batch_size])
            module = classifier.module
            parts.append(module.forward_head(module.forward_features(batch), pre_logits=True).flatten(1).double().cpu())
    features: Floats = torch.cat(parts).numpy()
    return features


def label_weights(classifier: Classifier, label: NDArray[np.int16]) -> Floats:
    """Return float64 [n, F]: the last layer's weights of each label; ones for items without a label.

    Raises
    ------
    InputError
        The network has no last layer with a row an output, or it has no output for a label.
    """
    weight = getattr(classifier.module.get_classifier(), "weight", None)
    output = classifier.output_of[np.maximum(label, 0)]
    if weight is None or len(weight) <= classifier.output_of.max() or (output[label >= 0] < 0).any():
        what = f"has no last layer with the {len(classifier.output_of):,} classes"
        raise InputError(classifier.name, what, fix="Name another model.")
    table: Floats = weight.detach().flatten(1).double().cpu().numpy()
    return np.where(label[:, None] >= 0, table[output], 1.0)


def quality_of(path: Path) -> tuple[float, ...]:
    """Return what an image's quality is: pixels, sharpness (Laplacian), contrast, brightness; each as a logarithm."""
    grey = np.asarray(read_picture(path).convert("L"), dtype=np.float64)
    inner = grey[1:-1, 1:-1]
    laplacian = grey[:-2, 1:-1] + grey[2:, 1:-1] + grey[1:-1, :-2] + grey[1:-1, 2:] - 4 * inner
    return tuple(float(np.log1p(value)) for value in (grey.size, laplacian.var(), grey.std(), grey.mean()))


@dataclass(frozen=True, eq=False)
class HeadStudy:
    """``ceiling`` of the correlation; ``rows``: predictor -> its correlation and share of the ceiling.

    ``n_items`` of ``n_images``.
    """

    n_items: int
    n_images: int
    ceiling: float
    rows: tuple[dict[str, Any], ...]


def study_heads(
    ratings: Ratings, paths: Sequence[Path], classifiers: Sequence[Classifier], *, seeds: Sequence[int] = (0, 1, 2)
) -> HeadStudy:
    """Fit heads on every model's features, ensembles of them, and the nuisance control; measure all the same way.

    ``paths``: each item's image. ``beyond_quality`` is the partial correlation, given the nuisance's prediction.

    Raises
    ------
    InputError
        There are too few images to cross-validate.
    """
    names = list(dict.fromkeys(ratings.file_names))
    if len(names) < 2 * _N_FOLDS:
        raise InputError("--ratings", f"only {counted(len(names), 'image')} of it in the folder", fix="Pass more.")
    image_of = {name: place for place, name in enumerate(names)}
    image = np.array([image_of[name] for name in ratings.file_names])
    path_of = dict(zip(ratings.file_names, paths, strict=True))
    wanted, folds, ceiling = ratings.share, folds_of(ratings.file_names), noise_ceiling(ratings)
    quality = np.array([quality_of(path_of[name]) for name in names])[image]
    nuisance = cross_validated(Ridge(), quality, wanted, folds)
    predicted = {("image quality", "ridge"): nuisance}
    for classifier in classifiers:
        columns = pair_columns(classifier, [path_of[name] for name in names], image, ratings.label)
        for name, head in heads_of(seeds).items():
            predicted[classifier.name, name] = cross_validated(head, columns, wanted, folds)
    yardstick = _Yardstick(wanted, nuisance, ceiling)
    rows = [yardstick.measure(*key, each) for key, each in predicted.items()]
    for kind in ("ridge", "network"):
        members = [each for (model, head), each in predicted.items() if model != "image quality" and kind in head]
        rows.append(yardstick.measure("all models", f"mean of {kind}", np.mean(members, axis=0)))
    return HeadStudy(len(ratings), len(names), ceiling, tuple(rows))


def pair_columns(
    classifier: Classifier, paths: Sequence[Path], image: NDArray[np.int64], label: NDArray[np.int16]
) -> Floats:
    """Return float64 [n, F + 1]: features of the image times the weights of the label, and their sum (the logit)."""
    products = features_of_files(classifier, tuple(paths))[image] * label_weights(classifier, label)
    return np.column_stack((products, products.sum(axis=1)))


@lru_cache(maxsize=8)
def features_of_files(classifier: Classifier, paths: tuple[Path, ...]) -> Floats:
    """Return float64 [m, F] of image files; kept, since figures and maps both need them."""
    import torch

    at_once = classifier.settings.batch_size
    parts = [
        features_of(classifier, torch.stack([classifier.see(path) for path in paths[start : start + at_once]]))
        for start in range(0, len(paths), at_once)
    ]
    return np.concatenate(parts)


@dataclass(frozen=True, eq=False)
class _Yardstick:
    """What predictions are measured by: the raters' shares, what the image quality predicts, and the ceiling."""

    wanted: Floats
    nuisance: Floats
    ceiling: float

    def measure(self, model: str, head: str, predicted: Floats) -> dict[str, Any]:
        r = correlation(predicted, self.wanted)
        return {
            "model": model,
            "head": head,
            "r": r,
            "share_of_ceiling": r / self.ceiling if self.ceiling else float("nan"),
            "beyond_quality": partial_correlation(predicted, self.wanted, self.nuisance),
        }


def partial_correlation(one: Floats, other: Floats, given: Floats) -> float:
    """Return the correlation of what a line through ``given`` leaves of both."""
    if one is given or given.std() == 0:
        return float("nan")
    rest = []
    for column in (one, other):
        slope, level = np.polyfit(given, column, 1)
        rest.append(column - slope * given - level)
    return correlation(rest[0], rest[1])


def compare_head_maps(
    ratings: Ratings,
    paths: Sequence[Path],
    classifiers: Sequence[Classifier],
    *,
    items: Sequence[int],
    seeds: Sequence[int] = (0, 1, 2),
) -> list[dict[str, Any]]:
    """Map the heads' predictions for some items by occlusion and compare: rows of item, compared, agreement.

    The heads are fitted once for each model, on the images of none of these items.
    ``within``: two heads on one model's features; ``models``: the same head on two models'; ``ensembles``: the mean
    of one model's heads against another's.
    """
    names = list(dict.fromkeys(ratings.file_names))
    image = np.array([names.index(name) for name in ratings.file_names])
    path_of = dict(zip(ratings.file_names, paths, strict=True))
    others = ~np.isin(image, image[list(items)])
    maps: dict[tuple[int, str, str], NDArray[np.float32]] = {}
    for classifier in classifiers:
        columns = pair_columns(classifier, [path_of[name] for name in names], image, ratings.label)
        heads = {name: head.fit(columns[others], ratings.share[others]) for name, head in heads_of(seeds).items()}
        for item in items:
            masked = _masked_columns(classifier, paths[item], ratings.label[item : item + 1])
            predicted = {name: head.predict(masked) for name, head in heads.items()}
            predicted["ensemble"] = np.mean(list(predicted.values()), axis=0)
            for name, shares in predicted.items():
                maps[item, classifier.name, name] = _as_map(shares[0] - shares[1:])
    return _compared(maps)


def _masked_columns(classifier: Classifier, path: Path, label: NDArray[np.int16]) -> Floats:
    """Return float64 [1 + 49, F + 1]: the columns with nothing hidden, then with each cell."""
    picture = Maskable.of(classifier, classifier.see(path), grid=_MAP_GRID, baseline="mean")
    hidden = np.eye(picture.n_cells + 1, picture.n_cells, -1, dtype=np.bool_)
    products = features_of(classifier, picture.masked(hidden)) * label_weights(classifier, label)
    return np.column_stack((products, products.sum(axis=1)))


def _as_map(drops: Floats) -> NDArray[np.float32]:
    return on_common_grid(drops.reshape(_MAP_GRID, _MAP_GRID))


def _compared(maps: dict[tuple[int, str, str], NDArray[np.float32]]) -> list[dict[str, Any]]:
    rows = []
    for one, other in combinations(maps, 2):
        if one[0] != other[0]:
            continue
        same_model, same_head = one[1] == other[1], one[2] == other[2]
        if same_model and "ensemble" in (one[2], other[2]):
            continue
        kind = "within" if same_model else "" if not same_head else "ensembles" if one[2] == "ensemble" else "models"
        if kind:
            rows.append({"item": one[0], "compared": kind, **agreement(maps[one], maps[other])})
    return rows
