"""Trouble on Discord: what fails costs itself only, nothing is lost, and nothing is said twice."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from familiar_connect.errors import DeliveryError, SetupError
from familiar_connect.extensions.discord.adapter import TELL_AGAIN_S, DiscordPlatform
from familiar_connect.extensions.discord.demo.faults import Fault
from familiar_connect.extensions.discord.demo.rights import SEND_MESSAGES
from familiar_connect.extensions.discord.demo.world import PUBLIC_THREAD
from familiar_connect.extensions.discord.errors import NO_CONTENT_INTENT, WRONG_TOKEN
from familiar_connect.extensions.platforms import make_host
from familiar_connect.support.clock import ManualClock
from tests.fakes.familiar_on_discord import FamiliarOnDiscord, familiar_on_discord
from tests.fakes.scripted_familiar import NOON
from tests.fakes.waiting import until


async def test_a_wrong_token_is_one_sentence(tmp_path: Path) -> None:
    """It says where to get a right one, and never what the wrong one was."""
    async with familiar_on_discord(tmp_path, arrive=False) as den:
        platform = DiscordPlatform(make_host(den.familiar, "discord"), token="sesame", api_url=den.server.api_url)
        with pytest.raises(SetupError) as raised:
            await platform.run()

        assert str(raised.value) == WRONG_TOKEN
        assert "sesame" not in str(raised.value)


async def test_a_token_revoked_while_we_are_on_is_one_sentence(tmp_path: Path) -> None:
    """Discord closes the connection with a code of its own."""
    async with familiar_on_discord(tmp_path) as den:
        assert den.running is not None
        await den.server.gateway.drop(4004)
        with pytest.raises(SetupError) as raised:
            await den.running
        den.running = None

        assert str(raised.value) == WRONG_TOKEN


async def test_a_missing_intent_says_where_to_switch_it_on(tmp_path: Path) -> None:
    """Before anything is connected."""
    async with familiar_on_discord(tmp_path, arrive=False) as den:
        den.server.gateway.flags = 0
        with pytest.raises(SetupError) as raised:
            await den.connect()
        den.running = None

        assert str(raised.value) == NO_CONTENT_INTENT
        assert den.server.facts_of("gateway:2") == []


async def test_intents_that_are_nice_to_have_are_done_without(tmp_path: Path) -> None:
    """Neither members nor presence: people are talked with all the same."""
    async with familiar_on_discord(tmp_path, arrive=False) as den:
        den.server.gateway.flags = 1 << 18
        await den.connect()
        await den.mention("hello")

        assert await den.server.until_replied(den.room) == ["Hello, Ada."]


async def test_a_rate_limit_delays_and_loses_nothing(tmp_path: Path) -> None:
    """The answer goes out once."""
    async with familiar_on_discord(tmp_path) as den:
        den.server.faults.add_rate_limit("POST", f"/channels/{den.room.id}/messages", times=2)
        await den.mention("hello")
        await den.server.until_replied(den.room)
        await den.wait_until_idle()

        assert den.server.replies_in(den.room) == ["Hello, Ada."]
        assert den.roles_and_texts()[-1] == ("assistant", "Hello, Ada.")


async def test_an_answer_that_got_lost_is_not_said_twice(tmp_path: Path) -> None:
    """Discord took the message and answered 500; the next try is recognised as the same message."""
    async with familiar_on_discord(tmp_path) as den:
        path = f"/channels/{den.room.id}/messages"
        den.server.faults.add(Fault("POST", path, status=500, after_effect=True))
        await den.mention("hello")
        await den.server.until_replied(den.room)
        await den.wait_until_idle()

        assert den.server.replies_in(den.room) == ["Hello, Ada."]
        assert den.roles_and_texts()[-1] == ("assistant", "Hello, Ada.")


async def test_a_dropped_connection_is_resumed_without_loss(tmp_path: Path) -> None:
    """What was said meanwhile is heard once, in order."""
    async with familiar_on_discord(tmp_path, lambda messages: "Yes?") as den:
        await den.server.post(den.room, den.ada, "before")
        await den.wait_stored("before")
        await den.server.gateway.drop()
        await den.server.post(den.room, den.ada, "meanwhile")
        await den.server.until(lambda: den.server.facts_of("gateway:6"))
        await den.server.post(den.room, den.ada, "after")
        await den.wait_stored("after")

        assert [words for role, words in den.roles_and_texts() if role == "user"] == ["before", "meanwhile", "after"]


async def test_a_forgotten_session_begins_anew_and_looks_back(tmp_path: Path) -> None:
    """Nothing is replayed, so what was missed is looked up, before anything newer."""
    async with familiar_on_discord(tmp_path, lambda messages: "Yes?") as den:
        await den.server.post(den.room, den.ada, "before")
        await den.wait_stored("before")
        den.server.gateway.forget()
        for number in range(3):
            den.server.world.message(den.room, den.ada, f"missed {number}")
        await den.server.gateway.drop()
        await den.server.until(lambda: len(den.server.facts_of("gateway:2")) == 2)
        await den.server.until(lambda: den.server.gateway.sessions)
        await den.server.post(den.room, den.ada, "after")
        await den.wait_stored("after")

        assert [words for role, words in den.roles_and_texts() if role == "user"] == [
            "before",
            "missed 0",
            "missed 1",
            "missed 2",
            "after",
        ]


async def test_after_a_restart_the_missed_is_heard_and_nothing_is_answered_twice(tmp_path: Path) -> None:
    """The program was away; what it answered before stays answered."""
    async with familiar_on_discord(tmp_path, lambda messages: "Yes?") as den:
        await den.mention("first")
        await den.server.until_replied(den.room)
        await den.wait_until_idle()
        await den.disconnect()
        await den.mention("second")
        await den.connect()
        await den.server.until_replied(den.room, 2)
        await den.wait_until_idle()

        assert den.roles_and_texts() == [
            ("user", "first"),
            ("assistant", "Yes?"),
            ("user", "second"),
            ("assistant", "Yes?"),
        ]
        assert den.server.replies_in(den.room) == ["Yes?", "Yes?"]


async def test_what_was_missed_is_no_reason_to_speak_up_again_and_again(tmp_path: Path) -> None:
    """Sixty messages between others make it none the more talkative; who calls it is answered."""
    async with familiar_on_discord(tmp_path, lambda messages: "Yes?") as den:
        await den.server.post(den.room, den.ada, "before")
        await den.wait_stored("before")
        await den.disconnect()
        for number in range(60):
            await den.server.post(den.room, den.ben, f"missed {number}")
        await den.mention("are you there?")
        await den.connect()
        await den.server.until_replied(den.room)
        await den.wait_until_idle()

        assert den.server.replies_in(den.room) == ["Yes?"]
        assert len(den.model.calls) == 1


async def test_a_direct_message_written_while_we_were_away_is_heard(tmp_path: Path) -> None:
    """From those we have talked with before."""
    async with familiar_on_discord(tmp_path, lambda messages: "Yes?") as den:
        owner = den.server.world.owner
        room = den.server.world.direct_room(owner)
        await den.server.post(room, owner, "first")
        await den.server.until_replied(room)
        await den.wait_until_idle(room)
        await den.disconnect()
        await den.server.post(room, owner, "second")
        await den.connect()
        await den.server.until_replied(room, 2)
        await den.wait_until_idle(room)

        assert [words for role, words in den.roles_and_texts(room) if role == "user"] == ["first", "second"]


async def test_a_connection_cut_again_and_again_loses_nothing(tmp_path: Path) -> None:
    """Every message is heard once, in order."""
    async with familiar_on_discord(tmp_path, lambda messages: "Yes?") as den:
        for cut in range(5):
            await den.server.post(den.room, den.ada, f"before cut {cut}")
            await den.server.gateway.drop()
            await den.server.post(den.room, den.ada, f"after cut {cut}")
            await den.server.until(lambda cut=cut: len(den.server.facts_of("gateway:6")) > cut)  # type: ignore[misc]
        await den.wait_stored("after cut 4")

        assert [words for role, words in den.roles_and_texts() if role == "user"] == [
            f"{when} cut {cut}" for cut in range(5) for when in ("before", "after")
        ]


async def test_a_reply_outlives_a_crash_of_the_platform(tmp_path: Path) -> None:
    """It goes out once the platform is there again, and once only."""
    async with familiar_on_discord(tmp_path) as den:
        thinking = den.model.pause_after(0)
        await den.mention("hello")
        await thinking.reached.wait()
        await den.disconnect()
        await den.connect()
        thinking.resume.set()
        await den.server.until_replied(den.room)
        await den.wait_until_idle()

        assert den.server.replies_in(den.room) == ["Hello, Ada."]
        assert den.roles_and_texts() == [("user", "hello"), ("assistant", "Hello, Ada.")]


async def test_a_message_told_twice_is_answered_once(tmp_path: Path) -> None:
    """By its id."""
    async with familiar_on_discord(tmp_path) as den:
        said = await den.mention("hello")
        await den.server.gateway.dispatch("MESSAGE_CREATE", den.server.world.event(den.room, said))
        await den.server.post(den.room, den.ada, "anything else")
        await den.wait_stored("anything else")
        await den.server.until_replied(den.room)
        await den.wait_until_idle()

        assert [words for role, words in den.roles_and_texts() if role == "user"] == ["hello", "anything else"]


@pytest.mark.parametrize(
    ("event", "data"),
    [
        ("MESSAGE_CREATE", {"id": "not a number"}),
        ("MESSAGE_CREATE", {}),
        ("GUILD_CREATE", {"id": None}),
        ("INTERACTION_CREATE", {"type": 2}),
        ("MESSAGE_REACTION_ADD", {"emoji": None}),
        ("SOMETHING_NEW", {"anything": [1, 2, 3]}),
    ],
)
async def test_an_event_nobody_can_read_costs_itself_only(
    tmp_path: Path, event: str, data: dict[str, object], caplog: pytest.LogCaptureFixture
) -> None:
    """The connection stays, and the next message is answered."""
    caplog.set_level(logging.WARNING)
    async with familiar_on_discord(tmp_path) as den:
        await den.server.gateway.dispatch(event, data)
        await den.mention("hello")

        assert await den.server.until_replied(den.room) == ["Hello, Ada."]
        assert len(den.server.facts_of("gateway:2")) == 1


async def test_bytes_that_are_no_event_end_the_run_with_an_error(tmp_path: Path) -> None:
    """Whoever runs the platform starts it again; a new run hears what came meanwhile."""
    async with familiar_on_discord(tmp_path, lambda messages: "Yes?") as den:
        await den.server.post(den.room, den.ada, "before")
        await den.wait_stored("before")
        await den.server.gateway.send_raw("{this is not valid JSON")
        assert den.running is not None
        with pytest.raises(ValueError, match="Expecting"):
            await den.running
        await den.mention("hello?")
        await den.connect()

        assert await den.server.until_replied(den.room) == ["Yes?"]


async def test_a_subscribed_channel_that_is_gone_stops_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """One warning names it."""
    caplog.set_level(logging.WARNING)
    async with familiar_on_discord(tmp_path, arrive=False) as den:
        gone = den.server.world.room(den.guild, "gone")
        den.subscribe(gone)
        den.familiar.history_store.append_turn(
            familiar_id=den.familiar.id, channel_id=gone.id, role="user", content="x", platform_message_id="1"
        )
        del den.guild.rooms[gone.id]
        await den.connect()
        await den.mention("hello")

        assert await den.server.until_replied(den.room) == ["Hello, Ada."]
        await until(lambda: "a subscribed channel cannot be read" in caplog.text)


async def test_keys_and_words_stay_out_of_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """At INFO and above neither the token nor what people say appears."""
    caplog.set_level(logging.INFO)
    async with familiar_on_discord(tmp_path) as den:
        den.server.faults.add_rate_limit("POST", f"/channels/{den.room.id}/messages")
        await den.mention("my secret is 4711")
        await den.server.until_replied(den.room)
        await den.server.gateway.drop()
        await den.server.until(lambda: den.server.facts_of("gateway:6"))

        assert den.server.token not in caplog.text
        assert "4711" not in caplog.text


def globally_limited(den: FamiliarOnDiscord, method: str, path: str, *, retry_after_s: float) -> Fault:
    """Discord lets nobody ask anything for a while, as the next matching request learns."""
    body = f'{{"message": "You are being rate limited.", "retry_after": {retry_after_s}, "global": true}}'
    return den.server.faults.add(Fault(method, path, 1, 429, body, {"Via": "demo", "Retry-After": "1"}))


async def test_typing_given_up_during_a_global_rate_limit_holds_up_nothing(tmp_path: Path) -> None:
    """The request that learned of the limit ends before the limit does; the reply goes out all the same."""
    async with familiar_on_discord(tmp_path) as den:
        limited = globally_limited(den, "POST", "/typing", retry_after_s=3600)
        thinking = den.model.pause_after(0)
        await den.mention("hello")
        await limited.reached.wait()
        platform = den.platform
        assert platform is not None
        await until(lambda: not platform._client.http._global_over.is_set())
        thinking.resume.set()

        assert await den.server.until_replied(den.room) == ["Hello, Ada."]


async def test_a_global_rate_limit_longer_than_our_patience_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message is tried again, and said once."""
    monkeypatch.setattr("familiar_connect.extensions.discord.place.ANSWER_WITHIN_S", 0.2)
    async with familiar_on_discord(tmp_path) as den:
        globally_limited(den, "POST", f"/channels/{den.room.id}/messages", retry_after_s=3600)
        await den.mention("hello")
        await den.server.until_replied(den.room)
        await den.wait_until_idle()

        assert den.server.replies_in(den.room) == ["Hello, Ada."]
        assert den.roles_and_texts() == [("user", "hello"), ("assistant", "Hello, Ada.")]


async def test_a_thread_of_a_channel_we_cannot_see_is_answered(tmp_path: Path) -> None:
    """What may be done there is for Discord to say."""
    async with familiar_on_discord(tmp_path, arrive=False) as den:
        thread = den.server.world.room(den.guild, "hidden", kind=PUBLIC_THREAD, parent_id=4242)
        den.subscribe(thread)
        await den.connect()
        await den.mention("hello", room=thread)

        assert await den.server.until_replied(thread) == ["Hello, Ada."]


async def test_the_owner_is_told_the_same_once_an_hour(tmp_path: Path) -> None:
    """However many people ask where nothing can be written."""
    clock = ManualClock(NOON)
    async with familiar_on_discord(tmp_path, lambda messages: "Here.", arrive=False, clock=clock) as den:
        den.room.denied = SEND_MESSAGES
        await den.connect()
        owners = den.server.world.direct_room(den.server.world.owner)
        for number in range(5):
            await den.mention(f"hello {number}")
            await den.wait_stored(f"hello {number}")
            await den.wait_until_idle()
        told_at_first = await den.server.until_replied(owners, 2)
        clock.advance(TELL_AGAIN_S)
        await den.mention("hello again")
        told = await den.server.until_replied(owners, 3)

        assert len([each for each in told_at_first if "lacks the right" in each]) == 1
        assert len([each for each in told if "lacks the right" in each]) == 2


async def test_a_token_taken_back_is_named_where_a_reply_fails(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """In the log too, for a direct message may not go out either."""
    caplog.set_level(logging.ERROR)
    async with familiar_on_discord(tmp_path) as den:
        den.server.faults.add_failure("POST", f"/channels/{den.room.id}/messages", 401)
        await den.mention("hello")
        owners = den.server.world.direct_room(den.server.world.owner)
        told = await den.server.until_replied(owners)

        assert "does not accept the token in DISCORD_BOT any more" in told[0]
        assert any("DISCORD_BOT" in getattr(record, "reason", "") for record in caplog.records)


async def test_a_discord_that_cannot_be_reached_is_said_in_words(tmp_path: Path) -> None:
    """Nobody listens where it should be."""
    async with familiar_on_discord(tmp_path, arrive=False) as den:
        platform = DiscordPlatform(make_host(den.familiar, "discord"), token="sesame", api_url="http://127.0.0.1:9/api")
        with pytest.raises(DeliveryError, match="Discord could not be reached"):
            await platform.run()


@pytest.mark.parametrize("frame", ['{"op": 7, "d": null}', '{"op": 9, "d": true}', '{"op": 9, "d": false}'])
async def test_discord_may_ask_for_a_new_connection(tmp_path: Path, frame: str) -> None:
    """Everything is heard once, before and after."""
    async with familiar_on_discord(tmp_path, lambda messages: "Yes?") as den:
        await den.server.post(den.room, den.ada, "before")
        await den.wait_stored("before")
        begun = len(den.server.facts_of("gateway:2")) + len(den.server.facts_of("gateway:6"))
        await den.server.gateway.send_raw(frame)
        await den.server.until(
            lambda: len(den.server.facts_of("gateway:2")) + len(den.server.facts_of("gateway:6")) > begun
        )
        await den.mention("after")
        await den.server.until_replied(den.room)
        await den.wait_until_idle()

        assert den.roles_and_texts() == [("user", "before"), ("user", "after"), ("assistant", "Yes?")]
