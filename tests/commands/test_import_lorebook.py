"""A lorebook into memory and back, on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from familiar_connect.bootstrap.starter import make_starter
from familiar_connect.commands.help_lines import HELP_OPTIONS
from familiar_connect.commands.lorebooks import export_lorebook, import_lorebook
from familiar_connect.errors import FamiliarError
from tests.fakes.program import make_home, run_program

BOOK: dict[str, Any] = {
    "name": "Eldoria",
    "entries": {
        "0": {"uid": 0, "key": ["glade"], "comment": "Glade", "content": "Safe.", "order": 5},
        "1": {"uid": 1, "key": [], "comment": "Off", "content": "Hidden.", "disable": True},
    },
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    make_starter(tmp_path, "wren")
    (tmp_path / "book.json").write_text(json.dumps(BOOK))
    return tmp_path


def call(home: Path, command: click.Command, *words: str) -> Result:
    return CliRunner().invoke(
        command, list(words), obj={"home": home}, standalone_mode=False, help_option_names=HELP_OPTIONS
    )


def test_a_lorebook_goes_in_and_comes_out_again(home: Path) -> None:
    """The file written last is the file read first, as data."""
    taken = call(home, import_lorebook, str(home / "book.json"))
    given = call(home, export_lorebook, "-o", str(home / "out.json"))

    assert (taken.return_value, given.return_value) == (0, 0)
    assert "1 written to lore/imported of wren" in taken.output
    assert (home / "familiars/wren/memory/lore/imported/glade.md").is_file()
    assert json.loads((home / "out.json").read_text()) == BOOK


def test_import_again_says_what_to_do(home: Path) -> None:
    """Nothing is replaced without being told to."""
    call(home, import_lorebook, str(home / "book.json"))
    again = call(home, import_lorebook, str(home / "book.json"))
    forced = call(home, import_lorebook, str(home / "book.json"), "--force", "--json")

    assert "0 written" in again.output
    assert "--force" in again.output
    counts = {"entries": 2, "constant": 0, "keyed": 1, "by_search": 0, "off": 1}
    taken = {"written": ["lore/imported/glade.md"], "skipped": [], "errors": []}
    assert json.loads(forced.output) == {**taken, "entries": counts}
    assert "2 entries: 0 constant (pinned, always in the prompt), 1 with keys, 0 without" in again.output
    assert "1 off (without a file; back on export)" in again.output


def test_entries_that_cannot_be_taken_end_it_with_one(home: Path) -> None:
    """The rest is taken."""
    (home / "book.json").write_text(json.dumps({"entries": [None, {"comment": "Fine", "content": "Yes."}]}))
    result = call(home, import_lorebook, str(home / "book.json"))

    assert result.return_value == 1
    assert "1 not imported" in result.output
    assert (home / "familiars/wren/memory/lore/imported/fine.md").is_file()


def test_export_without_a_file_prints_json(home: Path) -> None:
    """For a pipe; --folder chooses what is exported."""
    call(home, import_lorebook, str(home / "book.json"), "--folder", "lore/elsewhere")
    result = call(home, export_lorebook, "--folder", "lore/elsewhere")
    by_name = call(home, export_lorebook, "--folder", "lore/elsewhere", "-o", "-")

    assert json.loads(result.output) == json.loads(by_name.output) == BOOK


@pytest.mark.parametrize("words", [(), ("--folder", "lore/none"), ("--folder", "../../..")])
def test_nothing_to_export_is_told(home: Path, words: tuple[str, ...]) -> None:
    """One sentence, whatever the folder."""
    result = call(home, export_lorebook, *words)

    assert isinstance(result.exception, FamiliarError)


def test_a_file_that_is_no_lorebook_is_told(home: Path) -> None:
    """And nothing is made for it."""
    result = call(home, import_lorebook, str(home / "familiars/wren/character.toml"))

    assert isinstance(result.exception, FamiliarError)
    assert not (home / "familiars/wren/memory/lore").exists()


def test_a_preset_is_sent_to_its_own_door(home: Path) -> None:
    """With the command that takes it."""
    (home / "preset.json").write_text('{"prompts": []}')

    assert "familiar preset import" in str(call(home, import_lorebook, str(home / "preset.json")).exception)


def test_a_card_without_lore_is_told_apart(tmp_path: Path) -> None:
    """It is brought in by another verb, which is named."""
    make_home(tmp_path)
    card = tmp_path / "bryn.json"
    card.write_text('{"spec": "chara_card_v2", "data": {"name": "Bryn", "first_mes": "Hello."}}', encoding="utf-8")
    done = run_program(tmp_path, "import", "lorebook", str(card))

    assert done.returncode == 1
    assert "it is a card without one: `familiar init --from-card FILE`" in " ".join(done.stderr.split())
