"""The owner's word is never lost: what they wrote outlives every writer pass, and no line goes without a reason."""

from __future__ import annotations

import asyncio
import tempfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from familiar_connect.memory.maintenance.review import Review
from familiar_connect.memory.store import MemoryStoreLimits
from familiar_connect.memory.types import OWNER_IN_REVIEW
from familiar_connect.memory.versioning.blame import blame_lines
from familiar_connect.memory.versioning.provenance import Provenance, part_hash
from familiar_connect.memory.versioning.versions import Versions
from familiar_connect.memory.writing import archiving
from tests.fakes.writer_setup import ALICE, WriterSetup, writer_answer

PERSON = "people/discord-1.md"
ARCHIVE = "people/discord-1.archive.md"


@pytest.fixture
def table(tmp_path: Path) -> WriterSetup:
    return WriterSetup(tmp_path)


async def pass_over(table: WriterSetup, text: str, said: str = "", **changes: object) -> int:
    """One pass whose model writes *text* for Alice, who said as much; the id of the turn it read."""
    turn = table.say((ALICE, said or text))[0]
    await table.scripted_writer(writer_answer(people={"discord-1.md": text}), **changes).run()
    return turn


def versions_of(table: WriterSetup) -> Versions:
    assert table.memory.audit is not None
    return Versions(table.memory.audit)


def owners_of(table: WriterSetup, number: int) -> set[str]:
    """Lines of Alice's file that were the owner's when it was in this version."""
    versions = versions_of(table)
    lines: set[str] = set()
    for version in versions.log(PERSON)[:number]:
        new = set(versions.text(version).splitlines())
        before = set(versions.show(PERSON, version.number - 1).splitlines()) if version.number > 1 else set()
        lines = (lines & new) | (new - before if version.entry.source == "owner" else set())
    return lines


async def edit_by_hand(table: WriterSetup, old: str, new: str) -> None:
    path = table.memory.root / PERSON
    path.write_text(path.read_text().replace(old, new))


async def test_a_line_written_by_hand_outlives_a_pass_that_leaves_it_out(table: WriterSetup) -> None:
    """Word for word, in its section; blame still says whose it is."""
    await pass_over(table, "# Alice\n\n## Music\n- Likes ska.\n- Plays drums.")
    await edit_by_hand(table, "- Likes ska.", "- Likes   ska — a lot, *really*.")
    await edit_by_hand(table, "- Plays drums.", "- Plays drums.\n\n## My own heading\n\nKeep this.")
    await pass_over(table, "# Alice\n\n## Music\n- Likes ska.\n- Plays drums.\n- Sings.")
    text = table.read(PERSON)
    assert table.memory.audit is not None
    owners = [
        line.text
        for line in blame_lines(versions_of(table), PERSON, text)
        if line.version is not None and line.version.entry.source == "owner" and line.text
    ]

    assert owners == ["- Likes   ska — a lot, *really*.", "## My own heading", "Keep this."]
    assert "- Sings." in text


async def test_what_the_model_leaves_out_silently_stays(table: WriterSetup) -> None:
    """Lines of ours too."""
    await pass_over(table, "# Alice\n- Lives in Graz.\n- Has a cat.")
    await pass_over(table, "# Alice\n- Has a cat.\n- Plays the cello.")

    assert "- Lives in Graz.\n- Has a cat.\n- Plays the cello.\n" in table.read(PERSON)


async def test_a_line_of_ours_goes_with_the_turn_that_says_so(table: WriterSetup) -> None:
    """The log keeps line, reason and turn, but not its words a second time."""
    await pass_over(table, "# Alice\n- Lives in Graz.\n- Has a cat.")
    await pass_over(table, "# Alice\n- Lives in Lyon.\n- Has a cat.\nOUTDATED [2]: Lives in Graz.", "I moved to Lyon.")
    version = versions_of(table).log(PERSON)[-1]
    gone = versions_of(table).removals_of(version)
    assert table.memory.audit is not None

    assert "Graz" not in table.read(PERSON)
    assert "OUTDATED" not in table.read(PERSON)
    assert [(text, why.reason, why.turn) for text, why in gone] == [("- Lives in Graz.", "outdated", 2)]
    assert b"Graz" not in (table.memory.audit.folder / "log.jsonl").read_bytes()


async def test_a_line_of_the_owners_is_asked_about(table: WriterSetup) -> None:
    """It stays; a proposal waits, once, and holds also when the file has changed since."""
    await pass_over(table, "# Alice\n- Has a cat.")
    await edit_by_hand(table, "- Has a cat.", "- Has a cat.\n- Lives in Graz.")
    review = Review(table.memory, clock=table.clock)
    reply = "# Alice\n- Has a cat.\n- Lives in Lyon.\nOUTDATED [{}]: Lives in Graz."
    await pass_over(table, reply.format(2), "I moved to Lyon.", pending=review)
    await pass_over(table, reply.format(3) + "\n- Rows.", "She rows, she says.", pending=review)
    waiting = review.list()
    assert "- Lives in Graz.\n" in table.read(PERSON)

    assert [(each.kind, each.files) for each in waiting] == [("proposal", (PERSON,))]
    assert [line for line in review.diff(waiting[0].id, PERSON).splitlines() if line[:1] in "+-"][2:] == [
        "-- Lives in Graz."
    ]
    assert review.approve(waiting[0].id).written == (PERSON,)
    assert "Graz" not in table.read(PERSON)
    assert "- Rows." in table.read(PERSON)


async def test_a_rejected_change_is_not_proposed_again(table: WriterSetup) -> None:
    """The owner has said no."""
    table.memory.write_file(PERSON, "# Alice\n- Lives in Graz.\n")
    review = Review(table.memory, clock=table.clock)
    for turn in (1, 2):
        await pass_over(table, f"# Alice\nOUTDATED [{turn}]: Lives in Graz.", pending=review)
        for each in review.list():
            review.reject(each.id, "she never moved")

    assert [line["decision"] for line in review.decisions.all()] == ["rejected"]
    assert "- Lives in Graz." in table.read(PERSON)


async def test_what_the_owner_changed_in_review_is_theirs(table: WriterSetup) -> None:
    """A later pass may not retire it."""
    review = Review(table.memory, clock=table.clock)
    table.say((ALICE, "ska? hates it"))
    answer = writer_answer(people={"discord-1.md": "# Alice\n- Hates ska."})
    await table.scripted_writer(answer, review=True, pending=review).run()
    waiting = review.list()[0]
    assert waiting.plan is not None
    review.edit(waiting.id, PERSON, "# Alice\n- Likes ska.\n")
    review.approve(waiting.id)
    await pass_over(table, "# Alice\nOUTDATED [2]: Likes ska.")

    assert versions_of(table).log(PERSON)[0].entry.source == OWNER_IN_REVIEW
    assert "- Likes ska." in table.read(PERSON)


async def test_sources_of_a_kept_line_are_kept(table: WriterSetup) -> None:
    """Also where the part it stood in has changed around it."""
    await pass_over(
        table, "# Alice\nI moved to Lyon, she said.\nShe plays the cello.", "I moved to Lyon. I play cello."
    )
    await pass_over(table, "# Alice\nOUTDATED [2]: She plays the cello.", "I gave it up.")
    assert table.memory.audit is not None
    sources = Provenance(table.memory.audit.folder).sources_of(PERSON)

    assert 1 in sources[part_hash("I moved to Lyon, she said.")]


# Room


async def test_a_file_past_its_cap_moves_its_oldest_lines_to_the_archive(
    table: WriterSetup, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ours only, in their order; the log says so, search reads them, `why` knows the turns."""
    monkeypatch.setattr(archiving, "WORKING_BYTES", 700)
    await pass_over(
        table,
        "# Alice\n" + "\n".join(f"- Old fact {n} about rowing." for n in range(8)),
        "rowing: old fact 0 1 2 3 4 5 6 7",
    )
    await edit_by_hand(table, "# Alice\n", "# Alice\n- The owner's own line.\n")
    await pass_over(table, "# Alice\n" + "\n".join(f"- New fact {n} about sailing and more." for n in range(12)))
    text, archive = table.read(PERSON), table.read(ARCHIVE)
    assert table.memory.audit is not None

    assert len(text.encode()) <= 700
    assert "- The owner's own line." in text
    assert "- New fact 11" in text
    assert "- Old fact 0 about rowing.\n- Old fact 1 about rowing.\n" in archive
    assert "Old fact 0" not in text
    assert {line.reason for line in versions_of(table).log(PERSON)[-1].entry.removed} == {"archived"}
    assert Provenance(table.memory.audit.folder).sources_of(ARCHIVE)[part_hash("Old fact 0 about rowing.")] == (1,)
    assert "Old fact 0" in table.memory.grep("Old fact 0")[0].line_text


@pytest.mark.slow
async def test_a_full_archive_is_followed_by_the_next(tmp_path: Path) -> None:
    """Every file stays under the cap of the store, and every line is somewhere."""
    table = WriterSetup(tmp_path)
    table.memory.limits = MemoryStoreLimits(max_file_bytes=600)
    for n in range(24):
        standing = table.memory.read_if_present(PERSON) or "# Alice"
        await pass_over(table, standing.replace("# Alice", f"# Alice\n- Fact {n} about boats and birds, quite long."))
    found = [path for path in table.files() if path.startswith("people/discord-1")]
    texts = "".join(table.read(path) for path in found)

    assert "people/discord-1.archive-2.md" in found
    assert all(len(table.read(path).encode()) <= 600 for path in found)
    assert all(f"Fact {n} about" in texts for n in range(24))


async def test_an_archive_is_nobodys_file(table: WriterSetup, monkeypatch: pytest.MonkeyPatch) -> None:
    """No person, no alias, not written by a name the model gives."""
    monkeypatch.setattr(archiving, "WORKING_BYTES", 200)
    for n in range(6):
        await pass_over(table, f"# Alice\n- Fact {n} about boats and birds, quite long.")
    before = table.read(ARCHIVE)
    table.say((ALICE, "hi"))
    result = await table.scripted_writer(writer_answer("s", {"discord-1.archive.md": "forged"})).run()

    assert [edit.text for edit in result.refused] == ["forged"]
    assert table.read(ARCHIVE) == before
    assert "archive" not in table.read("people/_aliases.json")


async def test_lines_leave_a_file_only_once_the_archive_has_them(
    table: WriterSetup, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the archive cannot be written, the file stays as it is and the pass says so."""
    monkeypatch.setattr(archiving, "WORKING_BYTES", 180)
    await pass_over(table, "# Alice\n- Fact one about boats and birds.\n- Fact two about boats and birds.")
    before = table.read(PERSON)
    table.say((ALICE, "facts three and four about boats and birds, and much more of it"))

    def in_the_way(step: str) -> None:
        if step == "journal: written":
            (table.memory.root / ARCHIVE).write_bytes(b"\xff")

    text = "# Alice\n- Fact three about boats and birds.\n- Fact four about boats and birds, and much more of it."
    result = await table.scripted_writer(writer_answer(people={"discord-1.md": text}), step=in_the_way).run()

    assert [edit.name for edit in result.refused] == [ARCHIVE, PERSON]
    assert table.read(PERSON) == before


async def test_a_file_and_its_archive_are_approved_together(
    table: WriterSetup, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One without the other would lose lines."""
    monkeypatch.setattr(archiving, "WORKING_BYTES", 180)
    review = Review(table.memory, clock=table.clock)
    await pass_over(table, "# Alice\n- Fact one about boats and birds.\n- Fact two about boats and birds.")
    text = "# Alice\n- Fact three about boats and birds.\n- Fact four about boats and birds, and much more of it."
    await pass_over(table, text, review=True, pending=review)
    applied = review.approve(review.list()[0].id, [PERSON])

    assert applied.written == (ARCHIVE, PERSON)
    assert "Fact one" in table.read(ARCHIVE)


# Whatever is written


_facts = st.sampled_from(
    ["# Alice", "# Ally", "## Music", "## Sessions", "## Aliases", "- Likes ska.", "- Likes ska, a lot.", "  and more",
     "Plain words here.", "- Ally", "- [x](../sessions/a.md)", "", "```", "Lives in Graz", "- Lives in Graz", "> quote"]
)  # fmt: skip
_page = st.lists(_facts, min_size=1, max_size=10).map("\n".join)
_claim = st.builds(lambda turn, line: f"OUTDATED [{turn}]: {line}", st.integers(1, 6), _facts)
_reply = st.builds(lambda page, claims: "\n".join([page, *claims]), _page, st.lists(_claim, max_size=3))
_step = st.tuples(st.booleans(), _reply)


@pytest.mark.slow
@settings(
    max_examples=25,
    suppress_health_check=[HealthCheck.too_slow],
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
)
@given(st.lists(_step, min_size=2, max_size=4), st.sampled_from([200, 32_768]))
def test_over_random_rewrites_no_line_disappears_without_a_reason(steps: list[tuple[bool, str]], cap: int) -> None:
    """In every version by the writer: each line that went is in the log with a reason, and none was the owner's."""
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.setattr(archiving, "WORKING_BYTES", cap)
        table = WriterSetup(Path(name))
        for by_hand, text in steps:
            if by_hand:
                (table.memory.root / "people").mkdir(exist_ok=True)
                (table.memory.root / PERSON).write_text(text)
            else:
                asyncio.run(pass_over(table, text))
        table.history.close()
        versions = versions_of(table)
        for version in versions.log(PERSON):
            before = versions.find(PERSON, version.number - 1) if version.number > 1 else None
            old = versions.text(before).splitlines() if before else []
            new = versions.text(version).splitlines()
            if version.entry.source == "owner":
                continue
            reasons = {line.line for line in version.entry.removed}
            lost = [line for line in Counter(old) - Counter(new) if line.strip()]
            assert [line for line in lost if part_hash(line) not in reasons] == []
            archived = table.memory.read_if_present(ARCHIVE) or ""
            moved = {line.line for line in version.entry.removed if line.reason == "archived"}
            assert all(line in archived for line in lost if part_hash(line) in moved)
            assert before is None or {line for line in owners_of(table, before.number) if line.strip()} <= set(new)
        assert table.memory.audit is not None
        table.memory.audit.close()
