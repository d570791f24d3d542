"""Facts of a stage packed for the database, and read again."""

from __future__ import annotations

import json
import zlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.observe.trace import (
    COLUMNS,
    DICTIONARY,
    FORM,
    LEAST_PACKED_CHARS,
    STEPS,
    pack_facts,
    unpack_facts,
)

VALUES = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8)
)
ROWS = st.lists(st.dictionaries(st.text(max_size=4), VALUES, max_size=3), max_size=6)
ALIKE = st.lists(st.fixed_dictionaries({"source": st.text(max_size=5), "tokens": st.integers(), "tag": VALUES}))


@given(st.dictionaries(st.text(max_size=8), VALUES | ROWS | ALIKE, max_size=8))
def test_what_was_packed_is_read_again(facts: dict[str, Any]) -> None:
    """Whatever the facts: lists of alike mappings, of unlike ones, numbers, texts and nothing."""
    assert unpack_facts(pack_facts(facts)) == json.loads(json.dumps(facts))


@given(
    st.dictionaries(st.text(max_size=8), VALUES | ROWS | ALIKE, max_size=8), st.sets(st.text(max_size=8), max_size=3)
)
def test_some_facts_are_read_as_all_of_them_are(facts: dict[str, Any], names: set[str]) -> None:
    """Those that were asked for, and no others."""
    names |= set(list(facts)[:2])
    whole = unpack_facts(pack_facts(facts))

    assert unpack_facts(pack_facts(facts), names) == {key: value for key, value in whole.items() if key in names}


def test_short_facts_stay_readable_and_long_ones_are_small() -> None:
    """Four hundred blocks of dialogue take less than a fortieth of their JSON."""
    blocks = [
        {"source": "history:recent", "tag": "DIALOGUE", "layer": "recent_history", "message": 9 + n, "tokens": n % 60}
        for n in range(400)
    ]
    packed = pack_facts({"tokens_by_block": blocks})

    assert pack_facts({"model": "smol"}) == '{"model": "smol"}'
    assert isinstance(packed, bytes)
    assert len(packed) * 40 < len(json.dumps(blocks))


@pytest.mark.parametrize("mark", [COLUMNS, STEPS])
def test_facts_that_look_packed_are_kept_as_they_are(mark: str) -> None:
    """Nothing is read as a column that was not one."""
    facts = {"x": {mark: ["a"]}, "long": "y" * LEAST_PACKED_CHARS}

    assert unpack_facts(pack_facts(facts)) == facts


@given(st.binary(max_size=60))
def test_damaged_facts_are_an_error_and_nothing_else(raw: bytes) -> None:
    """A cut, foreign or crooked value is never taken for facts."""
    whole = pack_facts({"long": "y" * LEAST_PACKED_CHARS})
    assert isinstance(whole, bytes)
    crooked = [b"[]", b'{"x":{"~columns":{"a":[1],"b":[]}}}', b'{"x":{"~columns":{"a":{"b":1}}}}']
    for stored in (raw, whole[:-3], whole[1:], *map(packed_as_it_is, crooked)):
        with pytest.raises(ValueError):  # noqa: PT011 - whatever is wrong with it
            unpack_facts(stored)


def packed_as_it_is(text: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS, zdict=DICTIONARY)
    return FORM + packer.compress(text) + packer.flush()
