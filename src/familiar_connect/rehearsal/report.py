"""How a rehearsal is told: a transcript with ticks and crosses for a person, objects for a script."""

from __future__ import annotations

import hashlib
from fnmatch import fnmatch
from pathlib import Path

from familiar_connect.rehearsal.player import StepResult
from familiar_connect.rehearsal.types import (
    ChangeFile,
    ChangeMembers,
    ChangeRoles,
    ChangeRules,
    ChangeVisibility,
    Edit,
    Expect,
    Hear,
    Kick,
    Proxy,
    React,
    Rehearsal,
    Say,
    Slash,
    Step,
    Upkeep,
)
from familiar_connect.support.no_follow import load_bytes

HELD, FAILED = "✓", "✗"
NOT_LISTED = ("traces/*", "audit/*", "*.db", "*.db-*", "*.lock", "*.last-context.md", "memory/.index/*", "*/.writing/*")
"""Files that hold ids and times of this very run, or that are made from others."""
_UPKEEP = {
    "write_up": "memory is written up",
    "tidy": "memory is looked over",
    "restart": "the familiar is closed and opened again",
    "kill": "the familiar is killed and opened again",
}


def step_as_json(result: StepResult) -> dict[str, object]:
    """One step for a script."""
    return {
        "step": result.step.number,
        "at": result.step.at.isoformat(),
        "in": result.step.place,
        "replies": [reply.text for reply in result.replies],
        "posted": [list(reply.pieces) for reply in result.replies],
        "replies_in": [reply.place for reply in result.replies],
        "answers": result.answers,
        "notices": [notice.text for notice in result.notices],
        "calls": [
            {"slot": call.slot, "messages": [message.to_dict() for message in call.messages]} for call in result.calls
        ],
        "withheld": result.withheld,
        "dropped": result.dropped,
        "failed": result.failed,
    }


def file_hashes(root: Path) -> dict[str, str]:
    """Path → SHA-256 of what a person would look at in the familiar's folder. It reads them all."""
    found = {}
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if path.is_file() and not path.is_symlink() and not any(fnmatch(name, pattern) for pattern in NOT_LISTED):
            found[name] = hashlib.sha256(load_bytes(path)).hexdigest()
    return found


def step_as_text(result: StepResult, rehearsal: Rehearsal, name: str) -> str:
    """One step for a person; *name* is what the familiar is called."""
    lines = [f"{result.step.at:%Y-%m-%d %H:%M}  {_told(result.step, rehearsal)}"]
    mark = " " * 18
    if result.note and not isinstance(result.step.action, Say | Hear):
        lines.append(f"{mark}{result.note}")
    lines += [f"{mark}  {answer}" for answer in result.answers]
    lines += [f"{mark}[{reply.place}] {name}: {piece}" for reply in result.replies for piece in reply.pieces]
    lines += [f"{mark}[{notice.place}] ({notice.text})" for notice in result.notices]
    if isinstance(result.step.action, Expect) and not result.failed:
        lines[0] += f"  {HELD}"
    lines += [f"{mark}{FAILED} step {result.step.number}: {sentence}" for sentence in result.failed]
    return "\n".join(lines)


def _told(step: Step, rehearsal: Rehearsal) -> str:
    action = step.action

    def name_of(person: str) -> str:
        return rehearsal.people[person].name

    match action:
        case Say():
            return f"[{action.place}] {name_of(action.person)}: {action.text}"
        case Hear():
            return f"[{action.place}] {action.message.author.label}: {action.message.text}"
        case Edit():
            change = "is deleted" if action.text is None else f"now reads: {action.text}"
            return f"[{action.place}] message {action.target!r} {change}"
        case React():
            return f"[{action.place}] {name_of(action.person)} reacts to {action.target!r}: {action.emoji}"
        case Slash():
            return f"[{action.place}] {name_of(action.person)}: /{action.command} {action.words}".rstrip()
        case ChangeFile():
            return f"file {action.path}: {action.how}"
        case ChangeMembers():
            return f"[{action.place}] {name_of(action.person)} {'joins' if action.joins else 'leaves'}"
        case ChangeVisibility():
            return f"[{action.place}] is {'hidden' if action.hides else 'open to everybody'} now"
        case Proxy():
            return f"[{action.place}] {name_of(action.say.person)}, as {action.name}: {action.say.text}"
        case ChangeRules():
            return f"[{action.place}] {', '.join(action.names)} can{'' if action.allows else 'not'} read it now"
        case ChangeRoles():
            each = (f"{name_of(person)}: {', '.join(roles) or 'none'}" for person, roles in action.roles.items())
            return f"roles are {'; '.join(each)} now"
        case Kick():
            return f"{name_of(action.person)} is thrown off {_server_name(rehearsal, action.server_id)}"
        case Upkeep():
            return _UPKEEP[action.what]
        case Expect():
            return "expected"


def _server_name(rehearsal: Rehearsal, server_id: int | None) -> str:
    named = (place.server_name for place in rehearsal.places.values() if place.server_id == server_id)
    return (next(named, None) if server_id is not None else None) or "every server"
