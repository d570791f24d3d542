"""Conditioning: what people on a server rewarded and punished a persona for, counted.

One row per server, persona, kind, action, reason and person; saying it again raises the count. Reasons that differ
only in case, spacing or a full stop are one. Synchronous; async code calls it off the loop.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from familiar_connect.history.store import HistoryStore
from familiar_connect.identity import EVERYTHING_ALLOWED, Author, Privacy
from familiar_connect.support.clock import Clock, SystemClock
from familiar_connect.support.sqlite import storable_all
from familiar_connect.support.system_notes import speaker_name, without_fake_notes

MAX_REASON = 250
MAX_GROUPS = 10
MAX_ROWS = 5_000
"""Rows of one server and persona; the longest unused go first."""

_NOTE = (
    "INSERT INTO conditioning VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1, ?) ON CONFLICT DO UPDATE SET"
    " times = times + 1, author_name = excluded.author_name, updated_at = excluded.updated_at RETURNING times"
)
_GROUPS = (
    "SELECT action, reason_key, reason, author_platform, author_user_id, author_name, times FROM conditioning"
    " WHERE familiar_id = ? AND guild_id = ? AND persona = ? AND kind = ? AND reason_key <> ''"
    " ORDER BY updated_at DESC, action, reason_key, author_platform, author_user_id"
)
_SWEEP = (
    "DELETE FROM conditioning WHERE familiar_id = ? AND guild_id = ? AND persona = ? AND updated_at < (SELECT"
    " updated_at FROM conditioning WHERE familiar_id = ? AND guild_id = ? AND persona = ?"
    " ORDER BY updated_at DESC LIMIT 1 OFFSET ?)"
)


FeedbackKind = Literal["reward", "punish"]

ACTIONS: Mapping[FeedbackKind, Mapping[str, str]] = MappingProxyType(
    {
        "reward": {"praise": "praised", "pat": "patted", "hug": "hugged", "treat": "given a treat"},
        "punish": {"scold": "scolded", "bonk": "bonked", "timeout": "sent to the corner", "ignore": "ignored"},
    }
)
"""Each action and its past participle."""


@dataclass(frozen=True, kw_only=True)
class ConditioningGroup:
    """The same feedback for the same reason, by whoever gave it."""

    kind: FeedbackKind
    action: str
    reason: str
    people: tuple[Author, ...]
    times: int


class Conditioning:
    """The rows of one familiar. *privacy* says who is not to be heard: of them nothing is kept or told."""

    def __init__(
        self,
        history: HistoryStore,
        *,
        familiar_id: str,
        clock: Clock | None = None,
        privacy: Privacy = EVERYTHING_ALLOWED,
    ) -> None:
        self._database = history.database
        self._familiar_id = familiar_id
        self._clock = clock or SystemClock()
        self._privacy = privacy

    def note(
        self, kind: FeedbackKind, action: str, reason: str, *, author: Author, server_id: int, persona: str
    ) -> int:
        """Keep it; how often this person has done so for this reason, 0 for one who is not heard.

        Raises ValueError for an action that is none of the kind's.
        """
        if action not in ACTIONS[kind]:
            raise ValueError(f"{action!r} is no {kind}: {', '.join(ACTIONS[kind])}")
        if self._privacy.is_full(author):
            return 0
        said = " ".join(without_fake_notes(reason).split())[:MAX_REASON].strip()
        where = (self._familiar_id, server_id, speaker_name(persona))
        values = (*where, kind, action, normalise_reason(said), author.platform, author.user_id)
        name = speaker_name(author.label, author.user_id)
        with self._database.transaction():
            row = self._database.write(_NOTE, storable_all((*values, name, said, self._clock.now().timestamp())))
            times = int(row.fetchone()[0])
            self._database.write(_SWEEP, storable_all((*where, *where, MAX_ROWS - 1)))
        return times

    def groups(self, kind: FeedbackKind, *, server_id: int, persona: str) -> list[ConditioningGroup]:
        """What there is to learn from, the latest first, each reason with everyone who gave it."""
        rows = self._database.read(_GROUPS, storable_all((self._familiar_id, server_id, speaker_name(persona), kind)))
        found: dict[tuple[str, str], ConditioningGroup] = {}
        for action, reason_key, reason, platform, user_id, name, times in rows:
            who = Author(platform, user_id, None, name)
            known = found.get((action, reason_key))
            if (
                action not in ACTIONS[kind]
                or self._privacy.is_full(who)
                or (known is None and len(found) == MAX_GROUPS)
            ):
                continue
            found[action, reason_key] = ConditioningGroup(
                kind=kind,
                action=action,
                reason=known.reason if known else reason,
                people=(*known.people, who) if known else (who,),
                times=times + (known.times if known else 0),
            )
        return list(found.values())


def normalise_reason(reason: str) -> str:
    """*reason* as two people would mean the same; empty for one without a letter or digit."""
    folded = " ".join(unicodedata.normalize("NFKC", reason).casefold().split()).strip(" .!?…,;:'\"")
    return folded if any(char.isalnum() for char in folded) else ""
