"""A release is made of a clean, told and untagged commit on main, or not at all; a pushed tag is what publishes it."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
ARCHIVES = ("familiar_connect-1.2.3-py3-none-any.whl", "familiar_connect-1.2.3.tar.gz")
CHANGELOG = "# Changelog\n\n## [Unreleased]\n\n## [1.2.3] - 2026-11-17\n\n### Added\n\n- A kettle.\n"
PROGRAM = "src/familiar_connect/__init__.py"
GIT = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull} | {
    f"GIT_{whose}_{what}": value
    for whose in ("AUTHOR", "COMMITTER")
    for what, value in {"NAME": "Sam", "EMAIL": "sam@example.org"}.items()
}


@dataclass(frozen=True)
class Repository:
    """A small program under git, with our own script in it."""

    root: Path

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        surroundings = {**os.environ, **GIT}
        return subprocess.run(
            command, cwd=self.root, env=surroundings, capture_output=True, text=True, check=False, timeout=120
        )

    def git(self, *words: str) -> str:
        done = self.run("git", *words)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def write(self, **files: str) -> None:
        for name, text in files.items():
            (self.root / name).write_text(text, encoding="utf-8")

    def commit(self) -> None:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "A change")

    def release(self, *options: str) -> subprocess.CompletedProcess[str]:
        return self.run(sys.executable, "tools/release.py", *options)

    def refusal(self, *options: str) -> str:
        """The one sentence of a release that was not made; nothing is left of it."""
        done = self.release(*options)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1), done.stderr
        assert not (self.root / "dist").exists()
        return done.stderr


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    pytest.importorskip("hatchling", reason="the build system is not installed here")
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    made = Repository(tmp_path / "program")
    (made.root / "src" / "familiar_connect").mkdir(parents=True)
    (made.root / "tools").mkdir()
    shutil.copy(ROOT / "tools" / "release.py", made.root / "tools")
    for name in ("pyproject.toml", "LICENSE", "NOTICE", ".gitignore"):
        shutil.copy(ROOT / name, made.root)
    made.write(**{"README.md": "A program.\n", "CHANGELOG.md": CHANGELOG, PROGRAM: '__version__ = "1.2.3"\n'})
    made.git("init", "--quiet", "--initial-branch", "main")
    made.commit()
    return made


def test_a_clean_commit_on_main_becomes_two_archives_with_their_sums(repository: Repository) -> None:
    """The same ones each time; a tag is made where it is asked for, and the next version may not take it again."""
    first = repository.release()
    folder = repository.root / "dist"
    sums = (folder / "SHA256SUMS").read_text(encoding="utf-8")
    told = {name: digest for digest, name in (line.split("  ") for line in sums.splitlines())}
    untagged = repository.git("tag", "--list")
    second = repository.release("--tag")

    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    assert sorted(told) == sorted(ARCHIVES)
    assert told == {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in ARCHIVES}
    assert (folder / "SHA256SUMS").read_text(encoding="utf-8") == sums
    assert (untagged, repository.git("tag", "--points-at", "HEAD")) == ("", "v1.2.3\n")
    again = repository.release()
    assert again.returncode == 1
    assert "1.2.3 has its tag v1.2.3 already" in again.stderr
    from_tag = repository.release("--from-tag")
    assert from_tag.returncode == 0, from_tag.stderr


def test_a_tree_with_changes_is_refused(repository: Repository) -> None:
    """A file that git was not told of is one."""
    repository.write(**{"notes.txt": "to do\n"})
    assert "the tree has changes (notes.txt)" in repository.refusal("--tag")
    assert repository.git("tag", "--list") == ""


def test_another_branch_is_refused(repository: Repository) -> None:
    """Also no branch at all; and `--from-tag` wants the tag."""
    repository.git("switch", "--quiet", "--create", "kettle")
    assert "releases are made on main, and this is kettle" in repository.refusal()
    repository.git("switch", "--quiet", "--detach")
    assert "this is no branch" in repository.refusal()
    assert "does not have the tag v1.2.3" in repository.refusal("--from-tag")


@pytest.mark.parametrize(
    ("changelog", "sentence"),
    [
        (CHANGELOG.replace("1.2.3", "1.2.2"), "has no heading `## [1.2.3] - YYYY-MM-DD`"),
        (CHANGELOG.replace("- A kettle.", ""), "tells nothing under 1.2.3"),
        (CHANGELOG.replace("\n## [1", "\n- A cup.\n\n## [1"), "has entries under Unreleased"),
    ],
)
def test_a_version_the_changelog_does_not_tell_of_is_refused(
    repository: Repository, changelog: str, sentence: str
) -> None:
    """No heading, an empty section, or lines that wait for a version."""
    repository.write(**{"CHANGELOG.md": changelog})
    repository.commit()
    assert sentence in repository.refusal()


def test_archives_with_something_wrong_in_them_are_refused(repository: Repository) -> None:
    """A folder of a machine, a file that only lies here, a file that is left out, another licence."""
    project = (repository.root / "pyproject.toml").read_text(encoding="utf-8")
    start = '[tool.hatch.build.targets.wheel]\npackages = ["src/familiar_connect"]\n'
    faults = {
        "names a folder of a machine in": ({"kettle.txt": "/ho" + "me/sam/kettle\n"}, project),
        "holds familiar_connect/dist/x.txt, which": ({}, project.replace(start, f'{start}artifacts = ["x.txt"]\n')),
        "lacks familiar_connect/kettle.py": (
            {"src/familiar_connect/kettle.py": "\n"},
            project.replace(start, f'{start}exclude = ["kettle.py"]\n'),
        ),
        "says of itself": ({}, project.replace('license = "MIT"', 'license = "ISC"')),
    }
    (repository.root / "src" / "familiar_connect" / "dist").mkdir()
    repository.write(**{"src/familiar_connect/dist/x.txt": "not kept"})
    for sentence, (files, text) in faults.items():
        repository.write(**files, **{"pyproject.toml": text})
        repository.commit()
        assert sentence in repository.refusal()
        repository.git("revert", "--no-edit", "HEAD")


def test_this_tree_is_the_version_that_its_changelog_tells_of_first() -> None:
    """Below a heading for what comes next."""
    from familiar_connect import __version__

    headings = re.findall(r"(?m)^## \[([^]]+)\]", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    assert headings[:2] == ["Unreleased", __version__]


def load_workflow(path: Path) -> dict[Any, Any]:
    yaml = pytest.importorskip("yaml")
    loaded: dict[Any, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return loaded


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_every_workflow_names_versions_and_has_no_more_rights_than_it_needs(path: Path) -> None:
    """A version for each action; rights are given by name; no key of ours is named; every job ends."""
    workflow, text = load_workflow(path), path.read_text(encoding="utf-8")
    jobs = workflow["jobs"].values()
    steps = [step for job in jobs for step in job["steps"]]
    rights = [workflow["permissions"], *(job["permissions"] for job in jobs if "permissions" in job)]

    assert [
        step["uses"] for step in steps if "uses" in step and not re.search(r"@(?:release/)?v\d+$", step["uses"])
    ] == []
    assert {(name, right) for each in rights for name, right in each.items()} <= {
        ("contents", "read"),
        ("id-token", "write"),
    }
    assert "secrets." not in text
    assert "pull_request_target" not in text
    assert [job for job in jobs if "timeout-minutes" not in job] == []
    assert [step["run"] for step in steps if "${{" in step.get("run", "")] == [], "nobody's words become a command"


def test_only_a_tag_publishes_and_only_what_was_tested_and_looked_over() -> None:
    """The job that may speak for us to the index runs none of our code."""
    workflow = load_workflow(ROOT / ".github" / "workflows" / "release.yml")
    build, publish = workflow["jobs"]["build"], workflow["jobs"]["publish"]
    runs = [step["run"] for step in build["steps"] if "run" in step]

    assert workflow[True] == {"push": {"tags": ["v[0-9]+.[0-9]+.[0-9]+"]}}  # YAML reads `on` so
    assert workflow["permissions"] == {}
    assert runs == ["python3 run.py test", ".venv/bin/python tools/release.py --from-tag"]
    tested = next(step for step in build["steps"] if step.get("run") == "python3 run.py test")
    assert int(tested["env"]["PROPERTY_EXAMPLES"]) >= 200, "longer than a commit"
    assert build["permissions"] == {"contents": "read"}
    assert (publish["needs"], publish["environment"], publish["permissions"]) == (
        "build",
        "release",
        {"id-token": "write"},
    )
    assert [step["run"] for step in publish["steps"] if "run" in step] == [
        "sha256sum --check --strict SHA256SUMS && rm SHA256SUMS"
    ]
    assert not any("checkout" in step.get("uses", "") for step in publish["steps"])
