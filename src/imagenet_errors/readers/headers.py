"""What a column's header says about it: image name, prediction, class, confidence, ground truth."""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache


class Meaning(StrEnum):
    """What a header says; ``PREDICTION`` is explicit (``pred``), ``CLASS`` is not (``label``)."""

    NAME = "name"
    WEAK_NAME = "weak name"
    PREDICTION = "prediction"
    RANKS = "ranks"
    CLASS = "class"
    CONFIDENCE = "confidence"
    TRUTH = "ground truth"
    IGNORED = "ignored"
    UNKNOWN = "unknown"


STATE_CLASSES = frozenset((Meaning.PREDICTION, Meaning.CLASS, Meaning.RANKS))
"""What headers of columns that hold classes say."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_TRUTH = _words(
    "target targets true truth gt groundtruth actual expected real original orig ytrue reference human "
    "annotated correct"
)
_IGNORED = _words(
    "failure severity err error errors acc accuracy loss nll time latency seconds duration ms elapsed split rank "
    "entropy margin uncertainty variance std distance model size width height"
)
_CONFIDENCE = _words(
    "prob probs proba probability probabilities confidence confidences conf score scores logit logits "
    "softmax likelihood certainty"
)
_PREDICTION = _words(
    "pred preds predict prediction predictions predicted ypred yhat argmax top1 guess guesses answer answers"
)
_CLASS = _words(
    "index indices idx label labels class classes cls category categories wnid wnids synset synsets classid"
)
_CLASS_BUT_NUMBER = _CLASS - _words("index indices idx")
_FILE_NAME = _words("filename filenames fname basename")
_IMAGE = _words(
    "image images img imgs file files path paths filepath filepaths sample samples imagename imgname impath imgpath"
)
_WEAK = _words("name names id ids key keys")

_OUTPUT = _words("out output outputs")
_HATTED = _words("y label class")
_PERCENT = _words("percent percentage pct")

PROBABILITY_WORDS = _CONFIDENCE - _words("score scores logit logits")
"""Headers with one of these promise a probability; scores and logits come after them."""


def words_of(header: str) -> list[str]:
    """Split a header into lower-case words: ``"Predicted_classIndex"`` -> predicted, class, index."""
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", header)
    return re.findall(r"[^\W\d_]+\d*|\d+", snake.lower())


def is_unlabelled(header: str) -> bool:
    """Say whether a header only stands for a missing one, as pandas writes an index without a name."""
    return not words_of(header) or header.startswith(("__index_level_", "Unnamed: "))


@lru_cache(maxsize=4096)
def meaning_of(header: str) -> Meaning:
    """Tell what a header says about its column, by its words.

    The order is the point: ``true_label`` is the truth though it holds ``label``, ``predicted_probability`` a
    confidence though it holds ``predicted``, and ``class_name`` a class though it holds ``name``.
    """
    words = words_of(header)
    known = set(words)
    if is_unlabelled(header):
        return Meaning.UNKNOWN
    if known & _TRUTH or words in (["y"], ["y", "test"], ["y", "val"], ["ground", "truth"]):
        return Meaning.TRUTH
    if known & _IGNORED:
        return Meaning.UNKNOWN if known & _OUTPUT else Meaning.IGNORED
    if known & _CONFIDENCE:
        return Meaning.CONFIDENCE
    is_hatted = "hat" in known and bool(known & _HATTED)  # y_hat, but no cowboy hat
    if known & _PREDICTION or words[:2] == ["top", "1"] or is_hatted:
        return Meaning.PREDICTION
    if any(re.fullmatch(r"top(\d+|k)", word) for word in words) or words in (
        ["top", "5"],
        ["top", "k"],
        ["top"],
    ):
        return Meaning.RANKS
    return _class_or_name(words, known)


def _class_or_name(words: list[str], known: set[str]) -> Meaning:
    if known & (_CLASS_BUT_NUMBER if known & (_IMAGE | _FILE_NAME) else _CLASS):
        return Meaning.CLASS
    if known & _FILE_NAME or ("file" in known and known & _WEAK - {"id", "ids"}):
        return Meaning.NAME
    if known & _IMAGE:
        return Meaning.WEAK_NAME if known & _words("index idx id ids number") and len(words) > 1 else Meaning.NAME
    return Meaning.WEAK_NAME if len(words) <= 2 and known & _WEAK else Meaning.UNKNOWN


def name_strength(header: str) -> int:
    """Rank headers of name columns: 3 for ``filename``, 2 for ``image``, 1 for ``id``, 0 for others."""
    meaning, known = meaning_of(header), set(words_of(header))
    if meaning is Meaning.WEAK_NAME:
        return 1
    if meaning is not Meaning.NAME:
        return 0
    return 3 if known & _FILE_NAME or {"file", "name"} <= known else 2


def is_of_images(header: str) -> bool:
    """Say whether a header speaks of images or files: ``image_id`` does, ``id`` does not."""
    return bool(set(words_of(header)) & (_IMAGE | _FILE_NAME))


def is_in_percent(header: str) -> bool:
    """Say whether a header promises values from 0 to 100: ``confidence_percent``, ``prob (%)``."""
    return "%" in header or bool(set(words_of(header)) & _PERCENT)


def confidence_strength(header: str) -> int:
    """Rank headers of confidence columns: 3 for probabilities, 2 for scores, 1 for logits."""
    known = set(words_of(header))
    if known & PROBABILITY_WORDS:
        return 3
    return 2 if known & {"score", "scores"} else 1
