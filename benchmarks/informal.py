"""Write the informal chats as LoCoMo's JSON, for `python -m benchmarks.recall --data FILE`.

    python -m benchmarks.informal            # writes informal_tune.json, informal_held_out.json and the hard ones
    python -m benchmarks.informal --show     # prints every question above the words that answer it
    python -m benchmarks.informal --count    # prints how many turns and questions each chat holds

A chat is a text file: `== 9:12 pm on 3 March, 2025` opens a session, every other line is `speaker: words`. A picture
is `[pic: what it shows]` among the words; `^mark` at the end of a line names it for the questions. Below
`== questions` a line is `category | question | answer | marks`; `# among: tune/climbers` mixes the sessions of another
chat in, by their dates. Rankings are tuned on the chats in `tune` and `hard_tune` only.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

DATA = Path(__file__).parent / "chats"
HALVES = ("tune", "held_out", "hard_tune", "hard_held_out")
"""The hard ones are apart: answers in several pieces, opinions, things never said outright, slang, gaps of a year."""
AMONG = "# among: "
"""Begins the line that names another chat of the same half, whose sessions stand between those of this one."""
WHEN = "%I:%M %p on %d %B, %Y"
_LINE = re.compile(r"(?P<speaker>[^:]+): ?(?P<text>.*?)(?: \^(?P<mark>\w+))?")
_PICTURE = re.compile(r" ?\[pic: ([^\]]+)\]")


def read_chats(half: str) -> list[dict[str, Any]]:
    """The chats of one half, in the order of their names."""
    return [read_chat(path, half) for path in sorted((DATA / half).glob("*.txt"))]


def read_chat(path: Path, half: str) -> dict[str, Any]:
    """One chat file as a LoCoMo dialogue; a line that cannot be read names file and line."""
    sessions, asked, among = _read_file(path)
    if among:
        others, _, _ = _read_file(DATA / f"{among}.txt")
        unmarked = [_Session(each.when, [(line, where, False) for line, where, _ in each.lines]) for each in others]
        sessions = sorted([*sessions, *unmarked], key=lambda each: datetime.strptime(each.when, WHEN))
    conversation: dict[str, Any] = {}
    marks: dict[str, str] = {}
    for session, each in enumerate(sessions, start=1):
        said: list[dict[str, str]] = []
        for line, where, is_marked in each.lines:
            turn, mark = _turn(line, f"D{session}:{len(said) + 1}", where)
            if is_marked and mark in marks:
                raise ValueError(f"{where}: the mark ^{mark} is used twice; give it another name.")
            if is_marked and mark:
                marks[mark] = turn["dia_id"]
            said.append(turn)
        conversation[f"session_{session}_date_time"] = each.when
        conversation[f"session_{session}"] = said
    questions = [_question(line, marks, where) for line, where in asked]
    return {"sample_id": path.stem, "half": half, "conversation": conversation, "qa": questions}


class _Session(NamedTuple):
    """What was said in one go: lines with their place in the file, and whether its questions may name them."""

    when: str
    lines: list[tuple[str, str, bool]]


def _read_file(path: Path) -> tuple[list[_Session], list[tuple[str, str]], str]:
    """The sessions, the lines of the questions, and the chat that it takes place among."""
    sessions: list[_Session] = []
    asked: list[tuple[str, str]] = []
    among, asking = "", False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        where = f"{path.name}:{number}"
        if line.startswith(AMONG):
            among = line.removeprefix(AMONG).strip()
        elif not line.strip() or line.startswith("#"):
            continue
        elif line == "== questions":
            asking = True
        elif line.startswith("== "):
            sessions.append(_Session(line[3:].strip(), []))
        elif asking:
            asked.append((line, where))
        else:
            sessions[-1].lines.append((line, where, True))
    return sessions, asked, among


def _turn(line: str, dia_id: str, where: str) -> tuple[dict[str, str], str | None]:
    match = _LINE.fullmatch(line.rstrip())
    if match is None:
        raise ValueError(f"{where}: a line is `speaker: words`; this is {line!r}.")
    turn = {"speaker": match["speaker"], "dia_id": dia_id, "text": _PICTURE.sub("", match["text"]).strip()}
    if picture := _PICTURE.search(match["text"]):
        turn["blip_caption"] = picture[1]
    return turn, match["mark"]


def _question(line: str, marks: dict[str, str], where: str) -> dict[str, Any]:
    parts = [part.strip() for part in line.split("|")]
    if len(parts) != 4 or parts[0] not in {"1", "2", "3", "4"}:
        raise ValueError(f"{where}: a question is `category | question | answer | marks`; this is {line!r}.")
    unknown = [mark for mark in parts[3].split() if mark not in marks]
    if unknown:
        raise ValueError(f"{where}: no line is marked ^{unknown[0]}; mark the line that answers.")
    evidence = [marks[mark] for mark in parts[3].split()]
    return {"question": parts[1], "answer": parts[2], "evidence": evidence, "category": int(parts[0])}


def as_json(chats: list[dict[str, Any]]) -> str:
    """The chats as JSON with a line for every turn and question."""
    return re.sub(r"\{\n\s+([^{}]*?)\n\s+\}", _one_line, json.dumps(chats, ensure_ascii=False, indent=1)) + "\n"


def _one_line(match: re.Match[str]) -> str:
    return "{" + re.sub(r"\n\s+", " ", match[1]) + "}"


def _show(chat: dict[str, Any]) -> None:
    turns = {turn["dia_id"]: turn for said in chat["conversation"].values() if isinstance(said, list) for turn in said}
    print(f"# {chat['sample_id']} ({chat['half']})")
    for asked in chat["qa"]:
        print(f"\n{asked['category']} {asked['question']}\n  = {asked['answer']}")
        for dia_id in asked["evidence"]:
            turn = turns[dia_id]
            number = dia_id[1:].split(":")[0]
            when = chat["conversation"][f"session_{number}_date_time"]
            print(f"    {dia_id} ({when}) {turn['speaker']}: {turn['text']} {turn.get('blip_caption', '')}")


def _count(chat: dict[str, Any]) -> None:
    said = [turn for turns in chat["conversation"].values() if isinstance(turns, list) for turn in turns]
    categories = sorted(Counter(asked["category"] for asked in chat["qa"]).items())
    sessions, speakers = len(chat["conversation"]) // 2, len({turn["speaker"] for turn in said})
    print(
        f"{chat['half']:13} {chat['sample_id']:12} {sessions} sessions, {speakers} speakers, {len(said)} turns, "
        f"{len(chat['qa'])} questions: " + ", ".join(f"category {number} {count}" for number, count in categories)
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the informal chats as LoCoMo's JSON.")
    parser.add_argument("--show", action="store_true", help="print every question above the words that answer it")
    parser.add_argument("--count", action="store_true", help="print how many turns and questions each chat holds")
    arguments = parser.parse_args()
    for half in HALVES:
        chats = read_chats(half)
        for chat in chats:
            if arguments.show:
                _show(chat)
            if arguments.count:
                _count(chat)
        if not arguments.show and not arguments.count:
            (DATA / f"informal_{half}.json").write_text(as_json(chats), encoding="utf-8")


if __name__ == "__main__":
    main()
