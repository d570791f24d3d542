"""/quiet: say nothing in this channel for a while. It hears all the same, and knows afterwards what was said."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from familiar_connect.familiar import Familiar
from familiar_connect.slash.command import SlashCommand, SlashContext, SlashOption, SlashReply
from familiar_connect.slash.people import names_begun
from familiar_connect.support.aio import off_loop
from familiar_connect.support.translate import later, tr

OFF = "off"
LONGEST = timedelta(days=30)
OFFERED = ("15m", "1h", "8h", "1d", OFF)
HOW = later("Say how long: /quiet 30m, /quiet 1h, /quiet 2d (30 days at most). /quiet off ends it.")
_LENGTH = re.compile(r"(\d{1,5})\s*(m|min|minutes?|h|hours?|d|days?)")
_UNITS = {"m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1)}


async def run_quiet(ctx: SlashContext, familiar: Familiar) -> SlashReply:
    """Without words: how it stands."""
    quiet, wanted = familiar.stores.quiet, ctx.words.strip().lower()
    if not wanted:
        until = quiet.until(ctx.channel_id)
        return SlashReply(
            text=tr("I am not quiet here. {how}").format(how=tr(HOW)) if until is None else _told(until, familiar)
        )
    if wanted == OFF:
        was_quiet = await off_loop(quiet.set, ctx.channel_id, None)
        return SlashReply(text=tr("I can speak here again.") if was_quiet else tr("I was not quiet here."))
    length = _read_length(wanted)
    if length is None:
        return SlashReply(text=tr(HOW))
    until = familiar.clock.now() + length
    await off_loop(quiet.set, ctx.channel_id, until)
    return SlashReply(text=_told(until, familiar))


def _read_length(words: str) -> timedelta | None:
    found = _LENGTH.fullmatch(words)
    length = int(found[1]) * _UNITS[found[2][0]] if found is not None else timedelta()
    return length if timedelta() < length <= LONGEST else None


def _told(until: datetime, familiar: Familiar) -> str:
    zone = ZoneInfo(familiar.config.display_tz)
    when = f"{until.astimezone(zone):%A, %Y-%m-%d at %H:%M} ({zone.key})"
    return tr("I stay quiet here until {when}. I still listen, and reminders still come. /quiet off ends it.").format(
        when=when
    )


async def suggest_lengths(familiar: Familiar, begun: str) -> list[str]:
    """Lengths that begin with what was typed so far."""
    return names_begun(OFFERED, begun)


QUIET = SlashCommand(
    name="quiet",
    description=later("Keep me quiet here for a while: /quiet 1h. /quiet off ends it."),
    run=run_quiet,
    needs_manage=True,
    options=(SlashOption(name="length", description=later("30m, 1h, 2d, or off."), suggest=suggest_lengths),),
    words=(OFF,),
)
