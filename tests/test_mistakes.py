"""Predictions of many files are gathered by one set of rules; a mistake of several models is one case."""

import pytest

from imagenet_errors.inputs import load_basis
from imagenet_errors.mistakes import NothingUsableError, gather
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
