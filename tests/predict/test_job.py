"""One model's whole way: weights, head, images, file; and whatever goes wrong is its outcome."""

import re
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from imagenet_errors.predict.names import ModelSpec, resolve
from imagenet_errors.readers import read_raw
from timm_world import MODELS, make_images, needs_timm, said, work_on, write_content

needs_timm()


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    return make_images(tmp_path_factory.mktemp("job") / "images")


@pytest.fixture(scope="module", autouse=True)
def registered():
    resolve(["tiny_net"], register=[MODELS])


def checkpoint_of(architecture, path, **options):
    """Write an architecture's seeded random weights."""
    import timm
    import torch

    torch.manual_seed(5)
    network = timm.create_model(architecture, pretrained=False, **options)
    torch.save(network.state_dict(), path)
    return ModelSpec(f"{architecture}.seed5", path), network.eval()


def assert_same_predictions(one, other):
    """Sums in another order may differ in the last digits of a probability."""
    assert one["top5_classes"].equals(other["top5_classes"])
    np.testing.assert_allclose(
        one["predicted_probability"].to_numpy(), other["predicted_probability"].to_numpy(), rtol=1e-5
    )


def test_the_file_says_what_made_it(images, tmp_path):
    import timm
    import torch

    path = write_content(tmp_path / "t.parquet", work_on(images)(ModelSpec("tiny_net.seed2")))
    facts = said(path)
    assert facts["model"] == "tiny_net.seed2"
    assert (facts["timm_version"], facts["torch_version"]) == (timm.__version__, torch.__version__)
    assert facts["n_parameters"] == 4 * 1000
    assert facts["images_sha256"] == work_on(images).images.sha256
    assert facts["data_config"]["input_size"] == [3, 32, 32]
    assert len(facts["weights_sha256"]) == 64
    assert facts["seconds_predicting"] > 0


def test_the_weights_hash_tells_weights_apart_and_not_files(images, tmp_path):
    hashes = [
        said(write_content(tmp_path / f"{seed}.parquet", work_on(images)(ModelSpec(f"tiny_net.seed{seed}"))))
        for seed in (1, 2, 1)
    ]
    one, other, again = (facts["weights_sha256"] for facts in hashes)
    assert one == again != other


@pytest.mark.parametrize(
    ("architecture", "options"),
    [
        pytest.param("test_resnet", {}, id="CNN"),
        pytest.param("test_vit", {}, id="ViT"),
        pytest.param("mobilevit_xxs", {}, id="hybrid"),
        pytest.param("test_efficientnet", {"num_classes": 21841}, id="CNN with a 21k head"),
    ],
)
def test_it_predicts_what_timm_predicts(images, tmp_path, architecture, options):
    """Outside oracle: timm's own transform and the bare network, one image at a time."""
    import timm.data
    import torch
    from PIL import Image

    spec, network = checkpoint_of(architecture, tmp_path / "weights.pth", **options)
    path = write_content(tmp_path / "p.parquet", work_on(images, batch_size=4)(spec))
    transform = timm.data.create_transform(**timm.data.resolve_model_data_config(network), is_training=False)
    with torch.inference_mode():
        logits = [network(transform(Image.open(each).convert("RGB"))[None])[0] for each in sorted(images.iterdir())]
    read = pq.read_table(path).to_pydict()
    from imagenet_errors.labels import imagenet_1k
    from imagenet_errors.readers.class_axis import class_axis

    axis = class_axis("21841" if options else "imagenet-1k", imagenet_1k())
    positions = torch.as_tensor(axis.positions)
    best = [axis.class_at[axis.positions[int(row[positions].argmax())]] for row in logits]
    assert read["predicted_class"] == [int(index) for index in best]
    shares = [float(row[positions].softmax(0).max()) for row in logits]
    np.testing.assert_allclose(read["predicted_probability"], shares, rtol=1e-4)


def test_the_size_of_batches_does_not_matter(images, tmp_path):
    tables = [
        pq.read_table(
            write_content(tmp_path / f"{size}.parquet", work_on(images, batch_size=size)(ModelSpec("tiny_net.seed1")))
        )
        for size in (1, 5, 500)
    ]
    assert_same_predictions(tables[0], tables[1])
    assert_same_predictions(tables[0], tables[2])


def test_when_memory_runs_out_the_batch_shrinks_and_nothing_is_lost(images, tmp_path):
    path = write_content(tmp_path / "h.parquet", work_on(images, batch_size=8)(ModelSpec("hungry_net.x")))
    calm = write_content(tmp_path / "t.parquet", work_on(images)(ModelSpec("tiny_net.seed1")))
    assert_same_predictions(pq.read_table(path), pq.read_table(calm))
    assert said(path)["batch_size"] == 2


def test_nan_outputs_are_invalid_rows(images, tmp_path):
    path = write_content(tmp_path / "n.parquet", work_on(images, batch_size=5)(ModelSpec("half_net.x")))
    table = pq.read_table(path).to_pydict()
    assert [row for row, index in enumerate(table["predicted_class"]) if index is None] == [0, 5, 10]
    assert table["top5_classes"][0] == []
    assert said(path)["n_invalid"] == 3
    assert {row for rows in read_raw(path).invalid.values() for row in rows} == {0, 5, 10}


def test_an_image_that_cannot_be_decoded_is_an_invalid_row(tmp_path):
    folder = make_images(tmp_path / "images", 4)
    (folder / "ILSVRC2012_val_00000002.JPEG").write_bytes(b"no picture")
    path = write_content(tmp_path / "d.parquet", work_on(folder)(ModelSpec("tiny_net.seed1")))
    classes = pq.read_table(path)["predicted_class"].to_pylist()
    assert [index is None for index in classes] == [False, True, False, False]
    assert said(path)["n_unreadable"] == 1


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        pytest.param("unbuildable_net.x", r"RuntimeError: no such layer \(registered_models.py:\d+\)", id="building"),
        pytest.param("raising_net.x", "ValueError: this model cannot see", id="predicting"),
        pytest.param("insatiable_net.x", "memory runs out with one image at a time", id="memory"),
        pytest.param("odd_net.x", "has 7 outputs, and which class each stands for", id="a foreign head"),
        pytest.param("headless_net.x", "it yields features", id="no head"),
    ],
)
def test_a_model_that_fails_says_why(images, name, reason):
    outcome = work_on(images)(ModelSpec(name))
    assert outcome.content is None
    assert re.search(reason, outcome.reason)


def test_a_checkpoint_of_another_network_is_refused_with_the_first_tensor(images, tmp_path):
    spec, _ = checkpoint_of("test_resnet", tmp_path / "w.pth")
    outcome = work_on(images)(ModelSpec("test_vit.x", spec.checkpoint))
    assert "does not fit test_vit" in outcome.reason
    assert "first: " in outcome.reason


def test_a_file_that_holds_no_weights_is_refused(images, tmp_path):
    path = tmp_path / "w.pth"
    path.write_bytes(b"no weights")
    assert "cannot be read as weights" in work_on(images)(ModelSpec("test_vit.x", path)).reason


def test_channels_last_and_low_precision_give_predictions_too(images, tmp_path):
    work = work_on(images, channels_last=True, precision="bfloat16")
    path = write_content(tmp_path / "p.parquet", work(ModelSpec("tiny_net.seed1")))
    assert said(path)["precision"] == "bfloat16"
    assert pq.read_table(path)["predicted_class"].null_count == 0


def test_the_preprocessing_can_be_changed_and_is_on_record(images, tmp_path):
    work = work_on(images, data=(("input_size", (3, 16, 16)), ("crop_mode", "squash")))
    path = write_content(tmp_path / "p.parquet", work(ModelSpec("tiny_net.seed1")))
    assert said(path)["data_config"]["input_size"] == [3, 16, 16]
    assert said(path)["data_config"]["crop_mode"] == "squash"


def test_worker_processes_give_the_same_file(images, tmp_path):
    alone = write_content(tmp_path / "a.parquet", work_on(images, workers=0)(ModelSpec("tiny_net.seed3")))
    helped = write_content(tmp_path / "b.parquet", work_on(images, workers=2)(ModelSpec("tiny_net.seed3")))
    assert pq.read_table(alone).equals(pq.read_table(helped))


class Canary:
    """An object whose unpickling would leave a mark: code in a checkpoint, made harmless."""

    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return Path.touch, (self.mark,)


@pytest.mark.parametrize("allowed", ["0", "1"], ids=["by default", "against the user's own setting"])
def test_a_checkpoint_with_code_in_it_is_refused_and_runs_nothing(images, tmp_path, monkeypatch, allowed):
    import torch

    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", allowed)
    mark = tmp_path / "the code ran"
    torch.save({"state_dict": {"head.weight": torch.zeros(2)}, "canary": Canary(mark)}, tmp_path / "bad.pth")
    outcome = work_on(images)(ModelSpec("test_resnet.bad", tmp_path / "bad.pth"))
    assert "cannot be read as weights alone" in outcome.reason
    assert "safetensors" in outcome.reason
    assert not mark.exists()
    torch.load(tmp_path / "bad.pth", weights_only=False)
    assert mark.exists(), "the canary would have sung"


def test_timms_own_loader_is_held_to_weights_too(tmp_path):
    """As timm 1.0.15 calls it: with pickles allowed."""
    import torch

    from imagenet_errors.predict.networks import weights_only

    mark = tmp_path / "the code ran"
    torch.save(Canary(mark), tmp_path / "bad.pth")
    with pytest.raises(Exception, match="Weights only load failed"), weights_only():
        torch.load(tmp_path / "bad.pth", weights_only=False)
    assert not mark.exists()


@pytest.mark.parametrize("wrapped", ["plain", "state_dict", "model_ema", "parallel", "safetensors", "named .pth"])
def test_checkpoints_are_read_as_training_programs_save_them(images, tmp_path, wrapped):
    import torch
    from safetensors.torch import save_file

    spec, network = checkpoint_of("test_resnet", tmp_path / "plain.pth")
    state = network.state_dict()
    path = tmp_path / ("w.safetensors" if wrapped == "safetensors" else "w.pth")
    if wrapped in ("safetensors", "named .pth"):
        save_file(state, path)
    else:
        content = {"plain": state, "parallel": {f"module.{name}": tensor for name, tensor in state.items()}}
        torch.save(content.get(wrapped, {wrapped: state, "epoch": 7}), path)
    found, expected = (work_on(images)(ModelSpec("test_resnet.x", each)) for each in (path, spec.checkpoint))
    tables = [pq.read_table(write_content(tmp_path / name, each)) for name, each in (("a", found), ("b", expected))]
    assert_same_predictions(*tables)


def test_the_test_size_is_taken_where_it_is_asked_for(images, tmp_path):
    import timm.data

    spec, network = checkpoint_of("resnet50", tmp_path / "weights.pth")
    sizes = []
    for test_size in (False, True):
        path = write_content(tmp_path / f"{test_size}.parquet", work_on(images, test_size=test_size)(spec))
        facts = said(path)
        expected = timm.data.resolve_model_data_config(network, use_test_size=test_size)
        assert facts["data_config"]["input_size"] == list(expected["input_size"])
        assert facts["data_config"]["crop_pct"] == expected["crop_pct"]
        assert facts["test_size"] is test_size
        sizes.append(facts["data_config"]["input_size"])
    assert sizes[0] != sizes[1], "resnet50 has a test size of its own"


def test_only_the_classes_asked_for_are_predicted(images, tmp_path):
    path = write_content(tmp_path / "t.parquet", work_on(images, classes=(5, 17, 300))(ModelSpec("tiny_net.seed2")))
    assert {*pq.read_table(path)["predicted_class"].to_pylist()} <= {5, 17, 300}
    assert said(path)["classes"] == [5, 17, 300]
