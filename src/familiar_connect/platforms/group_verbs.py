"""What people type about the lines of a group: the controls of a chat, for every member at once.

`use_group_verb(name, words, controls)` does it and says what it did; whose door it is, *controls* knows.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Protocol

from familiar_connect.errors import HistoryError
from familiar_connect.history.types import HistoryTurn
from familiar_connect.slash.roleplay import MOST_UNDONE, SWIPE_STEPS, read_direction, read_line_number
from familiar_connect.support.text import pluralize

FOR_EVERYBODY: Mapping[str, str] = MappingProxyType(
    {
        "regenerate": "Write the last reply again, for everybody; the old one is kept.",
        "swipe": "Show the next version of the last reply. /swipe back shows the one before.",
        "continue": "Let whoever spoke last go on.",
        "undo": "Remove what you said last and all that was said since, for everybody. /undo 2 goes further back.",
        "edit": "Change a line for everybody: /edit 1 NEW WORDS.",
        "hide": "Keep a line out of everybody's prompts: /hide 1.",
        "unhide": "Show a hidden line to everybody again: /unhide 1.",
        "delete": "Remove one line for everybody: /delete 1.",
        "move": "Move a line one place, for everybody: /move 1 up.",
    }
)
"""Controls that change every member's history alike."""
LINES = "/lines shows them"


class GroupLineControls(Protocol):
    """The lines of one group, at one door."""

    async def regenerate(self, channel_id: int) -> None: ...
    async def swipe(self, channel_id: int, step: int) -> None: ...
    async def continue_reply(self, channel_id: int) -> None: ...
    async def undo(self, channel_id: int) -> None: ...
    async def line_at(self, number: int) -> HistoryTurn:
        """The line with that number, counted from the newest, which is 1."""
        ...

    async def edit(self, channel_id: int, turn_id: int, text: str) -> None: ...
    async def set_hidden(self, turn_id: int, *, is_hidden: bool) -> None: ...
    async def remove(self, channel_id: int, turn_id: int) -> None: ...
    async def move(self, channel_id: int, turn_id: int, step: int) -> int: ...


async def use_group_verb(name: str, words: str, channel_id: int, controls: GroupLineControls) -> str:
    """Do it for everybody; what to say about it, empty where the chat shows it."""
    words = words.strip()
    if name == "regenerate":
        await controls.regenerate(channel_id)
        return ""
    if name == "continue":
        await controls.continue_reply(channel_id)
        return ""
    if name == "swipe":
        if words.lower() not in SWIPE_STEPS:
            raise HistoryError("In a group, say /swipe for the next version or /swipe back.")
        await controls.swipe(channel_id, SWIPE_STEPS[words.lower()])
        return ""
    if name == "undo":
        count = read_line_number(words, "/undo 2 for what you said twice") if words else 1
        for _ in range(min(count, MOST_UNDONE)):
            await controls.undo(channel_id)
        return f"Removed for everybody: {pluralize(min(count, MOST_UNDONE), 'exchange')}."
    return await _use_on_line(name, words, channel_id, controls)


async def _use_on_line(name: str, words: str, channel_id: int, controls: GroupLineControls) -> str:
    number, _, rest = words.partition(" ")
    turn = await controls.line_at(read_line_number(number, f"/{name} 1 for the last line; {LINES}"))
    if name == "edit":
        await controls.edit(channel_id, turn.id, rest.strip())
        return "It reads so for everybody now."
    if name == "delete":
        await controls.remove(channel_id, turn.id)
        return "That line is gone for everybody."
    if name == "move":
        await controls.move(channel_id, turn.id, read_direction(rest))
        return "Moved for everybody."
    await controls.set_hidden(turn.id, is_hidden=name == "hide")
    return "Hidden from everybody's prompts." if name == "hide" else "Back in the chat for everybody."
