"""A World Info entry as a form: what the form leaves alone stays as the file had it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.errors import MemoryStoreError
from familiar_connect.memory.lorebooks.book_shelf import DEFAULTS, with_entry_defaults
from familiar_connect.memory.lorebooks.entry_fields import BY_NAME, entry_with, fields_of, read_entry_form
from familiar_connect.memory.maintenance.field_merge import form_state, merge_fields, read_form_state

PLAIN = st.one_of(st.none(), st.booleans(), st.integers(-3, 300), st.floats(0, 9), st.text(max_size=12))
ENTRIES = st.dictionaries(st.sampled_from(sorted(DEFAULTS)), st.one_of(PLAIN, st.lists(PLAIN, max_size=3)))


@given(ENTRIES)
def test_an_untouched_form_changes_nothing(found: dict[str, Any]) -> None:
    """However odd the values of the file are, and after a browser sent them back with its own line ends."""
    entry = with_entry_defaults(found)
    fields = fields_of(entry)
    sent = {name: text.replace("\n", "\r\n") for name, text in fields.items() if text or BY_NAME[name].kind != "flag"}

    assert read_entry_form(sent) == fields
    assert entry_with(entry, fields) == entry


def test_one_changed_field_leaves_the_others() -> None:
    """Also those that no form shows."""
    entry = with_entry_defaults({"comment": "A", "key": "one,two", "position": 99, "automationId": "x", "mine": [1]})
    made = entry_with(entry, fields_of(entry) | {"order": "7"})

    assert made == entry | {"order": 7}


@pytest.mark.parametrize(
    ("name", "text"), [("depth", "two"), ("probability", "101"), ("position", "12"), ("sticky", "-1")]
)
def test_what_no_entry_can_have_is_refused_by_its_label(name: str, text: str) -> None:
    """The sentence begins with what the field is called."""
    entry = with_entry_defaults({"comment": "A"})
    with pytest.raises(MemoryStoreError, match=BY_NAME[name].label):
        entry_with(entry, fields_of(entry) | {name: text})


FIELDS = st.fixed_dictionaries({"a": st.text(max_size=5), "b": st.text(max_size=5)})


@given(FIELDS, FIELDS, FIELDS)
def test_merging_loses_no_change(was: dict[str, str], mine: dict[str, str], theirs: dict[str, str]) -> None:
    """A field has what the one side made of it, what both did, or is told."""
    merged = merge_fields(was, mine, theirs)
    for name in was:
        if name in merged.conflicts:
            assert len({was[name], mine[name], theirs[name]}) == 3
        else:
            changed = [text for text in (mine[name], theirs[name]) if text != was[name]]
            assert merged.fields[name] == (changed or [was[name]])[0]


@given(FIELDS)
def test_the_state_of_a_form_reads_back(fields: dict[str, str]) -> None:
    """And anything else is none."""
    assert read_form_state(form_state(fields)) == fields
    assert [read_form_state(text) for text in ("", "[]", '{"a": 1}', "{" * 100_000)] == [None] * 4
