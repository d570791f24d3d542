"""The transcript at the head of README.md: the real program on a pseudo-terminal, typed at, written down.

python -m tools.transcript            write it into README.md
python -m tools.transcript --show     only print it
"""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path

from familiar_connect.support.word_wrap import wrap_words
from tests.fakes.program import shorten_turns
from tests.fakes.terminal import TerminalSession
from tests.fakes.waiting import wait_until

README = Path(__file__).parent.parent / "README.md"
BLOCK = re.compile(r"(?<=```text\n)\$ python3 run\.py\n.*?(?=```\n)", re.DOTALL)
TYPED = ("I'm Sam, and I had a long day.", "Are you a robot?", "/quit")
"""What somebody says who has just met Ember."""
COLUMNS = 400
"""So wide that the program breaks no line: the place of its files is shortened before that is done."""
SHOWN_COLUMNS = 120
OFFER = "type /upgrade never."
"""How the offer of a better model ends, which comes before somebody has typed a line."""
PROMPT = re.compile(r"(?!Ember)\w+:")
"""What stands before the cursor when somebody is asked to type."""


def record(*, is_brief: bool = False) -> str:
    """What the window shows from the first start of a fresh home to the end; of replies a few words if *is_brief*."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / ".local" / "share" / "familiar-connect"
        if is_brief:
            shorten_turns(home)
        with TerminalSession(home, "chat", env={"FAMILIAR_COMMAND": "python3 run.py"}, columns=COLUMNS) as session:
            session.wait_for_screen(OFFER)
            for line in TYPED:
                wait_until(lambda: PROMPT.fullmatch(_line_at_cursor(session)), "a prompt")
                session.type(line)
                session.wait_for_screen(f": {line}")
                session.type("\r")
            code = session.wait_end()
        shown = session.screen.everything.replace(folder, "~")
    if code != 0:
        raise RuntimeError(f"the chat ended with {code}:\n{shown}")
    lines = [wrap_words(line.rstrip(), SHOWN_COLUMNS) for line in shown.splitlines() if line.strip()]
    return "\n".join(["$ python3 run.py", *lines, ""])


def _line_at_cursor(session: TerminalSession) -> str:
    return session.screen.lines[session.screen.row].rstrip()


def with_transcript(text: str, transcript: str) -> str:
    """README's *text* with *transcript* in its place."""
    changed, count = BLOCK.subn(lambda _: transcript, text)
    if count != 1:
        raise RuntimeError("README.md has no block that begins with `$ python3 run.py`")
    return changed


def main(arguments: list[str]) -> int:
    transcript = record()
    if arguments == ["--show"]:
        sys.stdout.write(transcript)
        return 0
    README.write_text(with_transcript(README.read_text(encoding="utf-8"), transcript), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
