"""Later values replace earlier ones in a person's file; the versions show both."""

from __future__ import annotations

from datetime import UTC, timedelta
from pathlib import Path

import pytest

from familiar_connect.audience import EVERYONE, Audience, between, hidden_channel, whole_server
from familiar_connect.history.types import TurnMark
from familiar_connect.history.versions import TurnVersionStore
from familiar_connect.llm.scripted import ScriptedModel
from familiar_connect.llm.types import Capabilities
from familiar_connect.memory.versioning.versions import Versions
from familiar_connect.memory.writing.batch import Bounds, cut_batch
from familiar_connect.memory.writing.corrections import correct_other_files
from familiar_connect.memory.writing.extractive import ABOUT_HEADING
from familiar_connect.memory.writing.markdown_sections import bullets_under
from tests.fakes.writer_setup import ALICE, EVENING, FAMILIAR, WriterSetup

FILE = "people/discord-1.md"
DM = between([ALICE.canonical_key])
PRIVATE_FILE = "people/discord-1@dm-discord-1.md"


async def write_up(table: WriterSetup, *messages: str, day: int, to: Audience = EVERYONE) -> None:
    table.say(*[(ALICE, words) for words in messages], at=EVENING + timedelta(days=day), to=to)
    await table.writer(ScriptedModel([], capabilities=Capabilities(side_tasks=False))).run()


async def test_one_home_stands_in_the_file_and_both_in_its_versions(tmp_path: Path) -> None:
    """With the turn that replaced the first as the reason."""
    table = WriterSetup(tmp_path)
    await write_up(table, "I moved to Graz.", "I'm allergic to nuts.", day=0)
    await write_up(table, "I live in Vienna now.", day=1)

    assert bullets_under(table.read(FILE), ABOUT_HEADING) == [
        "2026-04-07, Alice said: I'm allergic to nuts.",
        "2026-04-08, Alice said: I live in Vienna now.",
    ]
    assert table.memory.audit is not None
    versions = Versions(table.memory.audit)
    first, second = versions.log(FILE)
    assert "I moved to Graz." in versions.text(first)
    assert [(text, gone.reason, gone.turn) for text, gone in versions.removals_of(second)] == [
        ("- 2026-04-07, Alice said: I moved to Graz.", "outdated", 3)
    ]


async def test_half_of_a_sentence_goes_when_the_other_half_still_holds(tmp_path: Path) -> None:
    """Whoever moves still plays the cello."""
    table = WriterSetup(tmp_path)
    await write_up(table, "I play the cello and I live in Graz.", day=0)
    await write_up(table, "I live in Vienna now.", day=1)

    assert bullets_under(table.read(FILE), ABOUT_HEADING) == [
        "2026-04-07, Alice said: I play the cello",
        "2026-04-08, Alice said: I live in Vienna now.",
    ]


async def test_what_was_replaced_stands_again_once_the_correction_is_undone(tmp_path: Path) -> None:
    """Unless something that was said later still stands in its place; ours it stays, so that it can go again."""
    table = WriterSetup(tmp_path)
    for day, words in enumerate(("I live in Graz.", "I live in Vienna now.", "I live in Linz now.")):
        await write_up(table, words, day=day)
    marks = TurnVersionStore(table.history, FAMILIAR)

    marks.mark_turns([2], TurnMark.undone)
    await table.scripted_writer().correct()
    assert bullets_under(table.read(FILE), ABOUT_HEADING) == ["2026-04-09, Alice said: I live in Linz now."]

    marks.mark_turns([3], TurnMark.undone)
    assert FILE in await table.scripted_writer().correct()
    assert bullets_under(table.read(FILE), ABOUT_HEADING) == ["2026-04-07, Alice said: I live in Graz."]

    await write_up(table, "I live in Bern now.", day=3)
    assert bullets_under(table.read(FILE), ABOUT_HEADING) == ["2026-04-10, Alice said: I live in Bern now."]


async def test_what_the_owner_took_out_does_not_come_back_with_an_undone_correction(tmp_path: Path) -> None:
    """Only what went because of a turn that says nothing any more stands again, and only once."""
    table = WriterSetup(tmp_path)
    await write_up(table, "I'm allergic to nuts.", "I live in Graz.", day=0)
    await write_up(table, "I live in Vienna now.", day=1)
    marks = TurnVersionStore(table.history, FAMILIAR)
    marks.mark_turns([3], TurnMark.undone)
    await table.scripted_writer().correct()
    table.memory.write_file(FILE, table.read(FILE).replace("- 2026-04-07, Alice said: I live in Graz.\n", ""))

    await write_up(table, "I love tea.", day=2)
    marks.mark_turns([4], TurnMark.undone)
    await table.scripted_writer().correct()

    assert bullets_under(table.read(FILE), ABOUT_HEADING) == ["2026-04-07, Alice said: I'm allergic to nuts."]


async def test_a_value_taken_back_in_the_same_sitting_is_not_written(tmp_path: Path) -> None:
    """Slips of the tongue stand in the session, not in the file."""
    table = WriterSetup(tmp_path)
    await write_up(table, "My sister lives in Basel.", "sorry, I meant my sister lives in Bern, not Basel", day=0)

    assert bullets_under(table.read(FILE), ABOUT_HEADING) == [
        "2026-04-07, Alice said: sorry, I meant my sister lives in Bern, not Basel"
    ]


async def test_what_a_message_rules_out_goes_though_another_sentence_of_it_is_kept(tmp_path: Path) -> None:
    """The place of a wedding is another one now; only where it is was kept, not that it is not the mill."""
    table = WriterSetup(tmp_path)
    await write_up(table, "The wedding is at the old mill.", day=0)
    await write_up(table, "Not the mill though. We're getting married in my aunt's garden.", day=3)

    assert bullets_under(table.read(FILE), ABOUT_HEADING) == [
        "2026-04-10, Alice said: We're getting married in my aunt's garden."
    ]


async def test_a_line_of_the_owners_stays(tmp_path: Path) -> None:
    """Only what the program wrote may go without asking."""
    table = WriterSetup(tmp_path)
    line = "2026-04-01, Alice said: I live in Graz."
    table.memory.write_file(FILE, f"# Alice\n\n## {ABOUT_HEADING}\n- {line}\n", source="owner")
    await write_up(table, "I live in Vienna now.", day=0)

    assert bullets_under(table.read(FILE), ABOUT_HEADING) == [line, "2026-04-07, Alice said: I live in Vienna now."]


def told(table: WriterSetup, rel_path: str) -> list[str]:
    return [line.partition(" said: ")[2] for line in bullets_under(table.read(rel_path), ABOUT_HEADING)]


async def test_a_message_that_is_not_kept_itself_takes_back_what_stands(tmp_path: Path) -> None:
    """The turn that says so is the reason in the versions."""
    table = WriterSetup(tmp_path)
    await write_up(table, "We're flying to Crete in May.", "I'm allergic to nuts.", day=0)
    await write_up(table, "nah, Crete is cancelled", day=2)

    assert told(table, FILE) == ["I'm allergic to nuts."]
    assert table.memory.audit is not None
    versions = Versions(table.memory.audit)
    assert [gone.turn for _, gone in versions.removals_of(versions.log(FILE)[-1])] == [3]


async def test_what_was_a_joke_is_not_written(tmp_path: Path) -> None:
    """The message before goes, and no other."""
    table = WriterSetup(tmp_path)
    await write_up(table, "I'm allergic to nuts.", "I have three kids.", "jk", day=0)

    assert told(table, FILE) == ["I'm allergic to nuts."]


async def test_what_is_said_to_all_takes_the_place_of_what_a_few_were_told(tmp_path: Path) -> None:
    """In the file of the few too, for they hear it; its versions keep both."""
    table = WriterSetup(tmp_path)
    await write_up(table, "I live in Graz.", "I'm allergic to nuts.", day=0, to=DM)
    await write_up(table, "I live in Vienna now.", day=1)

    assert told(table, PRIVATE_FILE) == ["I'm allergic to nuts."]
    assert told(table, FILE) == ["I live in Vienna now."]
    assert table.memory.audit is not None
    versions = Versions(table.memory.audit)
    assert [(gone.reason, gone.turn) for _, gone in versions.removals_of(versions.log(PRIVATE_FILE)[-1])] == [
        ("outdated", 3)
    ]


@pytest.mark.parametrize("circle", [EVERYONE, whole_server("discord", 5), hidden_channel("discord", 9, 5)])
async def test_what_a_few_are_told_changes_nothing_for_the_others(tmp_path: Path, circle: Audience) -> None:
    """A line that went would tell them that something was said."""
    table = WriterSetup(tmp_path)
    await write_up(table, "I live in Graz.", day=0, to=circle)
    before = {path: table.read(path) for path in table.files() if path.startswith("people/discord")}
    await write_up(table, "I live in Vienna now.", day=1, to=DM)

    assert {path: table.read(path) for path in before} == before
    assert told(table, PRIVATE_FILE) == ["I live in Vienna now."]


async def test_what_is_written_up_late_does_not_undo_what_was_said_after_it(tmp_path: Path) -> None:
    """As when a batch that was put aside is tried again: the turns decide, not the order of the passes."""
    table = WriterSetup(tmp_path)
    await write_up(table, "I live in Graz.", day=0)
    await write_up(table, "I live in Vienna now.", day=1, to=DM)
    first = table.history.turns_after(familiar_id=FAMILIAR, after_id=0, limit=1)
    late = cut_batch(first, zone=UTC, bounds=Bounds())

    assert late is not None
    assert list(correct_other_files(table.memory, late)) == []
    assert told(table, PRIVATE_FILE) == ["I live in Vienna now."]
