"""Plots of past turns over hours or days, as shapes that a template draws: no script draws them, and none is needed.

Each bar is a stretch of time and leads to a turn of it: the slowest, the largest, or one that went wrong. Changes of
memory lead to the file that changed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from familiar_connect.observe.inspector import model_facts
from familiar_connect.observe.trace import (
    TurnTrace,
    count_or_zero,
    finite_number,
    only_mappings,
    provider_outcomes,
)
from familiar_connect.reply.inspection.turn_view import troubles_of
from familiar_connect.support.text import pluralize

WIDTH, HEIGHT, GAP = 960.0, 120.0, 1.0
MOST_BARS = 48
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
MOST_HOURS = 48
"""A longer time is shown by days."""
LEAST_HEIGHT = 2.0


@dataclass(frozen=True)
class Bar:
    """A stretch of time in a plot, in units of its drawing."""

    x: float
    width: float
    height: float
    label: str
    href: str
    """The page that it leads to."""


@dataclass(frozen=True)
class Plot:
    """One value over time."""

    title: str
    name: str
    """What the style sheet calls it."""
    bars: tuple[Bar, ...]
    top: str
    """The highest value, in words."""
    begin: str
    end: str


@dataclass(frozen=True, kw_only=True)
class Shown:
    """What a plot shows: how the values of one stretch become one, and how it is said."""

    title: str
    join: Callable[[Sequence[float]], float]
    say: Callable[[float], str]
    what: str = "turn"


@dataclass(frozen=True, kw_only=True)
class Measure(Shown):
    """A value of each turn; None: it tells nothing about that turn."""

    name: str
    value: Callable[[TurnTrace], float | None]


@dataclass(frozen=True)
class Happening:
    """Something that counts in a plot, and the page that tells more of it."""

    at: datetime
    href: str
    value: float = 1.0


def median(values: Sequence[float]) -> float:
    ordered = sorted(values)
    return ordered[len(ordered) // 2]


def _read_stage(*names: str) -> Callable[[TurnTrace], float | None]:
    """How long stages of a turn took together."""

    def value(turn: TurnTrace) -> float | None:
        found = [span.duration_s for name in names if (span := turn.stage(name)) is not None]
        return sum(found) if found else None

    return value


def _count_recalled(turn: TurnTrace) -> float | None:
    """How many pieces the search of memory found; None where it was not asked."""
    outcomes = [each for each in provider_outcomes(turn) if each.get("id") == "content_search"]
    return float(sum(len(only_mappings(each.get("found"))) for each in outcomes)) if outcomes else None


MEASURES = (
    Measure(
        title="Seconds to a whole reply, half are quicker",
        name="time",
        value=lambda turn: turn.total_duration_s,
        join=median,
        say="{:.1f} s".format,
    ),
    Measure(
        title="Seconds to the first word, half are quicker",
        name="first",
        value=lambda turn: finite_number(model_facts(turn).get("first_token_s")),
        join=median,
        say="{:.1f} s".format,
    ),
    Measure(
        title="Seconds to gather the prompt, half are quicker",
        name="gather",
        value=_read_stage("assemble", "render"),
        join=median,
        say="{:.2f} s".format,
    ),
    Measure(
        title="Seconds to send and keep the reply, half are quicker",
        name="send",
        value=_read_stage("post", "deliver", "record"),
        join=median,
        say="{:.2f} s".format,
    ),
    Measure(
        title="Tokens read and written",
        name="tokens",
        value=lambda turn: float(
            sum(count_or_zero(model_facts(turn).get(key)) for key in ("prompt_tokens", "completion_tokens"))
        ),
        join=sum,
        say="{:,.0f}".format,
    ),
    Measure(
        title="Money for replies, by the provider’s own account",
        name="money",
        value=lambda turn: finite_number(model_facts(turn).get("cost")),
        join=sum,
        say="{:.4f}".format,
    ),
    Measure(
        title="Pieces found in memory for a reply, half have fewer",
        name="recall",
        value=_count_recalled,
        join=median,
        say="{:.0f}".format,
    ),
    Measure(
        title="Turns in which something failed",
        name="errors",
        value=lambda turn: float(bool(troubles_of(turn))),
        join=sum,
        say="{:.0f}".format,
    ),
)
CHANGES = Shown(title="Changes of memory files", join=sum, say="{:.0f}".format, what="change")


def draw_plots(traces: Sequence[TurnTrace], zone: ZoneInfo, changes: Sequence[Happening] = ()) -> list[Plot]:
    """The turns of *traces* over time, and the *changes* of memory meanwhile; nothing where one stretch holds all."""
    times = [(_moment(trace, zone), trace) for trace in traces]
    known = sorted(((moment, trace) for moment, trace in times if moment is not None), key=lambda pair: pair[0])
    if len(known) < 2:
        return []
    step = HOUR if known[-1][0] - known[0][0] <= MOST_HOURS * HOUR else DAY
    begin = max(_floor(known[0][0], step), _floor(known[-1][0], step) - (MOST_BARS - 1) * step)
    count = int((known[-1][0] - begin) / step) + 1
    if len({int((moment - begin) / step) for moment, _ in known if moment >= begin}) < 2:
        return []
    drawn = []
    for measure in MEASURES:
        told = ((moment, trace, measure.value(trace)) for moment, trace in known)
        happened = [
            Happening(moment, f"/turns/{trace.trace_id}", value) for moment, trace, value in told if value is not None
        ]
        drawn.append(_draw(measure.name, measure, happened, (begin, step, count)))
    drawn.append(
        _draw("memory", CHANGES, [replace(each, at=each.at.astimezone(zone)) for each in changes], (begin, step, count))
    )
    return [plot for plot in drawn if plot is not None]


def _draw(name: str, shown: Shown, happened: Sequence[Happening], over: tuple[datetime, timedelta, int]) -> Plot | None:
    """*over* are the beginning, the length of a stretch, and how many there are."""
    begin, step, count = over
    stretches: dict[int, list[Happening]] = {}
    for each in happened:
        if 0 <= (at := (each.at - begin) // step) < count:
            stretches.setdefault(at, []).append(each)
    joined = {at: shown.join([each.value for each in found]) for at, found in stretches.items()}
    top = max(joined.values(), default=0.0)
    if top <= 0:
        return None
    width = WIDTH / count
    form = "%H:%M" if step == HOUR else "%d %b"
    bars = []
    for at, value in sorted(joined.items()):
        if value <= 0:
            continue
        most = max(stretches[at], key=lambda each: each.value)
        when = (begin + at * step).strftime(f"%a {form}" if step == HOUR else form)
        bars.append(
            Bar(
                x=round(at * width, 1),
                width=round(max(width - GAP, 1.0), 1),
                height=round(max(HEIGHT * value / top, LEAST_HEIGHT), 1),
                label=f"{when}: {shown.say(value)}, {pluralize(len(stretches[at]), shown.what)}",
                href=most.href,
            )
        )
    last = begin + (count - 1) * step
    day = f"%a {form}" if step == HOUR else form
    return Plot(shown.title, name, tuple(bars), shown.say(top), begin.strftime(day), last.strftime(day))


def _moment(trace: TurnTrace, zone: ZoneInfo) -> datetime | None:
    try:
        return datetime.fromisoformat(trace.timestamp).astimezone(zone)
    except (ValueError, OverflowError):
        return None


def _floor(moment: datetime, step: timedelta) -> datetime:
    whole = moment.replace(minute=0, second=0, microsecond=0)
    return whole if step == HOUR else whole.replace(hour=0)
