"""Flags become settings, or are refused."""

import pytest

from imagenet_errors.predict.settings import Settings, data_stated
from imagenet_errors.problems import InputError


@pytest.mark.parametrize(
    ("stated", "meant"),
    [
        ("crop_pct=0.95", ("crop_pct", 0.95)),
        ("crop_mode=squash", ("crop_mode", "squash")),
        ("input_size=288", ("input_size", (3, 288, 288))),
        ("input_size=256,192", ("input_size", (3, 256, 192))),
        ("mean=0.5", ("mean", (0.5, 0.5, 0.5))),
        ("std=0.1,0.2,0.3", ("std", (0.1, 0.2, 0.3))),
    ],
)
def test_a_change_of_the_preprocessing_is_read(stated, meant):
    assert data_stated([stated]) == (meant,)


@pytest.mark.parametrize("stated", ["crop=1", "crop_pct=wide", "crop_mode=", "mean", "input_size=a,b"])
def test_a_change_that_cannot_be_read_is_refused(stated):
    with pytest.raises(InputError, match=f"--data: cannot read {stated}"):
        data_stated([stated])


@pytest.mark.parametrize(
    ("wrong", "flag"), [({"precision": "int8"}, "--precision"), ({"batch_size": 0}, "--batch-size")]
)
def test_settings_that_cannot_be_are_refused(wrong, flag):
    with pytest.raises(InputError, match=flag):
        Settings(**wrong)
