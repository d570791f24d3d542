"""What `familiar doctor` prints: what needs doing, what is fine in one line, and the most useful next step."""

from __future__ import annotations

from collections.abc import Iterable

from familiar_connect.commands.common import say, say_below
from familiar_connect.commands.doctor_checks import DoctorFinding
from familiar_connect.support.text import pluralize

MARKS = {"ok": "✓", "warn": "!", "bad": "✗"}
BETTER_MODELS = "shows better ones"
"""Said of a small model that works."""
OPTIONAL_AREAS = ("speech", "voice")
"""Less useful to most people than a better model."""


def report_findings(findings: Iterable[DoctorFinding], *, shows_all: bool) -> list[DoctorFinding]:
    """Print *findings* as they come, those that are fine together unless *shows_all*; all of them."""
    seen = []
    for finding in findings:
        seen.append(finding)
        if shows_all or finding.state != "ok":
            say_below(f"{MARKS[finding.state]} {finding.area:<9} ", finding.says)
    fine = [finding for finding in seen if finding.state == "ok"]
    if fine and not shows_all:
        areas = ", ".join(dict.fromkeys(finding.area for finding in fine))
        say_below(
            f"{MARKS['ok']} ", f"{pluralize(len(fine), 'check')} passed: {areas} (`familiar doctor --all` shows each)"
        )
    say(f"\n{_next_step(seen)}")
    return seen


def _next_step(findings: list[DoctorFinding]) -> str:
    """What helps most now: what is wrong, then what is missing, then what could be better."""
    by_state = {state: [each for each in findings if each.state == state] for state in MARKS}
    if wrong := by_state["bad"]:
        more = f" ({len(wrong) - 1} more after that)" if len(wrong) > 1 else ""
        return f"Next: fix {wrong[0].area} as the first line with ✗ says{more}, then run `familiar doctor` again."
    if any(each.area == "familiar" for each in by_state["warn"]):
        return "Next: `familiar chat` makes your first familiar and starts a chat."
    open_ends = sorted(by_state["warn"], key=lambda each: each.area in OPTIONAL_AREAS)
    if open_ends and open_ends[0].area not in OPTIONAL_AREAS:
        return f"Nothing is wrong. The line with ! about {open_ends[0].area} says what you can improve."
    if any(BETTER_MODELS in each.says for each in by_state["ok"]):
        return "Nothing is wrong. Next: `familiar model list` shows better models for this computer."
    return "Nothing is wrong. Next: `familiar chat` starts a chat."
