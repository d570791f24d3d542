"""What a program shows of a chat against what is kept: nothing twice, nothing lost, whatever it did to its lines."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.api.answering import KeptLine
from familiar_connect.extensions.serve.reconcile import ShownLine, choose_start, reconcile
from tests.fakes.client_history import ClientHistory, find_faults


class KeptChat:
    """A chat as it is kept, in memory."""

    def __init__(self) -> None:
        self.lines: list[KeptLine] = []
        self.made = 0
        self.start: int | None = None
        self.keeps_lines = False

    async def answer(self, shown: Sequence[ShownLine]) -> str:
        todo = reconcile(self.lines, shown, start=self.start, keeps_lines=self.keeps_lines, keeps_elsewhere=True)
        edits, before = dict(todo.edits), self.made
        self.lines = [
            KeptLine(id=line.id, is_own=line.is_own, text=edits.get(line.id, line.text))
            for line in self.lines
            if line.id not in todo.removed
        ]
        for line in todo.added:
            self.add(line.text, is_own=line.is_own)
        if todo.then == "say":
            self.add(shown[-1].text, is_own=False)
        elif self.lines[-1].is_own:  # the reply gets another version
            self.lines.pop()
        self.add(f"reply {self.made} of the familiar", is_own=True)
        first_new = next((line.id for line in self.lines if line.id > before), None)
        self.start = choose_start(todo, self.start, first_new)
        self.keeps_lines = self.keeps_lines or len(shown) > 1
        return self.lines[-1].text

    def add(self, text: str, *, is_own: bool) -> None:
        self.made += 1
        self.lines.append(KeptLine(id=self.made, is_own=is_own, text=text))

    @property
    def shown(self) -> list[ShownLine]:
        return [ShownLine(line.is_own, line.text) for line in self.lines]


@given(seed=st.integers(0, 2**32), deeds=st.integers(1, 14))
def test_no_line_is_doubled_or_lost(seed: int, deeds: int) -> None:
    """After every request the chat reads as the program shows it; what it left out at the top is still there."""

    async def run() -> None:
        client, kept = ClientHistory(random.Random(seed)), KeptChat()
        for _ in range(deeds):
            await client.act(kept.answer)
            assert find_faults(client, kept.shown) == [], client.deeds

    asyncio.run(run())


def chat(*texts: str) -> list[KeptLine]:
    """Lines of a person and the familiar in turn."""
    return [KeptLine(id=number, is_own=number % 2 == 0, text=text) for number, text in enumerate(texts, 1)]


def shown(*texts: str) -> list[ShownLine]:
    return [ShownLine(number % 2 == 0, text) for number, text in enumerate(texts, 1)]


@pytest.mark.parametrize(
    ("kept", "sent", "then"),
    [
        (chat("go on", "a", "go on", "b"), shown("go on", "a", "go on"), "again"),
        (chat("go on", "a", "go on", "b"), shown("go on", "a", "go on", "b", "go on"), "say"),
        (chat("Hi", "Hello!"), shown("Hi"), "again"),
        (chat("Hi", "Hello!"), shown("Hi", "Hello!"), "go_on"),
        (chat("Hi"), shown("Hi"), "again"),
    ],
)
def test_the_same_words_again_are_told_from_a_second_answer(
    kept: list[KeptLine], sent: list[ShownLine], then: str
) -> None:
    """By what stands before them, where people say the same twice."""
    todo = reconcile(kept, sent, start=1, keeps_lines=True)

    assert (todo.then, todo.edits, todo.removed, todo.added) == (then, (), (), ())


def test_a_program_that_sends_its_newest_line_alone_is_remembered_for() -> None:
    """Nothing is taken back, for it never said that it did."""
    todo = reconcile(chat("I have a cat.", "Lovely.", "And a dog.", "Oh!"), shown("What have I?"))

    assert (todo.then, todo.removed, todo.added) == ("say", (), ())


@pytest.mark.parametrize(("keeps_elsewhere", "removed"), [(False, ()), (True, (1, 2))])
def test_a_second_line_like_the_first_is_an_edit_of_programs_that_keep_chats(
    keeps_elsewhere: bool, removed: tuple[int, ...]
) -> None:
    """A script that reports the same thing each hour keeps none: both of its lines stand."""
    kept = chat("The kitchen has 21 degrees.", "Cosy!")
    todo = reconcile(kept, shown("The kitchen has 23 degrees."), start=1, keeps_elsewhere=keeps_elsewhere)

    assert (todo.then, todo.removed) == ("say", removed)


def test_a_chat_that_began_elsewhere_is_taken_in_whole() -> None:
    """Its lines are stored before the newest one is answered."""
    todo = reconcile([], shown("Hi", "I am a greeting.", "Well?"))

    assert [line.text for line in todo.added] == ["Hi", "I am a greeting."]


def test_a_long_chat_is_compared_by_its_newest_lines() -> None:
    """What no longer stands among the lines that are looked at is not said anew."""
    everything = [f"line {number}" for number in range(400)]
    kept = [KeptLine(id=n, is_own=n % 2 == 1, text=text) for n, text in enumerate(everything)][-200:]
    sent = [ShownLine(n % 2 == 1, text) for n, text in enumerate([*everything, "new"])]

    todo = reconcile(kept, sent)

    assert (todo.then, todo.edits, todo.removed, todo.added) == ("say", (), (), ())
