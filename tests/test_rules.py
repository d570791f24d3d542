"""Every rule of turns and prompts is named by a test that would notice if it no longer held."""

from __future__ import annotations

import ast
import re
import tomllib
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
RULES: dict[str, str] = {
    id_: words
    for part in tomllib.loads((TESTS / "rules.toml").read_text(encoding="utf-8")).values()
    for id_, words in part.items()
}
ID = re.compile(r"\b[A-G]\d{1,3}(?:\.\d)?\b")
SPAN = re.compile(r"\b([A-G])(\d{1,3})[-–]\1?(\d{1,3})\b")


def named_in(text: str) -> set[str]:
    """The ids that *text* names, one by one or as a span."""
    found = set(ID.findall(text))
    for letter, first, last in SPAN.findall(text):
        found |= {f"{letter}{number}" for number in range(int(first), int(last) + 1)}
    return found


@cache
def named() -> set[str]:
    """The ids in the docstring of any test, in tests of our own."""
    found: set[str] = set()
    for path in TESTS.rglob("test_*.py"):
        text = path.read_text(encoding="utf-8")
        if not named_in(text):
            continue  # nor does a docstring in it
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                found |= named_in(ast.get_docstring(node) or "")
    return found


@pytest.mark.slow
def test_every_rule_is_tested() -> None:
    """Some test's docstring names it."""
    untested = {id_: words for id_, words in RULES.items() if id_ not in named()}

    assert untested == {}


def test_ids_are_found_one_by_one_and_in_spans() -> None:
    """As docstrings write them."""
    assert named_in("These two are one rule: A1, C3.4; B40-B42 and E7–9.") >= {
        *("A1", "C3.4", "B40", "B41", "B42", "E7", "E8", "E9")
    }
