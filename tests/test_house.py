"""The house itself: imports point down, no rooms in a circle, and a class name stands once."""

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "imagenet_errors"
LEVELS = (
    ("problems", "tables", "shipped", "files", "recent", "workers"),
    ("prepared",),
    ("labels", "label_sets", "wordnet", "images", "image_folder", "cluster"),
    ("readers",),
    ("downloads", "datasets", "severity"),
    ("evidence",),
    ("stages",),
    ("chain",),
    ("inputs",),
    ("measure", "mistakes"),
    ("runs",),
    ("evaluation", "why", "compare", "check"),
    ("oov", "predict"),
    ("batch", "explain"),
    ("report", "export"),
    ("study",),
    ("api", "metric"),
    ("cli",),
)
"""Rooms and single files, lowest first; those of one level may use each other in one direction only."""
LEVEL_OF = {room: level for level, rooms in enumerate(LEVELS) for room in rooms}


def room_of(module):
    return module.split(".")[1] if "." in module else ""


def module_of(path):
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(path):
    """Every module of the package that a file imports, wherever in the file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("imagenet_errors"):
            for alias in node.names:
                inner = PACKAGE.parent.joinpath(*node.module.split("."), alias.name)
                is_module = inner.with_suffix(".py").is_file() or inner.is_dir()
                yield f"{node.module}.{alias.name}" if is_module else node.module


FILES = sorted(path for path in PACKAGE.rglob("*.py") if path.name != "__main__.py")
EDGES = {module_of(path): {*imports_of(path)} - {"imagenet_errors"} for path in FILES}


@pytest.mark.parametrize("path", FILES, ids=module_of)
def test_imports_point_down(path):
    room = room_of(module_of(path))
    if not room:
        return  # the Python face stands above all of it
    for used in EDGES[module_of(path)]:
        assert LEVEL_OF[room_of(used)] <= LEVEL_OF[room], f"{module_of(path)} imports {used}, which lies above it"


def test_no_two_rooms_use_each_other():
    between = {(room_of(module), room_of(used)) for module, used_here in EDGES.items() for used in used_here}
    torn = {(one, other) for one, other in between if one and one != other and (other, one) in between}
    assert not torn


def test_no_files_import_each_other_in_a_circle():
    done, walking = set(), []

    def walk(module):
        assert module not in walking, " -> ".join([*walking, module])
        if module in done:
            return
        walking.append(module)
        for used in EDGES.get(module, ()):
            if used != module and used in EDGES:
                walk(used)
        done.add(walking.pop())

    for module in EDGES:
        if module != "imagenet_errors":
            walk(module)


OF_IMAGENET = re.compile(r"(?<![\w#.])(1_?000|50_?000|ILSVRC\w*)(?![\w.])")


@pytest.mark.parametrize("path", FILES, ids=module_of)
def test_nothing_of_imagenet_is_assumed_outside_its_data(path):
    text = path.read_text(encoding="utf-8")
    found = [line for line in text.splitlines() if OF_IMAGENET.search(line)]
    assert not found, f"write it in data/, or ask the label space: {found}"


KNOW_IMAGENET = {
    "labels": "where the classes are loaded",
    "__init__": "the Python face gives them",
    "datasets": "what a data set has without classes of its own",
    "downloads.content": "published labels of the validation set, checked as they come",
    "evidence.oov": "the classes of evidence files unless others are named",
    "evidence.superclasses": "the shipped superclasses are ImageNet's",
    "oov.proposals": "its example",
    "predict.job": "what is predicted unless other classes are named",
    "predict.networks": "timm's heads are ImageNet's",
    "readers.axis_tables": "the shipped orders are ImageNet's",
    "readers.judgements": "the panel judged mistakes on ImageNet",
    "readers.label_text": "published vocabularies, by wnid",
    "readers.match": "bare numbers in class folders are no validation images",
}
"""Module -> why it asks for ImageNet's own classes instead of those in hand."""


def test_only_these_ask_for_imagenets_own_classes():
    asking = {
        module_of(path).removeprefix("imagenet_errors.")
        for path in FILES
        if "imagenet_1k()" in path.read_text(encoding="utf-8") or "=imagenet_1k" in path.read_text(encoding="utf-8")
    }
    assert {name.replace("imagenet_errors", "__init__") for name in asking} == set(KNOW_IMAGENET)


def test_a_class_name_stands_once_in_the_package():
    names = Counter(
        name
        for path in FILES
        for name in re.findall(r"^class (\w+)", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
        if not name.startswith("_")
    )
    assert [name for name, count in names.items() if count > 1] == []
