"""The child that serves the embedded model: started, watched, mourned, ended. No model is loaded here."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import socket
import sys
from pathlib import Path
from typing import Any

import pytest

from familiar_connect.errors import ModelError, ModelSetupError
from familiar_connect.llm.embedded import weights
from familiar_connect.llm.embedded.server import EmbeddedServer
from familiar_connect.llm.embedded.weights import Weights, find_weights

pytestmark = pytest.mark.process

READY = """
import json, sys
settings = json.loads(sys.stdin.buffer.readline())
print(json.dumps({"address": "http://127.0.0.1:1"}), flush=True)
sys.stdin.buffer.read()
"""
ILLEGAL = "import os, signal, sys; sys.stdin.readline(); os.kill(os.getpid(), signal.SIGILL)"
NO_LIBRARY = """
import json, sys
sys.stdin.readline()
print(json.dumps({"problem": "library", "detail": "no such wheel"}), flush=True)
"""
COMPLAINS = "import sys; sys.stdin.readline(); print('out of memory', file=sys.stderr); sys.exit(9)"
NEVER_READY = "import sys; sys.stdin.buffer.read()"


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def served(script: str, tmp_path: Path, clock: Clock | None = None, cache_dir: Path | None = None) -> EmbeddedServer:
    """A server whose child runs *script* instead of a model."""
    file = tmp_path / "model.gguf"
    file.write_bytes(b"weights")
    return EmbeddedServer(
        cache_dir=cache_dir,
        find=lambda: Weights(path=file, runtime_version="1"),
        command=(sys.executable, "-c", script),
        clock=clock or Clock(),
    )


def kill_and_wait(server: EmbeddedServer) -> None:
    """End the child as a native crash would, and wait until it is gone."""
    pid = server.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)


async def test_it_starts_in_the_background_and_ends_when_closed(tmp_path: Path) -> None:
    """Its state tells where it stands; closing leaves no process."""
    server = served(READY, tmp_path)
    assert server.state == "off"
    server.start_in_background()
    assert server.state in ("starting", "ready")

    assert await server.ready() == "http://127.0.0.1:1"
    assert (server.state, server.started_s) == ("ready", 0.0)
    pid = server.pid
    assert pid is not None
    await server.aclose()
    assert (server.state, server.pid) == ("off", None)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_many_callers_get_one_child(tmp_path: Path) -> None:
    """Waiting together starts nothing twice; one who gives up does not spoil it for the rest."""
    server = served(READY, tmp_path)
    callers = [asyncio.create_task(server.ready()) for _ in range(5)]
    await asyncio.sleep(0)
    callers[0].cancel()
    addresses = await asyncio.gather(*callers[1:])
    pid = server.pid
    await server.ready()

    assert (set(addresses), server.pid) == ({"http://127.0.0.1:1"}, pid)
    await server.aclose()


async def test_a_dead_child_is_replaced_at_the_next_call(tmp_path: Path) -> None:
    """A crash costs one reply and no more."""
    server = served(READY, tmp_path)
    await server.ready()
    first = server.pid
    kill_and_wait(server)
    await server.ready()

    assert server.pid not in (None, first)
    await server.aclose()


async def test_a_child_that_keeps_dying_is_left_alone_for_a_while(tmp_path: Path) -> None:
    """Three deaths within a minute are enough; later it may be tried again."""
    clock = Clock()
    server = served(READY, tmp_path, clock)
    for _ in range(3):
        await server.ready()
        kill_and_wait(server)

    with pytest.raises(ModelSetupError, match="3 times within a minute"):
        await server.ready()
    assert server.state == "failed"
    clock.now = 61.0
    await server.ready()
    await server.aclose()


@pytest.mark.parametrize(
    ("script", "words"),
    [
        (ILLEGAL, "AVX2"),
        (NO_LIBRARY, "no such wheel.*familiar connect"),
        (COMPLAINS, "out of memory.*familiar connect"),
    ],
    ids=["illegal instruction", "no library", "complains"],
)
async def test_a_child_that_cannot_start_says_why(tmp_path: Path, script: str, words: str) -> None:
    """One sentence with the reason and the fix."""
    server = served(script, tmp_path)
    with pytest.raises(ModelSetupError, match=words):
        await server.ready()

    assert server.state == "failed"
    await server.aclose()


async def test_closing_while_it_starts_ends_the_child(tmp_path: Path) -> None:
    """Nobody waits for a model that is no longer wanted."""
    server = served(NEVER_READY, tmp_path)
    waiting = asyncio.create_task(server.ready())
    await asyncio.sleep(0)
    await server.aclose()

    with pytest.raises(ModelError, match="closed"):
        await waiting
    assert server.pid is None


async def test_nobody_hears_of_a_start_they_no_longer_wait_for(tmp_path: Path) -> None:
    """Leaving while it starts is no failure: nothing is left for the event loop to complain about."""
    complaints: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
    server = served(NEVER_READY, tmp_path)
    leaving, staying = asyncio.create_task(server.ready()), asyncio.create_task(server.ready())
    await asyncio.sleep(0)
    leaving.cancel()
    await asyncio.wait({leaving})
    await server.aclose()
    await asyncio.wait({staying})
    told = str(staying.exception())
    del leaving, staying  # the last to hold what came of the start
    gc.collect()

    assert (told, complaints) == ("The embedded model was closed while it started.", [])


async def test_closing_while_the_saved_cache_is_taken_up_keeps_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing is wrong with the file, and nothing is said."""
    loop = asyncio.get_running_loop()
    with socket.create_server(("127.0.0.1", 0)) as slots:
        slots.setblocking(False)
        address = f"http://127.0.0.1:{slots.getsockname()[1]}"
        server = served(READY.replace("http://127.0.0.1:1", address), tmp_path, cache_dir=tmp_path)
        saved = tmp_path / Weights(path=tmp_path / "model.gguf", runtime_version="1").cache_name("")
        saved.write_bytes(b"worked")
        waiting = asyncio.create_task(server.ready())
        asked, _ = await loop.sock_accept(slots)
        await server.aclose()
        asked.close()
        with pytest.raises(ModelError, match="closed"):
            await waiting

    assert saved.read_bytes() == b"worked"
    assert [record.message for record in caplog.records if record.levelno >= logging.WARNING] == []


async def test_the_last_client_to_close_ends_it(tmp_path: Path) -> None:
    """Slots come and go; the server stays while one of them is left."""
    server = served(READY, tmp_path)
    server.retain()
    server.retain()
    await server.ready()
    await server.release()
    assert server.pid is not None
    await server.release()

    assert server.pid is None


def test_it_serves_loop_after_loop(tmp_path: Path) -> None:
    """Built outside any loop, started in one, used in the next, closed without one."""
    server = served(READY, tmp_path)
    asyncio.run(server.ready())
    pid = server.pid
    asyncio.run(server.ready())

    assert server.pid == pid
    server.close()
    assert server.pid is None


async def test_work_ahead_gives_way_to_a_real_call(tmp_path: Path) -> None:
    """Guessing what comes next never delays what has come."""
    server = served(READY, tmp_path)
    begun = asyncio.Event()

    async def work() -> None:
        begun.set()
        await asyncio.Event().wait()

    ahead = asyncio.create_task(server.run_when_idle(work()))
    await begun.wait()
    with server.call():
        await server.cancel_idle_work()
        refused = await server.run_when_idle(work())

    assert (await ahead, refused) == (False, False)


async def test_work_ahead_that_nobody_disturbs_is_done(tmp_path: Path) -> None:
    """And said to be."""
    done: list[bool] = []

    async def work() -> None:
        done.append(True)

    assert await served(READY, tmp_path).run_when_idle(work())
    assert done == [True]


def test_missing_weights_name_every_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command that installs them, the way by hand, and another model."""
    monkeypatch.setattr(weights, "WEIGHTS_PACKAGE", "no_such_weights")
    monkeypatch.setattr(weights, "RUNTIME", "json")

    with pytest.raises(ModelSetupError, match=r"python3 run\.py.*familiar model get embedded.*familiar connect"):
        find_weights()


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is looked for without being loaded."""
    monkeypatch.setattr(weights, "RUNTIME", "no_such_library")

    with pytest.raises(ModelSetupError, match=r"no_such_library.*pip install xllamacpp"):
        find_weights()


def test_the_saved_cache_is_named_for_all_that_makes_it_fit(tmp_path: Path) -> None:
    """Other weights, another library or another key: another file."""
    small, large = tmp_path / "a.gguf", tmp_path / "sub" / "a.gguf"
    large.parent.mkdir()
    small.write_bytes(b"1")
    large.write_bytes(b"22")
    names = {
        Weights(path=small, runtime_version="1").cache_name(),
        Weights(path=large, runtime_version="1").cache_name(),
        Weights(path=small, runtime_version="2").cache_name(),
        Weights(path=small, runtime_version="1").cache_name("ember"),
    }

    assert len(names) == 4
