"""Quotations: what somebody's message keeps of another's, as the one it answers or one it passed on.

When the other was changed or taken back, the quotation goes: what it reads now is looked up when it is shown.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence, Set
from typing import Any

from familiar_connect.support.serialize import TAG, canonical_json
from familiar_connect.support.sqlite import Database


def drop_quotations(connection: sqlite3.Connection, turn_ids: Sequence[int], *, are_gone: bool) -> None:
    """Let nobody's message tell from its quotation what the turns read.

    What a message reads now is looked up when it is shown; one that *are_gone* is not, for its platform may still
    have it.
    """
    said = connection.execute(
        "SELECT familiar_id, content, platform_message_id FROM turns WHERE id IN (SELECT value FROM json_each(?))",
        (json.dumps(list(turn_ids)),),
    ).fetchall()
    if not said:
        return
    texts = frozenset(str(text).strip() for _, text, _ in said) - {""}
    message_ids = frozenset(str(each) for _, _, each in said if each is not None)
    rows = connection.execute(
        "SELECT id, facts FROM turns WHERE familiar_id = ? AND id > ? AND (instr(facts, '\"reply_to\"') > 0"
        " OR instr(facts, '\"forwards\"') > 0)",
        (said[0][0], min(turn_ids)),
    ).fetchall()
    for other, facts in rows:
        left = without_quotations(facts, message_ids=message_ids, texts=texts, are_gone=are_gone)
        if left is not None:
            connection.execute("UPDATE turns SET facts = ? WHERE id = ?", (left, other))


def without_old_quotation(database: Database, familiar_id: str, channel_id: int, facts: str | None) -> str | None:
    """What came with a message, without what it quotes of one that was changed or taken back before it was heard."""
    if facts is None or '"reply_to"' not in facts:
        return facts
    try:
        message_id = (json.loads(facts).get("reply_to") or {}).get("message_id")
    except (ValueError, AttributeError, RecursionError):
        return facts
    rows = database.read(
        "SELECT was_deleted FROM turn_revisions JOIN turns ON turns.id = turn_id WHERE familiar_id = ?"
        " AND channel_id = ? AND platform_message_id = ? ORDER BY turn_revisions.rowid DESC LIMIT 1",
        (familiar_id, channel_id, str(message_id)),
    )
    if not rows:
        return facts
    left = without_quotations(facts, message_ids={str(message_id)}, texts=frozenset(), are_gone=bool(rows[0][0]))
    return facts if left is None else left


def without_quotations(facts: str, *, message_ids: Set[str], texts: Set[str], are_gone: bool) -> str | None:
    """What came with a message, without what it quotes of others; None where it quotes nothing of them."""
    try:
        stored = json.loads(facts)
        answered = stored.get("reply_to") or {}
        is_answer = answered.get("message_id") in message_ids
        if is_answer and are_gone:
            del stored["reply_to"]
        elif is_answer:
            stored["reply_to"] = {name: answered[name] for name in answered if name in ("message_id", TAG)}
        is_passed_on = sum(_drop_texts(each, texts) for each in stored.get("forwards") or ()) > 0
    except (ValueError, TypeError, AttributeError, RecursionError):
        return None
    return canonical_json(stored) if is_answer or is_passed_on else None


def _drop_texts(forward: dict[str, Any], texts: Set[str]) -> bool:
    """Empty a message that was passed on where it reads as one of *texts*; whether it, or what it passed on, does."""
    inner = sum(_drop_texts(each, texts) for each in forward.get("forwards") or ()) > 0
    if str(forward.get("text") or "").strip() not in texts:
        return inner
    for name in ("text", "attachments", "embeds", "stickers"):
        forward.pop(name, None)
    return True
