"""What was found out about a column is not found out again for an equal one."""

import pyarrow as pa
import pytest

from imagenet_errors.recent import SameColumns, remembered


def column(*names):
    return pa.array(names)


def test_equal_columns_become_one_object():
    shared = SameColumns()
    first = column("a", "b")
    assert shared(first) is first
    assert shared(column("a", "b")) is first
    assert shared(column("a", "c")) is not first
    assert shared(column("a", "b")) is first


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(column("a", None), id="a missing name"),
        pytest.param(pa.array(["a", "b"], pa.large_string()), id="another type"),
        pytest.param(column("a", "b", "c"), id="one more"),
        pytest.param(column("x", "a", "b")[1:], id="a slice is equal"),
    ],
)
def test_only_equal_columns_do(other):
    shared = SameColumns()
    first = shared(column("a", "b"))
    assert (shared(other) is first) == first.equals(other)


def test_work_is_done_once_for_the_same_objects():
    calls = []

    @remembered
    def work(key, other, *, where):
        calls.append((key, other, where))
        return len(calls)

    one, two = column("a"), column("a")
    assert [work(one, two, where="x"), work(one, two, where="y")] == [1, 1]
    assert work(two, one, where="x") == 2
    assert work(one, two, where="x") == 1


def test_only_the_last_few_are_remembered():
    calls = []
    work = remembered(calls.append, n_kept=2)
    keys = [column(str(number)) for number in range(3)]
    for key in (*keys, keys[0]):
        work(key)
    assert calls == [*keys, keys[0]]


def test_work_that_fails_is_tried_again():
    calls = []

    @remembered
    def work(key):
        calls.append(key)
        raise ValueError("no luck")

    key = column("a")
    for _ in range(2):
        with pytest.raises(ValueError, match="no luck"):
            work(key)
    assert len(calls) == 2
