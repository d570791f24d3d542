"""CharacterCard and `load_card`: a character from a card file of any kind people share.

Reads V1, V2 and V3, and what Pygmalion, text-generation-webui, Agnai and Backyard write, from PNG, APNG, WEBP, CHARX,
JSON, YAML and text. Damage that leaves the card readable does no harm; only a source without a usable card is a
`CharacterCardError`, with a sentence that says why. Sizes, depth and decompression are bounded.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from familiar_connect.bootstrap.card_files.card_fields import TEXT_FIELDS, read_fields
from familiar_connect.bootstrap.card_files.decode_json import MAX_FILE_BYTES, megabytes
from familiar_connect.bootstrap.card_files.read_payload import Payload, read_payload
from familiar_connect.errors import CharacterCardError
from familiar_connect.llm.types import Role
from familiar_connect.presets.types import CardFields
from familiar_connect.support.text import printable

__all__ = [
    "CARD_FIELDS",
    "CharacterCard",
    "CharacterCardError",
    "DepthPrompt",
    "load_card",
    "read_card",
    "read_card_bytes",
]

CARD_FIELDS = TEXT_FIELDS
DEFAULT_DEPTH = 4
_ROLES: dict[object, Role] = {
    "system": "system",
    "user": "user",
    "assistant": "assistant",
    0: "system",
    1: "user",
    2: "assistant",
}


@dataclass(frozen=True)
class DepthPrompt:
    """A note that stands among the last messages."""

    prompt: str
    depth: int = DEFAULT_DEPTH
    role: Role = "system"


@dataclass
class CharacterCard:
    """A character: the nine texts with a file of their own, and all else its card holds."""

    name: str
    description: str = ""
    personality: str = ""
    scenario: str = ""
    first_mes: str = ""
    mes_example: str = ""
    system_prompt: str = ""
    post_history_instructions: str = ""
    creator_notes: str = ""
    extras: dict[str, object] = field(default_factory=dict)
    """Fields of the card's `data` that are none of the nine, unchanged; `outside_data` holds what stood beside it."""

    @property
    def alternate_greetings(self) -> list[str]:
        """Other first messages, in order."""
        greetings = self.extras.get("alternate_greetings")
        if isinstance(greetings, str) and not greetings.strip().isdigit():
            greetings = [greetings]
        return [text for text in greetings if isinstance(text, str) and text] if isinstance(greetings, list) else []

    @property
    def depth_prompt(self) -> DepthPrompt | None:
        """The note by depth, if the card has one; depth and role may be missing or written as text."""
        found = _object(_object(self.extras.get("extensions")).get("depth_prompt"))
        prompt, role = found.get("prompt"), found.get("role")
        if not isinstance(prompt, str) or not prompt.strip():
            return None
        return DepthPrompt(
            prompt, _depth(found.get("depth")), _ROLES.get(role if isinstance(role, str | int) else "", "system")
        )

    @property
    def tags(self) -> list[str]:
        tags = self.extras.get("tags")
        words = tags.split(",") if isinstance(tags, str) else tags if isinstance(tags, list) else []
        return [word.strip() for word in words if isinstance(word, str) and word.strip()]

    @property
    def nickname(self) -> str:
        return self._text("nickname")

    @property
    def creator(self) -> str:
        return self._text("creator")

    @property
    def character_version(self) -> str:
        return self._text("character_version")

    @property
    def character_book(self) -> dict[str, Any] | None:
        """The lorebook inside the card, if it has entries."""
        book = self.extras.get("character_book")
        return book if isinstance(book, dict) and book.get("entries") else None

    def _text(self, key: str) -> str:
        value = self.extras.get(key)
        return value if isinstance(value, str) else ""

    def to_card_fields(self) -> CardFields:
        """The card as presets and macros see it."""
        note = self.depth_prompt or DepthPrompt("")
        return CardFields(
            **{name: getattr(self, name) for name in CARD_FIELDS},
            character_version=self.character_version,
            alternate_greetings=tuple(self.alternate_greetings),
            depth_prompt=note.prompt,
            depth_prompt_depth=note.depth,
            depth_prompt_role=note.role,
            nickname=self.nickname,
        )


def load_card(source: bytes | str | Path) -> CharacterCard:
    """The character in *source*: the bytes of a card file, JSON text (beginning with a brace), or a path."""
    return read_card(_payload(source))


def read_card(payload: Payload) -> CharacterCard:
    """The character a card file's payload describes."""
    fields, extras = read_fields(payload.raw)
    return CharacterCard(**fields, extras=extras)


def read_card_bytes(path: Path) -> bytes:
    """The bytes of a card file, if it is one file of a size that cards have."""
    shown = printable(str(path))
    try:
        size = path.stat().st_size
        if not path.is_file():
            what = "a folder; name the card file in it" if path.is_dir() else "no file; save the card as one first"
            raise CharacterCardError(f"{shown} is {what}")
        if size > MAX_FILE_BYTES:
            raise CharacterCardError(
                f"{shown} is {megabytes(size)}, more than the {megabytes(MAX_FILE_BYTES)} a card may have"
            )
        with path.open("rb") as stream:
            return stream.read(MAX_FILE_BYTES + 1)
    except FileNotFoundError:
        raise CharacterCardError(f"{shown}: there is no such file") from None
    except OSError as error:
        raise CharacterCardError(f"{shown} cannot be read: {error.strerror or error}") from None
    except ValueError:  # a NUL in it
        raise CharacterCardError(f"{shown[:200]} is not a path") from None


def _payload(source: bytes | str | Path) -> Payload:
    if isinstance(source, bytes | bytearray | memoryview):
        return read_payload(bytes(source))
    if isinstance(source, str) and source.lstrip(" \t\r\n\ufeff").startswith("{"):
        return read_payload(source.encode("utf-8", errors="replace"))
    path = Path(source)
    try:
        return read_payload(read_card_bytes(path))
    except CharacterCardError as error:
        told = str(error)
        shown = printable(os.fspath(path))
        raise CharacterCardError(told if shown[:100] in told else f"{shown}: {told}") from None


def _depth(value: Any) -> int:
    if isinstance(value, str) and not value.strip():
        return 0
    try:
        return max(0, int(float(value)))
    except (TypeError, ValueError, OverflowError):
        return DEFAULT_DEPTH


def _object(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}
