"""What is worth keeping in other languages: facts kept, and what else was kept, by rules alone.

    python -m benchmarks.keeping_languages [--mistakes] [--language de]

Each language has 120 lines of chat, written and labelled by others before the rules, who had not seen the rules
(`tests/fixtures/statements`). Half of them, by their checksum, were held back while the rules were written.
`--mistakes` shows those of the open half.
"""

from __future__ import annotations

import argparse
import json
import sys
import zlib
from dataclasses import dataclass
from pathlib import Path

from benchmarks.table import Row, table
from familiar_connect.memory.weighing.statements import StatementReader

LINES = Path(__file__).parent.parent / "tests" / "fixtures" / "statements"
LEAST_KEPT = 0.85
LEAST_LASTING = 0.90


@dataclass(frozen=True)
class LabelledLine:
    text: str
    fact: bool
    subject: str
    kind: str

    @property
    def is_open(self) -> bool:
        return zlib.crc32(self.text.encode()) % 2 == 0

    @property
    def is_kept(self) -> bool:
        return bool(StatementReader(is_alone=True).read(self.text))


def languages() -> list[str]:
    return sorted(path.stem for path in LINES.glob("*.jsonl"))


def read_lines(language: str) -> list[LabelledLine]:
    """The lines of one language, in order."""
    return [LabelledLine(**json.loads(line)) for line in (LINES / f"{language}.jsonl").read_text("utf-8").splitlines()]


def score(lines: list[LabelledLine]) -> tuple[float, float]:
    """What share of the facts is kept, and what share of what is kept is a fact."""
    kept = [line for line in lines if line.is_kept]
    right = sum(line.fact for line in kept)
    return right / max(1, sum(line.fact for line in lines)), right / max(1, len(kept))


def rows_of(lines: list[LabelledLine], *, with_bar: bool) -> list[Row]:
    kept, lasting = score(lines)
    return [
        Row(
            name="facts kept",
            value=f"{kept:.0%} of {sum(line.fact for line in lines)}",
            bar=f"{LEAST_KEPT:.0%}" if with_bar else "",
            ok=kept >= LEAST_KEPT if with_bar else None,
        ),
        Row(
            name="of what is kept, lasting",
            value=f"{lasting:.0%}",
            bar=f"{LEAST_LASTING:.0%}" if with_bar else "",
            ok=lasting >= LEAST_LASTING if with_bar else None,
        ),
    ]


def main() -> int:
    first, _, _ = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(prog="python -m benchmarks.keeping_languages", description=first)
    parser.add_argument("--mistakes", action="store_true", help="show the mistakes of the open half")
    parser.add_argument("--language", choices=languages(), help="this one only")
    options = parser.parse_args()
    parts = {}
    for language in [options.language] if options.language else languages():
        lines = read_lines(language)
        parts[f"{language}, open"] = rows_of([line for line in lines if line.is_open], with_bar=False)
        parts[f"{language}, held back"] = rows_of([line for line in lines if not line.is_open], with_bar=True)
        for line in lines if options.mistakes else ():
            if line.is_open and line.is_kept is not line.fact:
                print(f"{'lost ' if line.fact else 'wrong'} {language} {line.kind:12} {line.text}")
    print(table(parts))
    return 1 if any(row.ok is False for rows in parts.values() for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
