"""The plan says of every model whether it is done, to predict or hopeless; what is missing is then predicted."""

import pytest

from imagenet_errors.predict.engines import LocalEngine
from imagenet_errors.predict.names import resolve
from imagenet_errors.predict.plan import make_plan, predict_missing
from timm_world import MODELS, make_images, needs_timm, work_on

needs_timm()


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    return make_images(tmp_path_factory.mktemp("plan") / "images", 6)


def plan(images, folder, *names, **settings):
    return make_plan(resolve(names, register=[MODELS]), folder, work=work_on(images, **settings))


def predict(images, folder, *names, **settings):
    made = plan(images, folder, *names, **settings)
    return list(predict_missing(made, folder, engine=LocalEngine(), work=work_on(images, **settings)))


def states(made):
    return {planned.spec.name: planned.why for planned in made.models}


def test_what_was_predicted_is_done_and_not_predicted_again(images, tmp_path):
    assert len(predict(images, tmp_path, "tiny_net.seed1")) == 1
    assert states(plan(images, tmp_path, "tiny_net.*"))["tiny_net.seed1"] is None
    assert predict(images, tmp_path, "tiny_net.seed1") == []


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"precision": "bfloat16"}, "precision was float32, now bfloat16"),
        ({"data": (("crop_pct", 0.5),)}, "data config changes was {}, now {'crop_pct': 0.5}"),
        ({"batch_size": 2, "channels_last": True}, None),
    ],
    ids=["precision", "preprocessing", "how it is batched does not matter"],
)
def test_what_changes_the_predictions_asks_for_new_ones(images, tmp_path, settings, why):
    predict(images, tmp_path, "tiny_net.seed1")
    assert states(plan(images, tmp_path, "tiny_net.seed1", **settings)) == {"tiny_net.seed1": why}


def test_other_images_ask_for_new_predictions(images, tmp_path):
    predict(images, tmp_path, "tiny_net.seed1")
    others = make_images(tmp_path / "others", 5)
    assert "was 6, now 5" in states(plan(others, tmp_path, "tiny_net.seed1"))["tiny_net.seed1"]


def test_other_weights_under_the_same_name_ask_for_new_predictions(images, tmp_path):
    import timm
    import torch

    weights = tmp_path / "w.pth"
    for seed, why in ((1, "not predicted yet"), (2, "checkpoint sha256 was")):
        torch.manual_seed(seed)
        torch.save(timm.create_model("test_resnet").state_dict(), weights)
        (found,) = states(plan(images, tmp_path, f"test_resnet.own={weights}")).values()
        assert found.startswith(why)
        predict(images, tmp_path, f"test_resnet.own={weights}")


def test_heads_that_cannot_be_mapped_are_hopeless_before_anything_is_loaded(images, tmp_path):
    made = plan(images, tmp_path, "odd_net.x", "headless_net.x", "vit_base_patch16_224.dino", "tiny_net.seed1")
    assert [unusable.name for unusable in made.unusable] == ["odd_net.x", "headless_net.x", "vit_base_patch16_224.dino"]
    assert list(states(made)) == ["tiny_net.seed1"]


def test_offline_a_model_without_weights_here_is_hopeless(images, tmp_path, monkeypatch):
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    made = plan(images, tmp_path, "resnet18.a1_in1k", offline=True)
    assert "its weights are not on this machine" in str(made.unusable[0].error)


def test_a_failure_is_on_record_at_once_and_tried_again_after_the_others(images, tmp_path):
    outcomes = predict(images, tmp_path, "raising_net.x", "tiny_net.seed1")
    assert [outcome.content is None for outcome in outcomes] == [True, False]
    again = plan(images, tmp_path, "raising_net.x", "tiny_net.seed2")
    assert [planned.spec.name for planned in again.missing] == ["tiny_net.seed2", "raising_net.x"]
    assert "this model cannot see" in again.missing[1].failed_before


def test_a_model_that_took_the_program_down_is_left_for_last(images, tmp_path):
    engine = LocalEngine()
    made = plan(images, tmp_path, "tiny_net.seed1", "tiny_net.seed2")

    def killed(spec):
        raise KeyboardInterrupt

    engine.run = lambda work, specs, n_specs: map(killed, specs)
    with pytest.raises(KeyboardInterrupt):
        list(predict_missing(made, tmp_path, engine=engine, work=work_on(images)))
    again = plan(images, tmp_path, "tiny_net.seed1", "tiny_net.seed2")
    assert [planned.spec.name for planned in again.missing] == ["tiny_net.seed2", "tiny_net.seed1"]


def test_success_clears_the_record_of_a_failure(images, tmp_path):
    predict(images, tmp_path, "raising_net.x")
    record = tmp_path / "failures" / "raising_net.x.json"
    assert record.exists()
    record.rename(record.with_name("tiny_net.seed1.json"))
    predict(images, tmp_path, "tiny_net.seed1")
    assert not list((tmp_path / "failures").iterdir())


def test_no_half_written_file_is_left(images, tmp_path):
    predict(images, tmp_path, "tiny_net.seed1", "raising_net.x")
    assert {path.name for path in tmp_path.rglob("*") if path.is_file()} == {
        "tiny_net.seed1.parquet",
        "raising_net.x.json",
    }
