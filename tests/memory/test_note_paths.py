"""Archive files have names one can guess, and lead back to the file they belong to."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.memory.note_paths import archive_path, is_archive, original_path


def test_an_archive_stands_beside_its_file() -> None:
    """The first without a number."""
    assert archive_path("people/discord-1.md") == "people/discord-1.archive.md"
    assert archive_path("people/discord-1.md", 2) == "people/discord-1.archive-2.md"
    assert not is_archive("topics/archive.md")
    assert not is_archive("topics/my-archive.md")


@given(st.from_regex(r"(people|topics)/[a-z0-9-]{1,20}", fullmatch=True), st.integers(1, 9_999))
def test_every_archive_leads_back_to_its_file(stem: str, number: int) -> None:
    """And no other file counts as one."""
    path = archive_path(f"{stem}.md", number)

    assert is_archive(path)
    assert original_path(path) == f"{stem}.md"
    assert original_path(f"{stem}.md") == f"{stem}.md"
