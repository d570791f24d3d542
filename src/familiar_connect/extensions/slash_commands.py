"""isolate_command: a stranger's slash command on its extension's own loop. One that blocks holds up nobody else."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from familiar_connect.extensions.load import ExtensionFault
from familiar_connect.extensions.thread import ExtensionThread
from familiar_connect.slash.command import (
    SlashCommand,
    SlashContext,
    SlashForm,
    SlashOption,
    SlashReply,
    find_no_place,
)

if TYPE_CHECKING:  # a verb that only asks what extensions bring loads none of a familiar's parts
    from familiar_connect.familiar import Familiar

COMMAND_LIMIT_S = 30.0
SUGGEST_LIMIT_S = 2.0
MAX_SUGGESTED = 25

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class CommandFamiliar:
    """What a stranger's command is given of the familiar. The rest works on another loop."""

    id: str
    name: str


def isolate_command(command: SlashCommand, thread: ExtensionThread) -> SlashCommand:
    """*command* as it is offered: the same name and rights, run elsewhere and not for ever."""

    async def run(ctx: SlashContext, familiar: Familiar) -> SlashReply:
        apart, seen = _set_apart(ctx), _see(familiar)
        try:
            reply: object = await _call(thread, COMMAND_LIMIT_S, lambda: command.run(apart, seen))
        except TimeoutError:
            return SlashReply(text=f"/{command.name} took longer than {COMMAND_LIMIT_S:g} seconds.")
        if not isinstance(reply, SlashReply):
            raise ExtensionFault(f"/{command.name} of {thread.name} gave no SlashReply")
        return reply

    form = command.form
    return replace(
        command,
        run=run,
        form=None if form is None else _isolate_form(form, thread),
        options=tuple(_isolate_option(each, thread) for each in command.options),
    )


def _isolate_form(
    form: Callable[[SlashContext, Familiar], Awaitable[SlashForm]], thread: ExtensionThread
) -> Callable[[SlashContext, Familiar], Awaitable[SlashForm]]:
    async def open_form(ctx: SlashContext, familiar: Familiar) -> SlashForm:
        apart, seen = _set_apart(ctx), _see(familiar)
        return await _call(thread, SUGGEST_LIMIT_S, lambda: form(apart, seen))

    return open_form


def _isolate_option(option: SlashOption, thread: ExtensionThread) -> SlashOption:
    given = option.suggest
    if given is None:
        return option

    async def suggest(familiar: Familiar, begun: str) -> list[str]:
        seen = _see(familiar)
        try:
            found = await _call(thread, SUGGEST_LIMIT_S, lambda: given(seen, begun))
        except Exception:  # isolation: nothing is suggested
            return []
        return [str(each) for each in found[:MAX_SUGGESTED]]

    return replace(option, suggest=suggest)


async def _call(thread: ExtensionThread, limit_s: float, work: Callable[[], Awaitable[T]]) -> T:
    async with asyncio.timeout(limit_s):
        return await thread.call(work)


def _see(familiar: Familiar) -> Any:
    return CommandFamiliar(id=familiar.id, name=familiar.name)


def _set_apart(ctx: SlashContext) -> SlashContext:
    """*ctx* without what only works on the program's own loop; a first word is handed over to that."""
    loop = asyncio.get_running_loop()

    async def acknowledge(text: str) -> None:
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(_acknowledge(ctx, text), loop))

    place = ctx.place
    if place is not None:
        place = replace(place, join=None, voice=None, read_past=None, say=None)
    return replace(ctx, place=place, answers_at=None, acknowledge=acknowledge, find_place=find_no_place)


async def _acknowledge(ctx: SlashContext, text: str) -> None:
    await ctx.acknowledge(text)
