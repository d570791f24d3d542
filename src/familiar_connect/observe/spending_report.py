"""Today's spending against the limits, and who was not answered and why, as text and as plain data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from familiar_connect.config.command import with_command
from familiar_connect.observe.spending import NOBODY, DayRecord
from familiar_connect.support.text import one_line
from familiar_connect.support.text_table import text_table
from familiar_connect.support.word_wrap import ENDLESS

if TYPE_CHECKING:  # who was not answered is told without the limits
    from familiar_connect.config.limits import LimitsConfig

MAX_PEOPLE = 20
_WHY = {
    "ignored": "you ignore them (`familiar ignore list`)",
    "replies_per_person_per_minute": "too many at once ([limits] replies_per_person_per_minute)",
    "replies_per_person_per_hour": "too many in an hour ([limits] replies_per_person_per_hour)",
}


def spending_text(record: DayRecord, limits: LimitsConfig, width: int = ENDLESS) -> str:
    """What the day cost so far, all of it and person by person."""
    total = record.total
    rows = [
        ["tokens", f"{total.tokens:,}", _tokens(limits.tokens_per_day)],
        ["money", f"{total.money:.4f}", _money(limits.money_per_day)],
        ["calls", f"{total.calls:,}", ""],
    ]
    text = f"Spending on {record.day}\n" + text_table(["", "used", "limit"], rows, width)
    people = sorted(record.spending.items(), key=lambda item: (-item[1].tokens, item[0]))
    if people:
        shown = [
            [one_line(person) or "(memory and upkeep)", f"{spent.calls:,}", f"{spent.tokens:,}", f"{spent.money:.4f}"]
            for person, spent in people[:MAX_PEOPLE]
        ]
        text += "\n" + text_table(["person", "calls", "tokens", "money"], shown, width)
        if len(people) > MAX_PEOPLE:
            text += f"\n  and {len(people) - MAX_PEOPLE} more"
    if record.places:
        placed = [
            [one_line(place), f"{spent.tokens:,}", f"{spent.money:.4f}"]
            for place, spent in sorted(record.places.items(), key=lambda item: (-item[1].tokens, item[0]))[:MAX_PEOPLE]
        ]
        text += "\n" + text_table(["place with limits", "tokens", "money"], placed, width)
    tokens, money = _tokens(limits.tokens_per_person_per_day), _money(limits.money_per_person_per_day)
    return text + f"\nlimit for each person but you: tokens {tokens}, money {money}"


def refusals_text(record: DayRecord, width: int = ENDLESS) -> str:
    """Who was not answered today, why and when last; nothing where everybody was."""
    typed = str if width == ENDLESS else with_command  # a hint is as long as it is typed here
    rows = [
        [one_line(person), f"{refused.messages:,}", one_line(refused.last_at), typed(describe_refusal(reason))]
        for (person, reason), refused in sorted(record.refusals.items())
        if person != NOBODY
    ]
    return "Not answered today\n" + text_table(["person", "messages", "last", "why"], rows, width) if rows else ""


def spending_facts(record: DayRecord, limits: LimitsConfig) -> dict[str, object]:
    """All of it for a script."""
    return {
        "day": record.day,
        "tokens": record.total.tokens,
        "tokens_per_day": limits.tokens_per_day or None,
        "money": record.total.money,
        "money_per_day": limits.money_per_day or None,
        "calls": record.total.calls,
        "people": {
            person: {"calls": spent.calls, "tokens": spent.tokens, "money": spent.money}
            for person, spent in sorted(record.spending.items())
            if person != NOBODY
        },
        "places": {
            place: {"calls": spent.calls, "tokens": spent.tokens, "money": spent.money}
            for place, spent in sorted(record.places.items())
        },
        "not_answered": refusal_facts(record),
    }


def refusal_facts(record: DayRecord) -> list[dict[str, object]]:
    return [
        {"person": person, "reason": reason, "messages": refused.messages, "last_at": refused.last_at}
        for (person, reason), refused in sorted(record.refusals.items())
        if person != NOBODY
    ]


def describe_refusal(reason: str) -> str:
    """The setting that keeps somebody from being answered; behind it stands the place that it is of, if any."""
    setting, _, place = one_line(reason).partition(" ")
    kind, _, id_ = place.partition(":")
    if kind == "channel":
        return f"the channel's limit is reached ({setting} in channels/{id_}.toml)"
    if kind == "server":
        return f"the server's limit is reached ({setting} of {id_} under [limits.servers])"
    return _WHY.get(reason, f"the day's limit is reached ([limits] {one_line(reason)})")


def _tokens(limit: int) -> str:
    return f"{limit:,}" if limit else "none"


def _money(limit: float) -> str:
    return f"{limit:.2f}" if limit else "none"
