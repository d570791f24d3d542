"""A World Info entry as the fields of a form, and back: `fields_of(entry)`, `entry_with(entry, fields)`.

Every field is text, as a form sends it. What the form leaves as it was stays as the file had it, down to how a number
is written; fields that no form shows are kept.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from familiar_connect.errors import MemoryStoreError
from familiar_connect.memory.lorebooks.entry_markdown import entry_keys
from familiar_connect.support.text import one_line

ON, OFF = "1", ""
FILTER = "characterFilter"
MAX_NUMBER = 1_000_000


@dataclass(frozen=True, kw_only=True)
class EntryField:
    """One field: what the file calls it, what people do, and what may stand in it."""

    name: str
    label: str
    kind: str
    """`line`, `text`, `lines`, `flag`, `number`, `whole`, `maybe` (a whole number or nothing), `choice`."""
    choices: tuple[tuple[str, str], ...] = ()
    note: str = ""


YES_NO = (("", "as the settings say"), ("1", "yes"), ("0", "no"))
POSITIONS = (
    ("0", "before the character"),
    ("1", "after the character"),
    ("4", "in the chat, at a depth"),
    ("2", "above the author's note"),
    ("3", "below the author's note"),
    ("5", "above the example dialogue"),
    ("6", "below the example dialogue"),
    ("7", "where {{outlet::NAME}} stands"),
)
LOGICS = (
    ("0", "one of them is there too"),
    ("3", "all of them are there too"),
    ("1", "not all of them are there"),
    ("2", "none of them is there"),
)
ROLES = (("0", "system"), ("1", "user"), ("2", "assistant"))

WHAT = (
    EntryField(name="comment", label="Title", kind="line"),
    EntryField(name="content", label="What it says", kind="text"),
    EntryField(name="key", label="Keys", kind="lines", note="One a line. /pattern/i is a regular expression."),
    EntryField(name="keysecondary", label="Secondary keys", kind="lines", note="One a line; may be left empty."),
    EntryField(name="selectiveLogic", label="With secondary keys it fires where", kind="choice", choices=LOGICS),
)
WHERE = (
    EntryField(name="position", label="Position", kind="choice", choices=POSITIONS),
    EntryField(name="depth", label="Depth", kind="whole", note="Messages that follow it, in the chat."),
    EntryField(name="role", label="Role, in the chat", kind="choice", choices=ROLES),
    EntryField(name="order", label="Order", kind="number", note="A higher one stands nearer to the end."),
    EntryField(name="outletName", label="Outlet", kind="line"),
)
CHANCE = (
    EntryField(name="probability", label="Probability, in percent", kind="number"),
    EntryField(name="group", label="Groups", kind="line", note="By commas. One entry of a group is chosen."),
    EntryField(name="groupWeight", label="Weight in its group", kind="number"),
    EntryField(name="groupOverride", label="Goes first in its group", kind="flag"),
    EntryField(name="useGroupScoring", label="The one with most keys wins the group", kind="choice", choices=YES_NO),
)
SEARCH = (
    EntryField(name="scanDepth", label="Messages searched for its keys", kind="maybe", note="Empty: as usual."),
    EntryField(name="caseSensitive", label="Capitals matter", kind="choice", choices=YES_NO),
    EntryField(name="matchWholeWords", label="Only whole words", kind="choice", choices=YES_NO),
    EntryField(name="matchPersonaDescription", label="Search your persona too", kind="flag"),
    EntryField(name="matchCharacterDescription", label="Search the description too", kind="flag"),
    EntryField(name="matchCharacterPersonality", label="Search the personality too", kind="flag"),
    EntryField(name="matchScenario", label="Search the scenario too", kind="flag"),
)
LATER = (
    EntryField(name="excludeRecursion", label="Other entries do not call it up", kind="flag"),
    EntryField(name="preventRecursion", label="It calls up no other entry", kind="flag"),
    EntryField(name="delayUntilRecursion", label="Only from this step of recursion on", kind="whole"),
    EntryField(name="sticky", label="Stays for so many messages", kind="maybe"),
    EntryField(name="cooldown", label="Then rests for so many messages", kind="maybe"),
    EntryField(name="delay", label="Waits until the chat has so many messages", kind="maybe"),
    EntryField(name="ignoreBudget", label="May go over the budget", kind="flag"),
)
WHOM = (
    EntryField(name="filterNames", label="Only for these characters", kind="lines", note="One a line; empty: for all."),
    EntryField(name="filterTags", label="Only for characters with these tags", kind="lines"),
    EntryField(name="filterExclude", label="For all but those", kind="flag"),
)
SWITCHES = (
    EntryField(name="on", label="On", kind="flag"),
    EntryField(name="constant", label="Always there, without a key", kind="flag"),
)
GROUPS = (
    ("Where it goes", WHERE),
    ("Chance and groups", CHANCE),
    ("How it is searched for", SEARCH),
    ("Recursion and time", LATER),
    ("For whom", WHOM),
)
EVERY = (*SWITCHES, *WHAT, *(each for _, group in GROUPS for each in group))
TEXTS = frozenset(each.name for each in EVERY if each.kind in ("text", "lines"))
BY_NAME = {each.name: each for each in EVERY}


def fields_of(entry: Mapping[str, Any]) -> dict[str, str]:
    """Every field of *entry*, whose defaults are filled in, as a form shows it."""
    return {each.name: _shown(each, _value(entry, each.name)) for each in EVERY}


def entry_with(entry: Mapping[str, Any], fields: Mapping[str, str]) -> dict[str, Any]:
    """*entry* with what *fields* say otherwise; an error names the field that cannot be."""
    before, made = fields_of(entry), dict(entry)
    wanted = {name: _plain(BY_NAME[name], text) for name, text in fields.items() if name in BY_NAME}
    changed = {name: text for name, text in wanted.items() if text != before[name]}
    for name, text in changed.items():
        _put(made, name, _read(BY_NAME[name], text))
    if "probability" in changed:
        made["useProbability"] = True
    if changed.get("keysecondary"):
        made["selective"] = True
    return made


def read_entry_form(sent: Mapping[str, str]) -> dict[str, str]:
    """The fields of a form as they compare with `fields_of`: a box that is not ticked is not sent."""
    return {each.name: _plain(each, sent.get(each.name, "")) for each in EVERY}


def _plain(field: EntryField, text: str) -> str:
    text = text.replace("\r\n", "\n")
    if field.kind == "lines":
        return "\n".join(line.strip() for line in text.split("\n") if line.strip())
    return text.rstrip("\n") if field.kind == "text" else one_line(text).strip()


def _value(entry: Mapping[str, Any], name: str) -> Any:
    found = entry.get(FILTER)
    chosen: Mapping[str, Any] = found if isinstance(found, Mapping) else {}
    match name:
        case "on":
            return not entry.get("disable")
        case "filterNames" | "filterTags":
            return chosen.get(name.removeprefix("filter").lower())
        case "filterExclude":
            return bool(chosen.get("isExclude"))
        case "key":
            return entry_keys(dict(entry))
        case "probability" if not entry.get("useProbability", True):
            return 100
        case _:
            return entry.get(name)


def _put(entry: dict[str, Any], name: str, value: Any) -> None:
    if name == "on":
        entry["disable"] = not value
    elif name.startswith("filter"):
        found = entry.get(FILTER)
        kept = dict(found) if isinstance(found, Mapping) else {"isExclude": False, "names": [], "tags": []}
        kept["isExclude" if name == "filterExclude" else name.removeprefix("filter").lower()] = value
        entry[FILTER] = kept
    else:
        entry[name] = value


def _shown(field: EntryField, value: Any) -> str:
    if field.kind == "flag":
        return ON if value else OFF
    if field.kind == "lines":
        listed = value.split(",") if isinstance(value, str) else value if isinstance(value, list) else []
        return "\n".join(line for each in listed if (line := one_line(str(each)).strip()))
    if field.choices is YES_NO:
        return "" if value is None else "1" if value else "0"
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    text = _plain(field, "" if value is None else str(value))
    return text if not field.choices or text in dict(field.choices) else field.choices[0][0]


def _read(field: EntryField, text: str) -> Any:
    match field.kind:
        case "flag":
            return text == ON
        case "lines":
            return text.split("\n") if text else []
        case "number" | "whole" | "maybe":
            return None if field.kind == "maybe" and not text else _number(field, text)
        case "choice":
            if text not in dict(field.choices):
                raise MemoryStoreError(f"{field.label} is none of the choices there are")
            return (None if not text else text == "1") if field.choices is YES_NO else int(text)
        case _:
            return text


def _number(field: EntryField, text: str) -> float | int:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    is_whole = field.kind != "number"
    least, most = (-MAX_NUMBER if field.name == "order" else 0), (100 if field.name == "probability" else MAX_NUMBER)
    if not least <= value <= most or (is_whole and not value.is_integer()):
        raise MemoryStoreError(
            f"{field.label} must be a {'whole ' if is_whole else ''}number from {least:,} to {most:,}"
        )
    return int(value) if value.is_integer() else value
