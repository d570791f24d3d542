"""Whole-house stories: someone says something in a channel, and what comes of it."""

from __future__ import annotations

import asyncio
from pathlib import Path

from familiar_connect.conversation.intake import IntakeResult
from familiar_connect.errors import ModelError
from familiar_connect.identity import PrivacyLevel
from familiar_connect.llm.scripted import ScriptedModel
from familiar_connect.observe.replay_store import hash_messages
from familiar_connect.reply.prompt_replay import replay_messages
from familiar_connect.slash.command import SlashContext
from familiar_connect.slash.registry import find_command
from tests.fakes.scripted_familiar import ANA, BEN, CHANNEL, scripted_familiar
from tests.fakes.waiting import files_holding, until


async def test_a_message_in_a_subscribed_channel_gets_one_reply_and_two_history_rows(tmp_path: Path) -> None:
    """Heard, answered, recorded."""
    async with scripted_familiar(tmp_path, ["Hello, Ana. Tea?"]) as house:
        await house.talk("Hi Ember!")
        told = house.roles_and_texts()

    assert house.place.sent == ["Hello, Ana. Tea?"]
    assert told == [("user", "Hi Ember!"), ("assistant", "Hello, Ana. Tea?")]


async def test_the_model_sees_who_the_familiar_is_and_what_was_just_said(tmp_path: Path) -> None:
    """The character on top, the newest message last."""
    async with scripted_familiar(tmp_path) as house:
        await house.talk("Do you like rain?")

    first, last = house.model.calls[0][0], house.model.calls[0][-1]
    assert first.role == "system"
    assert "fire spirit" in first.content
    assert (last.role, last.content) == ("user", "Ana: Do you like rain?")


async def test_what_was_heard_survives_a_failing_model(tmp_path: Path) -> None:
    """The next reply knows of it."""
    async with scripted_familiar(tmp_path, [ModelError("nobody listens"), "You said something about a fox."]) as house:
        await house.talk("I saw a fox.")
        await house.talk("Did you hear me?")
        told = house.roles_and_texts()

    assert [role for role, _ in told] == ["user", "user", "assistant"]
    assert any("fox" in message.content for message in house.model.calls[1])


async def test_ctrl_c_in_the_middle_of_a_reply_records_exactly_what_was_said(tmp_path: Path) -> None:
    """No more and no less."""
    async with scripted_familiar(tmp_path, ["Once there was a very long story"], streams=True) as house:
        pause = house.model.pause_after(4)
        await house.receive("Tell me a story.")
        await pause.reached.wait()
        assert await house.familiar.reply_path.queue.stop(CHANNEL) is True
        told = house.roles_and_texts()

    said = "".join(house.place.sent).strip()
    assert said
    assert "Once there was a very long story".startswith(said)
    assert said != "Once there was a very long story"
    assert told == [("user", "Tell me a story."), ("assistant", said)]


async def test_a_newer_message_ends_a_delivery_and_is_answered_next(tmp_path: Path) -> None:
    """The familiar stops talking when the one it talks to begins, also between two sent messages."""
    async with scripted_familiar(tmp_path, ["aaa bbb ccc", "Yes"]) as house:
        house.place.limit = 3
        house.place.hold = asyncio.Event()
        await house.receive("Go on.")
        tracker = house.familiar.text_delivery_registry.get(CHANNEL)
        await until(tracker.is_active)
        newer = asyncio.create_task(house.receive("Stop!"))
        await until(lambda: tracker.task is not None and tracker.task.cancelling())
        house.place.hold.set()
        await newer
        await house.wait_until_idle()
        told = house.roles_and_texts()

    assert told == [("user", "Go on."), ("user", "Stop!"), ("assistant", "aaa"), ("assistant", "Yes")]
    assert house.place.sent == ["aaa", "Yes"]


async def test_messages_while_a_reply_is_written_are_answered_next_each_asker_in_turn(tmp_path: Path) -> None:
    """The reply under way is not disturbed."""
    answers = ["First answer.", "Second answer.", "Third answer."]
    async with scripted_familiar(tmp_path, answers, streams=True) as house:
        pause = house.model.pause_after(0)
        await house.receive("One?")
        await pause.reached.wait()
        await house.receive("Two?", author=BEN)
        await house.receive("Two more?", author=BEN)
        await house.receive("Three?")
        pause.resume.set()
        await house.wait_until_idle()
        told = house.roles_and_texts()

    assert [text for role, text in told if role == "assistant"] == answers
    second, third = (
        [message.content for message in call if not message.content.startswith("[System:")]
        for call in house.model.calls[1:]
    )
    assert second[-3:] == ["First answer.", "Ben: Two?", "Ben: Two more?"]
    assert third[-3:] == ["First answer.", "Second answer.", "Ana: Three?"]


async def test_someone_with_full_privacy_is_stored_nowhere(tmp_path: Path) -> None:
    """Not in the history, not in a trace, not in any file of the home."""
    async with scripted_familiar(tmp_path, ["Hello, Ben."]) as house:
        house.familiar.stores.privacy.set(ANA, PrivacyLevel.FULL)
        assert await house.talk("the xylophone is under the bed") is IntakeResult.private
        await house.talk("hi", author=BEN)

    assert len(house.model.calls) == 1
    assert "xylophone" not in str(house.model.calls)
    assert files_holding(tmp_path, "xylophone") == []


async def test_what_someone_said_before_full_privacy_reaches_no_model_any_more(tmp_path: Path) -> None:
    """Not the one that replies, nor those that think, summarise and look around; nor after a restart."""
    side = ScriptedModel(lambda messages: "PLUGH" if "PLUGH" in str(messages) else "Nothing much.")
    async with scripted_familiar(tmp_path, lambda _: "Hello.") as house:
        clients, history = house.familiar.llm_clients, house.familiar.history_store
        clients.update({slot: side for slot in clients if slot not in ("main_prose", "interjection_decision")})
        for channel_id in (CHANNEL, CHANNEL + 1):
            for author, words in ((ANA, "my secret is PLUGH"), *[(BEN, "I see.")] * 50, (ANA, "PLUGH, I said")):
                history.append_turn(
                    familiar_id="ember",
                    channel_id=channel_id,
                    role="user",
                    content=words,
                    author=author,
                    guild_id=77,
                    mode="text_conversation_rp",
                )
        await house.talk("hi", author=BEN, guild_id=77)
        await until(lambda: history.summaries.count(familiar_id="ember") == 2)
        await house.talk("hi again", author=BEN, guild_id=77)
        assert "PLUGH" in str(house.model.calls[-1])
        house.familiar.stores.privacy.set(ANA, PrivacyLevel.FULL)
        main_before, side_before = len(house.model.calls), len(side.calls)
        await house.talk("what did Ana say?", author=BEN, guild_id=77)
        await until(lambda: history.summaries.count(familiar_id="ember") == 2)
        await house.talk("and now?", author=BEN, guild_id=77)
    async with scripted_familiar(tmp_path, lambda _: "Hello.") as reopened:
        clients = reopened.familiar.llm_clients
        clients.update({slot: side for slot in clients if slot not in ("main_prose", "interjection_decision")})
        await reopened.talk("and today?", author=BEN, guild_id=77)

    later = [*house.model.calls[main_before:], *side.calls[side_before:], *reopened.model.calls]
    assert len(house.model.calls[main_before:]) == 2
    assert len(side.calls[side_before:]) >= 2
    assert [call for call in later if "PLUGH" in str(call)] == []


async def test_the_same_platform_message_twice_is_stored_and_answered_once(tmp_path: Path) -> None:
    """Platforms repeat themselves after a reconnect."""
    async with scripted_familiar(tmp_path, ["Hello!"]) as house:
        assert await house.talk("hi", message_id="m1") is IntakeResult.considering
        assert await house.talk("hi", message_id="m1") is IntakeResult.seen_before
        told = house.roles_and_texts()

    assert told == [("user", "hi"), ("assistant", "Hello!")]


async def test_an_unsubscribed_channel_is_not_heard(tmp_path: Path) -> None:
    """Nobody is listened to unasked."""
    async with scripted_familiar(tmp_path, subscribed=False) as house:
        assert await house.talk("hi") is IntakeResult.not_subscribed
        told = house.roles_and_texts()

    assert told == []
    assert house.place.sent == []


async def test_a_second_run_remembers_the_first(tmp_path: Path) -> None:
    """What was said before stands in the prompt after a restart."""
    async with scripted_familiar(tmp_path, ["A fine name, Ana!"]) as house:
        await house.talk("My cat is called Pickle.")
    async with scripted_familiar(tmp_path, ["Pickle!"]) as again:
        await again.talk("What is my cat called?")

    prompt = [(message.role, message.content) for message in again.model.calls[0]]
    assert ("assistant", "A fine name, Ana!") in prompt
    assert any(role == "user" and "Pickle" in content for role, content in prompt[:-1])


async def test_the_prompt_can_be_looked_at_and_explained(tmp_path: Path) -> None:
    """Every block, where it came from, what it cost, and the words themselves."""
    async with scripted_familiar(tmp_path) as house:
        context = find_command("context")
        assert context is not None
        before = await context.run(SlashContext(channel_id=CHANNEL, author=ANA, is_operator=True), house.familiar)
        await house.talk("Do you like rain?")
        asked = SlashContext(channel_id=CHANNEL, author=ANA, is_operator=True, words="full")
        after = await context.run(asked, house.familiar)

    assert "No context" in before.text
    assert not after.public
    for words in ("character:description", "tokens", "Do you like rain?", "scripted", "assemble"):
        assert words in after.text


async def test_every_turn_leaves_a_trace_from_which_its_messages_come_back_byte_for_byte(tmp_path: Path) -> None:
    """Nobody is asked for it: no provider, no store, no model."""
    async with scripted_familiar(tmp_path, ["One.", "Two.", "Three."]) as house:
        for text in ("a", "b", "c"):
            await house.talk(text)
        traces = house.familiar.reply_path.replays.ids()
        records = [house.familiar.reply_path.replays.load(trace_id) for trace_id in reversed(traces)]
        newest = house.familiar.reply_path.collector.last_trace("ember")

    assert newest is not None
    assert newest.trace_id == traces[0]
    assert [replay_messages(record) for record in records] == house.model.calls
    assert [record.messages_hash for record in records] == [hash_messages(call) for call in house.model.calls]


async def test_same_inputs_give_the_same_messages(tmp_path: Path) -> None:
    """Two homes, the same words, byte-identical prompts."""
    calls = []
    for home in (tmp_path / "one", tmp_path / "two"):
        async with scripted_familiar(home, ["Yes.", "No."]) as house:
            await house.talk("First?")
            await house.talk("Second?", author=BEN)
        calls.append(house.model.calls)

    assert calls[0] == calls[1]


async def test_emoji_and_right_to_left_text_go_through_unharmed(tmp_path: Path) -> None:
    """Stored, shown and said as they were written."""
    said, answered = "שלום 👨‍👩‍👧 مرحبا", "🫖 أهلا Ана"
    async with scripted_familiar(tmp_path, [answered]) as house:
        await house.talk(said)
        told = house.roles_and_texts()

    assert told == [("user", said), ("assistant", answered)]
    assert house.model.calls[0][-1].content == f"Ana: {said}"


async def test_who_asked_gets_an_answer_though_they_talk_on_while_it_is_typed(tmp_path: Path) -> None:
    """What was not begun is let go; the reply that is made instead is not ended before its first word."""
    async with scripted_familiar(tmp_path, ["Stale.", "Fresh."]) as house:
        settings = house.familiar.root / "channels" / f"{CHANNEL}.toml"
        settings.write_text('mode = "text_conversation_rp"\n[typing_simulation]\nenabled = true\n', encoding="utf-8")
        typing = asyncio.Event()

        async def type_slowly(seconds: float) -> None:
            if not typing.is_set():
                typing.set()
                await asyncio.Event().wait()
            await house.receive("And another thing.", is_mention=False)

        house.familiar.reply_path.runner._deliveries._sleep = type_slowly
        await house.receive("Are you there?")
        await typing.wait()
        await house.receive("By the way.", is_mention=False)
        await house.wait_until_idle()

        assert house.place.sent == ["Fresh."]
        assert ("assistant", "Fresh.") in house.roles_and_texts()
