"""Every state a reply can be left in, at a place that can be looked at and at one that cannot.

Nothing is posted twice, and whoever asked has the whole answer, is told, or is still owed one.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

import pytest

from familiar_connect.chat.place import Place, PlaceFeatures, PostedMessage, ReplyTarget
from familiar_connect.chat.scene import Scene
from familiar_connect.chat.types import InboundMessage
from familiar_connect.history.outbox import OutboxReply, PieceState
from familiar_connect.history.store import HistoryStore
from familiar_connect.reply.outbox import CUT_OFF, MAY_BE_MISSING, ReplyOutbox
from tests.reply.test_outbox import (
    CHANNEL,
    GUILD,
    NOW,
    WREN,
    FakeChannel,
    FixedClock,
    Killed,
    Life,
    empty_history,
    hear,
    opened,
)

PENDING, POSTED, DOUBTFUL = PieceState.pending, PieceState.posted, PieceState.doubtful
WORDS = ("One.", "Two.")
HOUR_LATER = NOW + timedelta(hours=1)


class TellingChannel(FakeChannel):
    """A channel that can be looked at, and in which who asked can be told something."""

    features = replace(FakeChannel.features, limit=99, tells_asker=True)
    told: list[str]

    async def tell_asker(self, asked: InboundMessage, text: str) -> None:
        self.life.moment()
        self.told.append(text)
        self.life.moment()


class BlindChannel(Place):
    """A chat that nobody can look back at, as Twitch's is."""

    features = PlaceFeatures(limit=5, posts_answers=True, keeps_owed=True, tells_asker=True)

    def __init__(self, seen: TellingChannel) -> None:
        self._seen = seen

    async def recent(self, limit: int) -> Sequence[InboundMessage]:
        return ()

    async def scene(self) -> Scene:
        return Scene()

    async def notice(self, text: str) -> None: ...

    async def send(self, text: str) -> None: ...

    async def tell_asker(self, asked: InboundMessage, text: str) -> None:
        await self._seen.tell_asker(asked, text)

    async def post_answer(self, text: str, *, target: ReplyTarget | None = None) -> str | None:
        posted = await self._seen.post_once(text, f"blind-{len(self._seen.posts)}")
        return posted.message_id


@dataclass(frozen=True)
class Left:
    """How a reply of two pieces was left: each piece's state, and whether it stands in the channel."""

    states: tuple[PieceState, ...]
    stands: tuple[bool, ...]
    can_look: bool
    is_fresh: bool

    def __str__(self) -> str:
        pieces = "-".join(f"{s.value}{'+' if there else ''}" for s, there in zip(self.states, self.stands, strict=True))
        return f"{pieces}-{'seen' if self.can_look else 'blind'}-{'fresh' if self.is_fresh else 'late'}"


def every_state() -> Iterator[Left]:
    """Whatever a death can leave: pieces go out in order, and a posted one stands."""
    pairs = itertools.product((PENDING, POSTED, DOUBTFUL), repeat=2)
    for states, stands, can_look, is_fresh in itertools.product(
        pairs, itertools.product((False, True), repeat=2), (True, False), (True, False)
    ):
        if any(state is POSTED and not there for state, there in zip(states, stands, strict=True)):
            continue
        if not can_look and any(state is PENDING and there for state, there in zip(states, stands, strict=True)):
            continue  # it is doubtful before it is sent
        if states[0] is PENDING and not stands[0] and (states[1] is not PENDING or stands[1]):
            continue  # the second goes out after the first
        yield Left((states[0], states[1]), (stands[0], stands[1]), can_look, is_fresh)


def leave(history: HistoryStore, channel: TellingChannel, left: Left) -> int:
    """Leave the rows and the channel as *left* says; the turn that was to be answered."""
    turn, _ = hear(history, 101, "Well?")
    reply = OutboxReply(reply_id="r", channel_id=CHANNEL, guild_id=GUILD, answers=(turn.id,), created_at=NOW)
    planned = history.outbox.plan(WREN, reply, WORDS)
    for at, (piece, state) in enumerate(zip(planned, left.states, strict=True)):
        if left.stands[at]:
            channel.posts.append(PostedMessage(message_id=str(201 + at), text=piece.text, nonce=piece.nonce))
        if state is DOUBTFUL:
            history.outbox.mark_doubtful(piece.id)
        elif state is POSTED:
            history.outbox.mark_posted(piece.id, str(201 + at))
    return turn.id


async def start(path: Path, channel: TellingChannel, left: Left, life: Life) -> None:
    channel.life = life
    now = NOW if left.is_fresh else HOUR_LATER
    with opened(path, life, now) as history:
        place = channel if left.can_look else BlindChannel(channel)
        await ReplyOutbox(history, WREN, clock=FixedClock(now)).recover(CHANNEL, place)


@pytest.mark.slow
@pytest.mark.parametrize("left", list(every_state()), ids=str)
async def test_however_a_reply_was_left_nothing_is_said_twice_and_nobody_waits_in_vain(
    tmp_path: Path, left: Left
) -> None:
    """The start that finishes it dies at each of its own steps, too, and the one after that finishes it."""
    for moments in itertools.count(1):
        path, channel = tmp_path / f"{moments}.db", TellingChannel()
        channel.told = []
        channel._last_id = 300
        path.write_bytes(empty_history().read_bytes())
        with opened(path, Life(None)) as history:
            turn_id = leave(history, channel, left)
        was_killed = False
        try:
            await start(path, channel, left, Life(moments))
        except Killed:
            was_killed = True
        await start(path, channel, left, Life(None))
        check(path, channel, left, turn_id, was_killed=was_killed)
        if not was_killed:
            return


def sentences_for(left: Left) -> list[str]:
    """What whoever asked is to be told."""
    if DOUBTFUL in left.states:
        return [] if left.can_look else [MAY_BE_MISSING]
    return [CUT_OFF] if left.stands == (True, False) and not left.is_fresh else []


def check(path: Path, channel: TellingChannel, left: Left, turn_id: int, *, was_killed: bool) -> None:
    texts = [post.text for post in channel.posts]
    with opened(path, Life(None)) as history:
        owed = history.outbox.take_owed(WREN, CHANNEL) == [(turn_id, True)]
        assert history.outbox.leftovers(WREN, CHANNEL) == []
        said = [turn.content for turn in history.recent(familiar_id=WREN, channel_id=CHANNEL, limit=9)][1:]
    assert len(texts) == len(set(texts)), "something was said twice"
    is_whole = texts == list(WORDS)
    has_answer = owed or bool(channel.told) or is_whole or (DOUBTFUL in left.states and bool(texts))
    assert has_answer, "whoever asked waits in vain"
    assert not (owed and texts), "what stands would be answered once more"
    assert not (owed and channel.told), "who was told would be answered as well"
    if left.can_look:
        assert "".join(said).split() == texts, "the history holds what stands in the channel"
        assert MAY_BE_MISSING not in channel.told
    else:
        assert set("".join(said).split()) <= set(texts)
        assert (MAY_BE_MISSING in channel.told) == (DOUBTFUL in left.states) or was_killed
    wanted = sentences_for(left)
    if was_killed and left.can_look:  # that it stands was noted before the death, and then the doubt is gone
        assert set(channel.told) <= {*wanted, *([CUT_OFF] if not left.is_fresh and not is_whole else [])}
    elif was_killed:  # the death made a doubt
        assert set(channel.told) <= {*wanted, MAY_BE_MISSING}
    else:
        assert channel.told == wanted, "who has the whole answer is told nothing"


def test_a_chat_that_cannot_be_looked_at_is_not_taken_for_one_that_can() -> None:
    """The trial above would else try one kind twice."""
    assert not BlindChannel.features.posts_once
    assert TellingChannel.features.posts_once


def test_the_states_are_all_there() -> None:
    """Each state of a piece, found and not found, at both kinds of places."""
    found: Sequence[Left] = list(every_state())
    seen = {
        (state, there, each.can_look) for each in found for state, there in zip(each.states, each.stands, strict=True)
    }
    blind = {(state, there, False) for state, there in itertools.product(PieceState, (True, False))}
    impossible = {(POSTED, False, True), (POSTED, False, False), (PENDING, True, False)}
    recorded = set(itertools.product([PieceState.recorded], (True, False), (True, False)))

    assert seen == (blind | {(*each[:2], True) for each in blind}) - impossible - recorded
    assert replace(found[0], is_fresh=not found[0].is_fresh) in found
