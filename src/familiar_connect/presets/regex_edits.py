"""The owner's own regex scripts as the fields of a form, and back; SillyTavern's names stand in the file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from familiar_connect.errors import PresetError
from familiar_connect.presets.regex_scripts import MAX_NAME_CHARS, USED_PLACEMENTS, read_scripts, script_problem

MAX_CHARS = 20_000
FLAGS = ("markdownOnly", "promptOnly")
DEPTHS = {"minDepth": "Smallest depth", "maxDepth": "Largest depth"}
PLACES = {f"place_{int(each)}": int(each) for each in USED_PLACEMENTS}
TEXTS = frozenset({"trimStrings"})
MAX_DEPTH = 10_000
Script = Mapping[str, Any]


def script_fields(script: Script) -> dict[str, str]:
    """A script as a form shows it."""
    placed = script.get("placement")
    places = placed if isinstance(placed, list) else [placed]
    trims, reads = script.get("trimStrings"), script.get("substituteRegex")
    return {
        "scriptName": _text(script.get("scriptName")),
        "findRegex": _text(script.get("findRegex")),
        "replaceString": _text(script.get("replaceString")),
        "trimStrings": "\n".join(map(str, trims)) if isinstance(trims, list) else "",
        "substituteRegex": "2" if reads == 2 else "1" if reads in (1, True) else "0",
        **{name: "1" if script.get(name) else "" for name in FLAGS},
        **{name: "1" if number in places else "" for name, number in PLACES.items()},
        **{name: _depth(script.get(name)) for name in DEPTHS},
    }


def script_with(script: Script, fields: Mapping[str, str]) -> dict[str, Any]:
    """*script* with what *fields* say; an error where it could not be run."""
    before, made = script_fields(script), dict(script)
    for name, text in fields.items():
        if text == before.get(name):
            continue
        if name in PLACES:
            kept = [each for each in made.get("placement") or [] if each != PLACES[name]]
            made["placement"] = sorted([*kept, PLACES[name]]) if text else kept
        elif name in FLAGS:
            made[name] = text == "1"
        elif name in DEPTHS:
            made[name] = _read_depth(DEPTHS[name], text)
        elif name == "trimStrings":
            made[name] = [line for line in text.split("\n") if line]
        elif name == "substituteRegex":
            made[name] = int(text) if text in ("0", "1", "2") else 0
        elif len(text) > (MAX_NAME_CHARS if name == "scriptName" else MAX_CHARS):
            raise PresetError("a script has a name, a pattern and a replacement of bounded length; shorten it")
        else:
            made[name] = text
    _check(made)
    return made


def read_script_form(sent: Mapping[str, str]) -> dict[str, str]:
    """The fields of a form as they compare with `script_fields`."""
    names = script_fields({})
    found = {name: sent.get(name, "").replace("\r\n", "\n") for name in names}
    return {name: text.strip() if name in ("scriptName", *DEPTHS) else text for name, text in found.items()}


def _check(made: Script) -> None:
    if not made.get("scriptName"):
        raise PresetError("a script needs a name")
    found = read_scripts([made], origin="own")
    if not found:
        raise PresetError("a script needs something to find")
    if (problem := script_problem(found[0])) is not None:
        raise PresetError(f"the pattern cannot be run: {problem}")


def _text(value: object) -> str:
    return value.replace("\r\n", "\n") if isinstance(value, str) else ""


def _depth(value: object) -> str:
    return str(int(value)) if isinstance(value, int | float) and not isinstance(value, bool) else ""


def _read_depth(label: str, text: str) -> int | None:
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and int(text[:9]) <= MAX_DEPTH):
        raise PresetError(f"{label} must be a whole number from 0 to {MAX_DEPTH:,}, or empty")
    return int(text)
