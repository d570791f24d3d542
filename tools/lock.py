"""The pinning of packages: writes requirements.lock and requirements-dev.lock from pyproject.toml with uv.

    python3 tools/lock.py             keep what is pinned, take in what pyproject.toml changed
    python3 tools/lock.py --upgrade   pin the newest of everything

Every package gets the hashes of its files for every system we run on, and no address: where packages come from is
the business of whoever installs them.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
EXTRAS = ("discord", "mcp", "telegram", "twitch", "voice", "web")
LOCKS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "requirements.lock": (("embedded",), ()),
    "requirements-dev.lock": (("embedded", "dev"), EXTRAS),
    **{f"requirements-{extra}.lock": (("embedded",), (extra,)) for extra in EXTRAS},
}
"""Lock → the groups and the extras in it. An extra's own lock holds only what the base does not."""
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
MACHINES = (
    "x86_64-manylinux_2_28",
    "aarch64-manylinux_2_28",
    "aarch64-apple-darwin",
    "x86_64-apple-darwin",
    "x86_64-pc-windows-msvc",
)
OLDEST_MACOS = "14.0"
"""What onnxruntime's packages ask for on Apple silicon."""
NEVER_OURS = ("httpx2-jsfetch",)
"""Wanted only inside a web browser."""


def main() -> int:
    """Write all locks; 0 when they are written and can be installed wherever we run."""
    parser = argparse.ArgumentParser(description="Pin the packages of pyproject.toml with their hashes.")
    parser.add_argument("--upgrade", action="store_true", help="pin the newest versions instead of keeping the pins")
    upgrade = parser.parse_args().upgrade
    uv = find_uv()
    if uv is None:
        sys.stderr.write("uv was not found: install it (for example `python3 -m pip install uv`) and run again.\n")
        return 1
    pins = [] if upgrade else read_pins(ROOT / "requirements-dev.lock")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        # A copy without build backend and sources: resolving needs neither, and uv's own lock stays out of the tree.
        Path(folder, "pyproject.toml").write_text(dependencies_only(project, pins), encoding="utf-8")
        for name, (groups, extras) in LOCKS.items():
            text = export(uv, folder, groups, extras)
            if name == f"requirements-{''.join(extras)}.lock":
                text = entries_beyond(text, export(uv, folder, groups, ()))
            (ROOT / name).write_text(text, encoding="utf-8", newline="\n")
            sys.stdout.write(f"{name}: {len(read_pins(ROOT / name))} packages\n")
        lacking = [
            f"{name} on Python {python}, {machine}:\n{reason}"
            for name in LOCKS
            for python in PYTHONS
            for machine in MACHINES
            if (reason := missing_wheels(uv, folder, ROOT / name, python, machine))
        ]
    for words in lacking:
        sys.stderr.write(f"No ready-built packages for {words}\n")
    return 1 if lacking else 0


def find_uv() -> list[str] | None:
    """The command that is uv here, if there is one."""
    path = shutil.which("uv")
    if path is not None:
        return [path]
    return [sys.executable, "-m", "uv"] if importlib.util.find_spec("uv") else None


def read_pins(lock: Path) -> list[str]:
    """The pins of an existing lock with their conditions, without hashes."""
    if not lock.exists():
        return []
    pins = re.findall(r"(?m)^([A-Za-z0-9][\w.-]*==[^\\\n]+)", lock.read_text(encoding="utf-8"))
    return [pin.strip() for pin in pins]


def entries_beyond(lock: str, base: str) -> str:
    """The entries of *lock* that are not in *base*, or there under narrower conditions."""
    known = set(entries(base))
    return "".join(entry for entry in entries(lock) if entry not in known)


def entries(lock: str) -> list[str]:
    """The pins of a lock, each with its hashes."""
    return [entry for entry in re.split(r"(?m)^(?=[A-Za-z0-9])", lock) if entry]


def dependencies_only(project: dict[str, Any], pins: list[str]) -> str:
    """A pyproject.toml with the dependencies alone."""
    declared, uv = project["project"], project["tool"]["uv"]
    lines = ["[project]", f"name = {toml_quote(declared['name'])}", 'version = "0"']
    lines += [f"requires-python = {toml_quote(declared['requires-python'])}"]
    lines += [f"dependencies = {toml_quote(declared['dependencies'])}", "[project.optional-dependencies]"]
    lines += [f"{extra} = {toml_quote(declared['optional-dependencies'][extra])}" for extra in EXTRAS]
    lines += ["[dependency-groups]"]
    lines += [f"{group} = {toml_quote(members)}" for group, members in project["dependency-groups"].items()]
    lines += ["[tool.uv]", "package = false"]
    lines += [f"exclude-dependencies = {toml_quote([*uv['exclude-dependencies'], *NEVER_OURS])}"]
    lines += [f"constraint-dependencies = {toml_quote(pins)}"]
    return "\n".join(lines) + "\n"


def toml_quote(value: object) -> str:
    """A string or a list of strings as TOML, whose quoting is JSON's."""
    return json.dumps(value, ensure_ascii=False)


def export(uv: list[str], folder: str, groups: tuple[str, ...], extras: tuple[str, ...]) -> str:
    """One lock's text: pins and hashes, no header, no addresses."""
    command = [*uv, "export", "--quiet", "--format", "requirements.txt", "--no-emit-project", "--no-header"]
    command += ["--no-annotate", "--no-default-groups"]
    for group in groups:
        command += ["--group", group]
    for extra in extras:
        command += ["--extra", extra]
    text = subprocess.run(command, cwd=folder, check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout
    if "://" in text:
        raise SystemExit("uv wrote an address into the lock: take the direct reference out of pyproject.toml.")
    return text


def missing_wheels(uv: list[str], folder: str, lock: Path, python: str, machine: str) -> str:
    """Why a lock cannot be installed ready built on some machine; empty when it can."""
    command = [*uv, "pip", "install", "--quiet", "--dry-run", "--target", str(Path(folder, "nowhere"))]
    command += ["--no-deps", "--only-binary", ":all:", "--require-hashes", "-r", str(lock)]
    command += ["--python-version", python, "--python-platform", machine]
    surroundings = {**os.environ, "MACOSX_DEPLOYMENT_TARGET": OLDEST_MACOS}
    done = subprocess.run(
        command, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", env=surroundings
    )
    return done.stdout if done.returncode else ""


if __name__ == "__main__":
    raise SystemExit(main())
