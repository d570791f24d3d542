"""A cache that stays within bounds."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.support.lru import LruCache


def test_the_longest_unused_entry_goes_first() -> None:
    """Reading counts as use, looking whether it is there does not."""
    cache: LruCache[str, int] = LruCache(2)
    cache.put("a", 1)
    cache.put("b", 2)
    assert cache.get("a") == 1
    assert "b" in cache
    cache.put("c", 3)

    assert cache.items() == [("a", 1), ("c", 3)]
    assert cache.get("b") is None


def test_what_is_too_large_pushes_nothing_out() -> None:
    """It is not kept itself, nor is the value it would replace."""
    cache: LruCache[str, str] = LruCache(9, size=5, size_of=len)
    cache.put("a", "aa")
    cache.put("b", "bb")
    cache.put("b", "far too long")

    assert cache.items() == [("a", "aa")]


def test_what_is_taken_out_makes_room() -> None:
    """Its size counts no more."""
    cache: LruCache[str, str] = LruCache(9, size=4, size_of=len)
    cache.put("a", "aaaa")

    assert cache.pop("a") == "aaaa"
    assert cache.pop("a") is None
    cache.put("b", "bbbb")
    assert len(cache) == 1


@given(st.lists(st.tuples(st.integers(0, 8), st.text(max_size=12))), st.integers(1, 5), st.integers(0, 20))
def test_bounds_hold_whatever_is_put(puts: list[tuple[int, str]], entries: int, size: int) -> None:
    """Entries and size; the latest that fits is there."""
    cache: LruCache[int, str] = LruCache(entries, size=size, size_of=len)
    for key, text in puts:
        cache.put(key, text)
        assert len(cache) <= entries
        assert sum(len(kept) for _, kept in cache.items()) <= size
        assert (cache.get(key) == text) == (len(text) <= size)
