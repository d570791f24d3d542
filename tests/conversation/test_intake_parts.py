"""What the intake keeps, hands on and leaves alone: each with a monitor and a queue that note what they are told."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest

from familiar_connect.audience import OWNER, between, hidden_channel, whole_server
from familiar_connect.channel_config import ChannelConfigStore
from familiar_connect.chat.place import Place, PlaceFeatures
from familiar_connect.chat.scene import ChannelContext, ChannelKind, Scene
from familiar_connect.chat.types import InboundMessage
from familiar_connect.config import CharacterConfig
from familiar_connect.conversation.admission import Admission, QuietChannels
from familiar_connect.conversation.channels import ChannelLabels, KeptChannel
from familiar_connect.conversation.intake import TOO_LATE, Intake, IntakeResult
from familiar_connect.conversation.place_readers import OwnerContact, PlaceReaders
from familiar_connect.conversation.types import ReplyDue
from familiar_connect.errors import DeliveryError, HistoryError
from familiar_connect.history.pending_speech import PendingSpeechRows
from familiar_connect.history.store import HistoryStore
from familiar_connect.history.turn_visibility import readers_last_known
from familiar_connect.history.types import DELETED, TurnMark
from familiar_connect.identity import Author, FixedPrivacy, PrivacyLevel
from familiar_connect.subscriptions import SubscriptionKind, SubscriptionRegistry
from familiar_connect.support.clock import ManualClock

WREN, HERE, GUILD = "wren", 7, 3
ADA, BO, PRIVATE = (
    Author("discord", number, name.lower(), name) for number, name in zip("123", ("Ada", "Bo", "Cy"), strict=True)
)
NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
LOUNGE = Scene(server_id=GUILD, server_name="Tea", channel=ChannelContext("lounge", ChannelKind.text))


class NotingMonitor:
    """Hears, answers nothing, and notes it."""

    def __init__(self) -> None:
        self.heard: list[dict[str, Any]] = []
        self.revised: list[tuple[int, int, str | None]] = []
        self.is_closed = False
        self.waits = 0

    def is_addressed(self, text: str, *, is_mention: bool) -> bool:
        return is_mention or "wren" in text

    def is_surely_addressed(self, text: str, *, is_mention: bool) -> bool:
        return is_mention or text.startswith("wren,")

    async def on_message(self, channel_id: int, author: Author, text: str, **more: Any) -> None:
        self.heard.append({"channel_id": channel_id, "author": author, "text": text, **more})

    def revise(self, channel_id: int, history_id: int, text: str | None) -> None:
        self.revised.append((channel_id, history_id, text))

    async def wait_until_idle(self) -> None:
        self.waits += 1

    async def aclose(self) -> None:
        self.is_closed = True


class NotingQueue:
    def __init__(self) -> None:
        self.places: list[tuple[int, int | None, bool]] = []
        self.revised: list[tuple[int, int, str | None]] = []
        self.answered: set[int] = set()

    def set_place(self, channel_id: int, place: object, *, guild_id: int | None = None, is_voice: bool = False) -> None:
        self.places.append((channel_id, guild_id, is_voice))

    def revise(self, channel_id: int, history_id: int, text: str | None) -> None:
        self.revised.append((channel_id, history_id, text))

    def was_answered(self, history_id: int) -> bool:
        return history_id in self.answered

    async def wait_until_let_go(self, channel_id: int, history_id: int) -> None: ...


class NotingLimits:
    """Refuses those it is told to, and notes who is charged."""

    def __init__(self, *refused: Author) -> None:
        self._refused = refused
        self.asked: list[tuple[Author, bool]] = []
        self.charged: list[Author] = []

    async def refuse_message(self, message: InboundMessage, place: object, *, is_addressed: bool) -> str | None:
        self.asked.append((message.author, is_addressed))
        return "enough" if message.author in self._refused else None

    @contextmanager
    def charge(self, author: Author) -> Any:
        self.charged.append(author)
        yield


@dataclass
class Here(Place):
    """A place that shows its scene and notes what it says."""

    shown: Scene | None = LOUNGE
    notices: list[str] = field(default_factory=list)

    features = PlaceFeatures(limit=100)

    async def send(self, text: str) -> None: ...

    async def notice(self, text: str) -> None:
        self.notices.append(text)

    async def recent(self, limit: int) -> Sequence[InboundMessage]:
        return []

    async def scene(self) -> Scene:
        if self.shown is None:
            raise OSError("not now")
        return self.shown


@dataclass
class HereOnce(Here):
    """One that posts a thing once however often it is tried: there answers are owed."""

    features = PlaceFeatures(limit=100, edits=True, posts_once=True)

    async def post(self, text: str) -> object:
        return None

    async def edit(self, posted: object, text: str) -> None: ...

    async def post_once(self, text: str, nonce: str, *, target: object = None) -> Any: ...

    async def own_posts(self, after: str) -> Sequence[Any]:
        return []


class House:
    """An intake with all it needs, and what it told the others."""

    def __init__(
        self,
        folder: Path,
        *,
        limits: NotingLimits | None = None,
        readers: PlaceReaders | None = None,
        **admission: Any,
    ) -> None:
        self.history = HistoryStore(folder / "history.db")
        self.owner = OwnerContact()
        subscriptions = SubscriptionRegistry(folder / "subscriptions.toml")
        for kind in (SubscriptionKind.text, SubscriptionKind.voice):
            subscriptions.add(channel_id=HERE, kind=kind, guild_id=GUILD)
        self.monitor, self.queue, self.interrupted = NotingMonitor(), NotingQueue(), list[str]()
        self.turns_told = 0
        self.labels = ChannelLabels(folder / "channels.json")
        self.channels = ChannelConfigStore(root=folder, character=CharacterConfig())
        self.intake = Intake(
            familiar_id=WREN,
            history=self.history,
            channels=self.channels,
            admission=Admission(
                subscriptions=subscriptions,
                privacy=FixedPrivacy({PRIVATE.canonical_key: PrivacyLevel.FULL}),
                owner=self.owner,
                limits=cast(Any, limits),
                **{"dms": {"discord": "everyone"}} | admission,
            ),
            queue=cast(Any, self.queue),
            monitor=cast(Any, self.monitor),
            interrupt=self._interrupt,
            labels=self.labels,
            notify_turn=self._notify,
            readers=readers,
        )

    async def _interrupt(self, message: InboundMessage) -> None:
        await asyncio.sleep(0)  # the piece that is on its way
        self.interrupted.append(message.text)

    async def _notify(self) -> None:
        self.turns_told += 1

    async def hear(self, text: str = "hello", *, place: Here | None = None, **more: Any) -> IntakeResult:
        options = {key: more.pop(key) for key in ("is_old_news", "mark", "due", "speech") if key in more}
        return await self.intake.receive(a_message(text, **more), cast(Any, place or Here()), **options)

    def owed(self) -> list[tuple[object, ...]]:
        return self.history.database.read("SELECT turn_id, is_for_us FROM owed_replies ORDER BY turn_id")

    def speech(self) -> list[tuple[object, ...]]:
        return self.history.database.read("SELECT COUNT(*) FROM pending_speech")


def a_message(text: str = "hello", **more: Any) -> InboundMessage:
    facts: dict[str, Any] = {"author": ADA, "channel_id": HERE, "guild_id": GUILD} | more
    return InboundMessage(platform=facts["author"].platform, text=text, timestamp=NOW, **facts)


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    house = House(tmp_path)
    yield house
    await house.intake.aclose()
    house.history.close()


async def test_a_message_is_handed_on_with_all_that_the_monitor_asks(house: House) -> None:
    """Whether it is for us, whether it is spoken, and which row it has."""
    await house.hear("one", is_reply_to_us=True, is_voice=True)
    await house.hear("two", is_mention=True, due=ReplyDue.with_next, is_old_news=True)
    await house.hear("three", is_dm=True, guild_id=None)
    await house.intake.wait_until_idle()
    keys = ("text", "is_mention", "is_lull_endpoint", "is_private", "is_old_news", "has_more", "history_id")

    assert sorted(tuple(heard[key] for key in keys) for heard in house.monitor.heard) == [
        ("one", True, True, False, False, False, 1),
        ("three", False, False, True, False, False, 3),
        ("two", True, False, False, True, True, 2),
    ]
    assert house.queue.places == [(HERE, GUILD, True), (HERE, GUILD, False), (HERE, None, False)]
    assert (house.interrupted, house.turns_told) == (["one", "two", "three"], 3)


@pytest.mark.parametrize("occasion", [{"is_past": True}, {"due": ReplyDue.never}])
async def test_what_is_no_occasion_is_stored_and_nothing_else(house: House, occasion: dict[str, Any]) -> None:
    """Nobody is interrupted, nobody is told of its length, no answer is owed."""
    place = HereOnce()
    result = await house.hear("wren " + "x" * 40_000, place=place, mark=TurnMark.belated, **occasion)
    (turn,) = house.history.database.read("SELECT mark FROM turns")

    assert (result, turn) == (IntakeResult.heard_before, ("belated",))
    assert (house.monitor.heard, house.interrupted, house.turns_told) == ([], [], 1)
    assert bool(place.notices) is ("due" in occasion)
    assert len(house.owed()) == int("due" in occasion)


@pytest.mark.parametrize(("chars", "is_told"), [(5, False), (32_000, False), (32_001, True)])
async def test_who_writes_more_than_the_model_is_shown_is_told_so(house: House, chars: int, is_told: bool) -> None:
    """All of it is stored."""
    place = Here()
    await house.hear("x" * chars, place=place)
    (turn,) = house.history.recent(familiar_id=WREN, channel_id=HERE, limit=9)

    assert (len(turn.content), bool(place.notices)) == (chars, is_told)


async def test_a_bot_that_nobody_named_is_not_heard(house: House) -> None:
    """Nothing of it is stored."""
    assert await house.hear("wren?", is_bot=True) is IntakeResult.not_a_person
    assert (house.history.count(familiar_id=WREN), house.monitor.heard) == (0, [])


async def test_an_answer_is_owed_where_we_are_addressed_and_the_place_can_keep_it(house: House) -> None:
    """Beyond doubt or by name; once a message."""
    once = HereOnce()
    for number, (text, more) in enumerate(
        [
            ("hello", {}),
            ("wren?", {}),
            ("hi", {"is_mention": True}),
            ("hi", {"is_reply_to_us": True}),
            ("hi", {"wants_answer": True}),
        ]
    ):
        await house.hear(text, place=once, message_id=str(number), **more)
        assert await house.hear(text, place=once, message_id=str(number), **more) is IntakeResult.seen_before
    await house.hear("wren?", place=Here())
    await house.intake.wait_until_idle()

    assert [is_for_us for _, is_for_us in house.owed()] == [0, 1, 1, 1]
    assert len(house.monitor.heard) == 6


async def test_a_place_that_keeps_no_questions_owes_none(house: House) -> None:
    """It says so itself: a group at home, where one sees who has not spoken."""

    class Keeping(Here):
        features = PlaceFeatures(limit=100, keeps_owed=True)

    class NotKeeping(Here):
        features = PlaceFeatures(limit=100, keeps_owed=False)

    await house.hear("wren?", place=NotKeeping())
    assert house.owed() == []
    await house.hear("wren?", place=Keeping())
    assert len(house.owed()) == 1


async def test_what_is_refused_is_stored_settled_and_not_heard(tmp_path: Path) -> None:
    """The limits know who is asked for and that the owner's own doors always are; who may speak is charged."""
    limits = NotingLimits(BO)
    house = House(tmp_path, limits=limits)
    you = Author("terminal", "1", None, "You")
    results = [
        await house.hear("wren?", author=BO, place=HereOnce()),
        await house.hear("hello", author=ADA, place=HereOnce()),
        await house.hear("hello", author=you, guild_id=None, place=Here(None)),
    ]
    await house.intake.wait_until_idle()
    await house.intake.aclose()

    assert results == [IntakeResult.not_answered, IntakeResult.considering, IntakeResult.answering]
    assert limits.asked == [(BO, True), (ADA, False), (you, True)]
    assert (limits.charged, house.owed(), house.interrupted) == ([ADA], [], ["hello", "hello"])
    house.history.close()


async def test_a_bot_that_was_answered_enough_is_owed_nothing(tmp_path: Path) -> None:
    """It spoke to us, so an answer was owed for a moment; the next start must not give it."""
    bot = Author("discord", "77", "robot", "Robot")
    seen = []
    for limit, replies in ((1, 0), (2, 1), (2, 2), (0, 0)):
        house = House(tmp_path / f"{limit} {replies}", bots=frozenset({bot.canonical_key}), bot_reply_limit=limit)
        for _ in range(replies):
            house.history.append_turn(familiar_id=WREN, channel_id=HERE, role="assistant", content="yes?")
        await house.hear("wren?", author=bot, is_bot=True, place=HereOnce())
        await house.intake.wait_until_idle()
        seen.append((len(house.owed()), len(house.monitor.heard)))
        await house.intake.aclose()
        house.history.close()

    assert seen == [(1, 1), (1, 1), (0, 0), (0, 0)]


async def test_what_is_said_in_a_quiet_channel_is_owed_nothing(tmp_path: Path) -> None:
    """It is stored; neither now nor after a restart is it answered, and nobody is asked whether it may be."""
    quiet, limits = QuietChannels(tmp_path / "quiet.toml", ManualClock(NOW)), NotingLimits()
    quiet.set(HERE, NOW + timedelta(hours=1))
    house = House(tmp_path, quiet=quiet, limits=limits)
    result = await house.hear("wren?", is_mention=True, place=HereOnce())
    await house.intake.aclose()

    assert (result, house.owed(), house.monitor.heard, limits.asked) == (IntakeResult.not_answered, [], [], [])
    assert house.history.count(familiar_id=WREN) == 1
    house.history.close()


async def test_whose_direct_messages_are_heard_can_be_said_while_it_runs(house: House) -> None:
    """A platform reads it from the owner's settings when it connects."""
    assert await house.hear(is_dm=True, guild_id=None) is IntakeResult.answering
    house.intake.hear_dms_of("discord", "owner")

    assert await house.hear(is_dm=True, guild_id=None) is IntakeResult.not_subscribed


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"is_dm": True, "author": BO}, "`dms` under [discord] says whose direct messages are answered"),
        ({"is_mention": True}, "nobody asked it to listen here; /subscribe-text does"),
        ({}, None),
    ],
)
async def test_the_log_says_why_somebody_who_spoke_to_us_is_not_heard(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, more: dict[str, Any], why: str | None
) -> None:
    """By the setting that would change it; what others say to each other is no matter."""
    house = House(tmp_path, dms={})
    with caplog.at_level(logging.INFO):
        assert await house.hear(channel_id=99, **more) is IntakeResult.not_subscribed
    await house.intake.aclose()
    house.history.close()

    assert [vars(each)["why"] for each in caplog.records if each.message == "stays silent"] == ([why] if why else [])


@pytest.mark.parametrize("words", ["can't start new thread", "something else"])
async def test_only_want_of_memory_is_told_as_not_stored(
    house: House, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    """Any other failure is a fault of the program, and nobody hides it."""

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError(words)

    monkeypatch.setattr(HistoryStore, "append_if_new", fail)
    if "thread" in words:
        assert await house.hear() is IntakeResult.not_stored
    else:
        with pytest.raises(RuntimeError):
            await house.hear()


async def test_how_often_a_bot_was_answered_is_looked_up_a_hundred_turns_back(tmp_path: Path) -> None:
    """What bots say to each other in a busy channel is not read to its beginning."""
    bot = Author("discord", "77", "robot", "Robot")
    house = House(tmp_path, bots=frozenset({bot.canonical_key}), bot_reply_limit=1)
    house.history.append_turn(familiar_id=WREN, channel_id=HERE, role="assistant", content="yes?")
    heard = []
    for turns_since in (99, 0):
        with house.history.database.transaction():
            for _ in range(turns_since):
                house.history.append_turn(familiar_id=WREN, channel_id=HERE, role="user", content="beep", author=bot)
        heard.append(await house.hear("wren?", author=bot, is_bot=True))
    await house.intake.aclose()
    house.history.close()

    assert heard == [IntakeResult.not_answered, IntakeResult.considering]


async def test_a_channel_the_owner_calls_private_is_stored_as_hidden(tmp_path: Path) -> None:
    """Who reads a place is asked of those who know the owner's settings."""
    house = House(tmp_path, readers=PlaceReaders(private_channel_ids=[HERE]))
    await house.hear("hello")
    await house.intake.aclose()

    (turn,) = house.history.recent(familiar_id=WREN, channel_id=HERE, limit=9)
    assert turn.audience == hidden_channel("discord", HERE, GUILD)
    house.history.close()


async def test_a_name_that_cannot_be_kept_costs_nobody_an_answer(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk may be full: the message is heard all the same."""

    def refuse(*_: object) -> None:
        raise OSError("full")

    monkeypatch.setattr(ChannelLabels, "keep", refuse)

    assert await house.hear("hello") is IntakeResult.considering


async def test_a_place_may_take_a_moment_to_say_who_reads_it(house: House) -> None:
    """Discord looks at the people of a large server in another thread."""

    class SlowHere(Here):
        async def scene(self) -> Scene:
            await asyncio.to_thread(int)
            return LOUNGE

    await house.hear("hello", place=SlowHere())
    (turn,) = house.history.recent(familiar_id=WREN, channel_id=HERE, limit=9)
    assert turn.audience == whole_server("discord", GUILD)


async def test_waiting_for_the_intake_waits_for_what_is_being_heard(house: House) -> None:
    """A place that takes a moment keeps it from being idle."""
    reached, go = asyncio.Event(), asyncio.Event()

    class SlowHere(Here):
        async def scene(self) -> Scene:
            reached.set()
            await go.wait()
            return LOUNGE

    heard = asyncio.create_task(house.hear("hello", place=SlowHere()))
    await reached.wait()
    idle = asyncio.create_task(house.intake.wait_until_idle())
    for _ in range(9):
        await asyncio.sleep(0)
    assert not idle.done()
    go.set()
    await idle

    assert await heard is IntakeResult.considering
    assert len(house.monitor.heard) == 1


async def test_what_wants_an_answer_is_answered_at_once(house: House) -> None:
    """Nobody decides whether."""
    assert await house.hear("well?", wants_answer=True) is IntakeResult.answering
    assert [each["is_private"] for each in house.monitor.heard] == [True]


async def test_waiting_for_the_intake_waits_for_the_monitor(house: House) -> None:
    """What was heard is handed on to it."""
    await house.hear("hello")
    await house.intake.wait_until_idle()

    assert house.monitor.waits == 1


async def test_who_is_not_heard_leaves_nothing(house: House) -> None:
    """Neither a turn nor words that were kept before it."""
    changes: list[dict[str, Any]] = [{"author": PRIVATE}, {"channel_id": 99}, {}]
    for number, more in enumerate(changes):
        key = str(number)
        await house.intake.keep_speech(key, a_message("words"), cast(Any, Here()))
        assert house.speech() == [(1,)]
        result = await house.hear("words", speech=[key], **more)
        assert house.speech() == [(0,)]
    assert result is IntakeResult.considering
    assert house.history.count(familiar_id=WREN) == 1


@pytest.mark.parametrize(
    ("more", "kept"), [({}, 1), ({"author": PRIVATE}, 0), ({"channel_id": 99}, 0), ({"is_bot": True}, 0)]
)
async def test_speech_is_kept_of_those_who_are_heard(house: House, more: dict[str, Any], kept: int) -> None:
    """With everything its turn takes, so that a crash loses none."""
    await house.intake.keep_speech("k", a_message("said aloud", is_voice=True, **more), cast(Any, Here()))
    found: list[dict[str, Any]] = []
    house.history.database.write("UPDATE pending_speech SET pid = 0")
    PendingSpeechRows(house.history.database).recover(WREN, lambda **facts: found.append(facts))

    assert len(found) == kept
    for facts in found:
        assert (facts["channel_id"], facts["guild_id"], facts["author"], facts["content"]) == (
            HERE,
            GUILD,
            ADA,
            "said aloud",
        )
        assert (facts["timestamp"], facts["mode"], facts["audience"]) == (
            NOW,
            "text_conversation_rp",
            whole_server("discord", GUILD),
        )


async def test_speech_stays_kept_where_its_turn_could_not_be_stored(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next start stores it."""
    await house.intake.keep_speech("k", a_message("words"), cast(Any, Here()))

    def refuse(*_: object, **__: object) -> None:
        raise HistoryError("the disk is full")

    monkeypatch.setattr(HistoryStore, "append_if_new", refuse)
    assert await house.hear("words", speech=["k"]) is IntakeResult.not_stored
    assert house.speech() == [(1,)]


async def test_speech_that_cannot_be_kept_costs_nothing(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is stored when it is received."""

    def refuse(*_: object) -> None:
        raise HistoryError("full")

    monkeypatch.setattr("familiar_connect.history.pending_speech.PendingSpeechRows.add", refuse)
    await house.intake.keep_speech("k", a_message(), cast(Any, Here()))

    assert house.speech() == [(0,)]


async def test_the_audience_is_that_of_the_place_now_and_a_hidden_channel_takes_its_turns_along(house: House) -> None:
    """Noticed when somebody speaks there, or when the platform says so."""
    await house.hear("open")
    await house.hear("dm", is_dm=True, guild_id=None, channel_id=70, author=BO)
    await house.hear("hidden", place=Here(replace(LOUNGE, is_hidden=True)))
    first = [turn.audience for turn in house.history.turns_after(familiar_id=WREN, after_id=0)]
    await house.hear("open again")
    await house.intake.on_channel_hidden(HERE, platform="discord", guild_id=GUILD)
    last = house.history.channel_audience(familiar_id=WREN, channel_id=HERE)
    hidden = hidden_channel("discord", HERE, GUILD)

    assert first == [hidden, between([BO.canonical_key]), hidden]
    assert last == hidden


async def test_the_rules_of_a_server_say_nothing_about_a_direct_message(house: House) -> None:
    """It was said to the one it is with, whatever rules it came under."""
    await house.hear("psst", is_dm=True, guild_id=None, channel_id=70, said_under="r1", place=Here(None))
    await house.hear("hi", said_under="r1")

    (direct,) = house.history.recent(familiar_id=WREN, channel_id=70, limit=1)
    (shared,) = house.history.recent(familiar_id=WREN, channel_id=HERE, limit=1)
    assert direct.audience == between([ADA.canonical_key])
    assert shared.audience == hidden_channel("discord", HERE, GUILD, "r1")


async def test_who_reads_a_channel_is_kept_from_when_somebody_last_spoke_there(house: House) -> None:
    """A channel's own turns are told later by those readers, also where it cannot be looked at any more."""
    await house.hear("open")
    seen = [readers_last_known(house.history, WREN, HERE)]
    await house.hear("hidden", place=Here(replace(LOUNGE, is_hidden=True)))
    seen += [readers_last_known(house.history, WREN, channel_id) for channel_id in (HERE, 70)]

    assert [each and (each.audience, each.server_id) for each in seen] == [
        (whole_server("discord", GUILD), GUILD),
        (hidden_channel("discord", HERE, GUILD), GUILD),
        None,
    ]


async def test_the_owners_direct_message_is_the_owners(house: House) -> None:
    """Whom a platform takes for the owner, the intake does too."""
    with house.owner.connect(is_owner=lambda each: each == ADA):
        await house.hear("dm", is_dm=True, guild_id=None, place=Here(None))

    assert house.history.channel_audience(familiar_id=WREN, channel_id=HERE) == OWNER


async def test_a_channel_is_called_what_its_platform_calls_it(house: House) -> None:
    """A direct message without a name is called after its writer; what is named is written down, once it is news."""
    await house.hear(place=Here(None))
    dm = Scene(channel=ChannelContext("70", ChannelKind.dm), is_dm=True)
    await house.hear()
    await house.hear(is_dm=True, guild_id=None, channel_id=70, place=Here(dm))
    await house.hear(
        is_dm=True, guild_id=None, channel_id=71, place=Here(replace(dm, channel=ChannelContext("us", ChannelKind.dm)))
    )
    thread = Scene(channel=ChannelContext("plans", ChannelKind.text, "lounge"), server_name=None)
    await house.hear(channel_id=72, parent_channel_id=HERE, place=Here(thread))
    contexts = [house.labels.channel_context(each) for each in (HERE, 70, 71, 72)]

    assert [each and (each.name, each.kind, each.parent_name) for each in contexts] == [
        ("lounge", ChannelKind.text, None),
        ("Ada", ChannelKind.dm, None),
        ("us", ChannelKind.dm, None),
        ("plans", ChannelKind.text, "lounge"),
    ]
    assert house.labels.read_channels() == {HERE: KeptChannel("#lounge", "Tea"), 72: KeptChannel("#plans", "")}


async def test_a_place_that_cannot_say_what_it_is_leaves_its_name_and_its_server_as_they_were(house: House) -> None:
    """A platform that does not answer, or has no channel to tell of, takes nothing from what was written down."""
    await house.hear()
    await house.hear(place=Here(None))
    await house.hear(place=Here(Scene(server_id=GUILD, channel=None)))

    assert house.labels.read_channels() == {HERE: KeptChannel("#lounge", "Tea")}


async def test_a_thread_has_its_channels_settings_and_broken_ones_cost_nothing(house: House, tmp_path: Path) -> None:
    """It is heard all the same."""
    (tmp_path / f"{HERE}.toml").write_text('mode = "full_rp"\n')
    (tmp_path / "73.toml").write_text("mode = [\n")
    await house.hear(channel_id=72, parent_channel_id=HERE)
    await house.hear(channel_id=73, parent_channel_id=HERE)

    assert house.history.database.read("SELECT mode FROM turns ORDER BY id") == [("full_rp",), (None,)]


async def test_what_reads_otherwise_now_reads_so_wherever_it_waits(house: House) -> None:
    """In the monitor and in the queue."""
    house.intake.revise(HERE, 5, "new words")

    assert house.monitor.revised == house.queue.revised == [(HERE, 5, "new words")]


async def test_closing_closes_the_monitor(house: House) -> None:
    """Nothing more is looked at."""
    await house.intake.aclose()

    assert house.monitor.is_closed


async def owe(house: House, tmp_path: Path, *messages: dict[str, Any]) -> House:
    """Hear *messages*, die before any is answered, and start again."""
    for more in messages:
        await house.hear(place=HereOnce(), **more)
    await house.intake.wait_until_idle()
    house.history.close()
    return House(tmp_path)


@pytest.mark.parametrize(("age_s", "answered"), [(900, 1), (901, 0)])
async def test_a_question_of_an_earlier_run_is_answered_while_it_is_fresh(
    house: House, tmp_path: Path, age_s: int, answered: int
) -> None:
    """To the second; later it is settled."""
    again = await owe(house, tmp_path, {"text": "well?", "is_mention": True})
    now = NOW + timedelta(seconds=age_s)
    count = await again.intake.answer_owed(HERE, cast(Any, HereOnce()), within_s=900, now=now)
    await again.intake.wait_until_idle()
    heard = [
        (each["text"], each["is_mention"], each["is_old_news"], each["history_id"]) for each in again.monitor.heard
    ]

    assert (count, heard) == (answered, [("well?", True, True, 1)] * answered)
    assert len(again.owed()) == answered
    again.history.close()


@dataclass
class TellingPlace(HereOnce):
    """One where who asked can be told something, or not now, or never."""

    fails: DeliveryError | None = None
    told: list[tuple[str, str]] = field(default_factory=list)

    features = replace(HereOnce.features, tells_asker=True)

    async def tell_asker(self, asked: InboundMessage, text: str) -> None:
        if self.fails is not None:
            raise self.fails
        self.told.append((asked.text, text))


@pytest.mark.parametrize(
    ("fails", "told", "owed"),
    [
        (None, [("well?", TOO_LATE)], 0),
        (DeliveryError("not now", retryable=True), [], 1),
        (DeliveryError("never", retryable=False), [], 0),
    ],
)
async def test_who_asked_too_long_ago_is_told_so_once(
    house: House, tmp_path: Path, fails: DeliveryError | None, told: list[tuple[str, str]], owed: int
) -> None:
    """Where that cannot be said now, the next start tries again; where it never can, nobody waits for it."""
    again = await owe(house, tmp_path, {"text": "well?", "is_mention": True})
    place = TellingPlace(fails=fails)
    count = await again.intake.answer_owed(HERE, cast(Any, place), within_s=900, now=NOW + timedelta(hours=1))
    await again.intake.wait_until_idle()

    assert (count, place.told, len(again.owed()), again.monitor.heard) == (0, told, owed, [])
    again.history.close()


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"text": "wren?"}, ["wren?"]),
        ({"text": "hi", "is_mention": True}, ["hi"]),
        ({"text": "chatter"}, []),
        ({"text": "wren?", "is_past": True}, []),
    ],
)
async def test_who_spoke_to_us_is_told_that_it_was_not_stored_and_sees_no_path(
    house: House, monkeypatch: pytest.MonkeyPatch, more: dict[str, Any], told: list[str]
) -> None:
    """A room is not told of others' chatter; a place without a way to tell one person gets the whole reason."""

    def refuse(*_: object, **__: object) -> None:
        raise HistoryError("/srv/ember/history.db is full")

    monkeypatch.setattr(HistoryStore, "append_if_new", refuse)
    place, failing, plain = TellingPlace(), TellingPlace(fails=DeliveryError("no", retryable=False)), Here()
    for each in (place, failing, plain):
        assert await house.hear(place=each, **more) is IntakeResult.not_stored

    assert [text for text, _ in place.told] == told
    assert all("/srv" not in sentence for _, sentence in place.told)
    assert place.notices == failing.notices == []
    assert ["/srv/ember/history.db is full" in notice for notice in plain.notices] == [True]


async def test_an_intake_without_labels_or_listeners_hears(tmp_path: Path) -> None:
    """Both are extras."""
    house = House(tmp_path)
    bare = Intake(
        familiar_id=WREN,
        history=house.history,
        channels=house.channels,
        admission=house.intake._admission,
        queue=cast(Any, house.queue),
        monitor=cast(Any, house.monitor),
        interrupt=house._interrupt,
    )
    assert await bare.receive(a_message(), cast(Any, Here())) is IntakeResult.considering
    await bare.aclose()
    await house.intake.aclose()
    house.history.close()


async def test_questions_nobody_may_answer_any_more_are_settled(house: House, tmp_path: Path) -> None:
    """Deleted ones, and those of people who want no part in it since; the rest is answered."""
    again = await owe(
        house,
        tmp_path,
        {"text": DELETED, "is_mention": True},
        {"text": "gone", "is_mention": True},
        {"text": "wren, and me?", "author": BO},
    )
    again.history.database.write("UPDATE turns SET author_user_id = ? WHERE id = 2", (PRIVATE.user_id,))
    count = await again.intake.answer_owed(HERE, cast(Any, HereOnce()), within_s=900, now=NOW)
    await again.intake.wait_until_idle()

    assert (count, [(each["text"], each["is_mention"]) for each in again.monitor.heard]) == (
        1,
        [("wren, and me?", False)],
    )
    assert again.owed() == [(3, 0)]
    assert await again.intake.answer_owed(HERE, cast(Any, HereOnce()), within_s=900, now=NOW) == 0
    again.history.close()


@pytest.mark.parametrize(
    ("dms", "count", "heard", "owed"), [("everyone", 1, [(True, False)], [(1, 1)]), ("off", 0, [], [])]
)
async def test_a_question_of_a_direct_conversation_is_answered_as_one(
    house: House, tmp_path: Path, dms: str, count: int, heard: list[tuple[bool, bool]], owed: list[tuple[int, int]]
) -> None:
    """Without a mention, and only while its person may write to it."""
    again = await owe(house, tmp_path, {"text": "well?", "is_dm": True, "guild_id": None})
    again.intake.hear_dms_of("discord", dms)
    answered = await again.intake.answer_owed(HERE, cast(Any, HereOnce()), within_s=900, now=NOW, is_dm=True)
    await again.intake.wait_until_idle()

    assert (answered, again.owed()) == (count, owed)
    assert [(each["is_private"], each["is_mention"]) for each in again.monitor.heard] == heard
    again.history.close()


async def test_a_question_whose_writer_is_not_known_any_more_is_settled(house: House, tmp_path: Path) -> None:
    """Nobody is there to be answered; who asked after them is."""
    again = await owe(house, tmp_path, {"text": "gone?", "is_mention": True}, {"text": "wren, me?", "author": BO})
    again.history.database.write(
        "UPDATE turns SET author_platform = NULL, author_user_id = NULL, author_username = NULL WHERE id = 1"
    )
    count = await again.intake.answer_owed(HERE, cast(Any, HereOnce()), within_s=900, now=NOW)
    await again.intake.wait_until_idle()

    assert (count, [each["text"] for each in again.monitor.heard], again.owed()) == (1, ["wren, me?"], [(2, 0)])
    again.history.close()


@pytest.mark.parametrize(
    ("platform", "owed"), [("terminal", [(2, 1)]), ("web", [(2, 1)]), ("discord", [(1, 1), (2, 1)])]
)
async def test_who_goes_on_talking_in_their_own_chat_has_let_the_earlier_question_go(
    house: House, tmp_path: Path, platform: str, owed: list[tuple[int, int]]
) -> None:
    """In a channel of many it stays open, whoever speaks next."""
    person = Author(platform, "1", "ada", "Ada")
    again = await owe(house, tmp_path, {"text": "well?", "is_mention": True, "author": person})
    await again.hear("another thing", is_mention=True, author=person, place=HereOnce())
    await again.intake.wait_until_idle()

    assert again.owed() == owed
    again.history.close()


async def test_a_question_that_comes_a_second_time_still_waits(house: House, tmp_path: Path) -> None:
    """Sent again by a page that saw no answer: its person has not gone on talking."""
    person = Author("web", "1", "ada", "Ada")
    question: dict[str, Any] = {"text": "well?", "is_mention": True, "author": person, "message_id": "7"}
    again = await owe(house, tmp_path, question)

    assert await again.hear(place=HereOnce(), **question) is IntakeResult.seen_before
    assert again.owed() == [(1, 1)]
    again.history.close()


async def test_what_scripts_make_of_a_message_is_stored_beside_its_words(tmp_path: Path) -> None:
    """The words stay as they were said; without scripts there is no other view."""
    for folder, view in (("one", lambda message: message.text.upper()), ("two", None)):
        (tmp_path / folder).mkdir()
        house = House(tmp_path / folder, view=view)
        await house.hear("quietly")
        turn = house.history.turn_by_id(familiar_id=WREN, turn_id=1)

        assert turn is not None
        assert (turn.content, turn.view) == ("quietly", "QUIETLY" if view else None)
        await house.intake.aclose()
        house.history.close()
