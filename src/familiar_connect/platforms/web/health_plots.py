"""Plots of past turns over hours or days, as shapes that a template draws: no script draws them, and none is needed.

Each bar is a stretch of time and leads to a turn of it: the slowest, the largest, or one that went wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from familiar_connect.observe.inspector import model_facts
from familiar_connect.observe.trace import TurnTrace, count_or_zero
from familiar_connect.reply.inspection.turn_view import troubles_of

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
    trace_id: str
    """The turn that it leads to."""


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


@dataclass(frozen=True)
class Measure:
    """What a plot shows: a value of each turn, how those of one stretch become one, and how it is said."""

    title: str
    name: str
    value: Callable[[TurnTrace], float]
    join: Callable[[Sequence[float]], float]
    say: Callable[[float], str]


def median(values: Sequence[float]) -> float:
    ordered = sorted(values)
    return ordered[len(ordered) // 2]


MEASURES = (
    Measure(
        "Seconds to a whole reply, half are quicker",
        "time",
        lambda turn: turn.total_duration_s,
        median,
        "{:.1f} s".format,
    ),
    Measure(
        "Seconds to the first word, half are quicker",
        "first",
        lambda turn: float(str(model_facts(turn).get("first_token_s") or 0.0)),
        median,
        "{:.1f} s".format,
    ),
    Measure(
        "Tokens read and written",
        "tokens",
        lambda turn: float(
            sum(count_or_zero(model_facts(turn).get(key)) for key in ("prompt_tokens", "completion_tokens"))
        ),
        sum,
        "{:,.0f}".format,
    ),
    Measure(
        "Turns in which something failed", "errors", lambda turn: float(bool(troubles_of(turn))), sum, "{:.0f}".format
    ),
)


def draw_plots(traces: Sequence[TurnTrace], zone: ZoneInfo) -> list[Plot]:
    """The turns of *traces* over time; nothing where they all lie in one stretch of it."""
    times = [(_moment(trace, zone), trace) for trace in traces]
    known = sorted(((moment, trace) for moment, trace in times if moment is not None), key=lambda pair: pair[0])
    if len(known) < 2:
        return []
    step = HOUR if known[-1][0] - known[0][0] <= MOST_HOURS * HOUR else DAY
    begin = max(_floor(known[0][0], step), _floor(known[-1][0], step) - (MOST_BARS - 1) * step)
    stretches: dict[int, list[TurnTrace]] = {}
    for moment, trace in known:
        if moment >= begin:
            stretches.setdefault(int((moment - begin) / step), []).append(trace)
    if len(stretches) < 2:
        return []
    drawn = (_draw(measure, stretches, begin, step) for measure in MEASURES)
    return [plot for plot in drawn if plot is not None]


def _draw(measure: Measure, stretches: dict[int, list[TurnTrace]], begin: datetime, step: timedelta) -> Plot | None:
    joined = {at: measure.join([measure.value(turn) for turn in turns]) for at, turns in stretches.items()}
    top = max(joined.values())
    if top <= 0:
        return None
    count = max(stretches) + 1
    width = WIDTH / count
    form = "%H:%M" if step == HOUR else "%d %b"
    bars = []
    for at, value in sorted(joined.items()):
        if value <= 0:
            continue
        most = max(stretches[at], key=measure.value)
        when = (begin + at * step).strftime(f"%a {form}" if step == HOUR else form)
        many = len(stretches[at])
        bars.append(
            Bar(
                x=round(at * width, 1),
                width=round(max(width - GAP, 1.0), 1),
                height=round(max(HEIGHT * value / top, LEAST_HEIGHT), 1),
                label=f"{when}: {measure.say(value)}, {many} {'turn' if many == 1 else 'turns'}",
                trace_id=most.trace_id,
            )
        )
    last = begin + (count - 1) * step
    day = f"%a {form}" if step == HOUR else form
    return Plot(measure.title, measure.name, tuple(bars), measure.say(top), begin.strftime(day), last.strftime(day))


def _moment(trace: TurnTrace, zone: ZoneInfo) -> datetime | None:
    try:
        return datetime.fromisoformat(trace.timestamp).astimezone(zone)
    except (ValueError, OverflowError):
        return None


def _floor(moment: datetime, step: timedelta) -> datetime:
    whole = moment.replace(minute=0, second=0, microsecond=0)
    return whole if step == HOUR else whole.replace(hour=0)
