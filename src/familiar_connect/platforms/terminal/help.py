"""What the terminal offers: its commands in the order people need them, and the nearest to one mistyped."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from familiar_connect.slash.command import SlashCommand
from familiar_connect.slash.registry import COMMANDS
from familiar_connect.support.word_wrap import display_width, wrap_words

OWN_COMMANDS = {
    "name": "What I call you. /name NAME changes it.",
    "persona": "Who I am, and who you are to me. /persona TEXT sets who you are.",
    "upgrade": "Get a better model while we talk, or type /upgrade never to stop the offers.",
    "help": "The commands. /help NAME explains one, /help all each of them.",
    "quit": "Leave. Ctrl-D does too.",
}
"""Commands of the terminal's own, and what others mean here."""
FIRST = {
    "name": "what I call you",
    "persona": "who you are to me",
    "regenerate": "another last reply",
    "swipe": "its next version",
    "undo": "take back the last lines",
    "chat": "your chats, a new one",
    "memory": "what I remember",
    "context": "what the model saw",
    "privacy": "what I may keep of you",
    "preset": "SillyTavern presets",
    "quit": "leave",
}
"""What people use most, in this order; so briefly in a narrow window."""
HABITS = {
    "bg": "/channel-backdrop sets where it takes place.",
    "clear": "/reset starts the chat over.",
    "cut": "/undo removes the last exchange.",
    "del": "/undo removes the last exchange.",
    "delete": "/undo removes the last exchange.",
    "exportchat": "`familiar export chat` saves it to a file.",
    "forget": "/forget-me erases all I keep about you; /reset starts the chat over.",
    "history": "/lines shows the last lines.",
    "load": "/chat NAME switches to another chat; `familiar model use NAME` switches models.",
    "model": "`familiar model list` shows models; `familiar chat -m MODEL` uses another one this time.",
    "new": "/chat new starts another chat.",
    "newchat": "/chat new starts another chat.",
    "redo": "/undo cannot be undone: say it again, or /regenerate rewrites the last reply.",
    "retry": "/regenerate rewrites the last reply.",
    "reroll": "/regenerate rewrites the last reply.",
    "save": "Everything said is kept; `familiar export chat` saves it to a file.",
    "set": "`familiar config show` lists the settings; character.toml holds yours.",
    "show": "/context shows the last prompt, /persona who I am.",
    "sys": "/persona TEXT sets who you are; memory/self/ says who I am.",
    "system": "/persona TEXT sets who you are; memory/self/ says who I am.",
}
"""Commands of other programs, and what they are here."""
KEYS = (
    "Enter sends, Alt-Enter starts a new line. Tab completes, the up arrow shows earlier lines, "
    "Ctrl-C stops a reply, Ctrl-D leaves."
)
ALL = "all"
"""What `/help` is asked for to explain every command."""
MORE = "/help all explains every command, /help NAME one."
RARE = "channel-"
"""How the commands for the mode of a chat begin, of which there are many."""
SENTENCES = re.compile(r"(?<=\.)\s")
NAME_COLUMN = 19
"""A longer name stands on a line of its own."""
WIDE = 60
"""A narrower window shows each meaning below its name."""


def list_slash_commands() -> tuple[SlashCommand, ...]:
    """Commands that make sense where one person sits at one channel."""
    return tuple(each for each in COMMANDS if not each.channels_only and not each.servers_only)


def help_text(width: int, more: Mapping[str, str] = MappingProxyType({}), about: str = "") -> str:
    """The list of commands for a window of *width* columns; *more* are this place's, with their meanings.

    It fits a screen: the first are explained and the others named, where there is room. Where it is *about* one of
    them, that one alone is explained, or all of them; nothing where it is not there.
    """
    meanings = {**{each.name: each.description for each in list_slash_commands()}, **OWN_COMMANDS, **more}
    if about and about.lower() != ALL:
        return help_row(f"/{about}", meanings[about], width) if about in meanings else ""
    first = [*more, *(name for name in FIRST if name in meanings)]
    others = [name for name in meanings if name not in first]
    if about:
        rows = [help_row(f"/{name}", meanings[name], width) for name in (*first, *others)]
        return "\n".join([*rows, "", wrap_words(KEYS, width)])
    if width < WIDE:
        briefly = {**meanings, **FIRST}
        rows = [_indented(f"/{name:<11}{briefly[name]}", 12, width + 12).lstrip() for name in first]
        return "\n".join([*rows, "", wrap_words(MORE, width)])
    rows = [help_row(f"/{name}", SENTENCES.split(meanings[name])[0], width) for name in first]
    shown = sorted(f"/{name}" for name in others if not name.startswith(RARE))
    named = wrap_words(f"Others: {', '.join(shown)}", width)
    return "\n".join([*rows, "", named, "", wrap_words(f"{MORE} {KEYS}", width)])


def help_row(name: str, meaning: str, width: int, *, names: int = NAME_COLUMN) -> str:
    """What is typed and what it does, side by side where *width* columns have room for it; *names* is the left part."""
    if width < WIDE:
        return f"{name}\n{_indented(meaning, 4, width)}"
    rest = _indented(meaning, names + 2, width)
    return f"  {name}\n{rest}" if display_width(name) >= names else f"  {name:<{names}}{rest.lstrip()}"


def _indented(text: str, column: int, width: int) -> str:
    lines = wrap_words(text, max(1, width - column)).split("\n")
    return "\n".join(" " * column + line for line in lines)


def hint_for(name: str, more: Iterable[str] = ()) -> str:
    """What to tell somebody who typed a command that is not there; *more* are this place's."""
    if (habit := HABITS.get(name.lower())) is not None:
        return habit
    near = nearest_command(name, more)
    return f"Did you mean /{near}?" if near else "Type /help to see what there is."


def nearest_command(name: str, more: Iterable[str] = ()) -> str | None:
    """The command that somebody who typed *name* most likely means; *more* are this place's."""
    names: Iterable[str] = [*OWN_COMMANDS, *more, *(each.name for each in list_slash_commands())]
    found = difflib.get_close_matches(name.lower(), list(names), n=1, cutoff=0.55)
    starting = [each for each in names if len(name) > 1 and each.startswith(name.lower())]
    return starting[0] if len(starting) == 1 else next(iter(found), None)
