"""Message metadata: what a message held besides its words, written as the text stored with it and read back.

Most messages hold nothing more, and store nothing. Facts that cannot be read, or are far too large,
count as none: the words are shown all the same.
"""

from __future__ import annotations

import json
import logging
from dataclasses import replace

from familiar_connect.chat.types import InboundMessage
from familiar_connect.support.serialize import PlainDataError, canonical_json, from_plain, to_plain

logger = logging.getLogger(__name__)

MAX_CHARS = 100_000
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
    "mentions",
    "webhook",
    "pieces",
)
_NOTHING = {name: InboundMessage.__dataclass_fields__[name].default for name in _KEPT}


def encode_metadata(message: InboundMessage) -> str | None:
    """What is worth storing of *message* besides its words; None when there is nothing."""
    facts = {name: to_plain(value) for name in _KEPT if (value := getattr(message, name)) != _NOTHING[name]}
    if not facts:
        return None
    text = canonical_json(facts)
    if len(text) > MAX_CHARS:
        logger.warning("what came with a message is too large to be kept", extra={"chars": len(text)})
        return None
    return text


def with_metadata(message: InboundMessage, facts: str | None) -> InboundMessage:
    """*message* with what was stored beside its words."""
    if not facts or len(facts) > MAX_CHARS:
        return message
    try:
        stored = json.loads(facts)
        told = from_plain(InboundMessage, {**_bare(message), **{k: v for k, v in stored.items() if k in _KEPT}})
    except (PlainDataError, ValueError, TypeError, AttributeError, RecursionError) as error:
        logger.warning("what came with a message cannot be read", extra={"error": type(error).__name__})
        return message
    return replace(message, **{name: getattr(told, name) for name in _KEPT})


def _bare(message: InboundMessage) -> dict[str, object]:
    """The least a message must hold."""
    return {
        "platform": message.platform,
        "channel_id": message.channel_id,
        "author": to_plain(message.author),
        "text": "",
        "timestamp": message.timestamp.isoformat(),
    }
