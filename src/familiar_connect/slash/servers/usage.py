"""/usage: what today cost. The owner sees it person by person and channel by channel, everyone else their own part."""

from __future__ import annotations

from collections.abc import Sequence

from familiar_connect.familiar import Familiar
from familiar_connect.observe.spending import NOBODY, Spending
from familiar_connect.observe.spending_report import describe_refusal
from familiar_connect.slash.command import SlashCommand, SlashContext, SlashReply
from familiar_connect.support.aio import off_loop
from familiar_connect.support.text import one_line, pluralize, shorten
from familiar_connect.support.text_table import TableStyle, text_table
from familiar_connect.support.translate import later, tr

MOST_ROWS = 15
CHANNEL = "channel:"
"""Before the number of a channel, where what it took is counted."""
MAX_NAME = 40
HOUSE = later("(memory and upkeep)")


async def run_usage(ctx: SlashContext, familiar: Familiar) -> SlashReply:
    await familiar.spending.sync()
    today = familiar.spending.today()
    if not ctx.is_operator:
        return SlashReply(text=_own(today.spending.get(ctx.author.canonical_key, Spending()), ctx, familiar))
    total = today.total
    head = tr("Today: {total}.").format(total=_amount(total))
    if not total.calls and not today.refusals:
        return SlashReply(text=head)
    names = await off_loop(_names, familiar)
    people = sorted(today.spending.items(), key=lambda item: -item[1].tokens)
    house = tr(HOUSE)
    rows = [(house if key == NOBODY else names.get(key, key), f"{each.tokens:,}", _money(each)) for key, each in people]
    style = TableStyle(left=(0,), indent=0)
    told = text_table(("person", "tokens", "money"), _short(rows), ctx.columns, style)
    places = sorted(today.places.items(), key=lambda item: -item[1].tokens)
    channels = [(int(key.removeprefix(CHANNEL)), each) for key, each in places if key.startswith(CHANNEL)]
    name_of = familiar.labels.format_channel_context
    where = [(name_of(number), f"{each.tokens:,}", _money(each)) for number, each in channels]
    tables = [told, text_table(("channel", "tokens", "money"), _short(where), ctx.columns, style) if where else ""]
    refused = [
        (names.get(person, person), f"{each.messages:,}", describe_refusal(reason))
        for (person, reason), each in sorted(today.refusals.items(), key=lambda item: -item[1].messages)
        if person != NOBODY
    ]
    if refused:
        wide = TableStyle(left=(0, 2), indent=0)
        tables.append(text_table((tr("not answered"), "messages", "why"), _short(refused), ctx.columns, wide))
    shown = "\n\n".join(filter(None, tables))
    return SlashReply(text=f"{head}\n```\n{shown}\n```")


def _own(spent: Spending, ctx: SlashContext, familiar: Familiar) -> str:
    limits = familiar.reply_path.limits.person_limits(ctx.author, ctx.guild_id)
    most = (
        tr("; {tokens_per_person_per_day:,} tokens are the most").format(
            tokens_per_person_per_day=limits.tokens_per_person_per_day
        )
        if limits.tokens_per_person_per_day
        else ""
    )
    return tr("Talking with you took {spent} today{most}.").format(spent=_amount(spent), most=most)


def _amount(spent: Spending) -> str:
    money = f", {_money(spent)}" if spent.money else ""
    return f"{pluralize(spent.tokens, 'token')} in {pluralize(spent.calls, 'call')}{money}"


def _money(spent: Spending) -> str:
    return f"{spent.money:.4f}"


def _short(rows: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """The first rows, each name on one line and none of them endless."""
    shown = [(shorten(one_line(name), MAX_NAME), *rest) for name, *rest in rows[:MOST_ROWS]]
    more = len(rows) - MOST_ROWS
    return [*shown, (tr("and {more:,} more").format(more=more), *("" for _ in rows[0][1:]))] if more > 0 else shown


def _names(familiar: Familiar) -> dict[str, str]:
    """What people who spoke are called, by the key that they are counted under."""
    speakers = familiar.history_store.authors.speakers(familiar_id=familiar.id)
    return {each.author.canonical_key: each.author.label for each in speakers}


USAGE = SlashCommand(name="usage", description=later("Show how many tokens talking with me used today."), run=run_usage)
