"""Orders on Discord through the real library: marks, reminders, help and what is known of whom."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from familiar_connect.audience import between
from familiar_connect.llm.types import Message
from familiar_connect.slash.command import MAY_NOT_CONTROL
from familiar_connect.support.clock import ManualClock
from tests.extensions.discord.test_commands import is_private, used, words
from tests.extensions.discord.test_controls import asked, shown, use
from tests.fakes.familiar_on_discord import familiar_on_discord


def files_with(home: Path, word: bytes) -> list[str]:
    return [path.name for path in home.rglob("*") if path.is_file() and word in path.read_bytes()]


async def test_a_chat_is_begun_anew_and_back_again(tmp_path: Path) -> None:
    """To the asker alone, by who may manage the channel; nothing that stands in the channel changes."""
    async with familiar_on_discord(tmp_path, ("Aye.", "Hm.", "Oh.")) as den:
        await asked(den, "My boat is called Pickle.", 1)
        refused = await used(den, "reset", who=den.ben, may_manage=False)
        assert words(refused[-1]) == MAY_NOT_CONTROL.format(section="discord")
        answer = (await used(den, "reset"))[-1]
        assert is_private(answer)
        assert "starts over" in words(answer)

        await asked(den, "Good morning.", 2)
        assert "Pickle" not in "".join(message.content for message in den.model.calls[-1])
        den.familiar.reply_path.collector.flush()
        trace = den.familiar.reply_path.collector.last_trace("ember")
        assert trace is not None
        assert "begun_anew" in trace.tags, "`/context` and `familiar inspect` show it"
        assert "I see again what was said here" in await use(den, "reset", choice="undo")
        await asked(den, "Well?", 3)
        assert "Pickle" in "".join(message.content for message in den.model.calls[-1])


async def test_a_chat_is_compacted_to_a_summary(tmp_path: Path) -> None:
    """What was said is told in a few words from the next reply on."""
    async with familiar_on_discord(tmp_path, ("Aye.", "Hm.", "Oh.")) as den:
        await asked(den, "We decided to meet at the lake tomorrow at 9.", 1)
        assert "We decided to meet at the lake" in await use(den, "compact")

        await asked(den, "And now?", 2)
        prompt = "".join(message.content for message in den.model.calls[-1])
        assert "Summary of what was said before: " in prompt
        assert "Aye." not in prompt


async def test_a_reminder_is_told_where_it_was_asked_for_with_a_ping(tmp_path: Path) -> None:
    """Confirmed to the asker alone; kept on disk; told late after a downtime, in the familiar's words."""
    clock = ManualClock(datetime(2026, 3, 1, 8, 0, tzinfo=UTC))
    async with familiar_on_discord(tmp_path, ("Your kettle!",), clock=clock) as den:
        answer = (await used(den, "remind", when="in 20 minutes", text="take the kettle off", who=den.ben))[-1]
        assert is_private(answer)
        assert "2026-03-01 at 08:20 (UTC): take the kettle off" in words(answer)
        assert [each.purpose for each in den.familiar.stores.reminders.of_channel(den.room.id)] == [
            "take the kettle off"
        ]
        await den.disconnect()
        clock.advance(3600)
        await den.connect()
        await den.server.until_replied(den.room, 1)
        await den.familiar.reply_path.reminders.wait_until_idle()

        assert shown(den) == [f"<@{den.ben.id}> Your kettle!"]
        prompt = "".join(message.content for message in den.model.calls[-1])
        assert 'remind Ben now, mentioning them as @Ben: "take the kettle off"' in prompt
        assert "this was due 40 minutes ago; say that it comes late" in prompt
        assert words((await used(den, "remind", when="list", who=den.ben))[-1]).startswith("You have no reminders.")


async def test_a_reminder_comes_again_until_it_is_taken_back(tmp_path: Path) -> None:
    """Told once after a downtime, however many times passed; the next one is on time."""
    clock = ManualClock(datetime(2026, 3, 1, 8, 0, tzinfo=UTC))
    async with familiar_on_discord(tmp_path, ("Late, but: water!", "Water!"), clock=clock) as den:
        answer = (await used(den, "remind", when="every 2 hours", text="drink water", who=den.ben))[-1]
        assert "every 2 hours, next on Sunday, 2026-03-01 at 10:00 (UTC): drink water" in words(answer)
        await den.disconnect()
        clock.advance(7 * 3600)
        await den.connect()
        await den.server.until_replied(den.room, 1)
        await den.familiar.reply_path.reminders.wait_until_idle()
        listed = words((await used(den, "remind", when="list", who=den.ben))[-1])
        assert "every 2 hours, next on Sunday, 2026-03-01 at 16:00 (UTC): drink water" in listed
        clock.advance(3601)
        await den.familiar.reply_path.reminders.tell_due()

        assert shown(den) == [f"<@{den.ben.id}> Late, but: water!", f"<@{den.ben.id}> Water!"]
        assert "Cancelled: drink water" in words((await used(den, "remind", when="cancel", text="1", who=den.ben))[-1])
        clock.advance(10 * 3600)
        await den.familiar.reply_path.reminders.tell_due()
        assert len(shown(den)) == 2
        refused = words((await used(den, "remind", when="every 5 minutes", text="blink", who=den.ben))[-1])
        assert refused == "That is too often: 15 minutes apart is the least."


async def test_help_lists_what_the_asker_may_use_here(tmp_path: Path) -> None:
    """To them alone; nothing of voice where there is none, and in a direct message nothing of servers."""
    async with familiar_on_discord(tmp_path) as den:
        answer = (await used(den, "help", who=den.ben, may_manage=False))[-1]
        listed = words(answer)
        assert is_private(answer)
        assert all(f"`/{name}`" in listed for name in ("help", "remind", "privacy", "forget-me", "reward", "stop"))
        assert not any(f"`/{name}`" in listed for name in ("memory", "reset", "context", "subscribe-my-voice"))
        assert "`/reset`" in words((await used(den, "help", who=den.ben, may_manage=True))[-1])
        direct = den.server.world.direct_room(den.ben)
        told = words((await used(den, "help", who=den.ben, room=direct, may_manage=False))[-1])
        assert "`/reset`" in told
        assert "`/reward`" not in told
        assert "`/subscribe-text`" not in told


async def test_commands_are_shown_by_default_to_those_who_may_use_them(tmp_path: Path) -> None:
    """Discord itself hides them from others; commands of voice are not made known where there is none."""
    async with familiar_on_discord(tmp_path) as den:
        shown_to = {each["name"]: each["default_member_permissions"] for each in den.server.api.interactions.commands}
    assert {shown_to[name] for name in ("reset", "regenerate", "context", "subscribe-text", "preset", "model")} == {
        "16"
    }
    assert {shown_to[name] for name in ("help", "remind", "privacy", "forget-me", "stop", "persona")} == {None}
    assert {shown_to[name] for name in ("memory", "ignore")} == {"0"}
    assert not {"subscribe-my-voice", "unsubscribe-voice"} & shown_to.keys()


async def test_what_is_known_of_somebody_is_told_to_them_alone_as_far_as_the_place_may_hear(tmp_path: Path) -> None:
    """What came from a direct message with Ben is told to Ben there, and not on the server."""
    async with familiar_on_discord(tmp_path, ("Noted.",) * 3) as den:
        nothing = words((await used(den, "what-do-you-know-about-me", who=den.ben, may_manage=False))[-1])
        assert nothing == "I know nothing about you. Your privacy setting is minimal; /privacy explains it."
        await den.mention("I like rain.", who=den.ben)
        await den.server.until_replied(den.room, 1)
        await den.wait_until_idle()
        store, who = den.familiar.memory_store, f"discord-{den.ben.id}"
        audience = between([f"discord:{den.ben.id}"])
        text = f"---\naudience: {audience}\n---\n# Ben\n\nBen fears geese.\n"
        store.write_file(f"people/{who}@dm-{who}.md", text, source="test")
        direct = den.server.world.direct_room(den.ben)

        here = (await used(den, "what-do-you-know-about-me", who=den.ben, may_manage=False))[-1]
        assert is_private(here)
        assert "1 message of yours" in words(here)
        assert "geese" not in words(here)
        there = (await used(den, "what-do-you-know-about-me", who=den.ben, room=direct, may_manage=False))[-1]
        assert "# Ben\n\nBen fears geese." in words(there)
        assert "audience" not in words(there)
        others = (await used(den, "what-do-you-know-about-me", who=den.ada))[-1]
        assert words(others).startswith("I know nothing about you.")


async def test_whoever_wants_to_be_forgotten_is(tmp_path: Path) -> None:
    """First it tells what goes; after the word everything of theirs is gone, and others' words stay."""
    async with familiar_on_discord(tmp_path, ("Noted.",) * 4) as den:
        await asked(den, "I like tea.", 1)
        await den.mention("I fear geese.", who=den.ben)
        await den.server.until_replied(den.room, 2)
        await den.wait_until_idle()
        store, path = den.familiar.memory_store, f"people/discord-{den.ben.id}.md"
        store.write_file(path, "# Ben\n\nBen fears geese.\n", source="test")
        await used(den, "remind", when="tomorrow", text="count geese", who=den.ben)

        warned = (await used(den, "forget-me", who=den.ben, may_manage=False))[-1]
        assert is_private(warned)
        assert "1 message of yours" in words(warned)
        assert "/forget-me confirm" in words(warned)
        assert len(den.history()) == 4
        done = (await used(den, "forget-me", who=den.ben, may_manage=False, choice="confirm", answers=2))[-1]

        assert is_private(done)
        assert "Erased: 1 messages" in words(done)
        assert [turn.content for turn in den.history() if "geese" in turn.content] == []
        assert any("I like tea." in turn.content for turn in den.history())
        assert not store.exists(path)
        assert den.familiar.stores.reminders.of_channel(den.room.id) == []
        await asked(den, "Who fears geese?", 3)
        assert "I fear geese" not in "".join(message.content for message in den.model.calls[-1])


async def test_an_answer_under_way_while_somebody_is_erased_is_made_again_without_their_words(tmp_path: Path) -> None:
    """Ada's answer repeats whatever its prompt holds; Ben is erased while it is written."""

    def repeat(messages: list[Message]) -> str:
        return "They fear geese." if any("geese" in message.content for message in messages) else "I do not know."

    async with familiar_on_discord(tmp_path, repeat) as den:
        await den.server.post(den.room, den.ben, "I fear geese.")
        await den.wait_stored("geese")
        pause = den.model.pause_after(0)
        await den.mention("What do people fear?")
        await pause.reached.wait()
        assert "I fear geese." in "".join(message.content for message in den.model.calls[-1])

        done = (await used(den, "forget-me", who=den.ben, may_manage=False, choice="confirm", answers=2))[-1]
        pause.resume.set()
        await den.server.until_replied(den.room, 1)
        await den.wait_until_idle()

        assert "Erased: 1 messages" in words(done)
        assert shown(den) == ["I do not know."]
        await den.familiar.aclose()
    assert files_with(tmp_path, b"geese") == []


async def test_a_reminder_is_told_without_a_model_too(tmp_path: Path) -> None:
    """In plain words, once, and nobody in the channel reads of the failure."""
    clock = ManualClock(datetime(2026, 3, 1, 8, 0, tzinfo=UTC))
    async with familiar_on_discord(tmp_path, (RuntimeError("down"),), clock=clock) as den:
        await used(den, "remind", when="in 1 minute", text="tea")
        clock.advance(61)
        await den.familiar.reply_path.reminders.tell_due()

        assert shown(den) == [f"<@{den.ada.id}> Reminder for Ada: tea"]
        assert den.roles_and_texts() == [("assistant", "Reminder for Ada: tea")]
        assert den.familiar.stores.reminders.of_channel(den.room.id) == []
