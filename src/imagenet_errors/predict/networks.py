"""A timm network ready for inference, with its data config, head, number of parameters and weights' hash."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from imagenet_errors.extras import needs
from imagenet_errors.labels import LabelSpace
from imagenet_errors.predict.heads import Head, head_of
from imagenet_errors.predict.names import ModelSpec
from imagenet_errors.predict.settings import Settings
from imagenet_errors.problems import InputError, counted


@dataclass(frozen=True, eq=False)
class Network:
    """``module`` is a torch module in evaluation mode, on the CPU; ``data_config`` is timm's."""

    spec: ModelSpec
    module: Any
    data_config: dict[str, Any]
    head: Head
    n_parameters: int
    weights_sha256: str


def load_network(spec: ModelSpec, labels: LabelSpace, *, settings: Settings) -> Network:
    """Build a model and load its weights.

    Raises
    ------
    InputError
        The head cannot be mapped to the classes, or a checkpoint does not fit the network.
    """
    timm = needs("timm", extra="timm")
    config = config_of(spec)
    if config is not None:  # a head that is refused need not be downloaded
        check_head(spec, config, labels)
    overlay = dict(settings.data)
    sized = {"img_size": overlay["input_size"][1:]} if _needs_size(config, overlay) else {}
    if spec.checkpoint is None:
        module = timm.create_model(spec.name, pretrained=True, **sized)
        label_names = module.pretrained_cfg.get("label_names")
    else:
        module, label_names = _from_checkpoint(spec, config, sized), None
    module.eval()
    return Network(
        spec=spec,
        module=module,
        data_config=timm.data.resolve_model_data_config(module, args=overlay),
        head=head_of(spec.name, int(module.num_classes), labels, label_names=label_names),
        n_parameters=sum(parameter.numel() for parameter in module.parameters()),
        weights_sha256=weights_hash(module),
    )


def config_of(spec: ModelSpec) -> Any:
    """Return timm's pretrained config of the model; that of its architecture where the tag is the user's."""
    import timm.models

    own = timm.models.get_arch_pretrained_cfgs(spec.architecture).get(spec.name)
    return own or timm.models.get_pretrained_cfg(spec.architecture)


def check_head(spec: ModelSpec, config: Any, labels: LabelSpace) -> None:
    """Refuse a model of timm's whose head cannot be mapped, from its config alone.

    Raises
    ------
    InputError
        See :func:`imagenet_errors.predict.heads.head_of`.
    """
    if spec.checkpoint is None:
        head_of(spec.name, config.num_classes, labels, label_names=config.label_names)


def _needs_size(config: Any, overlay: dict[str, Any]) -> bool:
    """A network with position embeddings must be built for its input size."""
    return "input_size" in overlay and config is not None and bool(config.fixed_input_size)


def _from_checkpoint(spec: ModelSpec, config: Any, sized: dict[str, Any]) -> Any:
    """Build the architecture with the head that the checkpoint has, and load it; every name must fit."""
    import timm.models

    path = Path(str(spec.checkpoint))
    try:
        state = timm.models.load_state_dict(str(path), use_ema=True)
    except Exception as error:  # damaged and foreign files fail in many ways
        raise InputError(path, f"cannot be read as weights: {error}", fix="Pass a state dict.") from error
    wanted = {**sized, **_head_width(state, config)}
    known = timm.models.get_arch_pretrained_cfgs(spec.architecture)
    module = timm.create_model(spec.name if spec.name in known else spec.architecture, pretrained=False, **wanted)
    expected = module.state_dict()
    lacking = sorted(expected.keys() - state.keys())
    surplus = sorted(state.keys() - expected.keys())
    torn = [key for key in expected.keys() & state.keys() if expected[key].shape != state[key].shape]
    if lacking or surplus or torn:
        raise InputError(
            path,
            f"does not fit {spec.architecture}: {counted(len(lacking), 'tensor')} lacking, "
            f"{len(surplus)} too many, {len(torn)} of another shape",
            example=[*lacking, *surplus, *sorted(torn)][0],
            fix="Convert the names to timm's first.",
        )
    module.load_state_dict(state)
    return module


def _head_width(state: dict[str, Any], config: Any) -> dict[str, int]:
    """Return num_classes as the checkpoint's classifier has it."""
    named = None if config is None else config.classifier
    for classifier in (named,) if isinstance(named, str) else tuple(named or ()):
        weight = state.get(f"{classifier}.weight")
        if weight is not None:
            return {"num_classes": int(weight.shape[0])}
    return {}


def weights_hash(module: Any) -> str:
    """Return a sha256 of every tensor's name, type, shape and content, whatever file they came from."""
    import torch

    whole = hashlib.sha256()
    for name, tensor in sorted(module.state_dict().items()):
        whole.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        flat = tensor.detach().cpu().contiguous().reshape(-1)
        whole.update(flat.view(torch.uint8).numpy().data if flat.numel() else b"")
    return whole.hexdigest()
