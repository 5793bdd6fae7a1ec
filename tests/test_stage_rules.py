"""What holds for every stage, and where the README repeats the chain."""

import ast
import re
from pathlib import Path

import pytest

from imagenet_errors import chain

TOP = Path(__file__).parents[1]
STAGE_FILES = sorted(
    {*(TOP / "src/imagenet_errors/stages").glob("[a-z]*.py")} - {TOP / "src/imagenet_errors/stages/wording.py"}
)


@pytest.mark.parametrize("path", STAGE_FILES, ids=lambda path: path.stem)
def test_a_stage_is_short_cites_its_source_and_has_a_test(path):
    text = path.read_text(encoding="utf-8")
    docstring = ast.get_docstring(ast.parse(text)) or ""
    assert len(text.splitlines()) < 100
    assert "Source:" in docstring
    assert "Differs:" in docstring
    assert (TOP / "tests/stages" / f"test_{path.stem}.py").is_file()


def test_every_stage_file_is_in_the_chain_under_its_name():
    assert {path.stem for path in STAGE_FILES} == {stage.name for stage in chain.STAGES}


def test_the_error_types_are_the_papers_from_least_to_most_severe():
    assert chain.ERROR_TYPES == (
        "correct",
        "class_overlap",
        "multi_object",
        "fine_grained",
        "fine_grained_oov",
        "non_prototypical",
        "spurious_correlation",
        "model_failure",
    )


def test_the_readme_lists_the_error_types_in_the_order_of_the_chain():
    rows = re.findall(r"^\| \d \| `(\w+)` \|", (TOP / "README.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert tuple(rows) == chain.ERROR_TYPES
