"""Why something was not remembered: planted causes, each followed to the step that failed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest

from familiar_connect.audience import Readers, between, whole_server
from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.context.render import RenderOptions
from familiar_connect.context.types import ContextItem, Contribution, DroppedNote, ItemTag, Layer
from familiar_connect.errors import FamiliarError
from familiar_connect.history.store import HistoryStore
from familiar_connect.identity import Author
from familiar_connect.memory.index.protocols import ExplainedScore, RecallScope, Recollection
from familiar_connect.memory.part_audiences import PartAudiences
from familiar_connect.memory.store import MemoryStore
from familiar_connect.observe.replay_store import ReplayRecord
from familiar_connect.observe.trace import StageSpan
from familiar_connect.reply.inspection.recall_check import PastTurn, RecallCheck
from familiar_connect.reply.inspection.recall_evidence import RecallExplanation, holds_words, search_words
from familiar_connect.reply.prompt_replay import Fitting
from familiar_connect.support.serialize import to_plain
from tests.fakes.traces import a_record, a_trace

BO = Author("discord", "7", "bo", "Bo")
POT = "The spare key lies under the blue pot."
SERVER = Readers(whole_server("discord", 1), platform="discord", channel_id=7, server_id=1)


class FoundAgain:
    """Finds whatever the history or a file holds, in the order given; nothing for words it is told to miss."""

    is_warm = True

    def __init__(self, *hits: Recollection, misses: str = "\0") -> None:
        self.hits = list(hits)
        self._misses = misses

    def recall_now(self, utterance: str, *, limit: int = 40, scope: RecallScope | None = None) -> list[Recollection]:
        return [] if self._misses in utterance else self.hits[:limit]


def a_hit(text: str, *, turn_id: int | None = None, path: str | None = None) -> Recollection:
    return Recollection(
        source="turn" if turn_id is not None else "file",
        key=str(turn_id or path),
        text=text,
        explained=ExplainedScore(5.0, {"words": 1.0, "meaning": 4.0}),
        turn_id=turn_id,
        rel_path=path,
    )


@contextmanager
def a_check(root: Path, again: FoundAgain | None = None) -> Iterator[RecallCheck]:
    folder = FamiliarFolder(root)
    with closing(HistoryStore(root / "history.db")) as history:
        store = MemoryStore(folder.memory)
        audiences = PartAudiences(store, history, familiar_id="wren")
        yield RecallCheck(familiar_id="wren", history=history, audiences=audiences, retriever=again or FoundAgain())


def tell(check: RecallCheck, text: str, *, private: bool = False) -> int:
    """Bo said *text*: on the server, or to us alone."""
    audience = between(["discord:7"]) if private else whole_server("discord", 1)
    said = check.history.append_turn(
        familiar_id="wren", channel_id=9 if private else 7, role="user", content=text, author=BO, audience=audience
    )
    return said.id


def failed_at(found: RecallExplanation) -> str:
    return found.answer.name


def test_what_nobody_said_was_never_heard(tmp_path: Path) -> None:
    """The first planted cause; later steps are not guessed at."""
    with a_check(tmp_path) as check:
        tell(check, "The garden key hangs by the door.")
        found = check.explain("spare key", PastTurn(trace=a_trace(), record=a_record()))

    assert failed_at(found) == "heard"
    assert found.sentence == "No one ever said “spare key”, and no memory file has it."
    assert {step.outcome.value for step in found.steps[1:]} == {"skipped"}


def test_what_was_told_in_a_direct_message_is_not_allowed_on_a_server(tmp_path: Path) -> None:
    """The second: it is found, and it stays a confidence."""
    again = FoundAgain()
    with a_check(tmp_path, again) as check:
        again.hits.append(a_hit(POT, turn_id=tell(check, POT, private=True)))
        record = a_record()
        record = replace(record, request=replace(record.request, utterance="Where is the spare key?", readers=SERVER))
        found = check.explain("spare key", PastTurn(trace=a_trace(), record=record))

    assert failed_at(found) == "allowed here"
    assert "the people of a direct message" in found.answer.evidence
    assert "shares_with" in found.answer.fix
    assert [step.outcome.value for step in found.steps[:4]] == ["yes", "skipped", "yes", "yes"]


def test_what_had_no_room_was_cut_by_the_budget(tmp_path: Path) -> None:
    """The third: found and allowed, and the layer of memories was full."""
    again = FoundAgain()
    with a_check(tmp_path, again) as check:
        again.hits.append(a_hit(POT, turn_id=tell(check, POT)))
        record = a_record(dropped=(DroppedNote(Layer.content, "content_search", "dropped", 120),))
        record = replace(record, request=replace(record.request, utterance="Where is the spare key?"))
        found = check.explain("spare key", PastTurn(trace=a_trace(stages=()), record=record))

    assert failed_at(found) == "room in the prompt"
    assert "content_search lost 120 tokens, layer content is full" in found.answer.evidence
    assert "[budget]" in found.answer.fix


def test_what_a_search_for_the_message_misses_is_not_found(tmp_path: Path) -> None:
    """Though it is written and the index holds it."""
    again = FoundAgain(a_hit(POT, path="topics/house.md"), misses="hello there")
    with a_check(tmp_path, again) as check:
        check.audiences.store.write_file("topics/house.md", f"# House\n\n{POT}\n", source="test")
        found = check.explain("spare key", PastTurn(trace=a_trace(), record=a_record()))

    assert failed_at(found) == "found"
    assert "hello there" in found.answer.evidence
    assert "pin: true" in found.answer.fix


def test_what_is_heard_and_not_written_up_is_told_so(tmp_path: Path) -> None:
    """A search of what was said did not bring it, and no file holds it yet."""
    again = FoundAgain(misses="hello there")
    with a_check(tmp_path, again) as check:
        again.hits.append(a_hit(POT, turn_id=tell(check, POT)))
        found = check.explain("spare key", PastTurn(trace=a_trace(), record=a_record()))

    assert failed_at(found) == "written"
    assert "has not written it into memory yet" in found.sentence


def test_what_was_said_only_later_could_not_be_known(tmp_path: Path) -> None:
    """The turn in question came before."""
    with a_check(tmp_path) as check:
        said = tell(check, POT)
        record = a_record()
        record = replace(record, request=replace(record.request, before_id=said))
        found = check.explain("spare key", PastTurn(trace=a_trace(), record=record))

    assert found.sentence == "It was said only after this turn, so the familiar could not know it yet."


def test_what_is_far_behind_the_best_is_not_told(tmp_path: Path) -> None:
    """Its place is named."""
    best = replace(a_hit("A key, a key!", turn_id=99), explained=ExplainedScore(20.0, {"words": 9.0, "meaning": 9.0}))
    again = FoundAgain(best, a_hit(POT, path="topics/house.md"))
    with a_check(tmp_path, again) as check:
        check.audiences.store.write_file("topics/house.md", f"# House\n\n{POT}\n", source="test")
        record = a_record()
        record = replace(record, request=replace(record.request, utterance="Which key opens the tower?"))
        found = check.explain("spare key", PastTurn(trace=a_trace(), record=record))

    assert found.sentence == "It was found only at place 2: too far from “Which key opens the tower?” to be shown."


def test_a_file_that_nobody_spoke_of_counts_as_known(tmp_path: Path) -> None:
    """Written by hand; the file and its line are named."""
    file = tmp_path / "memory" / "topics" / "house.md"
    file.parent.mkdir(parents=True)
    file.write_text(f"# House\n\n{POT}\n")
    with a_check(tmp_path, FoundAgain(a_hit(POT, path="topics/house.md"))) as check:
        found = check.explain("spare key")

    assert [step.outcome.value for step in found.steps] == ["skipped", "yes", "yes", "yes", *["skipped"] * 3]
    assert "topics/house.md line 3" in found.steps[1].evidence


def test_an_index_without_it_is_the_answer(tmp_path: Path) -> None:
    """With the verb that brings it level."""
    with a_check(tmp_path) as check:
        tell(check, POT)
        found = check.explain("spare key")

    assert failed_at(found) == "indexed"
    assert "familiar memory reindex" in found.answer.fix


def test_a_question_does_not_tell_what_it_asks_for(tmp_path: Path) -> None:
    """Asking where the key is makes nobody know it."""
    with a_check(tmp_path) as check:
        tell(check, "Where is the spare key?")
        found = check.explain("spare key")

    assert failed_at(found) == "heard"


def a_prompt(*items: ContextItem) -> ReplayRecord:
    """A turn whose prompt showed *items* beside the character, and in which the spare key was asked for."""
    record = a_record()
    history = Contribution(Layer.recent_history, 80, "what was said", 3, "history", items=items)
    request = replace(record.request, utterance="Where is the spare key under the blue pot?")
    settings = {"render": to_plain(RenderOptions()), "fitting": to_plain(Fitting())}
    return replace(record, request=request, kept=(record.kept[0], history), settings=settings)


def a_line(role: Literal["user", "assistant"], text: str) -> ContextItem:
    return ContextItem.of(role, text, tag=ItemTag.DIALOGUE, source="history")


@pytest.mark.parametrize(
    "item",
    [
        a_line("user", "Bo: Where is the spare key, under the blue pot?"),
        a_line("user", "where did I put the spare key, the blue pot one"),
        a_line("assistant", "The spare key is under the blue pot, or in it."),
        a_line("user", "[System: earlier]\nWren: The spare key hangs in the blue pot."),
        a_line("user", "Bo: The spare one is lost.\nAda: Nice day.\nBo: The blue pot broke, and the key rusts."),
    ],
)
def test_neither_a_question_nor_what_it_said_itself_counts_as_shown(item: ContextItem, tmp_path: Path) -> None:
    """An earlier question, one without its mark, a reply, a reply that is quoted, and words of different lines."""
    again = FoundAgain()
    with a_check(tmp_path, again) as check:
        again.hits.append(a_hit(POT, turn_id=tell(check, POT)))
        found = check.explain("spare key blue pot", PastTurn(trace=a_trace(stages=()), record=a_prompt(item)))

    assert found.steps[-1].outcome.value != "yes"


def test_what_was_told_counts_as_shown_and_is_quoted(tmp_path: Path) -> None:
    """Beside a question about it, the line that tells it is the evidence."""
    asked, told = a_line("user", "Bo: Where is the spare key, in the blue pot?"), a_line("user", f"Bo: {POT}")
    with a_check(tmp_path) as check:
        tell(check, POT)
        found = check.explain("spare key blue pot", PastTurn(trace=a_trace(), record=a_prompt(asked, told)))

    assert found.steps[-1].outcome.value == "yes"
    assert POT in found.steps[-1].evidence
    assert "?" not in found.steps[-1].evidence


@pytest.mark.parametrize(
    ("reply", "sentence"),
    [
        (
            "It lies under the blue pot, the spare key.",
            "It was remembered: it was in the prompt, and the reply mentions",
        ),
        ("Which key?", "The model had it: it was in the prompt, but the reply did not use it."),
    ],
)
def test_the_reply_tells_whether_what_was_shown_was_used(reply: str, sentence: str, tmp_path: Path) -> None:
    """What it says to a later question is another matter."""
    record = a_prompt(a_line("user", f"Bo: {POT}"))
    channel = record.request.channel_id
    with a_check(tmp_path) as check:
        tell(check, POT)
        for said in (reply, "I said that the spare key lies under the blue pot."):
            check.history.append_turn(familiar_id="wren", channel_id=channel, role="assistant", content=said)
        record = replace(record, request=replace(record.request, before_id=2))
        found = check.explain("spare key blue pot", PastTurn(trace=a_trace(), record=record))

    assert found.sentence.startswith(sentence)


def test_what_only_the_familiar_said_was_never_told(tmp_path: Path) -> None:
    """A wrong reply is no fact, however often it stands in the history."""
    with a_check(tmp_path) as check:
        check.history.append_turn(
            familiar_id="wren", channel_id=7, role="assistant", content="Your spare key is in the red pot."
        )
        found = check.explain("spare key red pot", PastTurn(trace=a_trace(), record=a_record()))

    assert failed_at(found) == "heard"
    assert found.sentence == "No one ever said it but the familiar itself."


@pytest.mark.parametrize(
    ("outcome", "told"),
    [
        ({"status": "asleep", "error": "memory was not searched: the index was still being loaded"}, "not loaded yet"),
        ({"status": "timeout", "error": "no answer within 15 s"}, "too late for this reply"),
        ({"status": "ok", "notes": ["memory was searched by words alone: no embedder"]}, "by words alone"),
        ({"status": "ok", "notes": ["the filter was skipped: it failed or was late"]}, "the filter was skipped"),
        ({"status": "ok", "notes": ["the index of memory was still being built"]}, "still being built"),
    ],
)
def test_what_the_search_of_that_turn_lacked_is_the_answer(
    outcome: dict[str, object], told: str, tmp_path: Path
) -> None:
    """It is found today; in that turn the search could not bring it, and why says what it lacked."""
    again = FoundAgain()
    with a_check(tmp_path, again) as check:
        again.hits.append(a_hit(POT, turn_id=tell(check, POT)))
        outcomes = [{"id": "content_search", "duration_s": 0.1, **outcome}]
        trace = a_trace(stages=(StageSpan("assemble", 0.0, 0.1, {"provider_outcomes": outcomes}),))
        found = check.explain("spare key blue pot", PastTurn(trace=trace, record=a_prompt()))

    assert told in found.sentence


def test_nothing_to_look_for_is_a_sentence(tmp_path: Path) -> None:
    """Instead of an answer about nothing."""
    with a_check(tmp_path) as check, pytest.raises(FamiliarError, match="write a few words"):
        check.explain("   ")


@pytest.mark.parametrize(
    ("text", "is_held"),
    [
        ("The SPARE keys are here", True),
        ("A spare part", False),
        ("keyspare", False),
        ("Key, and a spare.", True),
    ],
)
def test_every_word_must_begin_a_word(text: str, is_held: bool) -> None:
    """Whatever the order and the letter case; endings may differ."""
    assert holds_words(text, search_words("the spare key")) is is_held


def test_a_turn_whose_record_is_gone_is_not_called_unnamed(tmp_path: Path) -> None:
    """After `/undo` the last turn is there and what it was made of is not; the steps that need it say so."""
    again = FoundAgain()
    with a_check(tmp_path, again) as check:
        again.hits = [a_hit(POT, turn_id=tell(check, POT))]
        found = check.explain("spare key blue pot", PastTurn(trace=a_trace(), record=None))

    evidence = {step.name: step.evidence for step in found.steps}
    assert evidence["allowed here"] == evidence["room in the prompt"] == "The details of that turn are no longer kept."
