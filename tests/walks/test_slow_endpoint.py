"""A slow, loading or thinking model behind the whole program, with the settings that ship."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from familiar_connect.bootstrap.starter import make_starter
from familiar_connect.bot import load_familiar
from familiar_connect.chat.types import InboundMessage
from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.familiar import Familiar
from familiar_connect.subscriptions import SubscriptionKind
from familiar_connect.support.simulated_time import SimulatedLoop, run_simulated
from tests.fakes.model_server import (
    DONE,
    Answer,
    ModelServer,
    answer_late,
    error_answer,
    event,
    head,
    raw_answer,
    stall,
    stream_answer,
    whole_answer,
)
from tests.fakes.place import RecordingPlace
from tests.fakes.program import make_home, model_endpoint, run_program
from tests.fakes.scripted_familiar import ANA, NOON
from tests.fakes.terminal import TerminalSession

CHANNEL = 7
Story = Callable[[Familiar, ModelServer, RecordingPlace], Awaitable[None]]


def play(home: Path, script: list[Answer], story: Story, *, streams: bool = False, settings: str = "") -> float:
    """*story* with a familiar whose every slot asks one server of *script*; the simulated seconds it took."""

    async def walk(loop: SimulatedLoop) -> float:
        async with ModelServer(script) as server:
            root = make_starter(home, "ember")
            path = FamiliarFolder(root).settings_file
            slot = f'[llm.default]\nmodel = "test-model"\nbase_url = "{server.base_url}"\n{settings}'
            path.write_text(path.read_text(encoding="utf-8").replace("[llm.default]\n", slot, 1), encoding="utf-8")
            familiar, _ = load_familiar(root, home=home)
            familiar.subscriptions.add(channel_id=CHANNEL, kind=SubscriptionKind.text, guild_id=None)
            try:
                await story(familiar, server, RecordingPlace(streams=streams))
                return loop.time()
            finally:
                await familiar.aclose()

    return run_simulated(walk)


async def ask(familiar: Familiar, place: RecordingPlace, text: str = "Are you there?") -> None:
    """Ana mentions the familiar and waits for what comes of it."""
    message = InboundMessage(
        platform="discord", channel_id=CHANNEL, author=ANA, text=text, timestamp=NOON, is_mention=True
    )
    await familiar.intake.receive(message, place)
    await familiar.intake.wait_until_idle()
    await familiar.reply_path.queue.wait_until_channel_idle(CHANNEL)


@pytest.mark.parametrize("streams", [True, False])
def test_a_model_with_a_minute_to_its_first_word_answers(tmp_path: Path, streams: bool) -> None:
    """Where pieces are shown as they come, as in a terminal, and where the whole reply is sent, as on Discord."""

    async def story(familiar: Familiar, server: ModelServer, place: RecordingPlace) -> None:
        await ask(familiar, place)
        assert "".join(place.sent) == "I am here."
        assert place.notices == []

    assert play(tmp_path, [answer_late(60, stream_answer("I am here."))], story, streams=streams) >= 60


@pytest.mark.parametrize("streams", [True, False])
def test_a_model_that_stays_silent_is_told_with_a_setting_that_exists(tmp_path: Path, streams: bool) -> None:
    """After its two minutes; `first_token_s` changes them."""

    async def story(familiar: Familiar, server: ModelServer, place: RecordingPlace) -> None:
        await ask(familiar, place)
        [told] = place.notices
        assert "said nothing for 'test-model' within 200 s" in told
        assert "raise `first_token_s` under [llm]" in told

    took = play(tmp_path, [stall], story, streams=streams, settings="first_token_s = 200\n")
    assert 200 <= took < 260


def test_side_tasks_that_are_too_slow_are_not_asked_again(tmp_path: Path) -> None:
    """The owner is told once, and later messages cost one call each."""

    async def story(familiar: Familiar, server: ModelServer, place: RecordingPlace) -> None:
        told: list[str] = []

        async def tell(sentence: str) -> None:
            told.append(sentence)

        with familiar.owner.connect(tell=tell):
            for number in range(4):
                await ask(familiar, place, f"Hello {number}")
        assert len(place.sent) == 4
        side = [request for request in server.requests if not request.payload.get("stream")]
        slots = {sentence.split("]")[0] for sentence in told}
        assert len(slots) == len(told)
        assert len(side) <= 2 * max(1, len(told)) + 1

    play(tmp_path, [answer_late(30, stream_answer("Hello."))], story)


THOUGHT = b"data: " + json.dumps({"choices": [{"delta": {"reasoning_content": "SECRET plan"}}]}).encode() + b"\n\n"
THINKING = [
    stream_answer("<thi", "nk>SECRET", " plan</th", "ink>\n\nHello", " Ana."),
    stream_answer(
        "<|channel|>analysis<|message|>SECRET<|end|>", "<|start|>assistant<|channel|>final<|message|>Hello Ana."
    ),
    raw_answer(head(), THOUGHT, event("Hello Ana."), event(finish="stop"), DONE),
    whole_answer("<think>SECRET</think>Hello Ana."),
]


@pytest.mark.parametrize("answer", THINKING)
@pytest.mark.parametrize("streams", [True, False])
def test_what_a_model_thinks_is_neither_shown_nor_stored(tmp_path: Path, answer: Answer, streams: bool) -> None:
    """In whatever form it comes; nothing of it is in any file afterwards."""

    async def story(familiar: Familiar, server: ModelServer, place: RecordingPlace) -> None:
        await ask(familiar, place)
        assert "".join(place.sent) == "Hello Ana."
        assert place.notices == []

    play(tmp_path, [answer], story, streams=streams)
    found = [path for path in tmp_path.rglob("*") if path.is_file() and b"SECRET" in path.read_bytes()]
    assert found == []


LOADING = error_answer(503, "Loading model")


def test_a_pipe_is_told_beside_the_reply_that_the_model_loads(tmp_path: Path) -> None:
    """The real program: the note goes to standard error, the reply alone to standard output."""
    with model_endpoint(*[LOADING] * 5, stream_answer("Now I am awake.")) as server:
        make_home(tmp_path, server)
        done = run_program(tmp_path, "chat", "--plain", said="hello\n")

    assert done.stdout == "Now I am awake.\n"
    assert f"waiting for 127.0.0.1:{server.port}: it is loading test-model" in done.stderr
    assert done.returncode == 0


def test_a_terminal_shows_that_the_model_loads(tmp_path: Path) -> None:
    """A status line while it is waited for, gone when the words come."""
    with model_endpoint(*[LOADING] * 4, stream_answer("Now I am awake.")) as server:
        make_home(tmp_path, server)
        with TerminalSession(tmp_path, "chat") as terminal:
            terminal.wait_for_text("Ctrl-D leaves")
            terminal.enter("hello")
            terminal.wait_for_text("it is loading test-model")
            terminal.wait_for_text("Now I am awake.")
            assert terminal.leave() == 0


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (error_answer(401), "refused the key (401): no key was sent"),
        (error_answer(403), "refused the key (403)"),
        (error_answer(404, "model 'x' not found"), "was not found at"),
        (
            raw_answer(head(404, "text/html"), b"<!doctype html><p>nope"),
            "answered with a web page (404): check `base_url`",
        ),
        (
            raw_answer(head(200, "text/html"), b"<html>\n<p>hi\n</html>\n"),
            "answered with a web page that is not a chat completion",
        ),
        (stream_answer(""), "answered with nothing: ask again"),
        (
            raw_answer(head(), event("<think>SECRET"), event(finish="length"), DONE),
            "raise `max_output_tokens` under [llm]",
        ),
    ],
)
def test_an_error_names_what_happened(tmp_path: Path, answer: Answer, words: str) -> None:
    """In one sentence, in the place where the reply was to be."""

    async def story(familiar: Familiar, server: ModelServer, place: RecordingPlace) -> None:
        await ask(familiar, place)
        assert place.sent == []
        [told] = place.notices
        assert words in told
        assert "SECRET" not in told

    play(tmp_path, [answer], story)


@pytest.mark.parametrize(
    ("status", "words"),
    [(429, "is asking for fewer calls with status 429"), (500, "answered with status 500"), (502, "status 502")],
)
def test_trouble_that_does_not_pass_is_named_after_the_last_try(tmp_path: Path, status: int, words: str) -> None:
    """With the server's own words where they are safe to show."""

    async def story(familiar: Familiar, server: ModelServer, place: RecordingPlace) -> None:
        await asyncio.wait_for(ask(familiar, place), 200)
        [told] = place.notices
        assert words in told
        assert "out of luck" in told

    play(tmp_path, [error_answer(status, "out of luck")], story)
