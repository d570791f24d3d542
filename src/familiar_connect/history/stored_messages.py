"""StoredMessages: the recent messages of a channel from the history, for platforms that cannot look back.

StoredWindow: where the shown part of a channel begins, by the store's own count.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from familiar_connect.chat.message_parts import Embed
from familiar_connect.chat.scene import WindowStart
from familiar_connect.chat.types import InboundMessage, LineFacts
from familiar_connect.history.dialogue_starts import DialogueStart, StartKind
from familiar_connect.history.message_metadata import with_metadata
from familiar_connect.history.rows import Mode
from familiar_connect.history.store import HistoryStore
from familiar_connect.history.turn_visibility import only_since_opened, readers_last_known
from familiar_connect.history.types import DELETED, HistoryTurn
from familiar_connect.identity import Author
from familiar_connect.support.aio import off_loop
from familiar_connect.support.lru import LruCache

NOBODY = "unknown"
"""User id of someone whose turn was stored without saying who they are."""
MAX_MADE = 1_024
"""Turns that are made messages once."""


class StoredMessages:
    """What was last said in one channel, oldest first, told as if it had just come in.

    The familiar's own words come back as *me*, marked as a bot's and as ours.
    """

    def __init__(
        self,
        store: HistoryStore,
        familiar_id: str,
        channel_id: int,
        *,
        platform: str = "history",
        me: Author | None = None,
        mode: Mode = None,
        before_id: int | None = None,
    ) -> None:
        self._store = store
        self._familiar_id = familiar_id
        self._channel_id = channel_id
        self._platform = platform
        self._me = me or Author(platform, familiar_id, None, None)
        self._mode = mode
        self._before_id = before_id
        self._made: LruCache[int, tuple[HistoryTurn, InboundMessage]] = LruCache(MAX_MADE)
        """Turns as messages, by their ids: most are told again in the next turn."""

    async def recent(self, limit: int) -> Sequence[InboundMessage]:
        """The newest messages since the mark in force, and that mark before them."""
        mark, turns = await off_loop(self._recent, limit)
        marked = [self._mark_message(mark)] if mark is not None else []
        return [*marked, *(self._message(turn) for turn in turns)]

    def _recent(self, limit: int) -> tuple[DialogueStart | None, list[HistoryTurn]]:
        familiar_id, channel_id = self._familiar_id, self._channel_id
        turns = self._store.recent(
            familiar_id=familiar_id, channel_id=channel_id, limit=limit, mode=self._mode, before_id=self._before_id
        )
        mark = self._store.dialogue_starts.newest(familiar_id, channel_id, before_id=self._before_id)
        turns = only_since_opened(turns, readers_last_known(self._store, familiar_id, channel_id))
        return mark, turns if mark is None else [turn for turn in turns if turn.id > mark.after_id]

    def _mark_message(self, mark: DialogueStart) -> InboundMessage:
        """A mark as the message of ours that the window begins after, or with."""
        is_compact = mark.kind is StartKind.compact
        told = f"Summary of what was said before: {mark.summary}" if is_compact else "The conversation begins anew."
        return InboundMessage(
            platform=self._me.platform,
            channel_id=self._channel_id,
            author=self._me,
            text=told,
            timestamp=mark.made_at,
            is_bot=True,
            is_self=True,
            history_id=mark.after_id,
            embeds=(Embed(notice="compact_refresh" if is_compact else "reset", description=told),),
            line=LineFacts(is_narrator=True),
        )

    def _message(self, turn: HistoryTurn) -> InboundMessage:
        known = self._made.get(turn.id)
        if known is None or known[0] is not turn:  # a turn that was changed is another one
            known = (turn, message_from_turn(turn, self._me, platform=self._platform))
            self._made.put(turn.id, known)
        return known[1]


def message_from_turn(turn: HistoryTurn, me: Author, *, platform: str) -> InboundMessage:
    """A turn as the message it came in as, or went out as: then it is by *me*. Nobody's is by nobody on *platform*."""
    ours = turn.role == "assistant"
    author = me if ours else turn.author or Author(platform, NOBODY, None, None)
    message = InboundMessage(
        platform=author.platform,
        channel_id=turn.channel_id,
        author=author,
        text="" if ours and turn.content == DELETED else turn.content,
        timestamp=turn.timestamp,
        message_id=turn.platform_message_id,
        guild_id=turn.guild_id,
        is_bot=ours,
        is_self=ours,
        history_id=turn.id,
        mode=turn.mode or "",
        view=turn.view,
    )
    return with_metadata(message, turn.facts)


def message_of_turn(turn: HistoryTurn) -> InboundMessage | None:
    """What a person said as it came in; None for the familiar's own words and for a turn without a speaker."""
    if turn.role == "assistant" or turn.author is None:
        return None
    return message_from_turn(turn, turn.author, platform=turn.author.platform)


class StoredWindow:
    """The start of a channel's window, found by the absolute count of its stored turns."""

    def __init__(self, store: HistoryStore) -> None:
        self._store = store

    async def window(
        self,
        *,
        familiar_id: str,
        channel_id: int,
        before_id: int | None,
        mode: str | None,
        first: Callable[[int], int],
    ) -> WindowStart:
        return await off_loop(self._find, familiar_id, channel_id, before_id, mode, first)

    def _find(
        self, familiar_id: str, channel_id: int, before_id: int | None, mode: str | None, first: Callable[[int], int]
    ) -> WindowStart:
        stored = self._store.count_before(
            familiar_id=familiar_id, channel_id=channel_id, before_id=before_id, mode=mode
        )
        shown = self._store.recent(
            familiar_id=familiar_id,
            channel_id=channel_id,
            limit=stored - first(stored),
            mode=mode,
            before_id=before_id,
        )
        if not shown:
            return WindowStart(stored=stored)
        return WindowStart(stored=stored, history_id=shown[0].id, message_id=shown[0].platform_message_id)
