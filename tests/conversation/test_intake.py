"""The one way in."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.audience import AudienceKind
from familiar_connect.chat.scene import ChannelContext, ChannelKind, Scene
from familiar_connect.config import CharacterConfig
from familiar_connect.config.character import change_section
from familiar_connect.conversation import intake as intake_module
from familiar_connect.conversation.admission import Admission
from familiar_connect.conversation.intake import LONG_MESSAGE_CHARS, IntakeResult
from familiar_connect.conversation.place_readers import OwnerContact
from familiar_connect.errors import HistoryError
from familiar_connect.identity import EVERYTHING_ALLOWED, Author, PrivacyLevel
from familiar_connect.llm.types import Message
from familiar_connect.subscriptions import SubscriptionKind
from tests.fakes.monitored_channel import NO, YES, ScriptedJudge
from tests.fakes.scripted_familiar import ANA, BEN, CHANNEL, scripted_familiar, with_dms
from tests.fakes.waiting import until


async def test_a_message_is_stored_before_any_model_is_asked(tmp_path: Path) -> None:
    """The model, when it is called, finds the message in the history."""
    seen: list[list[tuple[str, str]]] = []

    async with scripted_familiar(tmp_path) as house:

        def look(messages: list[Message]) -> str:
            seen.append(house.roles_and_texts())
            return "Hello."

        house.model.replies.clear()
        house.model.replies.append(look)
        assert await house.talk("are you there?") is IntakeResult.considering

    assert seen == [[("user", "are you there?")]]


async def test_the_stored_row_says_who_where_and_in_which_mode(tmp_path: Path) -> None:
    """Author, guild, mode and the platform's own id."""
    async with scripted_familiar(tmp_path) as house:
        await house.talk("hi", message_id="m1", guild_id=5)
        heard = house.history()[0]

    assert (heard.author, heard.guild_id, heard.mode, heard.platform_message_id) == (
        ANA,
        5,
        "text_conversation_rp",
        "m1",
    )


async def test_a_channel_that_cannot_be_looked_at_once_hides_nothing_that_was_said_before(tmp_path: Path) -> None:
    """What comes in then is for the smallest circle. A machine that slept for a second would hide years of talk."""
    async with scripted_familiar(tmp_path) as house:
        shown: list[Scene | None] = [None]

        async def scene() -> Scene:
            if shown[0] is None:
                raise ConnectionError
            return shown[0]

        house.place.scene = scene  # type: ignore[method-assign]
        database = house.familiar.history_store.database
        for text, shown[0] in (("open", open_channel()), ("who knows", None), ("open again", open_channel())):
            await house.receive(text, guild_id=5, is_mention=False)
            if text == "open":
                database.write(
                    "INSERT INTO short_term_notes (familiar_id, persona, channel_id, owner, lines, people, updated_at)"
                    " VALUES (?, '', ?, '', '', '', 0)",
                    (house.familiar.id, CHANNEL),
                )
        before = [turn.audience.kind for turn in house.history()]
        notes = [len(database.read("SELECT 1 FROM short_term_notes"))]
        shown[0] = hidden_one()
        await house.receive("hidden by now", guild_id=5, is_mention=False)
        after = [turn.audience.kind for turn in house.history()]
        notes.append(len(database.read("SELECT 1 FROM short_term_notes")))

    assert before == [AudienceKind.SERVER, AudienceKind.CHANNEL, AudienceKind.SERVER]
    assert after == [AudienceKind.CHANNEL] * 4
    assert notes == [1, 0]


def open_channel() -> Scene:
    return Scene(channel=ChannelContext("tea", ChannelKind.text), server_id=5, server_name="Tea", me=BEN)


def hidden_one() -> Scene:
    return replace(open_channel(), is_hidden=True)


async def test_bots_are_not_heard(tmp_path: Path) -> None:
    """Two bots would talk for ever."""
    async with scripted_familiar(tmp_path) as house:
        assert await house.talk("beep", is_bot=True) is IntakeResult.not_a_person
        assert house.roles_and_texts() == []


def hearing_bots(config: CharacterConfig) -> CharacterConfig:
    return change_section(config, "discord", hears_bots=[BEN.user_id], bot_reply_limit=1)


async def test_a_bot_that_is_to_be_heard_is_stored_and_answered_so_often_at_most(tmp_path: Path) -> None:
    """Until a person speaks again; every other bot, and our own account, stays unheard."""
    async with scripted_familiar(tmp_path, ["One.", "Two."], settings=hearing_bots) as house:
        assert await house.talk("beep", author=BEN, is_bot=True) is IntakeResult.considering
        assert await house.talk("boop", author=BEN, is_bot=True) is IntakeResult.not_answered
        assert await house.talk("blip", author=ANA, is_bot=True) is IntakeResult.not_a_person
        assert await house.talk("us", author=BEN, is_bot=True, is_self=True) is IntakeResult.not_a_person
        assert await house.talk("hello") is IntakeResult.considering
        assert await house.talk("beep", author=BEN, is_bot=True) is IntakeResult.not_answered

        assert [text for _, text in house.roles_and_texts()] == ["beep", "One.", "boop", "hello", "Two.", "beep"]


@given(
    said=st.lists(st.sampled_from(("person", "bot", "us")), max_size=40),
    limit=st.integers(0, 4),
)
def test_two_who_answer_each_other_stop(said: list[str], limit: int) -> None:
    """Whatever was said before: between two messages of people there are no more replies than the limit."""
    bots = frozenset({BEN.canonical_key})
    admission = Admission(
        subscriptions=cast(Any, None),
        privacy=EVERYTHING_ALLOWED,
        owner=OwnerContact(),
        bots=bots,
        bot_reply_limit=limit,
    )
    turns = [
        SimpleNamespace(role="assistant" if who == "us" else "user", author={"person": ANA, "bot": BEN}.get(who))
        for who in said
    ]
    since = said[len(said) - said[::-1].index("person") :] if "person" in said else said

    assert admission.has_answered_bots_enough(cast(Any, turns)) == (since.count("us") >= limit)


async def test_an_unsubscribed_channel_is_not_heard(tmp_path: Path) -> None:
    """A text subscription is none for voice."""
    async with scripted_familiar(tmp_path, subscribed=False) as house:
        assert await house.talk("hi") is IntakeResult.not_subscribed
        house.familiar.subscriptions.add(channel_id=7, kind=SubscriptionKind.text, guild_id=None)
        assert await house.talk("hi", is_voice=True) is IntakeResult.not_subscribed
        assert house.roles_and_texts() == []
    assert house.model.calls == []


@pytest.mark.parametrize("platform", ["terminal", "web"])
async def test_the_operators_own_doors_need_no_subscription(tmp_path: Path, platform: str) -> None:
    """Whoever is there was let in."""
    async with scripted_familiar(tmp_path, subscribed=False) as house:
        assert await house.talk("hi", author=Author(platform, "1", None, "Sam")) is IntakeResult.answering


async def test_privacy_comes_before_everything_else(tmp_path: Path) -> None:
    """Not even an unsubscribed channel is looked up for someone who wants no part in it."""
    async with scripted_familiar(tmp_path, subscribed=False) as house:
        house.familiar.stores.privacy.set(ANA, PrivacyLevel.FULL)

        assert await house.talk("my secret") is IntakeResult.private
        assert house.roles_and_texts() == []


async def test_partial_privacy_is_heard(tmp_path: Path) -> None:
    """Only FULL means not at all."""
    async with scripted_familiar(tmp_path) as house:
        house.familiar.stores.privacy.set(ANA, PrivacyLevel.PARTIAL)

        assert await house.talk("hi") is IntakeResult.considering


async def test_a_message_that_cannot_be_stored_is_not_answered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its writer is told why."""

    def full(**facts: object) -> None:
        raise HistoryError("the disk is full")

    async with scripted_familiar(tmp_path) as house:
        monkeypatch.setattr(house.familiar.history_store, "append_if_new", full)
        assert await house.talk("hi") is IntakeResult.not_stored

    assert house.model.calls == []
    assert "the disk is full" in house.place.notices[0]


async def test_in_a_room_who_asked_what_cannot_be_stored_is_told_and_nobody_sees_a_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others who talk there are left alone."""
    words: list[str] = []

    def full(**facts: object) -> None:
        raise HistoryError("/srv/secret/history.db cannot grow because the disk is full")

    async def tell(asked: object, text: str) -> None:
        words.append(text)

    async with scripted_familiar(tmp_path) as house:
        monkeypatch.setattr(house.familiar.history_store, "append_if_new", full)
        monkeypatch.setattr(house.place, "tells_asker", True)
        monkeypatch.setattr(house.place, "tell_asker", tell)
        assert await house.talk("the tide is low", is_mention=False) is IntakeResult.not_stored
        assert words == []
        assert await house.talk(f"{house.familiar.intake.monitor.familiar_name}, is it?") is IntakeResult.not_stored

    assert words == ["I could not write that down, so I did not answer. Please ask again later."]
    assert house.place.notices == []


async def test_a_channel_whose_settings_are_broken_is_heard_all_the_same(tmp_path: Path) -> None:
    """What was said is stored; the place is told that something is wrong, and sees no path."""
    async with scripted_familiar(tmp_path) as house:
        (house.familiar.root / "channels" / "7.toml").write_text('mode = "opera"', encoding="utf-8")
        assert await house.talk("hi") is IntakeResult.considering
        assert house.roles_and_texts() == [("user", "hi")]

    assert house.place.notices == ["No reply: one of my settings files is wrong. `familiar doctor` says more."]
    assert house.model.calls == []


async def test_a_very_long_message_is_stored_whole_and_its_writer_told(tmp_path: Path) -> None:
    """The model is shown what it can take."""
    text = "abcdefghi " * (LONG_MESSAGE_CHARS // 5)
    async with scripted_familiar(tmp_path) as house:
        await house.talk(text)
        stored = house.history()[0].content

    assert stored == text
    assert f"{len(text):,} characters" in house.place.notices[0]
    assert sum(len(message.content) for message in house.model.calls[0]) < LONG_MESSAGE_CHARS * 1.5


async def test_a_newer_message_of_whoever_is_answered_ends_a_delivery_before_it_is_answered(tmp_path: Path) -> None:
    """Pieces already sent stay and are what is recorded."""
    async with scripted_familiar(tmp_path, ["one two three", "Yes, Ana?"], streams=True) as house:
        pause = house.model.pause_after(2)
        await house.receive("tell me")
        await pause.reached.wait()
        await house.receive("wait!")
        await house.wait_until_idle()
        told = house.roles_and_texts()

    said = told[2][1]
    assert said
    assert "three" not in said
    assert [role for role, _ in told] == ["user", "user", "assistant", "assistant"]
    assert told[-1] == ("assistant", "Yes, Ana?")


async def test_the_chatter_of_others_ends_no_answer(tmp_path: Path) -> None:
    """Ana hears all of it, and Ben is answered after."""
    async with scripted_familiar(tmp_path, ["one two three", "Yes, Ben?"], streams=True) as house:
        pause = house.model.pause_after(2)
        await house.receive("tell me")
        await pause.reached.wait()
        await house.receive("wait!", author=BEN)
        pause.resume.set()
        await house.wait_until_idle()
        told = house.roles_and_texts()

    assert [text for role, text in told if role == "assistant"] == ["one two three", "Yes, Ben?"]


async def test_receive_returns_once_stored_without_waiting_for_the_reply(tmp_path: Path) -> None:
    """Hearing is quick, whatever the model does."""
    async with scripted_familiar(tmp_path) as house:
        pause = house.model.pause_after(0)
        assert await asyncio.wait_for(house.receive("hi"), 100) is IntakeResult.considering
        assert house.roles_and_texts() == [("user", "hi")]
        pause.resume.set()
        await house.wait_until_idle()


@pytest.mark.parametrize(
    ("dms", "owner", "heard"),
    [
        ("off", ANA, IntakeResult.not_subscribed),
        ("owner", ANA, IntakeResult.answering),
        ("owner", BEN, IntakeResult.not_subscribed),
        ("everyone", BEN, IntakeResult.answering),
    ],
)
async def test_a_direct_message_needs_no_subscription_but_a_welcome(
    tmp_path: Path, dms: str, owner: Author, heard: IntakeResult
) -> None:
    """Nobody's, the operator's or everyone's; and whoever is heard is answered."""
    async with scripted_familiar(tmp_path, subscribed=False, settings=with_dms(dms)) as house:
        with house.familiar.owner.connect(is_owner=lambda author: author == owner):
            assert await house.talk("hi", is_dm=True, is_mention=False) is heard
        assert len(house.place.sent) == (heard is IntakeResult.answering)


async def test_a_message_among_many_is_looked_at_without_keeping_the_platform_waiting(tmp_path: Path) -> None:
    """Heard and stored at once, however long the decision takes."""
    async with scripted_familiar(tmp_path) as house:
        judge: Any = ScriptedJudge(YES)
        judge.held = asyncio.Event()
        house.familiar.llm_clients["interjection_decision"] = judge
        assert await asyncio.wait_for(house.receive("Ember?", is_mention=False), 100) is IntakeResult.considering
        assert house.roles_and_texts() == [("user", "Ember?")]
        judge.held.set()
        await house.wait_until_idle()

    assert house.place.sent == ["Hello, Ana."]


async def test_a_reply_to_our_words_is_for_us(tmp_path: Path) -> None:
    """As a mention is."""
    async with scripted_familiar(tmp_path) as house:
        await house.talk("indeed", is_mention=False, is_reply_to_us=True)

    assert house.place.sent == ["Hello, Ana."]


async def test_messages_that_come_at_once_are_stored_and_answered_in_the_order_they_came(tmp_path: Path) -> None:
    """A platform hands each on in a task of its own."""
    texts = [f"message {number}" for number in range(30)]
    async with scripted_familiar(tmp_path) as house:
        pause = house.model.pause_after(0)
        house.model.replies.append("And hello again.")
        await asyncio.gather(*(house.receive(text) for text in texts))
        pause.resume.set()
        await house.wait_until_idle()
        stored = [text for role, text in house.roles_and_texts() if role == "user"]

    assert stored == texts
    sent = [message.content for call in house.model.calls for message in call]
    asked = [text.rpartition("\n\n")[2].removeprefix("Ana: ") for text in sent]  # what was recalled may open it
    assert [text for text in asked if text in texts][-len(texts) :] == texts


async def test_what_wants_an_answer_has_one_whatever_the_side_model_thinks(tmp_path: Path) -> None:
    """Nobody is asked whether to; the same words without that wish are for the monitor to decide."""
    async with scripted_familiar(tmp_path) as house:
        judge: Any = ScriptedJudge(NO)
        house.familiar.llm_clients["interjection_decision"] = judge
        ordinary = await house.talk("[Twitch] Ember, an ad has begun", is_mention=False)
        wanted = await house.talk("[Twitch] Ember, ads have ended", is_mention=False, wants_answer=True)

        assert (ordinary, wanted) == (IntakeResult.considering, IntakeResult.answering)
        assert (len(judge.asked), house.place.sent) == (1, ["Hello, Ana."])


async def test_a_delivery_that_takes_long_to_end_keeps_nobody_from_being_heard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The piece on its way arrives later; what was said meanwhile is stored by then."""
    monkeypatch.setattr(intake_module, "INTERRUPT_WITHIN_S", 0.0)
    async with scripted_familiar(tmp_path, ["One.", "Two."]) as house:
        house.place.hold = asyncio.Event()
        await house.receive("first")
        await until(house.familiar.text_delivery_registry.get(CHANNEL).is_active)
        await house.receive("second")
        await house.receive("third")
        stored = house.roles_and_texts()
        house.place.hold.set()
        await house.wait_until_idle()

        assert stored == [("user", "first"), ("user", "second"), ("user", "third")]
        assert house.place.sent == ["One.", "Two."]
