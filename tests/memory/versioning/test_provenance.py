"""What is known of where each part of a memory file came from."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.memory.versioning.provenance import Provenance, part_hash, parts_of
from familiar_connect.memory.writing.plan import PartSource

PAGE = """# Alice
A friend
of tea.

## Notes
- Moved to Lyon.
  In spring.
* Sings.

Another paragraph.
"""


@pytest.fixture
def provenance(tmp_path: Path) -> Provenance:
    return Provenance(tmp_path / "audit")


def test_a_page_falls_into_bullets_and_paragraphs() -> None:
    """Each with the heading it stands under; headings and blank lines are no parts."""
    parts = [(part.heading, part.text) for part in parts_of(PAGE)]

    assert parts == [
        ("Alice", "A friend\nof tea."),
        ("Notes", "Moved to Lyon.\n  In spring."),
        ("Notes", "Sings."),
        ("Notes", "Another paragraph."),
    ]


def test_a_part_is_known_by_its_words() -> None:
    """Spacing and the bullet do not matter; the words do."""
    assert part_hash("- Moved  to\nLyon.") == part_hash("Moved to Lyon.") != part_hash("Moved to Paris.")


@given(st.text(alphabet="ab#-* \n\r`", max_size=80))
def test_parts_say_where_they_stand(page: str) -> None:
    """The place of a part holds exactly its words, whatever the page."""
    assert all(page[part.start : part.end] == part.text for part in parts_of(page))


def test_sources_add_up(provenance: Provenance) -> None:
    """Turns of later passes join those of earlier ones; other files are not touched."""
    provenance.record("people/a.md", [PartSource(part="p", turns=(3, 1)), PartSource(part="q", turns=())], "r1")
    provenance.record("people/a.md", [PartSource(part="p", turns=(2,))], "r2")
    provenance.record("people/b.md", [PartSource(part="p", turns=(9,))], "r2")

    assert provenance.sources_of("people/a.md") == {"p": (1, 2, 3)}


def test_many_parts_are_kept_in_bounded_lines(provenance: Provenance) -> None:
    """No line grows without end."""
    provenance.record("a.md", [PartSource(part=f"p{n}", turns=tuple(range(1, 500))) for n in range(1000)], "r")

    assert len(provenance.sources_of("a.md")) == 1000
    assert max(map(len, provenance.path.read_text().splitlines())) < 20_000


def test_erasing_turns_and_files(provenance: Provenance) -> None:
    """Neither a turn nor a file that is gone is mentioned any more."""
    provenance.record("people/a.md", [PartSource(part="p", turns=(1, 2)), PartSource(part="q", turns=(1,))], "r")
    provenance.record("people/b.md", [PartSource(part="p", turns=(5,))], "r")
    provenance.erase(turn_ids=[1])
    left = provenance.sources_of("people/a.md")
    provenance.erase(rel_path="people/b.md")

    assert left == {"p": (2,)}
    assert provenance.sources_of("people/b.md") == {}
    assert "people/b.md" not in provenance.path.read_text()


def test_a_line_cut_short_by_a_crash_costs_itself_only(provenance: Provenance) -> None:
    """The next record starts a line of its own."""
    provenance.record("a.md", [PartSource(part="p", turns=(1,))], "r")
    with open(provenance.path, "ab") as file:
        file.write(b'{"file":"a.md","par')
    provenance.record("a.md", [PartSource(part="q", turns=(2,))], "r")

    assert provenance.sources_of("a.md") == {"p": (1,), "q": (2,)}


def test_nothing_recorded_is_nothing_known(provenance: Provenance) -> None:
    """Asking makes no file."""
    assert provenance.sources_of("a.md") == {}
    assert not provenance.path.exists()
