"""Greetings: alternate ones as one text, a line between each two that an owner can edit; and the program's own."""

from __future__ import annotations

import re
from collections.abc import Iterable

GREETING_BREAK = "<!-- next greeting -->"
"""The line between two greetings."""
NAME_QUESTION = "What's your name?"
"""How the first words that the program writes for a new character end."""
STARTER_GREETING = f"Oh, hello! I'm Ember, the little flame in this kettle. {NAME_QUESTION}"

_BREAK = re.compile(rf"^[ \t]*{re.escape(GREETING_BREAK)}[ \t]*\r?\n?", re.MULTILINE)


def template_greeting(name: str) -> str:
    """The first words of a new character called *name*, until its owner writes others."""
    return f"Hello! I'm {name}. {NAME_QUESTION}"


def without_name_question(words: str, char: str, user: str) -> str:
    """*words* for somebody whose name is known: a greeting of the program's own does not ask for it. Cards' stay."""
    if words not in (STARTER_GREETING, template_greeting(char)):
        return words
    return f"{words.removesuffix(NAME_QUESTION)}It's good to see you, {user}!"


def join_greetings(greetings: Iterable[str]) -> str:
    """*greetings* as the text of `self/alternate_greetings.md`."""
    return f"\n{GREETING_BREAK}\n".join(greetings)


def split_greetings(text: str) -> tuple[str, ...]:
    """The greetings in *text*; blank ones do not count."""
    pieces = _BREAK.split(text)
    whole = [piece.removesuffix("\n") for piece in pieces[:-1]] + pieces[-1:]
    return tuple(piece for piece in whole if piece.strip())
