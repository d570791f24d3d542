"""How much a familiar still knows of what it was told, on a real model.

    python -m benchmarks.remembering --model FILE.gguf          our 40 facts: the familiar as shipped, and three peers
    python -m benchmarks.remembering --model http://host:port   an endpoint that speaks as OpenAI's does
    python -m benchmarks.remembering --model FILE --facts F     facts of your own (told, asked, accept, reject)
    python -m benchmarks.remembering --model FILE --rows familiar,last-20 --state FILE
    python -m benchmarks.remembering --weeks                    thirty days in four places, 100 questions, no model
    python -m benchmarks.remembering --weeks --model FILE --questions 30
    python -m benchmarks.remembering --embedded                 the small model that comes along, and what nobody told

Facts are told among chatter by several people, with corrections; then the program is closed and opened, and each is
asked for. The telling is answered from a list; the model answers the questions (greedy, at most 60 tokens) and writes
memory. The peers answer the same questions from a plain prompt: the last 20 messages, all of
them, or the character alone. A run that is broken off goes on where it stopped when `--state` names the same file.
The weeks are told, corrected, contradicted and deleted by five people; each question goes to who may know, or to who
may not. They stand beside the last 20 lines of the place, and BM25 and dense search over all that was said.
Exit code 1 when a bar is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.remembering.facts import Material, load_material
from benchmarks.remembering.model_server import Call, Recorder, open_door, open_model
from benchmarks.remembering.script import NAME, choose_reply, order_lines, plain_transcript, rehearsal_script
from benchmarks.table import Row, table

ROWS = ("familiar", "last-20", "all-turns", "persona")
WEEKS_ROWS = ("familiar", "last-20", "BM25", "dense")
PEER_WINDOW = 20
REHEARSAL_LIMIT_S = 4 * 3600
WORD = re.compile(r"[^\W_]+")
SMALL_WORDS = """
a an the and or but of to in on at by for with from as is are was were be been am has have had do does did it its
his her hers their theirs our ours my mine me i you your he she they them him who which that this these those not no
so than then there here when where what how why will would can could may might about into over also very
"""


@dataclass(frozen=True, kw_only=True)
class Result:
    """What one way of remembering came to."""

    name: str
    right: int
    asked: int
    calls_per_message: float
    prompt_tokens: float
    seconds: float
    shared_prefix: float | None
    answers: tuple[tuple[str, str, bool], ...]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the rows, print the table, and say by the exit code whether the bars hold."""
    options = _options(arguments)
    if options.weeks:
        return run_weeks(options)
    material = load_material(options.facts)
    if options.embedded:
        return run_embedded(material, options)
    results: dict[str, Result] = {}
    rows: list[Row] = []
    with open_model(options.model, window=options.window, threads=options.threads) as upstream:
        recorder = Recorder(upstream, options.model, options.state)
        for name in (options.rows or ",".join(ROWS)).split(","):
            print(f"{name} ...", file=sys.stderr, flush=True)
            if name == "familiar":
                results[name], kept = run_familiar(material, recorder, options)
                rows += kept
            else:
                results[name] = run_peer(name, material, recorder)
            print(f"{name}: {results[name].right} of {results[name].asked}", file=sys.stderr, flush=True)
    rows = [*_result_rows(results), *rows]
    if options.json:
        print(json.dumps({"rows": [vars(row) for row in rows], "results": [vars(each) for each in results.values()]}))
    else:
        for result in results.values():
            for asked, answer, right in result.answers if options.answers else ():
                print(f"{result.name} {'✓' if right else '✗'} {asked} → {answer}")
        print(table({"remembering": rows}))
    return 1 if any(row.ok is False for row in rows) else 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.remembering",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--model", default=None, help="a GGUF file, or the address of an endpoint")
    parser.add_argument("--weeks", action="store_true", help="thirty days in four places; no model needed")
    parser.add_argument("--embedded", action="store_true", help="the small model that comes along")
    parser.add_argument("--questions", type=int, default=None, help="so many of the questions of the weeks")
    parser.add_argument("--facts", type=Path, default=None)
    parser.add_argument("--rows", default=None, help=f"some of {', '.join(ROWS)}; of the weeks {', '.join(WEEKS_ROWS)}")
    parser.add_argument("--state", type=Path, default=Path(tempfile.gettempdir()) / "familiar-remembering.jsonl")
    parser.add_argument("--writer", choices=("model", "rules"), default="model", help="what writes memory down")
    parser.add_argument("--window", type=int, default=8192)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 2)
    parser.add_argument("--answers", action="store_true", help="print every answer")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    if options.model is None and not (options.weeks or options.embedded):
        parser.error("--model is needed; only --weeks and --embedded go without")
    return options


def run_embedded(material: Material, options: argparse.Namespace) -> int:
    """The small model that comes along, through a rehearsal with nothing set."""
    from benchmarks.remembering.embedded import ask_embedded

    rows, answers = ask_embedded(material)
    for asked, answer, right in answers if options.answers else ():
        print(f"{'✓' if right else '✗'} {asked} → {answer}")
    print(json.dumps({"rows": [vars(row) for row in rows]}) if options.json else table({"remembering": rows}))
    return 1 if any(row.ok is False for row in rows) else 0


def run_weeks(options: argparse.Namespace) -> int:
    """The weeks, by the prompts alone or answered by a model."""
    from benchmarks.remembering.weeks import read_weeks
    from benchmarks.remembering.weeks.report import rows_of
    from benchmarks.remembering.weeks.trial import Outcome, PlainPrompts, play
    from familiar_connect.memory.index.embedders.choice import choose_embedder

    weeks = read_weeks().take(options.questions)
    outcomes: dict[str, list[Outcome]] = {}
    with ExitStack() as stack:
        recorder = None
        if options.model is not None:
            upstream = stack.enter_context(open_model(options.model, window=options.window, threads=options.threads))
            recorder = Recorder(upstream, options.model, options.state)
        plain = PlainPrompts(weeks, choose_embedder("auto")[0])
        for way in (options.rows or ",".join(WEEKS_ROWS)).split(","):
            print(f"{way} ...", file=sys.stderr, flush=True)
            if way == "familiar":
                outcomes[way] = play(weeks, recorder, Path(options.model or "").stem)
            else:
                outcomes[way] = plain.ask(way, recorder)
    rows = rows_of(outcomes, with_model=recorder is not None)
    if options.json:
        print(json.dumps({"rows": [vars(row) for row in rows]}))
    else:
        for way, each in outcomes.items() if options.answers else ():
            for one in each:
                asked, mark = one.question, "✓" if one.is_found == one.question.may_know else "✗"
                print(f"{way} {mark} {asked.place} {asked.who}: {asked.words} → {one.answer or one.is_found}")
        print(table({"remembering, over weeks": rows}))
    return 1 if any(row.ok is False for row in rows) else 0


def run_familiar(material: Material, recorder: Recorder, options: argparse.Namespace) -> tuple[Result, list[Row]]:
    """The program itself, as shipped: `familiar rehearse` in a process of its own."""
    questions = {fact.asked for fact in material.facts}

    def answer_told(messages: list[dict[str, Any]]) -> str | None:
        """A stored reply for whatever is said that is no question of ours; the writer asks for itself."""
        last = str(messages[-1]["content"]) if messages else ""
        said = next((str(each["content"]) for each in reversed(messages) if each["role"] == "user"), last)
        is_writer = "<transcript>" in said or "===" in last
        if is_writer or any(question in said for question in questions):
            return None
        return choose_reply(material, said)

    before = len(recorder.calls)
    with tempfile.TemporaryDirectory() as folder, open_door(recorder, answer_told) as address:
        name, is_writing = Path(options.model).stem, options.writer == "model"
        script = rehearsal_script(material, address=address, model=name, is_writing=is_writing)
        file, kept = Path(folder) / "script.json", Path(folder) / "home"
        file.write_text(json.dumps(script), "utf-8")
        command = [sys.executable, "-m", "familiar_connect", "rehearse", str(file), "--json", "--keep", str(kept)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=REHEARSAL_LIMIT_S, check=False)
        if done.returncode not in (0, 1):
            raise SystemExit(f"the rehearsal ended with {done.returncode}: {done.stderr[-2000:]}")
        said = _read_replies(done.stdout, questions_from=len(script["steps"]) - len(material.facts))
        rows = _writer_rows(material, kept)
    calls = recorder.calls[before:]
    result = _grade("familiar", material, said, [call for call in calls if call.kind == "asked"])
    others = sum(call.kind == "other" for call in calls)
    return result, [*rows, Row(name="calls of the memory writer", value=str(others))]


def _read_replies(text: str, *, questions_from: int) -> list[str]:
    """The reply to each question, in order."""
    said = []
    for line in text.splitlines():
        row = json.loads(line)
        if isinstance(row.get("step"), int) and row["step"] > questions_from:
            replies = row.get("replies") or []
            said.append(" ".join(map(str, replies)))
    return said


def run_peer(name: str, material: Material, recorder: Recorder) -> Result:
    """A plain prompt: who the familiar is, then as much of the talk as this peer takes along."""
    transcript = plain_transcript(material)
    shown = {"last-20": transcript[-PEER_WINDOW:], "all-turns": transcript, "persona": []}[name]
    persona = {
        "role": "system",
        "content": f"You are {NAME}, a warm and attentive friend in a small group chat. Each message begins with its "
        f"speaker's name. Answer the last message as {NAME}, briefly and truthfully.",
    }
    calls = []
    for fact in material.facts:
        question = {"role": "user", "content": f"{material.people[fact.asked_by]}: {fact.asked}"}
        calls.append(recorder.ask("asked", {"messages": [persona, *shown, question]}))
    return _grade(name, material, [call.text for call in calls], calls)


def _grade(name: str, material: Material, said: list[str], calls: list[Call]) -> Result:
    graded = tuple(
        (fact.asked, answer, fact.is_answered(answer)) for fact, answer in zip(material.facts, said, strict=True)
    )
    later = calls[2:]
    prompt = sum(call.prompt_tokens for call in later)
    return Result(
        name=name,
        right=sum(right for _, _, right in graded),
        asked=len(graded),
        calls_per_message=len(calls) / max(1, len(graded)),
        prompt_tokens=sum(call.prompt_tokens for call in calls) / max(1, len(calls)),
        seconds=sum(call.seconds for call in calls) / max(1, len(calls)),
        shared_prefix=sum(call.cached_tokens for call in later) / prompt if prompt else None,
        answers=graded,
    )


def _writer_rows(material: Material, home: Path) -> list[Row]:
    """How many facts stand in people files, and how many of their sentences somebody said."""
    texts = {path: path.read_text("utf-8") for path in sorted(home.rglob("memory/people/*.md"))}
    kept = sum(_stands_in_file(fact.accept, material.people[fact.by], texts) for fact in material.facts)
    said: dict[str, list[set[str]]] = {}
    for line in order_lines(material):
        said.setdefault(material.people[line.by].lower(), []).append(_stems(line.text))
    sentences = supported = 0
    unsupported = []
    for text in texts.values():
        owner = next((name for name in said if re.search(rf"^# {name}\b", text, re.IGNORECASE | re.MULTILINE)), None)
        for sentence in _sentences(text):
            sentences += 1
            if _is_supported(
                sentence, said.get(owner, []) if owner else [turn for turns in said.values() for turn in turns]
            ):
                supported += 1
            else:
                unsupported.append(sentence)
    for sentence in unsupported:
        print(f"  not said by anybody: {sentence}", file=sys.stderr)
    share, held = kept / len(material.facts), supported / max(1, sentences)
    return [
        Row(name="facts in people files", value=f"{share:.0%}", bar="≥ 60 %", ok=share >= 0.60),
        Row(name=f"their sentences supported ({sentences})", value=f"{held:.0%}", bar="≥ 95 %", ok=held >= 0.95),
    ]


def _stands_in_file(patterns: Sequence[str], name: str, texts: dict[Path, str]) -> bool:
    own = [text for text in texts.values() if re.search(rf"^# {re.escape(name)}\b", text, re.IGNORECASE | re.MULTILINE)]
    return any(re.search(pattern, text, re.IGNORECASE) for pattern in patterns for text in own)


def _sentences(text: str) -> list[str]:
    body = re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.DOTALL)
    body = re.sub(r"<!--.*?-->", "", body, flags=re.DOTALL)
    body = re.sub(r"^## (?:Sessions|Aliases)\n(?:(?!## ).*\n?)*", "", body, flags=re.MULTILINE)
    lines = [line.strip().lstrip("-* ").strip() for line in body.splitlines() if not line.startswith("#")]
    lines = [re.sub(r"^\d{4}-\d\d-\d\d, [^:]{1,60} said: ", "", line) for line in lines]
    found = [part.strip() for line in lines for part in re.split(r"(?<=[.!?])\s+", line)]
    return [part for part in found if len(_stems(part)) >= 2]


def _stems(text: str) -> set[str]:
    return {word[:5] for word in WORD.findall(text.lower()) if word not in SMALL_WORDS.split() and len(word) > 1}


def _is_supported(sentence: str, turns: list[set[str]]) -> bool:
    """Whether at least six of ten of its words stand in one thing its person said."""
    words = _stems(sentence)
    return any(len(words & turn) >= 0.6 * len(words) for turn in turns)


def _result_rows(results: dict[str, Result]) -> list[Row]:
    rows = [
        Row(
            name=f"{result.name}: right answers",
            value=f"{result.right} of {result.asked} ({result.right / result.asked:.0%}), "
            f"{result.prompt_tokens:.0f} prompt tokens, {result.seconds:.1f} s a message",
        )
        for result in results.values()
    ]
    ours = results.get("familiar")
    if ours is None:
        return rows
    share = ours.right / ours.asked
    rows.append(Row(name="right answers", value=f"{share:.0%}", bar="≥ 85 %", ok=share >= 0.85))
    if "last-20" in results:
        least = 4 * results["last-20"].right
        rows.append(
            Row(name="against the last 20", value=f"{ours.right} / {least // 4}", bar="≥ 4x", ok=ours.right >= least)
        )
    if "all-turns" in results:
        every = results["all-turns"].right
        rows.append(
            Row(name="against all turns", value=f"{ours.right} / {every}", bar="not below", ok=ours.right >= every)
        )
    rows += [
        Row(name="calls a message", value=f"{ours.calls_per_message:.2f}", bar="1", ok=ours.calls_per_message == 1),
        Row(
            name="prompt tokens a message",
            value=f"{ours.prompt_tokens:.0f}",
            bar="≤ 2,500",
            ok=ours.prompt_tokens <= 2500,
        ),
    ]
    if ours.shared_prefix is not None:
        good = ours.shared_prefix >= 0.8
        rows.append(
            Row(name="prompt tokens from the server's cache", value=f"{ours.shared_prefix:.0%}", bar="≥ 80 %", ok=good)
        )
    return rows


if __name__ == "__main__":
    sys.exit(main())
