"""Weights of the hub: found in the cache, told by their revision, used offline, deleted when asked."""

import pytest

from imagenet_errors.predict.names import ModelSpec
from imagenet_errors.problems import InputError
from timm_world import make_images, needs_timm, said, work_on, write_content

needs_timm()

from imagenet_errors.predict.weights import cached_weights, delete_weights, fetch_weights, refuse_unfetched  # noqa: E402

SPEC = ModelSpec("test_resnet.r160_in1k")
REVISION = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """An empty cache of the hub, and no network."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    return tmp_path / "hub"


def put_into(hub, revision=REVISION, seed=5):
    """Lay a network's seeded weights into the cache as the hub's client does."""
    import timm
    import torch
    from safetensors.torch import save_file

    torch.manual_seed(seed)
    folder = hub / "models--timm--test_resnet.r160_in1k"
    (folder / "refs").mkdir(parents=True, exist_ok=True)
    (folder / "refs" / "main").write_text(revision)
    snapshot = folder / "snapshots" / revision
    snapshot.mkdir(parents=True)
    save_file(timm.create_model("test_resnet").state_dict(), snapshot / "model.safetensors")
    return folder


def test_without_a_file_there_are_no_weights(hub):
    assert cached_weights(SPEC) is None
    with pytest.raises(InputError, match=r"its weights are not on this machine\. Run once with --prefetch"):
        refuse_unfetched(SPEC)


def test_weights_in_the_cache_are_found_with_their_revision(hub):
    put_into(hub)
    found = cached_weights(SPEC)
    assert found.revision == REVISION
    assert found.file.name == "model.safetensors"
    refuse_unfetched(SPEC)


def test_a_model_is_predicted_offline_and_its_revision_is_on_record(hub, tmp_path):
    put_into(hub)
    work = work_on(make_images(tmp_path / "images", 3), offline=True)
    path = write_content(tmp_path / "p.parquet", work(SPEC))
    assert said(path)["weights_revision"] == REVISION


def test_weights_that_changed_on_the_hub_ask_for_new_predictions(hub, tmp_path):
    from imagenet_errors.predict.job import wanted_facts
    from imagenet_errors.predict.table import why_not_done

    put_into(hub)
    work = work_on(make_images(tmp_path / "images", 3))
    path = write_content(tmp_path / "p.parquet", work(SPEC))
    assert why_not_done(path, work.images, wanted_facts(SPEC, work)) is None
    put_into(hub, revision="f" * 40, seed=6)
    why = why_not_done(path, work.images, wanted_facts(SPEC, work))
    assert why.startswith("weights revision was 0123456789ab..., now ffff")


def test_weights_are_deleted_after_use_and_the_predictions_still_count(hub, tmp_path):
    from imagenet_errors.predict.job import wanted_facts
    from imagenet_errors.predict.table import why_not_done

    folder = put_into(hub)
    work = work_on(make_images(tmp_path / "images", 3), delete_weights=True)
    path = write_content(tmp_path / "p.parquet", work(SPEC))
    assert not folder.exists()
    assert why_not_done(path, work.images, wanted_facts(SPEC, work)) is None


def test_own_checkpoints_are_never_deleted(hub, tmp_path):
    folder = put_into(hub)
    own = tmp_path / "own.pth"
    own.touch()
    delete_weights(ModelSpec(SPEC.name, own))
    assert own.exists()
    assert folder.exists()


def test_fetching_what_is_there_needs_no_network(hub):
    put_into(hub)
    before = {path: path.stat().st_mtime_ns for path in hub.rglob("*")}
    fetch_weights(SPEC)  # with no network it would be refused, as below
    assert {path: path.stat().st_mtime_ns for path in hub.rglob("*")} == before


def test_fetching_without_a_network_says_why(hub):
    with pytest.raises(InputError, match="its weights cannot be downloaded: "):
        fetch_weights(SPEC)
