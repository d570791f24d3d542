"""What is typed behind a slash command at a terminal, as the fields that Discord has for it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from familiar_connect.extensions.discord.demo.command_rules import CHANNEL, INTEGER, PERSON, ROLE, STRING, Payload

ADMINISTRATOR = 1 << 3
FindId = Callable[[int, str], str | None]
"""The id of a person, channel or role by its name; None: there is none."""


class NotTaken(ValueError):
    """What was typed fits no field; says what does."""


def read_typed_fields(command: Payload, typed: str, find: FindId) -> dict[str, str]:
    """The fields that *typed* fills in: `name: value`, or values in the order of the fields."""
    offered: Sequence[Payload] = command.get("options") or []
    names = {each["name"]: each for each in offered}
    if not names:
        if typed.strip():
            raise NotTaken(f"/{command['name']} takes nothing more")
        return {}
    named = re.split(rf"(?:^|\s)({'|'.join(map(re.escape, names))}):\s*", typed)
    filled = _read_in_order(command, offered, named[0], find)
    for name, value in zip(named[1::2], named[2::2], strict=True):
        filled[name] = _value(names[name], value.strip(), find) or _refuse(command, offered, f"{name}: {value}")
    return filled


def _read_in_order(command: Payload, offered: Sequence[Payload], typed: str, find: FindId) -> dict[str, str]:
    """Words are taken by the first field that they fit; what is only text takes the rest."""
    filled: dict[str, str] = {}
    rest = typed.strip()
    for option in offered:
        if not rest:
            break
        word, _, behind = rest.partition(" ")
        if word.casefold() == option["name"] and behind:  # `/limits replies 20`
            word, _, behind = behind.partition(" ")
        is_text = option["type"] == STRING and not option.get("choices")
        value = _value(option, rest if is_text else word, find)
        if value is not None:
            filled[option["name"]], rest = value, "" if is_text else behind.strip()
    if rest:
        _refuse(command, offered, rest)
    return filled


def _value(option: Payload, typed: str, find: FindId) -> str | None:
    """*typed* as the value of one field; None: Discord would not take it."""
    kind, choices = option["type"], [str(each["value"]) for each in option.get("choices") or []]
    if kind in (PERSON, CHANNEL, ROLE):
        return find(kind, typed)
    if kind == INTEGER:
        return typed if typed.isdecimal() else None
    return typed if typed and (not choices or typed in choices) else None


def _refuse(command: Payload, offered: Sequence[Payload], rest: str) -> str:
    shown = " ".join(f"{each['name']}:" for each in offered)
    raise NotTaken(f"no field of /{command['name']} takes '{rest}'; it has {shown}")


def is_shown(command: Mapping[str, object], rights: int | None) -> bool:
    """Whether Discord shows a command to somebody with these *rights*; None: in a direct message, where all are."""
    needed = command.get("default_member_permissions")
    if rights is None or needed is None or rights & ADMINISTRATOR:
        return True
    return int(str(needed)) != 0 and rights & int(str(needed)) == int(str(needed))
