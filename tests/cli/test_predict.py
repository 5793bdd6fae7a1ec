"""``predict`` writes a file a model, says what it does, and goes on where it was."""

import pyarrow.parquet as pq
import pytest

from timm_world import MODELS, make_images, needs_timm

needs_timm()


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    return make_images(tmp_path_factory.mktemp("cli") / "images", 6)


@pytest.fixture
def predict(program, images, tmp_path):
    def run(*given):
        flags = ("--images", images, "--out", tmp_path / "out", "--register", MODELS, "--device", "cpu")
        return program("predict", *given, *flags)

    return run


def test_a_file_is_written_for_each_model_and_the_rest_is_said(predict, tmp_path):
    answer = predict("tiny_net.seed1", "tiny_net.seed2", "raising_net")
    assert answer.status == 1
    assert sorted(path.name for path in (tmp_path / "out").glob("*.parquet")) == [
        "tiny_net.seed1.parquet",
        "tiny_net.seed2.parquet",
    ]
    assert "[3/3] raising_net.x: FAILED: ValueError: this model cannot see" in answer.err


def test_no_weights_are_asked_for_where_downloads_are_forbidden(predict, tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    monkeypatch.setenv("IMAGENET_ERRORS_OFFLINE", "1")
    assert "its weights are not on this machine" in predict("resnet18.a1_in1k").err


def test_the_files_can_be_evaluated_as_they_are(predict, program, tmp_path):
    assert predict("tiny_net.*").status == 0
    answer = program(
        "evaluate",
        tmp_path / "out",
        "--annotations",
        "real",
        "--allow-partial",
        "--no-check-order",
        "--out",
        tmp_path / "run",
    )
    assert answer.status == 0
    summary = pq.read_table(tmp_path / "run" / "summary.parquet")
    assert summary["model"].to_pylist() == [f"tiny_net.seed{seed}" for seed in range(1, 7)]
    assert summary["n_parameters"].to_pylist() == [4000] * 6


def test_the_plan_says_what_a_bare_name_stands_for(predict, tmp_path):
    answer = predict("resnet50", "tiny_net.seed1", "--plan")
    assert "resnet50 stands for resnet50.a1_in1k" in answer.out
    assert "0 done, 2 to predict, 0 cannot be used" in answer.out
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        pytest.param((), "MODEL: no model given", id="no model"),
        pytest.param(("nonsense",), "knows no such model", id="one unknown"),
        pytest.param(("nonsense", "rubbish"), "MODEL: none of the 2 names can be used", id="all unknown"),
        pytest.param(("tiny_net", "--data", "size=3"), "--data: cannot read size=3", id="data"),
    ],
)
def test_usage_without_a_single_model_ends_with_status_2(predict, tmp_path, given, message):
    answer = predict(*given)
    assert answer.status == 2
    assert message in answer.err
    assert not (tmp_path / "out").exists()
