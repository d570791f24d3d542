"""The tests of this example: run them with `pytest`."""

from __future__ import annotations

from familiar_letters import is_box, is_letter, read_box, read_single

LETTER = b"From: Ada <ada@example.org>\nSubject: Tea\nDate: Mon, 01 Jun 2026 12:00:00 +0000\n\nTea at four?\n"
BOX = b"From ada\n" + LETTER + b"\nFrom wren\nFrom: Wren <wren@example.org>\n\nGladly.\n"


def test_a_box_of_letters_is_a_chat() -> None:
    """Each letter is a line, by whoever sent it."""
    lines = read_box(BOX, "tea.mbox")

    assert [(each.name, each.text) for each in lines] == [("Ada", "Tea at four?"), ("Wren", "Gladly.")]
    assert lines[0].sent is not None
    assert is_box(BOX, "tea.mbox")
    assert not is_box(b"Ada: hello", "tea.txt")


def test_a_letter_is_a_document() -> None:
    """Called by its subject."""
    assert read_single(LETTER, "tea.eml").title == "Tea"
    assert is_letter(LETTER, "tea.eml")
