"""A reply owed is a reply given: whenever the program dies, nothing is lost, doubled or forgotten."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from familiar_connect.chat.place import Place, PlaceFeatures, PostedMessage, ReplyTarget
from familiar_connect.chat.scene import Scene
from familiar_connect.chat.types import InboundMessage
from familiar_connect.config import TypingSimulationConfig
from familiar_connect.errors import DeliveryError
from familiar_connect.history.outbox import OutboxPiece, OutboxReply
from familiar_connect.history.store import HistoryStore
from familiar_connect.history.types import HistoryTurn
from familiar_connect.identity import Author
from familiar_connect.reply import outbox as outbox_module
from familiar_connect.reply.deliver import TextDeliveryTracker, deliver
from familiar_connect.reply.outbox import ReplyOutbox, find_posted
from tests.fakes.properties import at_least

WREN, CHANNEL, GUILD = "wren", 7, 1
ADA = Author("discord", "11", "ada", "Ada")
NOW = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)
UNPACED = TypingSimulationConfig(enabled=False)


class Killed(BaseException):
    """The program died here."""


class Life:
    """Counts the moments of one life and ends it at one of them; from then on nothing takes effect."""

    def __init__(self, moments: int | None) -> None:
        self._left = moments

    def moment(self) -> None:
        if self._left is None:
            return
        self._left -= 1
        if self._left <= 0:
            self._left = 0
            raise Killed


@dataclass
class FakeChannel(Place):
    """A channel that outlives the program: what stands in it, and what it tells of nonces."""

    shows_nonces: bool = True
    refuses_nonces: bool = True
    questions: list[tuple[int, str]] = field(default_factory=list)
    posts: list[PostedMessage] = field(default_factory=list)
    life: Life = field(default_factory=lambda: Life(None))
    failures: list[DeliveryError] = field(default_factory=list)
    _last_id: int = 100

    features = PlaceFeatures(limit=5, edits=True, posts_once=True)

    async def recent(self, limit: int) -> Sequence[InboundMessage]:
        return ()

    async def scene(self) -> Scene:
        return Scene()

    def ask(self, text: str) -> None:
        self._last_id += 1
        self.questions.append((self._last_id, text))

    async def notice(self, text: str) -> None: ...

    async def send(self, text: str) -> None:
        raise AssertionError("everything goes through the outbox")

    async def post(self, text: str) -> object:
        raise AssertionError("everything goes through the outbox")

    async def edit(self, posted: object, text: str) -> None: ...

    async def post_once(self, text: str, nonce: str, *, target: ReplyTarget | None = None) -> PostedMessage:
        self.life.moment()
        if self.failures:
            raise self.failures.pop(0)
        known = next((post for post in self.posts if post.nonce == nonce), None)
        if known is None or not self.refuses_nonces:
            self._last_id += 1
            known = PostedMessage(message_id=str(self._last_id), text=text, nonce=nonce)
            self.posts.append(known)
        self.life.moment()
        return known

    async def own_posts(self, after: str) -> Sequence[PostedMessage]:
        found = [post for post in self.posts if int(post.message_id) > int(after)]
        if self.shows_nonces:
            return found
        return [PostedMessage(message_id=post.message_id, text=post.text) for post in found]


class FixedClock:
    def __init__(self, now: datetime = NOW) -> None:
        self._now = now

    def now(self) -> datetime:
        return self._now

    def monotonic(self) -> float:
        return 0.0


@contextmanager
def opened(path: Path, life: Life, now: datetime = NOW) -> Iterator[HistoryStore]:
    """The history as a new run of the program opens it; each write is a moment in which it may die."""
    history = HistoryStore(path, clock=FixedClock(now))
    history.database.write("PRAGMA synchronous=OFF")  # the machine stays up
    write, transaction = history.database.write, history.database.transaction

    def mortal_write(sql: str, parameters: Sequence[Any] = ()) -> Any:
        life.moment()
        return write(sql, parameters)

    @contextmanager
    def mortal_transaction() -> Iterator[Any]:
        with transaction() as connection:
            yield connection
            life.moment()
        life.moment()

    history.database.write = mortal_write  # type: ignore[method-assign]
    history.database.transaction = mortal_transaction  # type: ignore[method-assign]
    try:
        yield history
    finally:
        history.close()


@cache
def empty_history() -> Path:
    """A history as a first start leaves it; made once."""
    path = Path(tempfile.mkdtemp(prefix="familiar-outbox-")) / "empty.db"
    HistoryStore(path).close()
    return path


def hear(history: HistoryStore, message_id: int, text: str) -> tuple[HistoryTurn, bool]:
    """Store a question and that it is to be answered, as the intake does."""
    with history.database.transaction():
        turn, is_new = history.append_if_new(
            familiar_id=WREN,
            channel_id=CHANNEL,
            role="user",
            content=text,
            author=ADA,
            guild_id=GUILD,
            platform_message_id=str(message_id),
            timestamp=NOW,
        )
        if is_new:
            history.outbox.add_owed(turn, familiar_id=WREN, is_for_us=True)
    return turn, is_new


async def answer(history: HistoryStore, outbox: ReplyOutbox, channel: FakeChannel, turn: HistoryTurn) -> None:
    """Reply to *turn* with the words it asks for, as the runner does."""
    outgoing = outbox.begin(channel, channel_id=CHANNEL, guild_id=GUILD, answers=(turn.id,))
    tracker = TextDeliveryTracker(CHANNEL)
    await deliver(turn.content, outgoing, UNPACED, tracker)
    said = "\n\n".join(tracker.sent_chunks)

    def append() -> HistoryTurn:
        return history.append_turn(familiar_id=WREN, channel_id=CHANNEL, role="assistant", content=said, guild_id=GUILD)

    history.outbox.finish(outgoing.reply, append, doubtful=outgoing.doubtful)


async def live(path: Path, channel: FakeChannel, life: Life) -> None:
    """One run of the program: finish what is left, answer who waits, hear and answer the rest."""
    channel.life = life
    with opened(path, life) as history:
        outbox = ReplyOutbox(history, WREN, clock=FixedClock())
        await outbox.recover(CHANNEL, channel)
        for turn_id, _ in history.outbox.take_owed(WREN, CHANNEL):
            turn = history.turn_by_id(familiar_id=WREN, turn_id=turn_id)
            assert turn is not None
            await answer(history, outbox, channel, turn)
        for message_id, text in channel.questions:
            turn, is_new = hear(history, message_id, text)
            if is_new:
                await answer(history, outbox, channel, turn)


async def survive(path: Path, channel: FakeChannel, deaths: Sequence[int]) -> None:
    for moments in deaths:
        try:
            await live(path, channel, Life(moments))
        except Killed:
            continue
    await live(path, channel, Life(None))


WORDS = st.lists(st.sampled_from(["Yes.", "No.", "Hm."]), min_size=1, max_size=3).map("\n\n".join)


@pytest.mark.slow
@settings(max_examples=at_least(100), deadline=None)
@given(
    questions=st.lists(WORDS, min_size=1, max_size=3),
    deaths=st.lists(st.integers(1, 45), max_size=7),
    shows_nonces=st.booleans(),
    refuses_nonces=st.booleans(),
)
def test_whenever_it_dies_every_question_is_answered_once_and_every_word_is_in_the_history(
    questions: list[str], deaths: list[int], shows_nonces: bool, refuses_nonces: bool
) -> None:
    """Between any two effects, again and again, with replies that read alike."""
    channel = FakeChannel(shows_nonces=shows_nonces, refuses_nonces=refuses_nonces)
    for question in questions:
        channel.ask(question)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(shutil.copy(empty_history(), Path(folder) / "history.db"))
        asyncio.run(survive(path, channel, deaths))
        with opened(path, Life(None)) as history:
            turns = history.recent(familiar_id=WREN, channel_id=CHANNEL, limit=100)
            assert history.outbox.channels_with_leftovers(WREN) == set()

    assert [turn.content for turn in turns if turn.role == "assistant"] == questions
    assert [post.text for post in channel.posts] == [word for each in questions for word in each.split("\n\n")]


@pytest.mark.slow
async def test_without_a_look_at_the_channel_the_same_trial_finds_what_is_said_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control: the property above is not empty."""
    monkeypatch.setattr(outbox_module, "find_posted", lambda pieces, posts, known: {})
    doubled = 0
    for moments in range(1, 25):
        channel = FakeChannel(refuses_nonces=False)
        channel.ask("Yes.\n\nNo.")
        await survive(tmp_path / f"{moments}.db", channel, [moments])
        doubled += len(channel.posts) > 2

    assert doubled > 0


async def test_a_reply_that_is_no_longer_fresh_is_recorded_as_far_as_it_was_posted(tmp_path: Path) -> None:
    """Nobody is answered hours later, and nothing that was said is forgotten."""
    channel, path = FakeChannel(), tmp_path / "history.db"
    channel.ask("Yes.\n\nNo.")
    moments = 0
    while len(channel.posts) != 1:
        moments += 1
        channel.posts.clear()
        path.unlink(missing_ok=True)
        with pytest.raises(Killed):
            await live(path, channel, Life(moments))
    channel.life = Life(None)
    later = NOW + timedelta(hours=1)
    with opened(path, channel.life, later) as history:
        await ReplyOutbox(history, WREN, clock=FixedClock(later)).recover(CHANNEL, channel)
        turns = history.recent(familiar_id=WREN, channel_id=CHANNEL, limit=10)

    assert [turn.content for turn in turns] == ["Yes.\n\nNo.", "Yes."]
    assert [post.text for post in channel.posts] == ["Yes."]


async def test_a_piece_that_may_have_arrived_is_looked_for_and_never_posted_again(tmp_path: Path) -> None:
    """A reply that was given up is not taken up again by the next run."""
    channel, path = FakeChannel(), tmp_path / "history.db"
    channel.failures = [DeliveryError("lost", may_have_arrived=True)]
    with opened(path, Life(None)) as history:
        outbox = ReplyOutbox(history, WREN, clock=FixedClock())
        turn, _ = hear(history, 101, "Yes.")
        outgoing = outbox.begin(channel, channel_id=CHANNEL, guild_id=GUILD, answers=(turn.id,))
        with pytest.raises(DeliveryError):
            await deliver("Yes.", outgoing, UNPACED, TextDeliveryTracker(CHANNEL))
        history.outbox.finish(outgoing.reply, None, doubtful=outgoing.doubtful)
    with opened(path, Life(None)) as history:
        await ReplyOutbox(history, WREN, clock=FixedClock()).recover(CHANNEL, channel)
        assert history.outbox.take_owed(WREN, CHANNEL) == [(turn.id, True)]
        assert history.outbox.take_owed(WREN, CHANNEL) == []

    assert channel.posts == []


def test_a_message_known_by_its_id_is_not_taken_for_another_of_the_same_words() -> None:
    """The same words were said a moment before, in a reply that is recorded."""
    piece = OutboxPiece(id=1, text="Yes.", nonce="n1")
    before, since = (PostedMessage(message_id=each, text="Yes.") for each in ("5", "6"))

    assert find_posted([piece], [before], known={"5"}) == {}
    assert find_posted([piece], [before, since], known={"5"}) == {1: since}
    assert find_posted([piece], [PostedMessage(message_id="6", text="Yes.", nonce="n0")], known=()) == {}


def test_what_a_run_writes_itself_is_nothing_left_by_an_earlier_one(tmp_path: Path) -> None:
    """Looking back after a lost connection leaves the replies under way alone."""
    with opened(tmp_path / "history.db", Life(None)) as history:
        turn, _ = hear(history, 101, "Yes.")
        reply = OutboxReply(reply_id="r", channel_id=CHANNEL, guild_id=GUILD, answers=(turn.id,), created_at=NOW)
        history.outbox.plan(WREN, reply, ["Yes."])

        assert history.outbox.leftovers(WREN, CHANNEL) == []
        assert history.outbox.take_owed(WREN, CHANNEL) == []
    with opened(tmp_path / "history.db", Life(None)) as history:
        assert [found.reply_id for found, _ in history.outbox.leftovers(WREN, CHANNEL)] == ["r"]
        assert history.outbox.channels_with_leftovers(WREN) == {CHANNEL}
        history.erase_author(familiar_id=WREN, author=ADA)
        assert history.outbox.take_owed(WREN, CHANNEL) == []
