"""What is not installed is asked for by the name of its extra."""

import json

import pytest

from imagenet_errors.problems import InputError
from imagenet_errors.shipped import needs


def test_a_library_that_is_there_is_imported():
    assert needs("json", extra="timm") is json


def test_a_library_that_is_not_there_names_its_extra():
    with pytest.raises(InputError, match=r'no_such_library: .* pip install "imagenet-errors\[timm\]"'):
        needs("no_such_library", extra="timm")


def test_a_library_that_lacks_another_is_not_blamed_on_the_extra(tmp_path, monkeypatch):
    (tmp_path / "half_library.py").write_text("import no_such_library")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="no_such_library"):
        needs("half_library", extra="timm")
