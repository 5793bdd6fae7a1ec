"""The places that ``make mutants`` changes: where behaviour is, drawn by seed, and in words that stay the same."""

import ast

import pytest

pytest.importorskip("cosmic_ray", reason="its changes are Cosmic Ray's: pip install '.[mutants]'")
pytest.importorskip("coverage", reason="which test runs which line is measured by it")
import mutants

SOURCE = '''"""Seven words that say what this is."""
from dataclasses import dataclass


@dataclass(frozen=True)
class Pair:
    one: int | None = 3
    other: tuple[int | str, ...] = ()


def smaller(a: int | None, *, b: int = 2) -> bool | None:
    """Say which is smaller."""
    for one, other in zip([a], [b], strict=True):
        if one < other:
            return not other - one > 5
    return (*[a],) == [b]
'''


def changes(source=SOURCE):
    return [(mutant, mutant.text_of(source)) for choices in mutants.places("m.py", source) for mutant in choices]


def test_declarations_are_left_alone():
    for mutant, text in changes():
        was, becomes = mutants.difference(SOURCE, text)
        assert "frozen=False" not in becomes
        assert "strict=False" not in becomes
        if "def smaller" in was:
            assert "a: int | None, *, b: int" in becomes, mutant
            assert "-> bool | None" in becomes, mutant


def test_every_change_is_python_and_a_change():
    every = changes()
    assert len(every) > 10
    for _, text in every:
        ast.parse(text)
        assert text != SOURCE


def test_the_draw_goes_by_seed_and_by_what_the_line_says():
    def drawn(source, seed):
        chosen, _ = mutants.drawn({"m.py": source}, seed=seed, n_places=4)
        return {mutants.difference(source, mutant.text_of(source)) for mutant in chosen}

    assert drawn(SOURCE, 1) == drawn(SOURCE, 1) != drawn(SOURCE, 2)
    assert drawn(SOURCE, 1) == drawn("# a line more\n" + SOURCE, 1)


def test_places_are_drawn_evenly_over_modules():
    chosen, n_all = mutants.drawn({"m.py": SOURCE, "n.py": SOURCE}, seed=1, n_places=6)
    assert n_all["m.py"] == n_all["n.py"] > 3
    assert sum(mutant.module == "m.py" for mutant in chosen) == 3


@pytest.mark.parametrize(
    ("line", "lines"),
    [
        pytest.param(13, (13, 13), id="the head of a compound statement"),
        pytest.param(14, (14, 14), id="the innermost one"),
        pytest.param(7, (7, 7), id="a field"),
    ],
)
def test_a_statement_is_the_innermost_and_of_a_compound_one_the_head(line, lines):
    assert mutants.statement_at(ast.parse(SOURCE), line) == lines


def test_a_reviewed_change_that_survives_is_no_miss(monkeypatch):
    same = mutants.Judged("m.py", 14, "if one < other:", "if one <= other:", mutants.SURVIVED)
    missed = mutants.Judged("m.py", 15, "return a", "return b", mutants.SURVIVED)
    killed = mutants.Judged("m.py", 16, "return c", "return d", mutants.KILLED)
    monkeypatch.setattr(mutants, "reviewed", lambda: {same.key: "they are never equal"})
    page = mutants.page([same, missed, killed], mutants.Counter({"m.py": 9}), command="c", seed=1)
    assert "of the other 2 the tests noticed 1 (0 by never coming to an end) and missed 1 (**50.0%**)" in page
    assert "| m.py | 9 | 3 | 1 | 1 | 1 |" in page
    assert "`if one <= other:`: they are never equal" in page


def test_every_reason_belongs_to_a_line_that_is_still_there():
    for module, was, becomes in mutants.reviewed():
        text = " ".join((mutants.TOP / mutants.PACKAGE / module).read_text(encoding="utf-8").split())
        assert " ".join(was.split()) in text, f"{module}: {was}"
        assert becomes != was


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        pytest.param("--work /x/kept --again --out reports/a.md", "--work DIR --again --out reports/a.md", id="kept"),
        pytest.param("--work=/x/kept/ --out=reports/a.md", "--work=DIR --out=reports/a.md", id="in one word"),
        pytest.param("--sample 0 --work m --out m.md", "--sample 0 --work DIR --out m.md", id="a short name"),
        pytest.param("chain.py --out /x/a.md", "chain.py --out a.md", id="a page elsewhere"),
    ],
)
def test_a_page_shows_the_command_as_given_without_this_machines_folders(given, shown):
    assert mutants.command_of(given.split()) == f"python scripts/mutants.py {shown}"
