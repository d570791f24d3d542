"""HistoryProvider: recent turns of the channel, the rolling summary of everything older, news from elsewhere.

It never waits for a model: what is cached is given now, what is stale is refreshed in the
background, once the reply is out, and is there next turn.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo

from familiar_connect.audience import Audience
from familiar_connect.chat.types import Turn
from familiar_connect.chat.window import grow_window, window_start
from familiar_connect.config.types import ChannelMode
from familiar_connect.context.providers.history.cross_channel import CrossChannelNotes
from familiar_connect.context.providers.history.summaries import (
    SteadySummaries,
    SummaryPrivacy,
    SummaryRefresher,
    WindowPosition,
    sendable,
    shorten_news,
)
from familiar_connect.context.providers.history.turn_items import (
    SOURCE,
    dialogue_items,
    is_within_gap,
    role_of,
    turn_items,
)
from familiar_connect.context.providers.scene.text import name_marks
from familiar_connect.context.types import ContextItem, ContextRequest, Contribution, ItemTag, Layer, Priority
from familiar_connect.history.dialogue_starts import DialogueStart, StartKind
from familiar_connect.history.store import HistoryStore
from familiar_connect.history.turn_visibility import only_since_opened
from familiar_connect.history.types import CrossContextEntry, HistoryTurn, OtherChannelInfo, SummaryEntry
from familiar_connect.identity import Privacy, format_turn_for_transcript
from familiar_connect.llm.protocols import SideModel
from familiar_connect.support.aio import off_loop
from familiar_connect.support.system_notes import note
from familiar_connect.support.tokens import estimate_tokens

logger = logging.getLogger(__name__)

HISTORY_RECENT_PRIORITY = int(Priority.HISTORY_RECENT)
HISTORY_SUMMARY_PRIORITY = int(Priority.HISTORY_SUMMARY)
CROSS_CONTEXT_PRIORITY = int(Priority.ELSEWHERE)
DEFAULT_WINDOW_SIZE = 20
DEFAULT_DEADLINE_S = 15.0
DEFAULT_SUMMARY_TIMEOUT_S = 12.0
MOST_VERBATIM = 2000
"""Turns that a prompt as in SillyTavern is made from."""
MAX_SINCE = 400
"""Turns looked through for what we said while an exchange waited."""
MAX_OTHER_CHANNELS = 2
NEWS_EVERY_TURNS = 40
NEWS_AFTER = timedelta(minutes=30)
"""What is told of another channel is made anew after so many turns there, or so long after it was made."""
MAX_CHANNELS_LOOKED_AT = 50
"""Channels whose audience is looked at in one turn, most recently active first."""
MAX_SUMMARIES = 6
"""Rolling summaries that one prompt may hold; those that reach furthest come first."""
RESUMES_AFTER_S = 300.0


@dataclass(frozen=True)
class _OtherChannel:
    channel: OtherChannelInfo
    text: str | None
    stale: bool
    """Whether something was said there that the text does not tell."""
    due: bool
    """Whether it is to be told anew."""
    audience: Audience


@dataclass(frozen=True)
class _SummaryState:
    audience: Audience | None
    """None: the summary of everything said anywhere."""
    entry: SummaryEntry | None
    due_to: int | None
    """The turn it should be brought up to, if that is due."""
    shown: str = ""
    """What of it this prompt tells."""


@dataclass(frozen=True)
class _Facts:
    """One reading of the store; everything the contributions are made of."""

    turns: Sequence[HistoryTurn]
    first_ordinal: int
    summaries: Sequence[_SummaryState]
    elsewhere: Sequence[_OtherChannel]
    noted: Sequence[Contribution]


@dataclass(frozen=True, kw_only=True)
class HistoryOptions:
    """How the window moves and is shown, and how much one refresh of a summary reads."""

    display_zone: tzinfo = UTC
    step: int = 0
    """Turns that the window's start moves by; 0: it always holds exactly its size."""
    refresh_every_turns: int = 16
    max_turns_per_refresh: int = 200
    max_chars_per_refresh: int = 24_000
    wait_until_quiet: Callable[[], Awaitable[None]] | None = None
    """Returns once no reply is being made: only then is a model asked for a summary."""
    keeps_modes_apart: bool = True
    """A channel's dialogue is that of its present mode alone."""


class HistoryProvider:
    """Long-lived: one instance serves every channel, so that one refresh per watermark can hold."""

    id = "history"
    deadline_s = DEFAULT_DEADLINE_S

    def __init__(
        self,
        *,
        store: HistoryStore,
        llm_client: SideModel,
        window_size: int = DEFAULT_WINDOW_SIZE,
        summary_lag: int | None = None,
        mode: ChannelMode | None = None,
        summary_timeout_s: float = DEFAULT_SUMMARY_TIMEOUT_S,
        options: HistoryOptions | None = None,
        privacy: Privacy | None = None,
        elsewhere: CrossChannelNotes | None = None,
    ) -> None:
        if window_size <= 0:
            raise ValueError(f"window_size must be greater than 0, not {window_size}")
        options = options or HistoryOptions()
        self._store = store
        self._window_size = window_size
        self._lag = window_size if summary_lag is None else summary_lag
        self._mode = mode
        self._zone = options.display_zone
        self._step = options.step
        self._keeps_modes_apart = options.keeps_modes_apart
        self._refresh_every = options.refresh_every_turns
        self._private = SummaryPrivacy(store, privacy)
        self._cross_channel = elsewhere
        self._steady = SteadySummaries()
        self.refresher = SummaryRefresher(
            store=store,
            llm_client=llm_client,
            timeout_s=summary_timeout_s,
            max_turns=options.max_turns_per_refresh,
            max_chars=options.max_chars_per_refresh,
            private=self._private,
            zone=options.display_zone,
            wait_until_quiet=options.wait_until_quiet,
            note_successor=self._steady.note_successor,
        )

    async def contribute(self, request: ContextRequest) -> list[Contribution]:
        mode = request.mode or self._mode
        facts = await off_loop(self._read, request, mode)
        for state in facts.summaries:
            if state.due_to is not None:
                self.refresher.refresh_summary(request.familiar_id, state.due_to, state.audience)
        if mode is not None:
            for other in facts.elsewhere:
                if other.due:
                    self.refresher.refresh_cross_channel(request.familiar_id, mode, other.channel)
        return [
            *self._recent(request, facts, mode),
            *_summaries(facts, request),
            *([*_other_channel_summaries(facts, request), *facts.noted] if mode is not ChannelMode.full_rp else ()),
        ]

    async def aclose(self) -> None:
        await self.refresher.aclose()

    # Reading

    def _read(self, request: ContextRequest, mode: ChannelMode | None) -> _Facts:
        self._private.drop_stale_summaries(request.familiar_id)
        shown = mode if self._keeps_modes_apart else None
        turns, first = ([], 0) if _turn_with_dialogue(request) is not None else self._window(request, shown)
        others = self._other_channels(request, mode)
        return _Facts(turns, first, self._summary_states(request, shown), others, self._notes(request, mode, others))

    def _window(self, request: ContextRequest, mode: ChannelMode | None) -> tuple[list[HistoryTurn], int]:
        stored = self._store.count_before(
            familiar_id=request.familiar_id, channel_id=request.channel_id, before_id=request.before_id, mode=mode
        )
        first = window_start(stored, *self._size_and_step(request))
        turns = self._store.recent(
            familiar_id=request.familiar_id,
            channel_id=request.channel_id,
            limit=stored - first,
            mode=mode,
            before_id=request.before_id,
        )
        mark = self._store.dialogue_starts.newest(request.familiar_id, request.channel_id, before_id=request.before_id)
        said = [*turns, *self._find_said_meanwhile(request, mode)]
        shown = self._private.without_private(said if mark is None else _since_mark(said, mark))
        if request.readers is not None:
            shown = only_since_opened(shown, request.readers)
        return shown, first

    def _size_and_step(self, request: ContextRequest) -> tuple[int, int]:
        if request.is_exact:  # the preset's own context says where the chat is cut
            return MOST_VERBATIM, 0
        return grow_window(request.history_turns, self._window_size, self._step)

    def _lag_for(self, request: ContextRequest) -> int:
        """How many of the newest turns no summary takes in: those a window that has just moved shows."""
        return max(self._lag, self._size_and_step(request)[0])

    def _lag_at(self, request: ContextRequest, at: WindowPosition) -> int:
        """As `_lag_for`: what the window shows now, or, shortly before it moves, what it will show then."""
        size, step = self._size_and_step(request)
        lag = self._lag_for(request)
        kept = max(0, lag - at.until_move) if at.is_near_move(step) else lag + max(0, at.shown - size)
        return kept + 1  # and the message being answered

    def _find_said_meanwhile(self, request: ContextRequest, mode: ChannelMode | None) -> list[HistoryTurn]:
        """What we said after the exchange had begun: its messages waited, and answer or follow those words."""
        if request.turn is None or request.before_id is None:
            return []
        since = self._store.turns_after(
            familiar_id=request.familiar_id,
            channel_id=request.channel_id,
            after_id=request.before_id,
            limit=MAX_SINCE,
        )
        return [
            turn
            for turn in since
            if turn.role == "assistant"
            and (mode is None or turn.mode == mode.value)
            and (request.now is None or turn.timestamp <= request.now)
        ]

    def _summary_states(self, request: ContextRequest, mode: ChannelMode | None) -> list[_SummaryState]:
        """The cached summaries that may be told here, and how far each should be brought, if that is due."""
        if request.readers is None:
            return [self._whole_summary(request)]
        at = self._window_position(request, mode)
        audiences = self._store.audiences(familiar_id=request.familiar_id)
        states = [self._audience_summary(request, each, at) for each in audiences if request.may_tell([each])]
        states.sort(key=lambda state: -(state.entry.last_summarised_id if state.entry else 0))
        return states[:MAX_SUMMARIES]

    def _window_position(self, request: ContextRequest, mode: ChannelMode | None) -> WindowPosition | None:
        """Where the window of the request's channel stands; None where it moves with every turn."""
        size, step = self._size_and_step(request)
        if step <= 0:
            return None
        stored = self._store.count_before(
            familiar_id=request.familiar_id, channel_id=request.channel_id, before_id=request.before_id, mode=mode
        )
        first = window_start(stored, size, step)
        return WindowPosition(first, stored - first, until_move=first + step + size - stored)

    def _audience_summary(
        self, request: ContextRequest, audience: Audience, at: WindowPosition | None
    ) -> _SummaryState:
        familiar_id = request.familiar_id
        entry = self._store.get_summary(familiar_id=familiar_id, channel_id=self._store.summaries.row_of(audience))
        lag = self._lag_for(request) if at is None else self._lag_at(request, at)
        target = self._store.nth_newest_id(familiar_id=familiar_id, back=lag, audience=audience)
        is_due = target is not None and (entry is None or self._is_due(familiar_id, entry, target, audience))
        text = entry.summary_text if entry is not None else ""
        if at is not None and (text or self._shows_all(familiar_id, audience, at)):
            text = self._steady.choose(request.channel_id, str(audience), text, at.first)
        return _SummaryState(audience, entry, target if is_due else None, sendable(text))

    def _shows_all(self, familiar_id: str, audience: Audience, at: WindowPosition) -> bool:
        """Whether nothing said to *audience* lies outside the window: then no summary is missed until it moves."""
        if at.first > 0:
            return False
        return self._store.nth_newest_id(familiar_id=familiar_id, back=at.shown + 1, audience=audience) is None

    def _whole_summary(self, request: ContextRequest) -> _SummaryState:
        """The summary of everything said anywhere: for the owner's own looking, where no place is asked about."""
        entry, due_to = self._whole_state(request.familiar_id, self._lag_for(request))
        return _SummaryState(None, entry, due_to, sendable(entry.summary_text) if entry is not None else "")

    def _whole_state(self, familiar_id: str, lag: int) -> tuple[SummaryEntry | None, int | None]:
        """The cached summary, and the turn it should be brought up to, if that is due."""
        total = self._store.count(familiar_id=familiar_id)
        summarised = window_start(total, lag, self._step)
        entry = self._store.get_summary(familiar_id=familiar_id)
        if summarised == 0:
            return entry, None
        target = self._store.nth_newest_id(familiar_id=familiar_id, back=total - summarised)
        if target is None or (entry is not None and not self._is_due(familiar_id, entry, target)):
            return entry, None
        return entry, target

    def _is_due(self, familiar_id: str, entry: SummaryEntry, target: int, audience: Audience | None = None) -> bool:
        if target <= entry.last_summarised_id:
            return False
        waiting = self._store.turns_after(
            familiar_id=familiar_id,
            after_id=entry.last_summarised_id,
            max_id=target,
            audience=audience,
            limit=self._refresh_every,
        )
        return len(waiting) >= self._refresh_every

    def _other_channels(self, request: ContextRequest, mode: ChannelMode | None) -> list[_OtherChannel]:
        if mode is None:
            return []
        found = []
        others = self._store.distinct_other_channels(
            familiar_id=request.familiar_id, exclude_channel_id=request.channel_id
        )
        if self._cross_channel is not None:
            chats = self._cross_channel.other_chats(request.channel_id)
            others = [other for other in others if other.channel_id not in chats]
        for other, audience in self._tellable_channels(request, others):
            entry = self._store.get_cross_context(
                familiar_id=request.familiar_id, viewer_mode=mode.value, source_channel_id=other.channel_id
            )
            stale = entry is None or entry.source_last_id < other.latest_id
            due = stale and (entry is None or self._is_news_due(request.familiar_id, other, entry))
            text = shorten_news(entry.summary_text) if entry else None
            found.append(_OtherChannel(other, text, stale, due, audience))
        return found

    def _is_news_due(self, familiar_id: str, other: OtherChannelInfo, entry: CrossContextEntry) -> bool:
        """Whether so much was said there since, or so long ago was it told, that a model is worth asking again.

        Until then the notes of that channel tell what is new.
        """
        if other.latest_timestamp - entry.created_at >= NEWS_AFTER:
            return True
        since = self._store.turns_after(
            familiar_id=familiar_id, channel_id=other.channel_id, after_id=entry.source_last_id, limit=NEWS_EVERY_TURNS
        )
        return len(since) >= NEWS_EVERY_TURNS

    def _tellable_channels(
        self, request: ContextRequest, others: Sequence[OtherChannelInfo]
    ) -> list[tuple[OtherChannelInfo, Audience]]:
        """The first few channels whose talk of now may be told here, with whom it is said to."""
        found: list[tuple[OtherChannelInfo, Audience]] = []
        for other in others[:MAX_CHANNELS_LOOKED_AT]:
            audience = self._store.channel_audience(familiar_id=request.familiar_id, channel_id=other.channel_id)
            if audience is not None and request.may_tell([audience]):
                found.append((other, audience))
                if len(found) == MAX_OTHER_CHANNELS:
                    break
        return found

    def _notes(
        self, request: ContextRequest, mode: ChannelMode | None, others: Sequence[_OtherChannel]
    ) -> list[Contribution]:
        """Short-term notes of channels of which no summary tells all."""
        if self._cross_channel is None or mode in (None, ChannelMode.full_rp):
            return []
        try:
            return self._cross_channel.contributions(
                request, but={each.channel.channel_id for each in others if not each.stale}
            )
        except Exception as error:  # isolation: the dialogue goes out without the notes
            logger.warning("notes of other channels could not be told", extra={"error": type(error).__name__})
            return []

    # Telling

    def _recent(self, request: ContextRequest, facts: _Facts, mode: ChannelMode | None) -> list[Contribution]:
        resumed = _resumption(facts.elsewhere) if mode is ChannelMode.full_rp else None
        if (turn := _turn_with_dialogue(request)) is not None:
            items = turn_items(turn, mode, self._zone, between=resumed)
            text = "\n".join(_transcript(turn))
        elif facts.turns:
            items = dialogue_items(
                facts.turns,
                mode,
                self._zone,
                first_ordinal=facts.first_ordinal,
                between=resumed,
                verbatim=request.is_exact,
            )
            text = "\n".join(format_turn_for_transcript(t.role, t.author, t.display_text) for t in facts.turns)
        else:
            return []
        tokens = sum(estimate_tokens(item.text) for item in items)
        return [
            Contribution(
                Layer.recent_history,
                HISTORY_RECENT_PRIORITY,
                text,
                tokens,
                SOURCE,
                tag=ItemTag.DIALOGUE,
                items=items,
                audiences=request.own_audience,
            )
        ]


def _since_mark(turns: Sequence[HistoryTurn], mark: DialogueStart) -> list[HistoryTurn]:
    """*turns* that a mark does not cover, with the summary that stands for those it does."""
    shown = [turn for turn in turns if turn.id > mark.after_id]
    if mark.kind is not StartKind.compact or len(shown) == len(turns):
        return shown
    summary = note(f"Summary of what was said before: {mark.summary}")
    return [HistoryTurn(mark.after_id, mark.made_at, "system", None, summary, mark.channel_id), *shown]


def _turn_with_dialogue(request: ContextRequest) -> Turn | None:
    """The request's turn, where it brings the dialogue itself."""
    return request.turn if request.turn is not None and request.turn.messages else None


def _transcript(turn: Turn) -> list[str]:
    return [
        f"assistant: {each.content or ''}"
        if role_of(turn, each) == "assistant"
        else f"user ({each.author_name}): {each.content or ''}"
        for each in turn.messages
    ]


def _summaries(facts: _Facts, request: ContextRequest) -> list[Contribution]:
    return [
        Contribution(
            Layer.history_summary,
            HISTORY_SUMMARY_PRIORITY,
            text := name_marks(request, state.shown),
            estimate_tokens(text),
            "history:summary",
            tag=ItemTag.SUMMARY,
            key=str(state.audience) if state.audience is not None else "",
            audiences=None if state.audience is None else frozenset({state.audience}),
        )
        for state in facts.summaries
        if state.shown
    ]


def _other_channel_summaries(facts: _Facts, request: ContextRequest) -> list[Contribution]:
    return [
        Contribution(
            Layer.history_summary,
            CROSS_CONTEXT_PRIORITY,
            text := name_marks(request, other.text),
            estimate_tokens(text),
            f"history:cross_channel:{other.channel.channel_id}",
            tag=ItemTag.SHORT_TERM,
            volatile=True,
            audiences=frozenset({other.audience}),
        )
        for other in facts.elsewhere
        if other.text
    ]


def _resumption(elsewhere: Sequence[_OtherChannel]) -> Callable[[datetime, datetime], ContextItem | None]:
    """A note before a turn that resumes after a pause in which something happened elsewhere."""

    def between(earlier: datetime, later: datetime) -> ContextItem | None:
        told = [
            other.text
            for other in elsewhere
            if other.text and is_within_gap(earlier, later, other.channel.latest_timestamp, RESUMES_AFTER_S)
        ]
        if not told:
            return None
        return ContextItem.of("system", " ".join(told), source="history:elsewhere")

    return between
