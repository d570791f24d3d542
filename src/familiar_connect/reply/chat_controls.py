"""ChatControls: what a person may do to a chat besides talking in it, the same through every door.

Replies are made anew, gone on with and written for somebody by the queue that makes all others, so that nothing is
answered meanwhile and the limits hold. Nothing is taken out of the history: turns get versions and marks.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from familiar_connect.chat.message_parts import WebhookIdentity
from familiar_connect.chat.place import Place
from familiar_connect.chat.types import InboundMessage, TurnOptions, TurnRevision
from familiar_connect.conversation.queue import ReplyQueue
from familiar_connect.conversation.types import BufferedMessage, ResponseTrigger
from familiar_connect.errors import DeliveryError, HistoryError
from familiar_connect.history.message_edits import MessageEdits
from familiar_connect.history.message_metadata import alter_of, find_answered_ids, own_turn_facts
from familiar_connect.history.store import HistoryStore
from familiar_connect.history.stored_messages import message_from_turn
from familiar_connect.history.types import IMPORT_PREFIX, HistoryTurn, TurnMark
from familiar_connect.history.versions import TurnVersions, TurnVersionStore
from familiar_connect.identity import Author
from familiar_connect.presets.types import GenerationKind
from familiar_connect.reply.control_place import ControlDoor as ControlDoor
from familiar_connect.reply.control_place import ControlPlace
from familiar_connect.reply.turn_builder import TurnBuilder
from familiar_connect.support.aio import off_loop
from familiar_connect.support.clock import Clock, SystemClock
from familiar_connect.support.lru import LruCache
from familiar_connect.support.text import pluralize

MAX_DRAFTS = 200
LOOK_BACK = 200
"""Newest lines of a chat that can be named by number."""
NOTHING_SAID = "Nothing has been said here yet."
NO_REPLY_YET = "The last line is not my reply: /regenerate answers it."


@dataclass(frozen=True, kw_only=True)
class ControlResult:
    """What a control came to."""

    turn: HistoryTurn
    """The turn as it reads now."""
    versions: TurnVersions
    is_shown: bool = False
    """The place has shown the words already."""


class ChatControls:
    """The controls of one familiar's chats."""

    def __init__(
        self,
        familiar_id: str,
        history: HistoryStore,
        *,
        queue: ReplyQueue,
        turns: TurnBuilder,
        on_change: Callable[[int, int, str | None], None],
        correct_memory: Callable[[], Awaitable[None]],
        clock: Clock | None = None,
    ) -> None:
        """*on_change* is told of each turn that reads otherwise: channel, turn, and the words or None.

        *correct_memory* takes what came from such turns out of memory.
        """
        self._familiar_id = familiar_id
        self._history = history
        self._queue = queue
        self._turns = turns
        self._on_change = on_change
        self._correct_memory = correct_memory
        self._clock = clock = clock or SystemClock()
        self._drafts: LruCache[tuple[int, str], str] = LruCache(MAX_DRAFTS)
        """What was last written for somebody in a channel; in memory alone."""
        self._versions = TurnVersionStore(history, familiar_id, clock=clock)
        self._edits = MessageEdits(history, familiar_id, clock=clock)

    # Lines

    async def lines(self, channel_id: int, limit: int = LOOK_BACK) -> list[HistoryTurn]:
        """The newest lines people see, oldest first: hidden ones too, undone ones not."""
        return await off_loop(
            self._history.recent,
            familiar_id=self._familiar_id,
            channel_id=channel_id,
            limit=min(limit, LOOK_BACK),
            with_hidden=True,
        )

    async def line(self, channel_id: int, number: int) -> HistoryTurn:
        """The line with that number, counted from the newest, which is 1."""
        there = await self.lines(channel_id)
        if not there:
            raise HistoryError(NOTHING_SAID)
        if not 1 <= number <= len(there):
            raise HistoryError(
                f"There is no line {number}: the last one is 1, the oldest that can be named {len(there)}."
            )
        return there[-number]

    async def find_line(self, channel_id: int, turn_id: int) -> HistoryTurn:
        """The line that is that turn, however long ago it was said."""
        found = await off_loop(self._history.turn_by_id, familiar_id=self._familiar_id, turn_id=turn_id)
        if found is None or found.channel_id != channel_id or found.mark not in (None, TurnMark.hidden):
            raise HistoryError("That line is gone.")
        return found

    async def find_message(self, channel_id: int, message_id: str) -> HistoryTurn | None:
        """The line that a message of the platform is, or is a part of; None: it is none of the newest."""
        there = reversed(await self.lines(channel_id))
        return next((turn for turn in there if message_id in self._message_ids(turn)), None)

    def _message_ids(self, turn: HistoryTurn) -> list[str]:
        """The messages a line stands in."""
        pieces = self._message(turn, "history").pieces
        return [piece.message_id for piece in pieces] or [each for each in [turn.platform_message_id] if each]

    async def edit(self, door: ControlDoor, number: int, text: str) -> ControlResult:
        """Let the line with that number read *text*, as `edit_turn` does."""
        await self._queue.wait_until_channel_idle(door.channel_id)
        return await self.edit_turn(door, await self.line(door.channel_id, number), text)

    async def edit_turn(self, door: ControlDoor, turn: HistoryTurn, text: str) -> ControlResult:
        """Let a line read *text*; where it is the familiar's and can be rewritten, the place shows it so."""
        if not text.strip():
            raise HistoryError("Say what it should say. /undo removes the last exchange, /hide N hides a line.")
        await self._queue.wait_until_channel_idle(door.channel_id)
        if await off_loop(self._edits.record_edit_of_turn, turn.id, text):
            self._on_change(door.channel_id, turn.id, text)
            await self._correct_memory()
        result = await self._result(turn.id)
        if turn.role == "assistant" and door.place.features.rewrites:
            await self.show(door, result.turn)
        return result

    async def set_hidden(self, channel_id: int, number: int, *, is_hidden: bool) -> HistoryTurn:
        """Keep the line with that number out of every prompt, or let it back in."""
        return await self.set_turn_hidden(await self.line(channel_id, number), is_hidden=is_hidden)

    async def set_turn_hidden(self, turn: HistoryTurn, *, is_hidden: bool) -> HistoryTurn:
        """Keep a line in the chat and out of every prompt, or let it back in."""
        await off_loop(self._versions.mark_turns, [turn.id], TurnMark.hidden if is_hidden else None)
        self._on_change(turn.channel_id, turn.id, None if is_hidden else turn.display_text)
        await self._correct_memory()
        return (await self._result(turn.id)).turn

    async def undo(self, door: ControlDoor, count: int = 1) -> list[HistoryTurn]:
        """Take the last *count* exchanges back: what people said, and the replies to it. The turns, oldest first."""
        channel_id = door.channel_id
        await self._queue.wait_until_channel_idle(channel_id)
        gone = _last_exchanges(await self._visible(channel_id, with_hidden=True), count)
        await off_loop(self._versions.mark_turns, [turn.id for turn in gone], TurnMark.undone)
        for turn in gone:
            self._on_change(channel_id, turn.id, None)
        await self._correct_memory()
        if door.place.features.rewrites:
            for turn in gone:
                if turn.role == "assistant":
                    await self._rewrite(door.place, turn, "")
        return gone

    async def remove_line(self, door: ControlDoor, number: int) -> HistoryTurn:
        """Take the line with that number back; where it is the familiar's and can be rewritten, the place shows it."""
        turn = await self.line(door.channel_id, number)
        await self.remove_turn(turn)
        if turn.role == "assistant" and door.place.features.rewrites:
            await self._rewrite(door.place, turn, "")
        return turn

    async def remove_turn(self, turn: HistoryTurn) -> None:
        """Take one line back, wherever it stands; those around it stay."""
        await self.remove_turns(turn.channel_id, [turn.id])

    async def remove_turns(self, channel_id: int, turn_ids: Sequence[int]) -> None:
        """Take lines of a channel back, wherever they stand; those around them stay."""
        await self._queue.wait_until_channel_idle(channel_id)
        await off_loop(self._versions.mark_turns, list(turn_ids), TurnMark.undone)
        for turn_id in turn_ids:
            self._on_change(channel_id, turn_id, None)
        await self._correct_memory()

    async def change_turns(self, channel_id: int, change: Callable[[], Mapping[int, str | None]]) -> list[int]:
        """Carry out a *change* of several turns while nothing is answered; those it was.

        It says what each of them reads now, None for one that is told to no model any more.
        """
        await self._queue.wait_until_channel_idle(channel_id)
        changed = await off_loop(change)
        for turn_id, words in changed.items():
            self._on_change(channel_id, turn_id, words)
        await self._correct_memory()
        return list(changed)

    # Showing

    async def show(self, door: ControlDoor, turn: HistoryTurn) -> None:
        """Let the place show a reply as it reads now: in the messages it stands in, else anew."""
        if door.place.features.rewrites:
            await self._rewrite(door.place, turn, turn.display_text)
        else:
            await door.place.send(turn.display_text)

    async def _rewrite(self, place: Place, turn: HistoryTurn, text: str) -> None:
        """Let the messages a reply stands in read *text*; while that is done, none is known to be the reply's."""
        ids = self._message_ids(turn)
        await off_loop(self._edits.set_posts, turn.id, None, own_turn_facts((), turn.facts))
        persona = alter_of(turn.facts)
        if persona is not None:
            spoken = place.speak_as(persona)
            place = spoken if spoken.features.rewrites else place
        pieces = await place.rewrite(ids, text)
        if pieces:
            facts = own_turn_facts(pieces, turn.facts)
            await off_loop(self._edits.set_posts, turn.id, pieces[0].message_id, facts)

    # Versions

    async def regenerate(
        self, door: ControlDoor, *, kind: GenerationKind = "regenerate", reasoning: bool = False
    ) -> ControlResult | None:
        """Another version of the last reply; None where the last line was a person's, who is answered instead.

        *reasoning*: the model is told to think it through first.
        """
        await self._queue.wait_until_channel_idle(door.channel_id)
        asked, replies = _last_exchange(await self._visible(door.channel_id))
        if not asked:
            raise HistoryError(
                NOTHING_SAID if not replies else "You have not said anything yet. /greeting chooses another greeting."
            )
        if not replies:
            await self._answer(door, asked, door.place, TurnOptions(reasoning=reasoning))
            return None
        last = replies[-1]
        revises = TurnRevision(asker=door.speaker, turn_id=last.id)
        place = ControlPlace(door, without=[last.id])
        exchange = asked
        if kind == "swipe" and await self._is_exact(door.channel_id):
            place, exchange = ControlPlace(door), [last]  # SillyTavern leaves the answer in the chat while it swipes
        await self._answer(door, exchange, place, TurnOptions(kind=kind, reasoning=reasoning, revises=revises))
        return await self._made(place, last)

    async def swipe(self, door: ControlDoor, to: int | None = None, *, step: int = 1) -> ControlResult | None:
        """The next version of the last reply, or the one *step* away, or number *to*; past the last one is made."""
        last = (await self._visible(door.channel_id))[-1:]
        if not last or last[0].role != "assistant":
            raise HistoryError(NO_REPLY_YET if last else NOTHING_SAID)
        now = (await self._result(last[0].id)).versions
        wanted = now.chosen + step if to is None else to
        if wanted < 0:
            raise HistoryError("This is the first version.")
        if wanted >= len(now.texts):
            return await self.regenerate(door, kind="swipe")
        await off_loop(self._versions.choose, last[0].id, wanted)
        await self._correct_memory()
        return await self._result(last[0].id)

    async def choose_text(self, turn: HistoryTurn, texts: Sequence[str], chosen: int) -> ControlResult:
        """Let a turn read as one of *texts*, which all become versions of it."""
        now = (await self._result(turn.id)).versions.texts
        every = tuple(dict.fromkeys((*texts, *now)))
        row = TurnVersions(turn_id=turn.id, texts=every, chosen=every.index(texts[chosen]))
        await off_loop(self._versions.add_versions, [row])
        await self._correct_memory()
        return await self._result(turn.id)

    # Words

    async def continue_reply(self, door: ControlDoor) -> ControlResult:
        """Let the familiar go on with its last reply."""
        await self._queue.wait_until_channel_idle(door.channel_id)
        last = (await self._visible(door.channel_id))[-1:]
        if not last or last[0].role != "assistant":
            raise HistoryError(NO_REPLY_YET if last else NOTHING_SAID)
        revises = TurnRevision(asker=door.speaker, turn_id=last[0].id, continues=True)
        place = ControlPlace(door)
        await self._answer(door, last, place, TurnOptions(kind="continue", manual=True, revises=revises))
        return await self._made(place, last[0])

    async def speak_for(self, door: ControlDoor) -> str:
        """What the person might say next, in their own voice; nothing is kept."""
        asked = TurnOptions(kind="impersonate", imitate=door.speaker, revises=TurnRevision(asker=door.speaker))
        draft = await self._write_draft(door, asked)
        self._drafts.put((door.channel_id, door.speaker.canonical_key), draft)
        return draft

    async def write_aside(self, door: ControlDoor, prompt: str) -> str:
        """What the model writes for *prompt* behind the chat; nothing is kept, and nobody is shown it."""
        revises = TurnRevision(asker=door.speaker)
        return await self._write_draft(
            door, TurnOptions(kind="quiet", manual=True, manual_prompt=prompt, revises=revises)
        )

    async def _write_draft(self, door: ControlDoor, asked: TurnOptions) -> str:
        await self._queue.wait_until_channel_idle(door.channel_id)
        last = (await self._visible(door.channel_id))[-1:]
        if not last:
            raise HistoryError(NOTHING_SAID)
        place = ControlPlace(door, is_draft=True)
        await self._answer(door, last, place, asked)
        if not place.text:
            raise HistoryError(place.notices[-1] if place.notices else "The model wrote nothing: try again.")
        return place.text

    async def post_draft(self, door: ControlDoor) -> InboundMessage:
        """Post what was last written for the speaker, whom it was shown to, under their name: the message that it is.

        It is posted once. `HistoryError` where there is nothing to post, or the place does not do that.
        """
        key = (door.channel_id, door.speaker.canonical_key)
        draft = self._drafts.get(key)
        if draft is None:
            raise HistoryError(
                "I have not written a line for you yet: /impersonate writes one, /impersonate say posts it."
            )
        if not door.place.features.posts_for_people:
            raise HistoryError("Here I cannot write under your name; say it yourself.")
        if len(draft) > door.place.features.limit:
            raise HistoryError("That is too long for one message; say it yourself.")
        self._drafts.pop(key)
        try:
            message_id = await door.place.post_for(door.speaker, draft)
        except DeliveryError as error:
            self._drafts.put(key, draft)
            raise HistoryError(f"It could not be posted under your name: {error}.") from error
        return InboundMessage(
            platform=door.speaker.platform,
            channel_id=door.channel_id,
            author=door.speaker,
            text=draft,
            timestamp=self._clock.now(),
            message_id=message_id,
            guild_id=door.guild_id,
            wants_answer=True,
            webhook=WebhookIdentity(webhook_id=message_id, name=door.speaker.label, imitates=door.speaker),
        )

    async def speak_now(self, door: ControlDoor) -> None:
        """Have the familiar say something new: an answer to what people said last, or more of its own accord."""
        await self._queue.wait_until_channel_idle(door.channel_id)
        asked, replies = _last_exchange(await self._visible(door.channel_id))
        turns = replies[-1:] or asked
        if not turns:
            raise HistoryError(NOTHING_SAID)
        await self._answer(door, turns, door.place, TurnOptions(manual=bool(replies)))

    async def say_stopped(self, door: ControlDoor) -> None:
        """Have the familiar say in a word that it stops, to whoever it was answering."""
        await self._queue.wait_until_channel_idle(door.channel_id)
        asked, _ = _last_exchange(await self._visible(door.channel_id))
        if asked:
            await self._answer(door, asked[-1:], door.place, TurnOptions(stop=True))

    async def answer_turn(self, door: ControlDoor, turn: HistoryTurn) -> None:
        """Have the familiar answer one line, whatever was said since."""
        await self._queue.wait_until_channel_idle(door.channel_id)
        await self._answer(door, [turn], door.place, TurnOptions())

    async def _answer(self, door: ControlDoor, turns: Sequence[HistoryTurn], place: Place, asked: TurnOptions) -> None:
        """Have the queue answer *turns* at *place*, and wait for it."""
        self._queue.set_place(door.channel_id, place, guild_id=door.guild_id)
        is_dm = await door.is_dm()
        messages = [self._buffered(door, turn, asked, is_dm=is_dm) for turn in turns]
        try:
            self._queue.answer(door.channel_id, messages, trigger=ResponseTrigger.direct_address)
            await self._queue.wait_until_channel_idle(door.channel_id)
        finally:
            self._queue.set_place(door.channel_id, door.place, guild_id=door.guild_id)

    def _buffered(self, door: ControlDoor, turn: HistoryTurn, asked: TurnOptions, *, is_dm: bool) -> BufferedMessage:
        message = self._message(turn, door.speaker.platform)
        message = replace(message, is_dm=is_dm)
        return BufferedMessage(message.author, message.text, message.timestamp, turn.id, message, asked, is_for_us=True)

    def _message(self, turn: HistoryTurn, platform: str) -> InboundMessage:
        """A turn as the message it is, ours as one of the familiar's on *platform*."""
        return message_from_turn(turn, Author(platform, self._familiar_id, None, None), platform=platform)

    async def _made(self, place: ControlPlace, turn: HistoryTurn) -> ControlResult:
        """What came of a reply that was to change *turn*."""
        result = await self._result(turn.id)
        if result.turn.content == turn.content and not place.text:
            raise HistoryError(place.notices[-1] if place.notices else "The model wrote nothing: try again.")
        await self._correct_memory()
        return replace(result, is_shown=place.is_shown)

    async def _result(self, turn_id: int) -> ControlResult:
        turn = await off_loop(self._history.turn_by_id, familiar_id=self._familiar_id, turn_id=turn_id)
        versions = await off_loop(self._versions.versions_of, turn_id)
        if turn is None or versions is None:
            raise HistoryError("That line is gone.")
        return ControlResult(turn=turn, versions=versions)

    async def _visible(self, channel_id: int, *, with_hidden: bool = False) -> list[HistoryTurn]:
        """The newest lines that the model is shown; those hidden from it too, *with_hidden*."""
        turns = await off_loop(
            self._history.recent,
            familiar_id=self._familiar_id,
            channel_id=channel_id,
            limit=LOOK_BACK,
            with_hidden=with_hidden,
        )
        mark = await off_loop(self._history.dialogue_starts.newest, self._familiar_id, channel_id)
        return turns if mark is None else [turn for turn in turns if turn.id > mark.after_id]

    async def _is_exact(self, channel_id: int) -> bool:
        return (await self._turns.channel_setup(channel_id)).inputs.is_exact


def _last_exchanges(turns: Sequence[HistoryTurn], count: int) -> list[HistoryTurn]:
    """The turns of the last *count* exchanges; refused where there are fewer."""
    left, gone = list(turns), set[int]()
    for found in range(count):
        asked, replies = _last_exchange(left)
        if not asked and found:
            raise HistoryError(f"No more than {pluralize(found, 'exchange')} can be removed: /undo {found}.")
        if not asked:
            raise HistoryError("There is nothing to undo: no one has said anything yet." if replies else NOTHING_SAID)
        gone.update(turn.id for turn in (*asked, *replies))
        left = [turn for turn in left if turn.id not in gone]
    return [turn for turn in turns if turn.id in gone]


def _came_alike(turn: HistoryTurn, others: Sequence[HistoryTurn]) -> bool:
    """Whether *turn* was brought in with a chat file just as *others* were, or was said here just as they were."""
    return all(_is_imported(turn) == _is_imported(each) for each in others[:1])


def _is_imported(turn: HistoryTurn) -> bool:
    return (turn.platform_message_id or "").startswith(IMPORT_PREFIX)


def _last_exchange(turns: Sequence[HistoryTurn]) -> tuple[list[HistoryTurn], list[HistoryTurn]]:
    """What people said last, and the replies behind it; where many asked at once, the last reply and its question."""
    answered = set(find_answered_ids(turns[-1].facts)) if turns else set()
    asked = [turn for turn in turns if turn.id in answered]
    if asked:
        return asked, [turn for turn in turns if not answered.isdisjoint(find_answered_ids(turn.facts))]
    replies: list[HistoryTurn] = []
    for turn in reversed(turns):
        if turn.role == "assistant" and not asked:
            replies.insert(0, turn)
        elif turn.role != "assistant" and turn.author is not None and _came_alike(turn, asked):
            asked.insert(0, turn)
        else:
            break
    return asked, replies
