"""init --from-card, chat --greeting, export card: a card in, a talk, a card out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from familiar_connect.bootstrap.cards import load_card
from familiar_connect.commands.import_export import EXPORTS, IMPORTS
from tests.fakes.cards import V2, V3, card_picture, charx
from tests.fakes.model_server import stream_answer
from tests.fakes.program import make_home, model_endpoint, one_sentence, run_program


def a_file(tmp_path: Path, name: str = "Mira.png", data: bytes | None = None) -> str:
    path = tmp_path / name
    path.write_bytes(card_picture(V2) if data is None else data)
    return str(path)


def test_a_card_becomes_a_familiar_that_talks_at_once(tmp_path: Path) -> None:
    """With the greeting that was chosen before the model's eyes."""
    with model_endpoint(stream_answer("Mind the stairs.")) as server:
        made = run_program(tmp_path, "init", "--from-card", a_file(tmp_path))
        with (tmp_path / "familiars" / "mira" / "character.toml").open("a", encoding="utf-8") as settings:
            settings.write(f'\n[llm.main_prose]\nmodel = "m"\nbase_url = "{server.base_url}"\n')
        done = run_program(tmp_path, "chat", "--familiar", "mira", "--plain", "--greeting", "1", said="hello\n")
        seen = str(server.requests)

    assert made.returncode == 0, made.stderr
    assert "memory/self/description.md" in made.stdout
    assert "2 pieces of lore" in made.stdout
    assert "greetings                    3" in made.stdout
    assert (done.returncode, done.stdout) == (0, "Who is there?\nMind the stairs.\n"), done.stderr
    assert "Who is there?" in seen
    assert "A lighthouse keeper." in seen
    assert "rainy evenings" not in seen


def test_again_the_same_card_and_then_another(tmp_path: Path) -> None:
    """Nothing, a refusal, and with the word the change."""
    first, other = a_file(tmp_path), a_file(tmp_path, "other.charx", charx(V3))
    run_program(tmp_path, "init", "mira", "--from-card", first)

    again = run_program(tmp_path, "init", "mira", "--from-card", first)
    refused = run_program(tmp_path, "init", "mira", "--from-card", other)
    changed = run_program(tmp_path, "init", "mira", "--from-card", other, "--overwrite")
    log = run_program(tmp_path, "memory", "log", "--familiar", "mira")
    assert (again.returncode, refused.returncode, changed.returncode) == (0, 1, 0)
    assert "nothing was changed" in again.stdout
    assert "--overwrite" in one_sentence(refused)
    assert "character_card_unpacker" in log.stdout


@pytest.mark.parametrize("data", [b"not a card", b"\x89PNG\r\n\x1a\n", b"[]", b'{"name": "x", ' + b'"a": [' * 10_000])
def test_no_card_leaves_nothing_behind(tmp_path: Path, data: bytes) -> None:
    """One sentence with the file's name."""
    done = run_program(tmp_path, "init", "mira", "--from-card", a_file(tmp_path, "bad.png", data))

    assert done.returncode == 1
    assert "bad.png" in one_sentence(done)
    assert not (tmp_path / "familiars").exists()


def test_options_that_do_not_go_together_are_told(tmp_path: Path) -> None:
    """With what to do instead."""
    assert "--from-card" in one_sentence(run_program(tmp_path, "init", "mira", "--overwrite"))
    assert "name.md" in one_sentence(run_program(tmp_path, "init", "--from-card", a_file(tmp_path), "--name", "M"))


def test_a_folder_that_an_export_makes_is_named(tmp_path: Path) -> None:
    """Only where it makes one."""
    make_home(tmp_path)
    target = tmp_path / "new" / "deep" / "ember.json"
    first = run_program(tmp_path, "export", "card", "-o", str(target))
    again = run_program(tmp_path, "export", "card", "-o", str(target))

    assert first.stdout.startswith(f"Making the folder {target.parent}.\nWrote {target}")
    assert again.stdout.startswith(f"Wrote {target}")


def test_a_character_is_exported_as_picture_json_and_archive(tmp_path: Path) -> None:
    """Each reads back; without a place it goes to the home."""
    run_program(tmp_path, "init", "mira", "--from-card", a_file(tmp_path))
    wanted = load_card(json.dumps(V2))
    for name in ("out.png", "out.json", "out.charx"):
        done = run_program(tmp_path, "export", "card", "-o", str(tmp_path / name))
        assert done.returncode == 0, done.stderr
        assert load_card(tmp_path / name).description == wanted.description
    on_screen = run_program(tmp_path, "export", "card", "-o", "-")
    at_home = run_program(tmp_path, "export", "card", cwd=tmp_path)

    assert load_card(on_screen.stdout) == wanted == load_card(tmp_path / "out.png")
    assert load_card(tmp_path / "exports" / "mira.png") == wanted
    assert "exports" in at_home.stdout
    assert ".charx" in one_sentence(run_program(tmp_path, "export", "card", "-o", str(tmp_path / "out.webp")))
    assert not (tmp_path / "out.webp").exists()
    assert "--format" in one_sentence(run_program(tmp_path, "export", "card", "--format", "png", "-o", "-"))


@pytest.mark.parametrize(
    ("verb", "kind"), [*(("import", kind) for kind in IMPORTS), *(("export", kind) for kind in EXPORTS)]
)
def test_every_kind_explains_itself(tmp_path: Path, verb: str, kind: str) -> None:
    """With --help, exit code 0, and a line in the group's help."""
    assert run_program(tmp_path, verb, kind, "--help").returncode == 0
    assert kind in run_program(tmp_path, verb, "--help").stdout
