"""The real program in a child process, and a model endpoint for it in a thread of ours."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import familiar_connect
from familiar_connect.bootstrap.starter import make_starter
from tests.fakes.model_server import Answer, ModelServer

SRC = Path(familiar_connect.__file__).parent.parent
PROGRAM = [sys.executable, "-m", "familiar_connect"]


def environment(home: Path | str, more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Ours, without what would lead the program to another home, familiar or account."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("FAMILIAR_", "OPENROUTER_"))}
    kept.pop("NO_COLOR", None)
    paths = os.pathsep.join([*((more or {}).get("PYTHONPATH", "").split(os.pathsep)), str(SRC)]).strip(os.pathsep)
    ours = {"FAMILIAR_HOME": str(home), "PYTHONWARNINGS": "", "LC_ALL": "C.UTF-8"}
    return {**kept, **ours, **(more or {}), "PYTHONPATH": paths}


def run_program(
    home: Path | str,
    *words: str,
    said: str | bytes = "",
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    timeout_s: float = 400.0,
) -> subprocess.CompletedProcess[str]:
    """Run `familiar WORDS` to its end, with *said* on its standard input and no terminal anywhere."""
    done = subprocess.run(
        [*PROGRAM, *words],
        input=said.encode() if isinstance(said, str) else said,
        capture_output=True,
        env=environment(home, env),
        cwd=cwd,
        timeout=timeout_s,
        start_new_session=True,
        check=False,
    )
    return subprocess.CompletedProcess(
        done.args, done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
    )


def one_sentence(done: subprocess.CompletedProcess[str]) -> str:
    """What the program said about a mistake, which must be one plain line and no traceback."""
    assert "Traceback" not in done.stderr + done.stdout, done.stderr
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    assert lines, "nothing was said"
    return lines[-1]


@contextmanager
def model_endpoint(*script: Answer) -> Iterator[ModelServer]:
    """A model endpoint on loopback that lives beside blocking test code."""
    loop = asyncio.new_event_loop()
    server = ModelServer(list(script))
    thread = threading.Thread(target=loop.run_forever, name="model-server", daemon=True)
    thread.start()
    asyncio.run_coroutine_threadsafe(server.__aenter__(), loop).result(10)
    try:
        yield server
    finally:
        asyncio.run_coroutine_threadsafe(server.__aexit__(), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()


def make_home(path: Path, server: ModelServer | None = None, *, model: str = "test-model") -> Path:
    """A home with Ember in it, whose replies come from *server* where there is one; the familiar's folder.

    The other slots stay on the embedded model, which is never asked for side work, so every request is a reply's.
    """
    root = make_starter(path, "ember")
    if server is not None:
        settings = root / "character.toml"
        slot = f'\n[llm.main_prose]\nmodel = "{model}"\nbase_url = "{server.base_url}"\n'
        settings.write_text(settings.read_text(encoding="utf-8") + slot, encoding="utf-8")
    return root
