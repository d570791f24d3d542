"""One reply being written: attempts in order, each from the same prompt."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from familiar_connect.chat.types import SaidMessage, SimplifiedMessage, Turn, TurnFlags
from familiar_connect.context.generate import CUT_SHORT, Generation, models_to_try
from familiar_connect.context.processors.output_filter import OutputFilter
from familiar_connect.context.types import ContextItem, Prompt
from familiar_connect.errors import ModelError, PromptTooLongError
from familiar_connect.identity import Author
from familiar_connect.llm.protocols import CompletionStream
from familiar_connect.llm.scripted import ScriptedModel
from familiar_connect.llm.streams import stream_with_timing
from familiar_connect.llm.types import Capabilities, CompletionRequest, Message, capabilities_of
from tests.fakes.context import contents, said

PROMPT = Prompt(
    items=(ContextItem.of("system", "top"), said("user", "a" * 400), said("assistant", "b"), said("user", "c"))
)


class Breaking(ScriptedModel):
    """A model that fails after some pieces."""

    def __init__(self, *pieces: str, error: Exception | None = None, **more: Any) -> None:
        super().__init__(**more)
        self._words = pieces
        self._error = error or ModelError("broken")
        self.closed = False

    def start(self, request: CompletionRequest) -> CompletionStream:
        return stream_with_timing(self, lambda: self._break(request.messages))

    async def _break(self, messages: Sequence[Message]) -> AsyncGenerator[str, None]:
        self.calls.append(list(messages))
        try:
            for piece in self._words:
                yield piece
            raise self._error
        finally:
            self.closed = True


async def written(generation: Generation) -> list[str]:
    return [piece async for piece in generation.pieces()]


async def test_a_collapsed_reply_is_thrown_away_and_asked_for_anew() -> None:
    """Nothing of it is shown, and what happened is kept for the owner."""
    model = ScriptedModel(["| " * 40, "Tea, and a long walk."])
    generation = Generation(PROMPT, [model])

    assert "".join(await written(generation)) == "Tea, and a long walk."
    why = "the reply was thrown away, because it wrote signs instead of words"
    assert [reason for _, reason in generation.failures] == [why]
    assert generation.ended_by is None
    assert model.calls[0] == model.calls[1]


async def test_a_reply_that_runs_into_a_loop_ends_there() -> None:
    """What was said before stays, and is marked as unfinished; no second reply is put behind it."""
    model = ScriptedModel(["A tale of a king: " + "and then he slept " * 30, "Never asked for."])
    generation = Generation(PROMPT, [model])
    told = "".join(await written(generation))

    assert told.startswith("A tale of a king: and then he slept")
    assert told.endswith(CUT_SHORT)
    assert told.count("slept") <= 2
    assert generation.ended_by == "it said the same words over and over"
    assert len(model.calls) == 1


async def test_an_ordinary_model_may_say_something_again() -> None:
    """Somebody may have asked for it; a model that is known to repeat itself may not."""
    told = "I am a small fire sprite, and I live in a tea kettle."
    prompt = Prompt(items=(said("user", "Who are you?"), said("assistant", told), said("user", "Say that again!")))
    ordinary = ScriptedModel([told] * 4)
    small = ScriptedModel([told] * 4, capabilities=Capabilities(repeats_itself=True))

    assert "".join(await written(Generation(prompt, [ordinary]))) == told
    assert await written(Generation(prompt, [small])) == []
    assert (len(ordinary.calls), len(small.calls)) == (1, 3)


async def test_a_model_that_is_not_shown_its_replies_does_not_say_them_again_either() -> None:
    """They are compared as the talk has them."""
    told = "I am a small fire sprite, and I live in a tea kettle."
    own = SimplifiedMessage(id="1", author_id="e", author_name="Ember", author_type="persona", content=told)
    author = Author(platform="terminal", user_id="1", username="sam", display_name="Sam")
    asked = SaidMessage(author=author, text="Hm.", timestamp=datetime(2026, 3, 1, tzinfo=UTC))
    turn = Turn(familiar_id="ember", channel_id=1, said=(asked,), messages=(own,), persona="Ember")
    small = ScriptedModel([told, "Rain."], capabilities=Capabilities(repeats_itself=True, imitates_itself=True))

    assert "".join(await written(Generation(PROMPT, [small], turn=turn))) == "Rain."


async def test_an_ordinary_model_that_insists_on_a_drawing_is_believed() -> None:
    """Signs without words are asked for anew twice, and then shown."""
    drawing = "+--+--+ (^) [-] {=} <~> +--+--+"
    model = ScriptedModel([drawing] * 4)

    assert "".join(await written(Generation(PROMPT, [model]))) == drawing
    assert len(model.calls) == 3


class AttemptRecorder(ScriptedModel):
    """Notes which attempt each call is said to be: a later one is asked for with other sampling."""

    def __init__(self, replies: Sequence[str]) -> None:
        super().__init__(replies)
        self.attempts: list[int] = []

    def start(self, request: CompletionRequest) -> CompletionStream:
        self.attempts.append(request.attempt)
        return super().start(request)


async def test_only_a_collapsed_reply_is_asked_for_with_other_sampling() -> None:
    """A model that said nothing is asked again as its owner set it."""
    collapsed, empty = AttemptRecorder(["| " * 40, "Tea."]), AttemptRecorder(["", "Tea."])

    assert await written(Generation(PROMPT, [collapsed])) == await written(Generation(PROMPT, [empty])) == ["Tea."]
    assert (collapsed.attempts, empty.attempts) == ([0, 1], [0, 0])


async def test_pieces_come_as_the_model_says_them() -> None:
    """Joined they are the reply."""
    generation = Generation(PROMPT, [ScriptedModel(["one two three"])])

    assert await written(generation) == ["one", " two", " three"]
    assert (generation.text, generation.completion and generation.completion.text) == ("one two three",) * 2


@pytest.mark.parametrize("error", [ModelError("down"), TimeoutError(), RuntimeError("odd"), ConnectionResetError()])
async def test_the_next_model_answers_when_the_first_fails_before_its_first_piece(error: Exception) -> None:
    """F3: whatever ailed it; the failure is kept."""
    second = ScriptedModel(["fine"])
    generation = Generation(PROMPT, [Breaking(error=error, model="first"), second])

    assert await written(generation) == ["fine"]
    assert [name for name, _ in generation.failures] == ["first"]
    assert contents(second.calls[0]) == ["top", "a" * 400, "b", "c"]


async def test_nothing_is_started_again_after_the_first_piece() -> None:
    """F3: what a reader has seen is not said twice."""
    second = ScriptedModel(["fine"])
    generation = Generation(PROMPT, [Breaking("Half a "), second])

    with pytest.raises(ModelError, match="broken"):
        await written(generation)
    assert (generation.text, second.calls) == ("Half a ", [])


async def test_the_last_error_is_raised_when_every_model_fails() -> None:
    """There is nobody left to ask."""
    generation = Generation(PROMPT, [Breaking(error=ModelError("one")), Breaking(error=ModelError("two"))])

    with pytest.raises(ModelError, match="two"):
        await written(generation)
    assert [text for _, text in generation.failures] == ["one", "two"]


async def test_a_preset_that_a_model_cannot_hold_is_named() -> None:
    """With what can be done about it; where other words fill the prompt, the model's own sentence stands."""
    preset = Prompt(items=(ContextItem.of("system", "word " * 900, source="preset:Grand:main"), *PROMPT.items))
    small = Capabilities(window=4_096)
    too_long = PromptTooLongError("The prompt is longer than the window", status=400)

    with pytest.raises(PromptTooLongError, match=r"preset .* tokens, .*'tiny', whose window holds 4,096.*preset off"):
        await written(Generation(preset, [Breaking(error=too_long, model="tiny", capabilities=small)]))
    with pytest.raises(PromptTooLongError, match="window is smaller"):
        await written(Generation(preset, [Breaking(error=too_long)]))
    with pytest.raises(PromptTooLongError, match="longer than the window"):
        await written(Generation(PROMPT, [Breaking(error=too_long)]))


async def test_each_attempt_is_fitted_to_its_own_window() -> None:
    """From the same base, which is never changed."""
    small = Breaking(model="small", capabilities=Capabilities(window=100, max_output=20))
    large = ScriptedModel(["fine"], capabilities=Capabilities(window=10_000))
    generation = Generation(PROMPT, [small, large])
    await written(generation)

    assert contents(small.calls[0]) == ["top", "c"]
    assert contents(large.calls[0]) == ["top", "a" * 400, "b", "c"]
    assert generation.base is PROMPT


async def test_half_a_label_of_a_failed_attempt_is_forgotten() -> None:
    """The next attempt starts with a clean filter."""
    tidy = OutputFilter(["Wren"], ["Ada"])
    generation = Generation(PROMPT, [Breaking("Wr"), ScriptedModel(["Hello"])], tidy=tidy)

    assert await written(generation) == ["Hello"]


async def test_the_reply_ends_where_the_model_speaks_for_someone_else() -> None:
    """And the call ends with it."""
    model = Breaking("Hi.", "\nAda", ": what?", " more", error=AssertionError("asked for more"))
    generation = Generation(PROMPT, [model], tidy=OutputFilter(["Wren"], ["Ada"]))

    assert (await written(generation), model.closed) == (["Hi."], True)


async def test_a_listener_who_leaves_ends_the_call_at_once() -> None:
    """Closing the pieces closes the stream behind them."""
    model = Breaking("one", "two")
    pieces = Generation(PROMPT, [model]).pieces()
    await anext(pieces)
    await pieces.aclose()

    assert model.closed


async def test_a_cancelled_reply_ends_the_call() -> None:
    """Between two tokens."""
    model = ScriptedModel(["one two"])
    pause = model.pause_after(1)
    task = asyncio.create_task(written(Generation(PROMPT, [model])))
    await pause.reached.wait()
    task.cancel()
    await asyncio.wait({task})

    assert task.cancelled()


async def test_a_model_that_can_count_is_asked_when_it_may_be_close() -> None:
    """Its own count corrects the estimate; far from the edge it is not bothered."""

    class Counting(ScriptedModel):
        counted = 0

        async def tokenize_count(self, text: str) -> int:
            self.counted += 1
            return len(text)

    near = Counting(["fine"], capabilities=Capabilities(window=200, max_output=20))
    far = Counting(["fine"], capabilities=Capabilities(window=20_000))
    await written(Generation(PROMPT, [near]))
    await written(Generation(PROMPT, [far]))

    assert (near.counted > 0, far.counted) == (True, 0)
    assert contents(near.calls[0]) == ["top", "c"]


class Dense(ScriptedModel):
    """A model to which every letter outside ASCII is two tokens, and every four others one."""

    async def tokenize_count(self, text: str) -> int:
        plain = sum(char.isascii() for char in text)
        return plain // 4 + 2 * (len(text) - plain)


DENSE = Capabilities(window=4096, max_output=96)


async def sent_tokens(model: Dense) -> int:
    return sum([await model.tokenize_count(text) for text in contents(model.calls[-1])])


@pytest.mark.parametrize("words", ["数" * 2500, "a" * 2000 + "数" * 2000, "数" * 2000 + "a" * 2000, "<数>" * 9000])
async def test_a_dense_message_is_shortened_to_what_the_model_counts(words: str) -> None:
    """However its density changes within it; both its ends are still there."""
    model = Dense(["fine"], capabilities=DENSE)
    await written(Generation(Prompt(items=(ContextItem.of("system", "top"), said("user", words))), [model]))
    shown = contents(model.calls[0])[-1]

    assert await sent_tokens(model) <= 3600
    assert len(shown) > 1000
    assert (shown[0], shown[-1]) == (words[0], words[-1])


async def test_a_dense_message_goes_from_the_window_before_thin_ones() -> None:
    """Each exchange counts for what it is: the old dense one goes, the plain ones after it stay."""
    model = Dense(["fine"], capabilities=DENSE)
    turns = [said("user", "数" * 1900), said("assistant", "b"), said("user", "c" * 400), said("assistant", "d")]
    await written(Generation(Prompt(items=(*turns, said("user", "e"))), [model]))

    assert contents(model.calls[0]) == ["c" * 400, "d", "e"]


async def test_a_counted_prompt_is_not_far_over_what_suits_the_model() -> None:
    """Its window would hold it, but the reply would come too late."""
    model = Dense(["fine"], capabilities=Capabilities(window=4096, max_output=96, budget_tokens=1000))
    turns = [said("user", "数" * 600), said("assistant", "b"), said("user", "数" * 600)]
    await written(Generation(Prompt(items=tuple(turns)), [model]))

    assert contents(model.calls[0]) == ["数" * 600]


async def test_a_model_that_cannot_count_just_now_is_sent_what_was_estimated() -> None:
    """Counting is a help, not a condition."""

    class Sulking(Dense):
        async def tokenize_count(self, text: str) -> int:
            raise ModelError("not now")

    model = Sulking(["fine"], capabilities=Capabilities(window=200, max_output=20))

    assert await written(Generation(PROMPT, [model])) == ["fine"]
    assert contents(model.calls[0]) == ["top", "a" * 400, "b", "c"]


async def test_a_bare_client_works_too() -> None:
    """One that can only chat is heard as one piece, and trusted with everything."""

    class Bare:
        async def chat(self, messages: list[Message]) -> Message:
            return Message("assistant", "whole")

    bare: Any = Bare()

    assert await written(Generation(PROMPT, [bare])) == ["whole"]
    assert capabilities_of(bare) == Capabilities()


def test_no_model_at_all_says_what_to_do() -> None:
    """The sentence names the setting."""
    with pytest.raises(ModelError, match=r"llm\.default"):
        Generation(PROMPT, models_to_try(None))


def test_attempts_are_the_model_and_its_fallbacks() -> None:
    """F1: in order."""
    spare = ScriptedModel()
    first = ScriptedModel(fallbacks=(spare,))

    assert models_to_try(first) == (first, spare)


class OutOfRoom(ScriptedModel):
    """A model that has no room left before its first word, until it is asked again."""

    def _note(self, completion: Any, *more: Any) -> None:
        super()._note(completion, *more)
        if not completion.text:
            completion.finish_reason = "length"


LONG_TALK = Prompt(
    items=(
        ContextItem.of("system", "top"),
        *(said(role, f"{role} {number}") for number in range(4) for role in ("user", "assistant")),
        said("user", "last"),
    )
)


async def test_f4_a_model_that_says_nothing_is_asked_again_once() -> None:
    """F4: by itself, with the same prompt; the second answer counts, whatever it is."""
    model, empty = ScriptedModel(["  ", "fine"]), ScriptedModel(["", ""])

    assert await written(Generation(PROMPT, [model])) == ["  ", "fine"]
    assert contents(model.calls[1]) == contents(model.calls[0])
    assert await written(Generation(PROMPT, [empty, ScriptedModel(["never asked"])])) == []
    assert len(empty.calls) == 2


async def test_f4_a_model_that_spoke_for_others_only_is_told_so() -> None:
    """F4: the second time with a directive at the end."""
    model = ScriptedModel(["Ada: I say this.", "My own words."])
    generation = Generation(PROMPT, [model], tidy=OutputFilter(["Wren"], ["Ada"]))

    assert "".join(await written(generation)).strip() == "My own words."
    assert "no words of your own" in contents(model.calls[1])[-1]


async def test_f4_whoever_may_be_silent_is_not_asked_again() -> None:
    """F4: nor is one that used a tool, or whose answer was held back by a filter."""
    author = Author(platform="discord", user_id="1", username="a", display_name=None)
    turn = Turn(
        familiar_id="wren",
        channel_id=1,
        said=(SaidMessage(author=author, text="hi", timestamp=datetime(2025, 1, 1, tzinfo=UTC)),),
        flags=TurnFlags(may_stay_silent=True),
    )
    model = ScriptedModel([""])

    assert await written(Generation(PROMPT, [model], turn=turn)) == []
    assert len(model.calls) == 1


async def test_f23_a_model_without_room_for_a_word_is_asked_with_less() -> None:
    """F23: two of the oldest exchanges fewer, and what was cut is noted."""
    model = OutOfRoom(["", "fine"])
    generation = Generation(LONG_TALK, [model])

    assert "".join(await written(generation)) == "fine"
    assert contents(model.calls[1]) == ["top", "user 2", "assistant 2", "user 3", "assistant 3", "last"]
    assert [note.full for note in generation.prompt.dropped] == ["window", "window"]
