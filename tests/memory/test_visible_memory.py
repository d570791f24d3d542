"""Memory as one place may hear it: whose each part is, which file takes what, what a reader of it meets."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from familiar_connect.audience import (
    EVERYONE,
    OWNER,
    Audience,
    Readers,
    between,
    hidden_channel,
    may_tell_all,
    whole_server,
)
from familiar_connect.errors import MemoryStoreError
from familiar_connect.history.store import HistoryStore
from familiar_connect.identity import FixedPrivacy, PrivacyLevel
from familiar_connect.memory.file_audience import with_audience
from familiar_connect.memory.part_audiences import TOOL_SOURCE, PartAudiences
from familiar_connect.memory.types import WRITER_SOURCE
from familiar_connect.memory.versioning.provenance import Provenance, part_hash
from familiar_connect.memory.visible_memory import VisibleMemory
from familiar_connect.memory.withdrawal.withdraw_turns import TurnWithdrawal
from familiar_connect.memory.writing.plan import PartSource
from familiar_connect.tools.types import SOURCE
from tests.fakes.writer_setup import ALICE, BOB, FAMILIAR, WriterSetup

SERVER, OTHER = whole_server("discord", 5), whole_server("discord", 6)
STAFF = hidden_channel("discord", 9, 5)
ALICES_DM = between([ALICE.canonical_key])
IN_SERVER = Readers(SERVER, platform="discord", channel_id=7, server_id=5)
IN_STAFF = Readers(STAFF, platform="discord", channel_id=9, server_id=5)
IN_DM = Readers(ALICES_DM, platform="discord", channel_id=30, speaker=ALICE.canonical_key)
AT_HOME = Readers(OWNER, platform="terminal")
PERSON = "people/discord-1.md"


@pytest.fixture
def table(tmp_path: Path) -> WriterSetup:
    return WriterSetup(tmp_path)


def parts_of_memory(table: WriterSetup, privacy: FixedPrivacy | None = None) -> PartAudiences:
    return PartAudiences(table.memory, table.history, familiar_id=FAMILIAR, privacy=privacy or FixedPrivacy())


def hears(here: Readers) -> Callable[[Iterable[Audience]], bool]:
    return lambda said_to: may_tell_all(said_to, here)


def visible(table: WriterSetup, here: Readers, privacy: FixedPrivacy | None = None) -> VisibleMemory:
    return VisibleMemory(parts_of_memory(table, privacy), hears(here))


def write_sourced(
    table: WriterSetup, path: str, lines: dict[str, tuple[Audience, ...]], title: str = "# Alice"
) -> None:
    """A file as the writer left it before files said whose they are: each line with the turns behind it."""
    assert table.memory.audit is not None
    parts = []
    for line, said_to in lines.items():
        turns = [table.say((ALICE, line), to=each)[0] for each in said_to]
        parts.append(PartSource(part=part_hash(line), turns=tuple(turns)))
    text = f"{title}\n\n" + "".join(f"- {line}\n" for line in lines)
    table.memory.write_file(path, text, source=WRITER_SOURCE)
    Provenance(table.memory.audit.folder).record(path, parts, "run")


def test_what_the_owner_wrote_by_hand_is_everyones(table: WriterSetup) -> None:
    """Byte for byte."""
    table.memory.write_file(PERSON, "# Alice\r\n\r\n- keeps bees", source="owner")

    assert visible(table, IN_SERVER).look(PERSON).text == "# Alice\r\n\r\n- keeps bees"
    assert visible(table, IN_SERVER).look(PERSON).audiences == {EVERYONE}


def test_what_the_familiar_wrote_without_known_sources_is_the_owners(table: WriterSetup) -> None:
    """Whether its writer did or one of its tools."""
    table.memory.write_file(PERSON, "- from nowhere", source=WRITER_SOURCE)
    table.memory.write_file("people/discord-2.md", "- from nowhere", source=TOOL_SOURCE)

    assert visible(table, IN_SERVER).glob("**/*.md") == []
    assert visible(table, AT_HOME).glob("**/*.md") == [PERSON, "people/discord-2.md"]
    assert TOOL_SOURCE == SOURCE


def test_each_part_is_told_where_each_of_its_sources_may_be(table: WriterSetup) -> None:
    """A line of a direct message is in no other place; one made of both is told where both may be, which is nowhere."""
    lines = {"open tea": (SERVER,), "secret bees": (ALICES_DM,), "tea and bees": (SERVER, ALICES_DM)}
    write_sourced(table, PERSON, lines)

    assert "open tea" in visible(table, IN_SERVER).read_file(PERSON)
    assert "bees" not in visible(table, IN_SERVER).read_file(PERSON)
    assert visible(table, IN_DM).read_file(PERSON) == "- secret bees\n"
    assert visible(table, IN_DM).look(PERSON).audiences == {ALICES_DM}


def test_lines_without_sources_follow_all_the_others(table: WriterSetup) -> None:
    """In a file that came from a conversation, headings and names too."""
    write_sourced(table, PERSON, {"open tea": (SERVER,), "open bees": (SERVER,)}, title="# Alice\n\nA good soul.")
    write_sourced(table, "topics/tea.md", {"green": (SERVER,), "black": (STAFF,)}, title="# Secret tea")

    assert "A good soul." in visible(table, IN_SERVER).read_file(PERSON)
    assert visible(table, IN_SERVER).read_file("topics/tea.md") == "- green\n"
    assert visible(table, IN_STAFF).read_file("topics/tea.md").startswith("# Secret tea")


def test_a_file_that_says_whose_it_is_is_theirs_as_a_whole(table: WriterSetup) -> None:
    """The owner's own lines in it keep its audience; in the open file they are everyone's."""
    table.memory.write_file("people/discord-1@dm.md", with_audience("- mine\n", ALICES_DM), source="owner")

    assert not visible(table, IN_SERVER).exists("people/discord-1@dm.md")
    assert visible(table, IN_DM).read_file("people/discord-1@dm.md") == "- mine\n"
    with pytest.raises(MemoryStoreError):
        visible(table, IN_SERVER).read_file("people/discord-1@dm.md")


def test_a_channel_that_is_hidden_takes_along_what_was_written_of_it(table: WriterSetup) -> None:
    """Also out of files that say they are the server's."""
    write_sourced(table, PERSON, {"open tea": (SERVER,)})
    text = table.read(PERSON)
    table.memory.write_file(PERSON, with_audience(text, SERVER), source="owner")
    table.history.change_audience(familiar_id=FAMILIAR, channel_id=7, audience=hidden_channel("discord", 7, 5))

    assert not visible(table, IN_SERVER).exists(PERSON)
    assert visible(table, AT_HOME).exists(PERSON)


def test_a_turn_that_is_gone_was_said_to_nobody_knows_whom(table: WriterSetup) -> None:
    """So what it left is the owner's."""
    write_sourced(table, PERSON, {"open tea": (SERVER,)})
    table.history.database.write("DELETE FROM turns")

    assert not visible(table, IN_SERVER).exists(PERSON)


def test_lists_searches_and_names_hold_nothing_else(table: WriterSetup) -> None:
    """Nor do proposals that wait."""
    table.memory.write_file("topics/tea.md", "green tea", source="owner")
    table.memory.write_file("topics/war@dm.md", with_audience("green tea war", ALICES_DM), source="owner")
    table.memory.write_file("sessions/.pending/x/plan.json", "green tea plan", source="owner")
    memory = visible(table, IN_SERVER)

    assert [entry.name for entry in memory.list_dir("topics")] == ["tea.md"]
    assert memory.glob("**/*") == ["topics/tea.md"]
    assert memory.glob("sessions/.pending/**/*") == []
    assert [(hit.rel_path, hit.line_text) for hit in memory.grep("green")] == [("topics/tea.md", "green tea")]
    assert memory.grep("audience", "") == []
    assert [hit.rel_path for hit in visible(table, IN_DM).grep("war")] == ["topics/war@dm.md"]


def test_what_is_withheld_crowds_nothing_out_of_a_search(tmp_path: Path) -> None:
    """However much of it matches."""
    table = WriterSetup(tmp_path)
    for number in range(1_005):
        (table.memory.root / "topics").mkdir(exist_ok=True)
        (table.memory.root / f"topics/{number:04}.md").write_text(with_audience("green", OTHER))
    (table.memory.root / "topics/z.md").write_text("green")

    assert [hit.rel_path for hit in visible(table, IN_SERVER).grep("green")] == ["topics/z.md"]


def withdraw(table: WriterSetup, privacy: FixedPrivacy) -> list[str]:
    """Take back what is to be taken back; the files that changed."""
    return TurnWithdrawal(table.memory, table.history, FAMILIAR, privacy=privacy).carry_out().files


def test_full_privacy_takes_their_words_out_of_every_place_at_once(table: WriterSetup) -> None:
    """The owner's too; the next tidy-up takes them out of the files, and the audit says so."""
    write_sourced(table, "sessions/day.md", {"Alice keeps bees": (SERVER,)})
    (bobs,) = table.say((BOB, "Bob paints"), to=SERVER)
    assert table.memory.audit is not None
    text = table.read("sessions/day.md") + "- Bob paints\n"
    table.memory.write_file("sessions/day.md", text, source=WRITER_SOURCE)
    sources = [PartSource(part=part_hash("Bob paints"), turns=(bobs,))]
    Provenance(table.memory.audit.folder).record("sessions/day.md", sources, "run")
    table.memory.write_file("people/discord-2@dm.md", with_audience("- all", ALICES_DM), source=WRITER_SOURCE)
    full = FixedPrivacy({ALICE.canonical_key: PrivacyLevel.FULL})

    assert "bees" in visible(table, AT_HOME).read_file("sessions/day.md")
    for here in (IN_SERVER, AT_HOME):
        assert "bees" not in visible(table, here, full).read_file("sessions/day.md")
        assert "Bob paints" in visible(table, here, full).read_file("sessions/day.md")
    changed = withdraw(table, full)

    assert changed == ["people/discord-2@dm.md", "sessions/day.md"]
    assert "bees" not in table.read("sessions/day.md")
    assert "Bob paints" in table.read("sessions/day.md")
    assert [entry.source for entry in table.memory.audit_entries[-2:]] == ["withdrawal", "withdrawal"]
    assert withdraw(table, full) == []


@pytest.mark.parametrize(
    ("said_to", "before", "chosen"),
    [
        (SERVER, None, PERSON),
        (OWNER, None, PERSON),
        (ALICES_DM, None, "people/discord-1@dm-discord-1.md"),
        (STAFF, None, "people/discord-1@channel-discord-9.md"),
        (SERVER, SERVER, PERSON),
        (OTHER, SERVER, "people/discord-1@server-discord-6.md"),
        (OWNER, SERVER, "people/discord-1@owner.md"),
        (EVERYONE, SERVER, "people/discord-1@everyone.md"),
    ],
)
def test_which_file_takes_what(table: WriterSetup, said_to: Audience, before: Audience | None, chosen: str) -> None:
    """The open one where it is free or theirs; what was said to some only always stands beside it."""
    if before is not None:
        table.memory.write_file(PERSON, with_audience("- x", before), source="owner")

    assert parts_of_memory(table).choose_path(PERSON, said_to) == chosen


def test_an_open_file_by_hand_stays_open(table: WriterSetup) -> None:
    """What a server says goes beside it; a file made from that server's words alone goes on."""
    table.memory.write_file(PERSON, "- by hand", source="owner")
    write_sourced(table, "people/discord-2.md", {"tea": (SERVER,)})
    parts = parts_of_memory(table)

    assert parts.choose_path(PERSON, SERVER) == "people/discord-1@server-discord-5.md"
    assert parts.choose_path(PERSON, EVERYONE) == PERSON
    assert parts.choose_path("people/discord-2.md", SERVER) == "people/discord-2.md"
    assert parts.choose_path("people/discord-2.md", OTHER) == "people/discord-2@server-discord-6.md"


def test_two_audiences_of_one_name_never_share_a_file(table: WriterSetup) -> None:
    """As when the owner shares a channel with another later."""
    parts = parts_of_memory(table)
    table.memory.write_file("topics/tea@channel-discord-9.md", with_audience("- x", STAFF), source="t")
    shared = STAFF.with_targets(["server:6"])

    assert parts.choose_path("topics/tea.md", STAFF) == "topics/tea@channel-discord-9.md"
    assert parts.choose_path("topics/tea.md", shared).startswith("topics/tea@channel-discord-9-")


def test_a_file_too_long_or_broken_is_judged_by_its_beginning(table: WriterSetup) -> None:
    """It is told as it may be, or not at all."""
    for name, audience in (("a", SERVER), ("b", ALICES_DM)):
        (table.memory.root / f"{name}.md").write_bytes(with_audience("tea \n", audience).encode() + b"\xff")

    assert visible(table, IN_SERVER).look("a.md").text.startswith("tea")
    assert visible(table, IN_SERVER).look("b.md").text == ""


def test_without_a_history_only_the_files_speak(tmp_path: Path) -> None:
    """A bare store is judged by its front matter."""
    history = HistoryStore(":memory:")
    table = WriterSetup(tmp_path)
    table.memory.write_file("a.md", with_audience("x", ALICES_DM), source="t")
    history.close()

    assert VisibleMemory(PartAudiences(table.memory), hears(IN_SERVER)).glob("*.md") == []


def test_a_large_file_is_read_to_its_cap_without_a_line_in_the_log(
    table: WriterSetup, caplog: pytest.LogCaptureFixture
) -> None:
    """Whoever searches is told so by the search; one that is no text stays a warning."""
    lore = table.memory.root / "lore"
    lore.mkdir(parents=True)
    (lore / "big.md").write_text("The zebra.\n" + "words\n" * 60_000, "utf-8")
    (lore / "torn.md").write_bytes(b"The quagga.\xff\n")

    seen = visible(table, AT_HOME)

    assert "The zebra." in seen.look("lore/big.md").text
    assert "The quagga." in seen.look("lore/torn.md").text
    assert [record.__dict__["path"] for record in caplog.records] == ["lore/torn.md"]
