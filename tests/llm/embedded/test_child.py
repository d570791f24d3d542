"""The program in the child process, with a stand-in for the native library: it never outlives its parent."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from familiar_connect.llm.embedded import child

LIBRARY = """
import threading
from types import SimpleNamespace

def CommonParams():
    return SimpleNamespace(model=SimpleNamespace(), cpuparams=SimpleNamespace(), cpuparams_batch=SimpleNamespace())

class Server:
    listening_address = "http://127.0.0.1:1"

    def __init__(self, params):
        LOADING
"""
PARENT = """
import os, signal, sys
from familiar_connect.llm.embedded.process import ChildProcess

settings = {"weights": "", "window": 1, "threads": 1, "token": "", "cache_dir": ""}
process = ChildProcess(settings, (sys.executable, "-P", sys.argv[1]))
if WAIT:
    process.wait_ready(30)
holder = os.fork() if FORK else 0
if holder == 0 and FORK:
    signal.pause()
print(process.pid, holder, flush=True)
signal.pause()
"""

pytestmark = pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="the end of a stranger is watched with a pidfd")


def outlives_its_parent(folder: Path, *, loading: bool, is_input_held: bool) -> bool:
    """Start a parent with the child, kill the parent, and see whether the child is there after a good while."""
    (folder / "xllamacpp.py").write_text(LIBRARY.replace("LOADING", "threading.Event().wait()" if loading else "pass"))
    script = PARENT.replace("WAIT", str(not loading)).replace("FORK", str(is_input_held))
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *sys.path])}
    command = [sys.executable, "-c", script, str(child.__file__)]
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pid, holder = (int(word) for word in parent.stdout.readline().split())
        ended = os.pidfd_open(pid)
        parent.kill()
    outlived = not select.select([ended], [], [], 30)[0]
    os.close(ended)
    for left in [pid] * outlived + [holder] * is_input_held:
        os.kill(left, signal.SIGKILL)
    return outlived


def test_it_ends_when_its_parent_is_killed_while_the_model_loads(tmp_path: Path) -> None:
    """Loading a large file takes long, and nobody reads the input meanwhile but the thread that watches it."""
    assert not outlives_its_parent(tmp_path, loading=True, is_input_held=False)


def test_it_ends_with_its_parent_though_another_process_holds_its_input(tmp_path: Path) -> None:
    """A process the parent forked keeps the input open, so its end alone would never come."""
    assert not outlives_its_parent(tmp_path, loading=False, is_input_held=True)
