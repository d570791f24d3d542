"""What a reply on its way says to its place and to the history, and what the next start makes of one that was cut."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from familiar_connect.audience import hidden_channel
from familiar_connect.chat.message_parts import MessagePiece
from familiar_connect.chat.place import Place, PlaceFeatures, PostedMessage, ReplyTarget
from familiar_connect.chat.scene import Scene
from familiar_connect.chat.types import InboundMessage
from familiar_connect.errors import DeliveryError, HistoryError
from familiar_connect.history.message_metadata import alter_facts, alter_of
from familiar_connect.history.outbox import OutboxPiece, PieceState
from familiar_connect.history.store import HistoryStore
from familiar_connect.history.types import HistoryTurn
from familiar_connect.identity import Author
from familiar_connect.reply.outbox import CUT_OFF, ReplyOutbox, find_posted

WREN, HERE, GUILD = "wren", 7, 1
ADA = Author("discord", "11", "ada", "Ada")
NOW = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)
HIDDEN = hidden_channel("discord", HERE, GUILD)


def message_of_ada(text: str) -> InboundMessage:
    return InboundMessage(platform="discord", channel_id=HERE, author=ADA, text=text, timestamp=NOW)


@dataclass
class FakePlace(Place):
    """A channel that notes what it is asked, and fails as it is told to."""

    stand: list[PostedMessage] = field(default_factory=list)
    targets: list[ReplyTarget | None] = field(default_factory=list)
    asked_after: list[str] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    failures: dict[str, DeliveryError] = field(default_factory=dict)
    first_id: int = 500
    streams: bool = False

    @property
    def features(self) -> PlaceFeatures:
        return PlaceFeatures(limit=321, streams=self.streams, edits=True, edit_interval_s=1.5, posts_once=True)

    async def recent(self, limit: int) -> Sequence[InboundMessage]:
        return [message_of_ada(f"line {number}") for number in range(limit)]

    async def scene(self) -> Scene:
        return Scene(server_id=GUILD)

    @asynccontextmanager
    async def thinking(self) -> AsyncIterator[None]:
        self.told.append("thinks")
        yield

    async def notice(self, text: str) -> None:
        self.told.append(text)

    async def send(self, text: str) -> None:
        raise AssertionError("everything goes through the outbox")

    async def post(self, text: str) -> object:
        raise AssertionError("everything goes through the outbox")

    async def edit(self, posted: object, text: str) -> None:
        self.told.append(f"{posted}: {text}")

    async def post_once(self, text: str, nonce: str, *, target: ReplyTarget | None = None) -> PostedMessage:
        self.targets.append(target)
        if text in self.failures:
            raise self.failures.pop(text)
        number = self.first_id + len(self.stand)
        self.stand.append(PostedMessage(message_id=str(number), text=text, nonce=nonce, handle=f"handle {number}"))
        return self.stand[-1]

    async def own_posts(self, after: str) -> Sequence[PostedMessage]:
        self.asked_after.append(after)
        return [post for post in self.stand if int(post.message_id) > int(after)]


@dataclass
class PlaceWithoutMemory(FakePlace):
    """One like Twitch's chat: nobody can look whether a message arrived."""

    @property
    def features(self) -> PlaceFeatures:
        return PlaceFeatures(limit=321, posts_answers=True)

    async def post_answer(self, text: str, *, target: ReplyTarget | None = None) -> str | None:
        return (await self.post_once(text, "", target=target)).message_id


@dataclass
class TellingPlace(FakePlace):
    """One where who asked can be told something, or not now, or never."""

    fails: DeliveryError | None = None
    asked: list[tuple[str, str]] = field(default_factory=list)

    @property
    def features(self) -> PlaceFeatures:
        return replace(super().features, tells_asker=True)

    async def tell_asker(self, asked: InboundMessage, text: str) -> None:
        if self.fails is not None:
            raise self.fails
        self.asked.append((asked.text, text))


@dataclass
class FakePlaceWithPersonas(FakePlace):
    """One where a further persona posts by itself."""

    personas: dict[str, FakePlace] = field(default_factory=dict)

    def speak_as(self, persona: str) -> FakePlace:
        return self.personas.setdefault(persona, FakePlace(first_id=900))


class SetClock:
    def __init__(self, now: datetime) -> None:
        self._now = now

    def now(self) -> datetime:
        return self._now

    def monotonic(self) -> float:
        return 0.0


class Run:
    """Runs of the program on one disk."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.history = HistoryStore(path, clock=SetClock(NOW))
        self.waits: list[float] = []

    def start_again(self) -> None:
        self.history.close()
        self.history = HistoryStore(self._path, clock=SetClock(NOW))

    def outbox(self, now: datetime = NOW) -> ReplyOutbox:
        async def sleep(seconds: float) -> None:
            self.waits.append(seconds)

        return ReplyOutbox(self.history, WREN, clock=SetClock(now), sleep=sleep)

    def hear(self, message_id: str | None) -> HistoryTurn:
        return self.history.append_turn(
            familiar_id=WREN,
            channel_id=HERE,
            role="user",
            content="Well?",
            author=ADA,
            guild_id=GUILD,
            platform_message_id=message_id,
            audience=HIDDEN,
        )

    async def cut(
        self, *pieces: str, posted: int = 0, place: FakePlace | None = None, answers: tuple[int, ...] = (), **more: str
    ) -> None:
        """Plan a reply, post so many pieces of it, and die."""
        outgoing = self.outbox().begin(place or FakePlace(), channel_id=HERE, guild_id=GUILD, answers=answers, **more)
        await outgoing.plan(pieces)
        for piece in pieces[:posted]:
            await outgoing.post(piece)
        self.start_again()

    def own_turns(self) -> list[HistoryTurn]:
        turns = self.history.recent(familiar_id=WREN, channel_id=HERE, limit=10)
        return [turn for turn in turns if turn.role == "assistant"]


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    run = Run(tmp_path / "history.db")
    yield run
    run.history.close()


def states(run: Run) -> list[tuple[str, str]]:
    return [(str(text), str(state)) for text, state in run.history.database.read("SELECT text, state FROM outbox")]


async def test_a_reply_on_its_way_is_its_place_and_speaks_only_in_whole_messages(run: Run) -> None:
    """Its limits and its notices are the place's, and so is what stands there."""
    place = FakePlace(streams=True)
    outgoing = run.outbox().begin(place, channel_id=HERE, guild_id=GUILD, answers=())
    async with outgoing.thinking():
        await outgoing.notice("a word")
    assert (await outgoing.recent(3), await outgoing.scene()) == (await place.recent(3), await place.scene())

    features = outgoing.features
    assert (features.streams, features.limit, features.edit_interval_s) == (False, 321, 1.5)
    assert place.told == ["thinks", "a word"]


async def test_only_the_first_message_answers_somebody_and_that_is_asked_when_it_is_posted(run: Run) -> None:
    """The rest follows it; what was posted reads as the model wrote it, also after an edit."""
    place, target = FakePlace(), ReplyTarget(message_id="101", newest_id="102")
    outgoing = run.outbox().begin(place, channel_id=HERE, guild_id=GUILD, answers=())
    outgoing.address(lambda: target, str.lower)
    first = await outgoing.post("ONE")
    await outgoing.send("TWO")
    await outgoing.edit(first, "ONE AND MORE")

    assert place.targets == [target, None]
    assert outgoing.pieces == (
        MessagePiece(message_id="500", text="one and more"),
        MessagePiece(message_id="501", text="two"),
    )
    assert place.told == ["handle 500: ONE AND MORE"]
    assert run.history.database.read("SELECT piece, text, state FROM outbox ORDER BY id") == [
        (0, "ONE", "posted"),
        (1, "TWO", "posted"),
    ]


async def test_words_that_were_not_planned_are_written_down_before_they_are_posted(run: Run) -> None:
    """Instead of those that were, which are not said any more."""
    place = FakePlace()
    outgoing = run.outbox().begin(place, channel_id=HERE, guild_id=GUILD, answers=())
    await outgoing.plan(["One.", "Two."])
    await outgoing.post("Other.")
    await outgoing.post("Last.")

    assert states(run) == [("One.", "pending"), ("Two.", "pending"), ("Other.", "posted"), ("Last.", "posted")]
    assert len({post.nonce for post in place.stand}) == 2


@pytest.mark.parametrize(
    ("failures", "is_doubtful"),
    [([False], False), ([True], True), ([True, False], True), ([False, False], False)],
)
async def test_a_piece_is_doubtful_once_it_may_have_arrived(run: Run, failures: list[bool], is_doubtful: bool) -> None:
    """Whatever a later try says; a piece that arrives after all is none."""
    place = FakePlace()
    outgoing = run.outbox().begin(place, channel_id=HERE, guild_id=GUILD, answers=())
    await outgoing.plan(["One."])
    for may_have_arrived in failures:
        place.failures = {"One.": DeliveryError("lost", may_have_arrived=may_have_arrived)}
        with pytest.raises(DeliveryError):
            await outgoing.post("One.")
    doubtful = len(outgoing.doubtful)
    await outgoing.post("One.")

    assert (doubtful, len(outgoing.doubtful)) == (int(is_doubtful), 0)


async def test_a_disk_that_cannot_note_a_post_costs_no_reply(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next start finds it in the channel."""

    def refuse(piece_id: int, message_id: str) -> None:
        raise HistoryError("the disk is full")

    outgoing = run.outbox().begin(FakePlace(), channel_id=HERE, guild_id=GUILD, answers=())
    monkeypatch.setattr(run.history.outbox, "mark_posted", refuse)

    assert await outgoing.post("One.") == "handle 500"


async def test_what_is_left_is_posted_as_an_answer_and_recorded_with_all_that_was_known(run: Run) -> None:
    """The newest message it answers is what it answers; its turn has its mode, its server and its audience."""
    answers = tuple(run.hear(message_id).id for message_id in ("9", "101", None, "not a number"))
    await run.cut("One.", "Two.", answers=(*answers, 12345), mode="full_rp")
    place = FakePlace()
    await run.outbox().recover(HERE, place)
    (turn,) = run.own_turns()

    assert place.asked_after == ["101"]
    assert place.targets == [ReplyTarget(message_id="101", newest_id="101"), None]
    assert (turn.content, turn.mode, turn.guild_id, turn.audience) == ("One.\n\nTwo.", "full_rp", GUILD, HIDDEN)
    assert turn.platform_message_id == "500"
    assert states(run) == [("", "recorded"), ("", "recorded")]


async def test_where_nobody_can_look_back_a_late_reply_names_the_message_it_answers(run: Run) -> None:
    """The chat has moved on since: it is aimed at its question, whatever stands below that by now."""
    question, place = run.hear("101"), PlaceWithoutMemory()
    await run.cut("One.", answers=(question.id,))
    await run.outbox().recover(HERE, place)

    assert place.targets == [ReplyTarget(message_id="101", newest_id="101", is_aimed=True)]


async def test_what_stands_already_is_found_and_only_the_rest_is_posted(run: Run) -> None:
    """And no longer as an answer: the first piece was that."""
    question, place = run.hear("101"), FakePlace()
    await run.cut("One.", "Two.", posted=1, place=place, answers=(question.id,))
    place.targets.clear()
    await run.outbox().recover(HERE, place)

    assert [post.text for post in place.stand] == ["One.", "Two."]
    assert place.targets == [None]
    assert [turn.content for turn in run.own_turns()] == ["One.\n\nTwo."]


@pytest.mark.parametrize(
    ("posted", "view", "age_s", "stored"),
    [
        (0, None, 0, ("A quiet one. Two.", "One.\n\nTwo.")),
        (2, "A view.", 0, ("A quiet one. Two.", "A view.")),
        (1, None, 0, ("A quiet one. Two.", "One.\n\nTwo.")),
        (1, None, 5000, ("One.", None)),
    ],
    ids=["nothing posted", "all posted", "the rest posted late", "a part alone"],
)
async def test_the_models_words_are_on_disk_with_the_pieces_made_of_them(
    run: Run, posted: int, view: str | None, age_s: int, stored: tuple[str, str | None]
) -> None:
    """Whole, the reply is recorded as it was written; of one that stays a part, what people saw is all there is."""
    question, place = run.hear("101"), FakePlace()
    outgoing = run.outbox().begin(
        place, channel_id=HERE, guild_id=GUILD, answers=(question.id,), facts=alter_facts("Moth")
    )
    outgoing.keep_words("A quiet one. Two.", view)
    await outgoing.plan(["One.", "Two."])
    for piece in ["One.", "Two."][:posted]:
        await outgoing.post(piece)
    run.start_again()
    await run.outbox(NOW + timedelta(seconds=age_s)).recover(HERE, place)
    (turn,) = run.own_turns()

    assert (turn.content, turn.view) == stored
    assert alter_of(turn.facts) == "Moth"
    assert "words" not in str(turn.facts)


async def test_a_reply_to_nobody_is_posted_without_a_look_at_the_channel(run: Run) -> None:
    """There is no message after which to look."""
    await run.cut("One.")
    place = FakePlace()
    await run.outbox().recover(HERE, place)

    assert (place.asked_after, place.targets, [post.text for post in place.stand]) == ([], [None], ["One."])


async def test_a_further_persona_finishes_what_it_began(run: Run) -> None:
    """Where the place lets personas post; else the familiar does."""
    await run.cut("One.", facts=str(alter_facts("Rook")))
    shared, plain = FakePlaceWithPersonas(), FakePlace()
    await run.outbox().recover(HERE, shared)
    assert ([post.text for post in shared.personas["Rook"].stand], shared.stand) == (["One."], [])

    await run.cut("One.", facts=str(alter_facts("Rook")))
    await run.outbox().recover(HERE, plain)
    assert [post.text for post in plain.stand] == ["One."]

    await run.cut("Two.")
    usual = FakePlaceWithPersonas()
    await run.outbox().recover(HERE, usual)

    assert (len(usual.stand), usual.personas) == (1, {})


async def test_what_will_never_arrive_ends_the_reply_and_what_did_is_recorded(run: Run) -> None:
    """Nothing after it is posted."""
    await run.cut("One.", "Two.", "Three.")
    place = FakePlace(failures={"Two.": DeliveryError("refused", retryable=False)})
    await run.outbox().recover(HERE, place)

    assert [post.text for post in place.stand] == ["One."]
    assert [turn.content for turn in run.own_turns()] == ["One."]


async def test_a_place_that_cannot_be_reached_leaves_the_reply_for_later(run: Run) -> None:
    """It is tried again a few times first; then nothing of it is recorded."""
    await run.cut("One.")
    place = FakePlace()

    async def post_once(text: str, nonce: str, *, target: ReplyTarget | None = None) -> PostedMessage:
        raise DeliveryError("away", retryable=True)

    place.post_once = post_once  # type: ignore[method-assign]
    with pytest.raises(DeliveryError):
        await run.outbox().recover(HERE, place)

    assert run.waits
    assert (run.own_turns(), states(run)) == ([], [("One.", "pending")])


@pytest.mark.parametrize(("age_s", "texts"), [(900, ["One."]), (901, [])])
async def test_a_reply_is_fresh_for_a_quarter_of_an_hour(run: Run, age_s: int, texts: list[str]) -> None:
    """To the second; later it is not posted any more."""
    await run.cut("One.")
    place = FakePlace()
    await run.outbox(NOW + timedelta(seconds=age_s)).recover(HERE, place)

    assert [post.text for post in place.stand] == texts
    assert [turn.content for turn in run.own_turns()] == texts


@pytest.mark.parametrize(
    ("fails", "asked", "recorded"),
    [
        (None, [("Well?", CUT_OFF)], ["One."]),
        (DeliveryError("never", retryable=False), [], ["One."]),
        (DeliveryError("not now", retryable=True), [], []),
    ],
)
async def test_who_asked_is_told_that_the_rest_comes_no_more(
    run: Run, fails: DeliveryError | None, asked: list[tuple[str, str]], recorded: list[str]
) -> None:
    """Where that cannot be said now, all of it is left for the next start; where it never can, nobody waits for it."""
    place, question = TellingPlace(fails=fails), run.hear("101")
    await run.cut("One.", "Two.", posted=1, place=place, answers=(question.id,))
    late = run.outbox(NOW + timedelta(hours=1))
    if fails is not None and fails.retryable:
        with pytest.raises(DeliveryError):
            await late.recover(HERE, place)
    else:
        await late.recover(HERE, place)

    assert (place.asked, [post.text for post in place.stand]) == (asked, ["One."])
    assert [turn.content for turn in run.own_turns()] == recorded


async def test_a_piece_given_up_that_did_arrive_is_recorded_and_nothing_is_posted_after_it(run: Run) -> None:
    """One that did not arrive is forgotten."""
    question, place = run.hear("101"), FakePlace()
    outgoing = run.outbox().begin(place, channel_id=HERE, guild_id=GUILD, answers=(question.id,))
    await outgoing.plan(["One.", "Two."])
    place.failures = {"One.": DeliveryError("lost", may_have_arrived=True)}
    with pytest.raises(DeliveryError):
        await outgoing.post("One.")
    (first,) = outgoing.doubtful
    nonce = run.history.database.read("SELECT nonce FROM outbox WHERE id = ?", (first,))[0][0]
    place.stand.append(PostedMessage(message_id="600", text="One.", nonce=str(nonce)))
    run.history.outbox.finish(outgoing.reply, None, doubtful=outgoing.doubtful)
    run.start_again()
    await run.outbox().recover(HERE, place)

    assert [turn.content for turn in run.own_turns()] == ["One."]
    assert [post.text for post in place.stand] == ["One."]
    assert states(run) == [("", "recorded")]


def test_a_piece_is_known_by_its_id_then_its_nonce_then_its_words() -> None:
    """One message is one piece, and blanks around it do not matter."""
    posted = OutboxPiece(id=1, text="Yes.", nonce="n1", state=PieceState.posted, message_id="5")
    twin, third = OutboxPiece(id=2, text="Yes.", nonce="n2"), OutboxPiece(id=3, text=" Yes. ", nonce="n3")
    by_id = PostedMessage(message_id="5", text="Yes, edited.")
    by_nonce = PostedMessage(message_id="6", text="Yes.", nonce="n2")
    by_words = PostedMessage(message_id="7", text="Yes.\n")
    other = PostedMessage(message_id="8", text="Yes.", nonce="x")

    assert find_posted([posted, twin, third], [other, by_id, by_nonce, by_words], {"5"}) == {
        1: by_id,
        2: by_nonce,
        3: by_words,
    }
    assert find_posted([posted], [], {"5"}) == {1: PostedMessage(message_id="5", text="Yes.", nonce="n1")}
    assert find_posted([third, OutboxPiece(id=4, text="Yes.", nonce="n4")], [by_words], ()) == {3: by_words}
    assert find_posted([twin, third], [by_nonce], ()) == {2: by_nonce}
