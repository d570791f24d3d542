"""What the terminal offers: its commands in the order people need them, and the nearest to one mistyped."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from familiar_connect.slash.command import SlashCommand
from familiar_connect.slash.registry import COMMANDS
from familiar_connect.support.translate import later, tr
from familiar_connect.support.word_wrap import display_width, wrap_words

OWN_COMMANDS = {
    "name": later("What I call you. /name NAME changes it."),
    "persona": later("Who I am, and who you are to me. /persona TEXT sets who you are."),
    "upgrade": later("Get a better model while we talk, or type /upgrade never to stop the offers."),
    "help": later("The commands. /help NAME explains one, /help all each of them."),
    "quit": later("Leave. Ctrl-D does too."),
}
"""Commands of the terminal's own, and what others mean here."""
FIRST = {
    "name": later("what I call you"),
    "persona": later("who you are to me"),
    "regenerate": later("another last reply"),
    "swipe": later("its next version"),
    "undo": later("take back the last lines"),
    "chat": later("your chats, a new one"),
    "memory": later("what I remember"),
    "context": later("what the model saw"),
    "privacy": later("what I may keep of you"),
    "preset": later("SillyTavern presets"),
    "quit": later("leave"),
}
"""What people use most, in this order; so briefly in a narrow window."""
HABITS = {
    "bg": later("/channel-backdrop sets where it takes place."),
    "clear": later("/reset starts the chat over."),
    "cut": later("/undo removes the last exchange."),
    "del": later("/undo removes the last exchange."),
    "delete": later("/undo removes the last exchange."),
    "exportchat": later("`familiar export chat` saves it to a file."),
    "forget": later("/forget-me erases all I keep about you; /reset starts the chat over."),
    "history": later("/lines shows the last lines."),
    "load": later("/chat NAME switches to another chat; `familiar model use NAME` switches models."),
    "model": later("`familiar model list` shows models; `familiar chat -m MODEL` uses another one this time."),
    "new": later("/chat new starts another chat."),
    "newchat": later("/chat new starts another chat."),
    "redo": later("/undo cannot be undone: say it again, or /regenerate rewrites the last reply."),
    "retry": later("/regenerate rewrites the last reply."),
    "reroll": later("/regenerate rewrites the last reply."),
    "save": later("Everything said is kept; `familiar export chat` saves it to a file."),
    "set": later("`familiar config show` lists the settings; character.toml holds yours."),
    "show": later("/context shows the last prompt, /persona who I am."),
    "sys": later("/persona TEXT sets who you are; memory/self/ says who I am."),
    "system": later("/persona TEXT sets who you are; memory/self/ says who I am."),
}
"""Commands of other programs, and what they are here."""
KEYS = later(
    "Enter sends, Alt-Enter starts a new line. Tab completes, the up arrow shows earlier "
    "lines, Ctrl-C stops a reply, Ctrl-D leaves."
)
ALL = "all"
"""What `/help` is asked for to explain every command."""
MORE = later("/help all explains every command, /help NAME one.")
RARE = "channel-"
"""How the commands for the mode of a chat begin, of which there are many."""
SENTENCES = re.compile(r"(?<=\.)\s|(?<=。)")
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
    meanings = {**{each.name: tr(each.description) for each in list_slash_commands()}, **_own_commands(), **more}
    if about and about.lower() != ALL:
        return help_row(f"/{about}", meanings[about], width) if about in meanings else ""
    first = [*more, *(name for name in FIRST if name in meanings)]
    others = [name for name in meanings if name not in first]
    if about:
        rows = [help_row(f"/{name}", meanings[name], width) for name in (*first, *others)]
        return "\n".join([*rows, "", wrap_words(tr(KEYS), width)])
    if width < WIDE:
        briefly = {**meanings, **{name: tr(meaning) for name, meaning in FIRST.items()}}
        rows = [_indented(f"/{name:<11}{briefly[name]}", 12, width + 12).lstrip() for name in first]
        return "\n".join([*rows, "", wrap_words(tr(MORE), width)])
    rows = [help_row(f"/{name}", SENTENCES.split(meanings[name])[0], width) for name in first]
    shown = sorted(f"/{name}" for name in others if not name.startswith(RARE))
    named = wrap_words(tr("Others: {names}").format(names=", ".join(shown)), width)
    return "\n".join([*rows, "", named, "", wrap_words(f"{tr(MORE)} {tr(KEYS)}", width)])


def _own_commands() -> dict[str, str]:
    return {name: tr(meaning) for name, meaning in OWN_COMMANDS.items()}


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
        return tr(habit)
    near = nearest_command(name, more)
    return tr("Did you mean /{near}?").format(near=near) if near else tr("Type /help to see what there is.")


def nearest_command(name: str, more: Iterable[str] = ()) -> str | None:
    """The command that somebody who typed *name* most likely means; *more* are this place's."""
    names: Iterable[str] = [*OWN_COMMANDS, *more, *(each.name for each in list_slash_commands())]
    found = difflib.get_close_matches(name.lower(), list(names), n=1, cutoff=0.55)
    starting = [each for each in names if len(name) > 1 and each.startswith(name.lower())]
    return starting[0] if len(starting) == 1 else next(iter(found), None)
