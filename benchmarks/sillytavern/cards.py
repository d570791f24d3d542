"""Card vectors: the payload of each file, the version SillyTavern's validator sees, and what its import makes of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.sillytavern.results import CaseResult
from familiar_connect.bootstrap.card_files.decode_json import json_without_surrogates
from familiar_connect.bootstrap.card_files.read_payload import Payload, read_payload
from familiar_connect.bootstrap.card_files.sillytavern_import import card_version, import_like_sillytavern
from familiar_connect.bootstrap.cards import read_card, read_card_bytes
from familiar_connect.errors import CharacterCardError

KIND = "cards"
SUFFIX = ".expected.json"
VOLATILE = ("avatar", "chat", "create_date", "json_data", "date_added", "date_last_chat", "chat_size", "data_size")
"""What changes with every import and tells nothing about the card."""
EXACT_UP_TO = 2**53
"""Above it the numbers of JavaScript have holes."""


def check(folder: Path) -> list[CaseResult]:
    """One result per file of `expected/cards`."""
    return [_case(folder, path) for path in sorted((folder / "expected" / "cards").glob(f"*{SUFFIX}"))]


def _case(folder: Path, path: Path) -> CaseResult:
    name = path.name.removesuffix(SUFFIX)
    try:
        expected = json.loads(path.read_text(encoding="utf-8"))
        told = _differs(expected, folder / "cards" / expected.get("file", name))
    except (OSError, ValueError, AttributeError) as error:
        told = f"the vector cannot be read: {error}"
    return CaseResult(KIND, name, not told, told)


def _differs(expected: dict[str, Any], card: Path) -> str:
    """The first thing in which our reading differs; empty where none does."""
    expected = json_without_surrogates(expected)
    refused = "import_error" in expected
    try:
        payload = read_payload(read_card_bytes(card))
    except CharacterCardError as error:
        return "" if refused else f"the card was not read: {error}"
    if "raw" in expected and (told := difference(expected["raw"], payload.raw, "raw")):
        return told
    validator = expected.get("validator")
    wanted = validator.get("result") if isinstance(validator, dict) else validator
    if wanted is not None and "raw" in expected and card_version(payload.raw) is not wanted:
        return f"validator: expected {wanted!r}, got {card_version(payload.raw)!r}"
    read_card(payload)
    return _import_differs(expected, payload, refused=refused)


def _import_differs(expected: dict[str, Any], payload: Payload, *, refused: bool) -> str:
    try:
        made = import_like_sillytavern(payload.raw, kind=payload.kind)
    except CharacterCardError as error:
        return "" if refused else f"imported: refused ({error})"
    if refused:
        # Files that SillyTavern cannot read at all, and we can, carry no payload to compare.
        return "" if "raw" not in expected else "imported: expected to be refused, was taken"
    if "imported" not in expected:
        return ""
    return difference(_lasting(expected["imported"]), _lasting(made), "imported")


def _lasting(card: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in card.items() if key not in VOLATILE}


def difference(expected: Any, actual: Any, where: str) -> str:
    """The first place in which two JSON values differ, as a sentence; empty where they do not."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        for key in (*expected, *(key for key in actual if key not in expected)):
            if key not in actual or key not in expected:
                return f"{where}.{key}: {'missing' if key in expected else 'not expected'}"
            if told := difference(expected[key], actual[key], f"{where}.{key}"):
                return told
        return ""
    if isinstance(expected, list) and isinstance(actual, list):
        for index, (left, right) in enumerate(zip(expected, actual, strict=False)):
            if told := difference(left, right, f"{where}[{index}]"):
                return told
        return "" if len(expected) == len(actual) else f"{where}: {len(expected)} entries expected, {len(actual)} there"
    return "" if _same(expected, actual) else f"{where}: expected {_shown(expected)}, got {_shown(actual)}"


def _same(expected: Any, actual: Any) -> bool:
    numbers = [value for value in (expected, actual) if isinstance(value, int | float) and not isinstance(value, bool)]
    if len(numbers) == 2:
        return bool(expected == actual) or (abs(numbers[0]) > EXACT_UP_TO and float(expected) == float(actual))
    return type(expected) is type(actual) and bool(expected == actual)


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=True)
    return text if len(text) <= 80 else f"{text[:80]}…"
