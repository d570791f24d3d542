"""Texts kept by content: once, compressed, recoverable, and gone when discarded."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.errors import FamiliarError
from familiar_connect.support.content_store import ContentStore, hash_of


def test_a_text_is_kept_once_and_read_back(tmp_path: Path) -> None:
    """By its hash, in this process or the next."""
    objects = ContentStore(tmp_path)
    name = objects.put(b"said")

    assert (objects.put(b"said"), ContentStore(tmp_path).read(name)) == (name, b"said")
    assert list(objects.orphans(())) == [(name, b"said")]
    assert list(objects.orphans({name})) == []


def test_looking_makes_no_file(tmp_path: Path) -> None:
    """A folder nobody wrote to stays empty."""
    objects = ContentStore(tmp_path)

    with pytest.raises(FamiliarError, match="no text is stored"):
        objects.read(hash_of(b"never"))
    assert objects.discard([hash_of(b"never")]) == 0
    assert objects.compact()
    assert list(tmp_path.iterdir()) == []


def test_what_is_discarded_is_gone_from_the_file(tmp_path: Path) -> None:
    """The rest stays; the file can be closed and used again."""
    objects = ContentStore(tmp_path)
    doomed = [objects.put(bytes([number]) * 40 + b"secret") for number in range(50)]
    kept = objects.put(b"kept")

    assert (objects.discard(doomed), objects.compact()) == (50, True)
    objects.close()
    assert objects.read(kept) == b"kept"
    with pytest.raises(FamiliarError, match="no text is stored"):
        objects.read(doomed[0])


@given(st.lists(st.binary(max_size=300), max_size=8))
def test_any_bytes_come_back_as_they_were(texts: list[bytes]) -> None:
    """Empty ones too."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        objects = ContentStore(Path(folder))
        names = [objects.put(text) for text in texts]

        assert [objects.read(name) for name in names] == texts
        objects.close()
