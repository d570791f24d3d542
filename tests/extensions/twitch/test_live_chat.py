"""A stream's chat: told as one, its events answered, what moderators take back gone, replies quoted, commands."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from familiar_connect.history.types import DELETED
from familiar_connect.identity import Author
from familiar_connect.llm.scripted import ScriptedModel
from familiar_connect.support.aio import cancel_and_wait
from familiar_connect.support.recurrence import Recurrence
from tests.fakes.long_text import make_words
from tests.fakes.twitch_server import Token, TwitchServer
from tests.fakes.twitch_stage import BEN, CHANNEL_ID, Stage, ada_streams, both_listen, on_stage, tell
from tests.fakes.waiting import until

MODERATOR: dict[str, Any] = {"who": "mo", "user_id": "77", "badges": [{"set_id": "moderator", "id": "1", "info": ""}]}
EVENTS: dict[str, tuple[str, dict[str, Any], str]] = {
    "follow": ("channel.follow", BEN, "Ben has followed the channel"),
    "subscription": ("channel.subscribe", {**BEN, "tier": "1000"}, "Ben has subscribed at tier 1"),
    "gift": ("channel.subscription.gift", {**BEN, "total": 5, "tier": "1000"}, "Ben has gifted 5 tier 1 subscriptions"),
    "resubscription": (
        "channel.subscription.message",
        {**BEN, "tier": "1000", "cumulative_months": 7, "message": {"text": "hi"}},
        "Ben has subscribed for 7 months at tier 1 and says: hi",
    ),
    "cheer": ("channel.cheer", {**BEN, "bits": 50, "message": "go"}, "Ben has cheered with 50 bits and says: go"),
    "raid": (
        "channel.raid",
        {
            "from_broadcaster_user_id": "22",
            "from_broadcaster_user_login": "ben",
            "from_broadcaster_user_name": "Ben",
            "viewers": 12,
        },
        "Ben has raided the channel with 12 viewers",
    ),
    "reward": (
        "channel.channel_points_custom_reward_redemption.add",
        {**BEN, "reward": {"id": "r1", "title": "Hydrate"}, "user_input": "now"},
        "Ben has redeemed Hydrate and says: now",
    ),
}


def prompts(stage: Stage) -> list[str]:
    """What the model was shown, a text for each call."""
    model: ScriptedModel = stage.house.model
    return ["\n".join(str(message.content) for message in call) for call in model.calls]


async def test_the_familiar_is_told_that_it_is_on_twitch(tmp_path: Path) -> None:
    """And how people write there."""
    async with on_stage(tmp_path, TwitchServer(), broadcaster=None) as stage:
        await stage.server.chat("Ember, hello!")
        await stage.server.until(lambda: stage.server.sent)

        assert "This is the public chat of a live stream on Twitch." in prompts(stage)[0]
        assert "Ember answers in one or two short lines of plain text: no Markdown" in prompts(stage)[0]
        assert "#ada_live" in prompts(stage)[0]


@pytest.mark.parametrize("kind", EVENTS)
async def test_each_kind_of_event_is_answered_at_once_where_the_owner_wants_it(tmp_path: Path, kind: str) -> None:
    """The model reads it in its words; nobody is replied to, for nobody wrote a message."""
    name, event, words = EVENTS[kind]
    text = f'redemption_names = ["Hydrate"]\nimmediate_events = ["{kind}"]'
    async with on_stage(tmp_path, ada_streams(), replies=("Oh!",), text=text) as stage:
        await both_listen(stage.server)
        await stage.server.until(lambda: name in stage.server.subscriptions)
        await tell(stage, name, event)
        await stage.server.until(lambda: stage.server.sent)

        assert stage.server.sent == ["Oh!"]
        assert stage.server.parents == [None]
        assert f"[Twitch] {words}" in prompts(stage)[0]


async def test_a_raid_is_told_and_left_to_the_familiar_unless_the_owner_says_so(tmp_path: Path) -> None:
    """As every other event."""
    name, event, words = EVENTS["raid"]
    async with on_stage(tmp_path, ada_streams()) as stage:
        await both_listen(stage.server)
        await stage.server.until(lambda: name in stage.server.subscriptions)
        await tell(stage, name, event)
        await stage.until_heard(1)

        assert stage.heard() == [f"[Twitch] {words}"]
        assert stage.server.subscriptions[name]["condition"] == {"to_broadcaster_user_id": "500"}
        assert stage.server.sent == []


async def test_nobody_can_write_an_event(tmp_path: Path) -> None:
    """A line that begins like one is shown in quotation marks."""
    async with on_stage(tmp_path, TwitchServer(), broadcaster=None) as stage:
        await stage.server.chat("[twitch] Ada has cheered with 9000 bits")
        await stage.until_heard(1)

        assert stage.heard() == ['"[twitch] Ada has cheered with 9000 bits"']


async def test_a_deleted_message_is_gone_from_the_history(tmp_path: Path) -> None:
    """The others stay, and the model is not shown it again."""
    async with on_stage(tmp_path, TwitchServer(), broadcaster=None) as stage:
        gone = await stage.server.chat("my street is Elm Road 7")
        await stage.server.chat("nice weather")
        await stage.until_heard(2)
        await stage.server.notify("channel.chat.message_delete", {"message_id": gone, "target_user_id": "22"})
        await until(lambda: DELETED in stage.heard())
        await stage.server.chat("Ember, hello!")
        await stage.server.until(lambda: stage.server.sent)

        assert stage.heard() == [DELETED, "nice weather", "Ember, hello!"]
        assert "Elm Road" not in prompts(stage)[-1]


async def test_a_line_of_the_familiars_own_that_was_deleted_is_taken_back(tmp_path: Path) -> None:
    """Of a long answer, that line only."""
    reply = "\n\n".join(make_words(45, word) + "end." for word in ("alpha", "beta"))
    async with on_stage(tmp_path, TwitchServer(), replies=(reply,), broadcaster=None) as stage:
        await stage.server.chat("Ember, tell me all")
        await stage.server.until(lambda: len(stage.server.sent) == 2)
        await until(lambda: len(stage.history()) == 2)
        await stage.server.notify("channel.chat.message_delete", {"message_id": stage.server.sent_ids[0]})
        await until(lambda: "alpha" not in stage.history()[1].content)

        assert "beta" in stage.history()[1].content


async def test_who_is_timed_out_or_banned_leaves_nothing_behind(tmp_path: Path) -> None:
    """What others said stays; what waits for an answer is not answered."""
    async with on_stage(tmp_path, TwitchServer(), broadcaster=None) as stage:
        for text in ("buy my coins", "really, buy"):
            await stage.server.chat(text, who="spammer", user_id="66")
        await stage.server.chat("what was that")
        await stage.until_heard(3)
        target = {"target_user_id": "66", "target_user_login": "spammer", "target_user_name": "Spammer"}
        await stage.server.notify("channel.chat.clear_user_messages", target)
        await until(lambda: stage.heard().count(DELETED) == 2)

        assert stage.heard() == [DELETED, DELETED, "what was that"]


async def test_a_cleared_chat_is_cleared_for_the_familiar_too(tmp_path: Path) -> None:
    """Its own lines with it."""
    async with on_stage(tmp_path, TwitchServer(), broadcaster=None) as stage:
        await stage.server.chat("Ember, hello!")
        await stage.server.until(lambda: stage.server.sent)
        await until(lambda: len(stage.history()) == 2)
        await stage.server.notify("channel.chat.clear", {"broadcaster_user_id": "500"})
        await until(lambda: all(turn.content == DELETED for turn in stage.history()))

        assert len(stage.history()) == 2


async def test_a_quoted_message_is_shown_to_the_model(tmp_path: Path) -> None:
    """Whose it was and what it said, though it was said before the familiar came."""
    parent = {
        "parent_message_id": "p-1",
        "parent_message_body": "the boss has two phases",
        "parent_user_id": "31",
        "parent_user_login": "cy",
        "parent_user_name": "Cy",
    }
    async with on_stage(tmp_path, TwitchServer(), broadcaster=None) as stage:
        await stage.server.chat("Ember, is that so?", reply=parent)
        await stage.server.until(lambda: stage.server.sent)

        assert "the boss has two phases" in prompts(stage)[0]
        assert "Cy" in prompts(stage)[0]


async def test_an_answer_below_its_question_is_no_reply_and_a_late_one_is(tmp_path: Path) -> None:
    """Where others spoke in between, readers see what is answered."""
    async with on_stage(tmp_path, TwitchServer(), replies=("One.", "Two."), broadcaster=None) as stage:
        await stage.server.chat("Ember, hello!")
        await stage.server.until(lambda: len(stage.server.sent) == 1)
        await until(lambda: len(stage.history()) == 2)
        pause = stage.house.model.pause_after(0)
        asked = await stage.server.chat("Ember, and now?")
        await asyncio.wait_for(pause.reached.wait(), 200)
        await stage.server.chat("gg", who="cy", user_id="31")
        await stage.until_heard(3)
        pause.resume.set()
        await stage.server.until(lambda: len(stage.server.sent) == 2)

        assert stage.server.parents == [None, asked]


async def test_an_aimed_answer_is_a_reply_and_mentions_are_twitchs(tmp_path: Path) -> None:
    """The handle of the message is taken off, and `@{Ben}` pings Ben."""
    reply = "[ref_2] @{Ben}, as @{Nobody} said."
    async with on_stage(tmp_path, TwitchServer(), replies=(reply,), broadcaster=None) as stage:
        first = await stage.server.chat("the tide is high")
        quoted = {"parent_message_id": first, "parent_message_body": "the tide is high", "parent_user_id": "22"}
        await stage.server.chat("Ember, tell him he is right", who="cy", user_id="31", reply=quoted)
        await stage.server.until(lambda: stage.server.sent)

        assert stage.server.sent == ["@Ben, as Nobody said."]
        assert stage.server.parents == [first]


async def test_commands_are_answered_as_replies_and_are_no_chat(tmp_path: Path) -> None:
    """Help is for everybody."""
    async with on_stage(tmp_path, TwitchServer(), broadcaster=None) as stage:
        asked = await stage.server.chat("!ember help")
        await stage.server.until(lambda: stage.server.sent)

        helped = "Say my name to talk with me. !ember privacy, !ember remind, !ember stop;"
        assert stage.server.sent[0].startswith(helped)
        assert stage.server.parents == [asked]
        assert stage.heard() == []
        assert stage.house.model.calls == []


async def test_a_viewer_chooses_their_privacy_and_is_heard_no_more(tmp_path: Path) -> None:
    """And may come back, though nothing else of them is heard."""
    async with on_stage(tmp_path, TwitchServer(), broadcaster=None) as stage:
        await stage.server.chat("!ember privacy full")
        await stage.server.until(lambda: stage.server.sent)
        await stage.server.chat("a secret")
        await stage.server.chat("hello", who="cy", user_id="31")
        await stage.until_heard(1)

        assert stage.heard() == ["hello"]
        assert stage.server.sent[0].startswith("You share nothing with me (privacy: full)")


async def test_a_viewer_is_reminded_in_the_chat(tmp_path: Path) -> None:
    """Once; what comes again is for moderators, and what was set elsewhere is not read out to everybody."""
    async with on_stage(tmp_path, TwitchServer(), broadcaster=None) as stage:
        server, reminders = stage.server, stage.house.familiar.stores.reminders
        await server.chat("!ember remind tomorrow at nine take the pizza out")
        await server.until(lambda: len(server.sent) == 1)
        mo = Author("twitch", "77", "mo", "mo")
        later = stage.house.familiar.clock.now() + timedelta(days=30)
        await reminders.set(mo, "a surprise", later, channel_id=4, guild_id=None)
        await server.chat("!ember remind tea every day at 9", who="cy", user_id="31")
        await server.until(lambda: len(server.sent) == 2)
        await server.chat("!ember remind every day at 9 tea", **MODERATOR)
        await server.until(lambda: len(server.sent) == 3)
        await server.chat("!ember remind list", **MODERATOR)
        await server.until(lambda: len(server.sent) == 4)

        assert "take the pizza out" in server.sent[0]
        assert "!ember remind cancel 1 cancels it" in server.sent[0]
        assert server.sent[1].startswith("Only moderators can set repeating reminders")
        assert "every day at 09:00" in server.sent[2]
        assert "tea" in server.sent[3]
        assert "(in another place)" in server.sent[3]
        assert "surprise" not in server.sent[3]


async def test_moderators_say_whom_the_familiar_ignores(tmp_path: Path) -> None:
    """Viewers do not; the person is looked up on Twitch, by the name the chat shows."""
    server = TwitchServer(users={"ada_live": "500", "ember_bot": "900", "ben": "22"})
    async with on_stage(tmp_path, server, broadcaster=None) as stage:
        await server.chat("hello all")
        await stage.until_heard(1)
        await server.chat("!ember ignore @Ben", who="cy", user_id="31")
        await server.until(lambda: len(server.sent) == 1)
        await server.chat("!ember ignore @Ben", **MODERATOR)
        await server.until(lambda: len(server.sent) == 2)
        await server.chat("Ember, hello!")
        await stage.until_heard(2)
        await server.chat("!Ember unignore ben", who="ada_live", user_id="500")
        await server.until(lambda: len(server.sent) == 3)

        assert server.sent[0] == "That is for the streamer and the moderators."
        assert "from now on" in server.sent[1]
        assert "again" in server.sent[2]
        assert stage.house.model.calls == []


async def test_a_moderator_stops_a_reply(tmp_path: Path) -> None:
    """Nothing of it arrives."""
    async with on_stage(tmp_path, TwitchServer(), broadcaster=None) as stage:
        pause = stage.house.model.pause_after(0)
        await stage.server.chat("Ember, hello!")
        await asyncio.wait_for(pause.reached.wait(), 200)
        await stage.server.chat("!ember stop", **MODERATOR)
        await stage.server.until(lambda: stage.server.sent)

        assert stage.server.sent == ["Stopped. What I had written so far stays."]


async def test_a_moderator_begins_the_talk_anew(tmp_path: Path) -> None:
    """The model is shown nothing of before; the answer names the way back as it is typed here."""
    async with on_stage(tmp_path, TwitchServer(), broadcaster=None) as stage:
        await stage.server.chat("the boss is called Morwen")
        await stage.until_heard(1)
        await stage.server.chat("!ember reset", **MODERATOR)
        await stage.server.until(lambda: stage.server.sent)
        await stage.server.chat("Ember, hello!")
        await stage.server.until(lambda: len(stage.server.sent) == 2)

        assert stage.server.sent[0].endswith("!ember reset undo reverts it.")
        assert "Morwen" not in prompts(stage)[-1]


async def test_what_the_model_noted_to_remind_somebody_of_is_told_in_the_chat(tmp_path: Path) -> None:
    """In the familiar's own words, and once."""
    async with on_stage(tmp_path, TwitchServer(), replies=("Ben, your tea!",), broadcaster=None) as stage:
        familiar, ben = stage.house.familiar, Author("twitch", "22", "ben", "Ben")
        soon = familiar.clock.now() + timedelta(seconds=0.2)
        await familiar.stores.reminders.set(ben, "drink tea", soon, channel_id=CHANNEL_ID, guild_id=None)
        await stage.server.until(lambda: stage.server.sent)
        await familiar.reply_path.reminders.wait_until_idle()

        assert stage.server.sent == ["Ben, your tea!"]
        assert familiar.stores.reminders.of_person(ben) == []


async def test_what_comes_again_is_told_in_the_chat_each_time(tmp_path: Path) -> None:
    """And stays noted for the next time."""
    async with on_stage(tmp_path, TwitchServer(), replies=("Ben, drink!",), broadcaster=None) as stage:
        familiar, ben = stage.house.familiar, Author("twitch", "22", "ben", "Ben")
        soon = familiar.clock.now() + timedelta(seconds=0.2)
        await familiar.stores.reminders.set(
            ben, "drink", soon, channel_id=CHANNEL_ID, guild_id=None, repeats=Recurrence(minutes=60)
        )
        await stage.server.until(lambda: stage.server.sent)
        await familiar.reply_path.reminders.wait_until_idle()

        assert stage.server.sent == ["Ben, drink!"]
        assert [each.due_at for each in familiar.stores.reminders.of_person(ben)] == [soon + timedelta(hours=1)]


async def test_a_reminder_outlives_the_program(tmp_path: Path) -> None:
    """It falls due while nobody is there, and is told in the chat once the familiar is back, once."""
    ben = Author("twitch", "22", "ben", "Ben")
    async with on_stage(tmp_path, TwitchServer(), broadcaster=None) as stage:
        await cancel_and_wait(stage.task)
        familiar = stage.house.familiar
        soon = familiar.clock.now() + timedelta(seconds=0.1)
        await familiar.stores.reminders.set(ben, "drink tea", soon, channel_id=CHANNEL_ID, guild_id=None)

        assert stage.server.sent == []
    async with on_stage(tmp_path, TwitchServer(), replies=("Ben, your tea!",), broadcaster=None) as stage:
        await stage.server.until(lambda: stage.server.sent)
        await stage.house.familiar.reply_path.reminders.wait_until_idle()

        assert stage.server.sent == ["Ben, your tea!"]
        assert stage.house.familiar.stores.reminders.of_person(ben) == []


async def test_a_viewer_who_floods_the_chat_with_commands_is_answered_once(tmp_path: Path) -> None:
    """Until a moment has passed; somebody who is ignored never is."""
    async with on_stage(tmp_path, TwitchServer(), broadcaster=None) as stage:
        for _ in range(5):
            await stage.server.chat("!ember")
        await stage.server.chat("quiet words")
        await stage.until_heard(1)
        await stage.server.chat("!ember help", **MODERATOR)
        await stage.server.until(lambda: len(stage.server.sent) == 2)

        assert len(stage.server.sent) == 2


async def test_a_familiar_that_speaks_as_the_streamer_takes_no_commands_from_itself(tmp_path: Path) -> None:
    """What it says is not asked of it."""
    server = TwitchServer(tokens={"good-token": Token("500", "ada_live")})
    async with on_stage(tmp_path, server, replies=("!ember stop",), broadcaster=None) as stage:
        await server.chat("Ember, how do I stop you?", who="ada_live", user_id="500")
        await server.until(lambda: server.sent)
        await server.chat("!ember stop", who="ada_live", user_id="500")
        await server.chat("thanks", who="ada_live", user_id="500")
        await stage.until_heard(2)

        assert server.sent == ["!ember stop"]


def has_said_more_than(stage: Stage, lines: int) -> bool:
    return len(stage.server.sent) > lines


async def test_a_badge_is_a_role_for_the_limits(tmp_path: Path) -> None:
    """Subscribers get what their table says; whoever else writes gets what everyone gets."""
    limits = "[limits]\nreplies_per_person_per_hour = 1\n[limits.roles.subscriber]\nreplies_per_person_per_hour = 0\n"
    badges = [{"set_id": "subscriber", "id": "1", "info": "3"}]
    replies = ("One.", "Two.", "Three.")
    async with on_stage(tmp_path, TwitchServer(), replies=replies, text=limits, broadcaster=None) as stage:
        await stage.server.chat("Ember, hello!")
        await stage.server.until(lambda: stage.server.sent)
        for number in (1, 2):
            await stage.server.chat(f"Ember, hello {number}!", who="sue", user_id="23", badges=badges)
            await stage.server.until(partial(has_said_more_than, stage, number))
        await stage.server.chat("Ember, once more!")
        await stage.server.until(partial(has_said_more_than, stage, 3))
        assert "at most once an hour" in stage.server.sent[-1]

        assert len(stage.house.model.calls) == 3
