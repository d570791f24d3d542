"""Look-back: a month that is over on one short page, for each person and for each place.

Made of that month's own lines, word for word, those that last longest first, so that a line that is taken back later is
known here too and goes with its sources. A page has the audience of the file its lines stand in. It is written once:
what an owner changes or deletes stays so.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain, islice
from pathlib import PurePosixPath

from familiar_connect.audience import Audience, AudienceKind
from familiar_connect.errors import MemoryStoreError
from familiar_connect.memory.file_audience import mark_path, open_path, read_audience, with_audience
from familiar_connect.memory.note_paths import PEOPLE, is_archive, month_path
from familiar_connect.memory.store import MemoryStore
from familiar_connect.memory.versioning.provenance import Provenance, part_hash, parts_of
from familiar_connect.memory.weighing.statements import weigh_line
from familiar_connect.memory.writing.apply import apply_plan
from familiar_connect.memory.writing.archiving import LINKS_HEADING, MANAGED
from familiar_connect.memory.writing.extractive import ABOUT_HEADING, PRESENT_HEADING, words_of_quote
from familiar_connect.memory.writing.markdown_sections import bullets_under, link_text
from familiar_connect.memory.writing.plan import PartSource, Plan, PlannedWrite, Proposals
from familiar_connect.support.files import atomic_write
from familiar_connect.support.markdown import document_title
from familiar_connect.support.no_follow import load_bytes, make_folder
from familiar_connect.support.text import one_line

SESSIONS = "sessions"
MARK_NAME = "looked-back"
"""Beside the audit: the month that was looked back at last."""
LINES = 10
"""Lines of one page."""
LEAST_LINES = 2
"""Fewer are not worth a page of their own."""
MAX_LINE_CHARS = 400
"""A longer line is left out: cut, it would not be known as the one it comes from."""
MAX_FILES_READ = 2_000
MAX_PAGES = 200
"""Pages that one look back writes; the next goes on."""

_SPEAKER = re.compile(r"\A[^:.!?]{1,60}: ")
_NOT_SAID = frozenset((*MANAGED, PRESENT_HEADING, "Context"))


@dataclass(frozen=True)
class _Line:
    text: str
    day: str
    weight: int
    turns: tuple[int, ...]


class LookBack:
    """The pages of the last month of one memory."""

    def __init__(self, store: MemoryStore, *, familiar_id: str) -> None:
        self._store = store
        self._familiar_id = familiar_id
        self._provenance = Provenance(store.audit.folder) if store.audit is not None else None
        self._mark = store.audit.folder / MARK_NAME if store.audit is not None else None

    def carry_out(self, now: datetime, pending: Proposals | None = None) -> list[str]:
        """Write the pages that lack, or let them wait with *pending*; the files that were written.

        A month is looked back at once, so that a page the owner deleted is not made again and no start reads all files.
        """
        month = _month_before(now)
        if self._find_reached() == month:
            return []
        plan = self.plan(now)
        written: tuple[str, ...] = ()
        if plan is not None and pending is not None:
            pending.propose(plan)
        elif plan is not None:
            written = apply_plan(self._store, plan, provenance=self._provenance).written
        if self._mark is not None and (plan is None or len(plan.writes) < MAX_PAGES):
            make_folder(self._mark.parent)
            atomic_write(self._mark, f"{month}\n")
        return list(written)

    def _find_reached(self) -> str:
        """The month that was looked back at last; empty where none was."""
        try:
            return load_bytes(self._mark).decode("utf-8", "replace").strip() if self._mark is not None else ""
        except OSError:
            return ""

    def plan(self, now: datetime) -> Plan | None:
        """The pages that lack of the month before *now*; None where there are none."""
        month = _month_before(now)
        sources = self._provenance.all_sources() if self._provenance is not None else {}
        writes = list(islice(chain(self._people(month, sources), self._places(month, sources)), MAX_PAGES))
        if not writes:
            return None
        mark = zlib.crc32("".join(f"{write.rel_path}\0{write.content}\0" for write in writes).encode())
        return Plan(
            run_id=f"month-{month}-{mark:08x}",
            familiar_id=self._familiar_id,
            turn_range=(0, 0),
            created_at=now.isoformat(),
            writes=tuple(writes),
        )

    def _people(self, month: str, sources: Mapping[str, Mapping[str, tuple[int, ...]]]) -> Iterator[PlannedWrite]:
        for path in self._files(PEOPLE, "[^_]"):
            if is_archive(path):
                continue
            text = self._text(path)
            known = sources.get(path, {})
            told = [line for line in bullets_under(text, ABOUT_HEADING) if line.startswith(f"{month}-")]
            lines = self._weigh(((line, line[:10]) for line in told), known, read_audience(text))
            name = document_title(text) or PurePosixPath(open_path(path)).stem
            target = month_path(path, month)
            link = f"[{link_text(name)}]({PurePosixPath(path).name})"
            yield from self._page(target, f"{name}, {month}", lines, [link], read_audience(text))

    def _places(self, month: str, sources: Mapping[str, Mapping[str, tuple[int, ...]]]) -> Iterator[PlannedWrite]:
        base = f"{SESSIONS}/{month}-month.md"
        lines: dict[Audience | None, list[_Line]] = {}
        links: dict[Audience | None, list[str]] = {}
        for path in self._files(SESSIONS, rf"{month}-\d\d-"):
            if is_archive(path):
                continue
            text = self._text(path)
            said_to = read_audience(text)
            day = PurePosixPath(path).name[:10]
            parts = [(part.text, day) for part in parts_of(text) if part.heading not in _NOT_SAID]
            lines.setdefault(said_to, []).extend(self._weigh(parts, sources.get(path, {}), said_to))
            title = document_title(text) or PurePosixPath(path).stem
            links.setdefault(said_to, []).append(f"[{link_text(title)}]({PurePosixPath(path).name})")
        for said_to, found in lines.items():
            is_open = said_to is None or said_to.kind is AudienceKind.EVERYONE
            target = base if is_open or said_to is None else mark_path(base, said_to)
            yield from self._page(target, month, found, links[said_to], said_to)

    def _weigh(
        self, found: Iterable[tuple[str, str]], known: Mapping[str, tuple[int, ...]], said_to: Audience | None
    ) -> list[_Line]:
        """Those lines that last, with their sources; where the file does not say its audience, only those with any."""
        lines = []
        for text, day in found:
            line = one_line(text)
            turns = known.get(part_hash(line), ())
            weight = weigh_line(_SPEAKER.sub("", words_of_quote(line), count=1)) if len(line) <= MAX_LINE_CHARS else 0
            if weight and "](" not in line and (turns or said_to is not None):
                lines.append(_Line(line, day, weight, turns))
        return lines

    def _page(
        self, target: str, title: str, found: Sequence[_Line], links: Sequence[str], said_to: Audience | None
    ) -> Iterator[PlannedWrite]:
        distinct = list({line.text: line for line in found}.values())
        best = sorted(distinct, key=lambda line: -line.weight)[:LINES]
        if len(best) < LEAST_LINES or self._store.exists(target):
            return
        blocks = [f"# {title}"]
        for day in sorted({line.day for line in best}):
            told = [f"- {line.text}" for line in distinct if line.day == day and line in best]
            blocks.append("\n".join([f"## {day}", *told]))
        blocks.append("\n".join([f"## {LINKS_HEADING}", *(f"- {link}" for link in links[:LINES])]))
        text = "\n\n".join(blocks) + "\n"
        yield PlannedWrite(
            rel_path=target,
            content=with_audience(text, said_to) if said_to is not None else text,
            before=None,
            parts=tuple(PartSource(part=part_hash(line.text), turns=line.turns) for line in best),
        )

    def _files(self, folder: str, name: str) -> list[str]:
        """Files of *folder* itself whose names match the pattern *name*."""
        pattern = re.compile(name)
        paths = (path for path in self._store.list_files(folder) if path.count("/") == 1)
        return [path for path in paths if pattern.match(path.partition("/")[2])][:MAX_FILES_READ]

    def _text(self, path: str) -> str:
        try:
            return self._store.read_if_present(path) or ""
        except MemoryStoreError:  # what cannot be read says nothing
            return ""


def _month_before(now: datetime) -> str:
    return f"{now.replace(day=1) - timedelta(days=1):%Y-%m}"
