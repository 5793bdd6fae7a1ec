"""Predictions of many files are gathered by one set of rules; a mistake of several models is one case."""

import os
from pathlib import Path

import pytest

from imagenet_errors.inputs import load_basis
from imagenet_errors.mistakes import NothingUsableError, gather, reasons
from imagenet_errors.problems import InputError
from imagenet_errors.readers.predictions import ReadRules
from toy import inputs_of

RULES = ReadRules(allow_partial=True, check_order=False)


@pytest.fixture
def basis(val_images, tmp_path):
    """Annotations of 300 images; nothing is accepted on the fourth, and on the third the label is not."""
    return load_basis(inputs_of(val_images.annotations(tmp_path / "annotations.csv", at_2="5 6", at_3="")))


def gathered(basis, *files):
    with gather(files, basis, rules=RULES) as mistakes:
        return mistakes, [model.load() for model in mistakes.models]


def test_what_counts_comes_back_as_it_was(basis, val_images, tmp_path):
    mistakes, (loaded,) = gathered(basis, val_images.csv(tmp_path / "one.csv"))
    counts = [row for row in range(300) if row not in (2, 3)]
    assert loaded.rows.tolist() == counts
    assert loaded.top1.tolist() == val_images.top1[counts].tolist()
    assert loaded.confidence is None
    assert mistakes.models[0].model == "one"


def test_what_several_models_did_counts_once(basis, val_images, tmp_path):
    one = val_images.csv(tmp_path / "one.csv", at_0=999, at_1=998)
    two = val_images.csv(tmp_path / "two.csv", at_0=999, at_1=997, at_3=5)
    alone, both = (gathered(basis, *files)[0].cases for files in ([one], [one, two]))
    assert len(both) == len(alone) + 1
    assert 3 not in both.rows, "excluded images are left out"
    assert (both.prediction != both.label).all()


def test_all_images_are_tallied_the_excluded_ones_too(basis, val_images, tmp_path):
    (model,) = gathered(basis, val_images.csv(tmp_path / "one.csv", at_2=6, at_3=5))[0].models
    assert model.tally.n_images == 300
    assert model.tally.n_with_accepted == 299
    assert (model.tally.n_rejected, model.tally.n_right_against_label) == (1, 1)
    right = (val_images.top1 == val_images.label)[[row for row in range(300) if row not in (2, 3)]].sum()
    assert model.tally.n_accepted == right + 1


def test_a_file_that_cannot_be_used_is_named_and_the_others_count(basis, val_images, tmp_path):
    good, bad = val_images.csv(tmp_path / "good.csv"), tmp_path / "bad.csv"
    bad.write_text("<html>")
    mistakes, _ = gathered(basis, bad, good)
    assert [failure.path for failure in mistakes.failures] == [bad]
    assert [model.model for model in mistakes.models] == ["good"]
    assert mistakes.cases.rows.tolist() == gathered(basis, good)[0].cases.rows.tolist()


def test_what_six_columns_of_a_file_lack_is_told_once_with_their_names(basis, val_images, tmp_path):
    wide = tmp_path / "wide.csv"
    columns = [val_images.top1.copy() for _ in range(6)]
    for number, column in enumerate(columns):
        column[number::7] = 999 - number
    lines = ["file_name,vit,alexnet,vgg16,resnet50,swin_t,convnext"]
    lines += [",".join(map(str, row)) for row in zip(val_images.names, *columns, strict=True)][:200]
    wide.write_text("\n".join(lines))
    whole = ReadRules(check_order=False)
    with gather([wide, val_images.csv(tmp_path / "good.csv")], basis, rules=whole) as mistakes:
        assert len(mistakes.failures) == 6
        (told,) = reasons(mistakes.failures)
    assert told.endswith("(6 models: vit, alexnet, vgg16, resnet50 and 2 more)")
    assert "pass --allow-partial" in told


def test_when_no_file_can_be_used_all_reasons_are_told(basis, tmp_path):
    for name in ("bad.csv", "worse.csv"):
        (tmp_path / name).write_text("<html>")
    with pytest.raises(NothingUsableError, match=r"(?s)bad\.csv.*worse\.csv"):
        gathered(basis, tmp_path / "bad.csv", tmp_path / "worse.csv")


def test_a_path_that_is_not_there_is_refused(basis, tmp_path):
    with pytest.raises(InputError, match="no such file"):
        gathered(basis, tmp_path / "none.csv")


def test_a_fault_of_ours_costs_one_file_and_is_told(basis, val_images, tmp_path, monkeypatch):
    from imagenet_errors import mistakes as module

    read = module.read_models

    def faulty(files, *arguments, **options):
        if files.model == "odd":
            raise ZeroDivisionError("nobody thought of this")
        return read(files, *arguments, **options)

    monkeypatch.setattr(module, "read_models", faulty)
    mistakes, _ = gathered(basis, *(val_images.csv(tmp_path / name) for name in ("good.csv", "odd.csv")))
    assert "an unexpected ZeroDivisionError: nobody thought of this" in mistakes.failures[0].reason


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        pytest.param(MemoryError(), "memory ran out", id="memory"),
        pytest.param(OSError(28, "No space left on device"), "No space left on device", id="disk"),
        pytest.param(OSError(24, "Too many open files"), "Too many open files", id="open files"),
    ],
)
def test_a_fault_of_the_machine_is_told_as_what_it_is(basis, val_images, tmp_path, monkeypatch, fault, told):
    def failing(*arguments, **options):
        raise fault

    monkeypatch.setattr("imagenet_errors.mistakes.read_models", failing)
    with pytest.raises(NothingUsableError) as refused:
        gathered(basis, val_images.csv(tmp_path / "one.csv"))
    assert told in str(refused.value)
    assert "fault of imagenet-errors" not in str(refused.value)
    assert "damaged" not in str(refused.value)


def test_a_full_temporary_folder_ends_the_run_in_one_line(basis, val_images, tmp_path, monkeypatch):
    def full(*arguments, **options):
        raise OSError("1156 requested and 992 written")  # as numpy says it, without a number

    monkeypatch.setattr("numpy.save", full)
    with pytest.raises(InputError, match=r"cannot be written: 1156 requested.*set TMPDIR") as refused:
        gathered(basis, val_images.csv(tmp_path / "one.csv"), val_images.csv(tmp_path / "two.csv"))
    assert not isinstance(refused.value, NothingUsableError)


BAD_NAMES = [
    pytest.param(b"bad\xff.csv", "not UTF-8", id="not UTF-8"),
    pytest.param(b"x" * 248 + b".csv", "248 bytes, and 247 are the most", id="248 bytes"),
    pytest.param(b"a\\b.csv", "no name for a model", id="backslash"),
]


@pytest.mark.parametrize(("name", "told"), BAD_NAMES)
def test_a_bad_file_name_costs_its_model_only(basis, val_images, tmp_path, name, told):
    good = val_images.csv(tmp_path / "models" / "good.csv")
    try:
        bad = os.fsdecode(os.fsencode(tmp_path / "models") + b"/" + name)
        Path(bad).write_bytes(good.read_bytes())
    except OSError:
        pytest.skip("the file system knows no such name")
    mistakes, _ = gathered(basis, tmp_path / "models")
    assert [model.model for model in mistakes.models] == ["good"]
    (failure,) = mistakes.failures
    assert told in failure.reason
    (failure.model + failure.file + failure.reason).encode()


def test_a_name_as_long_as_its_file_of_verdicts_may_have_counts(basis, val_images, tmp_path):
    longest = "x" * 247
    mistakes, _ = gathered(basis, val_images.csv(tmp_path / f"{longest}.csv"))
    assert [model.model for model in mistakes.models] == [longest]
