"""The container without an engine: what the Containerfile says, done step by step on this machine as far as it goes.

Each stage is built in an overlay over this machine's own files, with a Python put where the base image has it, and
its lines are run as they are written. Then the program is started as an engine would start it: the files of the image
read-only, a `/tmp` in memory, one volume, no network but loopback, the image's user without capabilities. What an
engine alone can do, such as fetching the base image, is told and not tried. Needs Linux, root, the package index that
pip is set up with, and some minutes: run `python -m benchmarks.container`.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.installed import find_pythons
from benchmarks.table import Row, table
from tests.fakes.installed import ROOT, build_archive

CONTAINERFILE = ROOT / "Containerfile"
BASE = "3.12"
"""The Python of the base image."""
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
LEFT_OUT = shutil.ignore_patterns("test", "tests", "__pycache__", "site-packages", "idlelib", "share")
"""Of a Python, what the base image's users would not miss."""
NEEDS = ("unshare", "nsenter", "setpriv", "mount", "chroot")
STEP_S, HEALTHY_S = 1200, 120
ALONE = ("unshare", "--mount", "--propagation", "private")
SEALED = ("unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--propagation", "private")
HOLD = """
set -e
mount -o remount,ro {root}
mount -t tmpfs tmpfs {root}/tmp
mount --bind {volume} {root}{mounted}
mount -t proc proc {root}/proc
mount --rbind /dev {root}/dev
ip link set lo up
echo ready
exec chroot {root} sleep infinity
"""
"""What keeps the surroundings of the program as long as it is needed."""
LOOK = """
import os, re
status = open("/proc/self/status").read()
held = re.search(r"CapEff:\\s*(\\w+)", status)[1], re.search(r"NoNewPrivs:\\s*(\\d)", status)[1]
wrote = []
for folder in ("/", "/etc", "/opt/familiar", "/usr/local", "/tmp", "/data"):
    try:
        open(os.path.join(folder, "try"), "w").close()
        wrote.append(folder)
    except OSError:
        pass
print(os.getuid(), int(held[0], 16), held[1], *wrote)
"""
"""Who the program is, what it may do, and where it can write."""


def read_containerfile() -> list[tuple[str, str]]:
    """Instruction and rest of every line of the Containerfile, continued lines joined, comments left out."""
    text = re.sub(r"(?m)^#.*\n", "", CONTAINERFILE.read_text(encoding="utf-8")).replace("\\\n", " ")
    return [(line.split(None, 1)[0], line.split(None, 1)[1].strip()) for line in text.splitlines() if line.strip()]


def read_stages() -> list[list[tuple[str, str]]]:
    """Its lines by stages, each beginning with FROM."""
    stages: list[list[tuple[str, str]]] = []
    for name, rest in read_containerfile():
        if name == "FROM":
            stages.append([])
        stages[-1].append((name, rest))
    return stages


@dataclass(frozen=True)
class Stage:
    """The files of one stage: those of this machine, with what was changed laid over them."""

    folder: Path

    @property
    def root(self) -> Path:
        return self.folder / "root"

    def open(self, python: Path) -> None:
        """Mount it, with the Python whose folder is *python* in /usr/local."""
        for name in ("upper", "work", "root"):
            (self.folder / name).mkdir(parents=True)
        shutil.copytree(python, self.folder / "upper" / "usr" / "local", symlinks=True, ignore=LEFT_OUT)
        layers = f"lowerdir=/,upperdir={self.folder}/upper,workdir={self.folder}/work"
        subprocess.run(["mount", "-t", "overlay", "overlay", "-o", layers, str(self.root)], check=True)
        subprocess.run(["mount", "--rbind", "/dev", str(self.root / "dev")], check=True)
        subprocess.run(["mount", "-t", "proc", "proc", str(self.root / "proc")], check=True)
        self.run("ldconfig").check_returncode()  # as the base image has its Python's own library

    def close(self) -> None:
        for name in ("dev", "proc"):
            subprocess.run(["umount", "--recursive", str(self.root / name)], check=True)

    def run(self, command: str) -> subprocess.CompletedProcess[str]:
        """A line of RUN, as root and with this machine's network."""
        return subprocess.run(
            ["chroot", str(self.root), "sh", "-c", command],
            env={**os.environ, "PATH": PATH},
            capture_output=True,
            text=True,
            timeout=STEP_S,
            check=False,
        )

    def copy(self, sources: Sequence[Path], to: str) -> None:
        target = self.root / to.lstrip("/")
        for source in sources:
            if source.is_dir():
                shutil.copytree(source, target, symlinks=True, dirs_exist_ok=True)
            else:
                target.mkdir(parents=True, exist_ok=True)
                shutil.copy(source, target)


def build(stage: Stage, lines: Sequence[tuple[str, str]], before: Stage | None, context: Path) -> Iterator[Row]:
    """Do the lines of one stage that change files, a row for each."""
    for name, rest in lines:
        began = time.monotonic()
        if name == "FROM":
            told = "fetched by an engine alone: this machine's files stand in, with a Python of its own"
            yield Row(name=f"FROM {rest}", value=told)
        elif name == "COPY":
            *sources, to = rest.split()
            if sources[0].startswith("--from=") and before is not None:
                stage.copy([before.root / each.lstrip("/") for each in sources[1:]], to)
            else:
                stage.copy([found for each in sources for found in context.glob(each)], to)
            yield Row(name=f"COPY … {to}", value=f"{time.monotonic() - began:.0f} s", bar="done", ok=True)
        elif name == "RUN":
            yield from run_line(stage, rest)


def run_line(stage: Stage, line: str) -> Iterator[Row]:
    """Each command of a RUN; what asks Debian's servers may fail here, and is told."""
    for command in line.split(" && ") if " do " not in line else [line]:
        began = time.monotonic()
        done = stage.run(command)
        short = " ".join(command.split())[:60]
        if done.returncode == 0:
            yield Row(name=f"RUN {short}", value=f"{time.monotonic() - began:.0f} s", bar="exit code 0", ok=True)
        elif command.strip().startswith("apt-get"):
            yield Row(name=f"RUN {short}", value=f"cannot be had here: {done.stderr.strip()[-120:]}")
        else:
            yield Row(name=f"RUN {short}", value=done.stderr.strip()[-400:], bar="exit code 0", ok=False)


@dataclass(frozen=True)
class Container:
    """The built image, sealed off; commands are run in it as an engine would run them."""

    stage: Stage
    holder: int
    """The process that keeps its surroundings."""
    user: str
    group: str
    variables: Mapping[str, str] = field(default_factory=dict)

    def words(self, command: Sequence[str]) -> list[str]:
        alone = ["--reuid", self.user, "--regid", self.group, "--clear-groups", "--no-new-privs"]
        variables = [f"{name}={value}" for name, value in {"PATH": PATH, **self.variables}.items()]
        return [
            *("nsenter", "--target", str(self.holder), "--mount", "--net", "--pid", "--root", "--wd=/"),
            *("setpriv", *alone, "--bounding-set=-all", "--inh-caps=-all", "env", "-i", *variables, *command),
        ]

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        words = self.words(command)
        return subprocess.run(
            words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=STEP_S, check=False
        )


@contextmanager
def open_container(stage: Stage, lines: Sequence[tuple[str, str]], volume: Path) -> Iterator[Container]:
    """What the last lines of the Containerfile ask of an engine."""
    facts = dict(lines)
    mounted, user = facts["VOLUME"], facts["USER"]
    own = (stage.root / mounted.lstrip("/")).stat()
    volume.mkdir()
    os.chown(volume, own.st_uid, own.st_gid)  # a new volume is as the image has its folder
    volume.chmod(own.st_mode & 0o777)
    people = (stage.root / "etc" / "passwd").read_text(encoding="utf-8").splitlines()
    [group] = [line.split(":")[3] for line in people if line.split(":")[2] == user]
    root = shlex.quote(str(stage.root))
    script = HOLD.format(root=root, volume=shlex.quote(str(volume)), mounted=mounted)
    with subprocess.Popen([*SEALED, "sh", "-c", script], stdout=subprocess.PIPE, text=True) as sealing:
        try:
            assert sealing.stdout is not None
            assert sealing.stdout.readline() == "ready\n"
            variables = dict(each.split("=", 1) for each in facts["ENV"].split())
            [holder] = children_of(sealing.pid)
            yield Container(stage, holder, user, group, variables)
        finally:
            sealing.kill()


def children_of(process: int) -> list[int]:
    """The processes that *process* started."""
    return [int(each) for each in Path(f"/proc/{process}/task/{process}/children").read_text(encoding="ascii").split()]


def try_program(container: Container, lines: Sequence[tuple[str, str]]) -> Iterator[Row]:
    """The entry point, the default command and the health check, in the order of a container's life."""
    facts = dict(lines)
    entry, command = json.loads(facts["ENTRYPOINT"]), json.loads(facts["CMD"])
    health = json.loads(facts["HEALTHCHECK"][facts["HEALTHCHECK"].index("[") :])
    looked = container.run(str(Path(entry[0]).with_name("python")), "-c", LOOK).stdout.strip()
    yield Row(
        name="user, capabilities, no new rights, where it can write",
        value=looked,
        bar=f"{container.user} 0 1 /tmp /data",
        ok=looked == f"{container.user} 0 1 /tmp /data",
    )
    yield told("health check of what never ran", container.run(*health), code=1)
    yield told("init mira", container.run(*entry, "init", "mira"))
    yield told("ask, without a network", container.run(*entry, "ask", "Hello, who are you?"))
    yield told(f"{' '.join(command)}, without a token", container.run(*entry, *command), code=1)
    trial = [health[0], "--home", f"{facts['VOLUME']}/trial", *health[1:]]  # the demonstration's own copy
    yield from live(container, [*entry, *command, "--demo-discord"], trial)


def told(name: str, done: subprocess.CompletedProcess[str], code: int = 0) -> Row:
    """How a command ended, and the last it said."""
    said = " ".join((done.stdout + done.stderr).split())
    ok = done.returncode == code and bool(said) and "Traceback" not in said
    return Row(name=name, value=f"{done.returncode}: {said[-110:]}", bar=f"exit code {code}", ok=ok)


def live(container: Container, command: Sequence[str], health: Sequence[str]) -> Iterator[Row]:
    """While the program runs it is healthy; the stop signal ends it well."""
    words, mixed = container.words(command), subprocess.STDOUT
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8") as log,
        subprocess.Popen(words, stdin=subprocess.PIPE, stdout=log, stderr=mixed, text=True) as running,
    ):
        try:
            ends = time.monotonic() + HEALTHY_S
            while (looked := container.run(*health)).returncode and time.monotonic() < ends and running.poll() is None:
                time.sleep(0.5)
            yield told("health check while it runs", looked)
            for child in children_of(running.pid) if running.poll() is None else ():
                os.kill(child, signal.SIGTERM)
            code = running.wait(STEP_S)
            log.seek(0)
            yield told("the stop signal", subprocess.CompletedProcess(words, code, log.read(), ""))
        finally:
            running.kill()
    yield told("health check afterwards", container.run(*health), code=1)


def why_impossible() -> str:
    """What of this machine's makes it impossible; empty where nothing does."""
    if not sys.platform.startswith("linux") or os.geteuid() != 0:
        return "it needs Linux and root"
    if missing := [name for name in NEEDS if shutil.which(name) is None]:
        return f"there is no {' and no '.join(missing)} here"
    return ""


def measure(python: Path) -> list[Row]:
    """Build both stages, then live through a container's life."""
    with tempfile.TemporaryDirectory(prefix="familiar-container-") as name:
        folder = Path(name)
        context = folder / "context"
        (context / "dist").mkdir(parents=True)
        build_archive("wheel", context / "dist")
        for lock in ROOT.glob("requirements*.lock"):
            shutil.copy(lock, context)
        rows: list[Row] = []
        before: Stage | None = None
        lines: Sequence[tuple[str, str]] = ()
        for number, lines in enumerate(read_stages()):
            stage = Stage(folder / f"stage{number}")
            stage.open(python)
            rows += build(stage, lines, before, context)
            stage.close()
            before = stage
        assert before is not None
        try:
            if all(row.ok is not False for row in rows):
                with open_container(before, lines, folder / "volume") as container:
                    rows += try_program(container, lines)
        finally:
            for each in folder.glob("stage*/root"):
                subprocess.run(["umount", "--recursive", str(each)], check=True)
        return rows


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.container", description=__doc__)
    parser.add_argument("--python", metavar="3.N", default=BASE, help=f"which stands in for the image's (else {BASE})")
    parser.add_argument("--alone", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if reason := why_impossible():
        print(f"The Containerfile cannot be tried here: {reason}.", file=sys.stderr)
        return 2
    if not options.alone:  # with mounts of its own, which end with it
        words = [sys.executable, "-m", "benchmarks.container", "--alone", "--python", options.python]
        return subprocess.run([*ALONE, *words], check=False).returncode
    program = find_pythons().get(options.python)
    if program is None:
        parser.error(f"there is no Python {options.python} here; there are {', '.join(find_pythons())}")
    asked = [program, "-c", "import sys; print(sys.base_prefix)"]
    python = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    rows = measure(Path(python))
    print(table({"container": rows}))
    return 0 if all(row.ok is not False for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
