"""memory list, show, grep: the files as they are."""

from __future__ import annotations

import click

from familiar_connect.commands.common import familiar_option, json_option, say, say_json, say_verbatim
from familiar_connect.commands.memory.session import minute_stamp, open_session
from familiar_connect.memory.maintenance.links import follow_links
from familiar_connect.memory.maintenance.person_page import PersonPage

LIST_EPILOG = """\b
Examples:
  familiar memory list
  familiar memory list people
  familiar memory list --json
"""
SHOW_EPILOG = """\b
Examples:
  familiar memory show notes.md
  familiar memory show Alice              all that is known about her on one page, and who may hear each part
  familiar memory show Alice 3            as it was in version 3
  familiar memory show topics/tea --links the files it links to
"""
GREP_EPILOG = """\b
Examples:
  familiar memory grep tea
  familiar memory grep 'gr[ae]y' people
  familiar memory grep Alice --case --json
Exit codes: 0 something found, 1 nothing found.
"""


@click.command(name="list", epilog=LIST_EPILOG)
@click.argument("folder", default="")
@familiar_option
@json_option
@click.pass_context
def list_(ctx: click.Context, folder: str, familiar_id: str | None, as_json: bool) -> None:
    """List the memory files, all or those of a FOLDER."""
    with open_session(ctx, familiar_id) as memory:
        wanted = folder.strip("/")
        paths = [path for path in memory.store.list_files() if not wanted or path.startswith(f"{wanted}/")]
        rows = []
        entries = {}
        for path in paths:
            place, _, name = path.rpartition("/")
            if place not in entries:
                entries[place] = {entry.name: entry for entry in memory.store.list_dir(place)}
            entry = entries[place][name]
            rows.append({"file": path, "bytes": entry.size_bytes, "modified": entry.modified.isoformat()})
            if not as_json:
                say(f"{minute_stamp(entry.modified)}  {entry.size_bytes:>8,} B  {path}")
        if as_json:
            say_json({"root": str(memory.store.root), "files": rows})
        elif rows:
            say(f"{len(rows):,} {'file' if len(rows) == 1 else 'files'} in {memory.store.root}")
        else:
            say(f"No memory files{f' in {wanted}' if wanted else ''} yet in {memory.store.root}")


@click.command(epilog=SHOW_EPILOG)
@click.argument("file")
@click.argument("version", required=False)
@click.option("--links", is_flag=True, help="List the files it links to instead.")
@familiar_option
@json_option
@click.pass_context
def show(
    ctx: click.Context, file: str, version: str | None, links: bool, familiar_id: str | None, as_json: bool
) -> None:
    """Print FILE, or one VERSION of it (a number from its log, or the start of a hash).

    A person's name shows one page, however many files there are about them.
    """
    with open_session(ctx, familiar_id) as memory:
        page = memory.find_person_page(file) if version is None and not links else None
        if page is not None:
            _say_page(page, as_json=as_json)
            return
        path = memory.find_file(file)
        if links:
            found = follow_links(memory.store, path)
            if as_json:
                say_json(found)
            else:
                say("\n".join(found) or f"{path} links to no file")
            return
        if version is None:
            text = memory.store.read_bytes(path).decode("utf-8", "replace")
        else:
            text = memory.versions.show(path, parse_version(version))
        if as_json:
            say_json({"file": path, "version": version, "text": text})
        else:
            say_verbatim(text, nl=not text.endswith("\n"))


def _say_page(page: PersonPage, *, as_json: bool) -> None:
    if as_json:
        parts = [{"file": part.rel_path, "heard_by": part.heard_by, "text": part.text} for part in page.parts]
        facts = {"file": page.parts[0].rel_path, "version": None, "text": page.text, "parts": parts}
        say_json({**facts, "left_out": page.left_out})
    else:
        say_verbatim(page.text, nl=False)


@click.command(epilog=GREP_EPILOG)
@click.argument("pattern")
@click.argument("place", default="", metavar="[FILE|FOLDER]")
@click.option("--case", is_flag=True, help="Match upper and lower case.")
@familiar_option
@json_option
@click.pass_context
def grep(ctx: click.Context, pattern: str, place: str, case: bool, familiar_id: str | None, as_json: bool) -> int:
    """Search the files for PATTERN, a regular expression; the first match of each line."""
    with open_session(ctx, familiar_id) as memory:
        hits = memory.store.grep(pattern, place, case_insensitive=not case)
        if as_json:
            rows = [{"file": hit.rel_path, "line": hit.line_number, "text": hit.line_text} for hit in hits]
            say_json(rows)
        for hit in () if as_json else hits:
            start, end = hit.match_start, hit.match_end
            say(f"{hit.rel_path}:{hit.line_number}: {hit.line_text[:start]}", nl=False)
            say(hit.line_text[start:end], nl=False, fg="red", bold=True)
            say(hit.line_text[end:])
        for sentence in hits.left_out:
            say(f"familiar: {sentence}", err=True)
        return 0 if hits else 1


def parse_version(words: str) -> int | str:
    """A version as the owner types it: `3`, `v3`, or the start of a hash."""
    bare = words[1:] if words[:1] in ("v", "V") else words
    return int(bare) if bare.isdecimal() and len(bare) < 8 else words
