"""Lines among what was found that tell a model nothing."""

from __future__ import annotations

from familiar_connect.memory.index.protocols import ExplainedScore, Neighbour, Recollection, RetrievedChunk
from familiar_connect.memory.index.relevance import without_neighbours, without_padding

ASKED = {"words": 1.0, "meaning": 2.0}
NEARBY = {"words around": 1.0, "meaning": 0.4}


def turn(speaker: str, text: str, signals: dict[str, float], *beside: tuple[int, str, str]) -> Recollection:
    neighbours = [Neighbour(place, words, who) for place, who, words in beside]
    return Recollection(
        source="turn",
        key=text,
        text=text,
        speaker=speaker,
        explained=ExplainedScore(1.0, signals),
        place=("lounge", 5),
        before=tuple(each for each in neighbours if each.place < 5),
        after=tuple(each for each in neighbours if each.place > 5),
    )


def part(path: str, heading: str, text: str) -> Recollection:
    return Recollection(
        source="file",
        key=text,
        text=text,
        explained=ExplainedScore(1.0, ASKED),
        rel_path=path,
        heading_path=heading,
        place=(path, 1),
    )


def test_the_familiars_remarks_beside_a_hit_are_left_out() -> None:
    """What it asked stays, because the hit answers it."""
    hit = turn("Ada", "on Friday", ASKED, (4, "Ember", "When is it?"), (6, "Ember", "Noted."), (7, "Bo", "me too"))
    plain = turn("Ada", "on Friday", ASKED, (4, "Ember", "I hear you."))

    assert [each.text for each in shown(hit).before] == ["When is it?"]
    assert [each.text for each in shown(hit).after] == ["me too"]
    assert shown(plain).before == ()


def shown(hit: Recollection) -> Recollection:
    (found,) = without_padding([hit], own_name="Ember")
    assert isinstance(found, Recollection)
    return found


def test_the_familiars_own_words_are_found_only_for_themselves() -> None:
    """A remark that merely stood near what was asked for is no memory."""
    promise = turn("Ember", "I promised you a story about the harbour.", ASKED)
    remark = turn("Ember", "I hear you.", NEARBY)
    of_ada = turn("Ada", "the bus was late", NEARBY)

    assert without_padding([promise, remark, of_ada], own_name="Ember") == [promise, of_ada]


def test_a_session_file_gives_no_lists_and_no_quotes_of_turns() -> None:
    """The turns are found by themselves; what a writer put in words of its own stays."""
    path, said = "sessions/2026-03-02-evening.md", "2026-03-02 evening > What was said"
    quotes = part(path, said, "- Ada said: I like tea.\n- [Ada](../people/discord-1.md)\n- Sam")
    prose = part(path, "2026-03-02 evening", "They planned the harbour walk.\n- Ada said: Friday it is.")

    found = without_padding([part(path, "2026-03-02 evening > Context", "- #lounge"), quotes, prose], own_name="Ember")

    assert [each.text for each in found] == ["They planned the harbour walk."]


def test_other_files_and_plain_chunks_stay_as_they_are() -> None:
    """An owner's list of quotes is the owner's."""
    lore = part("lore/harbour.md", "Harbour", "- The keeper said: no boats at night.")
    chunk = RetrievedChunk("sessions/a.md", "Context", "- #lounge", 1.0)

    assert without_padding([lore, chunk], own_name="Ember") == [lore, chunk]


def test_a_hit_can_be_shown_alone() -> None:
    """Those far down the list are."""
    hit = turn("Ada", "on Friday", ASKED, (4, "Bo", "when?"))

    assert without_neighbours(hit) == turn("Ada", "on Friday", ASKED)
