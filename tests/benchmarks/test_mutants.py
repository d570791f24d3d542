"""Planted faults: the run that plants them finds what tests notice, and tells of what they do not."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections import Counter
from typing import Any

import pytest

from benchmarks.mutants.areas import AREAS
from benchmarks.mutants.explained import read_explained, stale_rows
from benchmarks.mutants.faults import find_faults, plant
from benchmarks.mutants.trial import ROOT, draw, faults_of

RULE = '''
LIMIT = 3

def may_tell(said_to, here):
    """A rule <= another."""
    if here.is_owner and not said_to.hidden:
        return True
    return (said_to.platform, said_to.id) == (here.platform, here.id) and said_to.people <= here.people

def oldest(db, place):
    return db.execute("SELECT id FROM turns WHERE place = ? AND id >= ? ORDER BY id DESC", (place, LIMIT))
'''


def planted(source: str = RULE) -> list[str]:
    return [fault.planted for fault in find_faults(source, "rule", "rule.py")]


@pytest.mark.parametrize(
    "wrong",
    [
        "said_to.people >= here.people",
        "said_to.people < here.people",
        "(said_to.id,) == (here.id,)",
        "(said_to.platform,) == (here.platform,)",
        "(said_to.platform, said_to.id) == (here.platform, here.id) or said_to.people <= here.people",
        "here.is_owner or not said_to.hidden",
        "said_to.hidden",
        "False",
        "4",
        "return None",
        "SELECT id FROM turns WHERE place = ? AND id > ? ORDER BY id DESC",
        "SELECT id FROM turns WHERE place = ? OR id >= ? ORDER BY id DESC",
        "SELECT id FROM turns WHERE place != ? AND id >= ? ORDER BY id DESC",
        "SELECT id FROM turns WHERE place = ? AND id >= ? ORDER BY id ASC",
    ],
)
def test_each_wrong_form_of_a_rule_can_be_planted(wrong: str) -> None:
    """Signs turned round, a platform left out of a comparison, a query that asks for other rows."""
    assert wrong in planted()


def test_a_function_the_module_itself_calls_has_its_faults_planted_before_it_is_imported() -> None:
    """It builds its table once; a fault put into it later would change nothing."""
    row = "    def row(key):\n        return key, 4\n"
    source = (
        f"def table():\n{row}    return {{1: lambda: 2, 5: row}}\n\ndef later():\n    return 3\n\nTABLE = table()\n"
    )
    calling = source.replace("5: row", "5: row(6)")

    assert {fault.original: fault.at_import for fault in find_faults(source, "rule", "rule.py")} == {
        "return {1: lambda: 2, 5: row}": True,
        "1": True,
        "2": False,
        "5": True,
        "return (key, 4)": False,
        "4": False,
        "return 3": False,
        "3": False,
    }
    at_import = {fault.original for fault in find_faults(calling, "rule", "rule.py") if fault.at_import}
    assert at_import == {"return {1: lambda: 2, 5: row(6)}", "1", "5", "6", "return (key, 4)", "4"}


def test_every_fault_makes_a_module_that_compiles_and_differs() -> None:
    """In one place each, with docstrings as they were."""
    before = ast.unparse(ast.parse(RULE))
    for fault in find_faults(RULE, "rule", "rule.py"):
        tree = plant(RULE, fault)
        compile(tree, "rule.py", "exec")

        assert ast.unparse(tree) != before
        assert "A rule <= another." in ast.unparse(tree)


def test_a_fault_keeps_its_name_where_lines_move() -> None:
    """An explanation is found by it."""
    assert [each.key for each in find_faults(RULE, "rule", "rule.py")] == [
        each.key for each in find_faults("\n\n# moved\n" + RULE, "rule", "rule.py")
    ]


def test_a_seed_draws_the_same_faults_and_parts_share_them_out() -> None:
    """So that a long run may be done in pieces."""
    faults = faults_of(AREAS["gate"])
    drawn = draw(faults, count=10, seed=5)
    parts = [draw(faults, count=10, seed=5, part=(number, 3)) for number in (1, 2, 3)]

    assert drawn == draw(faults, count=10, seed=5) != draw(faults, count=10, seed=6)
    assert Counter(map(str, drawn)) == Counter(str(fault) for part in parts for fault in part)


@pytest.mark.parametrize("area", sorted(AREAS))
def test_an_area_has_modules_and_tests_that_exist(area: str) -> None:
    """Each is named as it stands on disk."""
    missing = [
        name
        for name in (*(f"src/familiar_connect/{each}.py" for each in AREAS[area].modules), *AREAS[area].tests)
        if not (ROOT / name).exists()
    ]

    assert missing == []


def test_every_explanation_says_why() -> None:
    """In a sentence of its own."""
    assert [key for key, why in read_explained().items() if len(why.split()) < 4] == []


def test_an_explanation_of_what_is_gone_is_told() -> None:
    """Only for modules that were looked at."""
    faults = find_faults(RULE, "rule", "rule.py")
    known, gone, elsewhere = faults[0].key, ("rule", "may_tell", "a", "b"), ("other", "f", "a", "b")

    assert stale_rows([known, gone, elsewhere], faults, ["rule"]) == [gone]


def run(*words: str) -> tuple[int, dict[str, Any]]:
    command = [sys.executable, "-m", "benchmarks.mutants", *words, "--json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)["found"]["gate"]


@pytest.mark.skipif(sys.platform == "win32", reason="the run forks")
def test_faults_in_the_rule_are_noticed_by_its_tests_and_by_no_others() -> None:
    """Four faults in the rule: its tests find them, tests of something else let all of them live, no file changes."""
    rule = ("--area", "gate", "--module", "audience", "--function", "may_tell", "--count", "4", "--seed", "2")
    before = (ROOT / "src/familiar_connect/audience.py").read_bytes()
    _, found = run(*rule, "--tests", "tests/test_audience.py")
    missed, survivors = run(*rule, "--tests", "tests/context/test_slots.py")
    killed = [each for each in found["faults"] if each["state"] == "killed"]

    assert (len(found["faults"]), len(killed) >= 3) == (4, True)
    assert {each["test"].partition("::")[0] for each in killed} == {"tests/test_audience.py"}
    assert (missed, [each["state"] for each in survivors["faults"]]) == (1, ["unreached"] * 4)
    assert (ROOT / "src/familiar_connect/audience.py").read_bytes() == before
