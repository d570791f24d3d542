"""What is destroyed or out of reach is told in one sentence by the real program, and `doctor` sees it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from familiar_connect.history.store import HistoryStore
from familiar_connect.memory.audit import AuditLog
from familiar_connect.memory.store import MemoryStore
from familiar_connect.support.free_memory import free_memory, is_out_of_memory
from tests.fakes.program import make_home, one_sentence, run_program
from tests.fakes.program_process import PROGRAM, environment
from tests.fakes.untrusted_server import untrusted_server


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A familiar with a note in two versions and something said."""
    root = make_home(tmp_path / "home")
    store = MemoryStore(root / "memory", audit_dir=root / "audit")
    for text in ("one\n", "two\nlines\n"):
        store.write_file("notes.md", text, source="test")
    assert store.audit is not None
    store.audit.close()
    history = HistoryStore(root / "history.db")
    history.append_turn(familiar_id="ember", channel_id=1, role="user", content="hi")
    history.close()
    return root


def familiar(root: Path, *words: str, said: str = "") -> subprocess.CompletedProcess[str]:
    return run_program(root.parent.parent, *words, said=said)


def complaints(root: Path, *more: str) -> str:
    """What doctor finds bad, which it must."""
    done = familiar(root, "doctor", "--all", *more)
    assert "Traceback" not in done.stdout + done.stderr
    bad = [line for line in done.stdout.splitlines() if line.startswith("✗")]
    assert (done.returncode, bool(bad)) == (1, True), done.stdout
    return "\n".join(bad)


def test_a_sound_familiar_gives_doctor_nothing_to_say(root: Path) -> None:
    """The checks below find something because it is there."""
    done = familiar(root, "doctor", "--all")

    assert "✗" not in done.stdout
    assert re.search(r"✓ versions .* every earlier version is there", done.stdout)


def test_a_bad_hash_in_the_log_costs_one_line(root: Path) -> None:
    """The other versions are told, and the end says what is wrong."""
    log = root / "audit" / "log.jsonl"
    name = AuditLog(root / "audit").last_hash("notes.md")
    assert name is not None
    log.write_text(log.read_text().replace(name, "zz" + name[2:40]))

    done = familiar(root, "memory", "log", "notes.md")

    assert "is not the hash of a text" in one_sentence(done)
    assert done.returncode == 1
    assert [("lost" in line) for line in done.stdout.splitlines() if line.startswith("v")][:2] == [False, True]
    for words in (("diff", "notes.md"), ("blame", "notes.md"), ("why", "notes.md"), ("restore", "notes.md", "2")):
        assert "Traceback" not in familiar(root, "memory", *words).stderr
    assert "is not the hash of a text" in complaints(root, "--offline")


def test_a_damaged_line_in_the_log_is_found(root: Path) -> None:
    """Half a line between whole ones."""
    log = root / "audit" / "log.jsonl"
    log.write_bytes(log.read_bytes() + b'{"time":"2026-\n')

    assert "Traceback" not in familiar(root, "memory", "log").stderr
    assert "log.jsonl has 1 damaged lines: restore a copy of it" in complaints(root, "--offline")


@pytest.mark.parametrize("how", ["noise", "emptied", "deleted"])
def test_a_destroyed_store_of_texts_is_told(root: Path, how: str) -> None:
    """Nothing is shown as if it had never changed, and no empty store takes its place."""
    pack = root / "audit" / "objects.db"
    for file in pack.parent.glob("objects.db*"):
        file.unlink()
    if how != "deleted":
        pack.write_bytes(b"\x17noise" * 2000 if how == "noise" else b"")

    done = familiar(root, "memory", "log", "notes.md", "--json")

    assert str(root / "audit") in one_sentence(done)
    assert done.returncode == 1
    assert {row["added"] for row in json.loads(done.stdout)} == {None}
    assert str(root / "audit") in one_sentence(familiar(root, "memory", "diff", "notes.md"))
    assert str(root / "audit") in complaints(root, "--offline")
    assert pack.exists() == (how != "deleted")
    assert how != "emptied" or pack.stat().st_size == 0


def test_an_emptied_history_never_becomes_a_new_one(root: Path) -> None:
    """The file is left as it is until its owner puts a copy back or deletes it."""
    history = root / "history.db"
    for file in root.glob("history.db-*"):
        file.unlink()
    history.write_bytes(b"")

    said = one_sentence(familiar(root, "chat", said="hello\n"))

    assert f"{history} is empty (0 bytes)" in said
    assert "put back a copy of it, or delete the file to start a new one" in said
    assert f"{history} is empty" in complaints(root, "--offline")
    assert "is empty (0 bytes)" in familiar(root, "list").stdout
    assert history.stat().st_size == 0
    history.unlink()
    assert "nothing said yet" in familiar(root, "doctor", "--all", "--offline").stdout


def test_a_certificate_nobody_signed_is_told(tmp_path: Path) -> None:
    """By the chat that meets it and by doctor, with what to do."""
    with untrusted_server(tmp_path) as server:
        root = make_home(tmp_path / "home", server)  # type: ignore[arg-type]

        said = familiar(root, "chat", said="hello\n")
        found = complaints(root, "--offline")
        asked = complaints(root)

    assert "Traceback" not in said.stdout + said.stderr
    assert re.search(r"certificate of https://127\.0\.0\.1:\d+/v1 cannot be trusted \(self", said.stdout + said.stderr)
    assert "it cannot be trusted (self" in found
    assert "SSL_CERT_FILE" in found
    assert "cannot be trusted (self" in asked


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux bounds memory so")
@pytest.mark.parametrize("kilobytes", [150_000, 300_000])
def test_too_little_memory_ends_in_a_sentence(root: Path, kilobytes: int) -> None:
    """Whether it is met at once or on the way."""

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = ["sh", "-c", f'ulimit -v {kilobytes}; exec "$@"', "sh", *PROGRAM, *words]
        return subprocess.run(
            command,
            input="hello\n",
            env=environment(root.parent.parent),
            capture_output=True,
            text=True,
            timeout=400,
            check=False,
        )

    done = run("chat")
    assert one_sentence(done).startswith("familiar: there is too little memory to go on")
    assert done.returncode == 1
    checked = run("doctor", "--all")
    assert "Traceback" not in checked.stdout + checked.stderr
    assert re.search(r"[✗!] ram .*(too little memory|too little for the embedded)", checked.stdout)


def test_want_of_memory_is_known_in_any_words() -> None:
    """Libraries say it each in their own way; other failures are none of it."""
    behind = RuntimeError("it failed")
    behind.__cause__ = RuntimeError("Exception during initialization: std::bad_alloc")

    assert is_out_of_memory(MemoryError())
    assert is_out_of_memory(RuntimeError("can't start new thread"))
    assert is_out_of_memory(behind)
    assert not is_out_of_memory(ValueError("no"))
    assert (free_memory() or 1) > 0
