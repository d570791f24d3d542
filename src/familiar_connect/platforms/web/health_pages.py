"""HealthPages: how the familiar fares: turns and their times, errors, index, memory writer, disk; and a full check."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.errors import FamiliarError, HomeError
from familiar_connect.familiar import Familiar
from familiar_connect.memory.maintenance.links import markdown_files
from familiar_connect.memory.maintenance.review import Review
from familiar_connect.memory.versioning.versions import Versions
from familiar_connect.observe.report import PROVIDER_COLUMNS, TIME_COLUMNS, provider_rows, stage_rows, summary_rows
from familiar_connect.observe.spending import DayRecord
from familiar_connect.observe.spending_report import spending_facts
from familiar_connect.observe.trace import TurnTrace
from familiar_connect.platforms.web.health_plots import HEIGHT, WIDTH, Happening, draw_plots
from familiar_connect.platforms.web.memory_edit_pages import versions_address
from familiar_connect.platforms.web.own_program import OwnProgram
from familiar_connect.platforms.web.render import PageRenderer, with_problems
from familiar_connect.reply.inspection.turn_view import troubles_of
from familiar_connect.support.aio import off_loop

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute

LAST_TURNS = (100, 500, 2_000)
"""How many turns may be looked at."""
ERRORS_SHOWN = 20
CHECK_TIMEOUT_S = 300.0
MOST_CHANGES = 5_000
MAX_FILES_SIZED = 50_000


@dataclass(frozen=True, kw_only=True)
class TurnError:
    """Something that went wrong in a turn."""

    trace_id: str
    time: str
    where: str
    what: str


@dataclass(frozen=True, kw_only=True)
class WriterState:
    """How far the memory writer is."""

    waiting: int
    """Turns that are not written up."""
    proposals: int
    given_up: tuple[str, ...]
    """Batches it put aside, by their ids."""


class HealthPages:
    """The routes under `/health`."""

    def __init__(self, familiar: Familiar, renderer: PageRenderer, program: OwnProgram) -> None:
        self._familiar = familiar
        self._renderer = renderer
        self._program = program
        self._folder = FamiliarFolder(familiar.root)

    def routes(self) -> list[BaseRoute]:
        from starlette.routing import Route

        return [
            Route("/health", with_problems(self.show, self._renderer)),
            Route("/health/check", with_problems(self.check, self._renderer), methods=["POST"]),
        ]

    async def show(self, request: Request) -> Response:
        wanted = request.query_params.get("last", "")
        last = next((each for each in LAST_TURNS if str(each) == wanted), LAST_TURNS[0])
        writer = await self._writer()
        return await off_loop(self._show, last, writer, self._familiar.spending.today())

    def _show(self, last: int, writer: WriterState, today: DayRecord) -> Response:
        traces = self._familiar.reply_path.collector.recent_traces(familiar_id=self._familiar.id, limit=last)
        return self._renderer.page(
            "health.html",
            title="Health",
            last=last,
            choices=LAST_TURNS,
            turns=len(traces),
            columns=TIME_COLUMNS,
            summary=summary_rows(traces),
            stages=[row for row in stage_rows(traces) if row[0] != "observe"],
            provider_columns=PROVIDER_COLUMNS,
            providers=provider_rows(traces),
            errors=list(_errors(traces))[:ERRORS_SHOWN],
            plots=draw_plots(traces, ZoneInfo(self._familiar.config.display_tz), self._memory_changes()),
            plot_size=(WIDTH, HEIGHT),
            spending=spending_facts(today, self._familiar.config.limits),
            index=self._index(),
            writer=writer,
            disk=self._disk(),
            free=f"{shutil.disk_usage(self._familiar.root).free / 1e9:.1f} GB",
        )

    def _memory_changes(self) -> list[Happening]:
        """The latest changes of memory files."""
        audit = self._familiar.memory_store.audit
        found = Versions(audit).log(last=MOST_CHANGES) if audit is not None else []
        return [Happening(each.entry.timestamp, versions_address(each.rel_path)) for each in found]

    async def _writer(self) -> WriterState:
        waiting = await self._familiar.memory_writer_scheduler.count_waiting()
        pending = await off_loop(Review(self._familiar.memory_store).list)
        return WriterState(
            waiting=waiting,
            proposals=sum(each.kind == "proposal" for each in pending),
            given_up=tuple(each.id for each in pending if each.kind == "quarantine"),
        )

    def _index(self) -> dict[str, Any]:
        index = self._familiar.memory_index
        files = len(markdown_files(self._familiar.memory_store))
        if index is None:
            return {"is_loaded": False, "files": files}
        counts = index.files.counts() if index.files is not None else {}
        pieces, _ = index.turns.counts() if index.turns is not None else (0, 0)
        return {
            "is_loaded": True,
            "files": files,
            "indexed": counts.get("files", 0),
            "pieces": pieces,
            "without_meaning": index.turns.count_without_meaning() if index.turns is not None else 0,
            "embedder": index.embedder,
        }

    def _disk(self) -> list[tuple[str, str]]:
        own = self._folder
        parts = (
            ("history", [own.history_db, own.history_wal]),
            ("memory", [own.memory]),
            ("versions", [own.audit]),
            ("index", [own.index]),
            ("past turns", [own.metrics_db, own.traces]),
        )
        return [(name, _size(sum(map(_bytes_of, paths)))) for name, paths in parts]

    async def check(self, request: Request) -> Response:
        """Everything `familiar doctor` looks at, without asking a model."""
        words = ("doctor", "--familiar", self._familiar.id, "--offline", "--json")
        found = await self._program.read_json(*words, may_end=(0, 1), timeout_s=CHECK_TIMEOUT_S)
        if not isinstance(found, list):
            raise HomeError("the check said nothing; `familiar doctor` in a terminal may say why")
        findings = [row for row in found if isinstance(row, dict) and {"area", "state", "says"} <= row.keys()]
        order = {"bad": 0, "warn": 1}
        findings.sort(key=lambda row: order.get(str(row["state"]), 2))
        return await off_loop(self._renderer.page, "health_check.html", title="Check", findings=findings)


def _errors(traces: Sequence[TurnTrace]) -> Iterator[TurnError]:
    for trace in traces:
        for where, what in troubles_of(trace):
            yield TurnError(
                trace_id=trace.trace_id, time=trace.timestamp[:16].replace("T", " "), where=where, what=what
            )


def _bytes_of(path: Path) -> int:
    """The size of a file, or of all files below a folder."""
    try:
        if path.is_file():
            return path.stat().st_size
        found = (each for each, _ in zip(path.rglob("*"), range(MAX_FILES_SIZED), strict=False))
        return sum(each.lstat().st_size for each in found if each.is_file())
    except (OSError, FamiliarError):  # a file may go while it is looked at
        return 0


def _size(count: int) -> str:
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} bytes"
