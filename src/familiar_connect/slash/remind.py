"""/remind: what the asker is to be reminded of, here. Everyone may, for themselves."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

from familiar_connect.familiar import Familiar
from familiar_connect.history.reminders import StoredReminder
from familiar_connect.identity import LOCAL_PLATFORMS
from familiar_connect.slash.command import OptionKind, SlashCommand, SlashContext, SlashOption, SlashReply
from familiar_connect.slash.people import names_begun
from familiar_connect.support.aio import off_loop
from familiar_connect.support.future_time import parse_future_time
from familiar_connect.support.recurrence import parse_recurrence
from familiar_connect.support.translate import later, tr

LIST, CANCEL = "list", "cancel"
HOW = later(
    "Say when and what: /remind tomorrow at nine call Mum, /remind in 20 minutes tea, "
    "/remind 2030-01-31 14:30 bus, /remind every weekday at 9 stand-up."
)
TIMES = (
    "in 10 minutes",
    "in an hour",
    "tomorrow at nine",
    "tomorrow at 18:00",
    "every weekday at 9",
)
"""What is offered to who begins to type; anything of the kind is understood."""
NOT_AGAIN = later("Only moderators can set repeating reminders here, because everyone reads them.")
NOT_HERE = later("I cannot message you here first, so I could not remind you.")
NOT_HEARD = later("Your privacy is full: I keep nothing about you, so I cannot remind you.")


async def run_remind(ctx: SlashContext, familiar: Familiar) -> SlashReply:
    first, _, rest = ctx.words.strip().partition(" ")
    if first.lower() in ("", LIST):
        return SlashReply(text=await _listing(ctx, familiar))
    if first.lower() == CANCEL:
        return SlashReply(text=await _cancel(ctx, familiar, rest.strip()))
    if familiar.stores.privacy.is_full(ctx.author):
        return SlashReply(text=tr(NOT_HEARD))
    reminders = familiar.reply_path.reminders
    if ctx.author.platform not in LOCAL_PLATFORMS and not reminders.can_reach(ctx.author.platform):
        return SlashReply(text=tr(NOT_HERE))
    now, zone = familiar.clock.now(), _zone(familiar)
    again = parse_recurrence(ctx.words, now, zone)  # first: "every monday at 9" ends with a time that is no rule
    if again is not None and ctx.others_read and not (ctx.may_manage or ctx.is_operator):
        return SlashReply(text=tr(NOT_AGAIN))
    found = again or parse_future_time(ctx.words, now, zone)
    if found is None:
        return SlashReply(text=tr(HOW))
    rule = again.rule if again is not None else None
    stored = await familiar.stores.reminders.set(
        ctx.author, found.rest, found.at, channel_id=ctx.channel_id, guild_id=ctx.guild_id, repeats=rule
    )
    is_here = reminders.can_reach(ctx.author.platform)
    where = "" if is_here else tr(" I will tell you when you next open `familiar chat`.")
    return SlashReply(
        text=tr(
            "I will remind you here {stored}: {purpose}\n/remind {cancel} {id} cancels it, "
            "/remind {list} shows yours.{where}"
        ).format(
            stored=_when(stored, familiar), purpose=stored.purpose, cancel=CANCEL, id=stored.id, list=LIST, where=where
        )
    )


async def _listing(ctx: SlashContext, familiar: Familiar) -> str:
    found = await off_loop(familiar.stores.reminders.of_person, ctx.author)
    if not found:
        return tr("You have no reminders. {how}").format(how=tr(HOW))
    return "\n".join(_row(each, ctx, familiar) for each in found)


def _row(stored: StoredReminder, ctx: SlashContext, familiar: Familiar) -> str:
    where = "" if stored.channel_id == ctx.channel_id else tr(" (in another place)")
    return f"{stored.id:>4}  {_when(stored, familiar, on='')}: {_purpose(stored, ctx)}{where}"


def _purpose(stored: StoredReminder, ctx: SlashContext) -> str:
    """What a reminder is about, unless it was set elsewhere and others read this answer."""
    return "…" if ctx.others_read and stored.channel_id != ctx.channel_id else stored.purpose


def _when(stored: StoredReminder, familiar: Familiar, *, on: str = "on ") -> str:
    """When a reminder comes; of one that comes again its rule, and the next time."""
    due = format_due(stored.due_at, familiar)
    return (
        f"{on}{due}"
        if stored.repeats is None
        else tr("{words}, next on {due}").format(words=stored.repeats.words, due=due)
    )


async def _cancel(ctx: SlashContext, familiar: Familiar, number: str) -> str:
    if not number.isascii() or not number.isdigit() or len(number) > 12:
        return tr("Say which: /remind {cancel} NUMBER; /remind {list} shows the numbers.").format(
            cancel=CANCEL, list=LIST
        )
    gone = await familiar.stores.reminders.cancel(ctx.author, int(number))
    return (
        f"Cancelled: {_purpose(gone, ctx)}"
        if gone is not None
        else tr("You have no reminder {number}.").format(number=number)
    )


def format_due(due: datetime, familiar: Familiar) -> str:
    """A moment as the familiar's owner reads clocks, with the zone."""
    zone = _zone(familiar)
    return f"{due.astimezone(zone):%A, %Y-%m-%d at %H:%M} ({zone.key})"


def _zone(familiar: Familiar) -> ZoneInfo:
    return ZoneInfo(familiar.config.display_tz)


async def suggest_times(familiar: Familiar, begun: str) -> list[str]:
    """Ways to say when, that begin with what was typed so far."""
    return names_begun(TIMES, begun)


REMIND = SlashCommand(
    name="remind",
    description=later("Have me remind you here: /remind tomorrow at nine call Mum; /remind list, /remind cancel 3."),
    run=run_remind,
    options=(
        SlashOption(
            name="when",
            description=later("tomorrow at nine, in 20 minutes, every weekday at 9; leave it empty to list yours."),
            suggest=suggest_times,
        ),
        SlashOption(name="text", description=later("What of.")),
        SlashOption(
            name="cancel",
            description=later("The number of a reminder to cancel."),
            kind=OptionKind.number,
            words=CANCEL,
        ),
    ),
    words=(LIST, CANCEL),
)
