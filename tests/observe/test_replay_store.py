"""What a turn was made of can be had again, until it is old or someone asks to be forgotten."""

from __future__ import annotations

import logging
import os
import zlib
from dataclasses import replace
from pathlib import Path

import pytest

from familiar_connect.chat.types import SimplifiedMessage, Turn
from familiar_connect.context.types import ContextItem, Contribution, Layer
from familiar_connect.errors import FamiliarError
from familiar_connect.identity import Author
from familiar_connect.llm.types import ImagePart, Message
from familiar_connect.observe import replay_store
from familiar_connect.observe.replay_store import ReplayStore, hash_messages
from familiar_connect.presets.types import ActivePreset, CardFields, Preset, PresetNode
from tests.fakes.traces import ANA, BEN, a_record


def parts(folder: Path) -> list[Path]:
    return sorted(folder.glob("objects/*/*"))


def test_a_record_comes_back_as_it_was_saved(tmp_path: Path) -> None:
    """Request, clock, seed, settings, contributions, cuts and last words: everything."""
    ReplayStore(tmp_path).save("t1", a_record("t1"))

    assert ReplayStore(tmp_path).load("t1") == a_record("t1")


def test_a_part_that_stays_the_same_is_on_disk_once(tmp_path: Path) -> None:
    """A second turn with the same character and settings adds its own history only."""
    store = ReplayStore(tmp_path)
    store.save("t1", a_record("t1"))
    before = len(parts(tmp_path))
    first = a_record("t2")
    new_history = Contribution.of(Layer.recent_history, "and then", source="history")
    store.save("t2", replace(first, kept=(first.kept[0], new_history)))

    assert len(parts(tmp_path)) == before + 1


def test_a_preset_is_on_disk_once_and_comes_back_with_every_turn(tmp_path: Path) -> None:
    """So does the card; and neither is swept while a turn names it."""
    preset = ActivePreset(preset=Preset(name="tea", prompts=(PresetNode(identifier="main", content="word " * 500),)))
    request = replace(a_record().request, preset=preset, card=CardFields(name="Wren"), seed=4)
    store = ReplayStore(tmp_path)
    before = a_record(request=request)
    for trace_id in ("t1", "t2"):
        store.save(trace_id, replace(before, trace_id=trace_id))
    count = len(parts(tmp_path))
    store.erase_person(BEN)

    assert store.load("t2").request == request
    assert count == len(parts(tmp_path)) == len(before.kept) + 3


def test_only_the_newest_turns_are_kept(tmp_path: Path) -> None:
    """Old records go as new ones come."""
    store = ReplayStore(tmp_path, keep=3)
    for number in range(6):
        store.save(f"t{number}", a_record(f"t{number}"))

    assert store.ids() == ["t5", "t4", "t3"]


def test_parts_nobody_names_any_more_are_swept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of pruned turns go once they are old enough; parts still named stay."""
    monkeypatch.setattr(replay_store, "SWEEP_AFTER", 1)
    store = ReplayStore(tmp_path, keep=1)
    only_here = Contribution.of(Layer.content, "only in the first turn", source="search")
    store.save("t1", a_record("t1", kept=(only_here, *a_record().kept)))
    for path in parts(tmp_path):
        os.utime(path, (1, 1))
    before = len(parts(tmp_path))

    store.save("t2", a_record("t2"))

    assert (len(parts(tmp_path)), store.load("t2")) == (before - 1, a_record("t2"))


def test_a_young_part_is_left_for_whoever_is_writing_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process may be about to name it."""
    monkeypatch.setattr(replay_store, "SWEEP_AFTER", 1)
    store = ReplayStore(tmp_path, keep=1)
    only_here = Contribution.of(Layer.content, "only in the first turn", source="search")
    store.save("t1", a_record("t1", kept=(only_here,)))
    store.save("t2", a_record("t2", kept=()))

    assert len(parts(tmp_path)) == 2


def test_a_turn_that_is_not_kept_is_a_clear_sentence(tmp_path: Path) -> None:
    """The message names the turn and what to do."""
    with pytest.raises(FamiliarError, match=r"no turn 't9' is kept in .* `familiar inspect`"):
        ReplayStore(tmp_path).load("t9")
    assert ReplayStore(tmp_path).find("t9") is None


@pytest.mark.parametrize("damage", ["record", "part", "lost part"])
def test_a_damaged_record_is_reported_by_name(tmp_path: Path, damage: str) -> None:
    """No parser's traceback: one sentence with the file."""
    store = ReplayStore(tmp_path)
    store.save("t1", a_record("t1"))
    if damage == "record":
        next(tmp_path.glob("turns/*")).write_bytes(b"torn")
    for path in parts(tmp_path):
        if damage == "part":
            path.write_bytes(path.read_bytes()[:-9])
        if damage == "lost part":
            path.unlink()

    with pytest.raises(FamiliarError, match=r"t1\.json\.z: this turn cannot be rebuilt"):
        store.load("t1")


@pytest.mark.parametrize("bad", ["../t1", "", ".hidden", "a/b", "a\\b", "x" * 200])
def test_an_id_cannot_lead_out_of_the_folder(tmp_path: Path, bad: str) -> None:
    """An id is a name, never a path."""
    with pytest.raises(FamiliarError, match="is not the id of a turn"):
        ReplayStore(tmp_path).load(bad)


def test_a_record_that_cannot_be_saved_is_only_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A full disk, a bad id or an odd value costs the record, not the turn; nothing said is logged."""
    (tmp_path / "traces").write_text("a file where a folder should be")
    with caplog.at_level(logging.WARNING, logger="familiar_connect"):
        ReplayStore(tmp_path / "traces").save("t1", a_record("t1"))
        ReplayStore(tmp_path).save("../t1", a_record("t1"))
        ReplayStore(tmp_path).save("t1", a_record("t1", settings={"odd": object()}))

    assert [record.getMessage() for record in caplog.records] == ["turn not kept for replay"] * 3


def test_forgetting_a_person_takes_every_turn_that_speaks_of_them(tmp_path: Path) -> None:
    """By id as speaker, by file, by name in what others said; turns without them stay, and stay whole."""
    store = ReplayStore(tmp_path)
    about_ana = Contribution(Layer.content, 85, "likes moss", 3, "people", key=ANA.slug)
    quoting = Contribution.of(Layer.recent_history, "Ben: did ANA's boat sink?", source="history")
    named = ContextItem.of("user", "hello", name="Ana")
    shown = SimplifiedMessage(id="1", author_id=ANA.user_id, author_name="someone", author_type="user")
    turn = Turn(familiar_id="wren", channel_id=7, said=(), messages=(shown,))
    with_turn = a_record(author=BEN)
    store.save("speaker", a_record(author=ANA))
    store.save("file", a_record(author=BEN, kept=(about_ana,)))
    store.save("quoted", a_record(author=BEN, kept=(quoting,)))
    store.save("item", a_record(author=BEN, kept=(Contribution(Layer.core, 1, "", 0, "h", items=(named,)),)))
    store.save("shown", replace(with_turn, request=replace(with_turn.request, turn=turn)))
    store.save("without", a_record("without", author=BEN))

    erased = store.erase_person(ANA)

    assert (erased, store.ids()) == (5, ["without"])
    assert store.load("without") == a_record("without", author=BEN)
    assert len(parts(tmp_path)) == 3


def test_forgetting_someone_called_user_does_not_mistake_roles_for_names(tmp_path: Path) -> None:
    """Our own words for roles and kinds name nobody."""
    store = ReplayStore(tmp_path)
    store.save("t1", a_record("t1", author=BEN))

    assert store.erase_person(Author("terminal", "user", "user", "Persona")) == 0


@pytest.mark.parametrize(("name", "text"), [("花子", "花子さんが来た"), ("J", "J: hi"), ("Zoë", "zoe\u0308 said so")])
def test_a_name_is_found_however_it_is_written(tmp_path: Path, name: str, text: str) -> None:
    """Without spaces, of one letter, or composed another way."""
    store = ReplayStore(tmp_path)
    store.save("t1", a_record(author=BEN, kept=(Contribution.of(Layer.core, text, source="history"),)))

    assert store.erase_person(Author("discord", "77777", None, name)) == 1


def test_a_torn_record_is_erased_rather_than_trusted(tmp_path: Path) -> None:
    """What cannot be read cannot be shown to be innocent."""
    store = ReplayStore(tmp_path)
    store.save("t1", a_record(author=BEN))
    next(tmp_path.glob("turns/*")).write_bytes(b"torn")

    assert (store.erase_person(ANA), store.ids(), parts(tmp_path)) == (1, [], [])


def test_the_hash_of_messages_sees_every_byte_sent() -> None:
    """Role, name, text and pictures all count; equal prompts have one hash."""
    prompt = [Message("user", "hi", name="Ana")]
    others = [
        [Message("user", "hi")],
        [Message("user", "hi ", name="Ana")],
        [Message("system", "hi", name="Ana")],
        [Message("user", "hi", name="Ana", media=(ImagePart("u", "image/png"),))],
    ]

    assert hash_messages(prompt) == hash_messages([Message("user", "hi", name="Ana")])
    assert hash_messages(prompt) not in map(hash_messages, others)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 900 + "1" + "}" * 900, '{"seed": Infinity}', "[]", "null"])
def test_a_record_of_hostile_make_is_reported_by_name(tmp_path: Path, text: str) -> None:
    """However deep it is nested; erasing takes it along, sweeping passes it over."""
    store = ReplayStore(tmp_path)
    store.save("t1", a_record("t1"))
    next(tmp_path.glob("turns/*")).write_bytes(zlib.compress(text.encode()))

    with pytest.raises(FamiliarError, match=r"t1\.json\.z: this turn cannot be rebuilt"):
        store.load("t1")
    assert store.erase_person(BEN) == 1
