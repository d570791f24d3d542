"""/limits: how much everybody in this channel gets together. Whoever manages the channel may change it.

What the owner wrote, for the channel too, they can make less and not more. What holds for the server, for each person
and for the day holds besides, whatever is set here.
"""

from __future__ import annotations

import re

from familiar_connect.channel_config import ChannelConfigStore
from familiar_connect.config.limits import PlaceLimits
from familiar_connect.familiar import Familiar
from familiar_connect.slash.command import OptionKind, SlashCommand, SlashContext, SlashOption, SlashReply
from familiar_connect.support.aio import off_loop
from familiar_connect.support.text import how_often
from familiar_connect.support.translate import later, tr

REPLIES, TOKENS, OFF = "replies", "tokens", "off"
MOST = 1_000_000_000
HOW = later(
    "Say /limits replies 20 for so many replies an hour in this channel, /limits tokens "
    "50000 for so many tokens a day, or both; 0 is no limit."
)
OWNERS_ALONE = later("My owner set that, and only my owner can allow more.")
_PAIR = re.compile(rf"({REPLIES}|{TOKENS})\s+(\d{{1,10}})")


async def run_limits(ctx: SlashContext, familiar: Familiar) -> SlashReply:
    """Without words: what holds here."""
    channels = familiar.channel_configs
    channel_id = channels.parent_channel(ctx.channel_id)
    wanted = ctx.words.strip().lower()
    if not wanted:
        return SlashReply(text=f"{_told(await off_loop(_limits_around, channels, ctx.channel_id))} {tr(HOW)}")
    changes = _read_changes(wanted)
    if changes is None:
        return SlashReply(text=tr(HOW))
    if ctx.is_operator:
        await off_loop(channels.set_limits, channel_id, changes)
        return SlashReply(text=_told(await off_loop(_limits_around, channels, ctx.channel_id)))
    owners = (await off_loop(channels.get, channel_id)).limits
    held = {name: getattr(owners, name) for name in changes}
    if any(number and held[name] and number > held[name] for name, number in changes.items()):
        return SlashReply(text=f"{_told(owners)} {tr(OWNERS_ALONE)}")
    await off_loop(channels.set_managers_limits, channel_id, changes)
    told = _told(await off_loop(_limits_around, channels, ctx.channel_id))
    is_left = any(number is None and held[name] for name, number in changes.items())
    return SlashReply(text=f"{told} {tr(OWNERS_ALONE)}" if is_left else told)


def _limits_around(channels: ChannelConfigStore, channel_id: int) -> PlaceLimits:
    """What holds in a channel; in a thread with limits of its own the smaller of those and of its channel's."""
    around = channels.get(channels.parent_channel(channel_id)).limits_in_force
    return around.narrow(channels.get(channel_id).limits_in_force)


def _read_changes(words: str) -> dict[str, int | None] | None:
    """The settings that *words* ask for; None: they cannot be read."""
    if words == OFF:
        return {"replies_per_hour": None, "tokens_per_day": None}
    found = dict(_PAIR.findall(words))
    if not found or _PAIR.sub("", words).strip() or any(int(each) > MOST for each in found.values()):
        return None
    names = {REPLIES: "replies_per_hour", TOKENS: "tokens_per_day"}
    return {names[kind]: int(number) or None for kind, number in found.items()}


def _told(limits: PlaceLimits) -> str:
    parts = []
    if limits.replies_per_hour:
        parts.append(
            tr("at most {replies_per_hour} an hour").format(replies_per_hour=how_often(limits.replies_per_hour))
        )
    if limits.tokens_per_day:
        parts.append(tr("for at most {tokens_per_day:,} tokens a day").format(tokens_per_day=limits.tokens_per_day))
    if limits.money_per_day:
        parts.append(tr("for at most {money_per_day:.2f} a day").format(money_per_day=limits.money_per_day))
    if not parts:
        return tr("This channel has no limit of its own.")
    return tr("I answer in this channel {limits}; my owner has no limit.").format(limits=tr(" and ").join(parts))


LIMITS = SlashCommand(
    name="limits",
    description=later("How often I answer in this channel: replies an hour, tokens a day; 0 is no limit."),
    run=run_limits,
    needs_manage=True,
    options=(
        SlashOption(
            name="replies", description=later("Replies an hour; 0: no limit."), kind=OptionKind.number, words=REPLIES
        ),
        SlashOption(
            name="tokens", description=later("Tokens a day; 0: no limit."), kind=OptionKind.number, words=TOKENS
        ),
    ),
    words=(REPLIES, TOKENS, OFF),
)
