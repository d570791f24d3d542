"""The tests' own tools: a forked program is the program, nothing outlives a run, waiting costs no processor time."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from _pytest.assertion.rewrite import _read_pyc

from tests.fakes import program_process
from tests.fakes.collection import compile_tests, compiled_file, deal
from tests.fakes.extension_packages import install_extension, run_beside
from tests.fakes.leftovers import RUN, left_over, processes_of
from tests.fakes.model_server import stream_answer
from tests.fakes.program import make_home, model_endpoint, run_program
from tests.fakes.program_process import environment, start_program
from tests.fakes.quick import KINDS, kinds_of_file
from tests.fakes.terminal import TerminalSession
from tests.fakes.waiting import until, wait_until
from tools import browser, irc_server, launch

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("chat", "--plain"), "hello\nwhat is the plan\n"),
        (("list",), ""),
        (("config",), ""),
        (("no-such-verb",), ""),
        (("memory", "show", "self/description.md"), ""),
        (("--home", "elsewhere", "list"), ""),
    ],
)
def test_a_forked_program_says_and_does_what_a_cold_one_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], said: str
) -> None:
    """Output, errors and exit code are the same, also in a folder of its own."""
    with model_endpoint(stream_answer("Hi there: naïve ☕.")) as server:
        make_home(tmp_path / "home", server)
        warm = run_program(tmp_path / "home", *words, said=said, cwd=tmp_path)
        monkeypatch.setattr(program_process, "COLD", True)
        cold = run_program(tmp_path / "home", *words, said=said, cwd=tmp_path)

    assert (warm.returncode, warm.stdout, told(warm.stderr)) == (cold.returncode, cold.stdout, told(cold.stderr))


def test_a_forked_script_runs_as_a_cold_one_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Words, input, folder and exit code are its own, and it may kill itself."""
    script = "import os, sys; print(sys.argv, __name__, input(), os.getcwd(), os.environ['FAMILIAR_HOME']); sys.exit(5)"
    warm = run_program(tmp_path / "home", "a", "b c", said="typed\n", cwd=tmp_path, code=script)
    dies = run_program(tmp_path, code="import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    monkeypatch.setattr(program_process, "COLD", True)
    cold = run_program(tmp_path / "home", "a", "b c", said="typed\n", cwd=tmp_path, code=script)

    assert "['-c', 'a', 'b c'] __main__ typed" in cold.stdout
    assert (warm.returncode, warm.stdout, warm.stderr) == (cold.returncode, cold.stdout, cold.stderr)
    assert (cold.returncode, dies.returncode) == (5, -signal.SIGKILL)


def told(errors: str) -> list[str]:
    """What a person is told on standard error, without the log, which on a busy machine tells of what was slow."""
    return [line for line in errors.splitlines() if " WARNING familiar_connect." not in line]


def test_what_the_interpreter_reads_first_asks_for_a_cold_start(tmp_path: Path) -> None:
    """Encodings and warnings are settled before a fork, and so is a module that is loaded, which paths may replace.

    Where import paths only add a package of a stranger, the run is forked, and finds it.
    """
    (tmp_path / "yaml.py").write_text("raise SystemExit('another yaml')\n")
    added = tmp_path / "added"
    install_extension(added, "tea", "from familiar_connect.api import Extension\nextension = Extension(name='tea')\n")
    assert "tea" in run_beside(added, tmp_path / "home", "extension", "list").stdout
    nowhere = os.open(os.devnull, os.O_RDWR)
    try:
        started = [
            start_program(["--version"], (nowhere, nowhere, nowhere), environment(tmp_path, more))
            for more in (
                *({}, {"SOMETHING": "x"}, {"PYTHONPATH": str(added)}),
                *({"PYTHONPATH": str(tmp_path)}, {"LC_ALL": "C"}),
            )
        ]
        assert [process.wait(60) for process in started] == [0] * 5
    finally:
        os.close(nowhere)

    assert [isinstance(process, subprocess.Popen) for process in started] == [program_process.COLD] * 3 + [True, True]


def test_a_forked_program_has_its_own_terminal_and_hears_signals(tmp_path: Path) -> None:
    """Ctrl-C typed at its terminal reaches it, and a signal that ends it is its exit code."""
    with model_endpoint(stream_answer("Hi.")) as server:
        make_home(tmp_path, server)
        with TerminalSession(tmp_path, "chat") as session:
            session.wait_for_text("Ember")
            assert session.leave() == 0
        with TerminalSession(tmp_path, "chat") as session:
            session.wait_for_text("Ember")
            session.signal(signal.SIGKILL)
            assert session.wait_end() == -signal.SIGKILL


@pytest.mark.skipif(program_process.COLD, reason="nothing is forked")
def test_what_a_first_chat_loads_is_loaded_before_the_fork(tmp_path: Path) -> None:
    """The library of the embedder is most of what a chat in a new home costs: without this each would load it anew."""
    pytest.importorskip("onnxruntime", reason="there is none for this machine")
    assert run_program(tmp_path, "--version").returncode == 0
    loaded = Path(f"/proc/{program_process.warm_starter().pid}/maps").read_text()

    assert "/onnxruntime/" in loaded


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes are looked up in /proc")
def test_a_process_that_is_left_over_is_named_until_it_has_ended() -> None:
    """Also one in a session of its own; our own process is none."""
    run = f"test-{os.getpid()}"
    command = [sys.executable, "-c", "input()"]
    with subprocess.Popen(
        command, env={**os.environ, RUN: run}, stdin=subprocess.PIPE, start_new_session=True
    ) as process:
        wait_until(lambda: "input()" in processes_of(run).get(process.pid, ""), "the process is found")
        assert left_over(run, grace_s=0.0) == [f"{process.pid}: {' '.join(command)}"]
        process.kill()

    assert left_over(run) == []


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes are looked up in /proc")
def test_a_run_that_leaves_a_process_behind_fails_and_names_it(tmp_path: Path) -> None:
    """Though every test of it passed."""
    (tmp_path / "test_one.py").write_text(
        "import subprocess, sys\n"
        "def test_one():\n"
        "    child = subprocess.Popen(['sleep', '4321'], start_new_session=True)\n"
        "    print(child.pid, file=open('pid', 'w'))\n"
        "    while not open(f'/proc/{child.pid}/environ').read():\n"
        "        pass  # the system lets it start before it says with what\n"
        "    child.returncode = 0\n"
    )
    plugins = ["-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:hypothesispytest", "-p", "no:asyncio"]
    script = (
        "import sys, pytest, tests.fakes.leftovers as plugin\n"
        "plugin.GRACE_S = 0.0\n"
        "plugin.left_over.__defaults__ = (0.0,)\n"
        f"sys.exit(pytest.main([*{plugins!r}, 'test_one.py'], plugins=[plugin]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}", "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
        timeout=200,
    )
    os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)

    assert "1 passed" in done.stdout
    assert "processes that outlived the tests" in done.stdout
    assert "sleep 4321" in done.stdout
    assert done.returncode == pytest.ExitCode.TESTS_FAILED


async def test_waiting_for_something_outside_leaves_the_processor_alone() -> None:
    """What is awaited may need it."""
    happened = threading.Event()
    timer = threading.Timer(0.4, happened.set)
    before = time.process_time()
    timer.start()

    await until(happened.is_set)

    assert time.process_time() - before < 0.3
    await asyncio.to_thread(timer.join)


@pytest.mark.skipif(os.name == "nt", reason="a folder in memory is Linux's")
def test_tests_write_to_memory_where_there_is_room_and_nobody_chose_another_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder is closed to others; a link planted in its place is not followed."""
    monkeypatch.setattr(launch, "MEMORY_BYTES", 1)
    monkeypatch.delenv("TMPDIR", raising=False)
    folder = launch.memory_folder(str(tmp_path))

    assert folder is not None
    assert Path(folder).parent == tmp_path
    assert Path(folder).stat().st_mode & 0o077 == 0
    assert launch.memory_folder(str(tmp_path / "missing")) is None
    monkeypatch.setattr(launch, "MEMORY_BYTES", 1 << 60)
    assert launch.memory_folder(str(tmp_path)) is None
    monkeypatch.setattr(launch, "MEMORY_BYTES", 1)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert launch.memory_folder(str(tmp_path)) is None
    monkeypatch.delenv("TMPDIR")
    Path(folder).rmdir()
    Path(folder).symlink_to(tmp_path)
    assert launch.memory_folder(str(tmp_path)) is None


def test_checks_run_with_compiled_modules_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the surroundings say: the tests start the program very often."""
    kept: list[bool] = []

    def call(command: object, folder: str) -> int:
        kept.append("PYTHONDONTWRITEBYTECODE" in os.environ)
        return 0

    def begin(command: object, folder: str) -> subprocess.Popen[bytes]:
        call(command, folder)
        return subprocess.Popen([sys.executable, "-c", ""], stdout=subprocess.PIPE)

    monkeypatch.setattr(launch, "memory_folder", lambda: None)
    monkeypatch.setattr(launch, "say", lambda words: None)
    monkeypatch.setattr(launch, "call", call)
    monkeypatch.setattr(launch, "begin", begin)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")

    assert launch.run_checks("venv", []) == 0
    assert kept == [False] * len(launch.CHECKS)


@pytest.mark.parametrize(("last", "expected"), [("raise SystemExit('a wrong type')", 1), ("print('no fault')", 0)])
def test_types_are_checked_beside_the_tests_and_told_after_them(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], last: str, expected: int
) -> None:
    """The checking begins before the tests do, and what it finds fails the run as before."""
    told: list[str] = []
    begun: list[subprocess.Popen[bytes]] = []
    begin = launch.begin

    def begin_another(command: object, folder: str) -> subprocess.Popen[bytes]:
        begun.append(begin([sys.executable, "-c", last], folder))
        return begun[-1]

    monkeypatch.setattr(launch, "memory_folder", lambda: None)
    monkeypatch.setattr(launch, "say", told.append)
    monkeypatch.setattr(launch, "begin", begin_another)
    monkeypatch.setattr(launch, "call", lambda command, folder: 0 if begun else 5)

    assert launch.run_checks("venv", []) == expected
    assert [words.split(":")[0] for words in told[:3]] == ["== style", "== tests", "== types"]
    assert told[3] == ("== failed: types" if expected else "== all passed: style, tests, types")
    assert capsys.readouterr().out.strip() == ("a wrong type" if expected else "no fault")


def test_who_stops_the_tests_stops_what_runs_beside_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C ends the run at once, and nothing of it goes on."""
    begun: list[subprocess.Popen[bytes]] = []
    begin = launch.begin

    def begin_another(command: object, folder: str) -> subprocess.Popen[bytes]:
        begun.append(begin([sys.executable, "-c", "import signal; signal.pause()"], folder))
        return begun[-1]

    monkeypatch.setattr(launch, "memory_folder", lambda: None)
    monkeypatch.setattr(launch, "say", lambda words: None)
    monkeypatch.setattr(launch, "begin", begin_another)
    monkeypatch.setattr(launch, "call", lambda command, folder: 130)

    assert launch.run_checks("venv", []) == 130
    assert [process.returncode for process in begun] == [-signal.SIGKILL]


def test_test_files_are_compiled_before_the_workers_start_and_only_when_they_changed(
    tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    """Where pytest looks for them, and as it would itself; one that is no Python is left to it."""
    file, broken = tmp_path / "test_one.py", tmp_path / "test_two.py"
    file.write_text("def test_one(): assert 1 + 1 == 2\n")
    broken.write_text("def\n")

    assert compile_tests(pytestconfig, tmp_path) == [file, broken]
    code = _read_pyc(file, compiled_file(file))
    assert code is not None
    assert "@pytest_ar" in code.co_names
    assert compile_tests(pytestconfig, tmp_path) == [broken]


def test_what_takes_long_is_begun_first_by_every_worker(tmp_path: Path) -> None:
    """So that none waits for another at the end; the tests of a file stay together, and none is lost."""
    texts = {"a": "import subprocess\n", "b": "", "c": "import subprocess\n", "d": "", "e": ""}
    for name, text in texts.items():
        (tmp_path / f"test_{name}.py").write_text(text)
    items = [
        SimpleNamespace(path=tmp_path / f"test_{name}.py", name=f"{name}{number}")
        for name in texts
        for number in (1, 2)
    ]

    dealt = deal(items, 2)  # type: ignore[arg-type]

    assert [item.name for item in dealt] == ["a1", "a2", "b1", "b2", "e1", "e2", "c1", "c2", "d1", "d2"]


@pytest.mark.parametrize(
    ("is_ci", "there", "steps"),
    [(False, False, []), (True, True, []), (True, False, ["update", "install"])],
)
def test_a_browser_is_fetched_in_ci_alone_and_only_where_there_is_none(
    is_ci: bool, there: bool, steps: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Elsewhere the tests that need one are skipped and say what brings it."""
    ran: list[list[str]] = []
    monkeypatch.setattr(browser, "find_browser", lambda: "/usr/bin/chromium" if there else None)
    monkeypatch.setattr(browser, "installer", lambda: ["apt-get"])
    monkeypatch.setattr(browser, "run_quietly", lambda command: not ran.append(list(command)))  # type: ignore[func-returns-value]
    monkeypatch.setenv("CI", "1" if is_ci else "")
    browser.prepare_browser()

    assert [command[1] for command in ran] == steps


@pytest.mark.parametrize(
    ("is_ci", "there", "steps"),
    [(False, False, []), (True, True, []), (True, False, ["update", "install"])],
)
def test_a_server_of_irc_is_fetched_in_ci_alone_and_only_where_there_is_none(
    is_ci: bool, there: bool, steps: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the browser is: elsewhere the tests that need one are skipped."""
    ran: list[list[str]] = []
    monkeypatch.setattr(irc_server, "find_irc_server", lambda: "/usr/sbin/ngircd" if there else None)
    monkeypatch.setattr(irc_server, "installer", lambda: ["apt-get"])
    monkeypatch.setattr(irc_server, "run_quietly", lambda command: not ran.append(list(command)))  # type: ignore[func-returns-value]
    monkeypatch.setenv("CI", "1" if is_ci else "")
    irc_server.prepare_irc_server()

    assert [command[1] for command in ran] == steps


def test_the_quick_loop_prepares_no_browser_and_starts_a_worker_for_each_core(monkeypatch: pytest.MonkeyPatch) -> None:
    """`python3 run.py test --quick` is pytest alone, without what only the other tests need."""
    ran: list[list[str]] = []
    monkeypatch.setattr(launch, "memory_folder", lambda: None)
    monkeypatch.setattr(launch, "say", lambda words: None)
    monkeypatch.setattr(launch, "call", lambda command, folder: ran.append(list(command[2:])))
    monkeypatch.setattr(browser, "prepare_browser", lambda: ran.append(["browser"]))
    monkeypatch.setattr(irc_server, "prepare_irc_server", lambda: ran.append(["irc"]))

    assert launch.run_checks("venv", ["--quick"]) == 0
    assert ran == [["pytest", "-n", str(min(4, os.cpu_count() or 1)), "--dist", "worksteal", "--quick"]]


def test_the_kind_of_a_test_follows_from_its_place_and_its_helpers() -> None:
    """Nobody has to remember a marker, and `--quick` leaves out whatever has one."""
    tests = ROOT / "tests"

    assert kinds_of_file(tests / "platforms" / "web" / "test_browser_chat.py") >= {"browser", "process"}
    assert kinds_of_file(tests / "walks" / "test_first_question.py") >= {"walk"}
    assert kinds_of_file(tests / "benchmarks" / "test_turns_quick.py") >= {"benchmark"}
    assert kinds_of_file(tests / "test_suite.py") == {"process"}
    assert kinds_of_file(tests / "support" / "test_tokens.py") == frozenset()


def test_a_checkout_in_a_folder_named_like_one_of_ours_changes_no_kind(tmp_path: Path) -> None:
    """Only what lies between `tests` and the file tells."""
    file = tmp_path / "commands" / "test_one.py"
    file.parent.mkdir()
    file.write_text("def test_one(): pass\n")

    assert kinds_of_file(file) == frozenset()


def test_every_kind_is_a_marker_that_is_explained(pytestconfig: pytest.Config) -> None:
    """`pytest --markers` says what each means."""
    explained = {line.partition(":")[0] for line in pytestconfig.getini("markers")}

    assert set(KINDS) <= explained


STARTERS = """
import os, sys, pytest

@pytest.fixture(scope="module")
def started():
    os.system("true")

def test_in_a_fixture(started): pass
def test_by_itself(): os.system("true")
def test_of_nothing(started): pass
@pytest.mark.slow
def test_that_is_slow(): os.system("true")
@pytest.mark.process
def test_that_says_so(): os.system("true")
"""


def run_tests(folder: Path, text: str, *options: str, longest_s: float = 100.0) -> tuple[dict[str, str], str]:
    """What became of each test of *text*, run with our plugin alone, and all that was printed."""
    (folder / "test_one.py").write_text(text)
    (folder / "conftest.py").write_text("from tests.fakes.quick import add_option as pytest_addoption\n")
    (folder / "pytest.ini").write_text("[pytest]\nmarkers =\n" + "".join(f"    {kind}\n" for kind in KINDS))
    plugins = ["-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:hypothesispytest", "-p", "no:asyncio"]
    script = (
        "import sys, pytest, tests.fakes.quick as plugin\n"
        f"plugin.LONGEST_S = {longest_s}\n"
        f"sys.exit(pytest.main([*{plugins!r}, '-v', *{options!r}, 'test_one.py'], plugins=[plugin]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}", "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
        timeout=200,
    )
    found = re.findall(r"^test_one\.py::(\w+) ([A-Z]+)", done.stdout, re.MULTILINE)
    assert found, done.stdout + done.stderr
    return dict(found), done.stdout


def test_a_test_that_starts_a_process_and_does_not_say_so_fails(tmp_path: Path) -> None:
    """Also where a fixture does it; to be slow is not to say it."""
    became, said = run_tests(tmp_path, STARTERS)

    assert became == {
        "test_in_a_fixture": "ERROR",
        "test_by_itself": "ERROR",
        "test_of_nothing": "PASSED",
        "test_that_is_slow": "ERROR",
        "test_that_says_so": "PASSED",
    }
    assert "test_one.py::test_by_itself starts a process (os.system" in said


def test_the_quick_loop_has_nothing_marked_and_fails_where_a_test_takes_too_long(tmp_path: Path) -> None:
    """Of a test that takes its time the loop says how to leave it out."""
    marked = "".join(f"@pytest.mark.{kind}\ndef test_{kind}(): pass\n" for kind in KINDS)
    text = f"import pytest\n{marked}def test_one(): pass\ndef test_that_is_killed(): pass\n"

    assert run_tests(tmp_path, text, "--quick")[0] == {"test_one": "PASSED"}
    became, said = run_tests(tmp_path, text, "--quick", longest_s=0.0)
    assert became == {"test_one": "ERROR"}
    assert "mark it with `@pytest.mark.slow`" in said
    assert set(run_tests(tmp_path, text, longest_s=0.0)[0].values()) == {"PASSED"}


def test_a_file_of_which_nothing_is_quick_is_not_even_imported(tmp_path: Path) -> None:
    """What it needs may be large."""
    text = "import subprocess\nraise SystemExit('imported')\n"
    (tmp_path / "test_two.py").write_text(text)

    assert run_tests(tmp_path, "def test_one(): pass\n", "--quick", ".")[0] == {"test_one": "PASSED"}
