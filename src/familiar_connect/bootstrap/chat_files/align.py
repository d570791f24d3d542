"""Aligning a chat file with what was taken from it before: what is new, what reads differently, what is gone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from familiar_connect.bootstrap.chat_files.file_message import SPEAKER_CHARS
from familiar_connect.errors import ChatImportError
from familiar_connect.history.imported_turns import ImportedTurn


@dataclass(frozen=True, kw_only=True)
class Alignment:
    """What is to be done, by the place of each message in the file."""

    added: Sequence[int] = ()
    changed: Mapping[int, int] = field(default_factory=dict)
    """Place → the turn that reads otherwise."""
    gone: Sequence[int] = ()
    """Turns the file no longer has."""


def align_messages(
    there: Sequence[ImportedTurn],
    fingerprints: Sequence[str],
    *,
    file: str,
    chat: str,
    number: int,
) -> Alignment:
    """What to do with *there*, so that it holds what the file does.

    The history grows at its end alone, so a message between two that are there already cannot be put in.
    """
    have = [each.fingerprint for each in there]
    start = _common(have, fingerprints)
    if start == len(have):
        return Alignment(added=range(start, len(fingerprints)))
    end = min(_common(have[start:][::-1], fingerprints[start:][::-1]), len(have) - start, len(fingerprints) - start)
    if not start and not end and not set(have) & set(fingerprints):
        raise ChatImportError(
            f"{file}: is a different chat from the one imported as {chat!r}; choose a name with --chat NAME"
        )
    old, new = there[start : len(have) - end], range(start, len(fingerprints) - end)
    if end and len(new) > len(old):
        raise ChatImportError(
            f"{file}: message {start + len(old) + 1} comes before messages that were imported already; remove the "
            f"chat with `familiar import undo {number}` and import it again, or choose a name with --chat NAME"
        )
    changed: dict[int, int] = {}
    for each, at in zip(old, new, strict=False):
        if each.fingerprint[:SPEAKER_CHARS] != fingerprints[at][:SPEAKER_CHARS]:
            break
        changed[at] = each.turn_id
    if end and len(changed) < len(new):
        raise ChatImportError(
            f"{file}: message {start + 1 + len(changed)} has another speaker than when it was imported; remove "
            f"the chat with `familiar import undo {number}` and import it again, or choose a name with --chat NAME"
        )
    kept = set(changed.values())
    return Alignment(
        added=[at for at in new if at not in changed],
        changed=changed,
        gone=[each.turn_id for each in old if each.turn_id not in kept],
    )


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """How many entries both begin with."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
