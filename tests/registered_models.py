"""Models for tests, registered with timm when this file runs: tiny ones, and one for each thing that goes wrong.

Each has weights as far as timm can tell (a ``file``), but builds its own fixed ones.
"""

import os
import time
from pathlib import Path

import torch
from timm.models import register_model
from timm.models._registry import generate_default_cfgs
from torch import nn


class Tiny(nn.Module):
    """The picture's mean colour times fixed weights."""

    def __init__(self, config, n_outputs=1000, seed=1):
        super().__init__()
        self.pretrained_cfg, self.num_classes = config.to_dict(), n_outputs
        self.head = nn.Linear(3, n_outputs)
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            self.head.weight.copy_(torch.randn(self.head.weight.shape, generator=generator))
            self.head.bias.zero_()

    def forward(self, pixels):
        return self.head(pixels.mean(dim=(2, 3)))


class Misbehaving(Tiny):
    def __init__(self, config, behave, **options):
        super().__init__(config, **options)
        self.behave = behave

    def forward(self, pixels):
        return self.behave(super().forward(pixels), pixels)


def _all_nan(outputs, pixels):
    return outputs * float("nan")


def _first_row_nan(outputs, pixels):
    return torch.cat([outputs[:1] * float("nan"), outputs[1:]])


def _raises(outputs, pixels):
    raise ValueError("this model cannot see")


def _hungry(outputs, pixels):
    if len(pixels) > 3:
        raise RuntimeError("CUDA out of memory. Tried to allocate 2 GiB")
    return outputs


def _insatiable(outputs, pixels):
    raise RuntimeError("CUDA out of memory. Tried to allocate 2 GiB")


def _slow(outputs, pixels):
    time.sleep(0.3)
    return outputs


def _dies(outputs, pixels):
    if not Path(os.environ["SPARE_MODELS"]).exists():
        os._exit(1)
    return outputs


def _config(n_outputs=1000):
    return {"file": "built in code", "input_size": (3, 32, 32), "num_classes": n_outputs, "crop_pct": 1.0}


default_cfgs = generate_default_cfgs(
    {
        **{f"tiny_net.seed{seed}": _config() for seed in range(1, 7)},
        **{f"{name}_net.x": _config() for name in ("nan", "half", "raising", "hungry", "insatiable", "slow", "dying")},
        "unbuildable_net.x": _config(),
        "wide_net.in22k": _config(21841),
        "odd_net.x": _config(7),
        "headless_net.x": _config(0),
    }
)


@register_model
def tiny_net(pretrained=False, pretrained_cfg=None, **kwargs):
    config = default_cfgs["tiny_net"].cfgs[pretrained_cfg or "seed1"]
    return Tiny(config, seed=int((pretrained_cfg or "seed1")[-1]))


def _misbehaving(name, behave):
    return Misbehaving(default_cfgs[name].default, behave)


@register_model
def nan_net(pretrained=False, **kwargs):
    return _misbehaving("nan_net", _all_nan)


@register_model
def half_net(pretrained=False, **kwargs):
    return _misbehaving("half_net", _first_row_nan)


@register_model
def raising_net(pretrained=False, **kwargs):
    return _misbehaving("raising_net", _raises)


@register_model
def hungry_net(pretrained=False, **kwargs):
    return _misbehaving("hungry_net", _hungry)


@register_model
def insatiable_net(pretrained=False, **kwargs):
    return _misbehaving("insatiable_net", _insatiable)


@register_model
def slow_net(pretrained=False, **kwargs):
    return _misbehaving("slow_net", _slow)


@register_model
def dying_net(pretrained=False, **kwargs):
    return _misbehaving("dying_net", _dies)


@register_model
def unbuildable_net(pretrained=False, **kwargs):
    raise RuntimeError("no such layer")


@register_model
def wide_net(pretrained=False, **kwargs):
    return Tiny(default_cfgs["wide_net"].default, n_outputs=21841)


@register_model
def odd_net(pretrained=False, **kwargs):
    return Tiny(default_cfgs["odd_net"].default, n_outputs=7)


@register_model
def headless_net(pretrained=False, **kwargs):
    return nn.Identity()
