"""open_clip's models, tokenizer and preprocessing, run for real with seeded random weights."""

import hashlib

import numpy as np
import pytest

from imagenet_errors.oov.clip import EncoderSpec, load_encoder, load_open_clip
from imagenet_errors.problems import InputError

torch = pytest.importorskip("torch", reason="torch runs the models")
open_clip = pytest.importorskip("open_clip", reason="open_clip has the models")
from clip_models import write_config, write_image  # noqa: E402

NAMES = ["unicycle", "boneshaker", "bicycle-built-for-two"]


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    return write_config(tmp_path_factory.mktemp("config"))


@pytest.fixture(scope="module")
def spec(config):
    return EncoderSpec(str(config), "random:3", device="cpu", batch_size=4)


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    folder = tmp_path_factory.mktemp("images")
    return [write_image(folder / f"{seed}.JPEG", seed) for seed in range(10)]


def by_hand(config, images, names):
    """What open_clip gives, one image and one prompt at a time, float64 at the end."""
    from PIL import Image

    open_clip.add_model_config(config)
    torch.manual_seed(3)
    model, _, transform = open_clip.create_model_and_transforms(config.stem, precision="fp32")
    tokenizer = open_clip.get_tokenizer(config.stem)
    model.eval()
    with torch.inference_mode():
        seen = [model.encode_image(transform(Image.open(path)).unsqueeze(0)) for path in images]
        read = [model.encode_text(tokenizer([f"A photo of a {name}"])) for name in names]
    return [torch.cat(part).double().numpy() for part in (seen, read)]


def test_batches_give_what_one_at_a_time_gives(spec, config, images):
    seen, read = by_hand(config, images, NAMES)
    encoder = load_encoder(spec)
    found = encoder.embed_images(images)
    assert found.rows.tolist() == list(range(10))
    assert found.vectors.dtype == np.float32
    assert np.allclose(found.vectors, seen / np.linalg.norm(seen, axis=1, keepdims=True), atol=1e-5)
    assert np.allclose(encoder.embed_names(NAMES), read / np.linalg.norm(read, axis=1, keepdims=True), atol=1e-5)


def test_corrupt_and_missing_images_are_left_out_with_their_reasons(spec, images, tmp_path):
    cut, text = tmp_path / "cut.JPEG", tmp_path / "text.JPEG"
    cut.write_bytes(images[0].read_bytes()[:400])
    text.write_text("<html>")
    found = load_encoder(spec).embed_images([cut, images[1], tmp_path / "none.JPEG", text, images[2]])
    assert found.rows.tolist() == [1, 4]
    assert found.vectors.shape == (2, 48)
    assert {row: reason.split(":")[0] for row, reason in found.failures.items()} == {
        0: "cannot be read as an image",
        2: "no such file",
        3: "cannot be read as an image",
    }


def test_no_usable_image_gives_no_vectors(spec, tmp_path):
    assert load_encoder(spec).embed_images([tmp_path / "none.JPEG"]).vectors.shape == (0, 48)


def write_mode(folder, mode):
    """Write an image of a colour space as people have them; return its path."""
    from PIL import Image

    random = np.random.default_rng(5)
    if mode == "I;16":
        pixels = random.integers(0, 1200, (90, 120)).astype(np.uint16)
        Image.fromarray(pixels).save(folder / "x.png")
        return folder / "x.png"
    image = Image.fromarray(random.integers(0, 256, (90, 120, 3)).astype(np.uint8))
    if mode in ("RGBA", "LA"):
        image.putalpha(Image.fromarray(random.integers(0, 256, (90, 120)).astype(np.uint8)))
    path = folder / ("x.jpg" if mode == "CMYK" else "x.png")
    image.convert(mode).save(path)
    return path


@pytest.mark.parametrize("mode", ["L", "LA", "RGBA", "CMYK", "P", "1", "I;16"])
def test_an_image_of_any_colour_space_goes_through_the_published_preprocessing(spec, config, tmp_path, mode):
    from PIL import Image

    path = write_mode(tmp_path, mode)
    with Image.open(path) as image:
        assert image.mode == mode
    (seen,), _ = by_hand(config, [path], NAMES[:1])
    found = load_encoder(spec).embed_images([path])
    assert np.allclose(found.vectors[0], seen / np.linalg.norm(seen), atol=1e-5)


def test_resizing_comes_before_the_conversion_to_rgb(spec, tmp_path):
    """The other way round a palette image gives other pixels: OpenAI's transform has this order."""
    from PIL import Image

    path = write_mode(tmp_path, "P")
    with Image.open(path) as image:
        image.convert("RGB").save(tmp_path / "rgb.png")
    palette, rgb = load_encoder(spec).embed_images([path, tmp_path / "rgb.png"]).vectors
    assert not np.allclose(palette, rgb, atol=1e-3)


def test_a_vector_that_is_not_finite_is_a_failure(spec, images, monkeypatch):
    encoder = load_encoder(spec)
    monkeypatch.setattr(encoder.model, "encode_image", lambda pixels: torch.full((len(pixels), 48), torch.nan))
    assert encoder.embed_images(images[:2]).failures == dict.fromkeys((0, 1), "no finite embedding")


def test_when_memory_runs_out_the_batch_is_halved(spec, images, monkeypatch):
    encoder = load_encoder(spec)
    whole, sizes = encoder.embed_images(images).vectors, []
    encode = encoder.model.encode_image

    def narrow(pixels):
        sizes.append(len(pixels))
        if len(pixels) > 1:
            raise torch.OutOfMemoryError("out of memory")
        return encode(pixels)

    monkeypatch.setattr(encoder.model, "encode_image", narrow)
    assert np.allclose(encoder.embed_images(images).vectors, whole, atol=1e-5)
    assert sizes[:4] == [4, 2, 1, 1]


def test_a_checkpoint_file_is_loaded_and_pinned_by_its_content(spec, images, tmp_path):
    path = tmp_path / "weights.pt"
    torch.save(load_encoder(spec).model.state_dict(), path)
    checkpoint = EncoderSpec(spec.model, str(path), device="cpu", batch_size=4)
    assert np.array_equal(
        load_encoder(checkpoint).embed_images(images).vectors, load_encoder(spec).embed_images(images).vectors
    )
    assert checkpoint.identity.endswith(f"/weights@sha256:{hashlib.sha256(path.read_bytes()).hexdigest()[:16]}")


def test_seeds_are_other_weights(spec):
    other = EncoderSpec(spec.model, "random:4", device="cpu", batch_size=4)
    assert not np.allclose(load_encoder(other).embed_names(NAMES), load_encoder(spec).embed_names(NAMES), atol=0.1)


def test_a_model_that_open_clip_ships_runs_as_well(images):
    encoder = load_encoder(EncoderSpec("ViT-S-32-alt", "random:0", device="cpu", batch_size=2))
    assert encoder.embed_images(images[:2]).vectors.shape == (2, 256)
    assert encoder.embed_names(NAMES).shape == (3, 256)


@pytest.mark.parametrize(
    ("model", "weights", "message"),
    [
        pytest.param(
            "ViT-B-32", "metaclip_400m", "QuickGELU mismatch: metaclip_400m was trained with quick_gelu=True", id="GELU"
        ),
        pytest.param("ViT-B-32", "laion400m_e31", "QuickGELU mismatch", id="GELU, other weights"),
        pytest.param("ViT-Z-99", "openai", "open_clip has no 'ViT-Z-99'", id="unknown model"),
        pytest.param("none.json", "random:0", "none.json: no such file", id="configuration that is not there"),
        pytest.param("ViT-S-32", "random:x", "no seed in 'random:x'", id="no seed"),
        pytest.param("ViT-S-32", "unheard", "unheard cannot be loaded into ViT-S-32", id="unknown tag"),
    ],
)
def test_what_cannot_be_loaded_is_said(model, weights, message):
    with pytest.raises(InputError, match=message):
        load_open_clip(EncoderSpec(model, weights, device="cpu"))


def test_openais_own_file_wants_quickgelu_too(config, tmp_path, monkeypatch):
    path = tmp_path / "ViT-B-32.pt"
    path.write_bytes(b"weights")
    sha256 = hashlib.sha256(b"weights").hexdigest()
    address = {"url": f"https://example.org/{sha256}/ViT-B-32.pt", "quick_gelu": True}
    known = open_clip.get_pretrained_cfg
    monkeypatch.setattr(
        open_clip, "get_pretrained_cfg", lambda model, tag: address if tag == "openai" else known(model, tag)
    )
    with pytest.raises(InputError, match="QuickGELU mismatch"):
        load_open_clip(EncoderSpec("ViT-B-32", str(path), device="cpu"))


def test_weights_of_another_model_are_refused(spec, tmp_path):
    torch.save({"a": torch.zeros(1)}, tmp_path / "other.pt")
    with pytest.raises(InputError, match="cannot be loaded into tiny-clip"):
        load_open_clip(EncoderSpec(spec.model, str(tmp_path / "other.pt"), device="cpu"))


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_device_that_is_not_there_is_refused(spec):
    with pytest.raises(InputError, match="no cuda here"):
        load_open_clip(EncoderSpec(spec.model, spec.weights, device="cuda"))


def test_weights_that_cannot_be_downloaded_are_an_input_error(monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")

    def offline(*_arguments, **_options):
        raise OSError("no network")

    monkeypatch.setattr("open_clip.factory.download_pretrained", offline)
    with pytest.raises(InputError, match=r"openai cannot be loaded into ViT-B-32-quickgelu: .*no network"):
        load_open_clip(EncoderSpec("ViT-B-32-quickgelu", "openai", device="cpu"))


def test_nothing_is_asked_for_weights_where_downloads_are_forbidden(monkeypatch, tmp_path):
    monkeypatch.setenv("IMAGENET_ERRORS_OFFLINE", "1")
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("socket.getaddrinfo", lambda *_: pytest.fail("an address was asked"))
    with pytest.raises(InputError, match=r"Nothing is downloaded .*IMAGENET_ERRORS_OFFLINE.*checkpoint file"):
        load_open_clip(EncoderSpec("ViT-B-32-quickgelu", "openai", device="cpu"))
