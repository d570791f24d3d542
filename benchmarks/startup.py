"""Start-up: what importing the command line, asking it for help and the verbs that only look cost, in fresh processes.

Medians over several processes each, the bare interpreter among them by turns, so that a busy machine
slows all alike; in CPU time of the whole process. The heavy libraries must not be among the modules that were imported.
Verbs are measured in a home in which something was said; no model is asked. Run `python -m benchmarks.startup`;
`--quick` for a short form, `--json` for a script.
"""

from __future__ import annotations

import asyncio
import io
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import familiar_connect
from benchmarks.table import Row, run_part, spread

IMPORT_MS, HELP_MS = 150.0, 300.0
VERB_CPU_MS: dict[str, tuple[tuple[str, ...], float]] = {
    "list": (("list",), 400.0),
    "metrics": (("metrics",), 400.0),
    "inspect": (("inspect",), 400.0),
    "config show": (("config", "show"), 400.0),
    "doctor, endpoints not asked": (("doctor", "--offline"), 1000.0),
    "memory search, cold": (("memory", "search", "tea"), 1000.0),
}
"""What a verb may cost in CPU time, start of Python included."""
ROUNDS, QUICK_ROUNDS = 15, 3
VERB_ROUNDS, QUICK_VERB_ROUNDS = 7, 1
HEAVY = (
    "asyncio",
    "httpx2",
    "numpy",
    "prompt_toolkit",
    "re2",
    "rich",
    "splintr",
    "sqlite3",
    "ssl",
    "tomlkit",
    "xllamacpp",
)
"""Libraries that take long to load. Only the ones not of the standard library are forbidden."""
FORBIDDEN = tuple(name for name in HEAVY if name not in sys.stdlib_module_names)

_IMPORT = "import familiar_connect.cli"
_TIMED = f"import time; began = time.process_time(); {_IMPORT}; print(time.process_time() - began)"
_LISTED = f"import sys; {_IMPORT}; print(*sorted(sys.modules))"
_HELP = "import sys; from familiar_connect.cli import main; sys.exit(main())"
_HELP_LISTED = (
    "import sys; from familiar_connect.cli import cli; cli.main(['--help'], standalone_mode=False); "
    "print('MODULES', *sorted(sys.modules))"
)


def measure(*, quick: bool = False) -> dict[str, Any]:
    runs: dict[str, list[float]] = {"interpreter": [], "import": [], "import_alone": [], "help": []}
    _run("-c", _HELP, "--help")  # compiled files are written once, as after any first start
    for _ in range(QUICK_ROUNDS if quick else ROUNDS):
        runs["interpreter"].append(_run("-c", "pass")[0])
        seconds, told = _run("-c", _TIMED)
        runs["import"].append(seconds)
        runs["import_alone"].append(float(told))
        runs["help"].append(_run("-c", _HELP, "--help")[0])
    imported = set(_run("-c", _LISTED)[1].split())
    shown = set(_run("-c", _HELP_LISTED)[1].partition("MODULES")[2].split())
    return {
        **{name: spread(values, 1000) for name, values in runs.items()},
        "modules_after_import": len(imported),
        "modules_after_help": len(shown),
        "heavy": sorted(name for name in HEAVY if name in imported | shown),
        "forbidden": sorted(name for name in FORBIDDEN if name in imported | shown),
        "verbs": measure_verbs(QUICK_VERB_ROUNDS if quick else VERB_ROUNDS),
    }


def measure_verbs(rounds: int) -> dict[str, Any]:
    """CPU time of each verb that only looks, over *rounds* fresh processes."""
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(_make_home(Path(folder)))
        found: dict[str, Any] = {}
        for name, (words, _) in VERB_CPU_MS.items():
            _cpu_s(folder, words)  # compiled files and the index are there afterwards
            found[name] = spread([_cpu_s(folder, words) for _ in range(rounds)], 1000)
    return found


async def _make_home(home: Path) -> None:
    """A home in which a familiar was talked with, as far as the verbs look."""
    from familiar_connect.bootstrap.starter import make_starter
    from familiar_connect.chat.types import InboundMessage
    from familiar_connect.commands.answer_place import AnswerPlace
    from familiar_connect.config.llm import SLOT_TEMPERATURES
    from familiar_connect.familiar import Familiar
    from familiar_connect.identity import Author
    from familiar_connect.llm.protocols import ChatModel
    from familiar_connect.llm.scripted import ScriptedModel

    root = make_starter(home, "ember")
    (root / "memory" / "topics").mkdir(parents=True, exist_ok=True)
    for number in range(20):
        (root / "memory" / "topics" / f"tea-{number}.md").write_text(f"# Tea {number}\n\nA cup of it.\n", "utf-8")
    model = ScriptedModel(lambda _messages: "Tea it is.")
    clients: dict[str, ChatModel] = dict.fromkeys(SLOT_TEMPERATURES, model)
    familiar = Familiar.load_from_disk(root, llm_clients=clients)
    sam = Author("terminal", "sam", None, "Sam")
    try:
        for text in ("Hello!", "What about tea?"):
            said = InboundMessage(
                platform="terminal", channel_id=1, author=sam, text=text, timestamp=datetime.now(UTC), is_dm=True
            )
            await familiar.intake.receive(said, AnswerPlace(familiar, 1, sam, io.StringIO()))
            await familiar.reply_path.queue.wait_until_channel_idle(1)
    finally:
        await familiar.aclose()


def _cpu_s(home: str, words: tuple[str, ...]) -> float:
    """CPU time of one run of the program, its children included."""
    command = [sys.executable, "-P", "-m", "familiar_connect", *words]
    before = _children_s()
    subprocess.run(
        command, capture_output=True, check=False, env={**_environment(), "FAMILIAR_HOME": home}, timeout=120
    )
    return _children_s() - before


def _children_s() -> float:
    """CPU time of all processes that this one has waited for."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def _environment() -> dict[str, str]:
    """With the program compiled, as the set-up leaves it, whatever this process was told about compiled files."""
    source = str(Path(familiar_connect.__file__).parent.parent)
    inherited = os.environ.get("PYTHONPATH")
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPATH": os.pathsep.join([source, *([inherited] if inherited else [])])}


def _run(*arguments: str) -> tuple[float, str]:
    """One fresh process: the CPU time it took from start to end, and what it printed."""
    before = _children_s()
    done = subprocess.run(
        [sys.executable, "-P", *arguments], capture_output=True, text=True, check=True, env=_environment(), timeout=60
    )
    return _children_s() - before, done.stdout


def rows(found: dict[str, Any]) -> list[Row]:
    bare, forbidden = found["interpreter"]["p50"], found["forbidden"]
    return [
        Row(
            name="import familiar_connect.cli, a whole process",
            value=f"{found['import']['p50']:.0f} ms of CPU (the interpreter alone {bare:.0f}; the import itself "
            f"{found['import_alone']['p50']:.0f}; {found['import']['count']} processes)",
            bar=f"< {IMPORT_MS:.0f} ms of CPU",
            ok=found["import"]["p50"] < IMPORT_MS,
        ),
        Row(
            name="familiar --help",
            value=f"{found['help']['p50']:.0f} ms of CPU (worst {found['help']['worst']:.0f})",
            bar=f"< {HELP_MS:.0f} ms of CPU",
            ok=found["help"]["p50"] < HELP_MS,
        ),
        Row(
            name="heavy libraries imported by either",
            value=(", ".join(forbidden) or "none")
            + f" ({found['modules_after_import']} modules after the import, {found['modules_after_help']} after help; "
            f"slow ones of the standard library: "
            f"{', '.join(name for name in found['heavy'] if name not in forbidden) or 'none'})",
            bar="none",
            ok=not forbidden,
        ),
        *(
            Row(
                name=f"familiar {name}",
                value=f"{found['verbs'][name]['p50']:.0f} ms of CPU (worst {found['verbs'][name]['worst']:.0f})",
                bar=f"< {bar:.0f} ms of CPU",
                ok=found["verbs"][name]["p50"] < bar,
            )
            for name, (_, bar) in VERB_CPU_MS.items()
        ),
    ]


def main(arguments: Sequence[str]) -> int:
    return run_part(arguments, title="startup", description=__doc__, measure=measure, rows=rows)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
