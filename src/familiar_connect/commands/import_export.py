"""import, export: what is carried in and back out. Each kind is loaded when it is called."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import click

from familiar_connect.commands.common import familiar_option, home_of, root_of, say, say_json, say_new_folder
from familiar_connect.commands.lazy_group import CommandTable, LazyGroup
from familiar_connect.commands.usage_hints import KIND_HINTS, explain_file
from familiar_connect.config.folders import FamiliarFolder, HomeFolder
from familiar_connect.errors import HomeError

IMPORTS: CommandTable = {
    "chat": ("import_chat:import_chat_command", "Chats of SillyTavern, ChatGPT and others."),
    "document": ("documents:import_document_command", "Texts, web pages and PDFs to look things up in."),
    "lorebook": ("lorebooks:import_lorebook", "A lorebook, one Markdown file per entry."),
    "preset": ("preset:import_preset", "A SillyTavern preset."),
    "quick-replies": ("quick_replies:import_quick_replies", "Buttons with texts and scripts, from SillyTavern."),
    "sillytavern": ("sillytavern:import_sillytavern", "A whole SillyTavern installation."),
    "list": ("imported_chats:import_list", "List the imported chats."),
    "undo": ("imported_chats:import_undo", "Remove an imported chat and correct memory."),
}
EXPORTS: CommandTable = {
    "card": ("import_export:export_card_command", "The character, as a card SillyTavern reads."),
    "chat": ("chats:export_chat_command", "What was said in a chat, as SillyTavern's jsonl or Markdown."),
    "lorebook": ("lorebooks:export_lorebook", "The lore, as a SillyTavern lorebook."),
    "sillytavern": ("sillytavern:export_sillytavern", "Every familiar, as SillyTavern keeps them."),
}
FORMATS = ("png", "json", "charx")
CARD_EPILOG = """\b
Examples:
  familiar export card                       a PNG in the home's exports folder
  familiar export card -o mira.png --familiar mira
  familiar export card -o -                  JSON on the screen
"""


class ImportKinds(LazyGroup):
    """What can be brought along; a file that stands where its kind belongs is told where it goes."""

    def explain_unknown(self, words: list[str]) -> str:
        return f" {explain_file(words[0])}".rstrip()


import_ = ImportKinds(
    table=IMPORTS,
    noun="kind",
    hints=KIND_HINTS,
    name="import",
    help="Import chats, documents, lore or presets. To make a familiar from a card, see `init`.",
)
export = LazyGroup(table=EXPORTS, noun="kind", name="export", help="Export something for SillyTavern.")


@click.command(name="card", epilog=CARD_EPILOG)
@familiar_option
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="The file to write; - is the screen (JSON)."
)
@click.option("--format", "form", type=click.Choice(FORMATS), help="Default: by the file's ending, else png.")
@click.pass_context
def export_card_command(ctx: click.Context, familiar_id: str | None, output: Path | None, form: str | None) -> None:
    """Write the character as a V3 card, with what you edited in memory/self."""
    from familiar_connect.bootstrap.export_card import CardFormat, export_card
    from familiar_connect.memory.store import MemoryStore
    from familiar_connect.support.files import atomic_write

    root = root_of(ctx, familiar_id)
    ending = output.suffix.lower().lstrip(".") if output else ""
    to_screen = str(output) == "-"
    usual = "json" if to_screen else "png"
    chosen: Any = form or (ending if ending in get_args(CardFormat) else usual)
    if form is None and ending and ending not in FORMATS:
        raise click.UsageError(f"a card cannot be saved as .{ending}: name a .png, .json or .charx file")
    if not FamiliarFolder(root).character.is_dir():
        raise HomeError(f"{root} has no character: memory/self is missing")
    store = MemoryStore(FamiliarFolder(root).memory)
    if to_screen:
        if chosen != "json":
            raise click.UsageError("only JSON goes to the screen: leave out --format, or name a file")
        say_json(json.loads(export_card(store, root.name, "json")))
        return
    target = output.resolve() if output else HomeFolder(home_of(ctx)).exports / f"{root.name}.{chosen}"
    if target.is_dir():
        target = target / f"{root.name}.{chosen}"
    data = export_card(store, root.name, chosen)
    if output:
        say_new_folder(target)
    atomic_write(target, data)
    say(f"Wrote {target} ({len(data):,} bytes). In SillyTavern: Characters, Import.")
