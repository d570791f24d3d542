"""The controls of a roleplay: other versions of a reply, one ended, lines taken back, changed or hidden.

Lines are named by their number, counted from the newest, which is 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from familiar_connect.errors import HistoryError
from familiar_connect.familiar import Familiar
from familiar_connect.history.chat_lines import swap_lines
from familiar_connect.history.chats import list_standing_turns
from familiar_connect.history.turn_visibility import may_tell_turn
from familiar_connect.history.types import HistoryTurn, TurnMark
from familiar_connect.identity import LOCAL_PLATFORMS
from familiar_connect.presets.macros.identity_macros import name_filler
from familiar_connect.reply.chat_controls import ControlDoor, ControlResult
from familiar_connect.slash.command import OptionKind, SlashCommand, SlashContext, SlashOption, SlashReply
from familiar_connect.slash.people import note_readers
from familiar_connect.support.aio import off_loop
from familiar_connect.support.text import one_line, shorten
from familiar_connect.support.translate import later, tr, tr_many

SHOWN_LINES = 10
MOST_LINES = 50
MOST_UNDONE = 20
SHOWN_CHARS = 100
BACK, NEXT = "back", "next"
THINK, SAY = "think", "say"
SWIPE_STEPS = {"": 1, NEXT: 1, "right": 1, BACK: -1, "left": -1}
"""Where a word leads from the version in use; SillyTavern's are among them."""
NO_CHAT_HERE = later("This command works in a chat only.")
FOR_FEWER = later("The last line here was said when fewer people could read the channel: say something first.")
STAYS_THERE = later("Here everybody sees the lines where they were said, so they stay in that order.")
OF_FEWER = later("(said when fewer people could read here)")


def door_of(ctx: SlashContext) -> ControlDoor:
    """Where the command was used, as the controls want it."""
    if ctx.answers_at is None:
        raise HistoryError(tr(NO_CHAT_HERE))
    return ControlDoor(channel_id=ctx.channel_id, speaker=ctx.author, place=ctx.answers_at, guild_id=ctx.guild_id)


async def show_version(door: ControlDoor, familiar: Familiar, result: ControlResult | None) -> SlashReply:
    """Show what a reply reads now, where it is not shown yet."""
    if result is None:
        return SlashReply(text=tr("Answered."), is_aside=True)
    if not result.is_shown:
        await familiar.reply_path.controls.show(door, result.turn)
    versions = result.versions
    return SlashReply(
        text=tr("Version {number} of {count}.").format(number=versions.chosen + 1, count=len(versions.texts)),
        is_aside=True,
    )


async def _require_tellable_line(ctx: SlashContext, familiar: Familiar) -> None:
    """Refuse to go on from a last line that may not be told to those who can read here now."""
    here = await off_loop(note_readers, ctx, familiar)
    last = await familiar.reply_path.controls.lines(ctx.channel_id, 1)
    if last and not may_tell_turn(last[0], here, familiar.config.telling_policy):
        raise HistoryError(tr(FOR_FEWER))


async def run_regenerate(ctx: SlashContext, familiar: Familiar) -> SlashReply:
    door, wanted = door_of(ctx), ctx.words.strip().lower()
    if wanted not in ("", THINK):
        raise HistoryError(tr("Say /regenerate, or /regenerate think to have me think it through first."))
    await _require_tellable_line(ctx, familiar)
    made = await familiar.reply_path.controls.regenerate(door, reasoning=wanted == THINK)
    return await show_version(door, familiar, made)


async def run_swipe(ctx: SlashContext, familiar: Familiar) -> SlashReply:
    door, wanted = door_of(ctx), ctx.words.strip().lower()
    await _require_tellable_line(ctx, familiar)
    controls = familiar.reply_path.controls
    if wanted in SWIPE_STEPS:
        return await show_version(door, familiar, await controls.swipe(door, step=SWIPE_STEPS[wanted]))
    return await show_version(
        door,
        familiar,
        await controls.swipe(door, read_line_number(wanted, tr("/swipe 2; or /swipe next, /swipe back")) - 1),
    )


async def run_continue(ctx: SlashContext, familiar: Familiar) -> SlashReply:
    door = door_of(ctx)
    await _require_tellable_line(ctx, familiar)
    result = await familiar.reply_path.controls.continue_reply(door)
    if not result.is_shown:
        await show_version(door, familiar, result)
    return SlashReply(text="(continued)", is_aside=True)


async def run_undo(ctx: SlashContext, familiar: Familiar) -> SlashReply:
    wanted = ctx.words.strip()
    count = read_line_number(wanted, tr("/undo 2 for the last two exchanges")) if wanted else 1
    if count > MOST_UNDONE:
        raise HistoryError(
            tr("I can remove at most {most_undone} exchanges at once: /undo {most_undone}.").format(
                most_undone=MOST_UNDONE
            )
        )
    door = door_of(ctx)
    gone = await familiar.reply_path.controls.undo(door, count)
    lines = "\n".join(f"  {line}" for line in await _shown(gone, ctx, familiar))
    lines_gone = tr_many("{count} line", "{count} lines", len(gone))
    how_much = f"{tr_many('{count} exchange', '{count} exchanges', count)}, {lines_gone}"
    stays = (
        tr(" {door} in this channel.").format(door=_standing(door))
        if ctx.author.platform not in LOCAL_PLATFORMS
        else ""
    )
    return SlashReply(
        text=tr("Removed from this chat ({how_much}): no prompt, search or memory uses it now.{stays}\n{lines}").format(
            how_much=how_much, stays=stays, lines=lines
        )
    )


def _standing(door: ControlDoor) -> str:
    """What /undo cannot take out of a place that others read."""
    return tr("What people wrote is still") if door.place.features.rewrites else tr("All of it is still")


async def run_edit(ctx: SlashContext, familiar: Familiar) -> SlashReply:
    number, _, text = ctx.words.strip().partition(" ")
    line = read_line_number(
        number, tr("/edit 1 NEW WORDS for the last line, /edit 2 NEW WORDS for the one before; /lines shows them")
    )
    result = await familiar.reply_path.controls.edit(door_of(ctx), line, text.strip())
    return SlashReply(text=tr("It now reads:\n  {turn}").format(turn=_line(result.turn, familiar)))


async def run_hide(ctx: SlashContext, familiar: Familiar) -> SlashReply:
    line = read_line_number(ctx.words.strip(), tr("/hide 1 for the last line; /lines shows them"))
    turn = await familiar.reply_path.controls.set_hidden(ctx.channel_id, line, is_hidden=True)
    (shown,) = await _shown([turn], ctx, familiar)
    return SlashReply(
        text=tr("Hidden from every prompt (/unhide {line} shows it again):\n  {shown}").format(line=line, shown=shown)
    )


async def run_unhide(ctx: SlashContext, familiar: Familiar) -> SlashReply:
    line = read_line_number(ctx.words.strip(), tr("/unhide 1 for the last line; /lines shows them"))
    turn = await familiar.reply_path.controls.set_hidden(ctx.channel_id, line, is_hidden=False)
    (shown,) = await _shown([turn], ctx, familiar)
    return SlashReply(text=tr("Back in the chat:\n  {shown}").format(shown=shown))


async def run_lines(ctx: SlashContext, familiar: Familiar) -> SlashReply:
    wanted = ctx.words.strip()
    asked = read_line_number(wanted, tr("/lines 20")) if wanted else SHOWN_LINES
    limit = min(asked, MOST_LINES)
    found = await familiar.reply_path.controls.lines(ctx.channel_id, limit + 1)
    turns = found[-limit:]
    shown = await _shown(turns, ctx, familiar)
    rows = [f"{len(turns) - at:>3}  {line}" for at, line in enumerate(shown)]
    if len(found) > limit and (asked > limit or not wanted):
        more = (
            tr("/lines {count} shows more").format(count=2 * SHOWN_LINES)
            if asked <= limit
            else tr("/lines shows at most {most_lines}").format(most_lines=MOST_LINES)
        )
        rows.insert(0, tr("  …  There are older ones; {more}.").format(more=more))
    return SlashReply(text="\n".join(rows) or tr("Nothing has been said here yet."))


async def run_impersonate(ctx: SlashContext, familiar: Familiar) -> SlashReply:
    door, wanted = door_of(ctx), ctx.words.strip().lower()
    if wanted == SAY:
        message = await familiar.reply_path.controls.post_draft(door)
        parent = ctx.place.parent_id if ctx.place is not None else None
        await familiar.intake.receive(replace(message, parent_channel_id=parent), door.place)
        return SlashReply(text=tr("Posted under your name."), is_aside=True)
    await _require_tellable_line(ctx, familiar)
    draft = await familiar.reply_path.controls.speak_for(door)
    return SlashReply(text=draft, draft=draft)


async def run_delete(ctx: SlashContext, familiar: Familiar) -> SlashReply:
    line = read_line_number(ctx.words.strip(), tr("/delete 1 for the last line; /lines shows them"))
    door = door_of(ctx)
    turn = await familiar.reply_path.controls.remove_line(door, line)
    (shown,) = await _shown([turn], ctx, familiar)
    return SlashReply(
        text=tr("Removed from this chat; no prompt, search or memory uses it now:\n  {shown}").format(shown=shown)
    )


async def run_move(ctx: SlashContext, familiar: Familiar) -> SlashReply:
    number, _, where = ctx.words.strip().partition(" ")
    line, step = read_line_number(number, tr("/move 1 up; /lines shows them")), read_direction(where)
    if ctx.author.platform not in LOCAL_PLATFORMS:
        raise HistoryError(tr(STAYS_THERE))
    turn = await familiar.reply_path.controls.line(ctx.channel_id, line)
    await move_line(familiar, ctx.channel_id, turn.id, step)
    return SlashReply(text=tr("Moved; I read it where it stands now. /lines shows it."))


async def move_line(familiar: Familiar, channel_id: int, turn_id: int, step: int) -> list[int]:
    """Let a line change places with the one *step* lines on, -1: the one before it. Both turns, its new one first."""
    controls = familiar.reply_path.controls
    line = await controls.find_line(channel_id, turn_id)
    there = await off_loop(list_standing_turns, familiar.history_store, familiar.id, channel_id)
    at = there.index(line.id) + step
    if not 0 <= at < len(there):
        raise HistoryError(tr("There is no line beyond this one that it could change places with."))
    swap = partial(swap_lines, familiar.history_store, familiar.id, there[at], turn_id, familiar.clock)
    return await controls.change_turns(channel_id, swap)


def read_direction(words: str) -> int:
    """Which way a line is moved: -1 up, 1 down."""
    found = {"up": -1, "down": 1}.get(words.strip().lower())
    if found is None:
        raise HistoryError(tr("Say up or down: /move 1 up."))
    return found


def read_line_number(words: str, how: str) -> int:
    """The whole number above 0 that *words* are; *how* says what to type."""
    if not words.isascii() or not words.isdigit() or len(words) > 6 or int(words) < 1:
        raise HistoryError(tr("Give a number: {how}.").format(how=how))
    return int(words)


async def _shown(turns: Sequence[HistoryTurn], ctx: SlashContext, familiar: Familiar) -> list[str]:
    """Lines of a chat, each on one line; without the words of those that may not be told to who can read here now."""
    here, policy = await off_loop(note_readers, ctx, familiar), familiar.config.telling_policy
    return [_line(turn, familiar) if may_tell_turn(turn, here, policy) else tr(OF_FEWER) for turn in turns]


def _line(turn: HistoryTurn, familiar: Familiar) -> str:
    """One line of a chat on one line."""
    who = turn.author.label if turn.author is not None else familiar.name
    said = one_line(name_filler(familiar.name, familiar.config.user_name)(turn.display_text))
    return f"{'(hidden) ' if turn.mark is TurnMark.hidden else ''}{who}: {shorten(said, SHOWN_CHARS)}"


_LINE = SlashOption(
    name="line",
    description=later("Its number; the last line is 1."),
    required=True,
    kind=OptionKind.number,
)

CONTROLS = (
    SlashCommand(
        name="regenerate",
        description=later("Write the last reply again; the old one is kept. /regenerate think: with more care."),
        run=run_regenerate,
        is_control=True,
        options=(SlashOption(name="how", description=later("think: I think it through first."), choices=(THINK,)),),
    ),
    SlashCommand(
        name="swipe",
        description=later(
            "Show the next version of the last reply. /swipe back shows the one before, /swipe 2 the second."
        ),
        run=run_swipe,
        is_control=True,
        options=(SlashOption(name="version", description=later("next, back, or a number.")),),
        words=tuple(word for word in SWIPE_STEPS if word),
    ),
    SlashCommand(
        name="continue", description=later("Let me continue my last reply."), run=run_continue, is_control=True
    ),
    SlashCommand(
        name="impersonate",
        description=later("Let me write your next line for you to change. /impersonate say posts it for you."),
        run=run_impersonate,
        is_control=True,
        options=(SlashOption(name="how", description=later("say: post what I wrote, as yours."), choices=(SAY,)),),
    ),
    SlashCommand(
        name="undo",
        description=later("Remove the last exchange. /undo 2 removes the last two."),
        run=run_undo,
        is_control=True,
        options=(SlashOption(name="count", description=later("How many exchanges."), kind=OptionKind.number),),
    ),
    SlashCommand(
        name="edit",
        description=later("Change a line, mine or yours: /edit 1 NEW WORDS."),
        run=run_edit,
        is_control=True,
        options=(_LINE, SlashOption(name="text", description=later("The new words."), required=True)),
    ),
    SlashCommand(
        name="delete",
        description=later("Remove one line from this chat: /delete 1."),
        run=run_delete,
        is_control=True,
        options=(_LINE,),
    ),
    SlashCommand(
        name="move",
        description=later("Move a line one place: /move 1 up, /move 2 down."),
        run=run_move,
        is_control=True,
        options=(
            _LINE,
            SlashOption(name="where", description=later("up or down."), required=True, choices=("up", "down")),
        ),
    ),
    SlashCommand(
        name="hide",
        description=later("Keep a line out of every prompt: /hide 1."),
        run=run_hide,
        is_control=True,
        options=(_LINE,),
    ),
    SlashCommand(
        name="unhide",
        description=later("Show a hidden line to me again: /unhide 1."),
        run=run_unhide,
        is_control=True,
        options=(_LINE,),
    ),
    SlashCommand(
        name="lines",
        description=later("Show the last lines with their numbers. /lines 20 shows more."),
        run=run_lines,
        is_control=True,
        options=(SlashOption(name="count", description=later("How many."), kind=OptionKind.number),),
    ),
)


SAY = "say"
NOT_YOURS = later("Only my operator, or the person I am answering, can stop me.")
NOTHING = later("I am not answering anyone here.")


async def run_stop(ctx: SlashContext, familiar: Familiar) -> SlashReply:
    """End the reply that is being made or is still arriving: for the operator, and for whoever is being answered."""
    path, wanted = familiar.reply_path, ctx.words.strip().lower()
    if not (ctx.is_operator or path.deliveries.get(ctx.channel_id).answers(ctx.author.canonical_key)):
        return SlashReply(text=tr(NOT_YOURS))
    if not await path.queue.stop(ctx.channel_id):
        return SlashReply(text=tr(NOTHING))
    if wanted == SAY:
        await off_loop(note_readers, ctx, familiar)
        await path.controls.say_stopped(door_of(ctx))
    return SlashReply(text=tr("Stopped. What I had written so far stays."))


STOP = SlashCommand(
    name="stop",
    description=later("Stop my reply here. With /stop say, I say that I stopped."),
    run=run_stop,
    options=(SlashOption(name="how", description=later("say: I say that I stopped."), choices=(SAY,)),),
)
