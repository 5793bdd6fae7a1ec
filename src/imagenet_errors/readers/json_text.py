"""The texts of JSON files: JSON, JSON lines, objects one behind another, and what Python prints for a dict."""

from __future__ import annotations

import ast
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from imagenet_errors.problems import InputError, counted
from imagenet_errors.readers.cells import printed_bare, refuse_sets
from imagenet_errors.readers.headers import Meaning, meaning_of

_NO_LITERAL = (SyntaxError, ValueError, MemoryError, RecursionError)
_LONGEST_PRINT = 1 << 26
"""Python's own parser takes some 100 bytes of memory for each of a text."""


@dataclass
class Repeats:
    """Keys that an object repeats with the same value; json would keep the last value without a word."""

    path: Path
    keys: list[str] = field(default_factory=list)

    def without(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        """Make a dict of pairs; refuse a key with two different values."""
        unique = dict(pairs)
        if len(unique) == len(pairs):
            return unique
        seen: dict[str, Any] = {}
        for key, value in pairs:
            if key in seen:
                self._note(key, same=seen[key] == value)
            seen[key] = value
        return seen

    def _note(self, key: str, *, same: bool) -> None:
        if not same:
            raise InputError(
                self.path,
                "a key occurs twice with different values",
                example=key,
                fix="Name images by folder and file, so that no two share a name.",
            )
        self.keys.append(key)

    @property
    def notes(self) -> tuple[str, ...]:
        """One sentence, if there are any."""
        if not self.keys:
            return ()
        n = counted(len(self.keys), "key")
        return (f"{n} repeated with the same value (first: {self.keys[0]}); one was kept.",)


def parse_json(text: str, repeats: Repeats) -> tuple[Any, str]:
    """Return what a text holds and what it is: JSON, JSON lines, objects one behind another, or Python's own print.

    Raises
    ------
    InputError
        It is none of these, or nested too deeply.
    """
    try:
        return json.loads(text, object_pairs_hook=repeats.without), "JSON"
    except RecursionError:
        raise InputError(repeats.path, "the JSON is nested too deeply", fix="Write it again.") from None
    except InputError:
        raise
    except json.JSONDecodeError as problem:
        if problem.msg != "Extra data":
            printed = _python(text, repeats)
            if printed is not None:
                return printed
            raise _broken(repeats.path, problem, problem.lineno) from None
    except ValueError as problem:  # Python converts no number of more than 4,300 digits
        raise _too_long(repeats.path, problem) from None
    repeats.keys.clear()
    lines = _one_behind_another(text, repeats)
    if lines is None:
        lines = [_parse_line(line, i, repeats) for i, line in enumerate(text.split("\n")) if line.strip()]
    if all(isinstance(line, list) and line and isinstance(line[0], dict) for line in lines) and not _are_ranked(lines):
        lines = [record for line in lines for record in line]  # a list of records a line, as workers append them
    return lines, "JSON lines"


def _are_ranked(lines: list[Any]) -> bool:
    """Say whether the records of each line are ranks of one image: they name none."""
    return not any(meaning_of(key) in (Meaning.NAME, Meaning.WEAK_NAME) for key in lines[0][0])


def _one_behind_another(text: str, repeats: Repeats) -> list[Any] | None:
    """Return objects that take several lines each; None where the first line is one by itself."""
    first = text.lstrip().partition("\n")[0]
    try:
        json.loads(first)
    except ValueError:
        pass
    else:
        return None
    decoder = json.JSONDecoder(object_pairs_hook=repeats.without)
    found, at = [], 0
    while at < len(text):
        at = len(text) - len(text[at:].lstrip(" \t\r\n,")) if text[at] in " \t\r\n," else at
        if at == len(text):
            break
        try:
            value, at = decoder.raw_decode(text, at)
        except json.JSONDecodeError as problem:
            raise _broken(repeats.path, problem, problem.lineno) from None
        found.append(value)
    return found


def _python(text: str, repeats: Repeats) -> tuple[Any, str] | None:
    """Return what Python printed: ``{'a.JPEG': 65}``, also one a line, or JSON with a comma too many; else None."""
    if len(text) > _LONGEST_PRINT:
        return None
    text = printed_bare(text)
    lines = [line.strip().rstrip(",") for line in text.split("\n") if line.strip()]
    try:
        return _literal(text.strip(), repeats), "Python's print"
    except _NO_LITERAL:
        pass
    try:
        return [_literal(line, repeats) for line in lines], "Python's print, a line a row"
    except _NO_LITERAL:
        return None


def _literal(text: str, repeats: Repeats) -> Any:
    """Return what a Python literal stands for; a key that stands in it twice is refused, or told."""
    tree = ast.parse(text, mode="eval")
    refuse_sets(tree, repeats.path)
    for node in ast.walk(tree):
        keys = [ast.dump(key) for key in node.keys if key] if isinstance(node, ast.Dict) else []
        if isinstance(node, ast.Dict) and len(keys) != len(set(keys)):
            pairs = zip(node.keys, node.values, strict=True)
            repeats.without([(str(ast.literal_eval(key)), ast.literal_eval(value)) for key, value in pairs if key])
    return _with_lists(ast.literal_eval(tree))


def _with_lists(value: Any) -> Any:
    """Return a value with lists for tuples and texts for keys, as JSON has it."""
    if isinstance(value, dict):
        return {str(key): _with_lists(one) for key, one in value.items()}
    return [_with_lists(one) for one in value] if isinstance(value, list | tuple) else value


def _parse_line(line: str, i: int, repeats: Repeats) -> Any:
    try:
        return json.loads(line, object_pairs_hook=repeats.without)
    except json.JSONDecodeError as problem:
        raise _broken(repeats.path, problem, i + 1) from None
    except ValueError as problem:
        raise _too_long(repeats.path, problem) from None
    except RecursionError:
        raise InputError(repeats.path, "the JSON is nested too deeply", fix="Write it again.") from None


def _too_long(path: Path, problem: ValueError) -> InputError:
    return InputError(path, "a number in the JSON is too long", example=problem, fix="Write it again.")


def _broken(path: Path, problem: json.JSONDecodeError, line: int) -> InputError:
    return InputError(
        path,
        f"the JSON breaks off or is wrong in line {line}: {problem.msg}",
        example=problem.doc[max(0, problem.pos - 30) : problem.pos + 10].strip() or None,
        fix="Copy it again, or write it again.",
    )
