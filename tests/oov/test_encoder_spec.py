"""Which encoder made a file is told by model and weights, never by the device or a path."""

import hashlib

import pytest

from imagenet_errors.oov.clip import EncoderSpec


def test_by_default_it_is_the_published_one():
    assert EncoderSpec().identity == "ViT-L-14-336-quickgelu/openai"


def test_the_device_and_the_batch_do_not_matter():
    assert EncoderSpec(device="cuda", batch_size=7, n_workers=1).identity == EncoderSpec().identity


def test_a_file_counts_by_its_content(tmp_path):
    one, two = tmp_path / "a" / "clip.pt", tmp_path / "b" / "clip.pt"
    for path, content in ((one, b"1"), (two, b"1")):
        path.parent.mkdir()
        path.write_bytes(content)
    expected = f"ViT-B-32/clip@sha256:{hashlib.sha256(b'1').hexdigest()[:16]}"
    assert EncoderSpec("ViT-B-32", str(one)).identity == EncoderSpec("ViT-B-32", str(two)).identity == expected
    two.write_bytes(b"2")
    assert EncoderSpec("ViT-B-32", str(two)).identity != expected


@pytest.mark.parametrize("weights", ["laion2b_s34b_b88k", "random:3"])
def test_tags_and_seeds_count_as_they_are(weights):
    assert EncoderSpec("ViT-B-16", weights).identity == f"ViT-B-16/{weights}"


def test_a_smaller_model_by_its_name_has_the_activation_of_openais_weights():
    assert EncoderSpec("ViT-B-32").identity == EncoderSpec("ViT-B-32-quickgelu").identity == "ViT-B-32-quickgelu/openai"
