"""Rows that several trials print alike: what became of what was said, and of those who asked."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.table import Row


def heard_row(name: str, heard: Mapping[str, int]) -> Row:
    """All that was said is stored, once, in order."""
    wrong = heard["lost"] + heard["twice"] + heard["disordered"]
    value = f"{heard['lost']}, {heard['twice']}, {heard['disordered']} of {heard['said']:,}"
    return Row(name=name, value=value, bar="0", ok=not wrong)


def asked_row(answers: Mapping[str, int], *, bar: str, ok: bool) -> Row:
    """What whoever asked got; *ok* says whether that will do here."""
    return Row(
        name=f"of {answers['asked']} that asked: answered, reported, neither, twice",
        value=f"{answers['answered']}, {answers['reported']}, {answers['neither']}, {answers['answered_twice']}",
        bar=bar,
        ok=ok,
    )
