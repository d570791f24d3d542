"""TurnPages: every past turn, and the glass box of one: what the model saw, what was cut, where the time went."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from familiar_connect.errors import FamiliarError, HomeError
from familiar_connect.familiar import Familiar
from familiar_connect.memory.lorebooks.book_shelf import BookShelf
from familiar_connect.memory.maintenance.links import markdown_files
from familiar_connect.observe.inspector import MODEL_FACTS, cuts, model_facts, turn_as_json, writer_of
from familiar_connect.observe.last_context import page_of
from familiar_connect.observe.report import seconds
from familiar_connect.observe.trace import TurnTrace, count_or_zero, finite_number
from familiar_connect.platforms.terminal.place import CHANNEL_ID
from familiar_connect.platforms.web.block_links import link_entry, link_sources
from familiar_connect.platforms.web.recalled_rows import list_recalled_rows
from familiar_connect.platforms.web.render import PageRenderer, answer_html, answer_json, make_routes
from familiar_connect.platforms.web.shared_fragments import SharedFragments
from familiar_connect.reply.inspection.earlier_lines import find_earlier_lines
from familiar_connect.reply.inspection.turn_view import TimedSpan, TurnView, diff_turns, name_block, view_turn
from familiar_connect.reply.prompt_replay import prompt_page
from familiar_connect.support.aio import off_loop
from familiar_connect.support.text import without_surrogates

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute

TURNS_A_PAGE = 50
ROW_FACTS = frozenset({*MODEL_FACTS, "dropped"})
"""What a line of the list tells of a turn; the blocks of its prompt are not read for it."""
MAX_ID_CHARS = 128
TURNS_OFFERED = 20
"""Latest turns that another may be compared with by hand."""
PANEL_S, RUNNING_S = 0.5, 0.4
"""How long the drawn box of a turn, and of one under way, is shown to other pages too."""
LOOK_BACK = 500
"""Turns among which the one before in the same place is looked for."""
SHOWN_DIFF_LINES = 400
SHOWN_CHARS = 20_000
"""Of a block's text so much stands in the page; the download has all of it."""
WIDTH = 1000
"""Units across a drawing."""
COLOURS = {
    "character": 1,
    "recent_history": 2,
    "content": 3,
    "history_summary": 4,
    "pinned": 4,
    "author_note": 5,
    "depth_inject": 5,
    "examples": 6,
    "scene": 7,
}
"""Layer → its colour; the others share the last one. Its name always stands beside it."""


@dataclass(frozen=True)
class Strip:
    """A piece of a drawn bar, in units of `WIDTH`."""

    label: str
    start: float
    length: float
    colour: int


@dataclass(frozen=True)
class TimeRow:
    """A line of the drawn time."""

    span: TimedSpan
    start: float
    length: float
    took: str
    limit: float | None = None
    """Where its time would have been up; None where it had no limit, or the turn was over before."""
    limit_words: str = ""


@dataclass(frozen=True)
class TurnRow:
    """A line of the list of turns."""

    trace_id: str
    time: str
    where: str
    model: str
    first_token: str
    prompt_tokens: int
    took: str
    cuts: int


class TurnPages:
    """The routes under `/turns`."""

    def __init__(self, familiar: Familiar, renderer: PageRenderer) -> None:
        self._familiar = familiar
        self._renderer = renderer
        self._zone = ZoneInfo(familiar.config.display_tz)
        self._shelf = BookShelf(familiar.memory_store)
        self._panels = SharedFragments(familiar.clock, PANEL_S)
        self._running = SharedFragments(familiar.clock, RUNNING_S)

    def routes(self) -> list[BaseRoute]:
        handlers = (
            ("/turns", self.list_turns, "GET"),
            ("/turns/rows", self.list_more, "GET"),
            ("/turns/{id}", self.show, "GET"),
            ("/turns/{id}/panel", self.show_panel, "GET"),
            ("/turns/{id}/data", self.download, "GET"),
            ("/turns/{id}/compare", self.compare, "GET"),
            ("/running/{id:number}", self.show_running, "GET"),
        )
        return make_routes(handlers, self._renderer)

    async def list_turns(self, request: Request) -> Response:
        """The latest turns, or those before one."""
        return await off_loop(self._list, _id_before(request))

    def _list(self, before: str | None) -> Response:
        rows = self._rows(before)
        return self._renderer.page(
            "turns.html", title="Turns", rows=rows, more=_next_page(rows), is_first=before is None
        )

    async def list_more(self, request: Request) -> Response:
        """The turns before one, as a piece of the list."""
        return await off_loop(self._list_more, _id_before(request))

    def _list_more(self, before: str | None) -> Response:
        rows = self._rows(before)
        return self._renderer.page("turn_rows.html", rows=rows, more=_next_page(rows))

    def _rows(self, before: str | None) -> list[TurnRow]:
        traces = self._familiar.reply_path.collector.recent_traces(
            familiar_id=self._familiar.id, limit=TURNS_A_PAGE, before=before, facts=ROW_FACTS
        )
        places = {chat.channel_id: chat.name for chat in self._familiar.stores.chats.all(CHANNEL_ID)}
        return [self._row(trace, places.get(trace.channel_id, "elsewhere")) for trace in traces]

    def _row(self, trace: TurnTrace, where: str) -> TurnRow:
        facts = model_facts(trace)
        first = finite_number(facts.get("first_token_s"))
        return TurnRow(
            trace_id=trace.trace_id,
            time=self.time_of(trace.timestamp),
            where=where,
            model=writer_of(trace) or "–",
            first_token="–" if first is None else seconds(first),
            prompt_tokens=count_or_zero(facts.get("prompt_tokens")),
            took=seconds(trace.total_duration_s),
            cuts=len(cuts(trace)),
        )

    async def show(self, request: Request) -> Response:
        return await off_loop(self._show, request.path_params["id"])

    async def show_panel(self, request: Request) -> Response:
        """The same as a piece of a page, drawn once for the pages that ask for it together."""
        trace_id = request.path_params["id"]
        return answer_html(await self._panels.get(trace_id, partial(off_loop, self._panel_of, trace_id)))

    def _panel_of(self, trace_id: str) -> bytes:
        return self._panel(self.view(trace_id))

    def _show(self, trace_id: str) -> Response:
        return self._renderer.page("turn.html", title="Turn", **self._drawn(self.view(trace_id)))

    async def download(self, request: Request) -> Response:
        """Everything that is known of the turn, as JSON; the same as `familiar inspect TURN --json`."""
        facts = await off_loop(self._facts, request.path_params["id"])
        response = answer_json(facts)
        response.headers["content-disposition"] = f'attachment; filename="turn-{facts["trace"]["trace_id"]}.json"'
        return response

    async def show_running(self, request: Request) -> Response:
        """The turn under way in a chat, as far as it has come."""
        channel_id = request.path_params["id"]
        return answer_html(await self._running.get(channel_id, partial(off_loop, self._running_of, channel_id)))

    def _running_of(self, channel_id: int) -> bytes:
        running = self._familiar.reply_path.recorder.find_open(channel_id)
        if running is None:
            raise HomeError("no reply is being made there now")
        header = f"# {len(running.messages)} messages turn={running.trace.trace_id}"
        page = page_of(running.messages, header=header) if running.messages else None
        view = view_turn(running.trace, running.record, page, running.items)
        return self._panel(view, is_running=True)

    def _panel(self, view: TurnView, **values: Any) -> bytes:
        return self._renderer.text("turn_panel.html", title="Turn", **values, **self._drawn(view)).encode()

    async def compare(self, request: Request) -> Response:
        """Two turns side by side; without `with` the one before in the same place."""
        return await off_loop(self._compare, request.path_params["id"], request.query_params.get("with", ""))

    def _compare(self, trace_id: str, other_id: str) -> Response:
        after = self._trace(trace_id)
        before = self._trace(other_id) if other_id else self._turn_before(after)
        replays = self._familiar.reply_path.replays
        records = [replays.find(trace.trace_id) for trace in (before, after)]
        changes = diff_turns(records[0], records[1]) if records[0] is not None and records[1] is not None else None
        views = [self.view(trace.trace_id) for trace in (before, after)]
        return self._renderer.page(
            "compare.html",
            title="Two turns",
            turns=[
                {"view": view, "time": self.time_of(view.timestamp), "strips": budget_strips(view)} for view in views
            ],
            changes=changes,
            name_block=name_block,
            layers=compare_layers(*views),
            cuts=compare_cuts(*views),
            shown_lines=SHOWN_DIFF_LINES,
            others=self._list_others(after, before),
        )

    def _list_others(self, after: TurnTrace, before: TurnTrace) -> list[tuple[str, str, bool]]:
        """Turns that *after* may be compared with: id, when and what was asked, and whether it is *before*."""
        latest = self._familiar.reply_path.collector.recent_traces(familiar_id=self._familiar.id, limit=TURNS_OFFERED)
        if all(each.trace_id != before.trace_id for each in latest):
            latest = [*latest, before]
        return [
            (each.trace_id, self._label(each), each.trace_id == before.trace_id)
            for each in latest
            if each.trace_id != after.trace_id
        ]

    def _label(self, trace: TurnTrace) -> str:
        try:
            record = self._familiar.reply_path.replays.find(trace.trace_id)
        except FamiliarError:
            record = None
        asked = f" · {record.request.utterance[:60]}" if record is not None else ""
        return f"{self.time_of(trace.timestamp)}{asked}"

    def _turn_before(self, trace: TurnTrace) -> TurnTrace:
        earlier = self._familiar.reply_path.collector.recent_traces(
            familiar_id=self._familiar.id, limit=LOOK_BACK, before=trace.trace_id
        )
        found = next((each for each in earlier if each.channel_id == trace.channel_id), None)
        if found is None:
            raise HomeError("there is no earlier turn here to compare this one with; choose one in Turns")
        return found

    def _facts(self, trace_id: str) -> dict[str, dict[str, object]]:
        trace = self._trace(trace_id)
        record = self._familiar.reply_path.replays.find(trace.trace_id)
        page = prompt_page(trace.trace_id, self._familiar.last_context_cache.get(channel_id=trace.channel_id), record)
        return turn_as_json(trace, record, page)

    def view(self, trace_id: str) -> TurnView:
        """One turn; a sentence where there is none."""
        trace = self._trace(trace_id)
        record = self._familiar.reply_path.replays.find(trace.trace_id)
        page = self._familiar.last_context_cache.get(channel_id=trace.channel_id)
        return view_turn(trace, record, page)

    def _trace(self, trace_id: str) -> TurnTrace:
        found = self._familiar.reply_path.collector.trace(without_surrogates(trace_id[:MAX_ID_CHARS]))
        if found is None or found.familiar_id != self._familiar.id:
            raise HomeError("there is no such turn, or it is not kept any more; Turns lists those there are")
        return found

    def time_of(self, timestamp: str) -> str:
        """When a turn was, where the familiar is."""
        from datetime import datetime

        try:
            return datetime.fromisoformat(timestamp).astimezone(self._zone).strftime("%Y-%m-%d %H:%M:%S")
        except ValueError:
            return timestamp

    def _drawn(self, view: TurnView) -> dict[str, Any]:
        """What a template needs to draw *view*."""
        chats = {chat.channel_id for chat in self._familiar.stores.chats.all(CHANNEL_ID)}
        is_chat = view.channel_id in chats
        files = frozenset(markdown_files(self._familiar.memory_store))
        entries = self._shelf.entry_paths() if view.world_info else {}
        return {
            "turn": view,
            "is_chat": is_chat,
            "links_of": lambda block: link_sources(block, files, view.channel_id if is_chat else None),
            "recalled": list_recalled_rows(self._familiar, view.recalled, files, chats),
            "entry_link": lambda call: link_entry(call, entries),
            "time": self.time_of(view.timestamp),
            "took": seconds(view.total_s),
            "first_token": None if view.first_token_s is None else seconds(view.first_token_s),
            "budget_strips": budget_strips(view),
            "earlier": find_earlier_lines(view, self._familiar.history_store, self._familiar.id),
            "time_rows": time_rows(view.spans, view.total_s),
            "colour_of": colour_of,
            "shown_chars": SHOWN_CHARS,
        }


def _id_before(request: Request) -> str | None:
    return without_surrogates(request.query_params.get("before", "")[:MAX_ID_CHARS]) or None


def _next_page(rows: Sequence[TurnRow]) -> str | None:
    """The turn before which the next page begins; None where this is the last."""
    return rows[-1].trace_id if len(rows) == TURNS_A_PAGE else None


def compare_layers(before: TurnView, after: TurnView) -> list[tuple[str, int, int]]:
    """Each layer's tokens then and now."""
    then, now = dict(before.layers), dict(after.layers)
    return [(layer, then.get(layer, 0), now.get(layer, 0)) for layer in dict.fromkeys([*then, *now])]


def compare_cuts(before: TurnView, after: TurnView) -> list[tuple[str, str]]:
    """What was cut in one of the two alone, and why."""
    then, now = ({(block.name, block.source): block.fate for block in view.blocks_cut} for view in (before, after))
    fresh = [
        (f"{name} ({source})", f"now {fate}") for (name, source), fate in now.items() if (name, source) not in then
    ]
    back = [(f"{name} ({source})", "was cut, fits now") for (name, source) in then if (name, source) not in now]
    return fresh + back


def colour_of(layer: str) -> int:
    return COLOURS.get(layer, 8)


def budget_strips(view: TurnView) -> list[Strip]:
    """Where the tokens went, as pieces of one bar as long as the budget; longer prompts fill it."""
    whole = max(view.budget or 0, view.tokens, 1)
    strips, start = [], 0.0
    for layer, tokens in view.layers:
        length = WIDTH * tokens / whole
        strips.append(
            Strip(f"{layer.replace('_', ' ')} {tokens:,}", round(start, 1), round(length, 1), colour_of(layer))
        )
        start += length
    return strips


def time_rows(spans: Sequence[TimedSpan], total_s: float) -> list[TimeRow]:
    """Each span against the whole turn; none is too short to be seen."""
    whole = max(total_s, max((span.start_s + span.duration_s for span in spans), default=0.0), 1e-6)
    return [
        TimeRow(
            span,
            round(min(WIDTH - 4.0, WIDTH * span.start_s / whole), 1),
            round(max(4.0, WIDTH * span.duration_s / whole), 1),
            seconds(span.duration_s),
            *_limit_mark(span, whole),
        )
        for span in spans
    ]


def _limit_mark(span: TimedSpan, whole: float) -> tuple[float | None, str]:
    """Where a provider's time would have been up, and that limit in words."""
    if span.limit_s is None:
        return None, ""
    at = span.start_s + span.limit_s
    return (round(WIDTH * at / whole, 1) if at < whole else None), f" of {seconds(span.limit_s)}"
