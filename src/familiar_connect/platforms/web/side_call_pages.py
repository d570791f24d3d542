"""SideCallPages: what models were asked beside the replies: summaries, notes for memory, decisions, filters."""

from __future__ import annotations

from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from familiar_connect.errors import HomeError
from familiar_connect.familiar import Familiar
from familiar_connect.llm.side_calls import SideCall
from familiar_connect.observe.report import seconds
from familiar_connect.platforms.web.render import PageRenderer, make_routes
from familiar_connect.support.aio import off_loop

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute

PURPOSES = {
    "post_process_style": "rewriting a reply",
    "reasoning_context": "thinking before a reply",
    "history_summary": "a summary",
    "memory_search": "choosing what to recall",
    "memory_writer": "writing into memory",
    "interjection_decision": "deciding whether to speak",
    "mood_eval": "judging the mood",
}
"""What the model of a slot is asked for."""


class SideCallPages:
    """The routes under `/calls`."""

    def __init__(self, familiar: Familiar, renderer: PageRenderer) -> None:
        self._calls = familiar.pipelines.models.side_calls
        self._renderer = renderer
        self._zone = ZoneInfo(familiar.config.display_tz)

    def routes(self) -> list[BaseRoute]:
        handlers = (("/calls", self.list_all, "GET"), ("/calls/{number:number}", self.show, "GET"))
        return make_routes(handlers, self._renderer)

    async def list_all(self, request: Request) -> Response:
        rows = [self._row(call) for call in self._calls.latest()]
        return await off_loop(self._renderer.page, "side_calls.html", title="Side calls", rows=rows)

    async def show(self, request: Request) -> Response:
        call = self._calls.find(request.path_params["number"])
        if call is None:
            raise HomeError("that call is not kept any more; the latest hundred since the start of the program are")
        return await off_loop(self._renderer.page, "side_call.html", title="Side call", call=call, row=self._row(call))

    def _row(self, call: SideCall) -> dict[str, object]:
        return {
            "number": call.number,
            "purpose": PURPOSES.get(call.slot, call.slot.replace("_", " ")),
            "slot": call.slot,
            "model": call.model or "–",
            "time": call.at.astimezone(self._zone).strftime("%Y-%m-%d %H:%M:%S"),
            "took": seconds(call.took_s),
            "read": call.usage.prompt_tokens,
            "written": call.usage.completion_tokens,
            "cost": f"{call.usage.cost:.6f}" if call.usage.cost is not None else "",
            "has_failed": call.has_failed,
        }
