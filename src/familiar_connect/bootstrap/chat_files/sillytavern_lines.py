"""Messages of a SillyTavern chat file, line by line, with their versions (swipes) and everything for the way back."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from datetime import tzinfo
from typing import Any

from familiar_connect.bootstrap.chat_files.file_message import MAX_NAME_CHARS, FileMessage
from familiar_connect.chat.files.file_lines import parse_send_date
from familiar_connect.errors import ChatImportError
from familiar_connect.extensions.imported import MAX_TEXT_CHARS
from familiar_connect.history.versions import MAX_VERSIONS
from familiar_connect.support.text import one_line, without_surrogates

OUR_KEY = "familiar_connect"
"""What our own export adds; of it only the raw words say something on the way in."""
WORDS = "words"
_DIGEST_BYTES = 16


def raw_words(texts: Sequence[str], views: Sequence[str | None]) -> dict[str, object]:
    """What our key holds of a message where `mes` or swipes are views: the words themselves, by what is shown."""
    seen = {view for view in views if view is not None}
    words: dict[str, list[str]] = {}
    for text, view in zip(texts, views or (None,) * len(texts), strict=True):
        if (shown := text if view is None else view) in seen:
            words.setdefault(_digest(shown), []).append(text)
    return {WORDS: words} if words else {}


def _digest(shown: str) -> str:
    return hashlib.blake2b(shown.encode("utf-8", "replace"), digest_size=_DIGEST_BYTES).hexdigest()


def message_of_row(row: Mapping[str, Any], line: int, where: str, zone: tzinfo) -> FileMessage:
    """The message in *row*; a `ChatImportError` that begins with *where* when it is none."""
    text = row.get("mes")
    if not isinstance(text, str):
        raise ChatImportError(f"{where}: is not a message: `mes` must be a text; fix that line or take it out")
    versions, chosen = _versions(row, where)
    if versions:
        versions = (*versions[:chosen], _bounded(text, where), *versions[chosen + 1 :])
    versions, chosen = (versions, chosen) if len(versions) > 1 else ((), 0)
    return FileMessage(
        line=line,
        name=one_line(without_surrogates(str(row.get("name") or "")))[:MAX_NAME_CHARS],
        text=_bounded(text, where),
        speaker="user" if row.get("is_user") else "character",
        is_hidden=bool(row.get("is_system")),
        is_narrator=_extra(row).get("type") == "narrator",
        sent=parse_send_date(row.get("send_date"), zone),
        versions=versions,
        chosen=chosen,
        turn_id=_turn_id(row),
        kept=_kept(row),
        words=_words(row, versions or (_bounded(text, where),), where),
    )


def _words(row: Mapping[str, Any], shown: Sequence[str], where: str) -> tuple[str, ...]:
    """The raw words behind each text that is *shown*; one that was changed since the export is its own words."""
    ours = _extra(row).get(OUR_KEY)
    kept = ours.get(WORDS) if isinstance(ours, Mapping) else None
    if not isinstance(kept, Mapping):
        return ()
    behind = {name: iter(each) for name, each in kept.items() if isinstance(each, list)}
    found = [next(behind.get(_digest(text), iter(())), text) for text in shown]
    return tuple(_bounded(raw, where) if isinstance(raw, str) else text for raw, text in zip(found, shown, strict=True))


def _extra(row: Mapping[str, Any]) -> Mapping[str, Any]:
    extra = row.get("extra")
    return extra if isinstance(extra, Mapping) else {}


def _turn_id(row: Mapping[str, Any]) -> int:
    ours = _extra(row).get(OUR_KEY)
    found = ours.get("turn_id") if isinstance(ours, Mapping) else None
    return found if isinstance(found, int) and 0 < found < 2**63 else 0


def _bounded(text: str, where: str) -> str:
    if len(text) > MAX_TEXT_CHARS:
        raise ChatImportError(
            f"{where}: holds {len(text):,} characters, and a message may have {MAX_TEXT_CHARS:,}; shorten it"
        )
    return without_surrogates(text)


def _versions(row: Mapping[str, Any], where: str) -> tuple[tuple[str, ...], int]:
    """Every version of a message, and which it reads; none where the file tells of one alone."""
    swipes, number = row.get("swipes"), row.get("swipe_id")
    if not isinstance(swipes, list) or not swipes:
        return (), 0
    if len(swipes) > MAX_VERSIONS:
        raise ChatImportError(f"{where}: has {len(swipes):,} swipes, and a message may have {MAX_VERSIONS:,}")
    texts = tuple(_bounded(each if isinstance(each, str) else "", where) for each in swipes)
    if isinstance(number, int) and 0 <= number < len(texts):
        return texts, number
    said = without_surrogates(str(row.get("mes")))
    return (texts, texts.index(said)) if said in texts else ((*texts, said), len(texts))


def _kept(row: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of *row* but those that are kept as text and versions."""
    kept = {name: value for name, value in row.items() if name not in ("mes", "swipes")}
    if row.get("swipes") and "swipe_id" not in kept:
        kept["swipe_id"] = 0
    extra = kept.get("extra")
    if isinstance(extra, dict) and OUR_KEY in extra:
        kept["extra"] = {name: value for name, value in extra.items() if name != OUR_KEY}
        if not kept["extra"]:
            del kept["extra"]
    return kept
