"""doctor: every trouble is a finding, and none hides another."""

from __future__ import annotations

import json
import os
import re
import socket
from pathlib import Path

import pytest

from familiar_connect.commands.doctor import run_checks
from familiar_connect.config.consent import OwnerConsent
from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.config.load import write_default_model
from familiar_connect.config.trust import TrustedOrigins
from familiar_connect.memory.store import MemoryStore
from familiar_connect.presets.store import PresetStore
from tests.fakes.model_server import error_answer, whole_answer
from tests.fakes.program import make_home, model_endpoint, run_program


def bad(home: Path) -> dict[str, str]:
    """What is wrong in *home*, by area; the last area must have been looked at."""
    findings = list(run_checks(home, None))
    assert findings[-1].area == "search"
    return {finding.area: finding.says for finding in findings if finding.state == "bad"}


def test_a_sound_familiar_has_nothing_bad(tmp_path: Path) -> None:
    """Nor anything about parts it does not have yet."""
    make_home(tmp_path)

    assert bad(tmp_path) == {}


def test_doctor_folds_what_is_fine_and_ends_with_the_next_step(tmp_path: Path) -> None:
    """The small model works, so a better one is the most useful step; --all shows every check."""
    make_home(tmp_path)
    short = run_program(tmp_path, "doctor", "--offline").stdout
    whole = run_program(tmp_path, "doctor", "--offline", "--all").stdout

    assert [line.startswith("✓") for line in short.splitlines()].count(True) == 1
    assert re.search(r"✓ \d+ checks passed: python, home, .* \(`familiar .*doctor --all` shows each\)", short)
    assert "✓ history" not in short
    assert "✓ history" in whole
    assert short.splitlines()[-1] == whole.splitlines()[-1]
    assert re.search(r"\nNothing is wrong\. Next: `familiar .*model list` shows better models", short)


def test_doctor_names_what_to_fix_first(tmp_path: Path) -> None:
    """A wrong thing comes before all that could be better."""
    root = make_home(tmp_path)
    (root / "memory" / "self" / "description.md").unlink()
    (root / "metrics.db").write_bytes(b"junk")
    done = run_program(tmp_path, "doctor", "--offline")

    assert done.returncode == 1
    assert "Next: fix ledger as the first line with ✗ says" in done.stdout


@pytest.mark.parametrize("name", ["memory", "channels", "modes"])
def test_a_file_where_a_folder_belongs_is_found(tmp_path: Path, name: str) -> None:
    """Chat cannot start with it."""
    root = make_home(tmp_path)
    if (root / name).exists():
        (root / name).rename(tmp_path / "aside")
    (root / name).write_text("no folder", encoding="utf-8")

    found = bad(tmp_path)
    assert list(found) == [name]
    assert str(root / name) in found[name]


def test_a_folder_without_rights_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever may not read or write there is told so."""
    root = make_home(tmp_path)
    monkeypatch.setattr(os, "access", lambda path, _mode: Path(path) != root / "memory")

    assert "right" in bad(tmp_path)["memory"]


def test_a_ledger_of_junk_is_found(tmp_path: Path) -> None:
    """With what to do, and that nothing said is lost."""
    root = make_home(tmp_path)
    (root / "metrics.db").write_bytes(b"no database at all " * 99)

    assert "move it away" in bad(tmp_path)["ledger"]


@pytest.mark.parametrize("error", [PermissionError(13, "Permission denied", "memory"), RuntimeError("odd")])
def test_whatever_stops_one_check_the_others_are_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """It never dies half-way."""
    make_home(tmp_path)

    def fails(*_: object) -> None:
        raise error

    monkeypatch.setattr(MemoryStore, "glob", fails)

    assert "memory" in bad(tmp_path)


def test_a_server_on_this_computer_is_knocked_at(tmp_path: Path) -> None:
    """An open door is fine, a closed one is said to be closed."""
    root = make_home(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        write_default_model(root / "character.toml", model="m", base_url=f"http://127.0.0.1:{port}/v1")
        assert bad(tmp_path) == {}
    found = bad(tmp_path)

    assert f"127.0.0.1:{port}" in found["model"]
    assert "nothing answers there" in found["model"]


def test_nobody_else_is_knocked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A remote endpoint is asked only when told to."""
    root = make_home(tmp_path)
    write_default_model(root / "character.toml", model="m", base_url="https://models.example/v1")
    TrustedOrigins(tmp_path).add("https://models.example")
    monkeypatch.setattr(socket, "create_connection", lambda *_, **__: pytest.fail("knocked"))

    (said,) = [finding.says for finding in run_checks(tmp_path, None) if finding.area == "model"]
    assert "not asked" in said


def test_each_model_is_asked_for_a_word(tmp_path: Path) -> None:
    """With its answer and the seconds it took, or the sentence of its failure; the exit code tells."""
    root = make_home(tmp_path)
    with model_endpoint(whole_answer("Hello!"), error_answer(500, "out of memory")) as server:
        write_default_model(root / "character.toml", model="m", base_url=server.base_url)
        fine = run_program(tmp_path, "doctor", "--all")
        failed = run_program(tmp_path, "doctor", "--all")
        silent = run_program(tmp_path, "doctor", "--all", "--offline")

    assert re.search(rf'all slots: m at {server.base_url} says "Hello!" after \d+\.\d s', fine.stdout)
    assert (fine.returncode, failed.returncode, silent.returncode) == (0, 1, 0)
    assert "500" in failed.stdout
    assert len(server.requests) == 2


def found(home: Path, area: str) -> tuple[str, str]:
    """State and sentence of the one finding in an area."""
    [only] = [(each.state, each.says) for each in run_checks(home, None) if each.area == area]
    return only


def without_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DISCORD_BOT", "TWITCH_CLIENT_ID", "TWITCH_TOKEN"):
        monkeypatch.delenv(name, raising=False)


def test_platforms_that_nobody_wants_are_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With what would switch each on."""
    make_home(tmp_path)
    without_tokens(monkeypatch)

    assert found(tmp_path, "discord")[0] == found(tmp_path, "twitch")[0] == "ok"
    assert "off: no DISCORD_BOT; `familiar keys set DISCORD_BOT` asks" in found(tmp_path, "discord")[1]
    assert "off: no channel; set `channel` under [twitch]" in found(tmp_path, "twitch")[1]


def test_a_platform_that_lacks_something_is_told_with_the_fix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A library for Discord, the tokens for Twitch."""
    root = make_home(tmp_path)
    without_tokens(monkeypatch)
    monkeypatch.setenv("DISCORD_BOT", "a-token")
    (root / "character.toml").write_text('[twitch]\nchannel = "ada"\n', encoding="utf-8")
    monkeypatch.setattr("familiar_connect.config.command.LAUNCHER", "not-there.py")
    monkeypatch.setattr("familiar_connect.extensions.setup.find_spec", lambda library: None)

    assert found(tmp_path, "discord")[0] == found(tmp_path, "twitch")[0] == "bad"
    assert "-m pip install 'py-cord[voice]>=2.8,<3'" in found(tmp_path, "discord")[1]
    assert "no TWITCH_CLIENT_ID and no TWITCH_TOKEN" in found(tmp_path, "twitch")[1]


def test_a_preset_that_cannot_be_used_is_found(tmp_path: Path) -> None:
    """The one in force and those of channels."""
    root = make_home(tmp_path)
    store = PresetStore(FamiliarFolder(root).presets)
    store.import_bytes("Default", b'{"prompts": [{"identifier": "main", "content": "x"}]}')
    store.use("Default")
    sound = found(tmp_path, "preset")
    (FamiliarFolder(root).presets / "Default.json").write_text("no preset", encoding="utf-8")
    (root / "channels").mkdir(exist_ok=True)
    (root / "channels" / "42.toml").write_text('mode = "full_rp"\npreset = "Gone"\n', encoding="utf-8")
    said = [each.says for each in run_checks(tmp_path, None) if each.area == "preset" and each.state == "bad"]

    assert sound == ("ok", "Default, 1 prompt, about 1 tokens")
    assert "`familiar preset off`" in said[0]
    assert "42.toml" in said[1]
    assert "--channel 42" in said[1]


def test_documents_are_counted(tmp_path: Path) -> None:
    """And whether they are searched yet."""
    root = make_home(tmp_path)
    none = found(tmp_path, "documents")
    MemoryStore(root / "memory").write_file("documents/rules.md", "The kettle is copper.", source="test")
    some = found(tmp_path, "documents")

    assert none[0] == "ok"
    assert "familiar import document FILE" in none[1]
    assert some[0] == "warn"
    assert some[1].startswith("1 in ")
    assert "familiar memory reindex" in some[1]


def test_an_open_mind_is_named_with_what_it_means(tmp_path: Path) -> None:
    """The owner chose it, and is reminded what it does."""
    root = make_home(tmp_path)
    settings = FamiliarFolder(root).settings_file
    settings.write_text('confidence = "open"\n', encoding="utf-8")
    OwnerConsent(tmp_path, root.name).allow_setting("confidence", "open")

    said = [finding.says for finding in run_checks(tmp_path, None) if finding.area == "confidence"]

    assert "the familiar may repeat direct messages and hidden channels anywhere" in "\n".join(said)


def test_a_character_without_a_description_is_noticed(tmp_path: Path) -> None:
    """The file to write is named."""
    root = make_home(tmp_path)
    for name in ("description.md", "personality.md"):
        (root / "memory" / "self" / name).write_text("\n", encoding="utf-8")

    said = [each.says for each in run_checks(tmp_path, None) if each.area == "memory" and each.state == "warn"]

    assert len(said) == 1
    assert str(root / "memory" / "self" / "description.md") in said[0]


def test_a_preset_too_large_for_the_model_is_noticed(tmp_path: Path) -> None:
    """With both numbers, and how to make it smaller."""
    root = make_home(tmp_path)
    (root / "character.toml").write_text('[llm.default]\nmodel = "embedded"\nwindow = 2048\n', encoding="utf-8")
    prompts = [{"identifier": "main", "name": "Main", "role": "system", "content": "Speak of tea. " * 800}]
    order = [{"character_id": 100001, "order": [{"identifier": "main", "enabled": True}]}]
    store = PresetStore(FamiliarFolder(root).presets)
    store.import_bytes("Large", json.dumps({"prompts": prompts, "prompt_order": order}).encode())
    store.use("Large")

    said = [each.says for each in run_checks(tmp_path, None) if each.area == "preset" and each.state == "warn"]

    assert len(said) == 1
    assert "2,048" in said[0]
    assert "preset toggle" in said[0]


@pytest.mark.parametrize(
    ("file", "area"), [("history.db", "history"), ("chats.toml", "chats"), ("memory/.index/turns.sqlite", "index")]
)
def test_a_broken_store_is_found(tmp_path: Path, file: str, area: str) -> None:
    """Whichever it is, with its file."""
    root = make_home(tmp_path)
    path = root / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"[[chat]]\nnothing = 1\n" * 99)

    assert str(path) in bad(tmp_path)[area]
