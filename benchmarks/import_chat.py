"""How long a long chat takes to come in, through the program as a process, and whether search finds it afterwards.

    python -m benchmarks.import_chat [--quick] [--json]

A SillyTavern chat of 50,000 messages, with swipes, is written into a folder that is gone afterwards, imported by
`familiar import chat`, and asked about by `familiar memory search`. The time is that of the whole process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from benchmarks.table import Row, run_part

MESSAGES = 50_000
QUICK_MESSAGES = 1_000
BAR_S = 30.0
PLANTED = "The spare key of the boathouse hangs behind the blue teapot."
QUESTION = "where does the spare key of the boathouse hang"
SWIPES_EVERY = 10
_START = datetime(2024, 1, 1, 8, tzinfo=UTC)
_TEXT = (
    "harbour lantern gull rope tide weather kettle window ladder copper market bridge letter garden winter story "
    "captain ferry candle orchard stone bell carpet engine mirror ribbon salt thunder village whistle"
)
_WORDS = _TEXT.split()


def chat_lines(messages: int) -> Iterator[str]:
    """The lines of a chat file; one of its messages, a third of the way in, is `PLANTED`."""
    head = {"user_name": "Sam", "character_name": "Wren", "chat_metadata": {"note_prompt": "[Short.]"}}
    yield json.dumps(head)
    for number in range(messages):
        words = [_WORDS[(number * 7 + step * (number % 11 + 1)) % len(_WORDS)] for step in range(28)]
        text = PLANTED if number == messages // 3 else f"{' '.join(words).capitalize()} {number}."
        is_user = number % 2 == 1
        row: dict[str, Any] = {
            "name": "Sam" if is_user else "Wren",
            "is_user": is_user,
            "is_system": False,
            "send_date": (_START + timedelta(minutes=number)).isoformat(),
            "mes": text,
            "extra": {"api": "openai", "model": "some-model", "token_count": 40},
        }
        if not is_user and number % SWIPES_EVERY == 0:
            row |= {"swipes": [f"Another way to say it, {number}.", text], "swipe_id": 1}
        yield json.dumps(row)


def run_familiar(home: Path, *words: str) -> tuple[str, float]:
    """What `familiar WORDS` printed, and how long the whole process took."""
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "familiar_connect", "--home", str(home), *words],
        env={**os.environ, "FAMILIAR_ID": "wren"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"familiar {' '.join(words)} ended with {done.returncode}: {done.stderr[-500:]}")
    return done.stdout, time.monotonic() - began


def measure(*, quick: bool = False) -> dict[str, Any]:
    """Seconds of the import, of the same import again, and of a search; whether the planted line was found."""
    messages = QUICK_MESSAGES if quick else MESSAGES
    with tempfile.TemporaryDirectory(prefix="familiar-import-") as folder:
        home, file = Path(folder) / "home", Path(folder) / "long.jsonl"
        file.write_text("\n".join(chat_lines(messages)) + "\n", encoding="utf-8")
        run_familiar(home, "init", "wren")
        out, seconds = run_familiar(home, "import", "chat", str(file), "--character", "Wren", "--json")
        added = json.loads(out)["chats"][0]["added"]
        again, seconds_again = run_familiar(home, "import", "chat", str(file), "--character", "Wren", "--json")
        found, search_s = run_familiar(home, "memory", "search", QUESTION, "--turns", "--json")
    hits = json.loads(found)
    return {
        "messages": messages,
        "added": added,
        "seconds": seconds,
        "per_second": added / seconds,
        "again_added": json.loads(again)["chats"][0]["added"],
        "again_s": seconds_again,
        "search_s": search_s,
        "is_found": any(hit["text"] == PLANTED for hit in hits[:3]),
        "ok": seconds <= BAR_S and added == messages,
    }


def rows(found: dict[str, Any]) -> list[Row]:
    is_whole = found["messages"] == MESSAGES
    return [
        Row(
            name=f"import of {found['messages']:,} messages",
            value=f"{found['seconds']:.1f} s",
            bar=f"{BAR_S:.0f} s" if is_whole else "",
            ok=found["ok"] if is_whole else None,
        ),
        Row(name="messages a second", value=f"{found['per_second']:,.0f}"),
        Row(name="the same file again", value=f"{found['again_s']:.1f} s, {found['again_added']} added", bar="0 added"),
        Row(
            name="a planted line is among the first three of a search",
            value=f"{'yes' if found['is_found'] else 'no'}, after {found['search_s']:.1f} s",
            bar="yes",
            ok=found["is_found"],
        ),
    ]


def main(arguments: list[str]) -> int:
    return run_part(arguments, title="import_chat", description=__doc__, measure=measure, rows=rows)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
