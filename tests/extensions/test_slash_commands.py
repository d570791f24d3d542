"""Slash commands of an extension run on its own loop: the program answers others meanwhile, and not for ever."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from familiar_connect.api import Author, Extension, SlashCommand, SlashContext, SlashPart, SlashReply
from familiar_connect.api.testing import start_familiar
from familiar_connect.extensions import slash_commands
from familiar_connect.extensions.slash_commands import isolate_command
from familiar_connect.extensions.thread import ExtensionThread
from familiar_connect.slash.command import SlashOption, run_command
from familiar_connect.slash.registry import find_command

ADA = Author("test", "ada", "ada", "Ada")
Run = Callable[[SlashContext, Any], Awaitable[SlashReply]]


def extension_with(run: Run) -> Extension:
    command = SlashCommand(name="wait", description="Wait.", run=run)
    return Extension(name="slow", slash_commands=(SlashPart(create=lambda context: command),))


async def test_a_command_that_blocks_holds_up_nobody_else() -> None:
    """Somebody is answered while it still holds its thread; then it answers, too."""
    free = threading.Event()

    async def run(ctx: SlashContext, familiar: object) -> SlashReply:
        return SlashReply(text="freed" if free.wait(20) else "held up everybody")

    async with start_familiar(extension_with(run), replies=["Hello."]) as familiar:
        waiting = asyncio.create_task(familiar.use_command("wait"))
        try:
            answered = await familiar.say("hello", room="hall")
        finally:
            free.set()

        assert answered == ["Hello."]
        assert await waiting == "freed"


async def test_a_command_sees_of_the_program_what_works_on_its_own_loop() -> None:
    """The familiar's name, who asks and the words; a first word goes out on the program's loop."""
    seen: list[object] = []
    said: list[tuple[str, int]] = []

    async def acknowledge(text: str) -> None:
        said.append((text, threading.get_ident()))

    async def run(ctx: SlashContext, familiar: Any) -> SlashReply:
        await ctx.acknowledge("a moment")
        seen.extend([familiar.name, ctx.author.label, ctx.words, ctx.answers_at, threading.get_ident()])
        return SlashReply(text="done")

    async def suggest(familiar: Any, begun: str) -> list[str]:
        raise ValueError("nothing comes to mind")

    thread = ExtensionThread("slow")
    options = (SlashOption(name="what", description="What.", suggest=suggest),)
    command = isolate_command(SlashCommand(name="see", description="See.", run=run, options=options), thread)
    context = SlashContext(channel_id=1, author=ADA, is_operator=False, words="now", acknowledge=acknowledge)
    familiar: Any = SimpleNamespace(id="ember", name="Ember", root=None)
    try:
        reply = await command.run(context, familiar)
        suggested = command.options[0].suggest
        assert suggested is not None
        assert await suggested(familiar, "n") == []
    finally:
        thread.close()

    here = threading.get_ident()
    assert reply.text == "done"
    assert seen[:4] == ["Ember", "Ada", "now", None]
    assert seen[4] != here
    assert said == [("a moment", here)]


async def test_a_command_that_never_ends_or_answers_nonsense_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a sentence to whoever asked."""
    monkeypatch.setattr(slash_commands, "COMMAND_LIMIT_S", 0.05)

    async def hang(ctx: SlashContext, familiar: object) -> SlashReply:
        await asyncio.Event().wait()
        raise AssertionError

    async def confuse(ctx: SlashContext, familiar: object) -> SlashReply:
        return "text"  # type: ignore[return-value]

    async with start_familiar(extension_with(hang)) as familiar:
        assert await familiar.use_command("wait") == "/wait took longer than 0.05 seconds."
    async with start_familiar(extension_with(confuse)) as familiar:
        told = await familiar.use_command("wait")

    assert told is not None
    assert "That did not work (ExtensionFault)" in told


async def test_who_may_not_control_is_told_of_the_platform_s_own_setting() -> None:
    """And of no setting where the platform has none."""
    context = SlashContext(channel_id=1, author=ADA, is_operator=False)
    control = next(each for each in map(find_command, ("swipe", "undo", "regenerate")) if each and each.is_control)
    nobody: Any = SimpleNamespace()

    without = await run_command(control, context, nobody)
    within = await run_command(control, replace(context, controls_section="twitter"), nobody)

    assert without.text == "You need the right to manage this channel."
    assert within.text == "You need the right to manage this channel; `controls` under [twitter] can allow everyone."
