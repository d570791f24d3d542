"""What the index of turns promises: everything said is found by its words, the newest by its meaning too."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.audience import EVERYONE, between
from familiar_connect.history.message_edits import MessageEdits
from familiar_connect.history.store import HistoryStore
from familiar_connect.history.types import TurnMark
from familiar_connect.history.versions import TurnVersionStore
from familiar_connect.identity import Author, FixedPrivacy, PrivacyLevel
from familiar_connect.memory.index import turn_rows
from familiar_connect.memory.index.chunking import split_long
from familiar_connect.memory.index.protocols import ExplainedScore, RecallScope, Recollection
from familiar_connect.memory.index.storage import DerivedFile
from familiar_connect.memory.index.turn_rows import embed_units
from familiar_connect.memory.index.turns import MAX_STRETCH, WITH_NEIGHBOURS, TurnIndex
from familiar_connect.support.sqlite import Row
from tests.fakes.embedding import CountingEmbedder

ADA = Author("discord", "1", "ada_l", "Ada Lovelace")
BO = Author("discord", "2", "bo", "Bo")
START = datetime(2026, 5, 1, 12, tzinfo=UTC)
ANYWHERE = RecallScope()


@pytest.fixture
def history(tmp_path: Path) -> HistoryStore:
    return HistoryStore(tmp_path / "history.db")


@pytest.fixture
def model() -> CountingEmbedder:
    return CountingEmbedder()


def an_index(tmp_path: Path, history: HistoryStore, **changes: object) -> TurnIndex:
    facts = {"history": history, "familiar_id": "wren", "dim": 512, "model_name": "counting", "own_name": "Wren"}
    return TurnIndex(tmp_path / "memory/.index/turns.sqlite", **facts | changes)  # type: ignore[arg-type]


def say(
    history: HistoryStore,
    text: str,
    who: Author | None = ADA,
    *,
    minutes: float = 0,
    channel: int = 1,
    me: str = "wren",
) -> int:
    return history.append_turn(
        familiar_id=me,
        channel_id=channel,
        role="user" if who else "assistant",
        content=text,
        author=who,
        timestamp=START + timedelta(minutes=minutes),
    ).id


def look_for(index: TurnIndex, word: str, scope: RecallScope = ANYWHERE) -> list[Recollection]:
    facts = index.facts(index.postings(word), scope, frozenset())
    told = index.tellable_texts(facts.units.tolist(), scope)
    return index.show([(unit, ExplainedScore(1.0, {})) for unit in told], scope)


def postings(index: TurnIndex, word: str) -> list[int]:
    return [int(unit) for unit in index.postings(word)]


def test_what_was_said_is_found_by_its_words(tmp_path: Path, history: HistoryStore, model: CountingEmbedder) -> None:
    """In whatever form of the word, with who said it, when, and what stood around it."""
    say(history, "What do you keep on the roof?", BO)
    said = say(history, "I keep bees there.", minutes=1)
    say(history, "How brave.", None, minutes=2)
    index = an_index(tmp_path, history)
    index.sync(model)

    [hit] = look_for(index, "bee")

    assert (hit.turn_id, hit.speaker, hit.text, hit.channel_id) == (said, "Ada Lovelace", "I keep bees there.", 1)
    assert hit.when == START + timedelta(minutes=1)
    assert [(n.speaker, n.text) for n in hit.before + hit.after] == [
        ("Bo", "What do you keep on the roof?"),
        ("Wren", "How brave."),
    ]


def test_the_first_hits_come_with_what_stands_beside_them(
    tmp_path: Path, history: HistoryStore, model: CountingEmbedder
) -> None:
    """All have their text; beside those that come after dozens of others nothing is looked up."""
    for number in range(WITH_NEIGHBOURS + 10):
        say(history, f"bees {number}", minutes=number)
        say(history, f"ducks {number}", BO, minutes=number + 0.5)
    index = an_index(tmp_path, history)
    index.sync(None)

    hits = look_for(index, "bees")

    assert len({hit.text for hit in hits}) == WITH_NEIGHBOURS + 10
    assert [bool(hit.after) for hit in hits[:WITH_NEIGHBOURS]] == [True] * WITH_NEIGHBOURS
    assert not hits[-1].before


def test_only_new_turns_are_read_and_embedded(tmp_path: Path, history: HistoryStore, model: CountingEmbedder) -> None:
    """Also after a restart."""
    say(history, "first thing")
    index = an_index(tmp_path, history)
    assert index.sync(model) == 1
    index.close()
    model.batches.clear()
    say(history, "second thing", minutes=1)
    index = an_index(tmp_path, history)

    assert index.sync(model) == 1
    assert model.texts == ["second thing", "second"]  # "thing" was embedded with the first
    assert len(index.vectors) == 2
    assert index.sync(model) == 0


def test_other_familiars_are_other_people(tmp_path: Path, history: HistoryStore, model: CountingEmbedder) -> None:
    """Nothing said to another familiar is in the index."""
    say(history, "secret bees", me="rook")
    index = an_index(tmp_path, history)
    index.sync(model)

    assert index.counts() == (0, 0)


def test_old_turns_are_found_by_words_and_the_newest_by_meaning_too(
    tmp_path: Path, history: HistoryStore, model: CountingEmbedder
) -> None:
    """Vectors are kept for so many, and go as newer ones come."""
    for number in range(10):
        say(history, f"thing number{number}", minutes=number)
    index = an_index(tmp_path, history, newest_by_meaning=4)
    index.sync(model)
    say(history, "thing number10", minutes=11)
    index.sync(model)

    assert len(index.vectors) == 4
    assert len(look_for(index, "number0")) == len(look_for(index, "number10")) == 1
    [newest, *_] = index.vectors.nearest(model.embed(["thing number10"])[0], 1)
    assert newest[1] > 0.99


def nearness_of_sentences(index: TurnIndex, model: CountingEmbedder, asked: str) -> list[float]:
    """How near to *asked* the best sentence of each unit is, in the order they were said; 0 for what has one alone."""
    units = index.vectors.ids()
    return [float(near) for near in index.best_sentences(model.embed([asked])[0], units, np.zeros(len(units)))]


def test_a_turn_that_says_several_things_is_near_each_of_them(
    tmp_path: Path, history: HistoryStore, model: CountingEmbedder
) -> None:
    """A sentence that says nothing has no vector, and neither has one that is the whole turn; also after a restart."""
    say(history, "Wow! The heron stood in the pond again. I must buy a new kettle tomorrow.")
    say(history, "I keep bees there.", minutes=1)
    index = an_index(tmp_path, history)
    index.sync(model)
    assert "Wow!" not in model.texts

    for each in (index, an_index(tmp_path, history)):
        each.sync(None)
        near = nearness_of_sentences(each, model, "I must buy a new kettle tomorrow.")
        assert near == [pytest.approx(1.0, abs=0.01), 0.0]


def test_deleted_turns_leave_the_index(tmp_path: Path, history: HistoryStore, model: CountingEmbedder) -> None:
    """At once from what is shown, with the next look from the file."""
    gone = say(history, "embarrassing bees")
    say(history, "harmless bees", minutes=1)
    index = an_index(tmp_path, history)
    index.sync(model)
    history.database.write("DELETE FROM turns WHERE id = ?", (gone,))

    assert [hit.text for hit in look_for(index, "bees")] == ["harmless bees"]
    index.sync(model)
    assert postings(index, "embarrassing") == []
    assert (index.counts()[0], len(index.vectors)) == (1, 1)


def test_whoever_no_longer_allows_it_is_not_shown(
    tmp_path: Path, history: HistoryStore, model: CountingEmbedder
) -> None:
    """Neither what was indexed before nor what comes."""
    levels: dict[str, PrivacyLevel] = {}
    say(history, "bees, says Ada")
    say(history, "bees, says Bo", BO, minutes=1)
    index = an_index(tmp_path, history, privacy=FixedPrivacy(levels))
    index.sync(model)
    levels[ADA.canonical_key] = PrivacyLevel.FULL
    say(history, "more bees, says Ada", minutes=2)
    index.sync(model)

    assert [hit.text for hit in look_for(index, "bees")] == ["bees, says Bo"]
    assert look_for(index, "bees")[0].before == ()
    assert len(index.postings("more")) == 0


def test_what_the_prompt_holds_already_is_left_out(
    tmp_path: Path, history: HistoryStore, model: CountingEmbedder
) -> None:
    """By id, or from some turn of the same channel on."""
    ids = [say(history, f"bees {n}", minutes=n) for n in range(4)]
    elsewhere = say(history, "bees elsewhere", minutes=5, channel=2)
    index = an_index(tmp_path, history)
    index.sync(model)

    scope = RecallScope(channel_id=1, before_turn_id=ids[2], exclude_turn_ids=frozenset({ids[0]}))
    found = look_for(index, "bees", scope)

    assert {hit.turn_id for hit in found} == {ids[1], elsewhere}
    assert all(n.text not in ("bees 0", "bees 2") for hit in found for n in hit.before + hit.after)


def test_conversations_end_after_a_silence_and_belong_to_one_channel(
    tmp_path: Path, history: HistoryStore, model: CountingEmbedder
) -> None:
    """What was said hours later or elsewhere is no neighbour."""
    say(history, "one")
    say(history, "elsewhere", channel=2, minutes=1)
    say(history, "two", minutes=2)
    say(history, "later", minutes=500)
    index = an_index(tmp_path, history)
    index.sync(model)

    assert index.counts() == (4, 3)
    assert [n.text for n in look_for(index, "two")[0].before] == ["one"]
    assert look_for(index, "later")[0].before == ()


def test_a_long_conversation_is_several_stretches(
    tmp_path: Path, history: HistoryStore, model: CountingEmbedder
) -> None:
    """A channel that never sleeps does not become one endless unit."""
    with history.database.transaction():
        for number in range(MAX_STRETCH + 5):
            say(history, f"word{number}", minutes=number / 60)
    index = an_index(tmp_path, history)
    index.sync(None)

    assert index.counts()[1] == 2


def test_a_page_long_turn_is_found_by_its_end(tmp_path: Path, history: HistoryStore, model: CountingEmbedder) -> None:
    """And shown by the piece."""
    said = say(history, "Once there was a hill. " * 200 + "On it stood a lantern.")
    index = an_index(tmp_path, history)
    index.sync(model)

    [hit] = look_for(index, "lantern")

    assert hit.turn_id == said
    assert len(hit.text) <= 1201


@pytest.mark.slow
def test_a_turn_of_many_pieces_is_cut_once_however_many_of_them_are_read(
    tmp_path: Path, history: HistoryStore, model: CountingEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cut anew for each piece, a pasted book held every search up for minutes."""
    say(history, "Once there was a hill with a lantern. " * 4_000)
    index = an_index(tmp_path, history)
    cut = []

    def split(text: str, limit: int) -> list[str]:
        cut.append(text)
        return split_long(text, limit)

    monkeypatch.setattr(turn_rows, "split_long", split)
    index.sync(model)
    found = look_for(index, "lantern")

    assert len(found) > 100
    assert len(cut) == 1


def test_the_index_may_be_deleted_at_any_time(tmp_path: Path, history: HistoryStore, model: CountingEmbedder) -> None:
    """The next look makes it again."""
    say(history, "bees")
    index = an_index(tmp_path, history)
    index.sync(model)
    shutil.rmtree(tmp_path / "memory/.index")
    index.sync(model)

    assert len(look_for(index, "bees")) == len(index.vectors) == 1
    index.forget()
    assert postings(index, "bees") == []


def test_names_are_those_people_spoke_under(tmp_path: Path, history: HistoryStore, model: CountingEmbedder) -> None:
    """Whole, and by the words of a longer one."""
    say(history, "hi", ADA)
    index = an_index(tmp_path, history)
    index.sync(model)

    assert {"ada lovelace", "ada", "lovelace", "ada_l"} <= index.names()


@pytest.mark.parametrize("word", ['"', "a b", "NEAR(", "*", "寿司", "\0", "OR", "'; DROP TABLE units; --"])
def test_no_word_is_syntax(tmp_path: Path, history: HistoryStore, model: CountingEmbedder, word: str) -> None:
    """Whatever people type is looked for, never obeyed."""
    say(history, f"say {word} twice")
    index = an_index(tmp_path, history)
    index.sync(model)

    assert isinstance(postings(index, word), list)


def test_blank_turns_are_passed_by(tmp_path: Path, history: HistoryStore, model: CountingEmbedder) -> None:
    """There is nothing in them to find."""
    say(history, "  ")
    index = an_index(tmp_path, history)

    assert index.sync(model) == 1
    assert index.counts() == (0, 0)
    assert model.texts == []


def a_message(history: HistoryStore, text: str, message_id: str) -> int:
    return history.append_turn(
        familiar_id="wren",
        channel_id=1,
        role="user",
        content=text,
        author=ADA,
        timestamp=START,
        platform_message_id=message_id,
    ).id


def test_an_edited_turn_is_found_by_its_new_words_alone(
    tmp_path: Path, history: HistoryStore, model: CountingEmbedder
) -> None:
    """By words and by meaning, in the place it had; even before the index has followed, no old words are shown."""
    a_message(history, "I keep bees on the roof", "m1")
    say(history, "How brave.", None)
    index = an_index(tmp_path, history)
    index.sync(model)
    units = postings(index, "bees")
    MessageEdits(history, "wren").record_edit(channel_id=1, message_id="m1", text="I keep ducks on the roof")

    assert look_for(index, "bees") == []
    index.sync(model)
    [hit] = look_for(index, "ducks")
    assert (hit.text, [each.text for each in hit.after]) == ("I keep ducks on the roof", ["How brave."])
    assert (postings(index, "bees"), postings(index, "ducks")) == ([], units)
    assert model.texts[-2:] == ["I keep ducks on the roof", "ducks"]
    assert index.counts()[0] == 2


def test_sentences_go_with_their_turn(tmp_path: Path, history: HistoryStore, model: CountingEmbedder) -> None:
    """An edited turn is near what it says now, and one that was taken back leaves nothing behind."""
    kettle = "I must buy a new kettle tomorrow."
    a_message(history, f"The heron stood in the pond again. {kettle}", "m1")
    index = an_index(tmp_path, history)
    index.sync(model)
    assert nearness_of_sentences(index, model, kettle)[0] > 0.9

    edits = MessageEdits(history, "wren")
    edits.record_edit(channel_id=1, message_id="m1", text="The heron stood in the pond again. Nobody saw the fox.")
    index.sync(model)
    assert (
        nearness_of_sentences(index, model, kettle)[0]
        < 0.9
        < nearness_of_sentences(index, model, "Nobody saw the fox.")[0]
    )

    edits.record_deletions(channel_id=1, message_ids=["m1"])
    index.sync(model)
    assert index.best_sentences(model.embed([kettle])[0], np.arange(1 << 21, (1 << 21) + 9), np.zeros(9)).max() == 0.0


@given(st.lists(st.sampled_from(["Wow.", "We saw two herons there.", "Nobody saw the fox?", "ok", "…"]), max_size=12))
def test_any_text_has_a_few_sentences_at_most(pieces: list[str]) -> None:
    """Each says something, and none is the whole text."""
    text = " ".join(pieces)
    model = CountingEmbedder()
    whole, numbers, vectors = embed_units(model, [(7, text)])

    assert len(whole) == 1
    assert len(numbers) == len(vectors) == len(set(numbers)) <= 8
    assert all(number >> 3 == 7 for number in numbers)
    assert all(each in text and each != text for each in model.texts[1:])


def test_a_turn_taken_back_is_found_no_more(tmp_path: Path, history: HistoryStore, model: CountingEmbedder) -> None:
    """Whether the index knew it before or not; that it was deleted is nothing to find either."""
    a_message(history, "I keep bees on the roof", "m1")
    index = an_index(tmp_path, history)
    index.sync(model)
    a_message(history, "I keep bees in the cellar", "m2")
    MessageEdits(history, "wren").record_deletions(channel_id=1, message_ids=["m1", "m2"])
    index.sync(model)

    assert (postings(index, "bees"), postings(index, "deleted"), index.counts()[0]) == ([], [], 0)
    assert len(index.vectors.ids()) == 0


def test_a_turn_is_found_by_its_chosen_version_and_not_at_all_when_undone(
    tmp_path: Path, history: HistoryStore, model: CountingEmbedder
) -> None:
    """Even before the index has followed; taken back in, it is found again."""
    turn_id = a_message(history, "I keep bees on the roof", "m1")
    versions = TurnVersionStore(history, "wren")
    index = an_index(tmp_path, history)
    index.sync(model)

    versions.add_version(turn_id, "I keep ducks on the roof")
    assert look_for(index, "bees") == []
    index.sync(model)
    assert [hit.text for hit in look_for(index, "ducks")] == ["I keep ducks on the roof"]
    versions.mark_turns([turn_id], TurnMark.undone)
    assert look_for(index, "ducks") == []
    index.sync(model)
    assert (postings(index, "ducks"), index.counts()[0]) == ([], 0)
    versions.mark_turns([turn_id], None)
    index.sync(model)
    assert [hit.text for hit in look_for(index, "ducks")] == ["I keep ducks on the roof"]


def test_a_turn_edited_to_another_length_is_taken_in_whole(
    tmp_path: Path, history: HistoryStore, model: CountingEmbedder
) -> None:
    """Longer or shorter than it was, empty before or after, and as often as it is changed."""
    revisions = MessageEdits(history, "wren")
    pages = "\n".join(f"Sentence {number} speaks of honey and of nothing else at all." for number in range(100))
    a_message(history, "bees", "m1")
    index = an_index(tmp_path, history)
    index.sync(model)
    found = []
    for text in (f"{pages} The end is wax.", "wax", "", f"ducks {pages}"):
        revisions.record_edit(channel_id=1, message_id="m1", text=text)
        index.sync(model)
        found.append([bool(postings(index, word)) for word in ("bees", "honey", "wax", "ducks")])

    assert found == [
        [False, True, True, False],
        [False, False, True, False],
        [False, False, False, False],
        [False, True, False, True],
    ]


def test_only_turns_that_may_be_told_are_candidates(
    tmp_path: Path, history: HistoryStore, model: CountingEmbedder
) -> None:
    """By whom each was said to, not by its channel; what stands beside one is asked for itself."""
    dm = between(["discord:1"])
    for minute, audience in enumerate((EVERYONE, dm, EVERYONE)):
        history.append_turn(
            familiar_id="wren",
            channel_id=1,
            role="user",
            content=f"bees {minute}",
            author=ADA,
            timestamp=START + timedelta(minutes=minute),
            audience=audience,
        )
    index = an_index(tmp_path, history)
    index.sync(model)
    here = RecallScope(audience_of_turn=lambda turn: turn.audience if turn.audience == EVERYONE else None)

    found = look_for(index, "bees", here)

    assert sorted(hit.text for hit in found) == ["bees 0", "bees 2"]
    assert all(hit.before == hit.after == () for hit in found)
    assert {hit.audiences for hit in found} == {frozenset({EVERYONE})}
    assert [hit.audiences for hit in look_for(index, "1")] == [frozenset({EVERYONE, dm})]


def test_what_another_process_took_in_is_found(tmp_path: Path, history: HistoryStore, model: CountingEmbedder) -> None:
    """What is held in memory follows the file, whoever wrote it."""
    say(history, "I keep bees.")
    index, other = an_index(tmp_path, history), an_index(tmp_path, history)
    index.sync(model)
    say(history, "Bees again, elsewhere.", BO, channel=2)
    other.sync(model)

    found = look_for(index, "bees", RecallScope(channel_id=2))
    here = index.facts(index.postings("bees"), RecallScope(channel_id=2), frozenset()).in_channel.tolist()

    assert {hit.text for hit in found} == {"I keep bees.", "Bees again, elsewhere."}
    assert sorted(here) == [0.0, 1.0]


def test_an_edited_turn_is_known_by_its_new_words(
    tmp_path: Path, history: HistoryStore, model: CountingEmbedder
) -> None:
    """How much it says, and whether it asks."""
    a_message(history, "I keep bees.", "m1")
    index = an_index(tmp_path, history)
    index.sync(model)
    MessageEdits(history, "wren").record_edit(channel_id=1, message_id="m1", text="Do my bees swarm in spring?")
    index.sync(model)

    facts = index.facts(index.postings("bees"), ANYWHERE, frozenset())

    assert (facts.asks.tolist(), facts.word_count.tolist()) == ([1.0], [3.0])


def test_following_the_history_reads_again_only_what_another_process_changed(
    tmp_path: Path, history: HistoryStore, model: CountingEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A home of any size is brought level after each turn."""
    say(history, "I keep bees.")
    index, other = an_index(tmp_path, history), an_index(tmp_path, history)
    index.sync(model)
    read, whole = DerivedFile.read, []

    def watched(self: DerivedFile, sql: str, parameters: Sequence[object] = ()) -> list[Row]:
        whole.extend([sql] if sql.endswith(("FROM vectors", "FROM units")) else [])
        return read(self, sql, parameters)

    monkeypatch.setattr(DerivedFile, "read", watched)
    for number in range(3):
        say(history, f"And {number} ducks.", minutes=number)
        index.sync(model)
    assert (whole, len(index.vectors)) == ([], 4)

    say(history, "And geese.", minutes=9)
    other.sync(model)
    index.sync(None)

    assert len(index.vectors) == 5
    assert len(look_for(index, "geese")) == 1
