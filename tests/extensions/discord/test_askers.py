"""Everybody who asks on Discord is answered: the real library against a Discord of our own."""

from __future__ import annotations

from pathlib import Path

from tests.fakes.familiar_on_discord import FamiliarOnDiscord, familiar_on_discord

PEOPLE = ("Ada", "Bo", "Cleo", "Dov", "Esi")


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
