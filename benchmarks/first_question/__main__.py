"""Whether the first question of a new process finds what a warm chat finds.

    python -m benchmarks.first_question              40 questions, quiet and beside eight busy processes, and CPU time
    python -m benchmarks.first_question --questions 5 --busy 0 --rounds 3

Sixty lines are said in one chat, which is closed. One process that said hello first is asked all questions; then each
is put to `familiar ask` in a new process, in a home where nothing was asked before. What counts is whether the fact
stands among what was recalled in the prompt that the model's endpoint received. The processor's time is taken by turns
with and without memory. Exit code 1 when a bar is missed.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.first_question.trial import (
    WHO,
    Answer,
    Endpoint,
    Fact,
    ask_anew,
    ask_warm,
    busy_processes,
    load_facts,
    make_told_home,
    run_program,
    without_memory,
)
from benchmarks.table import Row, table

BUSY = 8
ROUNDS = 7
LEAST_WITHOUT_SHARED_WORDS = 20
MOST_CPU = 1.2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the trial, print the table, and say by the exit code whether the bars hold."""
    options = _options(arguments)
    facts, lines = load_facts()
    facts = facts[: options.questions]
    endpoint = Endpoint()
    with tempfile.TemporaryDirectory(prefix="familiar-first-") as name, endpoint.serve():
        folder = Path(name)
        told = folder / "told"
        make_told_home(told, endpoint, lines)
        warm = ask_warm(told, facts, endpoint, folder)
        _tell(f"warm: {sum(warm)} of {len(facts)}")
        rows = [
            Row(name="questions that share no content word with their fact", value=_unshared(facts), bar=_bar(facts)),
            Row(name="found by a warm chat", value=f"{sum(warm)} of {len(facts)}"),
        ]
        for busy in dict.fromkeys((0, options.busy)):
            with busy_processes(busy):
                answers = [_ask(told, fact, endpoint, folder) for fact in facts]
            rows += _rows(answers, warm, f"beside {busy} busy processes" if busy else "on a quiet machine")
        rows += _cpu_rows(told, facts, folder, options.rounds) if options.rounds else []
    if options.json:
        print(json.dumps([vars(row) for row in rows]))
    else:
        print(table({"first question": rows}))
    return 1 if any(row.ok is False for row in rows) else 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.first_question",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--questions", type=int, default=None, help="so many of the questions; all without it")
    parser.add_argument("--busy", type=int, default=BUSY, help="busy processes beside the second pass")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="pairs of runs for the processor's time")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args(arguments)


def _unshared(facts: Sequence[Fact]) -> str:
    return str(sum(not fact.shares_words for fact in facts))


def _bar(facts: Sequence[Fact]) -> str:
    return f"≥ {LEAST_WITHOUT_SHARED_WORDS}" if len(facts) >= 2 * LEAST_WITHOUT_SHARED_WORDS else ""


def _ask(told: Path, fact: Fact, endpoint: Endpoint, folder: Path) -> Answer:
    answer = ask_anew(told, fact, endpoint, folder)
    mark = "✓" if answer.is_found else f"✗ (search: {answer.status})"
    _tell(f"{mark} {answer.wall_s:.1f} s, {answer.cpu_s:.2f} s CPU: {fact.asked}")
    return answer


def _rows(answers: Sequence[Answer], warm: Sequence[bool], where: str) -> list[Row]:
    missed = [each.fact.asked for each, was_warm in zip(answers, warm, strict=True) if was_warm and not each.is_found]
    found = sum(each.is_found for each in answers)
    return [
        Row(
            name=f"found by the first `ask` of a new process, {where}",
            value=f"{found} of {len(answers)}" + (f"; missed: {'; '.join(missed)}" if missed else ""),
            bar="all that a warm chat finds",
            ok=not missed,
        ),
        Row(name=f"seconds of one `ask`, {where}", value=f"{statistics.median(each.wall_s for each in answers):.1f}"),
    ]


def _cpu_rows(told: Path, facts: Sequence[Fact], folder: Path, rounds: int) -> list[Row]:
    """The processor's time of one `ask`, with and without memory by turns, in two homes that are not copied meanwhile.

    One question goes before: a copy looks like new files, and what the chat left to be embedded is paid once.
    """
    homes = {has_memory: folder / f"memory-{has_memory}" for has_memory in (False, True)}
    taken: dict[bool, list[float]] = {False: [], True: []}
    for has_memory, home in homes.items():
        shutil.copytree(told, home)
        if not has_memory:
            without_memory(home)
        run_program(home, "ask", "--as", WHO, "Hello!")
    for number in range(rounds):
        for has_memory, home in homes.items():
            asked = facts[number % len(facts)].asked
            taken[has_memory].append(run_program(home, "ask", "--as", WHO, asked)[2])
        _tell(f"CPU {taken[True][-1]:.2f} s with memory, {taken[False][-1]:.2f} s without")
    with_memory, without = taken[True], taken[False]
    ratio = statistics.median(with_memory) / statistics.median(without)
    medians = f"{statistics.median(with_memory):.2f} s with, {statistics.median(without):.2f} s without"
    return [
        Row(
            name="CPU time of one `ask` with memory, of that without",
            value=f"{ratio:.2f}x ({medians}, {rounds} pairs)",
            bar=f"≤ {MOST_CPU}x",
            ok=ratio <= MOST_CPU,
        )
    ]


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
