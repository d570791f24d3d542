"""No word leaves unasked: every verb, alone with the loopback in a user's folder that is not ours."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from familiar_connect.memory.index import minilm
from familiar_connect.support.library_telemetry import TELEMETRY_OFF
from tests.fakes.every_verb import STAYING, Place, list_calls, list_verbs
from tests.fakes.program_process import SRC
from tests.fakes.sealed_room import why_not_sealed

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def _sealable() -> None:
    """A machine that can seal a process off; the build machine must."""
    if (reason := why_not_sealed()) is not None:
        assert "CI" not in os.environ, reason
        pytest.skip(reason)


BUILD_MACHINE = ("CI", "TF_BUILD", "GITHUB_ACTIONS", "GITLAB_CI", "TRAVIS", "JENKINS_URL", "TEAMCITY_VERSION")
"""Where one of these is set, libraries take the computer for nobody's and keep quiet by themselves."""


def as_at_home() -> dict[str, str]:
    """Our surroundings without what says that this is a build machine."""
    return {name: value for name, value in os.environ.items() if name not in BUILD_MACHINE}


def run_module(name: str, *words: str, more: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """A Python of ours, to its end."""
    env = {**as_at_home(), "PYTHONPATH": f"{SRC}{os.pathsep}{ROOT}", **(more or {})}
    command = [sys.executable, "-m", name, *words]
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, encoding="utf-8", check=False, timeout=900)


@pytest.mark.usefixtures("_sealable")
def test_every_verb_looks_nothing_up_connects_nowhere_and_writes_only_into_its_home(tmp_path: Path) -> None:
    """Seen by the kernel, so native libraries count; what is made for a moment is gone at the end."""
    done = run_module("tests.fakes.every_verb", str(tmp_path))
    assert done.returncode == 0, done.stderr

    facts = [json.loads(line) for line in done.stdout.splitlines()]
    assert {fact["verb"] for fact in facts} == {*list_verbs(), *STAYING}, (
        "a verb without a call in tests/fakes/every_verb.py"
    )
    for fact in facts:
        told = (fact["words"], fact["printed"])
        assert fact["lookups"] == [], told
        assert fact["connections"] == [], told
        assert fact["outside"] == [], told
        assert fact["left"] == [], told
    needs = {call.words: call.needs for call in list_calls(Place(tmp_path, ""))}
    for fact in facts:
        needed = needs.get(tuple(fact["words"]), "")
        assert fact["code"] == 0 or (needed and find_spec(needed) is None), (fact["words"], fact["printed"])


LOUD = """
import ctypes, socket, subprocess, sys, threading
from pathlib import Path
from tests.fakes.sealed_room import SealedRoom
room = SealedRoom(Path(sys.argv[1]))
def ask(family, address):
    with socket.socket(family) as caller:
        caller.settimeout(0.2)
        try:
            caller.connect(address)
        except OSError:
            pass
        return 0
ask(socket.AF_INET, ("192.0.2.7", 443))
ask(socket.AF_INET6, ("2001:db8::7", 443))
ctypes.CDLL(None).gethostbyname(b"somebody.example")
subprocess.run(["/bin/sh", "-c", "echo x > " + sys.argv[1] + "/written"])
print(room.report())
print(room.report())
"""


@pytest.mark.usefixtures("_sealable")
def test_the_room_sees_what_native_code_asks_connects_to_and_writes(tmp_path: Path) -> None:
    """Otherwise an empty list would mean nothing."""
    done = run_code(LOUD, tmp_path)
    seen, after = done.stdout.splitlines()

    assert "somebody.example" in seen
    assert "192.0.2.7 port 443" in seen
    assert "2001:db8::7 port 443" in seen
    assert str(tmp_path / "written") in seen
    assert after == "RoomReport(lookups=(), connections=(), written=())"


EMBED = """
import os, sys
import {first}
import onnxruntime
onnxruntime.InferenceSession({weights!r}, providers=["CPUExecutionProvider"])
"""


@pytest.mark.skipif(minilm.why_unavailable() is not None, reason="there is no onnxruntime here")
@pytest.mark.parametrize(("first", "is_quiet"), [("familiar_connect", True), ("sys", False)])
def test_onnxruntime_keeps_no_number_of_this_computer_once_our_package_is_loaded(
    tmp_path: Path, first: str, is_quiet: bool
) -> None:
    """By itself it does, in the user's cache, and that is how we know that this looks in the right place."""
    code = EMBED.format(first=first, weights=str(minilm.weights_path()))
    quiet = dict.fromkeys(TELEMETRY_OFF, "")
    user = {"HOME": str(tmp_path), "TMPDIR": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)}
    done = run_code(code, tmp_path, {**quiet, **user})

    assert done.returncode == 0, done.stderr
    assert (list(tmp_path.rglob("deviceid")) == []) is is_quiet or not sys.platform.startswith("linux")


def run_code(code: str, folder: Path, more: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    env = {**as_at_home(), "PYTHONPATH": f"{SRC}{os.pathsep}{ROOT}", **(more or {})}
    command = [sys.executable, "-c", code, str(folder)]
    return subprocess.run(command, env=env, capture_output=True, encoding="utf-8", check=False, timeout=300)


def test_child_processes_inherit_that_telemetry_is_off(tmp_path: Path) -> None:
    """Also where the user's own settings say otherwise."""
    code = "import os, subprocess, sys, familiar_connect; subprocess.run(['env'])"
    done = run_code(code, tmp_path, dict.fromkeys(TELEMETRY_OFF, "0"))

    assert {f"{name}={value}" for name, value in TELEMETRY_OFF.items()} <= set(done.stdout.splitlines())
