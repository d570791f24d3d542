"""Survivors that no test can notice, each with its reason; named by their text, so that moved lines keep them."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from pathlib import Path

from benchmarks.mutants.faults import Fault

EXPLAINED = Path(__file__).with_name("explained.toml")

Key = tuple[str, str, str, str]


def read_explained(file: Path = EXPLAINED) -> dict[Key, str]:
    """The reason of each explained survivor, by module, function, original and planted text."""
    rows = tomllib.loads(file.read_text(encoding="utf-8")).get("survivor", [])
    return {
        (f"familiar_connect.{row['module']}", row["function"], row["original"], row["planted"]): row["why"]
        for row in rows
    }


def stale_rows(explained: Iterable[Key], faults: Iterable[Fault], modules: Iterable[str]) -> list[Key]:
    """Explanations of faults that can no longer be planted in *modules*."""
    known, names = {fault.key for fault in faults}, set(modules)
    return [key for key in explained if key[0] in names and key not in known]
