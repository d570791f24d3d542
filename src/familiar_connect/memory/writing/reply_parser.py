"""The side model's answer as proposals, whatever small slips of form it made.

The form asked for is always understood:

    ===SESSION_SUMMARY=== … ===END_SESSION_SUMMARY===
    ===PEOPLE=== ---FILE: name--- … ---END_FILE--- ===END_PEOPLE===
    ===TOPICS=== … ===END_TOPICS===

In a file's text, `OUTDATED [17]: the old line` names a line that no longer holds and the turn that says so.
Understood besides is what models make of the form: missing end marks, marks dressed as headings or in bold, answers
in a code fence, thoughts before and chatter after. A JSON object `{session, people, topics}` and plain
`PERSON slug: …` lines are understood too. Everything else is no answer. Nothing here decides what is
allowed.
"""

from __future__ import annotations

import json
import re
from bisect import bisect, insort
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

MAX_REPLY_CHARS = 400_000
"""A longer answer is no answer."""
MAX_PROPOSALS = 200

# Every repetition below is bounded or anchored: an answer made to stall the reader costs no more than any other.
_EXACT = re.compile(
    r"===(?P<end>END_)?(?P<section>SESSION_SUMMARY|PEOPLE|TOPICS)==="
    r"|---FILE:(?P<file>[^\n]{0,300}?)---(?!-)|(?P<end_file>---END_FILE---)"
)
_LOOSE = re.compile(
    r"^[ \t>#*_=`~-]{0,20}(?P<end>END[_ ])?(?P<section>SESSION[_ ]SUMMARY|PEOPLE|TOPICS)(?:[_ ]END)?[ \t:*_=`~-]{0,20}$"
    r"|^[ \t>#*_=`~-]{0,20}FILE(?:NAME)?:(?P<file>[^\n]{0,300}?)[ \t*_=`\"~-]{0,20}$"
    r"|(?P<end_file>^[ \t>#*_=`~-]{0,20}END[_ ]FILE[ \t:*_=`~-]{0,20}$)",
    re.MULTILINE,
)
_NAMED_HEADING = re.compile(
    r"^[ \t]{0,8}(?:#{1,6}[ \t]{0,8}|\*\*|`)`?(?P<file>[\w./\\-]{1,200}\.md)`?[ \t*:#`]{0,20}$", re.MULTILINE
)
_THOUGHTS = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)
_LINE = re.compile(
    r"^[ \t>*_-]{0,8}(?P<kind>SUMMARY|PERSON|TOPIC)\b(?P<name>[^\n:]{0,120}):(?P<text>[^\n]+)$",
    re.MULTILINE,
)
_OUTDATED = re.compile(
    r"^[ \t>*_`~-]{0,8}OUTDATED[ \t*_`]{0,4}(?:[\[(#]{0,2}[ \t]{0,2}(?:[Tt]urn)?[ \t#]{0,3}(?P<turn>[0-9]{1,18})"
    r"[ \t]{0,2}[\])]?)?[ \t*_`]{0,4}[:–—-](?P<line>[^\n]*)\n?",
    re.MULTILINE,
)
_FENCE = "```"


@dataclass(frozen=True, kw_only=True)
class ProposedFile:
    """One file the model wants, by the name it gave."""

    category: str
    """`people` or `topics`; "" when the answer does not say."""
    name: str
    text: str
    adds: bool = False
    """True: what is new, to be added; False: the whole text."""


@dataclass(frozen=True, kw_only=True)
class OutdatedLine:
    """A line of a file that the model says is out of date, and the turn that says so."""

    turn: int
    text: str


@dataclass(frozen=True, kw_only=True)
class WriterAnswer:
    """What was understood of one answer."""

    session: str = ""
    files: tuple[ProposedFile, ...] = ()
    form: str = "sections"

    @property
    def weight(self) -> int:
        return bool(self.session) + len(self.files)


def parse_reply(reply: str) -> WriterAnswer | None:
    """The proposals in *reply*, or None when it holds none."""
    if len(reply) > MAX_REPLY_CHARS:
        return None
    text = _THOUGHTS.sub("", reply).replace("\r\n", "\n").replace("\r", "\n")
    exact = _read(text, [_EXACT])
    loose = _read(text, [_EXACT, _LOOSE])
    best = loose if loose.weight > exact.weight else exact
    if not best.files:
        best = _with_headed_files(text, best)
    return best if best.weight else _read_json(text) or _read_lines(text)


def split_outdated(text: str) -> tuple[str, tuple[OutdatedLine, ...]]:
    """A file's text without the lines that name others as out of date, and what they name.

    One that gives no turn names nothing: what it means stays.
    """
    named = [
        OutdatedLine(turn=int(found["turn"]), text=line)
        for found in _OUTDATED.finditer(text)
        if found["turn"] and (line := found["line"].strip())
    ]
    return (_OUTDATED.sub("", text) if "OUTDATED" in text else text), tuple(named[:MAX_PROPOSALS])


@dataclass(frozen=True)
class _Mark:
    start: int
    end: int
    section: str | None
    file: str | None
    closes: bool


def _read(text: str, patterns: list[re.Pattern[str]]) -> WriterAnswer:
    """Walk the marks in order; what stands between two belongs to the section or file opened last."""
    session: list[str] = []
    files: list[ProposedFile] = []
    section: str | None = None
    name: str | None = None
    at = 0
    for mark in [*_marks(text, patterns), _Mark(len(text), len(text), None, None, True)]:
        body = text[at : mark.start]
        at = mark.end
        if name is not None:
            files += _file(_category(section, name), name, body)
        elif section == "SESSION_SUMMARY":
            session.append(body)
        name = None
        if mark.section is not None:
            section = None if mark.closes else mark.section
        elif mark.file is not None:
            name = mark.file
    summary = "\n\n".join(filter(None, map(_body, session)))
    return WriterAnswer(session=summary, files=tuple(files[:MAX_PROPOSALS]))


def _marks(text: str, patterns: list[re.Pattern[str]]) -> Iterator[_Mark]:
    """Marks in order; where two readings overlap, that of the earlier pattern counts."""
    found: list[_Mark] = []
    for pattern in patterns:
        starts = [mark.start for mark in found]
        new = [_mark(match) for match in pattern.finditer(text)]
        for mark in new:
            after = bisect(starts, mark.start)
            before_clear = after == 0 or found[after - 1].end <= mark.start
            if before_clear and (after == len(starts) or starts[after] >= mark.end):
                insort(found, mark, key=lambda known: known.start)
                insort(starts, mark.start)
    yield from found


def _mark(match: re.Match[str]) -> _Mark:
    section = match["section"]
    closes = bool(match["end"] if section else match["end_file"])
    return _Mark(match.start(), match.end(), section.replace(" ", "_") if section else None, match["file"], closes)


def _category(section: str | None, name: str) -> str:
    if section in ("PEOPLE", "TOPICS"):
        return section.lower()
    folder = name.replace("\\", "/").split("/", 1)[0].strip().lower()
    return folder if folder in ("people", "topics") else ""


def _file(category: str, name: str, body: str, *, adds: bool = False) -> list[ProposedFile]:
    last = name.replace("\\", "/").rsplit("/", 1)[-1].strip(" \t`*\"'")
    text = _body(body)
    if last in ("", ".", "..") or not text:
        return []
    return [ProposedFile(category=category, name=last, text=text, adds=adds)]


def _body(text: str) -> str:
    """*text* without blank or merely decorated edges and without the code fence around it."""
    stripped = text.strip()
    if stripped.startswith(_FENCE) and stripped.endswith(_FENCE) and stripped.count(_FENCE) == 2:
        stripped = stripped.removesuffix(_FENCE).partition("\n")[2].strip()
    lines = stripped.split("\n")
    while lines and not lines[0].strip("*_ \t"):
        del lines[0]
    while lines and not lines[-1].strip("*_ \t"):
        lines.pop()
    kept = "\n".join(lines)
    return kept if kept.strip("`-=*_ \n") else ""


def _with_headed_files(text: str, answer: WriterAnswer) -> WriterAnswer:
    """Files set off by headings that are their names (`### irc-1.md`), in an answer that marked none."""
    marks = list(_marks(text, [_EXACT, _LOOSE]))
    files: list[ProposedFile] = []
    for place, mark in enumerate(marks):
        if mark.section not in ("PEOPLE", "TOPICS") or mark.closes:
            continue
        end = marks[place + 1].start if place + 1 < len(marks) else len(text)
        body = text[mark.end : end]
        heads = list(_NAMED_HEADING.finditer(body))
        ends = [*(head.start() for head in heads[1:]), len(body)]
        for head, until in zip(heads, ends, strict=False):
            files += _file(mark.section.lower(), head["file"], body[head.end() : until])
    return WriterAnswer(session=answer.session, files=tuple(files[:MAX_PROPOSALS]))


def _read_json(text: str) -> WriterAnswer | None:
    """A JSON object anywhere in *text*, fenced or bare; one that was cut short counts as far as it goes."""
    first = start = text.find("{")
    while start >= 0:
        try:
            data, _ = json.JSONDecoder().raw_decode(text, start)
        except (ValueError, RecursionError):
            data = None
        if isinstance(data, dict) and (answer := _from_object(data)) is not None:
            return answer
        start = text.find("{", start + 1) if start < 2_000 else -1
    data = _complete(text[first:]) if first >= 0 else None
    return _from_object(data) if isinstance(data, dict) else None


def _complete(text: str) -> object:
    """What an object that was cut short would be if it ended here; None when it cannot be told."""
    text = text.rstrip().removesuffix(_FENCE).rstrip()
    closing: list[str] = []
    in_string = escaped = False
    for character in text:
        if escaped:
            escaped = False
        elif in_string:
            escaped = character == "\\"
            in_string = character != '"'
        elif character == '"':
            in_string = True
        elif character in "{[":
            closing.append("}" if character == "{" else "]")
        elif character in "}]" and (not closing or closing.pop() != character):
            return None
    ending = ('"' if in_string else "") + "".join(reversed(closing))
    for rest in (text.removesuffix("\\"), text.rstrip(", \n")):
        with suppress(ValueError, RecursionError):
            return json.loads(rest + ending)
    return None


def _from_object(data: dict[str, object]) -> WriterAnswer | None:
    session = _body(_text(data.get("session") or data.get("session_summary") or data.get("summary")))
    files = [
        proposed
        for category in ("people", "topics")
        for name, value in _entries(data.get(category))
        for proposed in _file(category, name, _text(value))
    ]
    answer = WriterAnswer(session=session, files=tuple(files[:MAX_PROPOSALS]), form="json")
    return answer if answer.weight else None


def _entries(value: object) -> Iterator[tuple[str, object]]:
    """`{name: text}` or `[{name, text}]`."""
    if isinstance(value, dict):
        yield from ((str(name), text) for name, text in value.items())
    for entry in value if isinstance(value, list) else ():
        if isinstance(entry, dict):
            name = next(
                (entry[key] for key in ("file", "name", "slug", "topic") if isinstance(entry.get(key), str)), ""
            )
            yield name, next((entry[key] for key in ("text", "content", "notes", "facts") if entry.get(key)), "")


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(f"- {entry}" for entry in value if isinstance(entry, str) and entry.strip())
    return ""


def _read_lines(text: str) -> WriterAnswer | None:
    """`SUMMARY: …`, `PERSON slug: …`, `TOPIC name: …`, one thing a line."""
    session: list[str] = []
    notes: dict[tuple[str, str], list[str]] = {}
    for match in _LINE.finditer(text):
        name, said = match["name"].strip(" \t*_"), match["text"].strip(" \t*_")
        if said and match["kind"] == "SUMMARY":
            session.append(said)
        elif said and name:
            category = "people" if match["kind"] == "PERSON" else "topics"
            notes.setdefault((category, name), []).append(f"- {said}")
    files = [
        proposed
        for (category, name), lines in notes.items()
        for proposed in _file(category, name, "\n".join(lines), adds=True)
    ]
    answer = WriterAnswer(session="\n".join(session), files=tuple(files[:MAX_PROPOSALS]), form="lines")
    return answer if answer.weight else None
