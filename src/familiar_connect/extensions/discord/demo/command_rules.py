"""What Discord takes of commands and of what stands below a message: bounds, types, and how often one is answered.

Written from Discord's documentation alone, so that it can be held against the product.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Payload = dict[str, Any]

CHAT_INPUT, USER, MESSAGE = 1, 2, 3
SUBCOMMAND_TYPES = frozenset({1, 2})
STRING, INTEGER, BOOLEAN, PERSON, CHANNEL, ROLE = 3, 4, 5, 6, 7, 8
OPTION_TYPES = frozenset(range(1, 12))
MAX_OPTIONS = MAX_CHOICES = MAX_PICKED = 25
MOST_COMMANDS = {CHAT_INPUT: 100, USER: 15, MESSAGE: 15}
ROW, BUTTON, TEXT_LIST, PERSON_LIST, ROLE_LIST, CHANNEL_LIST = 1, 2, 3, 5, 6, 8
LISTS = frozenset({TEXT_LIST, PERSON_LIST, ROLE_LIST, 7, CHANNEL_LIST})
MAX_ROWS = MAX_BUTTONS = 5
_NAME = re.compile(r"[-_\w]{1,32}")


def why_commands_refused(commands: Sequence[Payload]) -> str | None:
    """What is wrong with a list of commands; None: nothing."""
    for kind, most in MOST_COMMANDS.items():
        if len([each for each in commands if each.get("type", CHAT_INPUT) == kind]) > most:
            return f"at most {most} commands of type {kind}"
    names = [(each.get("type", CHAT_INPUT), each["name"]) for each in commands]
    if len(set(names)) < len(names):
        return "a name is used twice"
    return next((why for each in commands for why in _command_faults(each)), None)


def _command_faults(command: Payload) -> Iterator[str]:
    name, kind = command["name"], command.get("type", CHAT_INPUT)
    if kind != CHAT_INPUT:
        if command.get("description") or command.get("options"):
            yield f"{name}: only slash commands have a description and options"
        if not 1 <= len(name) <= 32:
            yield f"{name}: 1 to 32 characters"
        return
    if not _NAME.fullmatch(name) or name != name.lower():
        yield f"{name}: no name of a command"
    if not 1 <= len(command.get("description") or "") <= 100:
        yield f"{name}: description of 1 to 100 characters"
    options = command.get("options") or []
    if len(options) > MAX_OPTIONS:
        yield f"{name}: at most {MAX_OPTIONS} options"
    required = [bool(each.get("required")) for each in options]
    if required != sorted(required, reverse=True):
        yield f"{name}: required options come first"
    for option in options:
        yield from (f"{name}: {fault}" for fault in _option_faults(option))


def _option_faults(option: Payload) -> Iterator[str]:
    name, kind, choices = option["name"], option["type"], option.get("choices") or []
    if kind not in OPTION_TYPES or kind in SUBCOMMAND_TYPES:
        yield f"{name}: no type of an option"
    if not _NAME.fullmatch(name) or name != name.lower() or not 1 <= len(option.get("description") or "") <= 100:
        yield f"{name}: name or description"
    if len(choices) > MAX_CHOICES or any(not 1 <= len(str(each["name"])) <= 100 for each in choices):
        yield f"{name}: at most {MAX_CHOICES} choices of 1 to 100 characters"
    if choices and option.get("autocomplete"):
        yield f"{name}: either choices or suggestions"
    if (choices or option.get("autocomplete")) and kind not in (STRING, INTEGER, 10):
        yield f"{name}: only what is typed has choices or suggestions"
    if "min_value" in option and kind not in (INTEGER, 10):
        yield f"{name}: only numbers have a least value"
    if "channel_types" in option and kind != CHANNEL:
        yield f"{name}: only channels have types of channel"


def why_components_refused(rows: Sequence[Payload]) -> str | None:
    """What is wrong with what stands below a message; None: nothing."""
    return next(_component_faults(rows), None)


def _component_faults(rows: Sequence[Payload]) -> Iterator[str]:
    if len(rows) > MAX_ROWS:
        yield f"at most {MAX_ROWS} rows"
    parts = [part for row in rows for part in row.get("components") or []]
    ids = [part["custom_id"] for part in parts if "custom_id" in part]
    if len(set(ids)) < len(ids) or any(not 1 <= len(each) <= 100 for each in ids):
        yield "each custom_id once, of 1 to 100 characters"
    for row in rows:
        inside = row.get("components") or []
        lists = [each for each in inside if each["type"] in LISTS]
        if row["type"] != ROW or not inside or len(inside) > (1 if lists else MAX_BUTTONS):
            yield f"a row holds one list or at most {MAX_BUTTONS} buttons"
    for part in parts:
        if part["type"] in LISTS and not 0 <= part.get("min_values", 1) <= part.get("max_values", 1) <= MAX_PICKED:
            yield f"at most {MAX_PICKED} can be chosen"
        if part["type"] == BUTTON and not 1 <= len(part.get("label") or part.get("emoji") or "") <= 80:
            yield "a button has a label of 1 to 80 characters"


def option_values(command: Payload, options: Mapping[str, object]) -> list[Payload]:
    """What somebody filled in, each of the type that its option has; a `ValueError` for what Discord would not take."""
    known = {each["name"]: each for each in command.get("options") or []}
    found = []
    for name, value in options.items():
        if name not in known:
            raise ValueError(f"/{command['name']} has no option {name}")
        kind = known[name]["type"]
        choices = [each["value"] for each in known[name].get("choices") or []]
        if choices and value not in choices:
            raise ValueError(f"{value!r} is none of {choices}")
        if kind == INTEGER:
            value = int(str(value))
        elif kind in (PERSON, CHANNEL, ROLE) and not str(value).isdigit():
            raise ValueError(f"{name} is chosen, not typed")
        found.append({"name": name, "type": kind, "value": value})
    lacking = [name for name, each in known.items() if each.get("required") and name not in options]
    if lacking:
        raise ValueError(f"/{command['name']} needs {', '.join(lacking)}")
    return found
