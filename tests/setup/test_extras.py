"""`python3 run.py --with EXTRA`: the packages of a platform, once, and kept up to date from then on."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.setup.test_repository import package, pins, project
from tests.setup.test_run_script import Checkout, make_checkout
from tools.environment import EXTRAS, SetupProblem
from tools.installer import _what_is_added, claim_folder
from tools.launch import EXTRA_OF_VERB, extras_of_verb, missing_file, parse_extras, verb_of
from tools.lock import LOCKS, entries_beyond

POSIX = pytest.mark.skipif(os.name == "nt", reason="the stand-in checkout is driven with POSIX paths")


@pytest.mark.parametrize(
    ("words", "extras", "left"),
    [
        (["chat"], [], ["chat"]),
        (["--with", "discord", "run"], ["discord"], ["run"]),
        (["--with=twitch", "run", "--with", "x"], ["twitch"], ["run", "--with", "x"]),
        (["--with", "discord,twitch"], ["discord", "twitch"], []),
        (["--with", "discord", "--with", "twitch", "run"], ["discord", "twitch"], ["run"]),
    ],
)
def test_extras_stand_before_the_verb(words: list[str], extras: list[str], left: list[str]) -> None:
    """What follows the verb is the verb's."""
    assert parse_extras(words) == (extras, left)


@pytest.mark.parametrize(
    ("words", "verb"),
    [
        (["web"], "web"),
        (["--home", "web", "chat"], "chat"),
        (["-v", "--home=x", "web", "--port", "0"], "web"),
        (["--help"], None),
        ([], None),
    ],
)
def test_the_verb_stands_behind_the_options_of_the_program(words: list[str], verb: str | None) -> None:
    """`web` brings its own packages, so the launcher has to know it when it sees it."""
    assert verb_of(words) == verb
    assert set(EXTRA_OF_VERB.values()) <= set(EXTRAS)
    assert extras_of_verb(words) == ([verb] if verb in EXTRA_OF_VERB else [])
    assert extras_of_verb([*words, "--help"]) == [], "help installs nothing"


def test_a_file_to_listen_to_is_looked_for_before_anything_is_installed(tmp_path: Path) -> None:
    """However it is written; what is there, and what other verbs have, is none of the launcher's business."""
    there, gone = tmp_path / "there.wav", tmp_path / "gone.wav"
    there.write_bytes(b"")
    assert missing_file(["voice", "--wav", str(gone), "--out", "x"]) == str(gone)
    assert missing_file(["--home", "h", "voice", f"--script={gone}"]) == str(gone)
    assert missing_file(["voice", "--wav", str(there), "--out", str(gone)]) is None
    assert missing_file(["ask", "--wav", str(gone)]) is None
    assert missing_file(["voice", "--wav"]) is None


@POSIX
def test_a_missing_recording_installs_nothing(tmp_path: Path) -> None:
    """One sentence, exit code 2."""
    checkout = with_locks(tmp_path)
    done = checkout.run("--with", "voice", "voice", "--wav", "nope.wav", "--out", "answer.wav")
    assert done.returncode == 2
    assert done.stderr.strip() == "nope.wav cannot be read: there is no such file."
    assert not checkout.mark.exists()


@pytest.mark.parametrize("words", [["--with"], ["--with", "radio", "run"], ["--with="]])
def test_an_unknown_extra_is_a_sentence(words: list[str]) -> None:
    """It names those there are."""
    with pytest.raises(SetupProblem, match="discord, mcp, telegram, twitch"):
        parse_extras(words)


def with_locks(folder: Path) -> Checkout:
    """A checkout whose extras need the package the base has already, so that nothing else must be fetched."""
    checkout = make_checkout(folder / "a checkout", folder / "wheels")
    for extra in EXTRAS:
        (checkout.root / f"requirements-{extra}.lock").write_text((checkout.root / "requirements.lock").read_text())
    return checkout


@POSIX
def test_an_extra_is_installed_once_and_remembered(tmp_path: Path) -> None:
    """A later start without it neither loses nor repeats it; a new lock of it brings it up to date."""
    checkout = with_locks(tmp_path)
    first = checkout.run("--with", "discord", "--setup-only")
    again = checkout.run("--with", "discord", "doctor")
    without = checkout.run("doctor")
    lock = checkout.root / "requirements-discord.lock"
    lock.write_text(f"# newer\n{lock.read_text()}")
    renewed = checkout.run("doctor")
    mark = checkout.mark.read_text()
    added = checkout.run("--with", "voice", "doctor")

    assert first.returncode == 0, first.stderr
    assert (again.stderr, without.stderr) == ("", "")
    assert again.stdout.splitlines()[0] == "program glimmers doctor"
    assert "up to date" in renewed.stderr
    assert "extra-discord" in mark
    assert "extra-twitch" not in mark
    assert added.returncode == 0
    assert "extra-voice" in checkout.mark.read_text()
    assert "package" not in added.stderr, "they were there: nothing was added"


def test_what_is_added_is_said_before() -> None:
    """Which extra, how much, and that it is fetched once."""
    told = _what_is_added("/venv", ["voice"], 3)
    assert told == "Adding what voice needs to /venv: 3 packages, about 180 MB to fetch, once."


@POSIX
def test_an_unknown_extra_sets_nothing_up(tmp_path: Path) -> None:
    """One sentence, exit code 1."""
    checkout = with_locks(tmp_path)
    done = checkout.run("--with", "telepathy", "run")

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("\n") == 1
    assert not checkout.venv.exists()


@pytest.mark.parametrize("extra", EXTRAS)
def test_an_extras_lock_holds_what_the_base_lacks(extra: str) -> None:
    """What is declared is pinned with hashes, in versions the tests run with."""
    own, development = pins(f"requirements-{extra}.lock"), pins("requirements-dev.lock")
    declared = {package(one) for one in project()["project"]["optional-dependencies"][extra]}
    version = re.compile(r"==(\S+)")

    assert declared <= set(own)
    assert "://" not in "".join(own.values())
    assert [name for name, entry in own.items() if "--hash=sha256:" not in entry] == []
    assert {name: version.findall(entry) for name, entry in own.items()} == {
        name: version.findall(development[name]) for name in own
    }
    assert f"requirements-{extra}.lock" in LOCKS


def test_a_lock_beyond_another_keeps_wider_conditions() -> None:
    """The same pin under another condition is needed too."""
    base = "a==1 \\\n    --hash=sha256:00\nb==2 ; python_version < '3.12' \\\n    --hash=sha256:11\n"
    lock = base.replace(" ; python_version < '3.12'", "") + "c==3 \\\n    --hash=sha256:22\n"

    assert re.findall(r"(?m)^\w", entries_beyond(lock, base)) == ["b", "c"]


@POSIX
def test_an_environment_behind_a_link_is_left_alone(tmp_path: Path) -> None:
    """It may be another checkout's."""
    other = tmp_path / "other"
    other.mkdir()
    (other / "kept").write_text("x")
    link = tmp_path / ".venv"
    link.symlink_to(other)
    with pytest.raises(SetupProblem, match="delete the link"), claim_folder(str(link)):
        raise AssertionError("the folder was claimed")
    assert [path.name for path in other.iterdir()] == ["kept"]
