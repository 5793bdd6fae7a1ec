"""An error says where, what, the first example and the way out; counts read like English."""

import pytest

from imagenet_errors.problems import InputError, counted, printable, without_folders, written


def test_the_text_holds_every_part():
    error = InputError("a.csv", "2 rows are empty", example="row 7", fix="Fill them.")
    assert str(error) == "a.csv: 2 rows are empty (first: row 7). Fill them."


def test_without_an_example_or_a_way_out_no_gap_is_left():
    assert str(InputError("a.csv", "is empty")) == "a.csv: is empty."


@pytest.mark.parametrize(
    ("n", "words", "text"),
    [
        pytest.param(1, ("row",), "1 row", id="one"),
        pytest.param(0, ("row",), "0 rows", id="none"),
        pytest.param(20_000, ("row",), "20,000 rows", id="many"),
        pytest.param(2, ("class", "classes"), "2 classes", id="irregular"),
    ],
)
def test_counts(n, words, text):
    assert counted(n, *words) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("a\x1b[2Jb", "a\\u001b[2Jb", id="clears the screen"),
        pytest.param("a\x9b2Jb", "a\\u009b2Jb", id="the same in one byte"),
        pytest.param("a\u202eb", "a\\u202eb", id="turns the text around"),
        pytest.param("a\rb", "a\\u000db", id="writes over the line"),
        pytest.param("zwei\nZeilen – ░", "zwei\nZeilen – ░", id="plain text"),
    ],
)
def test_no_text_gives_a_terminal_orders(text, shown):
    assert printable(text) == shown


@pytest.mark.parametrize(
    ("message", "file", "shown"),
    [
        ("/home/me/p/vit.csv: no rows", "", "vit.csv: no rows"),
        ("/home/me/my files/vit.csv: no rows", "/home/me/my files/vit.csv", "vit.csv: no rows"),
        (r"C:\Users\me\vit.csv: no rows", "", "vit.csv: no rows"),
        ("p/vit.csv: is the same model as /a/b/vit.csv", "p/vit.csv", "vit.csv: is the same model as vit.csv"),
        ("see https://example.org/a/b and this/or/that", "", "see https://example.org/a/b and this/or/that"),
    ],
)
def test_a_message_for_others_names_no_folder_of_this_machine(message, file, shown):
    assert without_folders(message, file) == shown


def test_a_name_of_any_bytes_can_be_stored():
    assert written("caf\udce9.csv") == "caf\\xe9.csv"
