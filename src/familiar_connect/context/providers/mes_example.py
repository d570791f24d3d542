"""Sample dialogues: `mes_example` text as user and assistant items.

The text is the cards' own form: `<START>` between dialogues, each line opened by `{{user}}:` or
`{{char}}:`, or by the character's own name. What stands before the first label is left out; a text
without labels gives no items.
"""

from __future__ import annotations

import re
from dataclasses import replace

from familiar_connect.context.types import ContextItem, ItemTag
from familiar_connect.llm.types import Role

_LABEL = re.compile(r"^\s*(?:\{\{?\s*(user|char|bot)\s*\}?\}|<(user|bot|char)>)\s*[:：]\s*", re.IGNORECASE)
_START = re.compile(r"^\s*<start>\s*$", re.IGNORECASE)
USER_LABEL = "User"
"""Who speaks with the character, until it is known who does."""
MAX_ITEMS = 60


def sample_items(text: str, source: str, *, char: str = "") -> tuple[ContextItem, ...]:
    """The dialogue turns of *text*, in order; *char* is a name that opens the character's own lines, too."""
    own = (f"{char}:", f"{char}：") if char else ()
    turns: list[tuple[Role, list[str]]] = []
    open_turn = False
    for line in text.splitlines():
        if _START.match(line):
            open_turn = False
            continue
        label = _LABEL.match(line)
        if label is not None:
            who = (label.group(1) or label.group(2)).lower()
            turns.append(("user" if who == "user" else "assistant", [line[label.end() :]]))
            open_turn = True
        elif own and line.lstrip().startswith(own):
            turns.append(("assistant", [line.lstrip()[len(char) + 1 :].lstrip()]))
            open_turn = True
        elif open_turn:
            turns[-1][1].append(line)
    items = []
    for role, lines in turns[:MAX_ITEMS]:
        words = "\n".join(lines).strip()
        if words:
            shown = f"{USER_LABEL}: {words}" if role == "user" else words
            item = ContextItem.of(role, shown, tag=ItemTag.SAMPLE, source=source)
            items.append(replace(item, words=words))
    return tuple(items)
