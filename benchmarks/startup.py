"""Start-up: what importing the command line and asking it for help cost, in fresh processes.

Medians over several processes each, the bare interpreter among them by turns, so that a busy machine
slows all alike. The heavy libraries must not be among the modules that were imported.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import familiar_connect
from benchmarks.table import Row, spread

IMPORT_MS, HELP_MS = 150.0, 300.0
ROUNDS, QUICK_ROUNDS = 15, 5
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
_TIMED = f"import time; began = time.perf_counter(); {_IMPORT}; print(time.perf_counter() - began)"
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
    }


def _run(*arguments: str) -> tuple[float, str]:
    """One fresh process: how long it took from start to end, and what it printed."""
    source = str(Path(familiar_connect.__file__).parent.parent)
    inherited = os.environ.get("PYTHONPATH")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([source, *([inherited] if inherited else [])])}
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-P", *arguments], capture_output=True, text=True, check=True, env=environment, timeout=60
    )
    return time.perf_counter() - began, done.stdout


def rows(found: dict[str, Any]) -> list[Row]:
    bare, forbidden = found["interpreter"]["p50"], found["forbidden"]
    return [
        Row(
            name="import familiar_connect.cli, a whole process",
            value=f"{found['import']['p50']:.0f} ms (the interpreter alone {bare:.0f}; the import itself "
            f"{found['import_alone']['p50']:.0f}; {found['import']['count']} processes)",
            bar=f"< {IMPORT_MS:.0f} ms",
            ok=found["import"]["p50"] < IMPORT_MS,
        ),
        Row(
            name="familiar --help",
            value=f"{found['help']['p50']:.0f} ms (worst {found['help']['worst']:.0f})",
            bar=f"< {HELP_MS:.0f} ms",
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
    ]
