"""import document: texts, web pages and PDFs into memory, where every reply can look something up in them."""

from __future__ import annotations

from pathlib import Path

import click

from familiar_connect.bootstrap.import_document import ImportedDocument, import_document
from familiar_connect.commands.common import familiar_option, home_of, json_option, progress_bar, root_of, say, say_json
from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.errors import FamiliarError
from familiar_connect.memory.store import MemoryStore

EPILOG = """\b
Examples:
  familiar import document handbook.pdf
  familiar import document rules.md story.txt page.html
  familiar import document rules.md --channel kitchen     for #kitchen only, where channel_memory_enabled is set
Reads plain text, Markdown, HTML and PDF. The files are in memory/documents; edit them like any other.
Exit codes: 0 everything is imported; 1 something could not be imported.
"""


@click.command(name="document", epilog=EPILOG)
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE…")
@click.option("--title", help="Its title and file name; for one file only.")
@click.option(
    "--channel", "channels", multiple=True, metavar="NAME", help="Use it in this channel only; may be repeated."
)
@click.option("--replace", is_flag=True, help="Replace a document of the same name; `memory log` keeps the old text.")
@familiar_option
@json_option
@click.pass_context
def import_document_command(
    ctx: click.Context,
    files: tuple[Path, ...],
    title: str | None,
    channels: tuple[str, ...],
    replace: bool,
    familiar_id: str | None,
    as_json: bool,
) -> int:
    """Import documents into memory; replies look up what is relevant."""
    if title is not None and len(files) > 1:
        raise click.UsageError("--title names one document: import the others separately")
    root = root_of(ctx, familiar_id)
    store = MemoryStore(FamiliarFolder(root).memory, audit_dir=FamiliarFolder(root).audit)
    taken: list[ImportedDocument] = []
    errors: list[str] = []
    try:
        with progress_bar("documents", quiet=as_json) as progress:
            for done, file in enumerate(files):
                if progress is not None:
                    progress(done, len(files))
                try:
                    taken.append(
                        import_document(store, file, home=home_of(ctx), title=title, channels=channels, replace=replace)
                    )
                except FamiliarError as error:
                    errors.append(str(error))
            if progress is not None:
                progress(len(files), len(files))
    except KeyboardInterrupt:
        say(f"{len(taken)} of {len(files)} documents are fully imported; run it again for the others.", err=True)
        raise
    finally:
        if store.audit is not None:
            store.audit.close()
    if as_json:
        say_json({"documents": [_facts(each) for each in taken], "errors": errors})
        return 1 if errors else 0
    for each in taken:
        say(_told(each))
    for sentence in errors:
        say(f"familiar: {sentence}", err=True)
    return 1 if errors else 0


def _facts(document: ImportedDocument) -> dict[str, object]:
    return {
        "title": document.title,
        "files": list(document.paths),
        "pages": document.pages,
        "characters": document.chars,
        "changed": document.changed,
    }


def _told(document: ImportedDocument) -> str:
    files = document.paths[0] if len(document.paths) == 1 else f"{document.paths[0]} and {len(document.paths) - 1} more"
    if not document.changed:
        return f"Already there: memory/{files}"
    pages = f"{document.pages} pages, " if document.pages > 1 else ""
    return f"Imported {document.title}: memory/{files} ({pages}{document.chars:,} characters)"
