"""The set-up command as a stranger meets it: real processes, a small checkout, packages from a folder."""

from __future__ import annotations

import ast
import contextlib
import hashlib
import io
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tools.environment import say
from tools.installer import (
    MARKERS,
    Progress,
    count_new_packages,
    explain,
    packages_in,
    pinned_packages,
    site_packages,
)

ROOT = Path(__file__).resolve().parents[2]
STAND_IN = """\
import os, sys
import wisp
print("program", wisp.WORD, *sys.argv[1:])
print("lines", *sys.stdin.read().split())
sys.exit(int(os.environ.get("STAND_IN_EXIT", "0")))
"""

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the stand-in checkout is driven with POSIX signals and paths")


@dataclass(frozen=True, kw_only=True)
class Checkout:
    """A small copy of the repository with a stand-in program and one package, `wisp`, in a folder of wheels."""

    root: Path
    wheels: Path

    @property
    def venv(self) -> Path:
        return self.root / ".venv"

    @property
    def mark(self) -> Path:
        return self.venv / ".familiar-lock"

    def environment(self, **more: str) -> dict[str, str]:
        foreign = ("PIP_", "UV_", "FAMILIAR_", "PYTHONPATH")
        kept = {key: value for key, value in os.environ.items() if not key.startswith(foreign)}
        pip = {"PIP_CONFIG_FILE": os.devnull, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(self.wheels)}
        return {key: value for key, value in {**kept, **pip, "PIP_RETRIES": "0", **more}.items() if value}

    def begin(self, *arguments: str, **more: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, str(self.root / "run.py"), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self.environment(**more),
        )

    def run(self, *arguments: str, said: str = "", **more: str) -> subprocess.CompletedProcess[str]:
        process = self.begin(*arguments, **more)
        out, err = process.communicate(said, timeout=400)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def make_checkout(root: Path, wheels: Path) -> Checkout:
    shutil.copytree(ROOT / "tools", root / "tools", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "run.py", root)
    program = root / "src" / "familiar_connect"
    program.mkdir(parents=True)
    (program / "__init__.py").touch()
    (program / "__main__.py").write_text(STAND_IN)
    wheel = make_wheel(wheels)
    pin = f"wisp==1.0 \\\n    --hash=sha256:{hashlib.sha256(wheel.read_bytes()).hexdigest()}\n"
    (root / "requirements.lock").write_text(pin)
    (root / "requirements-dev.lock").write_text(pin)
    return Checkout(root=root, wheels=wheels)


def make_wheel(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    wheel = folder / "wisp-1.0-py3-none-any.whl"
    about = "wisp-1.0.dist-info"
    files = {
        "wisp.py": "WORD = 'glimmers'\n",
        f"{about}/METADATA": "Metadata-Version: 2.1\nName: wisp\nVersion: 1.0\n",
        f"{about}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{name},,\n" for name in [*files, f"{about}/RECORD"])
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, text in {**files, f"{about}/RECORD": record}.items():
            archive.writestr(name, text)
    return wheel


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    """A checkout nobody has set up yet."""
    return make_checkout(tmp_path / "a checkout", tmp_path / "wheels")


@dataclass(frozen=True, kw_only=True)
class FirstStarts:
    """A checkout set up by two starts at the same moment, and what each of them printed."""

    checkout: Checkout
    codes: tuple[int, int]
    said: tuple[str, str]
    is_compiled: bool
    """Whether the program was compiled by then."""


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> FirstStarts:
    """Two first starts at once; their environment serves every test that only reads it."""
    folder = tmp_path_factory.mktemp("started")
    fresh = make_checkout(folder / "a checkout", folder / "wheels")
    keep_none = {"PYTHONDONTWRITEBYTECODE": "1"}
    one, two = fresh.begin("--setup-only", **keep_none), fresh.begin("--setup-only", **keep_none)
    said = (one.communicate(timeout=400)[1], two.communicate(timeout=90)[1])
    is_compiled = (fresh.root / "src" / "familiar_connect" / "__pycache__").is_dir()
    return FirstStarts(checkout=fresh, codes=(one.returncode, two.returncode), said=said, is_compiled=is_compiled)


def test_two_first_starts_at_once_set_up_once(started: FirstStarts) -> None:
    """Of two starts at the same moment one installs, the other waits, and both are ready."""
    setting_up = [text for text in started.said if "Setting up Familiar Connect" in text]

    assert started.codes == (0, 0), started.said
    assert len(setting_up) == 1
    assert "fetching 1/1 wisp" in setting_up[0]


def test_the_program_is_compiled_once_and_for_all(started: FirstStarts) -> None:
    """Also where Python was told to keep nothing it compiles: every start would take twice as long."""
    assert started.is_compiled


def test_without_arguments_it_starts_a_chat(started: FirstStarts) -> None:
    """`python3 run.py` is `familiar chat`, and what is piped in reaches it."""
    done = started.checkout.run(said="hello there")

    assert done.stdout.splitlines() == ["program glimmers chat", "lines hello there"]
    assert done.returncode == 0


def test_a_verb_passes_through_with_its_exit_code(started: FirstStarts) -> None:
    """Arguments and exit code are the program's own."""
    done = started.checkout.run("memory", "list", "--json", STAND_IN_EXIT="3")

    assert done.stdout.splitlines()[0] == "program glimmers memory list --json"
    assert done.returncode == 3


@pytest.mark.parametrize("flag", ["-h", "--version"])
def test_help_and_version_are_the_programs(started: FirstStarts, flag: str) -> None:
    """Flags of the program are not taken away from it."""
    assert started.checkout.run(flag).stdout.splitlines()[0] == f"program glimmers {flag}"


def test_a_warm_start_does_nothing_of_its_own(started: FirstStarts) -> None:
    """When all is ready, run.py says nothing, installs nothing and loads nothing that could."""
    more = {"PYTHONPROFILEIMPORTTIME": "1", "PIP_FIND_LINKS": ""}
    loaded = [line.rsplit("|", 1)[-1].strip() for line in started.checkout.run("list", **more).stderr.splitlines()]
    quiet = started.checkout.run("list", PIP_FIND_LINKS="")

    assert {"tools.launch", "tools.environment"} <= set(loaded)
    assert not {"tools.installer", "subprocess", "tempfile"} & set(loaded)
    assert quiet.stderr == ""


@pytest.mark.parametrize("name", ["familiar", "familiar-connect"])
def test_the_environment_has_the_commands(started: FirstStarts, name: str, tmp_path: Path) -> None:
    """The console commands work from any folder, whatever lies in it and however the checkout's path is spelt."""
    (tmp_path / "wisp.py").write_text("raise SystemExit('the wrong wisp')")
    command = [str(started.checkout.venv / "bin" / name), "list"]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env=started.checkout.environment(),
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )

    assert done.stdout.splitlines()[0] == "program glimmers list", done.stderr


@pytest.mark.parametrize("key", ["python", "environment", "source", "packages"])
def test_an_environment_for_something_else_is_not_ready(started: FirstStarts, key: str, tmp_path: Path) -> None:
    """Another Python, another place, a moved checkout or other pins: each is noticed."""
    there = started.checkout
    probe = "import sys; sys.path.insert(0, sys.argv[1]); from tools.environment import *; "
    probe += "import tools.environment as it; it.MARK = sys.argv[2]; print(is_ready(sys.argv[3], testing=False))"
    lines = there.mark.read_text().splitlines()
    changed = tmp_path / "mark"
    answers = []
    for text in (lines, [f"{key} other" if line.startswith(key + " ") else line for line in lines]):
        changed.write_text("\n".join(text))
        command = [sys.executable, "-c", probe, str(there.root), str(changed), str(there.venv)]
        answers.append(subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip())

    assert answers == ["True", "False"]


def test_offline_gives_a_sentence_and_leaves_nothing_believed(checkout: Checkout) -> None:
    """With no network the first start ends with the fix, and the environment does not count as complete."""
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        dead = f"http://127.0.0.1:{closed.getsockname()[1]}/"
        away = {"PIP_NO_INDEX": "", "PIP_FIND_LINKS": "", "PIP_INDEX_URL": dead, "PIP_RETRIES": "1"}
        done = checkout.run("--setup-only", **away)

    assert done.returncode == 1
    assert "run again when online; nothing is half-installed" in done.stderr.splitlines()[-1]
    assert not checkout.mark.exists()


@pytest.fixture
def silent_index() -> Iterator[socket.socket]:
    """A package index that takes calls and never answers."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        listener.settimeout(180)
        yield listener


@pytest.fixture
def _heeded_ctrl_c() -> Iterator[None]:
    """Ctrl-C means what it does at a terminal; a shell that starts the tests in the background makes it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("_heeded_ctrl_c")
@pytest.mark.timeout(900)
def test_an_interrupted_set_up_is_made_again(checkout: Checkout, silent_index: socket.socket) -> None:
    """Ctrl-C in the middle of an install ends with 130 and no complete mark; the next start finishes the work."""
    address = f"http://127.0.0.1:{silent_index.getsockname()[1]}/"
    first = checkout.begin("--setup-only", PIP_NO_INDEX="", PIP_FIND_LINKS="", PIP_INDEX_URL=address)
    connection, _ = silent_index.accept()
    first.send_signal(signal.SIGINT)
    words = first.communicate(timeout=400)[1]
    connection.close()
    believed = checkout.mark.exists()
    second = checkout.run("list")

    assert (first.returncode, believed) == (130, False), words
    assert "nothing half-installed is ever used" in words
    assert "Setting up Familiar Connect" in second.stderr
    assert second.stdout.startswith("program glimmers list")


def test_a_python_without_venv_gets_the_fix(checkout: Checkout, tmp_path: Path) -> None:
    """Where environments cannot be made, the sentence says which package brings that."""
    (tmp_path / "venv.py").write_text("raise SystemExit('ensurepip is not available')")
    done = checkout.run("--setup-only", PYTHONPATH=str(tmp_path))

    assert done.returncode == 1
    assert "cannot make a virtual environment: install " in done.stderr
    assert "ensurepip is not available" in done.stderr


def test_a_folder_of_something_else_is_left_alone(checkout: Checkout, tmp_path: Path) -> None:
    """A folder that holds other things is refused by name and keeps exactly what it held."""
    folder = tmp_path / "letters"
    folder.mkdir()
    (folder / "dear.txt").write_text("friend")
    done = checkout.run("--setup-only", FAMILIAR_VENV=str(folder))

    assert done.returncode == 1
    assert f"{folder} was not made by run.py" in done.stderr
    assert [path.name for path in folder.iterdir()] == ["dear.txt"]


def test_a_place_that_takes_no_files_gets_the_fix(checkout: Checkout, tmp_path: Path) -> None:
    """Where the environment cannot be written, the sentence names the place and the way out."""
    (tmp_path / "file").touch()
    done = checkout.run("--setup-only", FAMILIAR_VENV=str(tmp_path / "file" / "venv"))

    assert done.returncode == 1
    assert "cannot be written" in done.stderr
    assert "FAMILIAR_VENV" in done.stderr


def test_an_incomplete_checkout_is_named(checkout: Checkout) -> None:
    """A missing lock is one sentence with its path, not a traceback."""
    (checkout.root / "requirements.lock").unlink()
    done = checkout.run()

    assert done.returncode == 1
    assert done.stderr.startswith(str(checkout.root / "requirements.lock"))
    assert len(done.stderr.splitlines()) == 1


def test_an_old_python_gets_one_sentence() -> None:
    """The found and the needed version stand in the sentence, and the exit code is 1."""
    script = str(ROOT / "run.py")
    pretend = "import sys; sys.version_info = (3, 8, 1, 'final', 0); p = sys.argv[1]; "
    pretend += "exec(compile(open(p).read(), p, 'exec'), {'__name__': '__main__', '__file__': p})"
    done = subprocess.run([sys.executable, "-c", pretend, script], capture_output=True, text=True, check=False)

    assert done.returncode == 1
    assert "needs Python 3.11 or newer, and this is Python 3.8.1" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_an_old_python_can_read_the_script() -> None:
    """The script uses no syntax that an old Python would stumble over before it reaches the sentence."""
    tree = ast.parse((ROOT / "run.py").read_text(encoding="utf-8"), feature_version=(3, 4))

    assert [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr | ast.AnnAssign)] == []


def test_old_pythons_at_hand_read_the_script() -> None:
    """Every old Python this machine has prints the sentence; none meets a syntax error."""
    said = {}
    for name in ("python2.7", "python3.6", "python3.8", "python3.10"):
        with contextlib.suppress(OSError):
            if subprocess.run([name, "-c", ""], capture_output=True, check=False).returncode == 0:
                done = subprocess.run([name, str(ROOT / "run.py")], capture_output=True, text=True, check=False)
                said[name] = (done.returncode, done.stderr)

    for name, (code, sentence) in said.items():
        assert code == 1
        assert sentence.startswith("Familiar Connect needs Python 3.11 or newer, and this is Python " + name[6:])


def test_the_script_keeps_to_old_syntax() -> None:
    """run.py is plain ASCII and parses as the oldest grammar at hand."""
    source = (ROOT / "run.py").read_bytes().decode("ascii")

    assert ast.parse(source, feature_version=(3, 4))
    assert not [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.JoinedStr | ast.AnnAssign)]


@pytest.mark.parametrize(
    ("words", "meaning"),
    [
        ("NewConnectionError('<x>: Failed to establish a new connection: [Errno 111]')\nERROR: No matching", "online"),
        ("error: Request failed after 3 retries\n  cause: error sending request for url", "online"),
        ("ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device", "disk is full"),
        ("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.", "not the one we pinned"),
        ("SSLError(SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED]", "certificate is not trusted"),
        ("ERROR: No matching distribution found for google-re2==1.1.20251105", "no ready-made google-re2 for Python"),
        ("Because google-re2==1.1 has no usable wheels and you require", "no ready-made google-re2 for Python"),
    ],
)
def test_what_an_installer_says_becomes_a_sentence(words: str, meaning: str) -> None:
    """Each known failure of pip and uv has its own sentence."""
    assert meaning in (explain(words) or "")


def test_new_words_of_an_installer_stay_its_own() -> None:
    """A failure we do not know is not explained away."""
    assert explain("ERROR: the moon is in the wrong house") is None


def test_progress_counts_packages_line_by_line() -> None:
    """Away from a terminal each package is one plain line, a large one with its size; what is there is no news."""
    out = io.StringIO()
    progress = Progress(4, out, done=1)
    for line in (
        "Ignoring colorama: markers 'sys_platform == \"win32\"' don't match your environment\n",
        "Requirement already satisfied: h11==0.16.0 in /venv (from -r requirements.lock (line 7)) (0.16.0)\n",
        "Collecting anyio==4.16.0 (from -r requirements.lock (line 1))\n",
        "  Downloading anyio-4.16.0-py3-none-any.whl (134 kB)\n",
        "Processing /wheels/rich-15.0.0-py3-none-any.whl (from -r requirements.lock (line 86))\n",
        "Collecting xllamacpp==1.0 (from -r requirements.lock (line 99))\n",
        "Installing collected packages: xllamacpp, anyio, rich\n",
    ):
        progress.hear(line)

    assert out.getvalue().splitlines() == [
        "  fetching 2/4 anyio",
        "  fetching 3/4 rich",
        "  fetching 4/4 xllamacpp",
        "  unpacking 3 packages",
    ]


def test_what_uv_names_is_not_counted() -> None:
    """It names the large packages alone, so a number would never reach its end."""
    out = io.StringIO()
    progress = Progress(7, out)
    for line in ("Downloading xllamacpp (31.3MiB)\n", " Downloaded xllamacpp\n", "Prepared 4 packages in 2.1s\n"):
        progress.hear(line)

    assert out.getvalue().splitlines() == ["  fetching xllamacpp (31.3MiB)", "  unpacking 4 packages"]


def test_the_time_left_never_grows() -> None:
    """A slow stretch shortens no promise, and the last seconds are not told."""
    out, now = io.StringIO(), [0.0]
    progress = Progress(9, out, megabytes=200, clock=lambda: now[0])
    for moment, size in ((0.0, 50), (10.0, 50), (40.0, 50), (70.0, 30)):
        now[0] = moment
        progress.hear("Collecting a==1 (from x)\n")
        progress.hear(f"  Downloading a-1-py3-none-any.whl ({size}.0 MB)\n")

    told = [int(each) for each in re.findall(r"about (\d+) s left", out.getvalue())]
    assert told[0] == 30
    assert told == sorted(told, reverse=True)
    assert "min left" not in out.getvalue()


def test_progress_tells_how_long_the_rest_may_take() -> None:
    """From the megabytes that came so far, once there are some; nothing where nobody knows how much there is."""
    out, now = io.StringIO(), [0.0]
    progress = Progress(3, out, megabytes=190, clock=lambda: now[0])
    for moment, line in (
        (1.0, "Collecting anyio==4.16.0 (from x)\n"),
        (2.0, "  Downloading xllamacpp-1.0-py3-none-any.whl (60.0 MB)\n"),
        (12.0, "  Downloading model-1.0-py3-none-any.whl (93.0 MB)\n"),
    ):
        now[0] = moment
        progress.hear(line)

    assert out.getvalue().splitlines() == [
        "  fetching 1/3 anyio",
        "  fetching 1/3 anyio (60.0 MB)",
        "  fetching 1/3 anyio (93.0 MB), about 26 s left",
    ]


def test_packages_are_counted_from_the_lock(tmp_path: Path) -> None:
    """Pins for this machine count; hashes and what is for other machines do not."""
    lock = tmp_path / "requirements.lock"
    pins = (
        "a==1",
        f"b-c==2 ; sys_platform == '{sys.platform}'",
        "d==3 ; sys_platform == 'another'",
        f"e==4 ; python_full_version < '3.9' or (python_full_version >= '3.9' and sys_platform == '{sys.platform}')",
        "f==5 ; python_full_version >= '3.11' and platform_machine == 'abacus'",
        "g==6 ; moon == 'full'",
    )
    lock.write_text("".join(f"{pin} \\\n    --hash=sha256:00\n" for pin in pins))

    assert len(pinned_packages(str(lock))) == 4


def test_packages_that_are_there_are_not_counted(tmp_path: Path) -> None:
    """An extra that shares one with the program fetches one less, and says so; another version is fetched."""
    lock = tmp_path / "requirements-extra.lock"
    lock.write_text("".join(f"{pin} \\\n    --hash=sha256:00\n" for pin in ("Typing-Ext.ra==4.16.0", "b==2", "c==3")))
    for folder in ("typing_ext_ra-4.16.0", "b-1"):
        (Path(site_packages(str(tmp_path / "venv"))) / f"{folder}.dist-info").mkdir(parents=True)

    assert count_new_packages([str(lock), str(lock)], packages_in(str(tmp_path / "venv"))) == [2, 0]
    assert packages_in(str(tmp_path / "nowhere")) == frozenset()


def test_the_locks_ask_only_what_can_be_answered() -> None:
    """Every condition in them is one that the count understands."""
    for lock in ROOT.glob("requirements*.lock"):
        for marker in re.findall(r"^[\w.-]+==\S+ ; (.+?) \\$", lock.read_text(encoding="utf-8"), re.MULTILINE):
            assert set(re.findall(r"[a-z_]{4,}(?= [<>=!])", marker)) <= set(MARKERS), marker


def test_what_the_set_up_says_is_broken_at_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where somebody sees it; the lines of an installer's last words stay lines, and a path stays whole."""

    class Window(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("COLUMNS", "24")
    monkeypatch.setattr(sys, "stderr", window := Window())
    say("Setting up in /a/very/long/path/to/an/environment: 26 packages, and more.\n  its last words")

    assert window.getvalue() == (
        "Setting up in\n/a/very/long/path/to/an/environment:\n26 packages, and more.\n  its last words\n"
    )
