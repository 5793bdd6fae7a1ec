"""Flags become settings, or are refused."""

import pytest

from imagenet_errors.predict.settings import INTERPOLATIONS, Settings, data_stated
from imagenet_errors.problems import InputError


@pytest.mark.parametrize(
    ("stated", "meant"),
    [
        ("crop_pct=0.95", ("crop_pct", 0.95)),
        ("crop_mode=squash", ("crop_mode", "squash")),
        ("input_size=288", ("input_size", (3, 288, 288))),
        ("input_size=256,192", ("input_size", (3, 256, 192))),
        ("input_size=3,256,192", ("input_size", (3, 256, 192))),
        ("interpolation=bilinear", ("interpolation", "bilinear")),
        ("mean=0.5", ("mean", (0.5, 0.5, 0.5))),
        ("std=0.1,0.2,0.3", ("std", (0.1, 0.2, 0.3))),
    ],
)
def test_a_change_of_the_preprocessing_is_read(stated, meant):
    assert data_stated([stated]) == (meant,)


@pytest.mark.parametrize(
    ("stated", "way_out"),
    [
        ("crop=1", "KEY one of input_size, interpolation, crop_pct"),
        ("mean", "0 to 1"),
        ("crop_pct=wide", "above 0, at most 1"),
        ("crop_pct=87.5", "above 0, at most 1"),
        ("crop_pct=0", "above 0, at most 1"),
        ("crop_pct=nan", "above 0, at most 1"),
        ("crop_mode=", "one of center, squash, border"),
        ("crop_mode=sqash", "one of center, squash, border"),
        ("interpolation=cubic", "bilinear, bicubic"),
        ("input_size=a,b", "256,192"),
        ("input_size=4,224,224", "3 channels"),
        ("input_size=224,224,3", "3 channels"),
        ("input_size=0", "a side in pixels"),
        ("input_size=1,3,224,224", "3 channels"),
        ("mean=123.675,116.28,103.53", "divide those of 0 to 255 by 255"),
        ("mean=0.5,0.5", "one each for red, green and blue"),
        ("std=0,0.2,0.2", "None is 0"),
    ],
)
def test_a_change_that_cannot_be_is_refused_with_what_can_be(stated, way_out):
    with pytest.raises(InputError, match=f"--data: cannot read {stated}") as told:
        data_stated([stated])
    assert way_out in told.value.fix


def test_a_key_is_stated_once():
    with pytest.raises(InputError, match=r"states a key twice: crop_pct=1 crop_pct=0\.9"):
        data_stated(["crop_pct=1", "crop_pct=0.9"])


def test_every_interpolation_that_can_be_stated_is_one_of_timms():
    transforms = pytest.importorskip("timm.data.transforms")
    for name in INTERPOLATIONS:
        assert transforms.interp_mode_to_str(transforms.str_to_interp_mode(name)) == name


@pytest.mark.parametrize(
    ("wrong", "flag"),
    [({"precision": "int8"}, "--precision"), ({"batch_size": 0}, "--batch-size"), ({"workers": -1}, "--workers")],
)
def test_settings_that_cannot_be_are_refused(wrong, flag):
    with pytest.raises(InputError, match=flag):
        Settings(**wrong)
