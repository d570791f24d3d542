"""Who and what is heard on Discord: what was said before, threads, webhooks that stand for people."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from familiar_connect.config import CharacterConfig
from familiar_connect.testing.discord_server.world import FORUM, PUBLIC_THREAD, FakePerson
from tests.fakes.familiar_on_discord import familiar_on_discord

PROXY = 466378653216014359
"""An application that posts for people."""


def with_discord(**changes: Any) -> Any:
    """Settings of [discord]."""

    def changed(config: CharacterConfig) -> CharacterConfig:
        return replace(config, discord=replace(config.discord, **changes))

    return changed


async def test_what_was_said_before_is_read_on_subscribing_and_answers_nobody(tmp_path: Path) -> None:
    """Up to the setting, in order and once; whoever called it back then is not answered now."""
    settings = with_discord(history_on_subscribe=3)
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
