"""The real library and the real path of a reply, against a Twitch of our own on loopback."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from familiar_connect.errors import SetupError
from familiar_connect.extensions.twitch.rewards import HOLD_S, Rewards
from familiar_connect.extensions.twitch.settings import Settings
from tests.fakes.long_text import make_words
from tests.fakes.twitch_server import Token, TwitchServer
from tests.fakes.twitch_stage import BEN, ada_streams, both_listen, on_stage, tell
from tests.fakes.waiting import until


async def test_a_message_to_the_familiar_is_answered_in_the_chat(tmp_path: Path) -> None:
    """What was said and what was answered stand in the history."""
    async with on_stage(tmp_path, TwitchServer(), broadcaster=None) as stage:
        await stage.server.chat("Ember, hello!")
        await stage.server.until(lambda: stage.server.sent)
        await until(lambda: len(stage.history()) == 2)

        assert stage.server.sent == ["Hello, Ben."]
        assert [(turn.role, turn.content) for turn in stage.history()] == [
            ("user", "Ember, hello!"),
            ("assistant", "Hello, Ben."),
        ]
        author = stage.history()[0].author
        assert author is not None
        assert author.slug == "twitch-22"


async def test_a_mention_and_a_reply_are_said_to_the_familiar(tmp_path: Path) -> None:
    """Without its name in them."""
    async with on_stage(tmp_path, TwitchServer(), replies=("One.", "Two."), broadcaster=None) as stage:
        fragments = [{"type": "mention", "text": "@ember_bot", "mention": {"user_id": "900"}}]
        await stage.server.chat("hm", message={"text": "hm", "fragments": fragments})
        await stage.server.until(lambda: len(stage.server.sent) == 1)
        quoted = {"parent_user_id": "900", "parent_message_id": "m1", "parent_message_body": "One."}
        await stage.server.chat("really", reply=quoted)
        await stage.server.until(lambda: len(stage.server.sent) == 2)

        assert stage.server.sent == ["One.", "Two."]


async def test_a_long_reply_goes_out_in_lines_of_500(tmp_path: Path) -> None:
    """Twitch takes no longer ones, and no line ends."""
    reply = "\n\n".join(make_words(45, word) + "end." for word in ("alpha", "beta", "gamma"))
    async with on_stage(tmp_path, TwitchServer(), replies=(reply,), broadcaster=None) as stage:
        await stage.server.chat("Ember, tell me all")
        await stage.server.until(lambda: len(stage.server.sent) >= 3)

        assert all(len(line) <= 500 and "\n" not in line for line in stage.server.sent)
        assert " ".join(stage.server.sent).split() == reply.split()


async def test_our_own_lines_are_not_heard(tmp_path: Path) -> None:
    """The chat shows them to us; we know them."""
    async with on_stage(tmp_path, TwitchServer(), broadcaster=None) as stage:
        await stage.server.chat("Hello, Ben.", who="ember_bot", user_id="900")
        await stage.server.chat("quiet words")
        await stage.until_heard(1)

        assert stage.heard() == ["quiet words"]


async def test_a_streamer_is_heard_though_the_familiar_speaks_with_their_account(tmp_path: Path) -> None:
    """Only our own words are ours."""
    server = TwitchServer(tokens={"good-token": Token("500", "ada_live")})
    async with on_stage(tmp_path, server, broadcaster=None) as stage:
        await server.chat("Ember, hello!", who="ada_live", user_id="500")
        await server.until(lambda: server.sent)
        await server.chat("Hello, Ben.", who="ada_live", user_id="500")
        await server.chat("thanks", who="ada_live", user_id="500")
        await stage.until_heard(2)

        assert stage.heard() == ["Ember, hello!", "thanks"]
        assert len(server.sockets) == 1


async def test_every_kind_of_event_is_told_once(tmp_path: Path) -> None:
    """A gifted subscription by its giver, a cheer's words by the cheer, a doubled delivery not again."""
    async with on_stage(tmp_path, ada_streams(), text='redemption_names = ["Hydrate"]\nads_immediate = false') as stage:
        await both_listen(stage.server)
        await tell(stage, "channel.subscribe", {**BEN, "tier": "1000", "is_gift": True})
        await tell(stage, "channel.subscription.gift", {"is_anonymous": True, "total": 1, "tier": "1000"})
        await tell(stage, "channel.cheer", {**BEN, "bits": 50, "message": "go", "is_anonymous": False}, message_id="c")
        await tell(stage, "channel.cheer", {**BEN, "bits": 50, "message": "go", "is_anonymous": False}, message_id="c")
        await tell(stage, "channel.follow", BEN)
        redeemed = {**BEN, "reward": {"title": "Hydrate"}, "user_input": "now"}
        await tell(stage, "channel.channel_points_custom_reward_redemption.add", redeemed)
        renewed = {**BEN, "tier": "2000", "cumulative_months": 7, "message": {"text": "hi", "emotes": None}}
        await tell(stage, "channel.subscription.message", renewed)
        await tell(stage, "channel.ad_break.begin", {"duration_seconds": 60})
        await stage.until_heard(7)

        assert stage.heard() == [
            "[Twitch] An anonymous gifter has gifted 1 tier 1 subscription",
            "[Twitch] Ben has cheered with 50 bits and says: go",
            "[Twitch] Ben has followed the channel",
            "[Twitch] Ben has redeemed Hydrate and says: now",
            "[Twitch] Ben has subscribed for 7 months at tier 2 and says: hi",
            "[Twitch] An ad has begun on the channel",
            "[Twitch] Ads have ended",
        ]
        assert 60 in stage.ad_waits
        assert stage.server.sent == []


async def test_an_immediate_event_is_answered_though_nobody_spoke_to_the_familiar(tmp_path: Path) -> None:
    """Ads are, unless the owner says otherwise."""
    async with on_stage(tmp_path, ada_streams(), replies=("Ads! Stretch.", "Back.")) as stage:
        await both_listen(stage.server)
        await tell(stage, "channel.ad_break.begin", {"duration_seconds": 30})
        await stage.server.until(lambda: stage.server.sent)

        assert stage.server.sent[0] == "Ads! Stretch."


async def test_the_words_of_a_cheer_are_not_heard_twice(tmp_path: Path) -> None:
    """The chat shows them too."""
    async with on_stage(tmp_path, ada_streams()) as stage:
        await both_listen(stage.server)
        await stage.server.chat("go cheer50", cheer={"bits": 50})
        await stage.server.chat("quiet words")
        await stage.until_heard(1)

        assert stage.heard() == ["quiet words"]


async def test_who_gives_bits_and_mentions_the_familiar_is_answered(tmp_path: Path) -> None:
    """Twitch does not say who is mentioned there; the marks of the bits are no words."""
    async with on_stage(tmp_path, ada_streams()) as stage:
        await both_listen(stage.server)
        words = "cheer30 go Kappa20 @ember_bot, is tea in 2025cups?"
        await tell(stage, "channel.cheer", {**BEN, "bits": 50, "message": words, "is_anonymous": False})
        await stage.server.until(lambda: stage.server.sent)

        heard = "[Twitch] Ben has cheered with 50 bits and says: go @ember_bot, is tea in 2025cups?"
        assert stage.heard() == [heard]


async def test_words_given_with_a_reward_are_not_heard_twice(tmp_path: Path) -> None:
    """Where the reward is told as an event; with any other they are a line like all lines."""
    kind = "channel.channel_points_custom_reward_redemption.add"
    async with on_stage(tmp_path, ada_streams(), text='redemption_names = ["Hydrate"]') as stage:
        await both_listen(stage.server)
        hydrate, dance = {"id": "r1", "title": "Hydrate"}, {"id": "r2", "title": "Dance"}
        await tell(stage, kind, {**BEN, "reward": hydrate, "user_input": "drink"})
        await tell(stage, kind, {**BEN, "reward": dance, "user_input": "jump"})
        await stage.until_heard(1)
        await stage.server.chat("drink", channel_points_custom_reward_id="r1")
        await stage.server.chat("jump", channel_points_custom_reward_id="r2")
        await stage.server.chat("sing", channel_points_custom_reward_id="r3")
        await stage.until_heard(3)

        assert stage.heard() == ["[Twitch] Ben has redeemed Hydrate and says: drink", "jump", "sing"]


async def test_a_line_waits_for_its_redemption(tmp_path: Path) -> None:
    """The chat may be first; what no redemption tells of is let go when the time is up."""
    asked, up = asyncio.Queue[float](), asyncio.Event()

    async def sleep(seconds: float) -> None:
        asked.put_nowait(seconds)
        await up.wait()

    rewards = Rewards(sleep)
    listed, unlisted = (asyncio.create_task(rewards.lookup_or_wait(reward)) for reward in ("r1", "r2"))
    waits = [await asked.get(), await asked.get()]
    rewards.learn("r1", is_told=True)
    first = await listed
    still_waiting = not unlisted.done()
    up.set()

    assert (waits, first, still_waiting, await unlisted) == ([HOLD_S, HOLD_S], True, True, False)
    assert (rewards.lookup("r1"), rewards.lookup("r2")) == (True, False)


async def test_what_a_bots_account_may_not_see_is_said_to_the_owner(tmp_path: Path) -> None:
    """The chat goes on."""
    async with on_stage(tmp_path, TwitchServer(), broadcaster=None) as stage:
        await stage.server.chat("Ember, hello!")
        await stage.server.until(lambda: stage.server.sent)

        sentence = "Twitch sends no channel.cheer events: it takes the streamer's token with the right bits:read."
        assert sentence in stage.told[3]
        assert len(stage.told) == 6, "followers too: it is no moderator"


async def test_a_broken_connection_is_made_anew_and_all_is_asked_for_again(tmp_path: Path) -> None:
    """Nobody has to do anything."""
    async with on_stage(tmp_path, TwitchServer(), broadcaster=None) as stage:
        before = len(stage.server.asked)
        await stage.server.sockets[-1].close()
        await stage.server.until(lambda: len(stage.server.asked) == 2 * before)
        await stage.server.chat("Ember, hello!")
        await stage.server.until(lambda: stage.server.sent)

        assert stage.server.sent == ["Hello, Ben."]
        assert stage.ad_waits == [1.0]


async def test_a_connection_that_falls_silent_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twitch promises a sign of life."""
    monkeypatch.setattr("familiar_connect.extensions.twitch.eventsub.GRACE_S", 0.0)
    server = TwitchServer(keepalive_s=0.05)
    async with on_stage(tmp_path, server, broadcaster=None) as stage:
        await server.until(lambda: len(server.sockets) >= 3)

        assert not stage.task.done()


async def test_moving_to_another_connection_loses_nothing(tmp_path: Path) -> None:
    """What came over the old one meanwhile is heard, and nothing is asked for again."""
    async with on_stage(tmp_path, TwitchServer(), broadcaster=None) as stage:
        server = stage.server
        before = len(server.asked)
        await server.twitch.sessions.ask_to_move()
        await server.chat("over the old one")
        await server.until(lambda: len(server.sockets) == 2)
        await server.chat("over the new one")
        await stage.until_heard(2)

        assert sorted(stage.heard()) == ["over the new one", "over the old one"]
        assert len(server.asked) == before
        assert stage.ad_waits == []


async def test_nonsense_silences_nothing(tmp_path: Path) -> None:
    """One message that is none, the next one is heard."""
    async with on_stage(tmp_path, TwitchServer(), broadcaster=None) as stage:
        socket = stage.server.sockets[-1]
        for nonsense in ("", "[]", "{}", '{"metadata": 3}', "null", '{"metadata": {"message_type": "notification"}}'):
            await socket.send_str(nonsense)
        await stage.server.notify("channel.follow", {})
        await stage.server.raw("notification", {"subscription": {"type": "channel.cheer"}, "event": {"bits": "many"}})
        await stage.server.chat("still here")
        await stage.until_heard(1)

        assert stage.heard() == ["still here"]
        assert len(stage.server.sockets) == 1


async def test_a_right_taken_back_ends_in_a_sentence(tmp_path: Path) -> None:
    """It says which token to make anew and where it goes."""
    async with on_stage(tmp_path, TwitchServer(), broadcaster=None) as stage:
        gone = {"subscription": {"type": "channel.chat.message", "status": "authorization_revoked"}}
        await stage.server.raw("revocation", gone)

        with pytest.raises(SetupError, match=r"withdrew .*secrets\.env as TWITCH_TOKEN"):
            await asyncio.wait_for(asyncio.shield(stage.task), 200)


async def test_a_token_that_ran_out_is_renewed_and_kept(tmp_path: Path) -> None:
    """At the start."""
    server = TwitchServer(tokens={"new-token": Token("900", "ember_bot")}, renewals={"again": ("new-token", "next")})
    async with on_stage(tmp_path, server, broadcaster=None) as stage:
        await server.chat("Ember, hello!")
        await server.until(lambda: server.sent)

        assert stage.kept == [("TWITCH_TOKEN", "new-token"), ("TWITCH_REFRESH_TOKEN", "next")]


async def test_a_token_that_runs_out_while_speaking_is_renewed(tmp_path: Path) -> None:
    """And the line is sent all the same, once."""
    server = TwitchServer(renewals={"again": ("new-token", "next")})
    async with on_stage(tmp_path, server, broadcaster=None) as stage:
        server.tokens["new-token"] = server.tokens.pop("good-token")
        await server.chat("Ember, hello!")
        await server.until(lambda: server.sent)

        assert server.sent == ["Hello, Ben."]
        assert stage.kept == [("TWITCH_TOKEN", "new-token"), ("TWITCH_REFRESH_TOKEN", "next")]


@pytest.mark.parametrize(
    ("tokens", "sentence"),
    [
        ({}, r"does not accept TWITCH_TOKEN"),
        ({"good-token": Token("900", "ember_bot", client_id="other")}, r"another application than TWITCH_CLIENT_ID"),
        ({"good-token": Token("900", "ember_bot", ("user:read:chat",))}, r"lacks the right user:write:chat"),
    ],
)
async def test_a_wrong_token_ends_in_a_sentence(tmp_path: Path, tokens: dict[str, Token], sentence: str) -> None:
    """Which one, why, and what to do; the token itself is not in it."""
    async with on_stage(tmp_path, TwitchServer(tokens=tokens), broadcaster=None) as stage:
        with pytest.raises(SetupError, match=sentence) as caught:
            await asyncio.wait_for(asyncio.shield(stage.task), 200)

        assert "good-token" not in str(caught.value)


async def test_a_channel_that_does_not_exist_ends_in_a_sentence(tmp_path: Path) -> None:
    """It names the file and the key."""
    async with on_stage(tmp_path, TwitchServer(users={}), broadcaster=None) as stage:
        with pytest.raises(SetupError, match=r"character\.toml: \[twitch\] channel: Twitch knows no 'ada_live'"):
            await asyncio.wait_for(asyncio.shield(stage.task), 200)


async def test_a_streamers_token_must_be_the_streamers(tmp_path: Path) -> None:
    """Another's is refused with a sentence."""
    server = ada_streams()
    server.tokens["ada-token"] = Token("777", "somebody")
    async with on_stage(tmp_path, server) as stage:
        with pytest.raises(SetupError, match="TWITCH_BROADCASTER_TOKEN belongs to somebody"):
            await asyncio.wait_for(asyncio.shield(stage.task), 200)


async def test_a_line_twitch_does_not_show_is_not_recorded_as_said(tmp_path: Path) -> None:
    """The owner is told why; the chat is not."""
    server = TwitchServer()
    server.twitch.room.held_words.add("hello")
    async with on_stage(tmp_path, server, broadcaster=None) as stage:
        told = asyncio.Queue[str]()
        with stage.house.familiar.owner.connect(tell=told.put):
            await server.chat("Ember, hello!")
            assert "msg_rejected" in await asyncio.wait_for(told.get(), 200)

        assert [turn.role for turn in stage.history()] == ["user"]


async def test_trouble_of_twitchs_own_is_met_with_another_try(tmp_path: Path) -> None:
    """The line arrives once."""
    server = TwitchServer(send_statuses=(500,))
    async with on_stage(tmp_path, server, broadcaster=None):
        await server.chat("Ember, hello!")
        await server.until(lambda: server.sent)

        assert server.sent == ["Hello, Ben."]


def test_the_settings_choose_a_channel_and_nothing_without_one() -> None:
    """No channel, no Twitch."""
    assert Settings().channel is None
