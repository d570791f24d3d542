"""PinnedProvider: files that their owner wants in every prompt, within a budget of their own.

Lore is authored: its macros are read and it is told everywhere. Any other file is told where its front matter says;
one that does not say is the owner's alone.
"""

from __future__ import annotations

from familiar_connect.context.confidence_gate import AUTHORED
from familiar_connect.context.types import FILES_DEADLINE_S, ContextRequest, Contribution, ItemTag, Layer, Priority
from familiar_connect.memory.file_audience import read_audience, without_front_matter
from familiar_connect.memory.lorebooks.entry_markdown import parse_entry
from familiar_connect.memory.pins import PinnedFile, PinnedFiles
from familiar_connect.support.aio import off_loop
from familiar_connect.support.tokens import estimate_tokens

AUTHORED_FOLDERS = ("lore/", "documents/")
CHARACTER_FOLDER = "self/"
"""Its files are in the prompt anyway."""


class PinnedProvider:
    """One contribution for each pinned file."""

    id = "pinned"
    deadline_s = FILES_DEADLINE_S

    def __init__(self, files: PinnedFiles) -> None:
        self._files = files

    async def contribute(self, request: ContextRequest) -> list[Contribution]:
        files = await off_loop(self._files.read)
        return [_contribution(file) for file in files if not file.path.startswith(CHARACTER_FOLDER)]


def _contribution(file: PinnedFile) -> Contribution:
    is_lore = file.path.startswith(AUTHORED_FOLDERS)
    said_to = read_audience(file.text)
    text = text_to_show(file)
    return Contribution(
        Layer.pinned,
        int(Priority.PINNED),
        text,
        estimate_tokens(text),
        f"pinned:{file.path}",
        tag=ItemTag.PINNED,
        authored=is_lore,
        audiences=frozenset({said_to}) if said_to is not None else AUTHORED if is_lore else None,
    )


def text_to_show(file: PinnedFile) -> str:
    """A file as it is shown: lore by its text alone, without the list of keywords; any other whole."""
    if file.path.startswith("lore/"):
        return parse_entry(file.text).content.strip()
    return without_front_matter(file.text).strip()
