"""What Twitch does to a familiar: limits, lost answers, bans, moves, expired tokens; through the real library."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("twitchAPI", reason="the Twitch library is an extra")

from familiar_connect.errors import DeliveryError, SetupError
from familiar_connect.extensions.twitch import account, adapter, eventsub
from familiar_connect.extensions.twitch.demo import topics
from familiar_connect.extensions.twitch.demo.faults import Fault
from familiar_connect.history.types import DELETED
from tests.fakes.long_text import make_words
from tests.fakes.twitch_server import Token, TwitchServer
from tests.fakes.twitch_stage import Stage, ada_streams, both_listen, on_stage
from tests.fakes.waiting import until

TWO_PIECES = "\n\n".join(make_words(45, word) + "end." for word in ("alpha", "beta"))
SENDING = "chat/messages"


def let_moderate(server: TwitchServer) -> TwitchServer:
    """Make the familiar a moderator, whom no rule on repeated lines protects from saying one twice."""
    server.twitch.room.viewer("ember_bot").is_moderator = True
    return server


def said(stage: Stage) -> list[str]:
    """What the history says that the familiar said."""
    return [turn.content for turn in stage.history() if turn.role == "assistant"]


async def test_a_line_over_the_limit_of_helix_is_sent_again(tmp_path: Path) -> None:
    """Twitch says when; the answer is not lost."""
    server = TwitchServer()
    soon = {"Ratelimit-Limit": "800", "Ratelimit-Remaining": "0", "Ratelimit-Reset": str(int(time.time()))}
    server.twitch.faults.add(Fault(SENDING, status=429, headers=soon))
    async with on_stage(tmp_path, server, broadcaster=None) as stage:
        await server.chat("Ember, hello!")
        await server.until(lambda: server.sent)
        await until(lambda: said(stage))

        assert server.sent == said(stage) == ["Hello, Ben."]


async def test_the_last_line_within_the_limit_holds_nothing_up(tmp_path: Path) -> None:
    """It was sent; nobody waits until the limit is lifted before it counts as said."""
    server = TwitchServer()
    server.twitch.helix.limits.points, server.twitch.helix.limits.window_s = 5, 1e9
    async with on_stage(tmp_path, server, broadcaster=None, text="raids_enabled = false\n" + QUIET) as stage:
        server.twitch.helix.limits.points = 1
        server.twitch.helix.limits._left.clear()
        await server.chat("Ember, hello!")
        await until(lambda: said(stage))

        assert server.sent == ["Hello, Ben."]


QUIET = "subscriptions_enabled = false\ncheers_enabled = false\nfollows_enabled = false\nads_enabled = false\n"
"""Settings under which nothing is asked for but the chat."""


@pytest.mark.parametrize("status", [None, 500], ids=["cut", "500"])
async def test_a_line_whose_answer_is_lost_is_said_once(tmp_path: Path, status: int | None) -> None:
    """The chat shows it to us, and that is answer enough."""
    server = let_moderate(TwitchServer())
    server.twitch.faults.add(Fault(SENDING, status=status, is_after_effect=True))
    async with on_stage(tmp_path, server, replies=(TWO_PIECES,), broadcaster=None) as stage:
        await server.chat("Ember, tell me all")
        await until(lambda: said(stage))

        assert [line.split()[0] for line in server.sent] == ["alpha0", "beta0"]
        assert "alpha" in said(stage)[0]
        assert "beta" in said(stage)[0]


async def test_a_connection_that_is_cut_before_the_line_arrives_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The chat does not show it, so it is sent once more."""
    monkeypatch.setattr(adapter, "SHOWN_WITHIN_S", 0.05)
    server = let_moderate(TwitchServer())
    server.twitch.faults.add(Fault(SENDING, status=None))
    async with on_stage(tmp_path, server, broadcaster=None) as stage:
        await server.chat("Ember, hello!")
        await until(lambda: said(stage))

        assert server.sent == ["Hello, Ben."]


async def test_a_familiar_that_writes_too_quickly_waits_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every line of a long answer arrives, in order."""
    monkeypatch.setattr(account, "LATER_S", 0.05)
    server = TwitchServer()
    server.twitch.room.limits.for_viewers, server.twitch.room.limits.window_s = 1, 0.2
    async with on_stage(tmp_path, server, replies=(TWO_PIECES,), broadcaster=None) as stage:
        await server.chat("Ember, tell me all")
        await until(lambda: said(stage))

        assert [line.split()[0] for line in server.sent] == ["alpha0", "beta0"]
        assert {reason.code for _, reason in server.twitch.dropped} == {"msg_ratelimit"}


async def test_slow_mode_slows_the_familiar_down(tmp_path: Path) -> None:
    """Twitch says for how long."""
    server = TwitchServer()
    server.twitch.room.modes.slow_s = 1
    async with on_stage(tmp_path, server, replies=(TWO_PIECES,), broadcaster=None) as stage:
        await server.chat("Ember, tell me all")
        await until(lambda: said(stage))

        assert [line.split()[0] for line in server.sent] == ["alpha0", "beta0"]
        assert {reason.code for _, reason in server.twitch.dropped} == {"msg_slowmode"}


@pytest.mark.parametrize(
    ("mode", "code"),
    [
        ({"is_subscribers_only": True}, "msg_subsonly"),
        ({"followers_only_min": 10}, "msg_followersonly"),
        ({"is_emotes_only": True}, "msg_emoteonly"),
    ],
)
async def test_a_mode_that_keeps_the_familiar_out_is_told_to_the_owner(
    tmp_path: Path, mode: dict[str, Any], code: str
) -> None:
    """With Twitch's reason; what nobody was shown was not said."""
    server = TwitchServer()
    async with on_stage(tmp_path, server, broadcaster=None) as stage:
        await server.twitch.set_modes(**mode)
        told = asyncio.Queue[str]()
        with stage.house.familiar.owner.connect(tell=told.put):
            await server.chat("Ember, hello!")
            sentence = await asyncio.wait_for(told.get(), 200)

        assert code in sentence
        assert said(stage) == []


async def test_a_cheer_is_heard_as_a_line_where_cheers_are_not_told(tmp_path: Path) -> None:
    """A bot without the streamer's token may not see bits; what is said with them it hears."""
    async with on_stage(tmp_path, TwitchServer(), broadcaster=None) as stage:
        twitch = stage.server.twitch
        await twitch.cheer(twitch.room.viewer("ben", "22"), 50, "Ember, hello!")
        await stage.server.until(lambda: stage.server.sent)

        assert stage.heard() == ["cheer50 Ember, hello!"]


async def test_a_line_that_is_deleted_while_it_waits_for_its_reward_is_never_heard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor is one whose writer was banned meanwhile."""
    text = 'redemption_names = ["Hydrate"]'
    async with on_stage(tmp_path, ada_streams(), text=text) as stage:
        await both_listen(stage.server)
        released = asyncio.Event()

        async def wait_for_reward(reward_id: str) -> bool:
            await released.wait()
            return False

        monkeypatch.setattr(stage.platform._rewards, "lookup_or_wait", wait_for_reward)
        twitch = stage.server.twitch
        ben, cy = twitch.room.viewer("ben", "22"), twitch.room.viewer("cy", "31")
        gone = await twitch.show(ben, "my street is Elm Road 7", channel_points_custom_reward_id="r8")
        await twitch.show(cy, "buy my coins", channel_points_custom_reward_id="r9")
        await twitch.show(ben, "kept", channel_points_custom_reward_id="r9")
        await twitch.delete(gone)
        await twitch.ban(cy)
        await twitch.show(ben, "after")
        await stage.until_heard(1)
        released.set()
        await stage.until_heard(2)

        assert sorted(stage.heard()) == ["after", "kept"]


async def test_a_familiar_with_the_streamers_account_knows_its_replies(tmp_path: Path) -> None:
    """Twitch shows them with the name of whom they answer; they are not the streamer's words."""
    server = TwitchServer(tokens={"good-token": Token("500", "ada_live")})
    async with on_stage(tmp_path, server, replies=("One.", "Ember likes it."), broadcaster=None) as stage:
        pause = stage.house.model.pause_after(0)
        asked = await server.chat("Ember, and now?")
        await asyncio.wait_for(pause.reached.wait(), 200)
        await server.chat("gg", who="cy", user_id="31")
        await stage.until_heard(2)
        pause.resume.set()
        await server.until(lambda: server.sent)
        await server.chat("thanks", who="cy", user_id="31")
        await stage.until_heard(3)

        assert server.parents == [asked]
        assert stage.heard() == ["Ember, and now?", "gg", "thanks"]


async def test_a_reply_to_the_streamer_is_not_said_to_the_familiar_that_has_their_account(tmp_path: Path) -> None:
    """Only what the familiar said is the familiar's."""
    server = TwitchServer(tokens={"good-token": Token("500", "ada_live")})
    async with on_stage(tmp_path, server, broadcaster=None) as stage:
        room = server.twitch.room
        await server.twitch.show(room.streamer, "that boss again")
        await server.twitch.show(room.viewer("cy", "31"), "you can do it", room.lines[-1])
        await stage.until_heard(2)
        await stage.house.familiar.intake.wait_until_idle()
        await stage.house.familiar.reply_path.queue.wait_until_idle()

        assert stage.heard()[1] == "@Ada_Live you can do it"
        assert server.sent == []


async def test_a_familiar_that_is_banned_comes_back_when_it_is_let_in(tmp_path: Path) -> None:
    """The owner is told once, and the platform stays on."""
    async with on_stage(tmp_path, TwitchServer(), broadcaster=None, text=QUIET) as stage:
        twitch = stage.server.twitch
        bot = twitch.room.viewer("ember_bot")
        await twitch.ban(bot)
        await until(lambda: stage.ad_waits.count(eventsub.SHUT_OUT_S) >= 3)
        twitch.unban(bot)
        await twitch.until_listening()
        await stage.server.chat("Ember, hello!")
        await stage.server.until(lambda: stage.server.sent)

        assert [sentence for sentence in stage.told if "banned from the chat of Ada_Live" in sentence] == [
            sentence for sentence in stage.told if "channel.chat" in sentence or "banned" in sentence
        ]
        assert len([sentence for sentence in stage.told if "banned" in sentence]) == 1


async def test_a_half_open_connection_is_left_and_another_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody waits for a goodbye that never comes."""
    monkeypatch.setattr(eventsub, "GRACE_S", 0.2)
    monkeypatch.setattr(eventsub, "CLOSE_S", 0.05)
    async with on_stage(tmp_path, TwitchServer(keepalive_s=0.3), broadcaster=None, text=QUIET) as stage:
        twitch = stage.server.twitch
        await twitch.until_listening()
        before = set(twitch.sessions.open)
        twitch.sessions.fall_silent()
        await stage.server.until(lambda: any(twitch.sessions.find(topics.CHAT)) and len(twitch.sessions.open) > 1)
        await until(lambda: any(session.id not in before for session, _ in twitch.sessions.find(topics.CHAT_CLEARED)))
        await stage.server.chat("Ember, hello!")
        await stage.server.until(lambda: stage.server.sent)

        assert stage.server.sent == ["Hello, Ben."]


async def test_what_is_delivered_twice_is_heard_once(tmp_path: Path) -> None:
    """Lines, events and commands: Twitch promises to tell at least once."""
    server = ada_streams()
    server.twitch.sessions.is_doubling = True
    async with on_stage(tmp_path, server) as stage:
        await both_listen(server)
        ben = server.twitch.room.viewer("ben", "22")
        await server.twitch.raid(ben, 7)
        await stage.until_heard(1)
        await server.chat(
            "!ember help", who="mo", user_id="77", badges=[{"set_id": "moderator", "id": "1", "info": ""}]
        )
        await server.until(lambda: server.sent)
        await server.chat("good night")
        await stage.until_heard(2)

        assert stage.heard() == ["[Twitch] Ben has raided the channel with 7 viewers", "good night"]
        assert len(server.sent) == 1


async def test_trouble_of_the_token_service_is_not_the_owners(tmp_path: Path) -> None:
    """At the start it is tried again later; nobody is told to make a new token."""
    server = TwitchServer()
    server.twitch.faults.add(Fault("oauth2/validate", status=503))
    async with on_stage(tmp_path, server, broadcaster=None) as stage:
        with pytest.raises(DeliveryError, match="trouble of its own"):
            await asyncio.wait_for(asyncio.shield(stage.task), 200)


async def test_a_token_is_renewed_though_the_first_try_fails(tmp_path: Path) -> None:
    """The line that needed it arrives, once."""
    server = TwitchServer(renewals={"again": ("new-token", "next")})
    async with on_stage(tmp_path, server, broadcaster=None) as stage:
        server.tokens["new-token"] = server.tokens.pop("good-token")
        server.twitch.faults.add(Fault("oauth2/token", status=500))
        await server.chat("Ember, hello!")
        await server.until(lambda: server.sent)
        await until(lambda: said(stage))

        assert server.sent == ["Hello, Ben."]
        assert stage.kept == [("TWITCH_TOKEN", "new-token"), ("TWITCH_REFRESH_TOKEN", "next")]


async def test_a_token_that_was_taken_back_is_noticed_though_nobody_speaks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twitch wants each token to be looked at once an hour."""
    monkeypatch.setattr(adapter, "CHECK_TOKENS_S", 0.05)
    async with on_stage(tmp_path, TwitchServer(), broadcaster=None) as stage:
        stage.server.twitch.tokens.take_back("900")

        with pytest.raises(SetupError, match="does not accept TWITCH_TOKEN"):
            await asyncio.wait_for(asyncio.shield(stage.task), 200)


async def test_what_chat_programs_put_around_a_line_is_not_heard(tmp_path: Path) -> None:
    """The mark of `/me`, and the unseen sign behind a line that is written twice: a command stays one."""
    async with on_stage(tmp_path, TwitchServer(), broadcaster=None) as stage:
        await stage.server.chat("\x01ACTION waves at the cat\x01", who="cy", user_id="31")
        await stage.server.chat("!ember privacy full \U000e0000")
        await stage.server.until(lambda: stage.server.sent)

        assert stage.heard() == ["waves at the cat"]
        assert stage.server.sent[0].startswith("You share nothing with me (privacy: full)")


async def test_a_command_may_be_a_reply(tmp_path: Path) -> None:
    """Twitch puts the name of whom it answers before it."""
    async with on_stage(tmp_path, TwitchServer(), broadcaster=None) as stage:
        await stage.server.chat("Ember, hello!")
        await stage.server.until(lambda: len(stage.server.sent) == 1)
        room = stage.server.twitch.room
        await stage.server.twitch.show(room.viewer("ben", "22"), "!ember help", room.lines[-1])
        await stage.server.until(lambda: len(stage.server.sent) == 2)

        assert stage.server.sent[1].startswith("Say my name to talk with me.")
        assert stage.heard() == ["Ember, hello!"]


async def test_nobody_is_asked_for_whispers(tmp_path: Path) -> None:
    """The familiar takes none, whatever its token allows."""
    server = TwitchServer()
    server.tokens["good-token"].scopes += ("user:read:whispers",)
    async with on_stage(tmp_path, server, broadcaster=None) as stage:
        room = server.twitch.room
        await server.twitch.whisper(room.viewer("ben", "22"), room.viewer("ember_bot"), "psst")
        await server.chat("aloud")
        await stage.until_heard(1)

        assert topics.WHISPER not in server.asked
        assert stage.heard() == ["aloud"]


async def test_a_timed_out_viewer_is_gone_and_writes_no_more(tmp_path: Path) -> None:
    """Until the time is up."""
    async with on_stage(tmp_path, TwitchServer(), broadcaster=None) as stage:
        twitch = stage.server.twitch
        ben = twitch.room.viewer("ben", "22")
        await twitch.chat(ben, "buy my coins")
        await stage.until_heard(1)
        await twitch.time_out(ben, 60)
        refused = await twitch.chat(ben, "really, buy")
        await until(lambda: stage.heard() == [DELETED])

        assert refused is None
        assert twitch.refused_last is not None
        assert twitch.refused_last.code == "msg_timedout"
