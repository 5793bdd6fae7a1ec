"""What the README shows is what the program prints."""

from pathlib import Path

import readme_examples

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


def test_every_example_shows_the_programs_real_output():
    assert readme_examples.with_examples(README) == README


def test_there_are_examples():
    assert len(readme_examples.EXAMPLE.findall(README)) >= 3


def test_the_file_columns_named_are_those_that_are_written():
    from imagenet_errors.runs.directory import ACCURACY, DISTRIBUTION, FAILURES, SUMMARY, VERDICTS

    for schema in (VERDICTS, DISTRIBUTION, SUMMARY, ACCURACY, FAILURES):
        for name in schema.names:
            assert f"`{name}`" in README or name in ("group", "error_type"), name
