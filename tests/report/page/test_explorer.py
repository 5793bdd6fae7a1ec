"""What is put into the page comes out as it was, and cannot end the element it stands in."""

import base64
import gzip
import json

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from imagenet_errors.report.page.explorer import bits, column, packed, texts


def unpacked(text):
    return json.loads(gzip.decompress(base64.b64decode(text)))


@given(st.recursive(st.text() | st.integers(-(2**53), 2**53) | st.none(), lambda inner: st.lists(inner), max_leaves=8))
def test_what_is_packed_comes_out_as_it_went_in_and_has_no_sign_of_markup(content):
    text = packed([content])
    assert unpacked(text) == [content]
    assert not set(text) & set("<>&\u2028\u2029")


def test_a_lone_surrogate_does_not_stop_the_page():
    assert unpacked(packed(["a\udce9b"])) == ["a?b"]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        pytest.param([], "u1", id="none"),
        pytest.param([0, 255], "u1", id="bytes"),
        pytest.param([256], "u2", id="two bytes"),
        pytest.param([65_536], "u4", id="four bytes"),
    ],
)
def test_columns_are_as_narrow_as_their_values_allow(values, kind):
    found, text = column(np.array(values, dtype=np.int64))
    assert found == kind
    assert np.frombuffer(base64.b64decode(text), dtype=f"<{kind}").tolist() == values


@pytest.mark.parametrize("value", [-1, 2**32])
def test_values_that_do_not_fit_are_refused(value):
    with pytest.raises(ValueError, match="no 32-bit unsigned integers"):
        column(np.array([value]))


def test_bits_start_with_the_lowest():
    assert base64.b64decode(bits(np.array([True, False, False] + [False] * 5 + [True]))) == b"\x01\x01"


def test_texts_are_written_once():
    found = texts(pa.array(["cat", "a\ndog", "cat", None]))
    assert found["texts"].split("\n") == ["cat", "a dog", ""]
    assert base64.b64decode(found["of"][1]) == bytes([0, 1, 0, 2])


def test_packing_is_gzip_and_gives_the_same_bytes_every_time():
    assert unpacked(packed({"a": "é" * 90})) == {"a": "é" * 90}
    assert packed({"a": 1}) == packed({"a": 1})
