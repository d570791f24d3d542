"""Everybody who asks on Discord is answered: the real library against a Discord of our own."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from familiar_connect.extensions.discord.demo.pluralkit import ProxyOrder, replace_by_twin, say_by_webhook
from familiar_connect.llm.types import Message
from tests.fakes.familiar_on_discord import FamiliarOnDiscord, familiar_on_discord
from tests.fakes.waiting import until

PEOPLE = ("Ada", "Bo", "Cleo", "Dov", "Esi")
NEVER_S = 3600.0
"""A quiet that no test waits for."""


def asked_last(den: FamiliarOnDiscord) -> list[str]:
    """Of each prompt the last line that somebody said."""
    spoken = [[each.content for each in call if each.role == "user"] for call in den.model.calls]
    return [next(line for line in reversed(lines) if not line.startswith("[System:")) for lines in spoken]


async def test_five_who_ask_within_moments_are_answered_each_by_name(tmp_path: Path) -> None:
    """The first while the others ask; the prompt of each reply ends with the question that it answers."""
    async with familiar_on_discord(tmp_path, [f"Hello, {name}." for name in PEOPLE]) as den:
        people = [den.ada, *(den.server.world.person(name.lower()) for name in PEOPLE[1:])]
        thinking = den.model.pause_after(0)
        for person in people:
            await den.mention(f"what of {person.display_name}?", who=person)
        await den.wait_stored("what of Esi?")
        thinking.resume.set()
        await den.server.until(lambda: len(den.server.replies_in(den.room)) == len(PEOPLE))
        await den.wait_until_idle()

        assert den.server.replies_in(den.room) == [f"Hello, {name}." for name in PEOPLE]
        assert [name in line for name, line in zip(PEOPLE, asked_last(den), strict=True)] == [True] * len(PEOPLE)


async def test_a_question_edited_while_its_answer_is_made_is_answered_as_it_reads(tmp_path: Path) -> None:
    """The first answer is never posted."""
    async with familiar_on_discord(tmp_path, ["At four.", "In the garden."]) as den:
        thinking = den.model.pause_after(0)
        question = await den.mention("when is tea?")
        await thinking.reached.wait()
        await den.server.edit(den.room, question, question["content"].replace("when", "where"))
        said = await den.server.until_replied(den.room)
        await den.wait_until_idle()

        assert said == ["In the garden."]
        assert "where is tea?" in asked_last(den)[-1]
        assert [role for role, _ in den.roles_and_texts()] == ["user", "assistant"]


async def test_a_question_deleted_while_its_answer_is_made_gets_none(tmp_path: Path) -> None:
    """Who asked meanwhile is answered."""
    async with familiar_on_discord(tmp_path, ["At four.", "On the shelf."]) as den:
        bo = den.server.world.person("bo")
        thinking = den.model.pause_after(0)
        question = await den.mention("when is tea?")
        await thinking.reached.wait()
        await den.mention("where is the jam?", who=bo)
        await den.wait_stored("where is the jam?")
        await den.server.delete(den.room, question)
        said = await den.server.until_replied(den.room)
        await den.wait_until_idle()

        assert said == ["On the shelf."]
        assert "the jam?" in asked_last(den)[-1]


async def test_a_mention_that_an_edit_adds_is_answered(tmp_path: Path) -> None:
    """Once, however often it is edited after; an edit that leaves the mention as it was asks for nothing."""
    async with familiar_on_discord(tmp_path, ["At four.", "Never said."]) as den:
        den.familiar.reply_path.monitor.lull_timeout = NEVER_S
        said = await den.server.post(den.room, den.ada, "tell me of tea.")
        await den.wait_stored("tell me of tea.")
        mention = f"<@{den.server.world.bot.id}>"
        await den.server.edit(den.room, said, f"{mention} tell me of tea.")
        assert await den.server.until_replied(den.room) == ["At four."]
        await den.wait_until_idle()
        await den.server.edit(den.room, said, f"{mention} tell me of tea today.")
        await den.wait_stored("tea today.")
        await den.wait_until_idle()

        assert den.server.replies_in(den.room) == ["At four."]
        assert "tell me of tea." in asked_last(den)[0]
        assert [role for role, _ in den.roles_and_texts()] == ["user", "assistant"]


async def test_a_name_that_an_edit_adds_is_answered(tmp_path: Path) -> None:
    """What was only talk until then is said to the familiar now, and stands in its prompt once."""
    async with familiar_on_discord(tmp_path, ["At four."]) as den:
        den.familiar.reply_path.monitor.lull_timeout = NEVER_S
        said = await den.server.post(den.room, den.ada, "tell me of tea.")
        await den.wait_stored("tell me of tea.")
        await den.server.edit(den.room, said, f"{den.familiar.name}, tell me of tea.")
        assert await den.server.until_replied(den.room) == ["At four."]
        spoken = [each.content for each in den.model.calls[0] if "tell me of tea." in each.content]

        assert len(spoken) == 1


@pytest.mark.parametrize("order", ["twin first", "delete first"])
async def test_a_twin_is_answered_in_place_of_its_original(tmp_path: Path, order: ProxyOrder) -> None:
    """PluralKit takes over while the answer is made: it is made anew for the name that stays, and said once."""
    async with familiar_on_discord(tmp_path, ["Hello, Ada.", "Hello, Luna."]) as den:
        thinking = den.model.pause_after(0)
        original = await den.mention("tell me of tea.")
        await thinking.reached.wait()
        await replace_by_twin(den.server, den.room, original, "Luna", order=order)
        said = await den.server.until_replied(den.room)
        await den.wait_until_idle()

        assert said == ["Hello, Luna."]
        assert "Luna" in asked_last(den)[-1]
        assert [each.content for each in den.model.calls[-1] if "deleted" in each.content] == []
        assert [(turn.role, turn.author.label if turn.author else "") for turn in den.history()] == [
            ("user", "Luna"),
            ("assistant", ""),
        ]


@pytest.mark.parametrize("order", ["twin first", "delete first"])
async def test_a_twin_of_what_was_answered_gets_no_second_answer(tmp_path: Path, order: ProxyOrder) -> None:
    """The model was quicker than PluralKit; whoever speaks next sees one question and one answer."""
    async with familiar_on_discord(tmp_path, ["Hello, Ada.", "Never said."]) as den:
        original = await den.mention("tell me of tea.")
        await den.server.until_replied(den.room)
        await den.wait_until_idle()
        await replace_by_twin(den.server, den.room, original, "Luna", order=order)
        await until(lambda: [turn.author.label for turn in den.history() if turn.author] == ["Luna"])
        await den.wait_until_idle()

        assert den.server.replies_in(den.room) == ["Hello, Ada."]


async def test_somebody_else_who_says_the_same_by_a_bridge_is_answered_too(tmp_path: Path) -> None:
    """Nothing was deleted, so they are two."""
    async with familiar_on_discord(tmp_path, ["Hello, Ada.", "Hello, Luna."]) as den:
        original = await den.mention("good morning.")
        await den.server.until_replied(den.room)
        await say_by_webhook(den.server, den.room, original, "Luna")
        await den.server.until(lambda: len(den.server.replies_in(den.room)) == 2)

        assert den.server.replies_in(den.room) == ["Hello, Ada.", "Hello, Luna."]


@pytest.mark.parametrize("step", ["recorded", "settled"])
async def test_a_question_edited_while_its_answer_is_written_down_is_not_answered_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """The words are out, so an edit comes too late."""
    async with familiar_on_discord(tmp_path, ["At four.", "Never said."]) as den:
        reached, resume = asyncio.Event(), asyncio.Event()

        def pause(work: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
            async def wait_and_work(*arguments: Any, **named: Any) -> None:
                reached.set()
                await resume.wait()
                await work(*arguments, **named)

            return wait_and_work

        path = den.familiar.reply_path
        owner, name = (path.runner._archive, "keep") if step == "recorded" else (path.queue, "_on_done")
        monkeypatch.setattr(owner, name, pause(getattr(owner, name)))
        question = await den.mention("when is tea?")
        await reached.wait()
        await den.server.edit(den.room, question, question["content"].replace("when", "where"))
        await den.wait_stored("where is tea?")
        resume.set()
        await den.wait_until_idle()

        assert den.server.replies_in(den.room) == ["At four."]


async def test_where_several_spoke_the_model_is_told_how_to_answer_one_of_them(tmp_path: Path) -> None:
    """A reply that begins with a handle is posted as a reply to that message; the handle is posted nowhere."""
    async with familiar_on_discord(tmp_path, lambda messages: f"{_handle_of(messages, 'Ben')} Behind the door.") as den:
        den.familiar.reply_path.monitor.lull_timeout = NEVER_S
        lost = await den.server.post(den.room, den.ben, "i cannot find my umbrella")
        await den.wait_stored("umbrella")
        await den.mention("help Ben, please.")
        said = await den.server.until_replied(den.room)
        reply = next(each for each in den.room.messages.values() if each["content"] == "Behind the door.")

        assert said == ["Behind the door."]
        assert str(reply["message_reference"]["message_id"]) == lost["id"]


def _handle_of(messages: list[Message], name: str) -> str:
    """The handle that the prompt gives the message of *name*."""
    told = next(each.content for each in messages if "Several people spoke" in each.content)
    found = re.search(rf"(\[ref_\d+\]) {name}", told, re.IGNORECASE)
    assert found is not None
    return found[1]
