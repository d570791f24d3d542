"""Message metadata: what a message held besides its words, written as the text stored with it and read back.

Most messages hold nothing more, and store nothing. Facts that cannot be read, or are far too large,
count as none: the words are shown all the same. Of the familiar's own words it says whose they are, and which messages
hold them.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from familiar_connect.chat.message_parts import MessagePiece, WebhookIdentity
from familiar_connect.chat.types import PLAIN_LINE, InboundMessage, LineFacts
from familiar_connect.history.rows import MAX_METADATA_CHARS
from familiar_connect.support.serialize import PlainDataError, canonical_json, from_plain, to_plain
from familiar_connect.support.sqlite import Database

logger = logging.getLogger(__name__)

MAX_FOREIGN_CHARS = 80_000
ALTER = "alter"
"""Stands for the account of a further persona, which has none of its own."""
ANSWERS = "answers"
_KEPT = (
    "kind",
    "edited_at",
    "is_debug",
    "reply_to",
    "reactions",
    "forwards",
    "embeds",
    "attachments",
    "stickers",
    "poll",
    "mentions",
    "webhook",
    "pieces",
    "line",
    "is_past",
    "parent_channel_id",
)
FOREIGN = "sillytavern"
"""Under this stand the fields of a message that came from another program's file, for the way back."""
_NOTHING = {name: InboundMessage.__dataclass_fields__[name].default for name in _KEPT}


def encode_metadata(message: InboundMessage) -> str | None:
    """What is worth storing of *message* besides its words; None when there is nothing."""
    facts = {name: to_plain(value) for name in _KEPT if (value := getattr(message, name)) != _NOTHING[name]}
    if not facts:
        return None
    text = canonical_json(facts)
    if len(text) > MAX_METADATA_CHARS:
        logger.warning("what came with a message is too large to be kept", extra={"chars": len(text)})
        return None
    return text


def with_metadata(message: InboundMessage, facts: str | None) -> InboundMessage:
    """*message* with what was stored beside its words."""
    if not facts or len(facts) > MAX_METADATA_CHARS:
        return message
    try:
        stored = json.loads(facts)
        if stored.keys().isdisjoint(_KEPT):
            return message
        told = from_plain(InboundMessage, {**_bare(message), **{k: v for k, v in stored.items() if k in _KEPT}})
    except (PlainDataError, ValueError, TypeError, AttributeError, RecursionError) as error:
        logger.warning("what came with a message cannot be read", extra={"error": type(error).__name__})
        return message
    return replace(message, **{name: getattr(told, name) for name in _KEPT})


def find_metadata(database: Database, words: str, *, familiar_id: str) -> list[str]:
    """What came with turns, as it is stored, where *words* stand in it; reads every turn."""
    rows = database.read("SELECT facts FROM turns WHERE familiar_id = ? AND instr(facts, ?) > 0", [familiar_id, words])
    return [str(row[0]) for row in rows]


def encode_file_line(line: LineFacts, foreign: Mapping[str, Any]) -> tuple[str | None, int]:
    """What is worth storing of a message from a file besides its words, and how many fields were too large for that."""
    facts: dict[str, Any] = {} if line == PLAIN_LINE else {"line": to_plain(line)}
    if foreign:
        facts[FOREIGN] = dict(foreign)
    text = json.dumps(facts, separators=(",", ":"))
    if len(text) <= MAX_FOREIGN_CHARS:
        return (text if facts else None), 0
    kept = _smallest(foreign)
    facts[FOREIGN] = kept
    return json.dumps(facts, separators=(",", ":")), len(foreign) - len(kept)


def _smallest(fields: Mapping[str, Any]) -> dict[str, Any]:
    """As many of *fields* as there is room for, the smallest first."""
    sizes = {name: len(name) + len(json.dumps(value)) for name, value in fields.items()}
    used, kept = 0, set()
    for name in sorted(sizes, key=lambda name: sizes[name]):
        used += sizes[name]
        if used > MAX_FOREIGN_CHARS:
            break
        kept.add(name)
    return {name: value for name, value in fields.items() if name in kept}


def foreign_fields(facts: str | None) -> dict[str, Any]:
    """The fields a message had in the file it came from; empty for one that came from none."""
    try:
        found = json.loads(facts)[FOREIGN] if facts else {}
    except (ValueError, TypeError, KeyError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _bare(message: InboundMessage) -> dict[str, object]:
    """The least a message must hold."""
    return {
        "platform": message.platform,
        "channel_id": message.channel_id,
        "author": to_plain(message.author),
        "text": "",
        "timestamp": message.timestamp.isoformat(),
    }


def alter_facts(alter: str | None) -> str | None:
    """Under which name it was said, where that is not the familiar's own."""
    if alter is None:
        return None
    return canonical_json({"webhook": to_plain(WebhookIdentity(webhook_id=ALTER, name=alter))})


def alter_of(facts: str | None) -> str | None:
    """The further persona whose words a turn of ours holds; None: the familiar's own."""
    try:
        webhook = json.loads(facts).get("webhook") if facts else None
        return str(webhook["name"]) if webhook is not None and webhook.get("webhook_id") == ALTER else None
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def find_answered_ids(facts: str | None) -> tuple[int, ...]:
    """The turns that a turn of ours answers, where that is known."""
    try:
        stored = json.loads(facts).get(ANSWERS, ()) if facts else ()
        return tuple(each for each in stored if isinstance(each, int))
    except (ValueError, TypeError, AttributeError):
        return ()


def own_turn_facts(
    pieces: Sequence[MessagePiece], facts: str | None = None, *, answers: Sequence[int] = ()
) -> str | None:
    """*facts*, with the messages a reply stands in now where there are several: one is known by the turn's own id.

    *answers*: the turns it answers, where others may stand between them and the reply.
    """
    stored = json.loads(facts) if facts else {}
    if len(pieces) < 2 and "pieces" not in stored and not answers:
        return facts
    others = {key: value for key, value in stored.items() if key != "pieces"}
    if len(pieces) > 1:
        others["pieces"] = [to_plain(piece) for piece in pieces]
    if answers:
        others[ANSWERS] = list(answers)
    return canonical_json(others) if others else None
