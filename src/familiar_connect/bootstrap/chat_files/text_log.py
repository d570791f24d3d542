"""A chat as plain text: `Name: text`, a date before the name or none, further lines belonging to the message above."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, tzinfo

from familiar_connect.bootstrap.chat_files.file_message import MAX_TEXT_CHARS, FileMessage
from familiar_connect.bootstrap.chat_files.send_dates import parse_send_date
from familiar_connect.errors import ChatImportError

MAX_SPEAKER_CHARS = 64
MAX_SPEAKERS = 1_000
_BRACKETED = re.compile(r"^[\[(](?P<date>[^\])]{4,40})[\])]\s*(?:[-–]\s*)?(?P<rest>.*)$")
_PLAIN_DATE = re.compile(
    r"^(?P<date>\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4},?[ T]\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:\s?[AaPp][Mm])?"
    r"(?:Z|[+-]\d{2}:\d{2})?)"
    r"(?:\s*[-–|:]\s+|\s+)(?P<rest>.*)$"
)
_SPEECH = re.compile(rf"^(?P<name>[^\s:][^:\n]{{0,{MAX_SPEAKER_CHARS - 1}}}?)\s?:(?:\s+(?P<text>.*)|)$")


def split_date(line: str, zone: tzinfo = UTC) -> tuple[datetime | None, str]:
    """The date a line begins with, and the rest of it."""
    for form in (_BRACKETED, _PLAIN_DATE):
        found = form.match(line)
        if found is not None and (when := parse_send_date(found["date"].strip(), zone)) is not None:
            return when, found["rest"]
    return None, line


def find_speakers(lines: Iterable[str], zone: tzinfo = UTC) -> frozenset[str]:
    """Whose names begin messages: the first one, those after a date, and those that stand more than once.

    Where every line begins with a name, all of them do.
    """
    counted: Counter[str] = Counter()
    sure: set[str] = set()
    is_dated = False
    least = 1
    for line in lines:
        when, rest = split_date(line.rstrip("\r\n"), zone)
        speech = _SPEECH.match(rest)
        if speech is None:
            least = 2 if line.strip() else least
            continue
        if not counted and not sure:
            sure.add(speech["name"])
        if when is not None:
            is_dated = True
            sure.add(speech["name"])
        if len(counted) < MAX_SPEAKERS or speech["name"] in counted:
            counted[speech["name"]] += 1
    often = set() if is_dated else {name for name, count in counted.items() if count >= least and not _is_prose(name)}
    return frozenset(sure | often)


def _is_prose(name: str) -> bool:
    """Whether words before a colon are no name: `He said:`, `http`."""
    return len(name.split()) > 4 or name.lower() in ("http", "https", "note", "ooc")


def parse_text_log(
    lines: Iterable[str], speakers: frozenset[str], where: str, zone: tzinfo = UTC
) -> Iterator[FileMessage]:
    """The messages of *lines*; *where* names the file in a complaint."""
    begun: FileMessage | None = None
    said: list[str] = []
    used = 0
    for number, raw in enumerate(lines, start=1):
        line = raw.rstrip("\r\n")
        when, rest = split_date(line, zone)
        speech = _SPEECH.match(rest)
        if speech is not None and speech["name"] in speakers:
            if begun is not None:
                yield _finished(begun, said)
            begun = FileMessage(line=number, name=speech["name"], text="", sent=when)
            said, used = [speech["text"] or ""], 0
        elif begun is not None:
            said.append(line)
        elif line.strip():
            raise ChatImportError(
                f"{where}, line {number}: does not begin with a name and a colon; a chat as text has `Name: text`, "
                "with or without a date such as [2026-03-01 18:05] before it"
            )
        used += len(line)
        if used > MAX_TEXT_CHARS:
            raise ChatImportError(f"{where}, line {number}: a message may have {MAX_TEXT_CHARS:,} characters at most")
    if begun is not None:
        yield _finished(begun, said)


def _finished(begun: FileMessage, said: list[str]) -> FileMessage:
    text = "\n".join(said).strip()
    return FileMessage(line=begun.line, name=begun.name, text=text, sent=begun.sent)
