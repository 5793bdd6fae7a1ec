"""An option that takes several files takes them in a row, and leaves the command's own files alone."""

import pytest

from imagenet_errors.cli.several import spread


@pytest.mark.parametrize(
    ("written", "read"),
    [
        pytest.param(
            "evaluate p.csv --non-prototypical a b --out r",
            "evaluate p.csv --non-prototypical a --non-prototypical b --out r",
            id="after the predictions",
        ),
        pytest.param(
            "evaluate --annotations x p.csv --non-prototypical a b c",
            "evaluate --annotations x p.csv --non-prototypical a --non-prototypical b --non-prototypical c",
            id="after an option and the predictions",
        ),
        pytest.param(
            "evaluate --allow-partial --non-prototypical a p.csv",
            "evaluate --allow-partial --non-prototypical a p.csv",
            id="the predictions last",
        ),
        pytest.param(
            "evaluate --demo --non-prototypical a b --out r",
            "evaluate --demo --non-prototypical a --non-prototypical b --out r",
            id="the demo needs no predictions",
        ),
        pytest.param("agreement --human a b --out r", "agreement --human a --human b --out r", id="agreement"),
        pytest.param(
            "evaluate p.csv --non-prototypical=a b --json",
            "evaluate p.csv --non-prototypical=a --non-prototypical b --json",
            id="with an equals sign",
        ),
        pytest.param("evaluate a.csv b.csv --out r", "evaluate a.csv b.csv --out r", id="nothing to spread"),
        pytest.param("why run image --model m", "why run image --model m", id="another command"),
        pytest.param("", "", id="nothing"),
    ],
)
def test_arguments_are_spread(written, read):
    assert spread(written.split()) == read.split()


def test_the_program_takes_several_lists(program, val_images, tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).write_text("ILSVRC2012_val_00000003.JPEG\n", encoding="utf-8")
    files = ("--non-prototypical", tmp_path / "a", tmp_path / "b")
    predictions, out = val_images.csv(tmp_path / "m.csv"), ("--out", tmp_path / "run")
    answer = program("evaluate", predictions, "--annotations", "real", "--allow-partial", *files, *out)
    assert answer.status == 0, answer.err
