"""CaseResult: what came of one vector."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CaseResult:
    """One vector compared with what we make of it."""

    kind: str
    """`cards`, `lorebooks`, `macros` or `prompts`."""
    name: str
    passed: bool
    difference: str = ""
    """The first difference, as one sentence; empty where there is none."""
    out_of_scope: bool = False
    """Rests on something that is deliberately not ours; counted apart."""
