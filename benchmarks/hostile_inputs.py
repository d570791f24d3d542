"""Files made to cost their reader much: each must be refused or read within the bars of time and memory.

`python -m benchmarks.hostile_inputs` reads every one as the commands do, in a fresh process, and prints seconds and
megabytes: the processor time of the child process that reads, which is the wall time of a machine with nothing else
to do; the wall time; and the most memory the child held.
"""

from __future__ import annotations

import argparse
import io
import json
import struct
import subprocess
import sys
import tempfile
import time
import zipfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.table import Row, table

MAX_SECONDS, MAX_MEGABYTES = 2.0, 200.0
_MB = 1024 * 1024


def chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def png_of(*chunks: bytes) -> bytes:
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + b"".join(chunks) + chunk(b"IEND", b"")


def many_packed_texts(count: int = 32, size: int = 16 * _MB - 64) -> bytes:
    """A picture of half a megabyte whose text chunks unfold to half a gigabyte."""
    packed = zlib.compress(b'{"name": "' + b"a" * size, 9)
    words = (b"ccv3", b"chara")
    return png_of(*(chunk(b"zTXt", words[number % 2] + b"\0\0" + packed) for number in range(count)))


def number_in_sixties(size: int = 600_000) -> bytes:
    """YAML with one number that is built digit by digit, each time from all before."""
    return b"name: x\ncontext: 1" + b":59" * (size // 3)


def tag_directives(size: int = 600_000) -> bytes:
    """YAML whose parser compares each directive with all before it."""
    return b"".join(f"%TAG !{number:x}! x\n".encode() for number in range(size // 14)) + b"---\nname: x\n"


def empty_values(size: int = 600_000) -> bytes:
    """YAML with very many values."""
    return b"name: x\nc: {" + b"a," * (size // 2) + b"}"


def repeated_labels(size: int = 900_000) -> bytes:
    """A text card that says the same label very often."""
    return b"a card" + b"\nname: x" * (size // 8)


def nested_yaml(size: int = 600_000) -> bytes:
    return b"name: x\nc: " + b"[" * size


def aliases(levels: int = 30) -> bytes:
    """YAML that names each list ten times in the next."""
    lines = ["name: x", 'l0: &l0 ["x"]']
    lines += [f"l{n}: &l{n} [{','.join([f'*l{n - 1}'] * 10)}]" for n in range(1, levels)]
    return "\n".join(lines).encode()


def open_comments(size: int = 4_000_000) -> bytes:
    """A web page of comments that never end."""
    return b"<html><body>" + b"<!--" * (size // 4)


def closed_comments(size: int = 4_000_000) -> bytes:
    return b"<html><body>" + b"<!--x-->" * (size // 8)


def open_instructions(size: int = 4_000_000) -> bytes:
    return b"<html><body>" + b"<?" * (size // 2)


def open_tags(size: int = 4_000_000) -> bytes:
    return b"<html><body>" + b"<a " * (size // 3)


def small_elements(size: int = 7_900_000) -> bytes:
    return b"<html><body>" + b"<p>a" * (size // 4)


def long_heading(size: int = 4_000_000) -> bytes:
    return b"# a" + b" " * size + b"b"


def wide_json(size: int = 15_000_000) -> bytes:
    """A lorebook of very many empty entries."""
    return b'{"entries": [' + b"{}," * (size // 3) + b"{}]}"


def deep_json(size: int = 2_000_000) -> bytes:
    return b'{"prompts": ' + b"[" * size


def wide_preset(size: int = 2_000_000) -> bytes:
    return b'{"prompts": [' + b"{}," * (size // 3) + b"{}]}"


def macro_preset(count: int = 150_000) -> bytes:
    """A preset of one prompt full of macros within macros."""
    text = "{{random::" * count
    return json.dumps({"prompts": [{"identifier": "main", "content": text}]}).encode()


def zip_of_zeros() -> bytes:
    """An archive of some kilobytes whose card is 64 MB of spaces."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("card.json", "w") as member:
        for _ in range(64):
            member.write(b" " * _MB)
    return out.getvalue()


@dataclass(frozen=True)
class HostileFile:
    """One such file: how it is called, who reads it, and how it is made."""

    name: str
    reader: str
    """`card`, `lorebook`, `preset` or `document`."""
    make: Callable[[], bytes]


FILES = (
    HostileFile("packed-texts.png", "card", many_packed_texts),
    HostileFile("sixties.yaml", "card", number_in_sixties),
    HostileFile("directives.yaml", "card", tag_directives),
    HostileFile("values.yaml", "card", empty_values),
    HostileFile("labels.txt", "card", repeated_labels),
    HostileFile("nested.yaml", "card", nested_yaml),
    HostileFile("aliases.yaml", "card", aliases),
    HostileFile("zeros.charx", "card", zip_of_zeros),
    HostileFile("wide.json", "lorebook", wide_json),
    HostileFile("deep.json", "preset", deep_json),
    HostileFile("wide-preset.json", "preset", wide_preset),
    HostileFile("macros.json", "preset", macro_preset),
    HostileFile("open-comments.html", "document", open_comments),
    HostileFile("closed-comments.html", "document", closed_comments),
    HostileFile("instructions.html", "document", open_instructions),
    HostileFile("tags.html", "document", open_tags),
    HostileFile("elements.html", "document", small_elements),
    HostileFile("heading.md", "document", long_heading),
)


def read_as_commands_do(reader: str, path: Path, root: Path) -> str:
    """Read *path* the way its command does; `read`, or the sentence of refusal."""
    from familiar_connect.bootstrap.from_card import read_card_file
    from familiar_connect.bootstrap.import_document import read_document
    from familiar_connect.bootstrap.import_preset import import_preset
    from familiar_connect.bootstrap.lorebook_files.books import read_book_file
    from familiar_connect.errors import SetupError

    try:
        if reader == "card":
            read_card_file(path)
        elif reader == "lorebook":
            read_book_file(path)
        elif reader == "preset":
            import_preset(path, root)
        else:
            read_document(path, root)
    except SetupError as error:
        return str(error)
    return "read"


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What reading one file took."""

    seconds: float
    """Of processor time."""
    wall_s: float
    megabytes: float
    outcome: str


def measure_file(file: HostileFile, folder: Path) -> Cost:
    """Read *file* in a fresh process; its time, and the memory of the child that process started."""
    path = folder / file.name
    path.write_bytes(file.make())
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.hostile_inputs", file.reader, str(path), str(folder)],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    return Cost(**json.loads(done.stdout))


def _print_cost(reader: str, path: str, root: str) -> None:
    import resource

    read_as_commands_do("card", Path(root) / "none", Path(root))  # what is loaded once is loaded
    began = time.perf_counter()
    outcome = read_as_commands_do(reader, Path(path), Path(root))
    wall_s = time.perf_counter() - began
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    peak = used.ru_maxrss / (_MB if sys.platform == "darwin" else 1024)
    seconds = used.ru_utime + used.ru_stime
    print(json.dumps({"seconds": seconds, "wall_s": wall_s, "megabytes": peak, "outcome": outcome}))


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what each hostile file costs, beside the bars."""
    words = (__doc__ or "").splitlines()[0]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hostile_inputs", description=words)
    parser.parse_args(arguments)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for file in FILES:
            cost = measure_file(file, Path(folder))
            outcome = cost.outcome.replace(f"{folder}/", "")
            rows.append(
                Row(
                    name=f"{file.reader} {file.name}",
                    value=f"{cost.seconds:.2f} s (wall {cost.wall_s:.2f}), {cost.megabytes:.0f} MB: {outcome[:140]}",
                    bar=f"< {MAX_SECONDS:g} s, < {MAX_MEGABYTES:g} MB",
                    ok=cost.seconds < MAX_SECONDS and cost.megabytes < MAX_MEGABYTES,
                )
            )
    print(table({"hostile": rows}))
    return 0 if all(row.ok for row in rows) else 1


if __name__ == "__main__":
    if len(sys.argv) == 4:
        _print_cost(*sys.argv[1:])
    else:
        sys.exit(main())
