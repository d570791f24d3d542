"""Intake: every message enters here, and is stored before anything else happens to it.

Whether and when it is answered is for the monitor to say, in the background and in the order things were heard.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Collection
from dataclasses import replace
from datetime import datetime
from enum import Enum
from functools import partial

from familiar_connect.audience import Audience, hidden_channel
from familiar_connect.channel_config import ChannelConfigStore
from familiar_connect.chat.place import Place, fetch_scene
from familiar_connect.chat.scene import Scene
from familiar_connect.chat.types import InboundMessage
from familiar_connect.chat.window import without_private
from familiar_connect.config.types import ChannelMode
from familiar_connect.conversation.admission import Admission
from familiar_connect.conversation.channels import ChannelLabels
from familiar_connect.conversation.monitor import ConversationMonitor
from familiar_connect.conversation.place_readers import PlaceReaders, find_audience, note_audience_change
from familiar_connect.conversation.queue import ReplyQueue
from familiar_connect.conversation.twins import TwinWatch
from familiar_connect.conversation.types import ReplyDue
from familiar_connect.errors import ConfigError, DeliveryError, HistoryError
from familiar_connect.history.message_metadata import encode_metadata
from familiar_connect.history.pending_speech import PendingSpeech, PendingSpeechRows
from familiar_connect.history.store import HistoryStore
from familiar_connect.history.stored_messages import message_of_turn
from familiar_connect.history.types import DELETED, HistoryTurn, TurnMark
from familiar_connect.identity import LOCAL_PLATFORMS
from familiar_connect.support.aio import BackgroundTasks, IdleGate, KeyedLocks, off_loop
from familiar_connect.support.free_memory import is_out_of_memory, reply_memory_sentence

logger = logging.getLogger(__name__)

SCENE_LIMIT_S = 1.0
"""A platform that cannot say within this who can read a place leaves the smallest circle."""
INTERRUPT_WITHIN_S = 1.0
"""A delivery that ends later than this, at the piece that is on its way, keeps nobody from being heard."""
LONG_MESSAGE_CHARS = 32_000
"""A longer message is stored whole and shown to the model shortened; its writer is told."""

NOT_STORED = "I could not write that down, so I did not answer"
TOO_LATE = "I was away when you asked this, and too much time has passed to answer it now. Ask again if you like."
BOT_TURNS = 100
"""So many turns are looked through for replies to bots since a person spoke."""


class IntakeResult(Enum):
    """What became of a message."""

    answering = "answering"
    considering = "considering"
    """Stored; the monitor decides whether and when it is answered."""
    seen_before = "seen_before"
    heard_before = "heard_before"
    """Stored, and no occasion for anything: said before the familiar listened here, or in passing."""
    not_subscribed = "not_subscribed"
    not_a_person = "not_a_person"
    private = "private"
    not_stored = "not_stored"
    not_answered = "not_answered"
    """Stored; its writer is ignored, or a limit is reached."""


class Intake:
    """Subscribed? Allowed? Then written down, and handed on to whoever decides when to speak."""

    def __init__(
        self,
        *,
        familiar_id: str,
        history: HistoryStore,
        channels: ChannelConfigStore,
        admission: Admission,
        queue: ReplyQueue,
        monitor: ConversationMonitor,
        interrupt: Callable[[InboundMessage], Awaitable[object]],
        labels: ChannelLabels | None = None,
        notify_turn: Callable[[], Awaitable[None]] | None = None,
        readers: PlaceReaders | None = None,
    ) -> None:
        """*notify_turn* is told of every turn that was stored; it only starts work. *interrupt* ends a reply that
        is still arriving, where the message that it is given may do so.
        """
        self._familiar_id = familiar_id
        self._history = history
        self._pending_speech = PendingSpeechRows(history.database)
        self._channels = channels
        self._admission = admission
        self._privacy = admission.privacy
        self.queue = queue
        self.monitor = monitor
        self._interrupt = interrupt
        self._labels = labels or ChannelLabels()
        self._notify_turn = notify_turn
        self._readers = readers or PlaceReaders(owner=admission.owner)
        self._twins = TwinWatch(history, familiar_id, queue)
        self._background = BackgroundTasks("hearing")
        self._hearing = IdleGate()
        self._channel_locks = KeyedLocks()
        """Rows of a channel are numbered in the order its messages came in."""

    async def receive(
        self,
        message: InboundMessage,
        place: Place,
        *,
        is_old_news: bool = False,
        mark: TurnMark | None = None,
        due: ReplyDue = ReplyDue.now,
        speech: Collection[str] = (),
    ) -> IntakeResult:
        """Take in one message. Returns once it is stored; the reply is made in the background.

        *is_old_news*: it was said while we were away. Who spoke to us is answered all the same. *mark* is stored
        with it. *due* says when it is answered, where it is at all. *speech* are the keys under which `keep_speech`
        wrote its words down: they are done with once it is stored or refused.
        """
        if self._admission.is_refused_bot(message):
            return IntakeResult.not_a_person
        with self._hearing.busy():
            result = await self._receive(message, place, is_old_news=is_old_news, mark=mark, due=due, speech=speech)
            if speech and result in (IntakeResult.private, IntakeResult.not_subscribed):
                await off_loop(self._pending_speech.remove, speech)
            return result

    def would_hear(self, message: InboundMessage) -> bool:
        """Whether *message* would be taken in: for what is looked at before it is."""
        is_heard = not self._privacy.is_full(message.author) and self._admission.is_subscribed(message)
        return is_heard and not self._admission.is_refused_bot(message)

    def hear_dms_of(self, platform: str, whose: str) -> None:
        """Take in those direct messages on *platform*: of nobody (`off`), of the `owner` or of `everyone`."""
        self._admission.dms[platform] = whose

    async def keep_speech(self, key: str, message: InboundMessage, place: Place) -> None:
        """Write down what was said aloud before it is received, so that a crash does not lose it: under *key*.

        A disk that refuses is logged; the words are stored when they are received.
        """
        if not self.would_hear(message):
            return
        message = without_private(message, self._privacy)
        scene = await fetch_scene(place, limit_s=SCENE_LIMIT_S)
        try:
            await off_loop(self._keep_speech, key, message, scene)
        except HistoryError as error:
            logger.error("speech could not be kept", extra={"reason": str(error)})

    def _keep_speech(self, key: str, message: InboundMessage, scene: Scene | None) -> None:
        message, mode, audience = self._prepare(message, scene)
        said = PendingSpeech(
            familiar_id=self._familiar_id,
            channel_id=message.channel_id,
            guild_id=message.guild_id,
            author=message.author,
            content=message.text,
            timestamp=message.timestamp,
            mode=mode.value if mode is not None else None,
            facts=encode_metadata(message),
            audience=audience,
        )
        self._pending_speech.add(key, said)

    async def _receive(
        self,
        message: InboundMessage,
        place: Place,
        *,
        is_old_news: bool,
        mark: TurnMark | None,
        due: ReplyDue,
        speech: Collection[str],
    ) -> IntakeResult:
        if self._privacy.is_full(message.author):
            logger.info("message skipped", extra={"reason": "privacy", "channel_id": message.channel_id})
            return IntakeResult.private
        if not self._admission.is_subscribed(message):
            if _is_for_us(message):
                why = f"`dms` under [{message.platform}] says whose direct messages are answered"
                why = why if message.is_dm else "nobody asked it to listen here; /subscribe-text does"
                logger.info("stays silent", extra={"channel_id": message.channel_id, "why": why})
            return IntakeResult.not_subscribed
        if message.parent_channel_id is not None:
            self._channels.follow(message.channel_id, message.parent_channel_id)
        message = without_private(message, self._privacy)
        scene = await fetch_scene(place, limit_s=SCENE_LIMIT_S)
        try:
            async with self._channel_locks.lock(message.channel_id):
                # With the lock, so that messages stay in their order.
                message, mode, audience = await off_loop(self._prepare, message, scene)
                is_kept_owed = place.features.posts_once or place.features.keeps_owed
                turn, is_new = await self._store(
                    message, mode, audience, mark, is_kept_owed=is_kept_owed, speech=speech
                )
        except (HistoryError, MemoryError, RuntimeError) as error:
            if not isinstance(error, HistoryError) and not is_out_of_memory(error):
                raise
            await self._tell_not_stored(message, place, error)
            return IntakeResult.not_stored
        if not is_new:
            return IntakeResult.seen_before
        self._twins.note_heard(message, turn, is_for_us=_is_for_us(message))
        if len(message.text) > LONG_MESSAGE_CHARS and not message.is_past:
            await place.notice(
                f"That message has {len(message.text):,} characters. All of it is in the history; the model is "
                f"shown its beginning and end, {LONG_MESSAGE_CHARS:,} characters or what fits its window."
            )
        if scene is not None and scene.channel is not None:  # one that cannot say leaves the label as it was
            self._labels.learn(message.channel_id, scene.channel, message.author)
        if self._notify_turn is not None:
            await self._notify_turn()
        if message.is_past or due is ReplyDue.never:
            return IntakeResult.heard_before
        if await self._is_refused(message, turn, place):
            return IntakeResult.not_answered
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(INTERRUPT_WITHIN_S):
                await self._interrupt(message)
        if self._twins.may_be_twin(message):
            self._background.start(self._hand_on_twin(message, turn, place), name="twin")
            return IntakeResult.considering
        taken = await self._hand_on(message, turn, place, is_old_news=is_old_news, due=due)
        # Only now: the first message of a channel must not wait for a disk and be overtaken by the second.
        await self._keep_label(message.channel_id, scene)
        return taken

    async def _hand_on_twin(self, message: InboundMessage, turn: HistoryTurn, place: Place) -> None:
        """Hand on what may repeat another message, once it is known whether it does and that has no answer yet."""
        asked = await self._twins.take_over(message)
        if asked is None:
            await off_loop(self._history.outbox.settle, [turn.id])
        else:
            if asked.is_mention:
                await self._owe(asked, turn, place)
            await self._hand_on(asked, turn, place)

    async def _owe(self, message: InboundMessage, turn: HistoryTurn, place: Place) -> None:
        """Write down that a stored message is to be answered, where that is kept."""
        if place.features.posts_once or place.features.keeps_owed:
            add = self._history.outbox.add_owed
            await off_loop(partial(add, turn, familiar_id=self._familiar_id, is_for_us=_is_for_us(message)))

    async def _is_refused(self, message: InboundMessage, turn: HistoryTurn, place: Place) -> bool:
        """Whether nothing more is done about a message that is stored: no reply, no look at it, nobody interrupted."""
        if message.is_bot and await off_loop(self._has_answered_bots_enough, message.channel_id):
            logger.info("stays silent", extra={"channel_id": message.channel_id, "why": "only bots have spoken since"})
            await off_loop(self._history.outbox.settle, [turn.id])
            return True
        if self._admission.is_quiet(message):
            logger.info("stays silent", extra={"channel_id": message.channel_id, "why": "/quiet"})
            await off_loop(self._history.outbox.settle, [turn.id])
            return True
        limits = self._admission.limits
        if limits is None:
            return False
        is_addressed = self.monitor.is_addressed(message.text, is_mention=_is_for_us(message))
        is_own = message.platform in LOCAL_PLATFORMS
        if await limits.refuse_message(message, place, is_addressed=is_addressed or is_own) is None:
            return False
        await off_loop(self._history.outbox.settle, [turn.id])
        return True

    def _has_answered_bots_enough(self, channel_id: int) -> bool:
        turns = self._history.recent(
            familiar_id=self._familiar_id, channel_id=channel_id, limit=self._admission.bot_reply_limit + BOT_TURNS
        )
        return self._admission.has_answered_bots_enough(turns)

    def _prepare(
        self, message: InboundMessage, scene: Scene | None
    ) -> tuple[InboundMessage, ChannelMode | None, Audience]:
        """The message with its view, the mode of its channel, and those it is said to, in one go off the loop."""
        if self._admission.view is not None:
            message = replace(message, view=self.view_of(message))
        audience = find_audience(self._readers, self._history, self._familiar_id, message, scene)
        return message, self._mode(message.channel_id), audience

    async def _store(
        self,
        message: InboundMessage,
        mode: ChannelMode | None,
        audience: Audience,
        mark: TurnMark | None,
        *,
        is_kept_owed: bool,
        speech: Collection[str],
    ) -> tuple[HistoryTurn, bool]:
        """*is_kept_owed*: that a reply is owed is stored in the same step, until there is one; *speech* is removed."""
        append = partial(
            self._history.append_if_new,
            familiar_id=self._familiar_id,
            channel_id=message.channel_id,
            role="user",
            content=message.text,
            author=message.author,
            guild_id=message.guild_id,
            mode=mode,
            platform_message_id=message.message_id,
            timestamp=message.timestamp,
            facts=encode_metadata(message),
            audience=audience,
            mark=mark,
            view=message.view,
        )
        is_for_us = _is_for_us(message)
        if is_kept_owed and not message.is_past and self.monitor.is_addressed(message.text, is_mention=is_for_us):
            replaces = message.channel_id if message.platform in LOCAL_PLATFORMS else None
            return await off_loop(self._store_owed, append, is_for_us, replaces)
        if speech:
            return await off_loop(self._store_speech, append, speech)
        return await off_loop(append)

    def _store_speech(
        self, append: Callable[[], tuple[HistoryTurn, bool]], keys: Collection[str]
    ) -> tuple[HistoryTurn, bool]:
        with self._history.database.transaction():
            self._pending_speech.remove(keys)
            return append()

    def _store_owed(
        self, append: Callable[[], tuple[HistoryTurn, bool]], is_for_us: bool, replaces: int | None
    ) -> tuple[HistoryTurn, bool]:
        """*replaces*: the chat whose open questions of an earlier run are past, now that its person goes on talking."""
        with self._history.database.transaction():
            turn, is_new = append()
            if is_new and replaces is not None:
                self._history.outbox.settle_earlier(self._familiar_id, replaces)
            if is_new:
                self._history.outbox.add_owed(turn, familiar_id=self._familiar_id, is_for_us=is_for_us)
        return turn, is_new

    async def answer_owed(
        self, channel_id: int, place: Place, *, within_s: float, now: datetime, is_dm: bool = False
    ) -> int:
        """Answer what an earlier run heard and did not answer, if it was said *within_s*; how many there were.

        Who asked longer ago is told so. *is_dm*: the place is a direct conversation.
        """
        owed = await off_loop(self._history.outbox.take_owed, self._familiar_id, channel_id)
        answered = 0
        for turn_id, is_for_us in owed:
            turn = await off_loop(self._history.turn_by_id, familiar_id=self._familiar_id, turn_id=turn_id)
            message = message_of_turn(turn) if turn is not None else None
            if message is not None:
                message = replace(message, is_mention=is_for_us and not is_dm, is_dm=is_dm)
            if turn is None or message is None or not self._is_answerable(message):
                await off_loop(self._history.outbox.settle, [turn_id])
            elif (now - message.timestamp).total_seconds() > within_s:
                await self._tell_too_late(message, turn_id, place)
            elif not await self._is_refused(message, turn, place):
                await self._hand_on(message, turn, place, is_old_news=True)
                answered += 1
        return answered

    async def _tell_not_stored(self, message: InboundMessage, place: Place, error: Exception) -> None:
        """Tell the owner why a message was not taken, and who spoke to us that it was not: no room sees a path."""
        reason = str(error) if isinstance(error, HistoryError) else reply_memory_sentence()
        logger.error("message could not be stored", extra={"reason": reason})
        if not place.features.tells_asker:
            await place.notice(f"{NOT_STORED}: {reason}")
        elif not message.is_past and self.monitor.is_addressed(message.text, is_mention=_is_for_us(message)):
            try:
                await place.tell_asker(message, f"{NOT_STORED}. Please ask again later.")
            except DeliveryError as failure:
                facts = {"channel_id": message.channel_id, "reason": str(failure)}
                logger.warning("who asked could not be told that it was not stored", extra=facts)

    async def _tell_too_late(self, message: InboundMessage, turn_id: int, place: Place) -> None:
        """Tell who asked that there is no answer any more; what may arrive later is tried at the next start."""
        if place.features.tells_asker:
            try:
                await place.tell_asker(message, TOO_LATE)
            except DeliveryError as error:
                facts = {"channel_id": message.channel_id, "reason": str(error)}
                logger.warning("who asked could not be told that there is no answer", extra=facts)
                if error.retryable:
                    return
        await off_loop(self._history.outbox.settle, [turn_id])

    def _is_answerable(self, message: InboundMessage) -> bool:
        may_be_heard = not self._privacy.is_full(message.author) and self._admission.is_subscribed(message)
        return may_be_heard and message.text != DELETED

    async def _hand_on(
        self,
        message: InboundMessage,
        turn: HistoryTurn,
        place: Place,
        *,
        is_old_news: bool = False,
        due: ReplyDue = ReplyDue.now,
    ) -> IntakeResult:
        """Between exactly two people, or where it is addressed, reply at once; else the monitor decides meanwhile."""
        self.queue.set_place(message.channel_id, place, guild_id=message.guild_id, is_voice=message.is_voice)
        answered = message.is_dm or message.platform in LOCAL_PLATFORMS or message.wants_answer
        heard = self.monitor.on_message(
            message.channel_id,
            message.author,
            message.text,
            is_mention=message.is_mention or message.is_reply_to_us,
            is_lull_endpoint=message.is_voice,
            is_private=answered,
            is_old_news=is_old_news,
            has_more=due is ReplyDue.with_next,
            history_id=turn.id,
            timestamp=message.timestamp,
            message=message,
        )
        if answered:
            await heard
            return IntakeResult.answering
        limits = self._admission.limits
        with limits.charge(message.author) if limits is not None else contextlib.nullcontext():
            self._background.start(heard, name=str(message.channel_id))
        return IntakeResult.considering

    def view_of(self, message: InboundMessage) -> str | None:
        """What the scripts in force make of *message*, for prompts to show; None: nothing else. Reads files."""
        return None if self._admission.view is None else self._admission.view(message)

    def revise(self, channel_id: int, history_id: int, text: str | None) -> None:
        """What was heard reads *text* now, or is gone for None: wherever it waits, it is answered as it reads."""
        self.monitor.revise(channel_id, history_id, text)
        self.queue.revise(channel_id, history_id, text)
        if text is None:
            self._twins.note_gone(channel_id, history_id)

    async def hear_edit(
        self, message: InboundMessage, before: InboundMessage, turn: HistoryTurn, place: Place
    ) -> IntakeResult | None:
        """*message* read as *before*: one that only its new words say to us is answered; None: nothing is new in it."""
        if self._how_much_for_us(message) <= self._how_much_for_us(before):
            return None
        if message.is_past or self._admission.is_refused_bot(message) or not self._admission.is_subscribed(message):
            return None
        message = without_private(message, self._privacy)
        with self._hearing.busy():
            for each in (self.monitor, self.queue):  # it waits as a call from now on, and only once
                each.revise(message.channel_id, turn.id, None)
            await self._owe(message, turn, place)
            if await self._is_refused(message, turn, place):
                return IntakeResult.not_answered
            return await self._hand_on(message, turn, place)

    def _how_much_for_us(self, message: InboundMessage) -> int:
        """2: surely said to us; 1: perhaps; 0: not."""
        if self.monitor.is_surely_addressed(message.text, is_mention=_is_for_us(message)):
            return 2
        return int(self.monitor.is_addressed(message.text, is_mention=False))

    async def wait_until_idle(self) -> None:
        """Wait until nothing heard is being looked at; what waits for a lull goes on waiting."""
        await self._hearing.wait()
        await self._background.wait_until_idle()
        await self.monitor.wait_until_idle()

    async def aclose(self) -> None:
        """Look at nothing more; all that was heard is in the history."""
        await self._background.aclose()
        await self.monitor.aclose()

    async def on_channel_hidden(self, channel_id: int, *, platform: str, guild_id: int | None, rules: str = "") -> None:
        """A platform says that a channel is hidden now: what was said in it goes along, though nobody speaks there."""
        hidden = hidden_channel(platform, channel_id, guild_id, rules)
        await off_loop(note_audience_change, self._history, self._familiar_id, channel_id, hidden)

    async def _keep_label(self, channel_id: int, scene: Scene | None) -> None:
        """Write down what the channel is called, where that is news; a disk that refuses costs nobody an answer."""
        if scene is None or scene.channel is None:  # it could not say: what was written down stays
            return
        server = scene.server_name or ""
        if self._labels.is_news(channel_id, server):
            try:
                await off_loop(self._labels.keep, channel_id, server)
            except OSError as error:
                logger.warning("the name of a channel is not kept", extra={"error": type(error).__name__})

    def _mode(self, channel_id: int) -> ChannelMode | None:
        """The channel's mode; a channel whose settings cannot be read is heard all the same."""
        try:
            return self._channels.get(channel_id=channel_id).mode
        except ConfigError:
            return None


def _is_for_us(message: InboundMessage) -> bool:
    """Said to the familiar beyond doubt, whatever the words."""
    return message.is_mention or message.is_reply_to_us or message.is_dm or message.wants_answer
