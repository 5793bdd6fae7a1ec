"""What the user calls a model -> timm's ``arch.tag``: a bare name's weights changed over timm's versions."""

from __future__ import annotations

import difflib
import hashlib
import importlib.util
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from imagenet_errors.files import sha256_of
from imagenet_errors.problems import InputError
from imagenet_errors.shipped import needs

OWN_TAG = "checkpoint"
_REGISTERED = "imagenet_errors_registered_"
_LONGEST_TAG = 80
"""Characters: the file of predictions is named by it, and names beyond 255 bytes are none."""


@dataclass(frozen=True)
class ModelSpec:
    """One model: ``name`` is ``arch.tag``; ``checkpoint`` the file its weights come from, None: timm's own.

    ``note`` says what was decided, such as which tag a bare name stands for.
    """

    name: str
    checkpoint: Path | None = None
    note: str = ""

    @property
    def architecture(self) -> str:
        """The name without its tag."""
        return self.name.partition(".")[0]


@dataclass(frozen=True)
class Unusable:
    """A name that cannot be predicted with, and why."""

    name: str
    error: InputError


@dataclass(frozen=True)
class Resolution:
    """What the names stand for, each model once, and those that stand for nothing."""

    models: tuple[ModelSpec, ...]
    unusable: tuple[Unusable, ...]


def resolve(given: Sequence[str], *, checkpoint: Path | None = None, register: Iterable[Path] = ()) -> Resolution:
    """Resolve names, wildcards, files of names and ``NAME=CHECKPOINT`` pairs.

    Parameters
    ----------
    given
        ``resnet50``, ``resnet50.a1_in1k``, ``"vit_*"``, a file with one of these a line, or
        ``resnet50.mine=weights.safetensors``.
    checkpoint
        The weights of the one model given.
    register
        Python files that register models of one's own with timm.

    Raises
    ------
    InputError
        timm is not installed, nothing is given, a checkpoint is given for several models, two models have the
        same name, or a file of names cannot be read.
    """
    for path in register:
        run_registrations(path)
    entries = [entry for text in given for entry in _entries(text)]
    if not entries:
        raise InputError("MODEL", "no model given", fix="Name timm models, wildcards or files of names.")
    if checkpoint is not None:
        if len(entries) > 1 or "=" in entries[0]:
            raise InputError("--checkpoint", "belongs to exactly one model", fix="Write NAME=CHECKPOINT for several.")
        entries = [f"{entries[0]}={checkpoint}"]
    models: list[ModelSpec] = []
    unusable: list[Unusable] = []
    for entry in entries:
        try:
            models += _meant_by(entry)
        except InputError as error:
            unusable.append(Unusable(entry.partition("=")[0], error))
    return Resolution(_each_once(models), tuple(unusable))


def _entries(text: str) -> list[str]:
    """Return the names in a file of names, or the name itself."""
    path = Path(text)
    if "=" in text or not path.is_file():
        return [text.strip()]
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        raise InputError(path, "is not a text file of model names", fix="Write a name a line.") from None
    return [line for line in (line.partition("#")[0].strip() for line in lines) if line]


def _meant_by(entry: str) -> list[ModelSpec]:
    name, _, file = entry.partition("=")
    if file:
        return [_with_checkpoint(name, Path(file))]
    if any(letter in name for letter in "*?["):
        return _matching(name)
    return [_one(name)]


def _matching(pattern: str) -> list[ModelSpec]:
    """Return the models with weights of timm's that a wildcard matches, with or without their tag."""
    known = _timm().list_models(pretrained=True)
    found = [name for name in known if fnmatchcase(name, pattern) or fnmatchcase(name.partition(".")[0], pattern)]
    if not found:
        raise InputError(pattern, "matches no model that timm has weights for", fix="See timm.list_pretrained().")
    return [ModelSpec(name) for name in found]


def _one(name: str) -> ModelSpec:
    known = _timm()
    architecture, _, tag = name.partition(".")
    note = ""
    renamed = known.get_deprecated_models().get(architecture)
    if renamed is not None:
        note = f"{architecture} was renamed; its weights are {renamed}"
        name = renamed if not tag else f"{renamed.partition('.')[0]}.{tag}"
        architecture, _, tag = name.partition(".")
    if not known.is_model(architecture):
        raise _unknown(name, known.list_models())
    if not tag:
        return _default_tag(architecture, note)
    if name not in known.get_arch_pretrained_cfgs(architecture):
        raise _unknown(name, list(known.get_arch_pretrained_cfgs(architecture)))
    if not known.get_pretrained_cfg(name).has_weights:
        raise _without_weights(name)
    return ModelSpec(name, note=note)


def _default_tag(architecture: str, note: str) -> ModelSpec:
    config = _timm().get_pretrained_cfg(architecture)
    if config is None or not config.has_weights:
        raise _without_weights(architecture)
    if not config.tag:
        return ModelSpec(architecture, note=note)
    name = f"{architecture}.{config.tag}"
    return ModelSpec(name, note=note or f"{architecture} stands for {name} in this version of timm")


def _with_checkpoint(name: str, checkpoint: Path) -> ModelSpec:
    """Return a model with the user's weights; without a tag of theirs it gets one from the file's name."""
    known = _timm()
    architecture, _, tag = name.partition(".")
    if not known.is_model(architecture):
        raise _unknown(architecture, known.list_models())
    if not checkpoint.is_file():
        raise InputError(checkpoint, f"no such file, given as the weights of {name}", fix="Check the path.")
    if tag:
        return ModelSpec(name, checkpoint.resolve())
    stem = re.sub(r"(\.(safetensors|pth|pt|bin|tar|npz))+$", "", checkpoint.name)
    stem = stem.removeprefix(architecture).strip("._-")[:_LONGEST_TAG] or OWN_TAG
    return ModelSpec(f"{architecture}.{re.sub(r'[^A-Za-z0-9_.-]', '_', stem)}", checkpoint.resolve())


def _each_once(models: Iterable[ModelSpec]) -> tuple[ModelSpec, ...]:
    by_name: dict[str, ModelSpec] = {}
    for model in models:
        other = by_name.setdefault(model.name, model)
        if other.checkpoint != model.checkpoint:
            one, two = (each.checkpoint or "of timm" for each in (other, model))
            raise InputError(
                model.name,
                f"is named twice, with weights {one} and {two}",
                fix="Give each its own tag: ARCH.TAG=CHECKPOINT.",
            )
    return tuple(by_name.values())


def _unknown(name: str, known: Sequence[str]) -> InputError:
    close = difflib.get_close_matches(name, known, n=3)
    fix = f"Did you mean {' or '.join(close)}?" if close else "See timm.list_models()."
    return InputError(name, f"timm {_timm_version()} knows no such model", fix=fix)


def _without_weights(name: str) -> InputError:
    return InputError(name, "timm has no weights for it", fix=f"Pass your own: {name}=CHECKPOINT.")


def _timm() -> Any:
    """Return timm's registry functions."""
    needs("timm", extra="timm")
    import timm.models

    return timm.models


def _timm_version() -> str:
    return str(needs("timm", extra="timm").__version__)


def registered_code(architecture: str) -> str | None:
    """Return the SHA-256 of the file that registered an architecture of one's own; None for one of timm's."""
    module = sys.modules[_timm().model_entrypoint(architecture).__module__]
    if not module.__name__.startswith(_REGISTERED) or module.__file__ is None:
        return None
    return sha256_of(Path(module.__file__))


def run_registrations(path: Path) -> None:
    """Run a Python file whose ``@timm.models.register_model`` functions are models of the user's own; once.

    Raises
    ------
    InputError
        There is no such file, or it raises.
    """
    module_name = f"{_REGISTERED}{hashlib.sha256(bytes(path.resolve())).hexdigest()[:8]}_{path.stem}"
    if module_name in sys.modules:
        return
    if not path.is_file():
        raise InputError(path, "no such file", fix="Check the path given to --register.")
    needs("timm", extra="timm")
    spec = importlib.util.spec_from_file_location(module_name, path)
    if spec is None or spec.loader is None:
        raise InputError(path, "is no Python file", fix="Pass a .py file to --register.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[module_name]
        raise InputError(path, f"raised {type(error).__name__}: {error}", fix="Mend the file.") from error
