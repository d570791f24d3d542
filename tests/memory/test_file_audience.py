"""Whom a file may be told to, as its first lines and its name say it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.audience import EVERYONE, OWNER, Audience, between, hidden_channel, whole_server
from familiar_connect.memory.file_audience import (
    audience_lines,
    is_marked,
    is_within,
    mark_path,
    mark_path_distinctly,
    open_path,
    read_audience,
    with_audience,
    without_audience,
)
from familiar_connect.memory.versioning.provenance import parts_of

SERVER = whole_server("discord", 2001)
STAFF = hidden_channel("discord", 9, 2001)
DM = between(["discord:7"])

audiences = st.one_of(
    st.sampled_from([OWNER, EVERYONE]),
    st.builds(whole_server, st.sampled_from(["discord", "my:own"]), st.integers(1, 10**18)),
    st.builds(hidden_channel, st.just("discord"), st.integers(1, 10**18), st.none() | st.integers(1, 99)),
    st.builds(between, st.lists(st.text(min_size=1, max_size=9), min_size=1, max_size=3)),
)
texts = st.text(st.sampled_from("-# \n\r\ta:b\ufeff") | st.characters(exclude_categories=["Cs"]), max_size=80)


@given(texts, audiences)
def test_what_is_written_is_read_back_and_taken_off(text: str, audience: Audience) -> None:
    """Whatever stands in the file, other front matter included; twice is once."""
    marked = with_audience(text, audience)

    assert read_audience(marked) == audience
    assert read_audience(without_audience(marked)) is None
    assert with_audience(marked, audience) == marked
    assert without_audience(marked) == without_audience(text)
    assert [part.text for part in parts_of(marked) if f"audience: {audience}" in part.text] == []


@pytest.mark.parametrize(
    ("text", "audience", "shown"),
    [
        ("# Tea\n", None, "# Tea\n"),
        ("---\naudience: everyone\n---\n# Tea\n", EVERYONE, "# Tea\n"),
        ("---\ntags: x\nAudience : 'server:discord:2001'\n---\n# Tea\n", SERVER, "---\ntags: x\n---\n# Tea\n"),
        ("---\r\naudience: owner\r\n---\r\n# Tea\r\n", OWNER, "# Tea\r\n"),
        ("\ufeff---\naudience: people:discord:7\n---\nTea\n", DM, "Tea\n"),
        ("---\naudience: what\n---\nTea\n", OWNER, "Tea\n"),
        ("---\naudience: everyone\naudience: server:discord:1\n---\nTea\n", OWNER, "Tea\n"),
        ("---\naudience: server:discord:2001\n\n# nobody closed it\n", SERVER, "\n# nobody closed it\n"),
        ("Tea\n---\naudience: owner\n---\n", None, "Tea\n---\naudience: owner\n---\n"),
    ],
)
def test_front_matter_as_people_write_it(text: str, audience: Audience | None, shown: str) -> None:
    """Other keys stay; what cannot be understood is the owner's."""
    assert read_audience(text) == audience
    assert without_audience(text) == shown
    assert bool(audience_lines(text)) == (audience is not None)


def test_a_marked_name_leads_back_to_the_open_one() -> None:
    """And two audiences never share one."""
    assert mark_path("people/discord-7.md", DM) == "people/discord-7@dm-discord-7.md"
    assert mark_path("topics/tea.md", STAFF) == "topics/tea@channel-discord-9.md"
    assert open_path("people/discord-7@dm-discord-7.md") == "people/discord-7.md"
    assert (is_marked("people/discord-7.md"), is_marked("a@b/c.md"), is_marked("a/b@c.md")) == (False, False, True)
    one, other = between(["a:1.2"]), between(["a:1-2"])
    assert mark_path("x.md", one) == mark_path("x.md", other)
    assert mark_path_distinctly("x.md", one) != mark_path_distinctly("x.md", other)
    assert len(mark_path("x.md", between([f"discord:{number}" for number in range(50)]))) < 100


def test_who_hears_whose() -> None:
    """A hidden channel hears its server, the owner hears servers; between two nobody else is heard."""
    heard = {
        (str(one), str(other))
        for one in (OWNER, DM, STAFF, SERVER)
        for other in (OWNER, DM, STAFF, SERVER)
        if is_within(one, other) and one != other
    }

    assert heard == {(str(STAFF), str(SERVER)), (str(OWNER), str(SERVER)), (str(OWNER), str(STAFF))}
    assert all(is_within(each, EVERYONE) for each in (OWNER, DM, STAFF, SERVER))
    assert not is_within(OWNER.with_targets(["server:5"]), SERVER)
