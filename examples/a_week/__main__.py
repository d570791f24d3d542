"""Runs the week: `python -m examples.a_week [HOME]`.

Everything but the models is real: the turns go into a history, the memory writer reads them each evening,
code decides what of its answer is written, every write is audited and versioned. It prints where the files
are and what to look at.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
if str(ROOT / "src") not in sys.path:
    sys.path.insert(0, str(ROOT / "src"))

import click  # noqa: E402

from examples.a_week.play import FAMILIAR, play_week  # noqa: E402


def main(arguments: list[str]) -> int:
    home = Path(arguments[0]) if arguments else Path(tempfile.mkdtemp(prefix="a-week-"))
    root = asyncio.run(play_week(home))
    click.echo(f"A week with {FAMILIAR} is in {root}\n")
    for path in sorted((root / "memory").rglob("*.md")):
        click.echo(f"  {path.relative_to(root)}")
    click.echo("\nLook at it:")
    for words in ("memory show Alice", "memory log Alice", "memory why Alice", "memory check"):
        click.echo(f"  familiar --home {home} {words}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
