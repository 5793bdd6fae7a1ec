"""What people call a model becomes timm's arch.tag, each once, or is refused with a way out."""

import hashlib
import re

import pytest

from imagenet_errors.predict.names import ModelSpec, registered_code, resolve, run_registrations
from imagenet_errors.problems import InputError
from timm_world import MODELS, needs_timm

needs_timm()


def names(*given, **options):
    return [model.name for model in resolve(given, **options).models]


def refusal(*given):
    resolution = resolve(given)
    assert not resolution.models
    return str(resolution.unusable[0].error)


def test_a_bare_name_gets_the_tag_that_timm_has_for_it_and_a_note():
    (model,) = resolve(["resnet50"]).models
    assert model.name == "resnet50.a1_in1k"
    assert "resnet50 stands for resnet50.a1_in1k" in model.note


def test_a_whole_name_is_taken_as_it_is():
    assert resolve(["vit_base_patch16_224.augreg_in21k"]).models == (ModelSpec("vit_base_patch16_224.augreg_in21k"),)


@pytest.mark.parametrize(
    ("pattern", "example"),
    [
        pytest.param("resnet50d.*", "resnet50d.ra2_in1k", id="over tags"),
        pytest.param("resnet5?d", "resnet50d.ra2_in1k", id="over architectures, any tag"),
        pytest.param("tf_efficientnet_*.ns_jft_in1k", "tf_efficientnet_b0.ns_jft_in1k", id="one tag"),
    ],
)
def test_a_wildcard_stands_for_every_model_with_weights(pattern, example):
    found = names(pattern)
    assert example in found
    assert len(found) == len(set(found)) > 1


def test_a_file_of_names_may_hold_comments_wildcards_and_blank_lines(tmp_path):
    listed = tmp_path / "models.txt"
    listed.write_text("# mine\nresnet18.a1_in1k  # small\n\nresnet50d.*\n")
    assert names(str(listed)) == names("resnet18.a1_in1k", "resnet50d.*")


def test_a_model_named_twice_is_predicted_once():
    assert names("resnet50", "resnet50.a1_in1k") == ["resnet50.a1_in1k"]


def test_a_name_of_before_is_followed_with_a_note():
    (model,) = resolve(["gluon_resnet50_v1b"]).models
    assert model.name == "resnet50.gluon_in1k"
    assert "was renamed" in model.note


@pytest.mark.parametrize(
    ("name", "what"),
    [
        pytest.param("resnet5O", r"timm [\d.]+ knows no such model. Did you mean .*resnet50", id="misspelt"),
        pytest.param("resnet50.a9_in1k", r"Did you mean resnet50\.\w+", id="unknown tag"),
        pytest.param("no*such", "matches no model that timm has weights for", id="wildcard"),
        pytest.param("resnet50=nowhere.pth", "no such file, given as the weights of resnet50", id="checkpoint"),
    ],
)
def test_a_name_that_stands_for_nothing_is_kept_with_the_reason(name, what):
    assert re.search(what, refusal(name))


def test_one_wrong_name_does_not_cost_the_others():
    resolution = resolve(["nonsense", "resnet18.a1_in1k"])
    assert [model.name for model in resolution.models] == ["resnet18.a1_in1k"]
    assert [unusable.name for unusable in resolution.unusable] == ["nonsense"]


@pytest.mark.parametrize(
    ("given", "file", "name"),
    [
        pytest.param("resnet18", "mine.pth", "resnet18.mine", id="the file's name is the tag"),
        pytest.param("resnet18", "resnet18.run_3.safetensors", "resnet18.run_3", id="the architecture is not repeated"),
        pytest.param("resnet18", "resnet18.pth", "resnet18.checkpoint", id="no name left"),
        pytest.param("resnet18.a1_in1k", "mine.pth", "resnet18.a1_in1k", id="a tag that was given stays"),
    ],
)
def test_own_weights_never_pass_for_timms(tmp_path, given, file, name):
    path = tmp_path / file
    path.touch()
    assert resolve([given], checkpoint=path).models == (ModelSpec(name, path),)


def test_two_checkpoints_of_one_name_are_refused(tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x.pth").touch()
    with pytest.raises(InputError, match="is named twice"):
        resolve([f"resnet18={tmp_path}/a/x.pth", f"resnet18={tmp_path}/b/x.pth"])


@pytest.mark.parametrize(
    ("given", "checkpoint", "what"),
    [
        pytest.param([], None, "no model given", id="nothing"),
        pytest.param(["resnet18", "resnet34"], "x.pth", "belongs to exactly one model", id="a checkpoint for two"),
    ],
)
def test_usage_that_makes_no_sense_is_refused(given, checkpoint, what):
    with pytest.raises(InputError, match=what):
        resolve(given, checkpoint=checkpoint)


def test_models_of_ones_own_are_registered_by_a_file():
    assert names("tiny_net.*", register=[MODELS]) == [f"tiny_net.seed{seed}" for seed in range(1, 7)]


def test_a_registering_file_that_raises_is_named(tmp_path):
    broken = tmp_path / "broken_file.py"
    broken.write_text("1 / 0")
    with pytest.raises(InputError, match=r"broken_file.py: raised ZeroDivisionError"):
        run_registrations(broken)


REGISTERING = """
from timm.models import register_model

@register_model
def {name}(pretrained=False, **options):
    raise NotImplementedError
"""


def test_two_files_of_one_name_are_both_run(tmp_path):
    import timm

    for name in ("own_net_a", "own_net_b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "models.py").write_text(REGISTERING.format(name=name), encoding="utf-8")
        run_registrations(tmp_path / name / "models.py")
    assert timm.is_model("own_net_a")
    assert timm.is_model("own_net_b")


def test_a_registered_model_is_known_by_the_code_that_builds_it():
    run_registrations(MODELS)
    assert registered_code("tiny_net") == hashlib.sha256(MODELS.read_bytes()).hexdigest()
    assert registered_code("resnet18") is None
