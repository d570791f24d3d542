"""From bytes to the JSON object of a card: encodings, base64, JSON in a string, all as found in the wild.

Every failure is a `CharacterCardError`. What comes out is at most `MAX_DEPTH` deep and holds no NaN,
no infinity and no lone surrogate.

Limits on reading card files, far above any real card.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
from typing import Any

from familiar_connect.errors import CharacterCardError
from familiar_connect.support.text import without_surrogates

MAX_FILE_BYTES = 64 * 1024 * 1024
MAX_TEXT_BYTES = 16 * 1024 * 1024
"""Of a card's text once decoded, and of one file unpacked from an archive."""
MAX_YAML_BYTES = 1024 * 1024
"""YAML is slow to read and its cards are small."""
MAX_MEMBERS = 2_000
"""Files in one archive."""
MAX_DEPTH = 200
"""Objects within objects."""
MAX_WRAPPINGS = 4
"""Base64 or strings around the JSON, one in another."""


def megabytes(size: int) -> str:
    """*size* in megabytes, for a sentence."""
    return f"{size / (1024 * 1024):.0f} MB"


ENCRYPTED = "rcc||"
"""How an encrypted RisuAI hub card begins."""

_MARGIN = " \t\r\n\ufeff\0"
_ALPHABET = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_NO_BASE64 = bytes(set(range(256)) - set(_ALPHABET))
_URL_SAFE = bytes.maketrans(b"-_", b"+/")
_CONTAINERS = (dict, list)


def decode_text(data: bytes) -> str:
    """*data* as text: UTF-8, or UTF-16 where a mark says so. Bytes that are neither become U+FFFD."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", errors="replace")
    return data.decode("utf-8", errors="replace")


def strip_margin(text: str) -> str:
    """*text* without blanks, byte order marks and NULs at either end."""
    return text.strip(_MARGIN)


def payload_object(data: bytes | str) -> dict[str, Any]:
    """The JSON object in *data*, however often it is wrapped in base64 or in a JSON string."""
    text = data if isinstance(data, str) else decode_text(_plainly_decoded(data))
    for _ in range(MAX_WRAPPINGS):
        text = strip_margin(text)
        if text.startswith(ENCRYPTED):
            raise CharacterCardError("the card is encrypted by the RisuAI hub; export it from RisuAI unencrypted")
        if text.startswith("{"):
            found: dict[str, Any] = parse_json(text)
            return found
        if text.startswith('"'):
            text = parse_json(text)
            continue
        if text.startswith("["):
            raise CharacterCardError("the card is a list, not an object; take the one character out of it")
        text = decode_text(_from_base64(text))
    raise CharacterCardError("the card holds no JSON object")


def parse_json(text: str) -> Any:
    """The first JSON value of *text*; what follows it is let be."""
    _check_length(len(text))
    try:
        value, _ = _DECODER.raw_decode(strip_margin(text))
    except RecursionError:
        raise _too_deep() from None
    except json.JSONDecodeError as error:
        raise CharacterCardError(
            f"the card is not valid JSON: {error.msg} (line {error.lineno}, column {error.colno})"
        ) from None
    except ValueError:
        raise CharacterCardError("the card is not valid JSON: a number in it is too long") from None
    if _is_deep(value):
        raise _too_deep()
    if "\\ud" in text or "\\uD" in text:  # the only way half a character comes in
        value = json_without_surrogates(value)
    return value


def json_without_surrogates(value: Any) -> Any:
    """*value* with every lone surrogate, which no file can hold, replaced by U+FFFD."""
    if isinstance(value, str):
        return without_surrogates(value)
    if isinstance(value, dict):
        return {json_without_surrogates(key): json_without_surrogates(each) for key, each in value.items()}
    if isinstance(value, list):
        return [json_without_surrogates(each) for each in value]
    return value


def _plainly_decoded(data: bytes) -> bytes:
    """*data* out of base64, where it is strictly valid base64: the fast path for nearly every card."""
    try:
        found = binascii.a2b_base64(data, strict_mode=True)
    except binascii.Error:
        return data
    return found if found[:1] == b"{" else data


def _from_base64(text: str) -> bytes:
    """Base64 in either alphabet, with whatever else stands in it left out."""
    if text.startswith("data:"):
        text = text.partition(",")[2]
    letters = text.encode("ascii", errors="ignore").translate(_URL_SAFE)
    letters = letters.partition(b"=")[0].translate(None, _NO_BASE64)
    if len(letters) % 4 == 1:
        letters = letters[:-1]
    _check_length(len(letters) * 3 // 4)
    try:
        return base64.b64decode(letters + b"=" * (-len(letters) % 4))
    except binascii.Error:
        raise CharacterCardError("the card's base64 cannot be read") from None


def _check_length(length: int) -> None:
    if length > MAX_TEXT_BYTES:
        raise CharacterCardError(
            f"the card's text is longer than {megabytes(MAX_TEXT_BYTES)}, more than a card may have"
        )


def _too_deep() -> CharacterCardError:
    return CharacterCardError(f"the card's JSON is nested deeper than {MAX_DEPTH} levels; no card needs that")


def _is_deep(value: object) -> bool:
    """Whether *value* is nested deeper than allowed, found without recursion."""
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        within = []
        for each in level:
            if isinstance(each, dict):
                within += [inner for inner in each.values() if type(inner) in _CONTAINERS]
            elif isinstance(each, list):
                within += [inner for inner in each if type(inner) in _CONTAINERS]
        if not within:
            return False
        level = within
    return True


def _finite(text: str) -> float | None:
    number = float(text)
    return number if math.isfinite(number) else None


_DECODER = json.JSONDecoder(strict=False, parse_constant=lambda _: None, parse_float=_finite)
