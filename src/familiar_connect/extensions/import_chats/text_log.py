"""A chat as plain text: `Name: text`, a date before the name or none, further lines belonging to the message above."""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime

from familiar_connect.api.importing import (
    MAX_TEXT_CHARS,
    ImportedLine,
    UnreadableFileError,
    parse_send_date,
    read_lines,
)

MAX_SPEAKER_CHARS = 64
MAX_SPEAKERS = 1_000
_BRACKETED = re.compile(r"^[\[(](?P<date>[^\])]{4,40})[\])]\s*(?:[-–]\s*)?(?P<rest>.*)$")
_PLAIN_DATE = re.compile(
    r"^(?P<date>\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4},?[ T]\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:\s?[AaPp][Mm])?"
    r"(?:Z|[+-]\d{2}:\d{2})?)"
    r"(?:\s*[-–|:]\s+|\s+)(?P<rest>.*)$"
)
_SPEECH = re.compile(rf"^(?P<name>[^\s:][^:\n]{{0,{MAX_SPEAKER_CHARS - 1}}}?)\s?:(?:\s+(?P<text>.*)|)$")


def split_date(line: str) -> tuple[datetime | None, str]:
    """The date a line begins with, and the rest of it."""
    for form in (_BRACKETED, _PLAIN_DATE):
        found = form.match(line)
        if found is not None and (when := parse_send_date(found["date"].strip(), None)) is not None:
            return when, found["rest"]
    return None, line


def find_speakers(lines: Iterable[str]) -> frozenset[str]:
    """Whose names begin messages: the first one, those after a date, and those that stand more than once.

    Where every line begins with a name, all of them do.
    """
    counted: Counter[str] = Counter()
    sure: set[str] = set()
    is_dated = False
    least = 1
    for line in lines:
        when, rest = split_date(line.rstrip("\r\n"))
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


def read_text_log(data: bytes) -> Iterator[ImportedLine]:
    """The messages of a log; an `UnreadableFileError` names the line where there is none."""
    speakers = find_speakers(text for _, text in read_lines(io.BytesIO(data)))
    begun: tuple[str, datetime | None] | None = None
    said: list[str] = []
    used = 0
    for number, raw in read_lines(io.BytesIO(data)):
        line = raw.rstrip("\r\n")
        when, rest = split_date(line)
        speech = _SPEECH.match(rest)
        if speech is not None and speech["name"] in speakers:
            if begun is not None:
                yield _finished(begun, said)
            begun = speech["name"], when
            said, used = [speech["text"] or ""], 0
        elif begun is not None:
            said.append(line)
        elif line.strip():
            raise UnreadableFileError(
                "does not start with a name and a colon; a chat as text has `Name: text`, "
                "with or without a date such as [2026-03-01 18:05] before it",
                where=f"line {number}",
            )
        used += len(line)
        if used > MAX_TEXT_CHARS:
            raise UnreadableFileError(
                f"a message may have {MAX_TEXT_CHARS:,} characters at most", where=f"line {number}"
            )
    if begun is not None:
        yield _finished(begun, said)


def _finished(begun: tuple[str, datetime | None], said: list[str]) -> ImportedLine:
    name, sent = begun
    return ImportedLine(name=name, text="\n".join(said).strip(), sent=sent)
