"""The local engine takes one model at a time; a GPU that a model ruined costs that model only."""

import os

import pytest

from imagenet_errors.predict import engines
from imagenet_errors.predict.engines import RayEngine
from imagenet_errors.predict.names import ModelSpec
from imagenet_errors.problems import InputError
from pretend_work import PretendWork


@pytest.fixture
def run(monkeypatch):
    """Run models by name; ``works`` says whether the device works after a failure."""

    def outcomes(*names, works=True, taken=None):
        monkeypatch.setattr(engines, "device_works", lambda name: works)
        specs = (
            (taken.append(name) or ModelSpec(name) for name in names) if taken is not None else map(ModelSpec, names)
        )
        return engines.LocalEngine().run(PretendWork(), specs, len(names))

    return outcomes


def test_outcomes_come_one_by_one_in_the_order_of_the_models(run):
    taken = []
    outcomes = run("a", "b", "c", taken=taken)
    assert next(outcomes).name == "a"
    assert taken == ["a"]
    assert [outcome.name for outcome in outcomes] == ["b", "c"]


def test_after_a_usual_failure_the_others_run_on_in_this_process(run):
    outcomes = {outcome.name: outcome.content for outcome in run("fails", "a")}
    assert outcomes == {"fails": None, "a": str(os.getpid()).encode()}


def test_after_a_failure_that_ruined_the_device_each_model_gets_a_process_of_its_own(run):
    outcomes = {outcome.name: outcome for outcome in run("fails", "a", "dies", "b", works=False)}
    assert "its process died" in outcomes["dies"].reason
    processes = {outcomes[name].content for name in ("a", "b")}
    assert len(processes) == 2
    assert str(os.getpid()).encode() not in processes


@pytest.mark.parametrize(
    ("shares", "where"),
    [
        pytest.param({"gpu_share": -0.5}, "--gpu-share: -0.5 is below 0", id="less than nothing"),
        pytest.param({"gpu_share": 1.5}, "--gpu-share: 1.5 GPUs are no whole number", id="one GPU and a half"),
        pytest.param({"cpus": 0}, "--cpus-per-model: is 0", id="no core"),
    ],
)
def test_shares_that_ray_cannot_give_are_refused_before_it_starts(shares, where):
    with pytest.raises(InputError, match=where):
        RayEngine(**shares)
