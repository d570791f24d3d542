"""Who and what is heard on Discord: what was said before, threads, webhooks that stand for people."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from familiar_connect.config import CharacterConfig
from familiar_connect.config.character import change_section
from familiar_connect.extensions.discord import adapter
from familiar_connect.extensions.discord.demo.world import FORUM, PUBLIC_THREAD, VOICE_MESSAGE_FLAG, FakePerson
from familiar_connect.history.types import DELETED
from tests.fakes.familiar_on_discord import familiar_on_discord
from tests.fakes.waiting import until

PROXY = 466378653216014359
"""An application that posts for people."""


def with_discord(**changes: Any) -> Any:
    """Settings of [discord]."""

    def changed(config: CharacterConfig) -> CharacterConfig:
        return change_section(config, "discord", **changes)

    return changed


async def test_what_was_said_before_is_read_on_subscribing_and_answers_nobody(tmp_path: Path) -> None:
    """Up to the setting, in order and once; whoever called it back then is not answered now."""
    settings = with_discord(history_on_subscribe=3, hello=False)
    async with familiar_on_discord(tmp_path, ["Now."], settings=settings) as den:
        hall = den.server.world.room(den.guild, "hall")
        await den.server.gateway.dispatch("CHANNEL_CREATE", hall.payload())
        for number in range(5):
            await den.mention(f"old {number}", room=hall)
        told = await den.server.until_answered(await den.server.command(hall, den.ada, "subscribe-text"))
        await den.wait_stored("old 4", room=hall)
        await den.mention("new", room=hall)
        await den.server.until_replied(hall)
        await den.wait_until_idle(hall)

        assert "read what was said here before" in str(told)
        assert [words for _, words in den.roles_and_texts(hall)] == ["old 2", "old 3", "old 4", "new", "Now."]
        assert '"is_past":true' in (den.history(hall)[0].facts or "")
        assert den.history(hall)[3].facts is None or "is_past" not in (den.history(hall)[3].facts or "")


async def test_threads_and_posts_follow_the_channel_they_are_in(tmp_path: Path) -> None:
    """Heard and answered without a subscription of their own, with the channel's settings."""
    async with familiar_on_discord(tmp_path, lambda messages: "Here.", arrive=False) as den:
        world = den.server.world
        forum = world.room(den.guild, "questions", kind=FORUM)
        thread = world.room(den.guild, "badgers", kind=PUBLIC_THREAD, parent_id=den.room.id)
        post = world.room(den.guild, "elsewhere", kind=PUBLIC_THREAD, parent_id=forum.id)
        (den.familiar.root / "channels" / f"{den.room.id}.toml").write_text(
            'mode = "full_rp"\n[typing_simulation]\nenabled = false\n', encoding="utf-8"
        )
        await den.connect()
        await den.mention("here?", room=thread)
        await den.mention("and here?", room=post)
        await den.server.until_replied(thread)
        await den.wait_until_idle(thread)

        assert den.history(thread)[0].mode == "full_rp"
        assert den.history(post) == []


async def say_for(den: Any, name: str, text: str, **more: Any) -> None:
    """Somebody speaks through a webhook under *name*."""
    puppet = FakePerson(71, name, name, is_bot=True)
    await den.server.post(den.room, puppet, text, webhook_id="71", **more)


async def test_people_behind_a_webhook_of_an_application_are_people(tmp_path: Path) -> None:
    """Each name is somebody of their own, who is answered; a plain webhook is not heard."""
    async with familiar_on_discord(tmp_path, ["Hello, Fern.", "Hello, Moss."]) as den:
        mention = f"<@{den.server.world.bot.id}>"
        await say_for(den, "GitHub", "[repo] 1 new commit")
        await say_for(den, "Fern", f"{mention} hi from Fern", application_id=str(PROXY))
        await den.server.until_replied(den.room)
        await den.wait_until_idle()
        await say_for(den, "Moss", f"{mention} hi from Moss", application_id=str(PROXY))
        await den.server.until_replied(den.room, 2)
        people = [turn.author for turn in den.history() if turn.author is not None]

        assert [person.label for person in people] == ["Fern", "Moss"]
        assert len({person.canonical_key for person in people}) == 2
        shown = "\n".join(message.content for message in den.model.calls[1])
        assert "Fern: " in shown
        assert "- Moss" in shown


async def test_a_webhook_under_the_familiars_name_is_told_apart(tmp_path: Path) -> None:
    """A name makes nobody the familiar."""
    async with familiar_on_discord(tmp_path, ["Who?"]) as den:
        await say_for(den, "Ember", f"<@{den.server.world.bot.id}> I am you", application_id=str(PROXY))
        await den.server.until_replied(den.room)

        assert "Ember (webhook): " in den.model.calls[0][-1].content


async def test_webhooks_may_be_left_unheard(tmp_path: Path) -> None:
    """By `[discord].webhooks`."""
    async with familiar_on_discord(tmp_path, ["Hello."], settings=with_discord(webhooks="off")) as den:
        await say_for(den, "Fern", "unheard", application_id=str(PROXY))
        await den.mention("hi")
        await den.server.until_replied(den.room)
        await den.wait_until_idle()

        assert den.roles_and_texts() == [("user", "hi"), ("assistant", "Hello.")]


async def test_people_behind_a_webhook_have_people_files_of_their_own(tmp_path: Path) -> None:
    """What Fern and Moss tell of themselves is written up for each, as for anybody."""
    async with familiar_on_discord(tmp_path, lambda messages: "Noted.") as den:
        await say_for(den, "Fern", "I live in Oslo and I work as a baker.", application_id=str(PROXY))
        await say_for(den, "Moss", "I live in Turin and I work as a diver.", application_id=str(PROXY))
        await den.wait_stored("Turin")
        left = await den.server.command(den.room, den.ada, "unsubscribe-text")
        await den.server.until_answered(left, 2)
        memory = den.familiar.memory_store
        files = {path: memory.read_file(path) for path in memory.glob("people/*.md")}

        assert [path for path, text in files.items() if "Oslo" in text and "Turin" not in text]
        assert [path for path, text in files.items() if "Turin" in text and "Oslo" not in text]


async def test_a_purge_takes_back_what_people_and_the_familiar_said(tmp_path: Path) -> None:
    """Many messages deleted at once: no prompt shows them any more."""
    async with familiar_on_discord(tmp_path, ["PLUGH is ours.", "Fresh."]) as den:
        asked = await den.mention("the word is XYZZY")
        await den.server.until_replied(den.room)
        await den.wait_until_idle()
        ours = den.server.facts_of("posted")[0]["message"]
        await den.server.delete(den.room, asked, ours)
        await until(lambda: [words for _, words in den.roles_and_texts()] == [DELETED] * 2)
        await den.mention("what did we say?")
        await den.server.until_replied(den.room, 2)

        shown = "\n".join(message.content for message in den.model.calls[1])
        assert "PLUGH" not in shown
        assert "XYZZY" not in shown


async def test_a_forum_is_subscribed_in_one_of_its_posts(tmp_path: Path) -> None:
    """Every post follows it, what was said in them before is read, and the same command's opposite ends it."""
    async with familiar_on_discord(tmp_path, lambda messages: "Here.", arrive=False) as den:
        world = den.server.world
        forum = world.room(den.guild, "questions", kind=FORUM)
        old = world.room(den.guild, "badgers", kind=PUBLIC_THREAD, parent_id=forum.id)
        world.message(old, den.ada, "how do badgers dig?")
        await den.connect()
        refused = await den.server.until_answered(await den.server.command(den.room, den.ada, "subscribe-forum"))
        told = await den.server.until_answered(await den.server.command(old, den.ada, "subscribe-forum"))
        await den.wait_stored("how do badgers dig?", room=old)
        new = world.room(den.guild, "moles", kind=PUBLIC_THREAD, parent_id=forum.id)
        await den.server.gateway.dispatch("THREAD_CREATE", new.payload() | {"newly_created": True})
        await den.mention("and moles?", room=new)
        await den.server.until_replied(new)
        left = await den.server.until_answered(await den.server.command(new, den.ada, "unsubscribe-forum"), 2)

        assert "not a forum post" in str(refused)
        assert "every post of #questions" in str(told)
        assert '"is_past":true' in (den.history(old)[0].facts or "")
        assert "no longer listen to this forum" in str(left)


async def test_a_post_opened_while_it_was_away_is_heard_and_answered(tmp_path: Path) -> None:
    """A post of a subscribed forum that is new to the familiar."""
    async with familiar_on_discord(tmp_path, ["Welcome."], arrive=False) as den:
        forum = den.server.world.room(den.guild, "questions", kind=FORUM)
        den.subscribe(forum)
        post = den.server.world.room(den.guild, "new here", kind=PUBLIC_THREAD, parent_id=forum.id)
        await den.mention("anybody there?", room=post)
        await den.connect()

        assert await den.server.until_replied(post) == ["Welcome."]


async def test_a_long_absence_is_read_on_in_the_background(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last ones are heard first and answered; earlier ones, up to the setting, are searched and remembered only."""
    monkeypatch.setattr(adapter, "MAX_MISSED", 10)
    settings = with_discord(history_on_return=120)
    async with familiar_on_discord(tmp_path, ["Hi.", "Back."], settings=settings) as den:
        await den.mention("see you")
        await den.server.until_replied(den.room)
        await den.wait_until_idle()
        await den.disconnect()
        for number in range(149):
            den.server.world.message(den.room, den.ben, f"while away {number:03d}")
        await den.mention("are you back?")
        assert den.platform is not None
        async with den.platform._past._one_at_a_time:  # nothing is read on meanwhile
            await den.connect()
            await den.server.until(lambda: "Back." in den.server.replies_in(den.room))
            assert belated(den) == []
        await until(lambda: len(belated(den)) == 120)
        shown = [turn.content for turn in den.history()]

        assert belated(den) == [f"while away {number:03d}" for number in range(20, 140)]
        assert [text for text in shown if "while away" in text] == [f"while away {n:03d}" for n in range(140, 149)]


def belated(den: Any) -> list[str]:
    """What was read after newer messages were stored, in order."""
    rows = den.familiar.history_store.database.read("SELECT content FROM turns WHERE mark = 'belated' ORDER BY id")
    return [row[0] for row in rows]


class ScriptedTranscriber:
    """Hears the same words in every recording."""

    def __init__(self, words: str) -> None:
        self.words = words
        self.heard: list[tuple[bytes, str]] = []

    async def transcribe(self, audio: bytes, media_type: str) -> str:
        self.heard.append((audio, media_type))
        return self.words


async def say_by_voice(den: Any) -> None:
    """Ada records a message of seven seconds."""
    spoken = den.server.attachment(
        "voice-message.ogg", b"OggS recording", "audio/ogg", duration_secs=7.2, waveform="AA"
    )
    await den.server.post(den.room, den.ada, "", attachments=[spoken], flags=VOICE_MESSAGE_FLAG)
    await until(lambda: len(den.history()) == 1)
    await den.mention("did you hear?")
    await den.server.until_replied(den.room)


async def test_a_voice_message_is_transcribed_where_a_transcriber_is_there(tmp_path: Path) -> None:
    """The recording itself is listened to, once, and its words are shown as Ada's with their length."""
    ears = ScriptedTranscriber("the kettle is on")
    async with familiar_on_discord(tmp_path, lambda messages: "Yes.", transcriber=ears) as den:
        await say_by_voice(den)
        await den.wait_until_idle()
        await den.mention("and now?")
        await den.server.until_replied(den.room, 2)

        shown = "\n".join(message.content for message in den.model.calls[0])
        assert '[System: this was a voice message of Ada (0:07): "the kettle is on"]' in shown
        assert ears.heard == [(b"OggS recording", "audio/ogg")]


async def test_without_a_transcriber_a_voice_message_is_told_of(tmp_path: Path) -> None:
    """Plainly, with its length, and nothing is fetched."""
    async with familiar_on_discord(tmp_path, lambda messages: "No.") as den:
        await say_by_voice(den)

        shown = "\n".join(message.content for message in den.model.calls[0])
        assert "[System: Ada sent a voice message (0:07) that was not transcribed]" in shown
        assert den.server.facts_of("fetched") == []
