"""The making of a release: sources and wheel from a clean tree, looked over, with their sums.

    .venv/bin/python tools/release.py              check, build into dist/, look the archives over
    .venv/bin/python tools/release.py --tag        the same, then tag the commit
    .venv/bin/python tools/release.py --from-tag   for the build machine: the commit has its tag already

A tree with changes, another branch than main, a version that has its tag, or one that the changelog does not tell of
is refused with one sentence. Nothing is pushed or uploaded: `.github/workflows/release.yml` publishes a pushed tag.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from email.parser import Parser
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BRANCH = "main"
VERSION_FILE = "src/familiar_connect/__init__.py"
CHANGELOG = "CHANGELOG.md"
LICENCE = "MIT"
LICENCE_FILES = ("LICENSE", "NOTICE")
SUMS = "SHA256SUMS"
PACKAGE = "familiar_connect"
SOURCES = f"src/{PACKAGE}/"
# Spelt so that this file does not hold what it looks for.
MACHINE_PATH = re.compile(rb"(?<![\w.~-])/(?:root|home)[/]\w|[A-Z]:\\{1,2}Users\\")


class ReleaseProblem(Exception):
    """Why there is no release; the message says what to do."""


def main(arguments: Sequence[str]) -> int:
    """0 when the archives are there and sound; 1 with one sentence when there is no release."""
    parser = argparse.ArgumentParser(description="Make a release from a clean tree. Pushes and uploads nothing.")
    parser.add_argument("--dist", type=Path, default=ROOT / "dist", metavar="FOLDER", help="where the archives go")
    when = parser.add_mutually_exclusive_group()
    when.add_argument("--tag", action="store_true", help="tag the commit when the archives are sound")
    when.add_argument("--from-tag", action="store_true", help="the commit has its tag already, on any branch")
    chosen = parser.parse_args(arguments)
    try:
        version = read_version()
        check_tree()
        check_tag(version, is_tagged=chosen.from_tag)
        check_changelog(version, (ROOT / CHANGELOG).read_text(encoding="utf-8"))
        archives = make_archives(version, chosen.dist)
    except ReleaseProblem as problem:
        sys.stderr.write(f"No release: {problem}\n")
        return 1
    for archive in archives:
        sys.stdout.write(f"{archive}\n")
    if chosen.tag:
        git("tag", "--annotate", f"v{version}", "--message", f"Familiar Connect {version}")
        sys.stdout.write(f"Tagged v{version}. To publish it: git push origin v{version}\n")
    return 0


def read_version() -> str:
    """The version of this tree, from its one place."""
    found = re.search(r'(?m)^__version__ = "(\d+\.\d+\.\d+)"$', (ROOT / VERSION_FILE).read_text(encoding="utf-8"))
    if found is None:
        raise ReleaseProblem(f"{VERSION_FILE} has no __version__ of three numbers: write one.")
    return found[1]


def check_tree() -> None:
    """Nothing differs from the commit."""
    if changed := git("status", "--porcelain").splitlines():
        more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
        raise ReleaseProblem(f"the tree has changes ({changed[0][3:]}{more}): commit them, or put them away.")


def check_tag(version: str, *, is_tagged: bool) -> None:
    """The commit may become this version: on main and without a tag, or with this very tag where that is asked for."""
    tag = f"v{version}"
    if is_tagged:
        if tag not in git("tag", "--points-at", "HEAD").split():
            raise ReleaseProblem(f"this commit does not have the tag {tag}: check out the tag, or leave --from-tag.")
        return
    branch = git("branch", "--show-current").strip()
    if branch != BRANCH:
        raise ReleaseProblem(f"releases are made on {BRANCH}, and this is {branch or 'no branch'}.")
    if git("tag", "--list", tag).strip():
        raise ReleaseProblem(f"{version} has its tag {tag} already: set the next version in {VERSION_FILE}.")


def check_changelog(version: str, text: str) -> None:
    """The version has a dated section with entries, and nothing waits under Unreleased."""
    sections = {part.partition("\n")[0]: part.partition("\n")[2] for part in text.split("\n## ")[1:]}
    heading = next((each for each in sections if re.fullmatch(rf"\[{version}\] - \d{{4}}-\d\d-\d\d", each)), None)
    if heading is None:
        raise ReleaseProblem(f"{CHANGELOG} has no heading `## [{version}] - YYYY-MM-DD`: cut the changelog.")
    if not has_entries(sections[heading]):
        raise ReleaseProblem(f"{CHANGELOG} tells nothing under {version}: say what changes for people.")
    if has_entries(sections.get("[Unreleased]", "")):
        raise ReleaseProblem(f"{CHANGELOG} has entries under Unreleased: they belong under {version}.")


def has_entries(section: str) -> bool:
    return re.search(r"(?m)^- ", section) is not None


def make_archives(version: str, folder: Path) -> list[Path]:
    """Sources, wheel and their sums in *folder*; nothing is put there before all of it is sound."""
    names = [f"{PACKAGE}-{version}.tar.gz", f"{PACKAGE}-{version}-py3-none-any.whl"]
    with tempfile.TemporaryDirectory(prefix="familiar-release-") as made:
        build(Path(made))
        if sorted(os.listdir(made)) != sorted(names):
            raise ReleaseProblem(f"the build made {', '.join(sorted(os.listdir(made)))}, not {' and '.join(names)}.")
        contents = {name: (Path(made) / name).read_bytes() for name in names}
        kept = set(git("ls-files", "-z").split("\0")) - {""}
        check_archive(names[0], read_sources(Path(made) / names[0], version), version, {name: name for name in kept})
        in_wheel = {name.removeprefix("src/"): name for name in kept if name.startswith(SOURCES)}
        check_archive(names[1], read_wheel(Path(made) / names[1], version), version, in_wheel)
    folder.mkdir(parents=True, exist_ok=True)
    sums = "".join(f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in contents.items())
    for name, data in {**contents, SUMS: sums.encode()}.items():
        (folder / name).write_bytes(data)
    return [folder / name for name in (*names, SUMS)]


def build(folder: Path) -> None:
    """Both archives by the declared build system, which fetches nothing; the commit's time makes them repeatable."""
    code = "import sys; from hatchling.build import *; build_sdist(sys.argv[1]); build_wheel(sys.argv[1])"
    surroundings = {**os.environ, "SOURCE_DATE_EPOCH": git("log", "-1", "--format=%ct").strip()}
    command = [sys.executable, "-c", code, str(folder)]
    done = subprocess.run(command, cwd=ROOT, env=surroundings, capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        fix = "`python3 run.py test` brings hatchling into .venv; start this with .venv/bin/python"
        raise ReleaseProblem(f"the archives could not be built ({last}): {fix}.")


def read_sources(path: Path, version: str) -> dict[str, bytes]:
    """The files of the archive of sources, named from its one folder."""
    top = f"{PACKAGE}-{version}/"
    with tarfile.open(path) as archive:
        files = {entry.name: archive.extractfile(entry) for entry in archive.getmembers() if not entry.isdir()}
        return {name.removeprefix(top): file.read() if file else b"" for name, file in files.items()}


def read_wheel(path: Path, version: str) -> dict[str, bytes]:
    """The files of the wheel; those about the package named as in the sources."""
    about = f"{PACKAGE}-{version}.dist-info/"
    own = {f"{about}METADATA": "PKG-INFO", **{f"{about}licenses/{name}": name for name in LICENCE_FILES}}
    made = {f"{about}{name}" for name in ("RECORD", "WHEEL", "entry_points.txt")}
    with zipfile.ZipFile(path) as archive:
        return {own.get(name, name): archive.read(name) for name in archive.namelist() if name not in made}


def check_archive(name: str, files: Mapping[str, bytes], version: str, kept: Mapping[str, str]) -> None:
    """It says what it is, holds what git keeps and nothing else, and names no folder of this machine."""
    facts = Parser().parsestr(files.get("PKG-INFO", b"").decode())
    said = (facts["Name"], facts["Version"], facts["License-Expression"], tuple(facts.get_all("License-File", [])))
    if said != ("familiar-connect", version, LICENCE, LICENCE_FILES):
        raise ReleaseProblem(f"{name} says of itself {said}: look at pyproject.toml.")
    wanted = {*kept, *LICENCE_FILES, "PKG-INFO"}
    if stray := sorted(set(files) - wanted):
        raise ReleaseProblem(f"{name} holds {stray[0]}, which git does not keep.")
    if missing := sorted(wanted - set(files)):
        raise ReleaseProblem(f"{name} lacks {missing[0]}: look at the build's settings in pyproject.toml.")
    differing = [each for each, path in kept.items() if files[each] != (ROOT / path).read_bytes()]
    if differing:
        raise ReleaseProblem(f"{name} holds another {min(differing)} than the commit.")
    here = str(ROOT).encode()
    if named := sorted(each for each, data in files.items() if here in data or MACHINE_PATH.search(data)):
        raise ReleaseProblem(f"{name} names a folder of a machine in {named[0]}.")


def git(*words: str) -> str:
    """What git prints; a ReleaseProblem with its words where it fails."""
    try:
        done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    except OSError as error:
        raise ReleaseProblem("git is not installed, and a release is made of a commit.") from error
    if done.returncode:
        raise ReleaseProblem(f"`git {words[0]}` failed: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
