"""What stands below an answer: lists to choose from. What is chosen there is used as a command's words.

An id says which command is meant and which words come first, so that nothing has to be kept, and a choice made after
a restart is understood.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from familiar_connect.api.commands import OptionKind, SlashPicker

PREFIX = "use"
MAX_ID = 100
MAX_PICKED = 25


def name_use(command: str, words: str = "") -> str:
    """The id of something that uses *command* with *words*."""
    return f"{PREFIX}:{command}:{words}"[:MAX_ID]


def read_use(data: Mapping[str, Any]) -> tuple[str, str] | None:
    """The command that is meant, and its words with what was chosen; None: it is nothing of ours."""
    prefix, _, rest = str(data.get("custom_id") or "").partition(":")
    name, _, words = rest.partition(":")
    if prefix != PREFIX or not name:
        return None
    chosen = [str(each) for each in data.get("values") or ()][:MAX_PICKED]
    return name, " ".join(filter(None, (words, *chosen)))


def draw_pickers(pickers: Sequence[SlashPicker], command: str) -> Any:
    """Each as a list of Discord's own. Discord keeps nothing of it at hand: what is chosen comes as an interaction."""
    import discord

    types = {
        OptionKind.channel: discord.ComponentType.channel_select,
        OptionKind.role: discord.ComponentType.role_select,
        OptionKind.person: discord.ComponentType.user_select,
    }
    listened = [
        discord.ChannelType.text,
        discord.ChannelType.news,
        discord.ChannelType.public_thread,
        discord.ChannelType.private_thread,
    ]
    make_list: Any = discord.ui.Select  # its overloads ask for each type by name
    lists = [
        make_list(
            select_type=types[each.kind],
            custom_id=name_use(command, each.words),
            placeholder=each.label[:150],
            min_values=0 if each.may_be_empty else 1,
            max_values=MAX_PICKED,
            **({"channel_types": listened} if each.kind is OptionKind.channel else {}),
        )
        for each in pickers
        if each.kind in types
    ]
    return discord.ui.View(*lists, timeout=None, store=False)
