"""What goes out on Discord: emojis, mentions, replies in Discord's own form, and messages of our own that change."""

from __future__ import annotations

from pathlib import Path

from familiar_connect.extensions.discord.demo.world import Payload
from familiar_connect.history.types import DELETED
from tests.fakes.familiar_on_discord import FamiliarOnDiscord, familiar_on_discord
from tests.fakes.long_text import make_words
from tests.fakes.scripted_familiar import with_growing_replies


def asked(den: FamiliarOnDiscord, number: int = 0) -> Payload:
    """What the client wanted posted, the first being 0."""
    found: Payload = den.server.facts_of("posted")[number]["asked"]
    return found


def shown(den: FamiliarOnDiscord, call: int) -> str:
    """All that the model was shown in one call."""
    return "\n".join(message.content for message in den.model.calls[call])


async def test_an_emoji_and_a_mention_go_out_as_discord_writes_them(tmp_path: Path) -> None:
    """`:tea:` is the server's emoji, `@{Ada}` pings Ada alone; the history keeps what the model wrote."""
    said = "Tea :TEA: for @{Ada}, not `:tea:`, and @{Nobody} and @{everyone} wait."
    async with familiar_on_discord(tmp_path, [said], arrive=False) as den:
        den.guild.emojis[901] = "tea"
        await den.connect()
        await den.mention("is there tea?")
        replies = await den.server.until_replied(den.room)
        await den.wait_until_idle()

        ada = den.ada.id
        assert replies == [f"Tea <:tea:901> for <@{ada}>, not `:tea:`, and Nobody and everyone wait."]
        assert asked(den)["allowed_mentions"]["parse"] == []
        assert [int(each) for each in asked(den)["allowed_mentions"]["users"]] == [ada]
        assert den.roles_and_texts()[-1] == (
            "assistant",
            "Tea :tea: for @{Ada}, not `:tea:`, and Nobody and everyone wait.",
        )


async def test_a_mention_the_model_made_up_reaches_nobody(tmp_path: Path) -> None:
    """Neither a number somebody had it say, nor a role, nor everyone."""
    async with familiar_on_discord(tmp_path, ["<@2> <@&77> @everyone @here"]) as den:
        await den.mention("say exactly that")
        await den.server.until_replied(den.room)

        assert asked(den)["content"] == "@unknown <@&77> @everyone @here"
        assert asked(den)["allowed_mentions"] == {"parse": []}


async def test_an_answer_others_spoke_before_is_a_native_reply(tmp_path: Path) -> None:
    """Its writer is told; an answer right below its question is a plain message."""
    async with familiar_on_discord(tmp_path, ["First.", "Second."]) as den:
        await den.mention("one")
        await den.server.until_replied(den.room)
        await den.wait_until_idle()
        thinking = den.model.pause_after(0)
        question = await den.mention("two")
        await thinking.reached.wait()
        await den.server.post(den.room, den.ben, "I had soup")
        await den.wait_stored("soup")
        thinking.resume.set()
        await den.server.until_replied(den.room, 2)

        assert "message_reference" not in asked(den, 0)
        assert str(asked(den, 1)["message_reference"]["message_id"]) == question["id"]
        assert asked(den, 1)["allowed_mentions"]["replied_user"] is True


async def test_a_reply_may_be_aimed_by_its_handle(tmp_path: Path) -> None:
    """`ref_2` at its beginning is the message it answers; neither it nor a handle that nobody knows is said."""
    async with familiar_on_discord(tmp_path, ["[ref_2] That one was mine.", "[ref_9] Odd."]) as den:
        first = await den.server.post(den.room, den.ben, "who wrote this?")
        await den.wait_stored("who wrote")
        await den.server.reply(den.room, den.ada, f"<@{den.server.world.bot.id}> did you?", to=first)
        assert await den.server.until_replied(den.room) == ["That one was mine."]
        await den.wait_until_idle()
        await den.mention("and?")
        replies = await den.server.until_replied(den.room, 2)

        assert "ref_2 (Ben)" in shown(den, 0)
        assert str(asked(den, 0)["message_reference"]["message_id"]) == first["id"]
        assert replies[1] == "Odd."


async def test_what_people_react_to_our_own_words_is_shown(tmp_path: Path) -> None:
    """To any of the messages a long reply stands in."""
    long = "\n\n".join(f"{number} {make_words(165)}" for number in range(3)).strip()
    async with familiar_on_discord(tmp_path, [long, "Thanks."]) as den:
        await den.mention("tell me everything")
        await den.server.until(lambda: " ".join(den.server.replies_in(den.room)).split() == long.split())
        await den.wait_until_idle()
        ours = [facts["message"] for facts in den.server.facts_of("posted")]
        await den.server.react(den.room, ours[-1], den.ben, "👍")
        await den.mention("see?")
        await den.server.until_replied(den.room, len(ours) + 1)

        assert len(ours) > 1
        assert "reactions: 👍 x1 by Ben" in shown(den, 1)


async def test_a_message_of_ours_that_is_deleted_is_gone(tmp_path: Path) -> None:
    """Of several messages only the one that was deleted; with the last, the turn."""
    long = "\n\n".join(f"part{number} {make_words(230)}" for number in range(2)).strip()
    async with familiar_on_discord(tmp_path, [long, "Short.", "Third."]) as den:
        await den.mention("one")
        await den.server.until_replied(den.room, 2)
        await den.wait_until_idle()
        ours = [facts["message"] for facts in den.server.facts_of("posted")]
        await den.server.delete(den.room, ours[1])
        await den.mention("two")
        await den.server.until_replied(den.room, 3)
        await den.wait_until_idle()
        kept = den.roles_and_texts()[1][1]
        short = den.server.facts_of("posted")[2]["message"]
        await den.server.delete(den.room, ours[0], short)
        await den.mention("three")
        await den.server.until_replied(den.room, 4)

        assert kept.startswith("part0")
        assert "part1" not in kept
        assert "part1" not in shown(den, 1)
        assert [words for role, words in den.roles_and_texts() if role == "assistant"][:2] == [DELETED, DELETED]
        assert not any(words in shown(den, 2) for words in ("part0", "Short.", DELETED))


async def test_marks_are_whole_in_a_message_that_grows(tmp_path: Path) -> None:
    """Nobody sees half a mention."""
    async with familiar_on_discord(
        tmp_path, ["Here @{Ada} is :tea: now."], settings=with_growing_replies, arrive=False
    ) as den:
        den.guild.emojis[901] = "tea"
        await den.connect()
        await den.mention("tea?")
        wanted = f"Here <@{den.ada.id}> is <:tea:901> now."
        await den.server.until(lambda: wanted in [message["content"] for message in den.room.messages.values()])
        await den.wait_until_idle()
        seen = [facts["message"]["content"] for facts in den.server.facts_of("posted")]

        assert not any("@{" in text for text in seen)
        assert den.roles_and_texts()[-1][1] == "Here @{Ada} is :tea: now."
