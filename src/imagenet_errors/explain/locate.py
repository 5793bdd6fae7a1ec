"""Which part of the picture, when hidden, turns a wrong answer into an accepted one; and would it turn to any?

A grid of cells is hidden greedily until the answer is accepted. Whoever hides enough turns any answer into any
other, so the same search is aimed at a *decoy*: the unaccepted class that is as near as the accepted one. Beside it:
random masks of the same size, the same mask over the other baseline, and the same mask in front of other models.

The search is lazy: at each step only the cells that promised most when they were last tried are tried again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from imagenet_errors.explain.job import ModelGroup, Row, schema_of
from imagenet_errors.explain.masking import BASELINES, FEWEST_CELLS, Maskable, refuse_baseline
from imagenet_errors.explain.pictures import small_picture
from imagenet_errors.explain.questions import Judge, Question
from imagenet_errors.problems import refuse_below

VERDICTS = ("located", "chance", "diffuse", "never")
TRANSFER = pa.list_(
    pa.struct([("model", pa.string()), ("before", pa.int16()), ("after", pa.int16()), ("turns", pa.bool_())])
)
_QUARTER, _HALF = 4, 2


@dataclass(frozen=True)
class Locate:
    """``grid`` cells a side, ``baseline`` blur or mean; ``n_tried`` cells a step (0: all); ``n_random`` masks."""

    name: ClassVar[str] = "locate"
    schema: ClassVar[pa.Schema] = schema_of(
        ("goal", pa.int16()),
        ("grid", pa.int16()),
        ("baseline", pa.string()),
        ("p_before", pa.float32()),
        ("margin_before", pa.float32()),
        ("margin_map", pa.list_(pa.float32())),
        ("order", pa.list_(pa.int16())),
        ("answers", pa.list_(pa.int16())),
        ("n_hidden_to_flip", pa.int16()),
        ("flips_to", pa.int16()),
        ("flips_to_type", pa.string()),
        ("decoy", pa.int16()),
        ("n_hidden_to_decoy", pa.int16()),
        ("chance_flip", pa.float32()),
        ("other_baseline_flips", pa.bool_()),
        ("transfer", TRANSFER),
        ("picture", pa.binary()),
    )

    grid: int = 8
    baseline: str = "blur"
    n_tried: int = 8
    n_random: int = 20
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse what cannot be; how many cells fit is known beside a picture alone.

        Raises
        ------
        InputError
            There is no such baseline, or a number is too small.
        """
        refuse_baseline(self.baseline)
        refuse_below("--grid", self.grid, FEWEST_CELLS)
        refuse_below("--cells-tried", self.n_tried, 0)
        refuse_below("n_random", self.n_random, 1)
        refuse_below("--seed", self.seed, 0)

    def rows(self, group: ModelGroup, questions: Sequence[Question]) -> Iterator[list[Row]]:
        """Locate what turns each answer; a right answer is aimed at the unaccepted class nearest to it instead."""
        for question in questions:
            path = group.images / question.file
            pixels = group.classifier.see(path)
            picture = Maskable.of(group.classifier, pixels, grid=self.grid, baseline=self.baseline)
            goal = question.accepted
            if question.error_type == "correct":
                logits = group.classifier.logits(pixels[None])[0]
                goal = (decoy_of(logits, question.prediction, {question.prediction, *question.accepted}),)
            found = locate(picture, question.prediction, goal, options=self, not_decoys=question.accepted)
            others = [
                Maskable.of(other, other.see(path), grid=self.grid, baseline=self.baseline) for other in group.others
            ]
            yield [
                {
                    **_columns(found),
                    "grid": self.grid,
                    "baseline": self.baseline,
                    "transfer": answers_under(others, found.hidden, goal),
                    "picture": small_picture(group.classifier.colours(pixels)),
                }
            ]

    def finish(self, rows: list[Row], judge: Judge) -> None:
        """Say which type of error the answer is that came out."""
        turned = [row for row in rows if row["flips_to"] is not None]
        types = judge([row["file_name"] for row in turned], [row["flips_to"] for row in turned])
        for row, kind in zip(turned, types, strict=True):
            row["flips_to_type"] = kind


def _columns(found: Located) -> Row:
    n_to_turn = found.search.n_to_turn
    return {
        "goal": found.target,
        "p_before": found.p_before,
        "margin_before": found.margin_before,
        "margin_map": found.margin_map.tolist(),
        "order": found.search.order.tolist(),
        "answers": found.search.answers.tolist(),
        "n_hidden_to_flip": n_to_turn,
        "flips_to": None if n_to_turn is None else int(found.search.answers[-1]),
        "decoy": found.decoy,
        "n_hidden_to_decoy": found.decoy_search.n_to_turn,
        "chance_flip": found.chance_flip,
        "other_baseline_flips": found.other_baseline_flips,
        "verdict": found.verdict,
    }


@dataclass(frozen=True, eq=False)
class Search:
    """The cells hidden, in order, and the answer after each: int16 and int16, [s].

    ``n_to_turn``: how many cells it took until the answer was one of the goal's; None: it never was.
    """

    order: NDArray[np.int16]
    answers: NDArray[np.int16]
    n_to_turn: int | None


@dataclass(frozen=True, eq=False)
class Located:
    """What hiding parts of one picture does to one answer.

    ``target`` is the accepted label of the highest logit, ``decoy`` the unaccepted class nearest to it.
    ``margin_map`` float32 [n]: the margin (prediction's logit less the target's goal's best) with each cell hidden;
    ``chance_flip``: share of random masks of the same size that turn the answer too, NaN where nothing turned.
    """

    target: int
    decoy: int
    p_before: float
    margin_before: float
    margin_map: NDArray[np.float32]
    search: Search
    decoy_search: Search
    chance_flip: float
    other_baseline_flips: bool | None
    verdict: str
    hidden: NDArray[np.bool_] = field(repr=False)


def locate(
    picture: Maskable, prediction: int, goal: Sequence[int], *, options: Locate, not_decoys: Sequence[int] = ()
) -> Located:
    """Search for the cells that turn ``prediction`` into one of ``goal``, and for those that turn it into a decoy.

    Parameters
    ----------
    picture
        The picture behind its grid; ``options.grid`` and ``options.baseline`` are those it was laid with.
    prediction, goal
        The answer to turn, and the classes that count as turned: the accepted labels.
    not_decoys
        Classes that may be no decoy beside these, such as accepted labels that are not the goal.
    """
    first = picture.one_by_one()
    whole, single = first[0], first[1:]
    wanted = np.asarray(sorted(goal))
    target = int(wanted[np.argmax(whole[wanted])])
    decoy = decoy_of(whole, target, {prediction, *goal, *not_decoys})
    n = picture.n_cells
    search = greedy(picture, first, wanted, limit=n // _HALF, n_tried=options.n_tried)
    most = n // _QUARTER if search.n_to_turn is None else min(2 * search.n_to_turn, n // _HALF)
    aimed = greedy(picture, first, np.array([decoy]), limit=max(most, n // _QUARTER), n_tried=options.n_tried)
    hidden = np.zeros(n, dtype=np.bool_)
    hidden[search.order[: search.n_to_turn if search.n_to_turn is not None else n // _QUARTER]] = True
    return Located(
        target=target,
        decoy=decoy,
        p_before=float(_softmax(whole)[prediction]),
        margin_before=float(whole[prediction] - whole[wanted].max()),
        margin_map=_margins(single, prediction, wanted),
        search=search,
        decoy_search=aimed,
        chance_flip=chance_of_turning(picture, int(hidden.sum()), wanted, options=options),
        other_baseline_flips=None if search.n_to_turn is None else _turns_elsewhere(picture, hidden, wanted, options),
        verdict=verdict_of(search.n_to_turn, aimed.n_to_turn, n),
        hidden=hidden,
    )


def decoy_of(logits: NDArray[np.float32], target: int, taken: set[int]) -> int:
    """Return the class, none of those taken, whose logit is nearest to the target's; of equal ones the lowest."""
    distance = np.abs(logits.astype(np.float64) - logits[target])
    distance[list(taken)] = np.inf
    return int(np.argmin(distance))


def verdict_of(n_to_turn: int | None, n_to_decoy: int | None, n_cells: int) -> str:
    """Name what the two searches say.

    ``never``: not turned with half of the cells hidden. ``diffuse``: turned, but not within a quarter. ``chance``:
    turned within a quarter, and so is the decoy within twice as many cells. ``located``: turned, the decoy not.
    """
    if n_to_turn is None:
        return "never"
    if n_to_turn > n_cells // _QUARTER:
        return "diffuse"
    return "chance" if n_to_decoy is not None and n_to_decoy <= 2 * n_to_turn else "located"


def greedy(
    picture: Maskable, first: NDArray[np.float32], goal: NDArray[np.integer], *, limit: int, n_tried: int
) -> Search:
    """Hide the cell that brings the goal nearest, again and again, until it is the answer or ``limit`` are hidden.

    The first cell is the one that the margin map names: what speaks most for the answer as it is. From then on the
    goal's odds against all other classes decide. ``first`` float32 [1 + n, C] are the logits with nothing hidden, then
    with each cell. Of equal cells the lowest is taken.
    """
    n = picture.n_cells
    level, *promises = _against(first, goal)
    promise = np.array(promises)  # the lower, the nearer is the goal with this cell hidden too
    tried, logits, against = np.arange(n), first[1:], promise
    hidden = np.zeros(n, dtype=np.bool_)
    order: list[int] = []
    answers: list[int] = []
    best = int(np.argmin(_margins(first[1:], int(first[0].argmax()), goal)))
    while True:
        hidden[tried[best]] = True
        order.append(int(tried[best]))
        answers.append(int(np.argmax(logits[best])))
        if answers[-1] in goal or len(order) == limit:
            break
        promise[tried] = against
        promise += against[best] - level
        level = against[best]
        tried = _most_promising(promise, hidden, n_tried)
        trials = np.repeat(hidden[None], len(tried), axis=0)
        trials[np.arange(len(tried)), tried] = True
        logits = picture.logits(trials)
        against = _against(logits, goal)
        best = _best(logits, against, goal)
    n_to_turn = len(order) if answers[-1] in goal else None
    return Search(np.array(order, dtype=np.int16), np.array(answers, dtype=np.int16), n_to_turn)


def _margins(logits: NDArray[np.float32], answer: int, goal: NDArray[np.integer]) -> NDArray[np.float32]:
    """Return float32 [m]: the answer's logit less the best of the goal's."""
    margins: NDArray[np.float32] = logits[:, answer] - logits[:, goal].max(axis=1)
    return margins


def _against(logits: NDArray[np.float32], goal: NDArray[np.integer]) -> NDArray[np.float64]:
    """Return float64 [m]: the log-odds against the goal.

    Not the margin to the best other class: while that one leads, hiding what speaks for the second shows nothing.
    """
    others = logits.astype(np.float64)
    top = others.max(axis=1, keepdims=True)
    powers = np.exp(others - top)
    ours = powers[:, goal].sum(axis=1)
    powers[:, goal] = 0
    tiny = np.finfo(np.float64).tiny
    odds: NDArray[np.float64] = np.log(np.maximum(powers.sum(axis=1), tiny)) - np.log(np.maximum(ours, tiny))
    return odds


def _best(logits: NDArray[np.float32], against: NDArray[np.float64], goal: NDArray[np.integer]) -> int:
    """Return the trial to keep: of those that turn the answer, if any does, the one with the goal's best odds."""
    turned = np.isin(logits.argmax(axis=1), goal)
    return int(np.argmin(np.where(turned == turned.any(), against, np.inf)))


def _most_promising(promise: NDArray[np.float64], hidden: NDArray[np.bool_], n_tried: int) -> NDArray[np.int64]:
    shown = np.flatnonzero(~hidden)
    if not n_tried:
        return shown
    return np.sort(shown[np.argsort(promise[shown], kind="stable")[:n_tried]])


def random_masks(n_masks: int, n_hidden: int, n_cells: int, seed: int) -> NDArray[np.bool_]:
    """Return bool [n_masks, n_cells], each with so many cells hidden at random."""
    ranks = np.random.default_rng(seed).random((n_masks, n_cells)).argsort(axis=1)
    return ranks < n_hidden


def chance_of_turning(picture: Maskable, n_hidden: int, goal: NDArray[np.integer], *, options: Locate) -> float:
    """Return the share of random masks of this size that turn the answer to the goal."""
    masks = random_masks(options.n_random, n_hidden, picture.n_cells, options.seed)
    return float(np.isin(picture.logits(masks).argmax(axis=1), goal).mean())


def _turns_elsewhere(picture: Maskable, hidden: NDArray[np.bool_], goal: NDArray[np.integer], options: Locate) -> bool:
    """Tell whether the same mask turns the answer over the other baseline too."""
    (other,) = (name for name in BASELINES if name != options.baseline)
    elsewhere = Maskable.of(picture.classifier, picture.pixels, grid=options.grid, baseline=other)
    return bool(np.isin(elsewhere.logits(hidden[None]).argmax(axis=1), goal)[0])


def answers_under(pictures: Sequence[Maskable], hidden: NDArray[np.bool_], goal: Sequence[int]) -> list[dict[str, Any]]:
    """Return what other models answer before and under the same mask, and whether that is one of the goal's."""
    masks = np.stack((np.zeros_like(hidden), hidden))
    found = []
    for picture in pictures:
        before, after = (int(answer) for answer in picture.logits(masks).argmax(axis=1))
        turns = before not in goal and after in goal
        found.append({"model": picture.classifier.name, "before": before, "after": after, "turns": turns})
    return found


def _softmax(logits: NDArray[np.float32]) -> NDArray[np.float64]:
    powers = np.exp(logits.astype(np.float64) - logits.max())
    shares: NDArray[np.float64] = powers / powers.sum()
    return shares
