"""ReplyOutbox: a reply is written down before it is posted, so that a program that dies loses and doubles nothing.

What is on disk at each moment, and what the next start makes of it if the program dies right then:

1. A question was said and is not stored: the platform shows it again, and it is heard as anything missed.
2. The question is stored, in one step with a row in `owed_replies`: it is answered anew.
3. The pieces of the reply stand in `outbox`, none is posted: they are posted.
4. A piece was posted, its row still says `pending`: it is found in the channel by its nonce, or by its words after
   the question, and is not posted again. Where the channel does not show it yet, the platform refuses its nonce.
5. Some pieces are posted: they are found, the rest is posted.
6. All are posted and nothing is recorded: they are found and recorded.
7. The reply is recorded: its turn was stored, its rows were done and its questions settled in one step. Nothing is
   left to do.

The start itself goes through the same steps, so it may be ended at any of them. What is older than *fresh_s* is
recorded as far as it was posted, and neither posted nor answered any more: who asked is told.

A place that cannot be asked what it shows (`posts_answers`) has one step more: before a piece is posted its row says
`doubtful`, and `posted` after. A piece that the next start finds doubtful is not posted again, for it may stand there
already; who asked is told in one sentence that it may be missing.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar
from uuid import uuid4

from familiar_connect.chat.message_parts import MessagePiece
from familiar_connect.chat.place import Place, PlaceFeatures, PostedMessage, ReplyTarget
from familiar_connect.chat.scene import Scene
from familiar_connect.chat.types import InboundMessage
from familiar_connect.errors import DeliveryError, HistoryError
from familiar_connect.history.message_metadata import alter_of, own_turn_facts
from familiar_connect.history.outbox import OutboxPiece, OutboxReply, OutboxRows, PieceState
from familiar_connect.history.store import HistoryStore
from familiar_connect.history.stored_messages import message_of_turn
from familiar_connect.history.types import HistoryTurn
from familiar_connect.reply.deliver import Sleep, send_with_retry
from familiar_connect.support.aio import off_loop
from familiar_connect.support.clock import Clock, SystemClock

logger = logging.getLogger(__name__)

FRESH_S = 900.0
MAY_BE_MISSING = "I was stopped while I answered you. If you see no answer here, please ask again."
CUT_OFF = "I was stopped in the middle of answering you, and too much time has passed to go on. Ask again if you like."

T = TypeVar("T")


class OutgoingReply(Place):
    """A place that writes each piece of one reply down before it posts it."""

    def __init__(self, rows: OutboxRows, familiar_id: str, reply: OutboxReply, place: Place) -> None:
        self._rows = rows
        self._familiar_id = familiar_id
        self.reply = reply
        self._place = place
        self._waiting: list[OutboxPiece] = []
        self._count = 0
        self._doubtful: set[int] = set()
        self._posted: list[PostedMessage] = []
        self._target: Callable[[], ReplyTarget | None] = lambda: None
        self._decode: Callable[[str], str] = str
        there = place.features
        self._features = PlaceFeatures(
            limit=there.limit, edits=there.edits and there.posts_once, edit_interval_s=there.edit_interval_s
        )

    @property
    def features(self) -> PlaceFeatures:
        return self._features

    async def recent(self, limit: int) -> Sequence[InboundMessage]:
        return await self._place.recent(limit)

    async def scene(self) -> Scene:
        return await self._place.scene()

    def address(self, target: Callable[[], ReplyTarget | None], decode: Callable[[str], str]) -> None:
        """Say what the first piece answers, asked when it is posted, and how what is posted reads in the history."""
        self._target, self._decode = target, decode

    def thinking(self) -> AbstractAsyncContextManager[None]:
        return self._place.thinking()

    async def notice(self, text: str) -> None:
        await self._place.notice(text)

    async def plan(self, pieces: Sequence[str]) -> None:
        """Write *pieces* down; they are sent next, in this order."""
        self._waiting += await off_loop(self._rows.plan, self._familiar_id, self.reply, pieces, first=self._count)
        self._count += len(pieces)

    def keep_words(self, words: str, view: str | None) -> None:
        """Know what the model wrote where scripts made what is posted; written down with the next pieces."""
        self.reply = replace(self.reply, words=words, view=view)

    async def send(self, text: str) -> None:
        await self.post(text)

    async def post(self, text: str) -> object:
        """Post *text* under the nonce of its row; tried again, it is the same row."""
        if not self._waiting or self._waiting[0].text != text:
            await self.plan([text])
            self._waiting = self._waiting[-1:]
        piece = self._waiting[0]
        was_doubtful = piece.id in self._doubtful
        self._doubtful.add(piece.id)
        try:
            target = self._target() if not self._posted else None
            posted = await post_piece(self._rows, self._place, piece, target)
        except DeliveryError as failure:
            if not (failure.may_have_arrived or was_doubtful):
                self._doubtful.discard(piece.id)
            raise
        self._doubtful.discard(piece.id)
        self._waiting.pop(0)
        if posted is None:
            return None
        self._posted.append(posted)
        await _mark_posted(self._rows, piece, posted)
        return posted.handle

    async def edit(self, posted: object, text: str) -> None:
        await self._place.edit(posted, text)
        self._posted = [replace(each, text=text) if each.handle is posted else each for each in self._posted]

    @property
    def pieces(self) -> tuple[MessagePiece, ...]:
        """What was posted, as the model wrote it."""
        return tuple(MessagePiece(message_id=each.message_id, text=self._decode(each.text)) for each in self._posted)

    @property
    def doubtful(self) -> Collection[int]:
        """Rows of which nobody knows whether they arrived, and which can be looked up."""
        return tuple(self._doubtful) if self._place.features.posts_once else ()


class ReplyOutbox:
    """Begins replies that are written down first, and finishes what an earlier run left unfinished."""

    def __init__(
        self,
        history: HistoryStore,
        familiar_id: str,
        *,
        fresh_s: float = FRESH_S,
        clock: Clock | None = None,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._history = history
        self._rows = history.outbox
        self._familiar_id = familiar_id
        self.fresh_s = fresh_s
        """How long ago a question may have been asked that is still answered after the program died."""
        self._clock = clock or SystemClock()
        self._sleep = sleep

    def begin(
        self,
        place: Place,
        *,
        channel_id: int,
        guild_id: int | None,
        answers: tuple[int, ...],
        mode: str | None = None,
        facts: str | None = None,
    ) -> OutgoingReply:
        """A reply to the turns *answers* that is about to be posted at *place*."""
        reply = OutboxReply(
            reply_id=uuid4().hex,
            channel_id=channel_id,
            guild_id=guild_id,
            answers=answers,
            created_at=self._clock.now(),
            mode=mode,
            facts=facts,
            audience=self._history.channel_audience(familiar_id=self._familiar_id, channel_id=channel_id),
        )
        return OutgoingReply(self._rows, self._familiar_id, reply, place)

    async def recover(self, channel_id: int, place: Place) -> None:
        """Finish what an earlier run left in a channel. `DeliveryError`: not now; what is left stays for later."""
        usual = place
        for reply, pieces in await off_loop(self._rows.leftovers, self._familiar_id, channel_id):
            place, persona = usual, alter_of(reply.facts)
            if persona is not None:
                spoken = usual.speak_as(persona)
                place = spoken if spoken.features.posts_once else usual
            arrived = await self._find_arrived(reply, pieces, place)
            rest = _not_posted(pieces, arrived)
            is_unsure = not place.features.posts_once and _has_doubt(pieces)
            is_cut = bool(arrived and rest) and not self._is_fresh(reply)
            if self._is_fresh(reply):
                await self._post_rest(reply, rest, place, arrived)
            is_told = (is_unsure or is_cut) and await self._tell(reply, place, MAY_BE_MISSING if is_unsure else CUT_OFF)
            stand = [arrived[piece.id] for piece in pieces if piece.id in arrived]
            said = [MessagePiece(message_id=p.message_id, text=p.text) for p in stand]
            whole = reply if len(stand) == len(pieces) else replace(reply, words=None)
            await off_loop(self._record, whole, said, is_settled=is_told)
            logger.info(
                "a reply of an earlier run is finished",
                extra={"channel_id": channel_id, "pieces": len(pieces), "arrived": len(arrived), "told": is_told},
            )

    async def _post_rest(
        self, reply: OutboxReply, rest: Sequence[OutboxPiece], place: Place, arrived: dict[int, PostedMessage]
    ) -> None:
        """Post what was not posted, each piece noted in *arrived* and written down."""
        for piece in rest:
            target = await off_loop(self._target_of, reply, place) if not arrived else None
            try:
                posted = await self._insist(partial(post_piece, self._rows, place, piece, target))
            except DeliveryError as failure:
                if failure.retryable:
                    raise
                return  # it will never arrive: what did is recorded
            if posted is not None:
                arrived[piece.id] = posted
                await _mark_posted(self._rows, piece, posted)

    async def _tell(self, reply: OutboxReply, place: Place, sentence: str) -> bool:
        """Tell who asked what became of their answer; False: nobody asked, or there is no way to tell them."""
        asked = await off_loop(self._asked, reply)
        if asked is None or not place.features.tells_asker:
            return False
        try:
            await self._insist(partial(place.tell_asker, asked, sentence))
        except DeliveryError as failure:
            if failure.retryable:
                raise
            logger.warning("who asked could not be told", extra={"reason": str(failure)})
        return True

    def _asked(self, reply: OutboxReply) -> InboundMessage | None:
        """The newest message that *reply* answers."""
        turns = (self._history.turn_by_id(familiar_id=self._familiar_id, turn_id=each) for each in reply.answers)
        messages = [message_of_turn(turn) for turn in turns if turn is not None]
        return next((each for each in reversed(messages) if each is not None), None)

    async def _find_arrived(
        self, reply: OutboxReply, pieces: Sequence[OutboxPiece], place: Place
    ) -> dict[int, PostedMessage]:
        """The pieces that stand in the channel, by their numbers; that they do is written down."""
        if not place.features.posts_once:
            return find_posted(pieces, [], set())
        known = await off_loop(self._rows.platform_message_ids, self._familiar_id, reply.channel_id)
        after = await off_loop(self._newest_answered, reply)
        posts = await self._insist(partial(place.own_posts, after)) if after is not None else []
        arrived = find_posted(pieces, posts, known)
        for piece in pieces:
            if piece.id in arrived and piece.state is not PieceState.posted:
                await _mark_posted(self._rows, piece, arrived[piece.id])
        return arrived

    async def _insist(self, ask: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """What *ask* brings, asked again a few times where that may help."""
        found: list[T] = []

        async def step() -> None:
            found.append(await ask())

        await send_with_retry(step, self._sleep)
        return found[0]

    def _record(self, reply: OutboxReply, said: Sequence[MessagePiece], *, is_settled: bool) -> None:
        append = partial(self._append, reply, said) if any(piece.text.strip() for piece in said) else None
        self._rows.finish(reply, append, is_settled=is_settled)

    def _append(self, reply: OutboxReply, said: Sequence[MessagePiece]) -> HistoryTurn:
        posted = "\n\n".join(piece.text for piece in said).strip()
        view = None if reply.words is None else reply.view or posted
        return self._history.append_turn(
            familiar_id=self._familiar_id,
            channel_id=reply.channel_id,
            role="assistant",
            content=posted if reply.words is None else reply.words,
            view=view if view != reply.words else None,
            guild_id=reply.guild_id,
            mode=reply.mode,
            platform_message_id=said[0].message_id,
            facts=own_turn_facts(said, reply.facts, answers=reply.answers),
            audience=reply.audience,
        )

    def _newest_answered(self, reply: OutboxReply) -> str | None:
        """The platform's id of the last message that *reply* answers: it was posted after that."""
        turns = (self._history.turn_by_id(familiar_id=self._familiar_id, turn_id=each) for each in reply.answers)
        ids = [turn.platform_message_id for turn in turns if turn is not None and turn.platform_message_id]
        return max((each for each in ids if each.isdigit()), key=int, default=None)

    def _target_of(self, reply: OutboxReply, place: Place) -> ReplyTarget | None:
        """What a late reply is shown as the answer to; a chat that cannot be looked back at has moved on since."""
        if not place.features.posts_once:
            asked = self._asked(reply)
            named = asked.message_id if asked is not None else None
            return ReplyTarget(message_id=named, newest_id=named, is_aimed=True) if named else None
        newest = self._newest_answered(reply)
        return ReplyTarget(message_id=newest, newest_id=newest) if newest is not None else None

    def _is_fresh(self, reply: OutboxReply) -> bool:
        return (self._clock.now() - reply.created_at).total_seconds() <= self.fresh_s


def find_posted(
    pieces: Sequence[OutboxPiece], posts: Sequence[PostedMessage], known: Collection[str]
) -> dict[int, PostedMessage]:
    """The messages that are *pieces*, by the pieces' numbers. A message in *known* is a piece by its id alone.

    A message whose nonce the platform still tells is known by it; one without is known by its words.
    """
    found: dict[int, PostedMessage] = {}
    taken = set(known)
    by_id = {post.message_id: post for post in posts}
    by_nonce = {post.nonce: post for post in posts if post.nonce is not None}
    for piece in pieces:
        if piece.message_id is not None:
            unseen = PostedMessage(message_id=piece.message_id, text=piece.text, nonce=piece.nonce)
            found[piece.id] = by_id.get(piece.message_id, unseen)
        elif piece.nonce in by_nonce:
            found[piece.id] = by_nonce[piece.nonce]
            taken.add(found[piece.id].message_id)
    for piece in pieces:
        if piece.id in found:
            continue
        words = piece.text.strip()
        same = (p for p in posts if p.nonce is None and p.message_id not in taken and p.text.strip() == words)
        if (post := next(same, None)) is not None:
            found[piece.id] = post
            taken.add(post.message_id)
    return found


def _not_posted(pieces: Sequence[OutboxPiece], arrived: Collection[int]) -> list[OutboxPiece]:
    """What is still to be posted: pieces after the last that arrived, unless the reply was given up."""
    if _has_doubt(pieces):
        return []
    last = max((at for at, piece in enumerate(pieces) if piece.id in arrived), default=-1)
    return list(pieces[last + 1 :])


def _has_doubt(pieces: Sequence[OutboxPiece]) -> bool:
    return any(piece.state is PieceState.doubtful for piece in pieces)


async def post_piece(
    rows: OutboxRows, place: Place, piece: OutboxPiece, target: ReplyTarget | None
) -> PostedMessage | None:
    """Post one piece; None: there was nothing in it to post.

    Where nobody can look whether it arrived, that it was tried is on disk before.
    """
    if place.features.posts_once:
        return await place.post_once(piece.text, piece.nonce, target=target)
    await off_loop(rows.mark_doubtful, piece.id)
    message_id = await place.post_answer(piece.text, target=target)
    return PostedMessage(message_id=message_id, text=piece.text) if message_id is not None else None


async def _mark_posted(rows: OutboxRows, piece: OutboxPiece, posted: PostedMessage) -> None:
    """Keep the id of what was posted; where that cannot be written, the next start finds it in the channel."""
    try:
        await off_loop(rows.mark_posted, piece.id, posted.message_id)
    except HistoryError as error:
        logger.error("a posted message could not be noted", extra={"reason": str(error)})
