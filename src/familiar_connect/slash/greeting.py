"""/greeting: the character's first words, and others to begin with."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import datetime
from zoneinfo import ZoneInfo

from familiar_connect.errors import HistoryError, HomeError
from familiar_connect.familiar import Familiar
from familiar_connect.history.types import HistoryTurn
from familiar_connect.identity import Author
from familiar_connect.memory.store import MemoryStoreError
from familiar_connect.presets.greetings import split_greetings, without_name_question
from familiar_connect.presets.macros.engine import substitute
from familiar_connect.presets.macros.types import MacroContext
from familiar_connect.slash.command import OptionKind, SlashCommand, SlashContext, SlashOption, SlashReply
from familiar_connect.slash.roleplay import door_of, show_version
from familiar_connect.support.aio import off_loop
from familiar_connect.support.text import one_line, shorten
from familiar_connect.support.translate import later, tr

SHOWN_CHARS = 100


def list_greetings(familiar: Familiar, user: Author | None) -> list[str]:
    """The first message, which may be empty, and the alternate ones, with the names in them."""
    texts = [_text(familiar, "first_mes"), *split_greetings(_text(familiar, "alternate_greetings"))]
    return [expand_greeting(text, familiar, user) for text in texts]


def choose_greeting(greetings: list[str], greeting: int | None) -> str:
    """The greeting of that number; without one the first message, else the first there is."""
    if greeting is None:
        return next(filter(None, greetings), "")
    if not 0 <= greeting < len(greetings):
        last = len(greetings) - 1
        there = (
            tr("choose 0 to {last}").format(last=last) if last else tr("this character has only 0, its first message")
        )
        raise HomeError(
            tr("there is no greeting {greeting}: {there} (self/alternate_greetings.md holds the others)").format(
                greeting=greeting, there=there
            )
        )
    return greetings[greeting]


async def run_greeting(ctx: SlashContext, familiar: Familiar) -> SlashReply:
    """Without a number: the list. With one: begin with that greeting, while nobody has answered the first."""
    greetings = await off_loop(list_greetings, familiar, ctx.author)
    wanted = ctx.words.strip()
    if not wanted:
        rows = [f"{number:>3}  {shorten(one_line(text), SHOWN_CHARS)}" for number, text in enumerate(greetings)]
        return SlashReply(text="\n".join(rows))
    if not wanted.isascii() or not wanted.isdigit() or len(wanted) > 6:
        raise HistoryError(tr("Give a number, such as /greeting 1. /greeting lists them."))
    words = choose_greeting(greetings, int(wanted))
    if not words:
        raise HistoryError(tr("Greeting {wanted} is empty: self/first_mes.md says nothing.").format(wanted=wanted))
    return await _begin_with(ctx, familiar, [text for text in greetings if text], words)


async def _begin_with(ctx: SlashContext, familiar: Familiar, greetings: list[str], words: str) -> SlashReply:
    door, controls = door_of(ctx), familiar.reply_path.controls
    there = await controls.lines(ctx.channel_id, 2)
    if len(there) > 1 or (there and there[0].role != "assistant"):
        raise HistoryError(
            tr("This chat has started already: /chat new starts another one, and /greeting chooses its greeting.")
        )
    turn = there[0] if there else await off_loop(_append, ctx, familiar, words)
    result = await controls.choose_text(turn, greetings, greetings.index(words))
    return await show_version(door, familiar, result)


def _append(ctx: SlashContext, familiar: Familiar, words: str) -> HistoryTurn:
    return familiar.history_store.append_turn(
        familiar_id=familiar.id,
        channel_id=ctx.channel_id,
        role="assistant",
        content=words,
        guild_id=ctx.guild_id,
        mode=familiar.channel_configs.get(channel_id=ctx.channel_id).mode,
    )


def _text(familiar: Familiar, stem: str) -> str:
    try:
        return familiar.memory_store.read_file(f"self/{stem}.md").strip()
    except MemoryStoreError:
        return ""


def expand_greeting(words: str, familiar: Familiar, user: Author | None, group: Sequence[str] = ()) -> str:
    """*words* with the names in them, as SillyTavern would say them; *group* names all characters of a group."""
    if user is not None and user.is_named:
        words = without_name_question(words, familiar.name, user.label)
    if "{{" not in words and "<" not in words:
        return words
    values = MacroContext(
        char=familiar.name,
        group=tuple(group),
        user=user.label if user else "User",
        scenario=_text(familiar, "scenario"),
        personality=_text(familiar, "personality"),
        description=_text(familiar, "description"),
        now=datetime.now(ZoneInfo(familiar.config.display_tz)),
        rng=random.Random(),
    )
    return substitute(words, values).strip()


GREETING = SlashCommand(
    name="greeting",
    description=later("List the greetings. /greeting 1 starts the chat with another one."),
    run=run_greeting,
    is_control=True,
    options=(
        SlashOption(name="number", description=later("Its number; 0 is the first message."), kind=OptionKind.number),
    ),
)
