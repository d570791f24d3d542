"""What Discord offers on a message: forget it, answer it, edit it, say why it was said."""

from __future__ import annotations

from pathlib import Path

from familiar_connect.extensions.discord.demo.world import FakePerson, Payload
from familiar_connect.slash.command import MAY_NOT_CONTROL, MAY_NOT_MANAGE
from familiar_connect.slash.servers.message_actions import FORGOTTEN, NOT_HEARD, NOT_YOURS
from tests.extensions.discord.test_commands import LATER, MODAL, is_private, words
from tests.extensions.discord.test_controls import asked, shown
from tests.fakes.familiar_on_discord import FamiliarOnDiscord, familiar_on_discord


async def choose(
    den: FamiliarOnDiscord, title: str, message: Payload, *, who: FakePerson | None = None, may_manage: bool = False
) -> Payload:
    """Ada, or *who*, chooses *title* in the menu of a message; the answer, however long it takes."""
    token = await den.server.use_on_message(den.room, who or den.ada, title, message, may_manage=may_manage)
    answers = await den.server.until_answered(token)
    if answers[0]["type"] == LATER:
        answers = await den.server.until_answered(token, 2)
    return answers[-1]


async def test_what_somebody_said_is_forgotten_at_their_word(tmp_path: Path) -> None:
    """Their own message by themselves, anybody's by those who control the chat; by nobody else."""
    async with familiar_on_discord(tmp_path, lambda messages: "Tea.") as den:
        mine = await den.server.post(den.room, den.ada, "my cat is called Pickle")
        await den.wait_stored("Pickle")
        refused = await choose(den, "Forget this", mine, who=den.ben)
        done = await choose(den, "Forget this", mine)
        before = den.server.world.message(den.room, den.ada, "said before it listened")
        unheard = await choose(den, "Forget this", before)
        await asked(den, "What is my cat called?", 1)

        assert words(refused) == NOT_YOURS
        assert words(done) == FORGOTTEN
        assert is_private(done)
        assert words(unheard) == NOT_HEARD
        assert "Pickle" not in "".join(message.content for message in den.model.calls[-1])


async def test_a_message_is_answered_on_demand(tmp_path: Path) -> None:
    """Though it was not said to the familiar; by those who may use the controls."""
    async with familiar_on_discord(tmp_path, lambda messages: "Try mint.") as den:
        idle = await den.server.post(den.room, den.ben, "no idea what to drink")
        await den.wait_stored("no idea")
        refused = await choose(den, "Answer this", idle)
        await choose(den, "Answer this", idle, may_manage=True)

        assert words(refused) == MAY_NOT_CONTROL.format(section="discord")
        assert shown(den) == ["Try mint."]


async def test_a_reply_is_edited_in_a_form(tmp_path: Path) -> None:
    """It opens with the words as they are; the message is changed, and so is what the familiar knows."""
    async with familiar_on_discord(tmp_path, ("Tea.",)) as den:
        await asked(den, "What?", 1)
        reply = next(each["message"] for each in den.server.facts_of("posted") if each["room"] == den.room.id)
        opened = await choose(den, "Edit", reply, may_manage=True)
        field = opened["data"]["components"][0]["components"][0]
        sent = await den.server.submit_form(den.room, den.ada, opened["data"], "Coffee.")
        await den.server.until_answered(sent)

        assert opened["type"] == MODAL
        assert field["value"] == "Tea."
        assert shown(den) == ["Coffee."]
        assert den.roles_and_texts()[-1] == ("assistant", "Coffee.")


async def test_why_something_was_said_is_told_to_those_who_manage_the_channel(tmp_path: Path) -> None:
    """Of that very reply, not of the last one."""
    async with familiar_on_discord(tmp_path, lambda messages: "Tea.") as den:
        await asked(den, "first question", 1)
        first = next(each["message"] for each in den.server.facts_of("posted") if each["room"] == den.room.id)
        await asked(den, "second question", 2)
        refused = await choose(den, "Why did you say that?", first, who=den.ben)
        told = await choose(den, "Why did you say that?", first, may_manage=True)
        traces = den.familiar.reply_path.collector.recent_traces(familiar_id=den.familiar.id)
        early = min(traces, key=lambda each: each.timestamp)

        assert words(refused) == MAY_NOT_MANAGE
        assert early.trace_id in told["files"]["context.md"]
