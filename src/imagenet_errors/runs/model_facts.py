"""What timm's names tell of a model: architecture, training data, pretraining; by the rules of one table."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from imagenet_errors.readers.arrow_tables import our_metadata
from imagenet_errors.shipped import shipped

SUPERVISED = "supervised"

FACTS = pa.schema(
    [
        ("arch", pa.string()),
        ("arch_group", pa.string()),
        ("arch_family", pa.string()),
        ("n_parameters", pa.int64()),
        ("training_data", pa.string()),
        ("n_training_images", pa.int64()),
        ("pretraining", pa.list_(pa.string())),
        ("weights_sha256", pa.string()),
    ]
)
"""The columns that follow the figures in ``summary.parquet``; null where a fact is not known."""


@dataclass(frozen=True)
class ModelFacts:
    """What a name tells; None where no rule knows. ``pretraining`` names one method or more, () if unknown.

    ``arch_family`` is cnn, transformer, hybrid or mlp; ``arch_group`` a finer one (ResNet, ViT, ...).
    """

    arch: str | None
    arch_group: str | None
    arch_family: str | None
    training_data: str | None
    n_training_images: int | None
    pretraining: tuple[str, ...]


def facts_of(name: str) -> ModelFacts:
    """Return what the rules of ``data/model_facts.toml`` tell of ``arch.tag``.

    Example
    -------
    >>> facts_of("resnet50.a1_in1k").training_data
    'ImageNet-1k'
    """
    rules = _rules()
    architecture, _, tag = name.partition(".")
    built = _first(rules["architecture"], architecture, tag)
    trained = _first(rules["training"], architecture, tag)
    methods = [rule["method"] for rule in rules["method"] if _matches(rule, architecture, tag)]
    known = tuple(dict.fromkeys(methods)) or ((SUPERVISED,) if trained else ())
    return ModelFacts(
        arch=built.get("arch"),
        arch_group=built.get("group"),
        arch_family=built.get("family"),
        training_data=trained.get("data"),
        n_training_images=trained.get("n_images"),
        pretraining=known,
    )


@lru_cache(maxsize=1)
def _rules() -> dict[str, list[dict[str, Any]]]:
    return tomllib.loads(shipped("data", "model_facts.toml").read_text(encoding="utf-8"))


def _first(rules: Sequence[dict[str, Any]], architecture: str, tag: str) -> dict[str, Any]:
    return next((rule for rule in rules if _matches(rule, architecture, tag)), {})


def _matches(rule: Mapping[str, Any], architecture: str, tag: str) -> bool:
    """Tell whether one of the names fits and, where the rule has tags, one of them."""
    names, tags = rule.get("names", ["*"]), rule.get("tags", ["*"])
    return any(_fits(architecture, name) for name in names) and any(_fits(tag, pattern) for pattern in tags)


def _fits(text: str, pattern: str) -> bool:
    """Match a pattern whose only wildcard is ``*``; most fail on their words, before a regular expression is made."""
    return all(word in text for word in pattern.split("*")) and fnmatchcase(text, pattern)


def facts_of_file(path: Path) -> dict[str, Any] | None:
    """Return a row of FACTS for a predictions file that ``predict`` wrote; None for any other file."""
    said = our_metadata(path)
    if said is None or not isinstance(said.get("model"), str):
        return None
    counted = {name: said.get(name) for name in ("n_parameters", "weights_sha256")}
    return _row(facts_of(said["model"])) | counted


def n_classes_of_file(path: Path) -> int | None:
    """Return how many classes a model could be found to predict by ``predict``; None where a file does not say."""
    head = (our_metadata(path) or {}).get("head")
    return head.get("n_classes") if isinstance(head, dict) else None


def facts_of_name(name: str) -> dict[str, Any] | None:
    """Return a row of FACTS for a model that is called as timm calls one, an image size behind it or not; else None.

    A word that only begins like an architecture (``evaluation``, ``nested``) is none.

    Example
    -------
    >>> facts_of_name("resnet152.a1h_in1k-288")["training_data"]
    'ImageNet-1k'
    >>> facts_of_name("evaluation") is None
    True
    """
    folded = _IMAGE_SIZE.sub("", name.casefold())
    return _row(facts_of(folded)) if _is_architecture(folded.partition(".")[0]) else None


_IMAGE_SIZE = re.compile(r"-\d+$")
_VARIANT = re.compile(r"(v|rs?|x?t|[cxyz](?=[\d_])|aa|blur|light|alarge|botnet|det)?([\d_].*)?")
"""What follows an architecture's own word in timm's names: ``resnet`` + ``rs50``, ``swin`` + ``v2_tiny``."""
_PREFIX = re.compile(r"(test_|tf_|gc_|dm_|eca_|legacy_|se|cs\d?(p|se)?)?")


def _is_architecture(name: str) -> bool:
    """Tell whether a rule's pattern fits the whole name, with a variant of timm's where the pattern leaves it open."""
    rule = _first(_rules()["architecture"], name, "")
    pattern = next((pattern for pattern in rule.get("names", ()) if _fits(name, pattern)), "")
    before, _, own = pattern.rstrip("*").rpartition("*")
    if not own:
        return False
    start, _, rest = name.rpartition(own)
    if own.endswith("_") or before:  # a variant follows, whatever it is; the pattern says what comes before
        return True
    return bool(_PREFIX.fullmatch(start) and _VARIANT.fullmatch(rest))


def _row(known: ModelFacts) -> dict[str, Any]:
    return {**known.__dict__, "pretraining": list(known.pretraining) or None}


def with_facts(summary: pa.Table, facts: Mapping[str, Mapping[str, Any]]) -> pa.Table:
    """Return the summary with the columns of FACTS, unless nothing is known of any model.

    ``facts``: model -> a row of FACTS, as :func:`facts_of_file` and :func:`facts_of_name` give it.
    """
    if not facts:
        return summary
    rows = [dict(facts.get(model, {})) for model in summary["model"].to_pylist()]
    known = pa.Table.from_pylist(rows, schema=FACTS)
    for column in FACTS.names:
        summary = summary.append_column(FACTS.field(column), known[column])
    return summary
