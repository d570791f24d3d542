"""/remind: what the asker is to be reminded of, here. Everyone may, for themselves."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

from familiar_connect.familiar import Familiar
from familiar_connect.history.orders.reminders import StoredReminder
from familiar_connect.identity import LOCAL_PLATFORMS
from familiar_connect.slash.command import SlashCommand, SlashContext, SlashOption, SlashReply
from familiar_connect.support.aio import off_loop
from familiar_connect.support.future_time import parse_future_time

LIST, CANCEL = "list", "cancel"
HOW = "Say when and what: /remind tomorrow at nine call Mum, /remind in 20 minutes tea, /remind 2030-01-31 14:30 bus."
NOT_HERE = "I cannot write to you here unasked, so I could not remind you."
NOT_HEARD = "Your privacy is full: nothing is kept of you, so there is nothing I could remind you of."


async def run_remind(ctx: SlashContext, familiar: Familiar) -> SlashReply:
    first, _, rest = ctx.words.strip().partition(" ")
    if first.lower() in ("", LIST):
        return SlashReply(text=await _listing(ctx, familiar))
    if first.lower() == CANCEL:
        return SlashReply(text=await _cancel(ctx, familiar, rest.strip()))
    if familiar.stores.privacy.is_full(ctx.author):
        return SlashReply(text=NOT_HEARD)
    reminders = familiar.reply_path.reminders
    if ctx.author.platform not in LOCAL_PLATFORMS and not reminders.can_reach(ctx.author.platform):
        return SlashReply(text=NOT_HERE)
    found = parse_future_time(ctx.words, familiar.clock.now(), _zone(familiar))
    if found is None:
        return SlashReply(text=HOW)
    stored = await familiar.stores.reminders.set(
        ctx.author, found.rest, found.at, channel_id=ctx.channel_id, guild_id=ctx.guild_id
    )
    is_here = reminders.can_reach(ctx.author.platform)
    where = "" if is_here else " I tell you when you next open `familiar chat`."
    return SlashReply(
        text=f"I remind you here on {format_due(stored.due_at, familiar)}: {stored.purpose}\n"
        f"/remind {CANCEL} {stored.id} takes it back, /remind {LIST} shows yours.{where}"
    )


async def _listing(ctx: SlashContext, familiar: Familiar) -> str:
    found = await off_loop(familiar.stores.reminders.of_person, ctx.author)
    if not found:
        return f"You have no reminders. {HOW}"
    return "\n".join(_row(each, ctx, familiar) for each in found)


def _row(stored: StoredReminder, ctx: SlashContext, familiar: Familiar) -> str:
    where = "" if stored.channel_id == ctx.channel_id else " (in another place)"
    return f"{stored.id:>4}  {format_due(stored.due_at, familiar)}: {stored.purpose}{where}"


async def _cancel(ctx: SlashContext, familiar: Familiar, number: str) -> str:
    if not number.isascii() or not number.isdigit() or len(number) > 12:
        return f"Say which: /remind {CANCEL} NUMBER; /remind {LIST} shows the numbers."
    gone = await familiar.stores.reminders.cancel(ctx.author, int(number))
    return f"Taken back: {gone.purpose}" if gone is not None else f"You have no reminder {number}."


def format_due(due: datetime, familiar: Familiar) -> str:
    """A moment as the familiar's owner reads clocks, with the zone."""
    zone = _zone(familiar)
    return f"{due.astimezone(zone):%A, %Y-%m-%d at %H:%M} ({zone.key})"


def _zone(familiar: Familiar) -> ZoneInfo:
    return ZoneInfo(familiar.config.display_tz)


REMIND = SlashCommand(
    name="remind",
    description="Have me remind you here: /remind tomorrow at nine call Mum; /remind list, /remind cancel 3.",
    run=run_remind,
    options=(
        SlashOption(name="when", description="tomorrow at nine, in 20 minutes, 2030-01-31 14:30; or list, or cancel."),
        SlashOption(name="text", description="What of; for cancel, its number."),
    ),
    words=(LIST, CANCEL),
)
