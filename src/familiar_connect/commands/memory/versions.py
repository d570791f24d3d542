"""memory log, diff, blame, why, restore: what a file said before, who changed it, and from whose words."""

from __future__ import annotations

from typing import Any

import click

from familiar_connect.commands.common import familiar_option, json_option, say, say_below, say_json
from familiar_connect.commands.memory.browse import parse_version
from familiar_connect.commands.memory.session import MemorySession, minute_stamp, open_session, version_label
from familiar_connect.config.built_in import EXAMPLE_PLATFORM
from familiar_connect.errors import MemoryStoreError
from familiar_connect.memory.types import RemovedLine, Version
from familiar_connect.memory.versioning.versions import LineChange
from familiar_connect.support.text import one_line, truncate_chars

QUOTE_CHARS = 200

LOG_EPILOG = """\b
Examples:
  familiar memory log                     the latest changes of all files
  familiar memory log Alice               when did the belief about Alice change
  familiar memory log notes.md --last 5 --json
"""
DIFF_EPILOG = """\b
Examples:
  familiar memory diff Alice              what the latest change did
  familiar memory diff Alice 2 5
"""
WHY_EPILOG = f"""\b
Examples:
  familiar memory why people/{EXAMPLE_PLATFORM}-1.md
  familiar memory why Alice --json
"""
RESTORE_EPILOG = """\b
Examples:
  familiar memory restore Alice 3         what is there now becomes a version too
"""


@click.command(epilog=LOG_EPILOG)
@click.argument("file", required=False)
@click.option("--last", default=50, show_default=True, type=click.IntRange(min=1), help="How many changes to show.")
@familiar_option
@json_option
@click.pass_context
def log(ctx: click.Context, file: str | None, last: int, familiar_id: str | None, as_json: bool) -> int:
    """Show when FILE, or every file, changed: version, time, lines added and removed, who did it and why lines went."""
    with open_session(ctx, familiar_id) as memory:
        path = memory.find_file(file) if file else None
        memory.notice_hand_edits(path)
        found = memory.versions.log(path, last=last)
        changes = [_change(memory, version) for version in found]
        lost = [change for change in changes if isinstance(change, str)]
        if as_json:
            say_json([_facts(memory, version, change) for version, change in zip(found, changes, strict=True)])
        else:
            for version, change in zip(found, changes, strict=True):
                name = "" if path else f"  {version.rel_path}"
                say_below(f"v{version.number:<4} ", _line(version, change) + name)
                for text, removed in memory.versions.removals_of(version):
                    words = truncate_chars(one_line(text).removeprefix("- "), QUOTE_CHARS)
                    say_below("        gone: ", f"“{words}”, {removal_reason(removed)}")
        if not found and not as_json:
            say(f"{path} is not in the log: the program has never changed it" if path else "No changes.")
        if lost:
            say(f"familiar: {lost[0]}; `familiar doctor` checks them all", err=True)
    return 1 if lost else 0


@click.command(epilog=DIFF_EPILOG)
@click.argument("file")
@click.argument("older", required=False)
@click.argument("newer", required=False)
@familiar_option
@json_option
@click.pass_context
def diff(
    ctx: click.Context, file: str, older: str | None, newer: str | None, familiar_id: str | None, as_json: bool
) -> None:
    """Compare two versions of FILE: the last two, OLDER with the newest, or OLDER with NEWER."""
    with open_session(ctx, familiar_id) as memory:
        path = memory.find_file(file)
        memory.notice_hand_edits(path)
        newest = memory.versions.log(path, last=1)
        if not newest:
            raise MemoryStoreError(f"{path} has no versions: the program has never changed it")
        last = parse_version(newer) if newer else newest[0].number
        first = parse_version(older) if older else newest[0].number - 1
        if first == 0:
            text = memory.versions.show(path, last)
            changes = "\n".join(f"+{line}" for line in text.splitlines())
        else:
            changes = memory.versions.diff(path, first, last)
        if as_json:
            say_json({"file": path, "diff": changes})
        else:
            say_changes(changes or f"{path} is the same in both")


@click.command(epilog="\b\nExamples:\n  familiar memory blame Alice\n")
@click.argument("file")
@familiar_option
@json_option
@click.pass_context
def blame(ctx: click.Context, file: str, familiar_id: str | None, as_json: bool) -> None:
    """Show for each line of FILE which version added it, when, and who made that version."""
    from familiar_connect.memory.versioning.blame import blame_lines as blame_lines

    with open_session(ctx, familiar_id) as memory:
        path = memory.find_file(file)
        memory.notice_hand_edits(path)
        lines = blame_lines(memory.versions, path, memory.store.read_file(path))
        if as_json:
            rows = [{"line": line.number, "text": line.text, **_origin(line.version)} for line in lines]
            say_json(rows)
            return
        width = max((len(version_label(line.version)) for line in lines), default=0)
        for line in lines:
            say(f"{version_label(line.version):<{width}}  {line.number:>4}  {line.text}")


@click.command(epilog=WHY_EPILOG)
@click.argument("file")
@familiar_option
@json_option
@click.pass_context
def why(ctx: click.Context, file: str, familiar_id: str | None, as_json: bool) -> None:
    """Show the words each part of FILE came from; for parts without any, who wrote them."""
    from familiar_connect.memory.versioning.blame import explain_parts as reasons_of

    with open_session(ctx, familiar_id) as memory:
        path = memory.find_file(file)
        memory.notice_hand_edits(path)
        reasons = reasons_of(
            memory.store.read_file(path),
            path,
            familiar_id=memory.familiar_id,
            history=memory.history,
            provenance=memory.provenance,
            versions=memory.versions,
        )
        if as_json:
            say_json([_reason_facts(reason) for reason in reasons])
            return
        with_names = memory.name_filler()
        heading = None
        for reason in reasons:
            if reason.part.heading != heading:
                heading = reason.part.heading
                say(with_names(heading or path), bold=True)
            say(f"  {with_names(one_line(reason.part.text))}")
            for quote in reason.quotes:
                said = truncate_chars(one_line(quote.text), QUOTE_CHARS)
                say(f"      ← {minute_stamp(quote.when)} {quote.who}: “{said}” (turn {quote.turn_id})")
            if len(reason.turns) > len(reason.quotes):
                say(f"      ← {len(reason.turns) - len(reason.quotes)} more turns")
            if not reason.turns:
                say(f"      ← {version_label(reason.version)}")


@click.command(epilog=RESTORE_EPILOG)
@click.argument("file")
@click.argument("version")
@familiar_option
@json_option
@click.pass_context
def restore(ctx: click.Context, file: str, version: str, familiar_id: str | None, as_json: bool) -> None:
    """Restore a VERSION of FILE. Nothing is lost: what is there now becomes a version too."""
    with open_session(ctx, familiar_id) as memory:
        path = memory.find_file(file)
        memory.notice_hand_edits(path)
        wanted = memory.versions.find(path, parse_version(version))
        is_there = memory.audit.last_hash(path) == wanted.content_hash
        chosen = wanted if is_there else memory.versions.restore(memory.store, path, parse_version(version))
        now = memory.versions.log(path, last=1)[0]
        if as_json:
            say_json({"file": path, "restored": chosen.number, "version": now.number, "changed": not is_there})
        elif is_there:
            say(f"{path} already matches version {chosen.number}; nothing was changed")
        else:
            say(f"{path} matches version {chosen.number} again; this is version {now.number}")


def removal_reason(removed: RemovedLine) -> str:
    """Why a line went, in words."""
    if removed.reason == "outdated":
        return f"out of date since turn {removed.turn}" if removed.turn is not None else "out of date"
    return {
        "archived": "moved to the archive",
        "extended": "a new line says it and more",
        "renamed": "they gave their name",
        "duplicate": "another line says it",
        "moved": "moved to another file",
    }.get(removed.reason, removed.reason)


def say_changes(changes: str) -> None:
    """A diff with its colours; click leaves them out where nobody sees them."""
    colours = {"+": "green", "-": "red", "@": "cyan"}
    for line in changes.splitlines():
        say(line, fg=colours.get(line[:1]))


def _change(memory: MemorySession, version: Version) -> LineChange | str:
    """What a version changed, or the sentence that says which of its texts is lost."""
    try:
        return memory.versions.change_of(version)
    except MemoryStoreError as error:
        return str(error)


def _line(version: Version, found: LineChange | str) -> str:
    entry = version.entry
    change = "deleted" if version.content_hash is None else "lost" if isinstance(found, str) else str(found)
    run = f"  run {entry.run_id}" if entry.run_id else ""
    turns = f"  turns {entry.turn_range[0]}–{entry.turn_range[1]}" if entry.turn_range and entry.turn_range[1] else ""
    return f"{minute_stamp(entry.timestamp)}  {change:>9} lines  {entry.source}{run}{turns}"


def _facts(memory: MemorySession, version: Version, change: LineChange | str) -> dict[str, object]:
    entry = version.entry
    return {
        "file": version.rel_path,
        **_origin(version),
        "operation": entry.operation,
        "bytes": entry.bytes_written,
        "turns": entry.turn_range,
        "added": None if isinstance(change, str) else change.added,
        "removed": None if isinstance(change, str) else change.removed,
        "removed_lines": [
            {"text": text, "reason": removed.reason, "turn": removed.turn}
            for text, removed in memory.versions.removals_of(version)
        ],
        "hash": version.content_hash,
    }


def _origin(version: Version | None) -> dict[str, object]:
    if version is None:
        return {"version": None, "time": None, "source": None, "run": None}
    entry = version.entry
    return {
        "version": version.number,
        "time": entry.timestamp.isoformat(),
        "source": entry.source,
        "run": entry.run_id,
    }


def _reason_facts(reason: Any) -> dict[str, Any]:
    return {
        "heading": reason.part.heading,
        "text": reason.part.text,
        "turns": list(reason.turns),
        "quotes": [
            {"turn": quote.turn_id, "who": quote.who, "time": quote.when.isoformat(), "text": quote.text}
            for quote in reason.quotes
        ],
        **_origin(reason.version),
    }
