"""Talking on Discord: the real library against a Discord of our own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from familiar_connect.config import CharacterConfig
from familiar_connect.config.character import change_section
from familiar_connect.extensions.discord.demo.rights import SEND_MESSAGES
from familiar_connect.extensions.discord.demo.world import FORUM, PUBLIC_THREAD, FakePerson
from familiar_connect.extensions.discord.first_words import NOT_HERE
from familiar_connect.llm.scripted import ToolCallReply
from familiar_connect.llm.types import Capabilities
from tests.fakes.familiar_on_discord import familiar_on_discord
from tests.fakes.scripted_familiar import with_growing_replies
from tests.fakes.waiting import until


async def test_a_mention_is_heard_and_answered(tmp_path: Path) -> None:
    """Login, message, reply, record; under the writer's own name."""
    async with familiar_on_discord(tmp_path) as den:
        await den.mention("are you there?")
        said = await den.server.until_replied(den.room)
        await den.wait_until_idle()
        heard = den.history()[0]

        assert said == ["Hello, Ada."]
        assert den.roles_and_texts() == [("user", "are you there?"), ("assistant", "Hello, Ada.")]
        assert heard.author is not None
        assert heard.author.canonical_key == f"discord:{den.ada.id}"
        assert heard.author.label == "Ada"
        assert heard.guild_id == den.guild.id


async def test_nobody_is_pinged_by_what_the_familiar_says(tmp_path: Path) -> None:
    """Whatever the model writes, mentions in it reach nobody."""
    async with familiar_on_discord(tmp_path, ["@everyone listen!"]) as den:
        await den.mention("call them all")
        await den.server.until_replied(den.room)
        asked = den.server.facts_of("posted")[0]["asked"]

        assert asked["allowed_mentions"]["parse"] == []


async def test_typing_is_shown_while_the_reply_is_made(tmp_path: Path) -> None:
    """Until the words are there."""
    async with familiar_on_discord(tmp_path) as den:
        thinking = den.model.pause_after(0)
        await den.mention("think about it")
        await den.server.until(lambda: den.server.facts_of("typing"))
        thinking.resume.set()
        await den.server.until_replied(den.room)

        assert den.server.facts_of("typing")[0] == {"room": den.room.id}


async def test_a_long_reply_comes_in_pieces_discord_takes(tmp_path: Path) -> None:
    """Two thousand characters are the limit; not a word is lost."""
    words = " ".join(f"word{number}" for number in range(600))

    async with familiar_on_discord(tmp_path, [words]) as den:
        await den.mention("tell me everything")
        await den.server.until(lambda: " ".join(den.server.replies_in(den.room)).split() == words.split())

        assert all(len(piece) <= 2000 for piece in den.server.replies_in(den.room))


async def test_a_reply_may_grow_in_one_message(tmp_path: Path) -> None:
    """Posted with the first words, edited until all are there."""
    async with familiar_on_discord(tmp_path, ["One two three four."], settings=with_growing_replies) as den:
        waiting = den.model.pause_after(2)
        await den.mention("count")
        first = await den.server.until_replied(den.room)
        waiting.resume.set()
        await den.server.until(lambda: den.server.facts_of("edited"))
        await den.wait_until_idle()
        shown = [message["content"] for message in den.room.messages.values() if message["author"]["bot"]]

        assert len(first) == 1
        assert shown == ["One two three four."]
        assert den.roles_and_texts()[-1] == ("assistant", "One two three four.")


async def test_a_message_of_four_thousand_characters_is_heard_whole(tmp_path: Path) -> None:
    """People with subscriptions may write that much."""
    long = "tell me about badgers " * 180

    async with familiar_on_discord(tmp_path) as den:
        await den.mention(long)
        await den.server.until_replied(den.room)

        assert den.roles_and_texts()[0][1] == long


async def test_messages_keep_their_order_in_a_burst(tmp_path: Path) -> None:
    """Fifty at once are stored as they were said."""
    async with familiar_on_discord(tmp_path) as den:
        for number in range(50):
            await den.server.post(den.room, den.ada, f"line {number}")
        await den.wait_stored("line 49")

        assert [words for role, words in den.roles_and_texts() if role == "user"] == [
            f"line {number}" for number in range(50)
        ]


async def test_bots_and_our_own_words_are_not_heard(tmp_path: Path) -> None:
    """Only people are listened to."""
    async with familiar_on_discord(tmp_path) as den:
        robot = den.server.world.person("robot", is_bot=True)
        await den.mention("beep", who=robot)
        await den.mention("hello")
        await den.server.until_replied(den.room)
        await den.wait_until_idle()

        assert den.roles_and_texts() == [("user", "hello"), ("assistant", "Hello, Ada.")]


async def test_another_familiars_bot_is_heard_by_name_and_not_answered_for_ever(tmp_path: Path) -> None:
    """One that `hears_bots` names: its words are a named person's in the prompt, and replies to it come to an end."""
    wren = FakePerson(4242, "wren", "Wren", is_bot=True)

    def settings(config: CharacterConfig) -> CharacterConfig:
        return change_section(config, "discord", hears_bots=["4242"], bot_reply_limit=2)

    async with familiar_on_discord(tmp_path, ["Hello, Ada.", "Wren!", "Ada!"], settings=settings) as den:
        await den.mention("hello")
        await den.server.until(lambda: len(den.server.replies_in(den.room)) == 1)
        await den.mention("psst", who=wren)
        await den.server.until(lambda: len(den.server.replies_in(den.room)) == 2)
        await den.wait_until_idle()
        shown = [(each.role, str(each.content)) for each in den.model.calls[-1]]
        assert any(role == "user" and "Wren: " in text and "psst" in text for role, text in shown)
        assert not any(role == "assistant" and "psst" in text for role, text in shown)

        await den.mention("and on and on", who=wren)
        await den.wait_stored("and on and on")
        await den.wait_until_idle()
        assert len(den.model.calls) == 2
        await den.mention("still there?")
        await den.server.until(lambda: len(den.server.replies_in(den.room)) == 3)
        await den.wait_until_idle()

        heard = [turn.author.label for turn in den.history() if turn.author is not None]
        assert heard == ["Ada", "Wren", "Wren", "Ada"]


async def test_channels_nobody_subscribed_are_not_heard(tmp_path: Path) -> None:
    """Not even when we are mentioned: that is told where it is asked, and no model is."""
    async with familiar_on_discord(tmp_path) as den:
        elsewhere = den.server.world.room(den.guild, "elsewhere")
        await den.server.gateway.dispatch("CHANNEL_CREATE", elsewhere.payload())
        await den.mention("psst", room=elsewhere)
        await den.mention("hello")
        await den.server.until_replied(den.room)

        assert await den.server.until_replied(elsewhere) == [NOT_HERE]
        assert den.history(elsewhere) == []
        assert len(den.model.calls) == 1


async def test_threads_and_forum_posts_are_channels_of_their_own(tmp_path: Path) -> None:
    """Each under its own label."""
    async with familiar_on_discord(tmp_path, ["one", "two"], arrive=False) as den:
        world = den.server.world
        forum = world.room(den.guild, "questions", kind=FORUM)
        thread = world.room(den.guild, "badgers", kind=PUBLIC_THREAD, parent_id=den.room.id)
        post = world.room(den.guild, "how to dig", kind=PUBLIC_THREAD, parent_id=forum.id)
        for room in (thread, post):
            den.subscribe(room)
        await den.connect()
        await den.mention("here?", room=thread)
        await den.mention("and here?", room=post)
        await den.server.until_replied(thread)
        await den.server.until_replied(post)

        assert den.familiar.labels.format_channel_context(thread.id) == "#general -> badgers"
        assert den.familiar.labels.format_channel_context(post.id) == "forum:questions -> how to dig"


async def test_the_owner_may_write_directly_and_others_may_not(tmp_path: Path) -> None:
    """`[discord].dms` is `owner` unless set."""
    async with familiar_on_discord(tmp_path) as den:
        theirs = den.server.world.direct_room(den.ada)
        owners = den.server.world.direct_room(den.server.world.owner)
        await den.server.post(theirs, den.ada, "let me in")
        await den.server.post(owners, den.server.world.owner, "how are you?")
        await den.server.until_replied(owners)

        assert den.history(theirs) == []
        assert den.history(owners)[0].content == "how are you?"
        assert den.familiar.labels.format_channel_context(owners.id) == "DM:Owner"


async def test_several_servers_are_served_at_once(tmp_path: Path) -> None:
    """Each channel gets its own answer."""
    async with familiar_on_discord(tmp_path, lambda messages: "I hear you", arrive=False) as den:
        other = den.server.world.guild("The Warren")
        hall = den.server.world.room(other, "hall")
        den.subscribe(hall)
        await den.connect()
        await den.mention("one")
        await den.mention("two", room=hall)

        assert await den.server.until_replied(den.room) == ["I hear you"]
        assert await den.server.until_replied(hall) == ["I hear you"]
        assert den.history(hall)[0].guild_id == other.id


async def test_a_recommended_number_of_shards_is_used(tmp_path: Path) -> None:
    """Every shard identifies, and events of any reach us."""
    async with familiar_on_discord(tmp_path, arrive=False) as den:
        den.server.api.shards = 2
        await den.connect()
        await den.server.until(lambda: len(den.server.gateway.sessions) == 2)
        await den.mention("hello")

        assert await den.server.until_replied(den.room) == ["Hello, Ada."]


async def test_a_name_nobody_can_see_is_no_name(tmp_path: Path) -> None:
    """Zero-width names fall back to what can be read."""
    async with familiar_on_discord(tmp_path) as den:
        ghost = den.server.world.person("ghost_42", "\u200b\u200d\u3164")
        await den.mention("boo", who=ghost)
        await den.server.until_replied(den.room)
        author = den.history()[0].author

        assert author is not None
        assert author.label == "ghost_42"


async def test_a_reply_to_us_is_meant_for_us(tmp_path: Path) -> None:
    """Without any mention."""
    async with familiar_on_discord(tmp_path, ["First.", "Second."]) as den:
        await den.mention("hello")
        await den.server.until_replied(den.room)
        await den.wait_until_idle()
        ours = den.server.facts_of("posted")[0]["message"]
        await den.server.reply(den.room, den.ada, "why?", to=ours)

        assert await den.server.until_replied(den.room, 2) == ["First.", "Second."]


async def test_a_channel_closed_to_us_costs_no_model_call_and_the_owner_is_told(tmp_path: Path) -> None:
    """The right to send was taken away."""
    async with familiar_on_discord(tmp_path, arrive=False) as den:
        den.room.denied = SEND_MESSAGES
        await den.connect()
        await den.mention("hello?")
        owners = den.server.world.direct_room(den.server.world.owner)
        told = await den.server.until_replied(owners, 2)

        assert [each for each in told if "lacks the right to send" in each]
        assert den.model.calls == []


async def test_a_server_that_throws_us_out_during_a_reply_ends_only_that_reply(tmp_path: Path) -> None:
    """The owner is told, and other servers go on."""
    async with familiar_on_discord(tmp_path, lambda messages: "Here I am.", arrive=False) as den:
        hall = den.server.world.room(den.server.world.guild("The Warren"), "hall")
        den.subscribe(hall)
        await den.connect()
        held = den.server.faults.add_hold("POST", f"/channels/{den.room.id}/messages")
        await den.mention("hello")
        await held.reached.wait()
        await den.server.remove_guild(den.guild)
        assert held.until is not None
        held.until.set()
        owners = den.server.world.direct_room(den.server.world.owner)
        told = await den.server.until_replied(owners, 2)
        await den.mention("and you?", room=hall)

        assert [each for each in told if "the channel is gone" in each]
        assert await den.server.until_replied(hall) == ["Here I am."]
        await until(lambda: den.roles_and_texts() == [("user", "hello")])


async def test_a_sticker_of_the_server_is_sent(tmp_path: Path) -> None:
    """By the model that was told of it; the words follow."""
    wave = ToolCallReply((("send_sticker", {"name": "Wave"}),))

    able = Capabilities(tools=True)
    async with familiar_on_discord(
        tmp_path,
        [wave, "There you go."],
        arrive=False,
        capabilities=able,
        settings=lambda config: replace(config, tools=("send_sticker",)),
    ) as den:
        den.guild.stickers[902] = "wave"
        await den.connect()
        await den.mention("wave at me")
        await den.server.until(lambda: "There you go." in den.server.replies_in(den.room))
        posted = den.server.facts_of("posted")

        assert posted[0]["asked"]["sticker_ids"] == [902]
        assert '"wave"' in "\n".join(message.content for message in den.model.calls[0])


async def test_stickers_are_not_told_of_where_they_cannot_be_sent(tmp_path: Path) -> None:
    """The owner has switched no such tool on."""
    async with familiar_on_discord(tmp_path, arrive=False) as den:
        den.guild.stickers[902] = "wave"
        await den.connect()
        await den.mention("wave at me")
        await den.server.until_replied(den.room)

        assert "Stickers of this server" not in "\n".join(message.content for message in den.model.calls[0])
