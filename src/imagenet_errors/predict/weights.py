"""Where timm keeps the weights it downloads: whether they are there, fetching and deleting them."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from imagenet_errors.predict.names import ModelSpec
from imagenet_errors.predict.networks import config_of
from imagenet_errors.problems import InputError


@dataclass(frozen=True)
class CachedWeights:
    """A model's weights on this machine; ``revision``: the hub's commit, None for a file from a plain URL."""

    file: Path
    revision: str | None


def cached_weights(spec: ModelSpec) -> CachedWeights | None:
    """Return the weights that lie in the hub's or torch's cache; None: timm would download them."""
    from huggingface_hub import try_to_load_from_cache

    config = config_of(spec)
    if config is None or config.file:
        return None
    if config.hf_hub_id:
        for name in _hub_files(config):
            found = try_to_load_from_cache(config.hf_hub_id.partition("@")[0], name)
            if isinstance(found, str):
                return CachedWeights(Path(found), Path(found).parent.name)
    return _from_url(config)


def _from_url(config: Any) -> CachedWeights | None:
    from timm.models._hub import get_cache_dir

    if not config.url:
        return None
    name = config.url[1] if isinstance(config.url, (list, tuple)) else config.url.rpartition("/")[2]
    file = Path(get_cache_dir(), name)
    return CachedWeights(file, None) if file.is_file() else None


def _hub_files(config: Any) -> tuple[str, ...]:
    """Return the file names under which timm looks for the weights, in its order."""
    from timm.models._hub import HF_WEIGHTS_NAME, _get_safe_alternatives

    name = config.hf_hub_filename or HF_WEIGHTS_NAME
    return (*_get_safe_alternatives(name), name)


def refuse_unfetched(spec: ModelSpec) -> None:
    """Refuse a model whose weights would have to be downloaded.

    Raises
    ------
    InputError
        Its weights are not on this machine.
    """
    config = config_of(spec)
    if spec.checkpoint is None and not (config and config.file) and cached_weights(spec) is None:
        raise InputError(spec.name, "its weights are not on this machine", fix="Run once with --prefetch, online.")


def fetch_weights(spec: ModelSpec) -> None:
    """Download a model's weights into the cache, unless they are there.

    Raises
    ------
    InputError
        They cannot be downloaded; the text gives the reason.
    """
    config = config_of(spec)
    if spec.checkpoint is not None or config is None or config.file or cached_weights(spec) is not None:
        return
    try:
        if config.hf_hub_id:
            _from_hub(config)
        else:
            from timm.models._hub import download_cached_file

            download_cached_file(config.url)
    except Exception as error:  # network, permission, disk: each library raises its own
        raise InputError(
            spec.name, f"its weights cannot be downloaded: {_short(error)}", fix="Check the network."
        ) from error


def _from_hub(config: Any) -> None:
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import EntryNotFoundError

    repository, _, revision = config.hf_hub_id.partition("@")
    *first, last = _hub_files(config)
    for name in first:
        try:
            hf_hub_download(repository, name, revision=revision or None)
            return
        except EntryNotFoundError:
            continue
    hf_hub_download(repository, last, revision=revision or None)


def _short(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else 'no text'}"


def delete_weights(spec: ModelSpec) -> None:
    """Delete a model's downloaded weights; the user's own checkpoints are never touched."""
    cached = None if spec.checkpoint is not None else cached_weights(spec)
    if cached is None:
        return
    if cached.revision is None:
        cached.file.unlink(missing_ok=True)
        return
    folders = [folder for folder in cached.file.parents if folder.name.startswith("models--")]
    for folder in folders[:1]:  # <hub>/models--owner--name/snapshots/<revision>/file
        shutil.rmtree(folder, ignore_errors=True)
