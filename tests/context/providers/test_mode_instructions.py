"""The note of a channel's mode."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from familiar_connect.config.types import ChannelMode
from familiar_connect.context.providers.mode_instructions import (
    MAX_NOTE_BYTES,
    MODE_INSTRUCTION_PRIORITY,
    SHIPPED_NOTES,
    SPOKEN_LENGTH,
    ModeInstructionProvider,
    resolve_mode_default,
)
from familiar_connect.context.types import ItemTag, Layer, Modality
from tests.fakes.context import a_request

MODE = ChannelMode.full_rp


async def given_by(tmp_path: Path, **more: Any) -> list[tuple[str, str]]:
    provider = ModeInstructionProvider(
        modes_root=tmp_path / "modes", mode=MODE, defaults_modes_root=tmp_path / "defaults", **more
    )
    return [(c.source, c.text) for c in await provider.contribute(a_request())]


def write(tmp_path: Path, folder: str, text: str) -> None:
    (tmp_path / folder).mkdir(exist_ok=True)
    (tmp_path / folder / "full_rp.md").write_text(text, encoding="utf-8")


async def test_the_nearest_note_that_says_something_wins(tmp_path: Path) -> None:
    """The channel's backdrop, else the familiar's note of the mode, else the shipped one, else none."""
    assert await given_by(tmp_path) == []
    write(tmp_path, "defaults", " shipped\n")
    assert await given_by(tmp_path) == [("mode_instructions_default:full_rp", "shipped")]
    write(tmp_path, "modes", "own\n")
    assert await given_by(tmp_path) == [("mode_instructions:full_rp", "own")]
    assert await given_by(tmp_path, channel_backdrop_override=" A ship. ") == [("channel_backdrop:full_rp", "A ship.")]


async def test_blank_counts_as_none(tmp_path: Path) -> None:
    """At every step."""
    write(tmp_path, "modes", " \n")
    write(tmp_path, "defaults", "shipped")

    assert await given_by(tmp_path, channel_backdrop_override="  ") == [
        ("mode_instructions_default:full_rp", "shipped")
    ]


async def test_it_is_paid_by_the_author_note_layer(tmp_path: Path) -> None:
    """At eighty."""
    provider = ModeInstructionProvider(modes_root=tmp_path, mode=MODE, channel_backdrop_override="x")
    (note,) = await provider.contribute(a_request())

    assert (note.layer, note.priority, note.tag, MODE_INSTRUCTION_PRIORITY) == (
        Layer.author_note,
        80,
        ItemTag.AUTHOR_NOTE,
        80,
    )
    assert (provider.id, provider.deadline_s) == ("mode_instructions", 3.0)


async def test_a_note_that_cannot_be_read_is_passed_over(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """With a warning that names it."""
    (tmp_path / "modes").mkdir()
    (tmp_path / "modes" / "full_rp.md").write_bytes(b"\xff\xfe")
    write(tmp_path, "defaults", "shipped")
    with caplog.at_level(logging.WARNING):
        found = await given_by(tmp_path)

    assert found == [("mode_instructions_default:full_rp", "shipped")]
    assert "full_rp.md" in caplog.text


async def test_a_very_long_note_is_cut_between_characters(tmp_path: Path) -> None:
    """Even where a character takes several bytes."""
    write(tmp_path, "modes", "x" + "é" * MAX_NOTE_BYTES)
    ((_, text),) = await given_by(tmp_path)

    assert text == "x" + "é" * ((MAX_NOTE_BYTES - 1) // 2)


def test_the_default_of_a_mode_knows_no_backdrop(tmp_path: Path) -> None:
    """The familiar's note, else the shipped one, else none."""
    asked = {"modes_root": tmp_path / "modes", "mode": MODE}

    assert resolve_mode_default(**asked) is None  # type: ignore[arg-type]
    write(tmp_path, "defaults", "shipped\n")
    assert resolve_mode_default(**asked, defaults_modes_root=tmp_path / "defaults") == "shipped"  # type: ignore[arg-type]
    write(tmp_path, "modes", "own\n")
    assert resolve_mode_default(**asked, defaults_modes_root=tmp_path / "defaults") == "own"  # type: ignore[arg-type]


@pytest.mark.parametrize("mode", list(ChannelMode))
async def test_a_note_ships_for_every_mode(tmp_path: Path, mode: ChannelMode) -> None:
    """It says what the mode means, until somebody writes one; no two are alike."""
    provider = ModeInstructionProvider(modes_root=tmp_path / "modes", mode=mode, shipped=SHIPPED_NOTES)
    (note,) = await provider.contribute(a_request())
    (tmp_path / "modes").mkdir()
    (tmp_path / "modes" / f"{mode.value}.md").write_text("Mine.", encoding="utf-8")
    (own,) = await provider.contribute(a_request())

    assert (note.source, note.text) == (f"mode_instructions_shipped:{mode.value}", SHIPPED_NOTES[mode])
    assert own.text == "Mine."
    assert len(set(SHIPPED_NOTES.values())) == len(ChannelMode)
    assert resolve_mode_default(modes_root=tmp_path, mode=mode, shipped=SHIPPED_NOTES) == SHIPPED_NOTES[mode]


async def test_whoever_is_heard_is_told_to_be_brief(tmp_path: Path) -> None:
    """Where every word is spoken, and only there: a text channel's note stays as it is; so does one of the owner's."""
    mode = ChannelMode.imitate_voice
    provider = ModeInstructionProvider(modes_root=tmp_path / "modes", mode=MODE, shipped=SHIPPED_NOTES)
    (spoken,) = await provider.contribute(a_request(modality=Modality.voice))
    (tmp_path / "modes").mkdir()
    (tmp_path / "modes" / f"{mode.value}.md").write_text("Mine.", encoding="utf-8")
    (own,) = await provider.contribute(a_request(modality=Modality.voice))

    assert spoken.text == f"{SHIPPED_NOTES[mode]} {SPOKEN_LENGTH}"
    assert own.text == "Mine."


async def test_the_smallest_models_are_spared_the_note_that_ships(tmp_path: Path) -> None:
    """They have little room, and follow fewer words better; a note of the owner's is theirs to choose."""
    provider = ModeInstructionProvider(modes_root=tmp_path / "modes", mode=MODE, shipped=SHIPPED_NOTES)
    small = a_request(mode=MODE, budget_tokens=1000)
    before = await provider.contribute(small)
    write(tmp_path, "modes", "Mine.")

    assert before == []
    assert [note.text for note in await provider.contribute(small)] == ["Mine."]
