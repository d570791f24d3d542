"""own_turn_facts: what is stored beside the familiar's own words: whose they are, and which messages hold them."""

from __future__ import annotations

import json
from collections.abc import Sequence

from familiar_connect.chat.message_parts import MessagePiece, WebhookIdentity
from familiar_connect.support.serialize import canonical_json, to_plain

ALTER = "alter"
"""Stands for the account of a further persona, which has none of its own."""


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


def own_turn_facts(pieces: Sequence[MessagePiece], facts: str | None = None) -> str | None:
    """*facts*, with the messages a reply stands in now where there are several: one is known by the turn's own id."""
    stored = json.loads(facts) if facts else {}
    if len(pieces) < 2 and "pieces" not in stored:
        return facts
    others = {key: value for key, value in stored.items() if key != "pieces"}
    if len(pieces) > 1:
        others["pieces"] = [to_plain(piece) for piece in pieces]
    return canonical_json(others) if others else None
