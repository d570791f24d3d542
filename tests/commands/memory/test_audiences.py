"""`familiar memory audiences`: older files are settled, by the owner's word."""

from __future__ import annotations

import zipfile
from pathlib import Path

from familiar_connect.audience import between, whole_server
from familiar_connect.memory.maintenance.audience_proposals import count_unsettled_files
from familiar_connect.memory.part_audiences import PartAudiences
from familiar_connect.memory.types import WRITER_SOURCE
from familiar_connect.memory.versioning.provenance import Provenance, part_hash
from familiar_connect.memory.writing.plan import PartSource
from tests.commands.memory.conftest import Run
from tests.fakes.sample_week import history_of, memory_of

SERVER, DM = whole_server("discord", 2001), between(["discord:1001"])


def a_home_made_before(root: Path) -> None:
    """Files that do not say whose they are: of one audience, of two, of nobody knows whom, and by hand."""
    store, history = memory_of(root), history_of(root)
    assert store.audit is not None
    for name, said in {"one": (SERVER,), "both": (SERVER, DM), "none": ()}.items():
        turns = []
        for audience in said:
            turn = history.append_turn(familiar_id="mira", channel_id=77, role="user", content="tea", audience=audience)
            turns.append(turn.id)
        store.write_file(f"topics/{name}.md", f"- tea {name}\n", source=WRITER_SOURCE)
        sources = [PartSource(part=part_hash(f"tea {name}"), turns=tuple(turns))]
        Provenance(store.audit.folder).record(f"topics/{name}.md", sources, "run")
    store.write_file("topics/hand.md", "by hand\n", source="test")
    history.close()


def unsettled(root: Path) -> int:
    history = history_of(root)
    try:
        return count_unsettled_files(PartAudiences(memory_of(root), history, familiar_id="mira"))
    finally:
        history.close()


def test_each_file_that_is_not_settled_has_a_proposal_with_its_reason(run: Run, root: Path) -> None:
    """The week's own files are settled, and so is what was written by hand."""
    before = {each["file"] for each in run("audiences", "--json").json["proposals"]}
    a_home_made_before(root)
    told = {each["file"]: each for each in run("audiences", "--json").json["proposals"]}

    assert {path: told[path]["audience"] for path in told.keys() - before} == {
        "topics/both.md": "owner",
        "topics/none.md": "owner",
        "topics/one.md": "server:discord:2001",
    }
    assert not told["topics/both.md"]["clear"]
    assert "2 audiences" in run("audiences").out
    assert unsettled(root) == len(told)


def test_accepting_writes_it_into_the_clear_ones_after_a_copy(run: Run, root: Path) -> None:
    """Those of several audiences only by name; the copy holds memory as it was."""
    a_home_made_before(root)
    taken = run("audiences", "--accept", "--json").json
    store = memory_of(root)

    assert "topics/one.md" in taken["accepted"]
    assert [each["file"] for each in taken["proposals"]] == ["topics/both.md"]
    assert store.read_file("topics/one.md") == "---\naudience: server:discord:2001\n---\n- tea one\n"
    assert store.read_file("topics/both.md") == "- tea both\n"
    with zipfile.ZipFile(taken["backup"]) as copy:
        assert copy.read("topics/one.md") == b"- tea one\n"
    named = run("audiences", "--accept", "topics/both.md", "--json").json
    assert named["accepted"] == ["topics/both.md"]
    assert unsettled(root) == 0
    assert run("audiences").out == "Every file already has an audience.\n"


def test_a_settled_file_is_told_in_one_sentence(run: Run) -> None:
    """With what to do instead."""
    outcome = run("audiences", "--accept", "people/discord-1001.md")

    assert outcome.code == 1
    assert "people/discord-1001.md already has an audience" in outcome.err
