"""What a library raises on a broken file becomes one message; what we raise ourselves passes."""

import zipfile

import pyarrow as pa
import pytest

from imagenet_errors.problems import InputError
from imagenet_errors.readers.opened import refusing_damage


@pytest.mark.parametrize("raised", [zipfile.BadZipFile("x"), EOFError("x"), pa.ArrowInvalid("x"), OSError("x")])
def test_a_broken_file_is_one_kind_of_message(raised):
    told = r"model\.npz: the file is cut short or damaged \(first: x\)"
    with pytest.raises(InputError, match=told), refusing_damage("model.npz"):
        raise raised


def test_an_input_error_passes_as_it_is():
    with pytest.raises(InputError, match="no rows"), refusing_damage("model.npz"):
        raise InputError("model.npz", "no rows")
