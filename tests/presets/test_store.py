"""Presets on disk: kept byte for byte, switched by their owner, in force where they are meant to be."""

from __future__ import annotations

import json
import logging
import os
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from familiar_connect.errors import PresetError
from familiar_connect.presets.prompt_order import nodes_of
from familiar_connect.presets.store import MAX_CACHED, MAX_VERSIONS, STATE_NAME, PresetStore
from familiar_connect.presets.types import PresetFidelity


def a_preset(text: str = "Be kind.", **more: Any) -> bytes:
    prompts = [
        {"identifier": "main", "name": "Main", "content": text},
        {"identifier": "b", "name": "B", "content": "b"},
    ]
    order = [{"identifier": "main", "enabled": True}, {"identifier": "b", "enabled": False}]
    document = {"prompts": prompts, "prompt_order": [{"character_id": 100001, "order": order}], **more}
    return json.dumps(document).encode()


@pytest.fixture
def store(tmp_path: Path) -> PresetStore:
    return PresetStore(tmp_path / "presets")


def text_of(store: PresetStore, channel: str | None = None) -> str | None:
    found = store.lookup(channel)
    return None if found is None else found.prompts[0].content


def switches(store: PresetStore, name: str) -> dict[str, bool]:
    nodes = nodes_of(store.get(name), PresetFidelity.with_memory)
    return {node.identifier: node.is_enabled for node in nodes}


# --- bringing one in ---


def test_an_import_keeps_every_byte_and_puts_it_in_force(store: PresetStore, tmp_path: Path) -> None:
    """C20: however it is written."""
    raw = b"\xef\xbb\xbf" + a_preset() + b"\r\n  \n"
    report = store.import_bytes("明月秋青", raw)

    assert (report.outcome, report.name) == ("imported", "明月秋青")
    assert (tmp_path / "presets" / "明月秋青.json").read_bytes() == raw == store.raw("明月秋青")
    assert store.active() == "明月秋青"
    assert text_of(store) == "Be kind."


@given(st.text(max_size=40), st.text(max_size=20))
@example("", "0.json")
def test_whatever_is_imported_comes_back(tmp_path_factory: pytest.TempPathFactory, text: str, name: str) -> None:
    """Under one plain file in the folder, whatever it is called."""
    folder = tmp_path_factory.mktemp("presets")
    raw = a_preset(text)
    try:
        report = PresetStore(folder).import_bytes(name, raw)
    except PresetError:
        return

    assert PresetStore(folder).raw(report.name) == raw
    assert PresetStore(folder).names() == [report.name]
    assert [path.name for path in folder.glob("*.json") if path.name[0] != "."] == [f"{report.name}.json"]


def test_the_same_bytes_again_change_nothing(store: PresetStore, tmp_path: Path) -> None:
    """Not the file, not the toggles; it is in force again, though."""
    store.import_bytes("a", a_preset())
    store.toggle("a", "b")
    store.use_none()
    before = (tmp_path / "presets" / "a.json").stat()
    report = store.import_bytes("a", a_preset())

    assert report.outcome == "unchanged"
    assert (tmp_path / "presets" / "a.json").stat().st_mtime_ns == before.st_mtime_ns
    assert switches(store, "a")["b"]
    assert store.active() == "a"


def test_another_preset_of_the_name_needs_a_word(store: PresetStore, tmp_path: Path) -> None:
    """Then the earlier file is kept, and toggles that were meant for it are let go."""
    store.import_bytes("a", a_preset("first"))
    store.toggle("a", "b")
    with pytest.raises(PresetError, match="--overwrite"):
        store.import_bytes("A", a_preset("second"))
    assert text_of(store) == "first"
    report = store.import_bytes("a", a_preset("second"), overwrite=True)

    assert (report.outcome, report.kept_as) == ("replaced", ".versions/a/1.json")
    assert (tmp_path / "presets" / report.kept_as).read_bytes() == a_preset("first")
    assert text_of(store) == "second"
    assert not switches(store, "a")["b"]


def test_only_so_many_versions_are_kept(store: PresetStore, tmp_path: Path) -> None:
    """The oldest go."""
    for number in range(MAX_VERSIONS + 3):
        store.import_bytes("a", a_preset(str(number)), overwrite=True)
    kept = sorted(int(path.stem) for path in (tmp_path / "presets" / ".versions" / "a").iterdir())

    assert kept == list(range(3, MAX_VERSIONS + 3))


def test_what_is_no_preset_leaves_nothing(store: PresetStore, tmp_path: Path) -> None:
    """Not even a folder."""
    with pytest.raises(PresetError):
        store.import_bytes("a", b"[]")

    assert not (tmp_path / "presets").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="rights mean nothing to root")
def test_a_folder_that_cannot_be_written_is_told(store: PresetStore, tmp_path: Path) -> None:
    """In one sentence, with nothing changed."""
    (tmp_path / "presets").mkdir()
    (tmp_path / "presets").chmod(0o500)

    with pytest.raises(PresetError, match="cannot be written"):
        store.import_bytes("a", a_preset())


def test_a_folder_that_is_a_file_is_told(tmp_path: Path) -> None:
    """Reading finds none there; writing says why not."""
    (tmp_path / "presets").write_text("x")
    store = PresetStore(tmp_path / "presets")

    assert (store.names(), store.active(), store.lookup(None)) == ([], None, None)
    with pytest.raises(PresetError, match="cannot be written"):
        store.import_bytes("a", a_preset())


# --- choosing ---


def test_one_at_most_is_in_force(store: PresetStore) -> None:
    """Chosen by name, in any case of letters, and put away again."""
    store.import_bytes("Alpha", a_preset("A"))
    store.import_bytes("Beta", a_preset("B"))

    assert (store.names(), store.active()) == (["Alpha", "Beta"], "Beta")
    assert store.use("alpha") == "Alpha"
    assert text_of(store) == "A"
    store.use_none()
    assert (store.active(), store.lookup(None)) == (None, None)


def test_a_channel_may_have_its_own_or_none(store: PresetStore) -> None:
    """Whatever the familiar's is."""
    store.import_bytes("a", a_preset("A"))
    store.import_bytes("b", a_preset("B"))

    assert [text_of(store, channel) for channel in (None, "a", "B.json", "", " None ")] == ["B", "A", "B", None, None]


def test_an_unknown_name_is_told_with_the_nearest(store: PresetStore) -> None:
    """Or with the way to bring one in."""
    with pytest.raises(PresetError, match="preset import"):
        store.use("x")
    store.import_bytes("Default", a_preset())

    with pytest.raises(PresetError, match="did you mean 'Default'"):
        store.use("Defalt")
    for name in ("../../x", "/etc/passwd", "a\0b", "\ud800", ""):
        with pytest.raises(PresetError, match="there is no preset"):
            store.get(name)


def test_deleting_the_one_in_force_promotes_the_next(store: PresetStore, tmp_path: Path) -> None:
    """By name; behind the last comes the one before it. Its file is kept among the versions."""
    for name in ("a", "b", "c"):
        store.import_bytes(name, a_preset(name))
    store.use("b")

    assert store.delete("b") == "c"
    assert store.delete("c") == "a"
    assert store.delete("a") is None
    assert (store.names(), store.active(), store.lookup(None)) == ([], None, None)
    assert (tmp_path / "presets" / ".versions" / "b" / "1.json").read_bytes() == a_preset("b")


def test_deleting_another_changes_nothing_else(store: PresetStore) -> None:
    """And its toggles go with it."""
    store.import_bytes("a", a_preset())
    store.toggle("a", "b", True)
    store.import_bytes("c", a_preset())

    assert store.delete("a") == "c"
    store.import_bytes("a", a_preset())
    assert not switches(store, "a")["b"]


# --- switching ---


def test_a_node_is_switched_over_on_or_off(store: PresetStore) -> None:
    """By identifier, number or name; it lasts."""
    store.import_bytes("a", a_preset())

    assert store.toggle("a", "b") is True
    assert store.toggle("a", "2") is False
    assert store.toggle("a", "MAIN", False) is False
    assert store.toggle("a", "main", False) is False
    assert switches(store, "a") == {"main": False, "b": False}
    found = store.lookup(None)
    assert found is not None
    assert [(each.identifier, each.enabled) for each in found.toggles] == [("b", False), ("main", False)]


def test_a_node_that_is_not_there_is_told(store: PresetStore) -> None:
    """With where to look; so nothing gathers in the file."""
    store.import_bytes("a", a_preset())

    with pytest.raises(PresetError, match="no node 'zzz'"):
        store.toggle("a", "zzz")


def test_switches_of_many_hands_are_all_kept(tmp_path: Path) -> None:
    """Several stores on one folder, as the program and the command line are."""
    prompts = [{"identifier": f"n{number}", "content": "x"} for number in range(24)]
    PresetStore(tmp_path).import_bytes("a", json.dumps({"prompts": prompts}).encode())

    def switch(numbers: range) -> None:
        store = PresetStore(tmp_path)
        for number in numbers:
            store.toggle("a", f"n{number}", False)

    hands = [threading.Thread(target=switch, args=(range(start, 24, 4),)) for start in range(4)]
    for hand in hands:
        hand.start()
    for hand in hands:
        hand.join()

    assert not any(switches(PresetStore(tmp_path), "a").values())


# --- looking up, turn after turn ---


def test_the_same_preset_is_read_once(store: PresetStore) -> None:
    """As long as nothing changes, it is the same object; "none" is remembered too."""
    assert store.lookup(None) is None
    store.import_bytes("a", a_preset())

    assert store.lookup(None) is store.lookup(None)
    assert store.lookup("a") is store.lookup("a")


def test_a_change_by_hand_or_by_another_process_is_noticed(store: PresetStore, tmp_path: Path) -> None:
    """At the next look."""
    store.import_bytes("a", a_preset("before"))
    assert text_of(store) == "before"
    (tmp_path / "presets" / "a.json").write_bytes(a_preset("written by hand"))
    assert text_of(store) == "written by hand"
    (tmp_path / "presets" / "b.json").write_bytes(a_preset("put there"))
    PresetStore(tmp_path / "presets").use("b")

    assert text_of(store) == "put there"
    PresetStore(tmp_path / "presets").use_none()
    assert store.lookup(None) is None


@pytest.mark.parametrize("broken", ["a.json", STATE_NAME])
def test_a_file_that_cannot_be_read_serves_what_it_held(
    store: PresetStore, tmp_path: Path, caplog: pytest.LogCaptureFixture, broken: str
) -> None:
    """With one warning, not one a turn; once mended it is read again."""
    store.import_bytes("a", a_preset("good"))
    good = store.lookup(None)
    path = tmp_path / "presets" / broken
    kept = path.read_bytes()
    path.write_bytes(b"{ half a fi")
    with caplog.at_level(logging.WARNING):
        assert [store.lookup(None) for _ in range(3)] == [good] * 3

    assert [record.message for record in caplog.records] == ["a preset cannot be read, what is known of it is used"]
    path.write_bytes(kept.replace(b"good", b"mended"))
    assert text_of(store) == ("mended" if broken == "a.json" else "good")


def test_a_write_does_not_lose_what_was_good(store: PresetStore, tmp_path: Path) -> None:
    """Another preset is brought in while this one's file is broken."""
    store.import_bytes("a", a_preset("good"))
    assert text_of(store, "a") == "good"
    (tmp_path / "presets" / "a.json").write_bytes(b"broken")
    store.import_bytes("b", a_preset())

    assert text_of(store, "a") == "good"


def test_a_preset_that_is_gone_is_none(store: PresetStore, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Removed by hand, or named by a channel and never there; told once."""
    store.import_bytes("a", a_preset())
    store.lookup(None)
    (tmp_path / "presets" / "a.json").unlink()
    with caplog.at_level(logging.WARNING):
        assert [store.lookup(key) for key in (None, "ghost", None, "ghost")] == [None] * 4

    assert len(caplog.records) == 2
    assert store.active() is None


def test_what_is_remembered_is_bounded(store: PresetStore) -> None:
    """However many names channels come up with."""
    for number in range(MAX_CACHED * 2):
        store.lookup(f"ghost {number}")

    assert len(store._cache) == MAX_CACHED


@pytest.mark.parametrize("state", ["{", "[]", "7", "[" * 99_999, '"a"'])
def test_a_state_that_cannot_be_understood_is_told_with_the_fix(store: PresetStore, tmp_path: Path, state: str) -> None:
    """It is never overwritten, and no preset is in force meanwhile."""
    store.import_bytes("a", a_preset())
    (tmp_path / "presets" / STATE_NAME).write_text(state)

    with pytest.raises(PresetError, match="delete it"):
        store.use("a")
    assert (tmp_path / "presets" / STATE_NAME).read_text() == state
    assert PresetStore(tmp_path / "presets").lookup(None) is None


@pytest.mark.parametrize(
    "state", ['{"active": "../secret", "toggles": {"a": 7}}', '{"active": ["a"], "toggles": 3}', '{"active": ".state"}']
)
def test_a_state_that_names_something_else_leads_nowhere(store: PresetStore, tmp_path: Path, state: str) -> None:
    """Neither outside nor to a hidden file; what does not fit is passed over."""
    (tmp_path / "secret.json").write_bytes(a_preset("secret"))
    store.import_bytes("a", a_preset())
    (tmp_path / "presets" / STATE_NAME).write_text(state)

    assert store.lookup(None) is None
    assert store.use("a") == "a"


def test_other_things_in_the_folder_are_left_alone(store: PresetStore, tmp_path: Path) -> None:
    """Folders, hidden files and files of other kinds are no presets."""
    store.import_bytes("a", a_preset())
    (tmp_path / "presets" / "folder.json").mkdir()
    (tmp_path / "presets" / ".hidden.json").write_bytes(a_preset())
    (tmp_path / "presets" / "notes.txt").write_text("x")

    assert store.names() == ["a"]
