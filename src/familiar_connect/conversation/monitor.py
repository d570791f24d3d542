"""ConversationMonitor: when the familiar speaks in a channel with others.

It follows each channel by itself: what was said since it last spoke, how many messages until it looks at
joining in, how long a quiet is a lull. Each message leaves its channel's buffer once, to be answered or
to be let pass; all of them are in the history whatever is decided.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

from familiar_connect.chat.scene import ChannelContext, ChannelKind
from familiar_connect.chat.types import InboundMessage
from familiar_connect.config.types import DecideWith, Interjection
from familiar_connect.conversation.addressing.judge import judge_address
from familiar_connect.conversation.buffer import (
    ChannelState,
    ChannelStates,
    InterjectionSchedule,
    LullTimers,
    Rng,
    is_direct_address,
)
from familiar_connect.conversation.channels import ChannelLabels
from familiar_connect.conversation.speak_decision import (
    RECENT_TURNS,
    Situation,
    SpeakDecision,
    ask_side_model,
    can_decide,
    decide_by_rules,
    decide_called,
    is_small,
    is_told_by_rules,
)
from familiar_connect.conversation.types import BufferedMessage, ResponseTrigger
from familiar_connect.history.store import HistoryStore
from familiar_connect.history.turn_visibility import only_since_opened, readers_last_known, without_private_turns
from familiar_connect.history.types import HistoryTurn
from familiar_connect.identity import EVERYTHING_ALLOWED, Author, Privacy
from familiar_connect.llm.protocols import SideModel
from familiar_connect.support.aio import BackgroundTasks, CallLater, call_later, off_loop
from familiar_connect.support.clock import Clock, SystemClock

logger = logging.getLogger(__name__)

DecisionCallback = Callable[[int, list[BufferedMessage], ResponseTrigger], Awaitable[object]]


@dataclass(frozen=True, kw_only=True)
class MonitorOptions:
    """How a monitor decides, and what it keeps its channels by."""

    familiar_id: str | None = None
    """Whose history is read; None: looked for under the familiar's names."""
    decide_with: DecideWith = DecideWith.auto
    reply_model: SideModel | None = None
    """The model that replies, where it may decide as it writes."""
    labels: ChannelLabels | None = None
    privacy: Privacy = EVERYTHING_ALLOWED
    clock: Clock | None = None
    later: CallLater = call_later


class ConversationMonitor:
    """Decides; `on_respond` and `on_silence` are told and may be replaced at run time."""

    def __init__(
        self,
        familiar_name: str,
        aliases: Sequence[str],
        chattiness: str,
        interjection: Interjection,
        lull_timeout: float,
        llm_client: SideModel,
        character_card: str,
        history_store: HistoryStore | None,
        on_respond: DecisionCallback,
        on_silence: DecisionCallback | None = None,
        rng: Rng | None = None,
        *,
        options: MonitorOptions | None = None,
    ) -> None:
        options = options or MonitorOptions()
        self.familiar_name = familiar_name
        self.aliases = list(aliases)
        self.chattiness = chattiness
        self.interjection = interjection
        self.lull_timeout = lull_timeout
        self.llm_client = llm_client
        self.character_card = character_card
        self.history_store = history_store
        self.on_respond = on_respond
        self.on_silence = on_silence
        self.decide_with = options.decide_with
        self.reply_model = options.reply_model
        self._ids = [options.familiar_id] if options.familiar_id is not None else [familiar_name, *self.aliases]
        self._names = (familiar_name, *self.aliases)
        self._labels = options.labels or ChannelLabels()
        self._privacy = options.privacy
        self._clock = options.clock or SystemClock()
        rng = rng or random.random
        self._channels = ChannelStates(lambda: ChannelState(InterjectionSchedule(self.interjection, rng)))
        self._lull_timers = LullTimers(self._on_lull, options.later)
        self._background = BackgroundTasks("conversation")

    # Hearing

    async def on_message(
        self,
        channel_id: int,
        author: Author,
        text: str,
        *,
        is_mention: bool,
        is_lull_endpoint: bool = False,
        is_private: bool = False,
        is_old_news: bool = False,
        has_more: bool = False,
        history_id: int | None = None,
        timestamp: datetime | None = None,
        message: InboundMessage | None = None,
    ) -> None:
        """Take in one message and act on it.

        *is_private*: it is answered, as in a talk between two. *is_old_news*: it was said while we were away, so
        it counts but is no occasion to join in. *has_more*: more of the same talk follows at once, and is looked at
        together with it.
        """
        channel = self._channels.get(channel_id)
        self._lull_timers.cancel(channel_id)
        said_at = timestamp or self._clock.now()
        is_for_us = is_mention or is_private or self._is_called(text, surely=not has_more)
        channel.buffer.add(BufferedMessage(author, text, said_at, history_id, message, is_for_us=is_for_us))
        channel.schedule.count_message()
        if has_more:
            self._lull_timers.restart(channel_id, self.lull_timeout)  # should nothing follow after all
            return
        if is_private:
            direct = ResponseTrigger.direct_address
            _log_decision(channel_id, direct, speaks=True, why="in a direct message everything is answered")
            await self.on_respond(channel_id, self._take(channel_id, channel, direct), direct)
            return
        if self._is_worth_a_look(text, is_mention=is_mention):
            await self._evaluate(channel_id, channel, ResponseTrigger.direct_address)
        elif channel.schedule.is_due and not is_old_news:
            await self._evaluate(channel_id, channel, ResponseTrigger.interjection)
        if self._channels.find(channel_id) is not channel or not channel.buffer:
            return
        if is_lull_endpoint:
            await self._evaluate(channel_id, channel, ResponseTrigger.lull)
        else:
            self._lull_timers.restart(channel_id, self.lull_timeout)

    def is_addressed(self, text: str, *, is_mention: bool) -> bool:
        """Whether a message is said to the familiar, by a mention or by one of its names, or perhaps is.

        One that surely only speaks of it, or has its name as another word, is talk like any other.
        """
        if is_mention:
            return True
        address = judge_address(text, self._names)
        return address is not None and (address.is_call or not address.is_sure)

    def is_surely_addressed(self, text: str, *, is_mention: bool) -> bool:
        """Whether a message is said to the familiar beyond doubt."""
        return is_mention or self._is_called(text, surely=True)

    def _is_worth_a_look(self, text: str, *, is_mention: bool) -> bool:
        """Whether a message may be said to the familiar: by its name alone, where a model is asked what it means."""
        if self.decision_mode() is DecideWith.rules:
            return is_mention or self._is_called(text)
        return is_direct_address(text, self.familiar_name, self.aliases, is_mention=is_mention)

    def revise(self, channel_id: int, history_id: int, text: str | None) -> None:
        """A message that may wait in a channel reads *text* now; None: it is gone. Nothing is decided anew."""
        channel = self._channels.find(channel_id)
        if channel is not None:
            channel.buffer.revise(history_id, text)

    def clear_channel(self, channel_id: int) -> None:
        """Forget what waits in a channel, and whatever is being decided about it."""
        self._lull_timers.cancel(channel_id)
        self._channels.forget(channel_id)

    def hand_replies_to(self, answer: DecisionCallback) -> None:
        """From now on *answer* is told of what is to be answered."""
        self.on_respond = answer

    @contextmanager
    def pause_replies(self) -> Iterator[None]:
        """While this is open, whatever is heard is let pass: nothing is answered."""
        answer, self.on_respond = self.on_respond, _let_pass
        try:
            yield
        finally:
            self.on_respond = answer

    def _on_lull(self, channel_id: int) -> None:
        channel = self._channels.find(channel_id)
        if channel is not None:
            self._background.start(self._evaluate(channel_id, channel, ResponseTrigger.lull), name=f"lull {channel_id}")

    # Deciding

    async def _evaluate(self, channel_id: int, channel: ChannelState, trigger: ResponseTrigger) -> None:
        """Look at what waits, once whoever looks now is done; a look already in line sees it too."""
        lock = channel.lock
        if trigger in channel.queued_triggers:
            return
        channel.queued_triggers.add(trigger)
        try:
            await lock.acquire()
        finally:
            channel.queued_triggers.discard(trigger)
        try:
            decided = await self._decide(channel_id, channel, trigger)
        finally:
            lock.release()
        if decided is None:
            return
        speak, messages, trigger = decided
        told = self.on_respond if speak else self.on_silence
        if told is not None:
            await told(channel_id, messages, trigger)

    async def _decide(
        self, channel_id: int, channel: ChannelState, trigger: ResponseTrigger
    ) -> tuple[bool, list[BufferedMessage], ResponseTrigger] | None:
        """Whether to speak, to what, and why then; None when nothing is left to decide about.

        Whatever began the look: among what waits, a message surely said to us is answered and put to no vote.
        """
        self._leave_out_private(channel)
        if not channel.buffer or (trigger is ResponseTrigger.interjection and not channel.schedule.is_due):
            return None
        seen = channel.buffer.snapshot()
        if any(message.is_for_us for message in seen):
            trigger = ResponseTrigger.direct_address
        verdict = await self._make_decision(channel_id, seen, trigger)
        self._leave_out_private(channel)
        seen = channel.buffer.still_there(seen)
        if not seen or self._channels.find(channel_id) is not channel:
            return None  # answered or cleared meanwhile
        self._tell_why(channel_id, trigger, verdict)
        if verdict.speak:
            return True, self._take(channel_id, channel, trigger, left_to_reply=verdict.left_to_reply), trigger
        self._stay_silent(channel, trigger, seen, verdict)
        return False, seen, trigger

    def _tell_why(self, channel_id: int, trigger: ResponseTrigger, verdict: SpeakDecision) -> None:
        """Log the decision. What a side model said about it may quote people, so that is for -vv."""
        if verdict.failed:
            why = "the model that decides could not be asked"
        elif verdict.left_to_reply:
            why = "the model that replies decides as it writes"
        elif verdict.is_by_model:
            why = "the model that decides said so"
        else:
            why = verdict.reason or "its name was said"
        said = verdict.reason if verdict.is_by_model else ""
        _log_decision(channel_id, trigger, speaks=verdict.speak, why=why, **({"said": said} if said else {}))

    def _leave_out_private(self, channel: ChannelState) -> None:
        """Take out what people said who have asked since not to be heard."""
        channel.buffer.drain([m for m in channel.buffer.snapshot() if self._privacy.is_full(m.author)])

    async def _make_decision(
        self, channel_id: int, seen: list[BufferedMessage], trigger: ResponseTrigger
    ) -> SpeakDecision:
        how = self.decision_mode(is_voice=_is_voice(seen))
        if trigger is ResponseTrigger.direct_address and self._is_surely_for_us(seen):
            return SpeakDecision(speak=True, reason="they wait for an answer", left_to_reply=how is DecideWith.reply)
        if how is DecideWith.rules and trigger is ResponseTrigger.direct_address:
            return SpeakDecision(speak=True)
        if how is DecideWith.reply and (trigger is ResponseTrigger.direct_address or _is_voice(seen)):
            return SpeakDecision(speak=True, left_to_reply=True)
        if trigger is ResponseTrigger.direct_address and self._is_better_told_by_rules():
            return decide_called(is_called=any(self._is_called(message.text) for message in seen))
        situation = Situation(
            trigger=trigger,
            name=self.familiar_name,
            card=self.character_card,
            chattiness=self.chattiness,
            recent=await self._recent_turns(channel_id, seen),
            buffered=seen,
            joins_talks=self.interjection in (Interjection.eager, Interjection.very_eager),
        )
        if how is not DecideWith.rules and is_told_by_rules(situation):
            return SpeakDecision(speak=False, reason="nobody asked")
        if how is DecideWith.reply:
            return SpeakDecision(speak=True, left_to_reply=True)
        return (
            await ask_side_model(self.llm_client, situation)
            if how is DecideWith.side_model
            else decide_by_rules(situation)
        )

    def _is_surely_for_us(self, messages: Sequence[BufferedMessage]) -> bool:
        """Whether one of *messages* is said to us beyond doubt: nobody is asked whether it is."""
        return any(message.is_for_us or self._is_called(message.text, surely=True) for message in messages)

    def _is_better_told_by_rules(self) -> bool:
        """Whether the model that decides is so small that it tells a call worse than the rules do."""
        return self.decide_with is DecideWith.auto and is_small(self.llm_client)

    def _is_called(self, text: str, *, surely: bool = False) -> bool:
        address = judge_address(text, self._names)
        return address is not None and address.is_call and (address.is_sure or not surely)

    def decision_mode(self, *, is_voice: bool = False) -> DecideWith:
        """The way decisions are made now; a model too small for one way leaves the next.

        Where people talk, no side model is waited for.
        """
        wanted = self.decide_with
        if is_voice and wanted is not DecideWith.rules:
            return DecideWith.reply if can_decide(self.reply_model) else DecideWith.rules
        if wanted in (DecideWith.auto, DecideWith.side_model) and can_decide(self.llm_client):
            return DecideWith.side_model
        if wanted in (DecideWith.auto, DecideWith.reply) and can_decide(self.reply_model):
            return DecideWith.reply
        return DecideWith.rules

    async def _recent_turns(self, channel_id: int, seen: Sequence[BufferedMessage]) -> list[HistoryTurn]:
        """The last turns before the buffered ones; a history that cannot be read leaves them out."""
        try:
            turns = await off_loop(self._read_stored_turns, channel_id, seen)
        except Exception as error:  # isolation: without its past a question can still be decided
            logger.warning("recent turns could not be read", extra={"error": type(error).__name__})
            return []
        return without_private_turns(_without_buffered(turns, seen), self._privacy)[-RECENT_TURNS:]

    def _read_stored_turns(self, channel_id: int, seen: Sequence[BufferedMessage]) -> list[HistoryTurn]:
        if self.history_store is None:
            return []
        rows = [message.history_id for message in seen if message.history_id is not None]
        limit = RECENT_TURNS * 2 + len(seen)
        for familiar_id in self._ids:
            found = self.history_store.recent(
                familiar_id=familiar_id, channel_id=channel_id, limit=limit, before_id=min(rows, default=None)
            )
            if found:
                return only_since_opened(found, readers_last_known(self.history_store, familiar_id, channel_id))
        return []

    # What follows from it

    def _take(
        self, channel_id: int, channel: ChannelState, trigger: ResponseTrigger, *, left_to_reply: bool = False
    ) -> list[BufferedMessage]:
        """Everything that waits, to be answered; where the reply itself decides, `replied` starts the count anew."""
        self._lull_timers.cancel(channel_id)
        if not left_to_reply:
            channel.schedule.restart()
        elif trigger is ResponseTrigger.interjection:
            channel.schedule.schedule_next()
        return channel.buffer.take_all()

    def _stay_silent(
        self, channel: ChannelState, trigger: ResponseTrigger, seen: list[BufferedMessage], verdict: SpeakDecision
    ) -> None:
        """Say nothing to *seen*; a direct address that could not be judged is looked at again in the next lull."""
        if not (verdict.failed and trigger is ResponseTrigger.direct_address):
            channel.buffer.drain(seen)
        if trigger is ResponseTrigger.direct_address:
            channel.schedule.restart(count=len(channel.buffer))
        elif trigger is ResponseTrigger.interjection:
            channel.schedule.schedule_next()

    def may_stay_silent(self, messages: Sequence[BufferedMessage]) -> bool:
        """Whether the reply to *messages* may be none: decided as it is written, unless someone surely waits for it."""
        how = self.decision_mode(is_voice=_is_voice(messages))
        return how is DecideWith.reply and not self._is_surely_for_us(messages)

    async def on_reply_done(
        self, channel_id: int, messages: Sequence[BufferedMessage], trigger: ResponseTrigger, *, spoke: bool
    ) -> None:
        """What came of an exchange whose reply was free to be none."""
        channel = self._channels.find(channel_id)
        if spoke and channel is not None:
            channel.schedule.restart(count=len(channel.buffer))
        if not spoke:
            _log_decision(channel_id, trigger, speaks=False, why="the model that replies had nothing to say")
        if not spoke and self.on_silence is not None:
            await self.on_silence(channel_id, list(messages), trigger)

    # Channel names

    def register_channel_name(self, channel_id: int, name: str) -> None:
        self._labels.register_channel_name(channel_id, name)

    def register_channel_context(
        self, channel_id: int, *, name: str, kind: ChannelKind | str, parent_name: str | None = None
    ) -> None:
        self._labels.register_channel_context(channel_id, name=name, kind=kind, parent_name=parent_name)

    def channel_context(self, channel_id: int) -> ChannelContext | None:
        return self._labels.channel_context(channel_id)

    def format_channel_context(self, channel_id: int) -> str:
        """The channel's label, or its bare id while it is unknown."""
        return self._labels.format_channel_context(channel_id)

    # Ending

    async def wait_until_idle(self) -> None:
        """Wait until no look that a lull began is under way."""
        await self._background.wait_until_idle()

    async def aclose(self) -> None:
        """Wait for no more lulls and end the looks under way; what waits is in the history."""
        self._lull_timers.cancel_all()
        await self._background.aclose()


def _log_decision(channel_id: int, trigger: ResponseTrigger, *, speaks: bool, why: str, **more: str) -> None:
    """Tell the log, at -v, why the familiar speaks or stays silent."""
    facts = {"channel_id": channel_id, "trigger": trigger.value, "why": why, **more}
    logger.info("speaks" if speaks else "stays silent", extra=facts)


def _without_buffered(turns: Sequence[HistoryTurn], seen: Sequence[BufferedMessage]) -> list[HistoryTurn]:
    """*turns* up to the first that is one of *seen*, counted from the end."""
    kept = list(turns)
    for message in reversed(seen):
        if not kept or message.history_id is not None:
            continue
        newest = kept[-1]
        if newest.role == "user" and newest.content == message.text:
            kept.pop()
    return kept


def _is_voice(messages: Sequence[BufferedMessage]) -> bool:
    """Whether any of *messages* was spoken."""
    return any(each.message is not None and each.message.is_voice for each in messages)


async def _let_pass(channel_id: int, messages: list[BufferedMessage], trigger: ResponseTrigger) -> None:
    """What was said stands without an answer."""
