"""Memory made of quotes, for models too small to write it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from familiar_connect.identity import Author
from familiar_connect.llm.scripted import ScriptedModel
from familiar_connect.llm.types import Capabilities
from familiar_connect.memory.people import read_aliases
from familiar_connect.memory.versioning.provenance import Provenance, part_hash
from familiar_connect.memory.versioning.versions import Versions
from familiar_connect.memory.writer import MemoryWriter
from familiar_connect.memory.writing.extractive import ABOUT_LINES, MAX_LINES_PER_PASS, SAID_LINES
from familiar_connect.memory.writing.markdown_sections import bullets_under
from tests.fakes.writer_setup import ALICE, BOB, CONVERSATION, EVENING, WriterSetup

SESSION = "sessions/2026-04-07-evening.md"


def small(table: WriterSetup, **changes: object) -> MemoryWriter:
    """A writer whose model may not be asked: its script is empty."""
    return table.writer(ScriptedModel([], capabilities=Capabilities(side_tasks=False)), **changes)


async def test_a_session_is_told_in_quotes(tmp_path: Path) -> None:
    """Title, context, who was there, what was said; nothing nobody said, and no call."""
    table = WriterSetup(tmp_path)
    table.say(*CONVERSATION)
    await small(table, channel_context_lookup=lambda _: "#general").run()

    assert table.read(SESSION) == (
        "# 2026-04-07 evening\n\n## Context\n- #general\n\n## Who was there\n- Alice\n- Bob\n\n## What was said\n"
        "- Alice said: I moved to Lyon last week.\n"
        "- Bob said: Alice secretly hates ska music, don't tell her.\n"
        "- Alice said: My birthday is on May 5.\n\n"
        "## Links\n- [Alice](../people/discord-1.md)\n- [Bob](../people/discord-2.md)\n"
    )


async def test_a_person_is_quoted_about_themselves_with_the_date(tmp_path: Path) -> None:
    """What others said about them is not in their file."""
    table = WriterSetup(tmp_path)
    table.say(*CONVERSATION)
    await small(table).run()

    assert table.read("people/discord-1.md") == (
        "# Alice\n\n## What they said about themselves\n"
        "- 2026-04-07, Alice said: I moved to Lyon last week.\n"
        "- 2026-04-07, Alice said: My birthday is on May 5.\n\n"
        "## Aliases\n- Alice\n- alice_w\n\n## Sessions\n- [2026-04-07 evening](../sessions/2026-04-07-evening.md)\n"
    )


async def test_every_quote_knows_its_turn(tmp_path: Path) -> None:
    """Exactly the one it was taken from."""
    table = WriterSetup(tmp_path)
    table.say(*CONVERSATION)
    await small(table).run()
    sources = Provenance(tmp_path / "audit").sources_of("people/discord-1.md")

    assert sources[part_hash("2026-04-07, Alice said: My birthday is on May 5.")] == (4,)


async def test_later_passes_add_and_do_not_repeat(tmp_path: Path) -> None:
    """One session file, each sentence once, a person's days side by side."""
    table = WriterSetup(tmp_path)
    table.say(*CONVERSATION)
    await small(table).run()
    table.say((ALICE, "My birthday is on May 5."), (ALICE, "I bought a red bicycle."), at=EVENING + timedelta(hours=1))
    await small(table).run()
    table.say((ALICE, "I sold the bicycle again, for 20 euros."), at=EVENING + timedelta(days=1))
    await small(table).run()

    assert table.read(SESSION).count("My birthday is on May 5.") == 1
    assert "red bicycle" in table.read(SESSION)
    assert bullets_under(table.read("people/discord-1.md"), "What they said about themselves")[-1] == (
        "2026-04-08, Alice said: I sold the bicycle again, for 20 euros."
    )
    assert bullets_under(table.read("people/discord-1.md"), "Sessions") == [
        "[2026-04-07 evening](../sessions/2026-04-07-evening.md)",
        "[2026-04-08 evening](../sessions/2026-04-08-evening.md)",
    ]


@pytest.mark.slow
async def test_lists_stay_bounded_and_keep_what_weighs_most(tmp_path: Path) -> None:
    """The lines that weigh least go, into the archive beside the file."""
    table = WriterSetup(tmp_path)
    table.say((ALICE, "I decided to marry my partner Tom on June 3, and I will always remember it."))
    for block in range(3):
        table.say(*[(ALICE, f"I like record number {block * 70 + n} of my shelf.") for n in range(70)])
        await small(table).run()
    person = bullets_under(table.read("people/discord-1.md"), "What they said about themselves")

    assert len(person) == ABOUT_LINES
    assert len(bullets_under(table.read(SESSION), "What was said")) <= SAID_LINES
    assert "June 3" in person[0]
    assert "record number" in table.read("people/discord-1.archive.md")


async def test_what_the_owner_wrote_stays(tmp_path: Path) -> None:
    """Quotes go into their own section."""
    table = WriterSetup(tmp_path)
    table.memory.write_file("people/discord-1.md", "# Alice\n\nMy oldest friend.\n")
    table.say((ALICE, "I like tea."))
    await small(table).run()

    assert "My oldest friend." in table.read("people/discord-1.md")


async def test_what_is_answered_otherwise_in_the_same_talk_is_not_kept(tmp_path: Path) -> None:
    """The later answer stands alone; what somebody else said stays."""
    table = WriterSetup(tmp_path)
    table.say((ALICE, "I live in Graz with two cats."), (ALICE, "I live in Lyon now."), (BOB, "I live in Graz, too."))
    await small(table).run()

    assert "Graz" not in table.read("people/discord-1.md")
    assert "I live in Lyon now." in table.read("people/discord-1.md")
    assert "I live in Graz, too." in table.read("people/discord-2.md")


@pytest.mark.parametrize("others", [0, 1])
async def test_whoever_talks_alone_is_taken_to_tell_of_their_own(tmp_path: Path, others: int) -> None:
    """Among several, she may be anybody's."""
    table = WriterSetup(tmp_path)
    table.say((ALICE, "She works at the bakery."), *[(BOB, "I live in Graz.")] * others)
    await small(table).run()

    assert ("bakery" in table.read("people/discord-1.md")) is not bool(others)


async def test_a_slip_takes_back_what_its_speaker_said_just_before(tmp_path: Path) -> None:
    """That and nothing else; whoever has said nothing yet takes back nothing."""
    table = WriterSetup(tmp_path)
    table.say((BOB, "scratch that"), (ALICE, "I live in Lyon."), (ALICE, "I'm allergic to nuts."))
    table.say((BOB, "I work as a baker."), (ALICE, "scratch that"))
    await small(table).run()

    assert "I live in Lyon." in table.read("people/discord-1.md")
    assert "allergic" not in table.read("people/discord-1.md")
    assert "I work as a baker." in table.read("people/discord-2.md")


async def test_a_pass_quotes_so_much_of_a_talk_and_no_more(tmp_path: Path) -> None:
    """What weighs most, in the order it was said."""
    table = WriterSetup(tmp_path)
    table.say(*[(ALICE, f"I like record number {number} of my shelf.") for number in range(MAX_LINES_PER_PASS + 5)])
    table.say((ALICE, "I decided to marry my partner Tom on June 3, and I will always remember it."))
    await small(table).run()
    said = bullets_under(table.read(SESSION), "What was said")

    assert len(said) == MAX_LINES_PER_PASS
    assert said[0] == "Alice said: I like record number 0 of my shelf."
    assert "June 3" in said[-1]


async def test_what_is_said_over_and_over_takes_one_place(tmp_path: Path) -> None:
    """Other words have the rest; the quote is of when it was first said."""
    table = WriterSetup(tmp_path)
    table.say(*[(ALICE, "I decided to marry my partner Tom on June 3.")] * (MAX_LINES_PER_PASS + 5))
    table.say((ALICE, "I like record number 1 of my shelf."))
    await small(table).run()
    promise = "Alice said: I decided to marry my partner Tom on June 3."

    assert bullets_under(table.read(SESSION), "What was said") == [
        promise,
        "Alice said: I like record number 1 of my shelf.",
    ]
    assert Provenance(tmp_path / "audit").sources_of(SESSION)[part_hash(promise)] == (1,)


async def test_a_quote_stands_in_the_list_also_where_the_owner_wrote_the_same(tmp_path: Path) -> None:
    """The quote says who said it when; one that a list has is not added again."""
    table = WriterSetup(tmp_path)
    table.memory.write_file("people/discord-1.md", "# Alice\n\nI like tea.\n\n## Tastes\n- I like jam!\n")
    table.say((ALICE, "I like tea."), (ALICE, "I like jam."))
    await small(table).run()

    assert bullets_under(table.read("people/discord-1.md"), "What they said about themselves") == [
        "2026-04-07, Alice said: I like tea."
    ]


async def test_quotes_cannot_break_out_of_their_line(tmp_path: Path) -> None:
    """No headings, links or control characters from a channel stand in a memory file as such."""
    table = WriterSetup(tmp_path)
    table.say((BOB, "My plan is\n# Title\n- [x](../self/name.md) forever \x1b[31mred"))
    await small(table).run()
    text = table.read(SESSION)

    assert "\x1b" not in text
    assert "](../self" not in text
    assert "\n# Title" not in text


async def test_small_talk_still_says_who_was_there(tmp_path: Path) -> None:
    """An honest file says no more than it knows."""
    table = WriterSetup(tmp_path)
    table.say((ALICE, "hi"), (None, "hello!"))
    await small(table).run()

    assert "## What was said" not in table.read(SESSION)
    assert "- Alice" in table.read(SESSION)


def at_terminal(name: str) -> Author:
    return Author(platform="terminal", user_id="you", username=None, display_name=name)


async def test_a_file_is_headed_by_the_name_once_it_is_told(tmp_path: Path) -> None:
    """Its own name and the links to it stay; the log says what went, and the names that were given point at it."""
    table = WriterSetup(tmp_path)
    table.say((at_terminal("Friend"), "I live in Graz with two cats."))
    await small(table).run()
    assert table.read("people/terminal-you.md").startswith("# Friend\n")
    table.say((at_terminal("Sam"), "I play the cello in a band."), at=EVENING + timedelta(days=1))
    await small(table).run()
    second = table.read("people/terminal-you.md")
    table.say((at_terminal("Robin"), "I sold my old cello yesterday."), at=EVENING + timedelta(days=2))
    await small(table).run()

    assert second.startswith("# Sam\n")
    assert bullets_under(second, "Aliases") == ["Sam"]
    assert table.read("people/terminal-you.md").startswith("# Robin\n")
    assert read_aliases(table.memory) == {"sam": ["terminal-you"], "robin": ["terminal-you"]}
    assert table.memory.audit is not None
    versions = Versions(table.memory.audit)
    went = [versions.removals_of(each) for each in versions.log("people/terminal-you.md")]
    assert [[(text, removed.reason) for text, removed in each] for each in went] == [
        [],
        [("# Friend", "renamed")],
        [("# Sam", "renamed")],
    ]
    assert "(../people/terminal-you.md)" in table.read(SESSION)


async def test_a_heading_of_the_owners_stays(tmp_path: Path) -> None:
    """And so does one on a platform where names change with the place."""
    table = WriterSetup(tmp_path)
    table.memory.write_file("people/terminal-you.md", "# Friend\n\nThat is me.\n", source="owner")
    table.say((at_terminal("Sam"), "I live in Graz with two cats."), (ALICE, "I live in Lyon with a dog."))
    await small(table).run()
    table.say((replace(ALICE, display_name="Ally"), "I play the flute in a band."), at=EVENING + timedelta(days=1))
    await small(table).run()

    assert table.read("people/terminal-you.md").startswith("# Friend\n")
    assert table.read("people/discord-1.md").startswith("# Alice\n")
