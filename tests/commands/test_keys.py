"""keys: kept by name, in the owner's file, never shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.fakes.program import one_sentence, run_program

SECRET = "sk-or-1234567890"


def test_a_key_is_set_listed_and_removed(tmp_path: Path) -> None:
    """Under the name of its variable, or of the service."""
    kept = run_program(tmp_path, "keys", "set", "openrouter", said=SECRET + "\n")
    listed = run_program(tmp_path, "keys")
    removed = run_program(tmp_path, "keys", "remove", "OPENROUTER_API_KEY")

    assert kept.returncode == 0
    assert (tmp_path / "secrets.env").stat().st_mode & 0o077 == 0
    assert "OPENROUTER_API_KEY  secrets.env  goes to https://openrouter.ai" in listed.stdout
    assert "Removed" in removed.stdout
    assert (tmp_path / "secrets.env").read_text(encoding="utf-8") == ""
    assert SECRET not in kept.stdout + kept.stderr + listed.stdout + removed.stdout


def test_other_lines_stay(tmp_path: Path) -> None:
    """Comments and keys of the owner's own."""
    file = tmp_path / "secrets.env"
    file.write_text("# mine\nMY_KEY=one\nDISCORD_BOT=two\n", encoding="utf-8")
    file.chmod(0o600)

    run_program(tmp_path, "keys", "remove", "discord")
    run_program(tmp_path, "keys", "set", "MY_KEY", said="three")

    assert file.read_text(encoding="utf-8") == "# mine\nMY_KEY=three\n"


def test_a_key_of_the_environment_is_said_to_be(tmp_path: Path) -> None:
    """It comes first, and is not ours to remove."""
    env = {"DISCORD_BOT": "token"}
    rows = json.loads(run_program(tmp_path, "keys", "list", "--json", env=env).stdout)
    removed = run_program(tmp_path, "keys", "remove", "discord", env=env)
    kept = run_program(tmp_path, "keys", "set", "discord", said="other", env=env)

    assert [(row["name"], row["from"]) for row in rows] == [("DISCORD_BOT", "environment")]
    assert "unset it there" in one_sentence(removed)
    assert "comes first" in one_sentence(kept)


def test_a_key_for_a_server_of_ones_own_is_told_the_way(tmp_path: Path) -> None:
    """It goes nowhere until it is bound."""
    done = run_program(tmp_path, "keys", "set", "MY_SERVER_KEY", said=SECRET)

    assert "--key-env MY_SERVER_KEY" in done.stdout


@pytest.mark.parametrize("name", [SECRET, "FAMILIAR_HOME", "two words", "ÄÖ"])
def test_a_key_typed_in_place_of_its_name_is_not_repeated(tmp_path: Path, name: str) -> None:
    """It is refused in one sentence, and nothing is written."""
    done = run_program(tmp_path, "keys", "set", name, said="value")

    assert done.returncode == 1
    assert "never by the key" in one_sentence(done)
    assert SECRET not in done.stderr
    assert not (tmp_path / "secrets.env").exists()


def test_nothing_to_keep_is_refused(tmp_path: Path) -> None:
    """An empty input, or two lines."""
    empty = run_program(tmp_path, "keys", "set", "MY_KEY", said="\n")
    two = run_program(tmp_path, "keys", "set", "MY_KEY", said="a\nb\n")

    assert (empty.returncode, two.returncode) == (1, 1)
    assert "no key was given: type it when `familiar keys set MY_KEY` asks" in empty.stderr
    assert "No key is kept" in run_program(tmp_path, "keys").stdout


def test_a_key_behind_its_name_is_refused_and_not_repeated(tmp_path: Path) -> None:
    """The shell keeps what is typed; nothing is written."""
    done = run_program(tmp_path, "keys", "set", "openrouter", "sk-secret-1234")

    assert done.returncode == 2
    assert "`familiar keys set openrouter` asks for it" in " ".join(done.stderr.split())
    assert "sk-secret" not in done.stdout + done.stderr
    assert not (tmp_path / "secrets.env").exists()
