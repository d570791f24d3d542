"""Notes for a day: what is captured, for whom, for how long, and what clears them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.chat.scene import ChannelContext, ChannelKind, ChannelRef, Scene
from familiar_connect.chat.types import Imitated, TurnFlags
from familiar_connect.history.store import HistoryStore
from familiar_connect.identity import PrivacyLevel
from familiar_connect.memory import short_term
from familiar_connect.memory.short_term import MAX_LINE_CHARS, MAX_SUMMARY_CHARS, without_placeholders
from tests.fakes.context import ADA, BO, CY
from tests.fakes.short_term import (
    CELLAR,
    GARDEN,
    KITCHEN,
    NOON,
    OTHER_SERVER,
    SERVER,
    NotesSetup,
    an_entry,
    finished_turn,
    our_entry,
)

HOUR = 3600.0


def test_the_last_ten_entries_and_the_reply_are_kept() -> None:
    """G2: with speaker names, both sides, emojis by their names, oldest first."""
    kept = NotesSetup()
    entries = [an_entry(f"line {n} <:tea:123>", BO) for n in range(11)] + [our_entry("I see.")]

    assert kept.notes.capture(finished_turn(*entries), "So be it.")

    lines = kept.lines()
    assert lines[0] == "Bo: line 2 :tea:"
    assert lines[-2:] == ["Wren: I see.", "Wren: So be it."]
    assert len(lines) == 11


def test_notes_of_ours_and_debug_lines_are_not_said_by_anyone() -> None:
    """G2: System lines, notices and error messages stay out."""
    kept = NotesSetup()
    turn = finished_turn(
        an_entry("[System: Bo replies to Ada]\nyes"),
        an_entry("[System: alone]"),
        an_entry("boom", is_debug=True),
        an_entry("somebody", author_kind="system"),
    )

    kept.notes.capture(turn, "Hm.")

    assert kept.lines() == ["Ada: yes", "Wren: Hm."]


def test_nothing_is_captured_of_turns_that_are_no_conversation() -> None:
    """G1: a stopped reply, an empty history, a speaker at FULL, nobody who answered."""
    kept = NotesSetup(levels={CY.canonical_key: PrivacyLevel.FULL})
    imitated = Imitated(author=ADA, name="Ada")
    hello = an_entry("hello")

    for turn, sent in (
        (finished_turn(hello, flags=TurnFlags(stop=True)), "Hm."),
        (finished_turn(hello), "  "),
        (finished_turn(hello, imitated=imitated, flags=TurnFlags(impersonation=True)), "Hm."),
        (finished_turn(hello, by=CY), "Hm."),
        (finished_turn(said=()), "Hm."),
        (finished_turn(hello, speaker=None), "Hm."),
    ):
        assert not kept.notes.capture(turn, sent)

    assert kept.history.database.read("SELECT COUNT(*) FROM short_term_notes") == [(0,)]


def test_a_server_shares_a_note_and_a_direct_message_does_not() -> None:
    """G3: (user, channel, persona), and outside of direct messages (server, channel, persona)."""
    kept = NotesSetup()

    kept.say("in public", channel=KITCHEN)
    kept.say("in private", channel=CELLAR, server=None)

    owners = kept.history.database.read("SELECT channel_id, owner FROM short_term_notes ORDER BY 1, 2")
    assert owners == [(KITCHEN, "server:5"), (KITCHEN, "user:discord:1"), (CELLAR, "user:discord:1")]


def test_a_summary_survives_capture_and_reaches_both_keys() -> None:
    """G4, G8: it is written for the speaker and the server, and stays when more is said."""
    kept = NotesSetup()
    kept.say("one")
    assert kept.sum_up("They talk of tea.")

    kept.say("two")

    own = kept.notes.person_notes(familiar_id="wren", persona="Wren", author=ADA)
    assert kept.here().summary == own[0].summary == "They talk of tea."
    assert kept.lines() == ["Ada: two", "Wren: Hm."]


def test_lines_last_half_a_day_and_a_summary_a_whole_one() -> None:
    """G5: measured from the last update; what is expired is gone on read."""
    kept = NotesSetup()
    kept.say("short", channel=KITCHEN)
    kept.say("long", channel=GARDEN)
    kept.sum_up("summed up", channel=GARDEN)

    kept.clock.advance(12 * HOUR)
    assert kept.here(KITCHEN) is not None
    kept.clock.advance(1)

    assert kept.here(KITCHEN) is None
    assert kept.here(GARDEN) is not None
    assert [
        note.channel_id for note in kept.notes.server_notes(familiar_id="wren", persona="Wren", guild_id=SERVER)
    ] == [GARDEN]
    kept.clock.advance(12 * HOUR)
    assert kept.here(GARDEN) is None


def test_what_is_expired_goes_from_the_disk_with_the_next_note() -> None:
    """G5: nobody has to read a note for it to end."""
    kept = NotesSetup()
    kept.say("old", channel=GARDEN)
    kept.clock.advance(13 * HOUR)

    kept.say("new")

    assert {row[0] for row in kept.history.database.read("SELECT channel_id FROM short_term_notes")} == {KITCHEN}


def test_a_clock_that_goes_backwards_does_no_harm() -> None:
    """G5: a little is no matter; a note from days ahead is not believed."""
    kept = NotesSetup()
    kept.say("now")

    kept.clock.advance(-HOUR)
    assert kept.lines() == ["Ada: now", "Wren: Hm."]
    kept.clock.advance(-100 * HOUR)
    assert kept.here() is None


def test_resetting_a_channel_clears_its_notes() -> None:
    """G7: all of them, and no other channel's."""
    kept = NotesSetup()
    kept.say("here")
    kept.say("there", channel=GARDEN)

    assert kept.notes.clear_channel(familiar_id="wren", channel_id=KITCHEN) == 2
    assert kept.here() is None
    assert kept.here(GARDEN) is not None


def test_a_turn_after_a_reset_keeps_nothing_from_before_it() -> None:
    """G7: the mark in the channel is enough; the old summary goes with it."""
    kept = NotesSetup()
    kept.say("before")
    kept.sum_up("what was before")
    kept.clock.advance(60)
    reset = kept.clock.now()
    kept.clock.advance(60)

    kept.notes.capture(finished_turn(an_entry("after"), reset_at=reset), "Hm.")

    assert kept.here().summary is None
    assert kept.lines() == ["Ada: after", "Wren: Hm."]


def test_erasing_somebody_from_the_history_takes_the_notes_along(tmp_path: Path) -> None:
    """G7: in the same transaction, and nothing of their words is left in the file."""
    path = tmp_path / "history.db"
    kept = NotesSetup(history=HistoryStore(path))
    kept.say("my secret is seventeen", by=BO)

    kept.history.erase_author(familiar_id="wren", author=BO)
    kept.history.database.compact()

    assert kept.history.database.read("SELECT * FROM short_term_notes") == []
    kept.history.close()
    assert b"seventeen" not in path.read_bytes()


def test_who_goes_quiet_is_told_of_no_more() -> None:
    """G33: lines of theirs are left out at once, and a summary they may be in is withheld."""
    kept = NotesSetup()
    kept.notes.capture(finished_turn(an_entry("Bo's words", BO), an_entry("Ada's words")), "Hm.")
    kept.sum_up("Bo said something.")

    kept.hush(BO)

    assert kept.lines() == ["Ada: Ada's words", "Wren: Hm."]
    assert kept.here().summary is None
    assert kept.notes.person_notes(familiar_id="wren", persona="Wren", author=BO) == []


def test_words_of_quiet_people_are_never_written_down() -> None:
    """G30, G33: whatever brought them into the turn."""
    kept = NotesSetup(levels={BO.canonical_key: PrivacyLevel.FULL})

    kept.notes.capture(finished_turn(an_entry("hush", BO), an_entry("hello")), "Hm.")

    assert "hush" not in str(kept.history.database.read("SELECT * FROM short_term_notes"))


def test_a_summary_is_short_plain_and_not_empty() -> None:
    """G8, B15: cut in silence; placeholders nobody knows lose their braces."""
    kept = NotesSetup()

    assert not kept.sum_up("  \n ")
    assert kept.sum_up("{{user}} and {bot} like {tea} " + "x" * 3000)

    summary = kept.here().summary
    assert len(summary) == MAX_SUMMARY_CHARS
    assert summary.startswith("{{user}} and {bot} like tea x")
    assert (
        kept.notes.channel_note(familiar_id="wren", persona="Other", channel_id=KITCHEN, guild_id=SERVER, author=ADA)
        is None
    )


def test_each_persona_and_each_familiar_has_notes_of_its_own() -> None:
    """G2: once per answering persona."""
    kept = NotesSetup()
    kept.say("to Wren")

    kept.notes.capture(finished_turn(an_entry("to Finch"), persona="Finch"), "Chirp.")

    finch = kept.notes.server_notes(familiar_id="wren", persona="Finch", guild_id=SERVER)
    assert [line.text for line in finch[0].lines] == ["to Finch", "Chirp."]
    assert kept.lines() == ["Ada: to Wren", "Wren: Hm."]
    assert kept.notes.server_notes(familiar_id="other", persona="Wren", guild_id=SERVER) == []
    assert kept.notes.server_notes(familiar_id="wren", persona="Wren", guild_id=OTHER_SERVER) == []


def test_a_place_that_cannot_look_back_gathers_lines_turn_by_turn() -> None:
    """G2: then the note itself is what the earlier entries are known from."""
    kept = NotesSetup()

    for _ in range(2):
        kept.notes.capture(finished_turn(), "Hm.")

    assert kept.lines() == ["Ada: hello", "Wren: Hm.", "Ada: hello", "Wren: Hm."]


def test_the_channels_name_and_parent_are_kept() -> None:
    """B61, B63: they tell later what may leave it and what it is called."""
    kept = NotesSetup()
    scene = Scene(
        channel=ChannelContext("thread", ChannelKind.thread),
        channels=(ChannelRef(channel_id=KITCHEN, name="kit\nchen", parent_id=CELLAR),),
    )

    kept.notes.capture(finished_turn(an_entry("hi")), "Hm.", scene=scene)

    assert (kept.here().channel_name, kept.here().parent_id) == ("kit chen", CELLAR)


def test_a_row_somebody_spoilt_costs_itself_only() -> None:
    """Whatever another program wrote there is no error."""
    kept = NotesSetup()
    kept.say("hello")
    kept.history.database.write("UPDATE short_term_notes SET lines = '{oops', people = '7'")

    assert kept.here() is None
    kept.say("again")
    assert kept.lines() == ["Ada: again", "Wren: Hm."]


def test_the_number_of_notes_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest go first."""
    monkeypatch.setattr(short_term, "MAX_NOTES", 4)
    kept = NotesSetup()

    for channel in range(100, 105):
        kept.say("x", channel=channel)
        kept.clock.advance(1)

    rows = kept.history.database.read("SELECT DISTINCT channel_id FROM short_term_notes ORDER BY 1")
    assert rows == [(103,), (104,)]


@given(st.text(max_size=4000), st.text(max_size=4000))
def test_whatever_is_said_a_note_is_bounded_and_readable(text: str, reply: str) -> None:
    """No text breaks the store, and no line is longer than a line may be."""
    kept = NotesSetup()

    kept.notes.capture(finished_turn(an_entry(text)), reply)

    note = kept.here()
    assert note is None or all(len(line.text) <= MAX_LINE_CHARS for line in note.lines)
    assert note is None or note.updated_at == NOON
    kept.history.close()


@given(st.text(alphabet="{} userbotchaxyz", max_size=60))
def test_names_are_the_only_placeholders_left(text: str) -> None:
    """B15: taking braces off never touches the three that stand for names."""
    assert without_placeholders("{user}{{char}} { bot }") == "{user}{{char}} { bot }"
    assert without_placeholders("{tea} {{pot}}") == "tea pot"
    assert len(without_placeholders(text)) <= len(text)
