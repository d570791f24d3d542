"""Whether a small model keeps talking: scripted talks through `familiar chat`, each reply judged by itself.

    python -m benchmarks.collapse                             the embedded model, 20 talks of 30 messages
    python -m benchmarks.collapse --model FILE.gguf --talks 5  a model file
    python -m benchmarks.collapse --talks 2 --messages 8 --answers

Each talk is a new home and a new draw of lines. The judge is not the program's own guard: it counts replies of which
80 % of the runs of three words stood in one of the last five, replies with markup or scraps of a template, replies
that are mostly neither letters nor digits, replies with a sentence that stood in an earlier one of the talk, and
messages that got no reply.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence

from benchmarks.table import Row, table

LINES = (
    *("Hello!", "Who are you?", "What do you do all day?", "I had a long day.", "Do you like tea?", "Tell me a story."),
    *("It is raining here.", "I baked bread this morning.", "What should I cook tonight?", "My knee hurts a bit."),
    *(
        "Do you ever sleep?",
        "I am learning the trumpet.",
        "lol",
        "ok",
        "Why?",
        "Really?",
        "Tell me more.",
        "Sing to me.",
    ),
    *("My friend Lena is coming over.", "What is your favourite season?", "I saw a fox in the garden.", "good morning"),
    *("I cannot decide between two jobs.", "What makes you happy?", "Tell me a joke.", "I am bored.", "Another one!"),
    *("Do you remember what I said about bread?", "My team lost again.", "What is the sea like?", "I miss my dog."),
    *("How was your night?", "Say something nice.", "Count to five.", "What do you see right now?", "I got the job!"),
    *(
        "We could go for a walk.",
        "Are you a robot?",
        "hm",
        "That made no sense.",
        "What would you ask me?",
        "I am tired.",
    ),
    *("Can you keep a secret?", "What does fire feel like?", "My sister is angry with me.", "Do you like music?"),
    *("Happy birthday to me.", "The power went out.", "What is for dinner?", "I found an old photo.", "Good night."),
)
MARKUP = re.compile(
    r"<[/|]?[a-z][^<>\n]{0,80}>|[\[{]\d{4}-\d\d|\[/?INST\]|^\s*\w{1,20}:\s|\|[-: ]{3,}\|", re.IGNORECASE
)
LAST, COPY_SHARE, WORDS_SHARE, MOST_SILENT = 5, 0.8, 0.5, 0.03
TALK_LIMIT_S = 3_600
SENTENCE_END = re.compile(r"(?<=[.!?…])\s+")
SENTENCE_WORDS = 4
"""Shorter ones, such as "I do not know.", people say twice too."""
WORD = re.compile(r"[^\W_]+")


def play(talk: int, messages: int, model: str | None) -> list[tuple[str, str]]:
    """One talk in a home of its own: each message with its reply, or with nothing."""
    lines = [
        random.Random(f"{talk}:{at // len(LINES)}").sample(LINES, len(LINES))[at % len(LINES)] for at in range(messages)
    ]
    with tempfile.TemporaryDirectory() as folder:
        program = [sys.executable, "-m", "familiar_connect", "--home", folder]
        if model is not None:
            subprocess.run([*program, "init"], capture_output=True, check=True)
            subprocess.run([*program, "model", "use", "--no-test", model], capture_output=True, check=True)
        typed = "\n".join(lines) + "\n"
        subprocess.run(
            [*program, "chat", "--plain"],
            input=typed,
            capture_output=True,
            text=True,
            timeout=TALK_LIMIT_S,
            check=False,
        )
        logged = subprocess.run(
            [*program, "logs", "-n", str(4 * messages), "--json"], capture_output=True, text=True, check=True
        )
    turns = [(row["role"], row["text"]) for row in json.loads(logged.stdout)]
    asked = sum(role == "user" for role, _ in turns)
    if asked != messages:
        raise SystemExit(f"talk {talk + 1}: {asked} of {messages} messages are in the history; the chat did not run")
    said: list[tuple[str, str]] = []
    for role, text in turns:
        if role == "user":
            said.append((text, ""))
        elif said:
            said[-1] = (said[-1][0], text)
    return said


def judge(replies: Sequence[str]) -> Counter[str]:
    """How many of *replies*, in their order, show each fault."""
    faults: Counter[str] = Counter()
    known: set[tuple[str, ...]] = set()
    for at, reply in enumerate(replies):
        if not reply.strip():
            faults["no reply"] += 1
            continue
        if any(_share_of(reply, earlier) >= COPY_SHARE for earlier in replies[max(0, at - LAST) : at]):
            faults["said again"] += 1
        if MARKUP.search(reply):
            faults["markup"] += 1
        signs = [char for char in reply if not char.isspace()]
        if sum(char.isalnum() for char in signs) < WORDS_SHARE * len(signs):
            faults["mostly not words"] += 1
        sentences = {tuple(WORD.findall(each.casefold())) for each in SENTENCE_END.split(reply)}
        sentences = {each for each in sentences if len(each) >= SENTENCE_WORDS}
        if sentences & known:
            faults["a sentence twice"] += 1
        known |= sentences
    return faults


def _share_of(reply: str, earlier: str) -> float:
    runs, known = _runs(reply), _runs(earlier)
    return len(runs & known) / len(runs) if runs else 0.0


def _runs(text: str) -> set[tuple[str, ...]]:
    words = WORD.findall(text.casefold())
    return set(zip(words, words[1:], words[2:], strict=False))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.collapse", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--talks", type=int, default=20)
    parser.add_argument("--first", type=int, default=0, help="the draw of lines to begin with, counted from 0")
    parser.add_argument("--messages", type=int, default=30)
    parser.add_argument("--model", default=None, help="a model file in the GGUF format; else the embedded one")
    parser.add_argument("--answers", action="store_true", help="print every reply")
    options = parser.parse_args(arguments)
    found: Counter[str] = Counter()
    for talk in range(options.talks):
        said = play(options.first + talk, options.messages, options.model)
        faults = judge([reply for _, reply in said])
        found += faults
        print(f"talk {talk + 1} of {options.talks}: {dict(faults) or 'fine'}", file=sys.stderr, flush=True)
        for message, reply in said if options.answers else ():
            print(f"> {message}\n{reply}")
    count = options.talks * options.messages
    rows = [Row(name="messages", value=f"{count:,} in {options.talks} talks, {options.model or 'embedded'}")]
    for fault in ("said again", "markup", "mostly not words", "a sentence twice"):
        rows.append(Row(name=fault, value=str(found[fault]), bar="0", ok=not found[fault]))
    silent = found["no reply"] / count
    rows.append(Row(name="without a reply", value=f"{silent:.1%}", bar="≤ 3 %", ok=silent <= MOST_SILENT))
    print(table({"collapse": rows}))
    return 1 if any(row.ok is False for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
