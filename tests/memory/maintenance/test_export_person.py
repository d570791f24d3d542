"""What is kept of a person can be given to them, whole."""

from __future__ import annotations

import json
import stat
import zipfile
from pathlib import Path

import pytest

from familiar_connect.errors import FamiliarError
from familiar_connect.memory.maintenance import export_person as export_module
from familiar_connect.memory.maintenance.export_person import export_person
from familiar_connect.memory.maintenance.person_lookup import find_person
from familiar_connect.memory.versioning.provenance import Provenance
from tests.fakes.sample_week import ALICE_FILE, copy_week, history_of, memory_of


def test_the_zip_holds_turns_file_versions_and_mentions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In steps, whatever their size; readable by its owner alone."""
    monkeypatch.setattr(export_module, "TURNS_AT_ONCE", 2)
    root = copy_week(tmp_path / "home")
    store, history = memory_of(root), history_of(root)
    who = find_person("Alice", familiar_id="mira", history=history, store=store)
    target = tmp_path / "alice.zip"
    done = export_person(
        who, target, familiar_id="mira", history=history, store=store, provenance=Provenance(root / "audit")
    )
    history.close()

    assert (done.turns, done.versions) == (5, 3)
    with zipfile.ZipFile(target) as archive:
        turns = [json.loads(line) for line in archive.read("turns.jsonl").splitlines()]
        mentions = [json.loads(line) for line in archive.read("mentions.jsonl").splitlines()]
        assert [turn["id"] for turn in turns] == [1, 3, 6, 8, 15]
        assert archive.read(ALICE_FILE).decode() == store.read_file(ALICE_FILE)
        assert b"lives on coffee" in archive.read("versions/0001.md")
        assert json.loads(archive.read("person.json"))["names"] == ["Alice", "alice", "alice_n"]
        assert {mention["file"] for mention in mentions} >= {"people/discord-1002.md", "topics/pixel.md"}
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


def test_an_existing_file_is_never_replaced(tmp_path: Path) -> None:
    """And a failed export leaves nothing behind."""
    root = copy_week(tmp_path / "home")
    store, history = memory_of(root), history_of(root)
    who = find_person("Alice", familiar_id="mira", history=history, store=store)
    target = tmp_path / "alice.zip"
    target.write_text("mine")

    with pytest.raises(FamiliarError, match="exists already"):
        export_person(who, target, familiar_id="mira", history=history, store=store)
    with pytest.raises(FamiliarError, match="is not a folder"):
        export_person(who, tmp_path / "no" / "x.zip", familiar_id="mira", history=history, store=store)
    history.close()
    assert target.read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["alice.zip", "home"]
