"""A timm network ready for inference: its data config, number of parameters and weights' hash, and its head.

A head's outputs are mapped to the classes in hand by their wnids, their names or a known class axis, or refused with
the reason.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from imagenet_errors.labels import LabelSpace, imagenet_1k
from imagenet_errors.predict.names import ModelSpec
from imagenet_errors.predict.settings import Settings
from imagenet_errors.problems import InputError, counted
from imagenet_errors.readers.class_axis import ClassAxis, axis_names, class_axis
from imagenet_errors.shipped import needs


@dataclass(frozen=True, eq=False)
class Head:
    """Which outputs count: ``positions`` int64 [K] of the outputs, ``classes`` int16 [K] ascending.

    ``n_lacking`` of the classes have no output; such a class is never predicted.
    """

    axis: str
    n_outputs: int
    positions: NDArray[np.int64]
    classes: NDArray[np.int16]
    n_lacking: int

    def restricted(self, classes: Sequence[int], *, model: str) -> Head:
        """Return the head with the outputs of these classes alone; no other class is ever predicted.

        Raises
        ------
        InputError
            None of the classes has an output.
        """
        keep = np.isin(self.classes, np.asarray(classes))
        if not keep.any():
            raise InputError(model, f"none of the {counted(len(classes), 'class', 'classes')} asked for has an output")
        n_lacking = len(set(classes) - set(self.classes.tolist()))
        return Head(self.axis, self.n_outputs, self.positions[keep], self.classes[keep], n_lacking)

    @property
    def is_plain(self) -> bool:
        """True when output i is class i for all classes."""
        in_order = np.array_equal(self.positions, np.arange(self.n_outputs))
        return self.n_lacking == 0 and in_order


def head_of(model: str, n_outputs: int, labels: LabelSpace, *, label_names: Sequence[str] | None = None) -> Head:
    """Return the mapping of a head with so many outputs.

    ``label_names``: wnids or names of classes, where the model states them. As many outputs as there are classes, or as
    occur in the data set, stand for these in their order. Of ImageNet's heads those outputs count whose wnids are among
    the classes.

    Raises
    ------
    InputError
        The model has no head, or which class each output stands for is not known.
    """
    if n_outputs == 0:
        raise InputError(model, "has no classification head: it yields features", fix="Name a fine-tuned model.")
    if label_names is not None and len(label_names) == n_outputs:
        return _of_labels(model, label_names, labels)
    if n_outputs == len(labels):
        return _head(f"all {n_outputs:,} classes", np.arange(n_outputs, dtype=np.int16), labels)
    if n_outputs == len(labels.occurring):
        return _head(f"the {n_outputs:,} classes that occur", np.array(labels.occurring, dtype=np.int16), labels)
    imagenet = imagenet_1k()
    if n_outputs == len(imagenet) or str(n_outputs) in axis_names():
        return _of_imagenet(model, class_axis(str(n_outputs), imagenet), labels)
    heads = [f"{n:,} outputs" for n in (len(labels), len(labels.occurring)) if n]
    heads += axis_names() if set(labels.wnids) & set(imagenet.wnids) else []
    raise InputError(
        model,
        f"has {counted(n_outputs, 'output')}, and which class each stands for is not known",
        fix=f"Known heads: {', '.join(heads)}.",
    )


def _of_imagenet(model: str, axis: ClassAxis, labels: LabelSpace) -> Head:
    """Map a head of ImageNet's to the classes by wnid."""
    wnids = imagenet_1k().wnids
    own = np.array([labels.index_of_wnid.get(wnid, -1) for wnid in wnids], dtype=np.int16)
    class_at = np.where(axis.class_at >= 0, own[axis.class_at], np.int16(-1)).astype(np.int16)
    if (class_at < 0).all():
        raise InputError(
            model,
            f"has ImageNet's {axis.width:,} outputs, and none of them is one of the {len(labels):,} classes",
            fix=f"Name weights with {len(labels):,} outputs (NAME=CHECKPOINT), or give the classes their wnids.",
        )
    return _head(axis.name, class_at, labels)


def _of_labels(model: str, label_names: Sequence[str], labels: LabelSpace) -> Head:
    known = labels.index_of_wnid
    if not labels.is_imagenet:  # ImageNet's names repeat (crane, maillot): there wnids alone are safe
        known = {**{name.casefold(): index for index, name in enumerate(labels.names)}, **known}
    class_at = np.array([known.get(name, known.get(name.casefold(), -1)) for name in label_names], dtype=np.int16)
    inside = class_at[class_at >= 0]
    if not len(inside) or len(np.unique(inside)) < len(inside):
        raise InputError(
            model,
            f"its {counted(len(class_at), 'output')} are not named by wnids of the {len(labels):,} classes, each once",
            example=label_names[0],
            fix="Pass --classes with the names or wnids that the model states, or name another model.",
        )
    return _head("the model's own names of classes", class_at, labels)


def _head(axis: str, class_at: NDArray[np.int16], labels: LabelSpace) -> Head:
    positions = np.flatnonzero(class_at >= 0)
    positions = positions[np.argsort(class_at[positions], kind="stable")]
    classes = class_at[positions]
    return Head(axis, len(class_at), positions, classes, len(labels) - len(classes))


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
    overlay = _data_overlay(config, settings)
    sized = {"img_size": overlay["input_size"][1:]} if _needs_size(config, overlay) else {}
    with weights_only():
        if spec.checkpoint is None:
            module = timm.create_model(spec.name, pretrained=True, **sized)
            label_names = module.pretrained_cfg.get("label_names")
        else:
            module, label_names = _from_checkpoint(spec, config, sized), None
    module.eval()
    head = head_of(spec.name, int(module.num_classes), labels, label_names=label_names)
    return Network(
        spec=spec,
        module=module,
        data_config=timm.data.resolve_model_data_config(module, args=overlay),
        head=head if settings.classes is None else head.restricted(settings.classes, model=spec.name),
        n_parameters=sum(parameter.numel() for parameter in module.parameters()),
        weights_sha256=weights_hash(module),
    )


@contextmanager
def weights_only() -> Iterator[None]:
    """Let torch read weights and nothing else meanwhile, whoever calls it and however: pickles can hold code."""
    wanted = {"TORCH_FORCE_WEIGHTS_ONLY_LOAD": "1", "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD": "0"}
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def _data_overlay(config: Any, settings: Settings) -> dict[str, Any]:
    """Return what is changed of the model's data config: test size and crop if asked for, then the user's own."""
    at_test = {"input_size": "test_input_size", "crop_pct": "test_crop_pct"} if settings.test_size else {}
    known = {key: getattr(config, name, None) for key, name in at_test.items()}
    return {key: value for key, value in known.items() if value is not None} | dict(settings.data)


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
        See :func:`head_of`.
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
    state = read_weights(path)
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


_NESTED = ("state_dict_ema", "model_ema", "state_dict", "model")
"""Where training programs keep the weights in what they save, the averaged ones first, as timm looks for them."""
_WRAPPERS = ("module.", "_orig_mod.")
"""What torch puts before the names of tensors in parallel and compiled networks."""


def read_weights(path: Path) -> dict[str, Any]:
    """Read a checkpoint's tensors by name: safetensors, or a pickle of tensors alone, told by content.

    Raises
    ------
    InputError
        The file is damaged or no checkpoint, or its pickle holds anything but weights.
    """
    import torch

    try:
        if _is_safetensors(path):
            return dict(needs("safetensors.torch", extra="timm").load_file(path))
        with weights_only():
            content = torch.load(path, map_location="cpu", weights_only=True)
    except InputError:
        raise
    except Exception as error:  # damaged and foreign files fail in many ways
        reason = " ".join(str(error).split())[:200]
        raise InputError(
            path,
            f"cannot be read as weights alone: {reason}",
            fix="Save the state dict as safetensors: safetensors.torch.save_file(model.state_dict(), FILE).",
        ) from error
    for key in _NESTED:
        if isinstance(content, dict) and isinstance(content.get(key), dict):
            content = content[key]
            break
    if not isinstance(content, dict) or not all(isinstance(value, torch.Tensor) for value in content.values()):
        raise InputError(path, "holds no state dict", fix="Pass a state dict.")
    return {_unwrapped(name): tensor for name, tensor in content.items()}


def _is_safetensors(path: Path) -> bool:
    """Tell by the beginning: the length of a JSON header, then the header."""
    with path.open("rb") as file:
        start = file.read(9)
    return start[8:] == b"{" and int.from_bytes(start[:8], "little") <= path.stat().st_size


def _unwrapped(name: str) -> str:
    for wrapper in _WRAPPERS:
        name = name.removeprefix(wrapper)
    return name


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
