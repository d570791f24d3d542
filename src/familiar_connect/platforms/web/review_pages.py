"""ReviewPages: what waits for the owner's word: read, approved, changed or let go."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from familiar_connect.errors import MemoryStoreError
from familiar_connect.familiar import Familiar
from familiar_connect.memory.maintenance.review import PendingItem, Review, proposal_roster
from familiar_connect.platforms.web.diff_lines import diff_lines
from familiar_connect.platforms.web.render import PageRenderer, make_routes, read_form, redirect
from familiar_connect.support.aio import off_loop

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute

MAX_REASON_CHARS = 500
DONE = {
    "approved": "Approved: it is in memory now.",
    "rejected": "Rejected. The decision is on record.",
    "edited": "The proposal is changed; approve it to apply it.",
    "retried": "Tried again: it is written into memory, or waits for your approval.",
}
WRITTEN = ("written", "proposed")
STILL_GIVEN_UP = "the writer made nothing usable of it this time either; it stays here"


@dataclass(frozen=True, kw_only=True)
class PendingRow:
    """Something that waits, in a list."""

    id: str
    kind: str
    time: str
    files: tuple[str, ...]
    reason: str
    made_of: str


@dataclass(frozen=True, kw_only=True)
class ProposedChange:
    """One file of a proposal: what would change, and the text to change before."""

    path: str
    changes: list[tuple[str, str]]
    text: str


class ReviewPages:
    """The routes under `/review`."""

    def __init__(self, familiar: Familiar, renderer: PageRenderer) -> None:
        self._familiar = familiar
        self._renderer = renderer
        self._zone = ZoneInfo(familiar.config.display_tz)

    def routes(self) -> list[BaseRoute]:
        handlers = (
            ("/review", self.list_waiting, "GET"),
            ("/review/{id}", self.show, "GET"),
            ("/review/{id}/approve", self.approve, "POST"),
            ("/review/{id}/reject", self.reject, "POST"),
            ("/review/{id}/edit", self.edit, "POST"),
            ("/review/{id}/retry", self.retry, "POST"),
        )
        return make_routes(handlers, self._renderer)

    def count_waiting(self) -> int:
        """How many things wait."""
        return self._review().count()

    def _review(self) -> Review:
        return Review(self._familiar.memory_store, clock=self._familiar.clock)

    async def list_waiting(self, request: Request) -> Response:
        return await off_loop(self._list, DONE.get(request.query_params.get("done", ""), ""))

    def _list(self, done: str) -> Response:
        rows = [self._row(pending) for pending in self._review().list()]
        waits = self._familiar.config.memory_writer_review
        return self._renderer.page("review.html", title="Review", rows=rows, done=done, waits_for_owner=waits)

    async def show(self, request: Request) -> Response:
        done = DONE.get(request.query_params.get("done", ""), "")
        return await off_loop(self._show, request.path_params["id"], done, [])

    def _show(self, run_id: str, done: str, stuck: list[str]) -> Response:
        review = self._review()
        pending = review.show(run_id)
        writes = pending.plan.writes if pending.plan is not None else ()
        files = [
            ProposedChange(
                path=write.rel_path, changes=diff_lines(review.diff(pending.id, write.rel_path)), text=write.content
            )
            for write in writes
        ]
        return self._renderer.page(
            "review_item.html",
            status=409 if stuck else 200,
            title="Proposal" if files else "Review",
            item=self._row(pending),
            files=files,
            done=done,
            stuck=stuck,
        )

    def _row(self, pending: PendingItem) -> PendingRow:
        first, last = pending.turn_range
        return PendingRow(
            id=pending.id,
            kind=pending.kind,
            time=self._time(pending.created_at),
            files=pending.files,
            reason=pending.reason,
            made_of=f"made of turns {first} to {last}" if last else "",
        )

    def _time(self, created_at: str) -> str:
        try:
            return datetime.fromisoformat(created_at).astimezone(self._zone).strftime("%Y-%m-%d %H:%M")
        except (ValueError, OverflowError):
            return ""

    async def approve(self, request: Request) -> Response:
        """Carry it out, or only one file of it; what could not be added goes on waiting and is told."""
        file = (await read_form(request)).get("file", "")
        return await off_loop(self._approve, request.path_params["id"], file)

    def _approve(self, run_id: str, file: str) -> Response:
        review = self._review()
        roster = proposal_roster(review.show(run_id), self._familiar.history_store, self._familiar.id)
        applied = review.approve(run_id, (file,) if file else None, roster=roster)
        if applied.conflicts:
            return self._show(run_id, "", [conflict.reason for conflict in applied.conflicts])
        return self._next(run_id, "approved")

    async def reject(self, request: Request) -> Response:
        fields = await read_form(request)
        reason = fields.get("reason", "").strip()[:MAX_REASON_CHARS]
        return await off_loop(self._reject, request.path_params["id"], fields.get("file", ""), reason)

    def _reject(self, run_id: str, file: str, reason: str) -> Response:
        self._review().reject(run_id, reason, files=(file,) if file else None)
        return self._next(run_id, "rejected")

    async def edit(self, request: Request) -> Response:
        """Change what is proposed for one file."""
        fields = await read_form(request)
        return await off_loop(
            self._edit, request.path_params["id"], fields.get("file", ""), fields.get("text", "").replace("\r\n", "\n")
        )

    def _edit(self, run_id: str, file: str, text: str) -> Response:
        if not text.strip():
            raise MemoryStoreError("the proposal would say nothing: reject it instead")
        self._review().edit(run_id, file, text)
        return self._next(run_id, "edited")

    async def retry(self, request: Request) -> Response:
        """Let the memory writer try once more what it gave up on."""
        run_id = request.path_params["id"]
        scheduler = self._familiar.memory_writer_scheduler
        result = await scheduler.run_alone(lambda: scheduler.writer.replay(run_id))
        if result.state not in WRITTEN:
            return await off_loop(self._show, run_id, "", [STILL_GIVEN_UP])
        return await off_loop(self._next, run_id, "retried")

    def _next(self, run_id: str, done: str) -> Response:
        """To what is left of it, else to what else waits."""
        waits = any(pending.id == run_id for pending in self._review().list())
        return redirect(f"/review/{run_id}?done={done}" if waits else f"/review?done={done}")
