"""A reply is not one of the last replies over again."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence

import pytest

from familiar_connect.llm.embedded.repetition import last_replies, reply_key, unlike
from familiar_connect.llm.streams import PieceStream
from familiar_connect.llm.types import Completion, Message


class Attempts:
    """Streams of given replies, one word at a time; counts what was asked for and what was closed."""

    def __init__(self, *replies: str) -> None:
        self._replies = replies
        self.asked: list[int] = []
        self.open = 0

    def start(self, number: int) -> PieceStream:
        self.asked.append(number)
        text = self._replies[min(number, len(self._replies) - 1)]
        return PieceStream(Completion(model="small", text=text), self._words(text))

    async def _words(self, text: str) -> AsyncGenerator[str, None]:
        self.open += 1
        try:
            for word in text.split(" "):
                yield f"{word} "
        finally:
            self.open -= 1


def prompt(*replies: str) -> list[Message]:
    said = [Message("system", "Be kind.")]
    for reply in replies:
        said += [Message("user", "hm"), Message("assistant", reply)]
    return said


async def spoken(attempts: Attempts, told: Sequence[Message]) -> tuple[list[str], Completion]:
    stream = unlike(last_replies(told), attempts.start(0), attempts.start)
    return [piece async for piece in stream], stream.completion


async def test_the_same_words_again_are_asked_for_anew() -> None:
    """Nothing of the first attempt is shown, and the facts are those of the second."""
    attempts = Attempts("How nice to see you!", "Tell me more of it.")
    pieces, completion = await spoken(attempts, prompt("How nice  to see you."))

    assert "".join(pieces).strip() == "Tell me more of it."
    assert attempts.asked == [0, 1]
    assert completion.text == "Tell me more of it."
    assert attempts.open == 0


async def test_other_words_stream_as_soon_as_they_differ() -> None:
    """Only what begins alike waits."""
    attempts = Attempts("How nice of you to ask")
    pieces, _ = await spoken(attempts, prompt("How nice to see you."))

    assert pieces[0] == "How nice of "
    assert len(pieces) == 4
    assert attempts.asked == [0]


async def test_a_reply_that_ends_early_is_said() -> None:
    """The beginning of an earlier one is not the same."""
    pieces, _ = await spoken(Attempts("How nice"), prompt("How nice to see you."))

    assert "".join(pieces).strip() == "How nice"


async def test_a_model_that_knows_nothing_else_is_not_asked_for_ever() -> None:
    """Three attempts, then its words stand."""
    attempts = Attempts("I am a bird.")
    pieces, _ = await spoken(attempts, prompt("I am a bird."))

    assert "".join(pieces).strip() == "I am a bird."
    assert attempts.asked == [0, 1, 2]


async def test_leaving_early_closes_the_call() -> None:
    """A reply that is broken off frees the model."""
    attempts = Attempts("one two three four")
    stream = unlike(frozenset({"other words"}), attempts.start(0), attempts.start)
    async for _ in stream:
        break
    await stream.aclose()

    assert attempts.open == 0


@pytest.mark.parametrize(("reply", "counts"), [("Yes.", False), ("I am a bird.", True)])
def test_short_words_may_come_again_later(reply: str, counts: bool) -> None:
    """A yes is a yes; only not twice in a row."""
    assert (reply_key(reply) in last_replies(prompt(reply, "Something else was said."))) is counts
    assert reply_key(reply) in last_replies(prompt(reply))


def test_names_and_times_before_the_words_do_not_hide_a_reply() -> None:
    """As a prompt may have them."""
    assert "i am a bird" in last_replies(prompt("[19:04] Wren: I am a bird."))
