"""FollowHost: what happens with a familiar, for a program that only looks on. It works whichever program it lives in.

It reads what is on disk: the history, the log of changes of memory, and the ledger of turns. Nothing is told to a
follower that could not be told in a place where nobody else reads.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path

from familiar_connect.audience import EVERYONE, OWNER, DisclosurePolicy, Readers, between, may_tell
from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.config.load import load_character_config
from familiar_connect.conversation.person_links import PersonLinks
from familiar_connect.history.store import HistoryStore
from familiar_connect.history.types import HistoryTurn
from familiar_connect.identity import Author
from familiar_connect.memory.audit import AuditLog
from familiar_connect.observe.ledger import SQLiteCollector
from familiar_connect.observe.trace import TurnTrace
from familiar_connect.support.aio import off_loop
from familiar_connect.support.clock import SystemClock

MOST_AT_ONCE = 200
FOLLOWED = "followed"
"""The platform of the place in which a follower is told things; nobody else is there."""


@dataclass(frozen=True, kw_only=True)
class FollowedEvent:
    """One thing that happened."""

    kind: str
    """`heard`, `spoke`, `remembered` or `error`."""
    at: datetime
    facts: Mapping[str, object] = field(default_factory=dict)
    turn_id: int | None = None
    """Its place in the history, by which a follower that was away goes on; None: it has none."""


@dataclass(frozen=True, kw_only=True)
class FollowPosition:
    """How far a follower has come."""

    turn_id: int
    changes: int
    """Of memory."""
    failures: float
    """When the last turn began that was looked at."""


class FollowHost:
    """One familiar, looked on at."""

    def __init__(self, root: Path, defaults_path: Path | None = None) -> None:
        self._folder = FamiliarFolder(root)
        clock = SystemClock()
        self._history = HistoryStore(self._folder.history_db, clock=clock)
        self._audit = AuditLog(self._folder.audit, clock=clock)
        self._ledger = SQLiteCollector(self._folder.metrics_db)
        self._links = PersonLinks(self._folder.links_file, clock)
        self._policy = load_character_config(self._folder.settings_file, defaults_path=defaults_path).telling_policy

    @property
    def familiar_id(self) -> str:
        """What the familiar's folder is called."""
        return self._folder.root.name

    async def now(self) -> FollowPosition:
        """Where one begins who wants what happens from now on."""
        return await off_loop(self._now)

    async def events(
        self, after: FollowPosition, person: Author | None, *, is_owner: bool
    ) -> tuple[list[FollowedEvent], FollowPosition]:
        """What happened since, as far as *person* may be told it alone; None: anybody, so what everyone may hear."""
        return await off_loop(partial(self._events, after, person, is_owner=is_owner))

    def close(self) -> None:
        """Let go of the files."""
        self._history.close()

    def _now(self) -> FollowPosition:
        newest = self._history.latest_id(familiar_id=self.familiar_id) or 0
        return FollowPosition(turn_id=newest, changes=len(self._audit.entries()), failures=self._last_start())

    def _last_start(self) -> float:
        traces = self._ledger.recent_traces(familiar_id=self.familiar_id, limit=1)
        return _started(traces[0]) if traces else 0.0

    def _events(
        self, after: FollowPosition, person: Author | None, *, is_owner: bool
    ) -> tuple[list[FollowedEvent], FollowPosition]:
        here = _readers_of(person, is_owner=is_owner)
        policy = DisclosurePolicy(self._policy.confidence, self._policy.owner_hears_all, linked=self._links.all())
        turns = self._history.turns_after(familiar_id=self.familiar_id, after_id=after.turn_id, limit=MOST_AT_ONCE)
        found = [_describe_turn(turn) for turn in turns if may_tell(turn.audience, here, policy)]
        changes, failures = after.changes, after.failures
        if is_owner:  # files and failures are the owner's business
            entries = self._audit.entries()
            found += [
                FollowedEvent(kind="remembered", at=each.timestamp, facts={"file": each.rel_path, "by": each.source})
                for each in entries[changes:]
            ]
            changes = len(entries)
            traces = self._ledger.recent_traces(familiar_id=self.familiar_id, limit=MOST_AT_ONCE)
            newer = [each for each in reversed(traces) if _started(each) > failures]
            found += [event for each in newer if (event := _describe_failure(each)) is not None]
            failures = max([failures, *map(_started, newer)])
        at = turns[-1].id if turns else after.turn_id
        return found, FollowPosition(turn_id=at, changes=changes, failures=failures)


def _readers_of(person: Author | None, *, is_owner: bool) -> Readers:
    """A place that only *person* reads; without one, a place that everyone does."""
    if person is None:
        return Readers(EVERYONE, platform=FOLLOWED)
    audience = OWNER if is_owner else between({person.canonical_key})
    return Readers(audience, platform=FOLLOWED, speaker=person.canonical_key)


def _describe_turn(turn: HistoryTurn) -> FollowedEvent:
    is_own = turn.role == "assistant"
    facts: dict[str, object] = {"text": turn.display_text, "channel": turn.channel_id}
    if turn.author is not None and not is_own:
        facts |= {"who": turn.author.label, "platform": turn.author.platform}
    return FollowedEvent(kind="spoke" if is_own else "heard", at=turn.timestamp, facts=facts, turn_id=turn.id)


def _describe_failure(trace: TurnTrace) -> FollowedEvent | None:
    """The turn as a failure; None: it was none."""
    reason = trace.fact("error")
    if not isinstance(reason, str):
        return None
    facts = {"reason": reason, "channel": trace.channel_id}
    return FollowedEvent(kind="error", at=datetime.fromisoformat(trace.timestamp), facts=facts)


def _started(trace: TurnTrace) -> float:
    return datetime.fromisoformat(trace.timestamp).timestamp()
