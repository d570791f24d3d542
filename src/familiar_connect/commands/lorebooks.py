"""import lorebook, export lorebook: SillyTavern lorebooks into memory, and lore back into one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict
from pathlib import Path

import click

from familiar_connect.bootstrap.export_silly_tavern import DEFAULT_FOLDER, export_silly_tavern_lorebook
from familiar_connect.bootstrap.import_silly_tavern import (
    DEFAULT_TARGET,
    BookCounts,
    ImportResult,
    count_entries,
    import_book,
)
from familiar_connect.bootstrap.lorebook_files.books import read_book_file
from familiar_connect.commands.common import (
    familiar_option,
    json_option,
    progress_bar,
    root_of,
    say,
    say_json,
    say_new_folder,
)
from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.errors import HomeError
from familiar_connect.memory.store import MemoryStore
from familiar_connect.support.files import atomic_write

IMPORT_EPILOG = """\b
Examples:
  familiar import lorebook Eldoria.json
  familiar import lorebook Eldoria.json --force       replace files of an earlier import
  familiar import lorebook story.lorebook --folder lore/story
Reads SillyTavern world info, character books (V2, V3), NovelAI (also inside a PNG), Agnai and RisuAI.
Exit codes: 0 everything is imported; 1 something could not be imported.
"""
EXPORT_EPILOG = """\b
Examples:
  familiar export lorebook -o Eldoria.json
  familiar export lorebook --folder lore/imported > Eldoria.json
Exit codes: 0 all was exported; 1 nothing to export, or a file could not be read.
"""
MOST_SHOWN = 20
"""Lines of one kind in a report; --json has them all."""


@click.command(name="lorebook", epilog=IMPORT_EPILOG)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--folder", default=DEFAULT_TARGET, show_default=True, help="Where in memory the files go.")
@click.option("--force", is_flag=True, help="Replace files that exist; their text stays in `memory log`.")
@familiar_option
@json_option
@click.pass_context
def import_lorebook(
    ctx: click.Context, file: Path, folder: str, force: bool, familiar_id: str | None, as_json: bool
) -> int:
    """Import a lorebook into memory, one Markdown file per entry.

    Disabled entries get no file but come back on export. Existing files stay as they are unless you say --force.
    """
    root = root_of(ctx, familiar_id)
    book = read_book_file(file)
    with _memory(root) as store, progress_bar("entries", quiet=as_json) as progress:
        result = import_book(store, book, target_dir=folder, force=force, progress=progress)
    counts = count_entries(book)
    if as_json:
        said = {"written": result.written, "skipped": result.skipped, "errors": result.errors}
        say_json({**said, "entries": asdict(counts)})
    else:
        _report(result, folder, root.name)
        say(describe_counts(counts))
    return 1 if result.errors else 0


@click.command(name="lorebook", epilog=EXPORT_EPILOG)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The file to write; - (the default) is the screen.",
)
@click.option("--folder", default=DEFAULT_FOLDER, show_default=True, help="The folder of memory to export.")
@familiar_option
@click.pass_context
def export_lorebook(ctx: click.Context, output: Path | None, folder: str, familiar_id: str | None) -> int:
    """Write lore as a lorebook that SillyTavern imports.

    Entries that came from a lorebook keep all their settings; your edits to title, keywords and text win.
    """
    root = root_of(ctx, familiar_id)
    with _memory(root) as store:
        if not (store.root / folder).is_dir():
            raise HomeError(
                f"{root.name} has no {folder} in its memory: choose a folder that `familiar memory list` shows"
            )
        result = export_silly_tavern_lorebook(store, folder=folder)
    for sentence in result.errors[:MOST_SHOWN]:
        say(f"familiar: {sentence}", err=True)
    if len(result.errors) > MOST_SHOWN:
        say(f"familiar: and {len(result.errors) - MOST_SHOWN} more", err=True)
    count = len(result.book["entries"])
    if count == 0:
        raise HomeError(f"there is no lore in {folder} of {root.name}: write some, or `familiar import lorebook FILE`")
    if output is None or str(output) == "-":
        say_json(result.book)
    else:
        say_new_folder(output.resolve())
        atomic_write(output.resolve(), json.dumps(result.book, ensure_ascii=True, indent=4) + "\n")
        say(f"{count} {'entry' if count == 1 else 'entries'} written to {output}")
    return 1 if result.errors else 0


def describe_counts(counts: BookCounts) -> str:
    """The entries of a book in numbers."""
    off = f"{counts.off} off" + (" (without a file; back on export)" if counts.off else "")
    return (
        f"{counts.entries} {'entry' if counts.entries == 1 else 'entries'}: {counts.constant} constant (pinned, always "
        f"in the prompt), {counts.keyed} with keys, {counts.by_search} without (found by search), {off}"
    )


def _report(result: ImportResult, folder: str, familiar_id: str) -> None:
    for sentence in result.errors[:MOST_SHOWN]:
        say(f"familiar: {sentence}", err=True)
    if len(result.errors) > MOST_SHOWN:
        say(f"familiar: and {len(result.errors) - MOST_SHOWN} more", err=True)
    for path in result.written[:MOST_SHOWN]:
        say(f"  {path}")
    if len(result.written) > MOST_SHOWN:
        say(f"  … and {len(result.written) - MOST_SHOWN} more")
    say(
        f"{len(result.written)} written to {folder} of {familiar_id}, {len(result.skipped)} there already, "
        f"{len(result.errors)} not imported"
    )
    if result.skipped and not result.written:
        say("To replace what is there: --force")


@contextmanager
def _memory(root: Path) -> Iterator[MemoryStore]:
    """The memory of a familiar, made when it has none yet."""
    store = MemoryStore(FamiliarFolder(root).memory, audit_dir=FamiliarFolder(root).audit)
    assert store.audit is not None
    with closing(store.audit):
        yield store
