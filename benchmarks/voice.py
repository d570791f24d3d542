"""Voice to voice: what this program adds to a spoken turn, and the whole offline chain stage by stage.

Own share, with scripted backends that answer at once, through a voice session and a whole familiar on disk: from the
end of speech to the model's request (the pause that is waited for on purpose is taken off), and from the model's first
word to the first sentence that is to be spoken; stage by stage. The next turn begins when nothing of the last is left
to do, as it has long been when people talk. Run `python -m benchmarks.voice`; `--quick` for a short form, `--json`
for a script, `--offline` to measure the chain with the recogniser and the voice of the extra, too, and
`--pipecat PYTHON` to put pipecat through the same turns in the same run: the interpreter of an environment that has
`pipecat-ai`.
"""

from __future__ import annotations

import argparse
import asyncio
import inspect
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

from benchmarks.conversation_script import CHARACTER
from benchmarks.fixtures import load_familiar, without_warnings, write_character
from benchmarks.table import Row, print_part, spread
from familiar_connect.config.llm import SLOT_TEMPERATURES
from familiar_connect.context.pipeline import ContextPipeline
from familiar_connect.conversation.intake import Intake
from familiar_connect.identity import Author
from familiar_connect.llm.scripted import ScriptedModel
from familiar_connect.llm.types import Capabilities, Message
from familiar_connect.reply.runner import ReplyRunner
from familiar_connect.reply.turn_builder import TurnBuilder
from familiar_connect.voice.audio import SAMPLE_BYTES, duration_s, resample
from familiar_connect.voice.hearing import Hearing
from familiar_connect.voice.protocols import HEARING_RATE
from familiar_connect.voice.session import SessionWatcher, VoiceChannel, VoiceSession
from familiar_connect.voice.types import TTSResult
from familiar_connect.voice.vad import SILENCE_TIMEOUT_MS, SpeechSegmenter

TURNS, QUICK_TURNS = 100, 20
MOST_MS = 60.0
LULL_S = 0.05
QUESTION = "Good evening. What should I cook tonight?"
WORDS = ["Make", " soup.", " It", " is", " cold", " outside."]
ADA = Author(platform="terminal", user_id="7", username="ada", display_name="Ada")
WINDOW = Capabilities(window=32_768, is_window_set=True)
"""As settings that name it have it: a scripted model has no endpoint that could be asked for it."""
CHUNK = 512
LOUD = b"\x00\x40" * CHUNK
QUIET = bytes(CHUNK * SAMPLE_BYTES)


class LoudIsSpeech:
    """Whatever is not silent is speech."""

    chunk_bytes = CHUNK * SAMPLE_BYTES

    def __call__(self, chunk: bytes) -> float:
        return float(any(chunk[:2]))


class KnowsTheWords:
    """Recognises the same question in everything, at once."""

    async def recognize(self, pcm: bytes) -> str:
        return QUESTION


class OneTone:
    """Speaks anything in a few samples, and tells when it was asked first."""

    sample_rate = HEARING_RATE

    def __init__(self) -> None:
        self.first_asked = 0.0

    async def synthesize(self, text: str) -> TTSResult:
        self.first_asked = self.first_asked or time.perf_counter()
        return TTSResult(bytes(320))


class NoOut:
    """Plays at once."""

    async def play(self, pcm: bytes, sample_rate: int) -> None:
        pass

    def position_ms(self) -> float:
        return 0.0


class StageClock:
    """Notes when a turn comes to each stage, by looking on where the program does it."""

    def __init__(self) -> None:
        self.turns: list[dict[str, float]] = [{}]

    def begin(self) -> None:
        self.turns.append({})

    def note(self, stage: str) -> None:
        """The first time in a turn counts."""
        self.turns[-1].setdefault(stage, time.perf_counter())

    @contextmanager
    def watch(self) -> Iterator[None]:
        """While this is open, stages are noted."""
        with ExitStack() as stack:
            for owner, name, stage, is_before in WATCHED:
                work = getattr(owner, name)
                told = self._told_async if inspect.iscoroutinefunction(work) else self._told
                stack.enter_context(patch.object(owner, name, told(work, stage, is_before)))
            yield

    def _told(self, work: Callable[..., Any], stage: str, is_before: bool) -> Callable[..., Any]:
        def run(*args: Any, **more: Any) -> Any:
            if is_before:
                self.note(stage)
            try:
                return work(*args, **more)
            finally:
                self.note(stage)

        return run

    def _told_async(self, work: Callable[..., Any], stage: str, is_before: bool) -> Callable[..., Any]:
        async def run(*args: Any, **more: Any) -> Any:
            if is_before:
                self.note(stage)
            try:
                return await work(*args, **more)
            finally:
                self.note(stage)

        return run


WATCHED: tuple[tuple[type, str, str, bool], ...] = (
    (VoiceSession, "_on_transcript", "words", True),
    (VoiceSession, "_on_lull", "pause is over", True),
    (Intake, "_store", "words are a turn on disk", False),
    (ReplyRunner, "respond", "reply is begun", True),
    (TurnBuilder, "channel_setup", "settings", False),
    (TurnBuilder, "build", "turn", False),
    (ContextPipeline, "start", "prompt", False),
)
"""What is looked at, what it is called in the table, and whether its beginning counts or its end."""


class NotedModel:
    """Answers with the same words, and tells when it was asked and when it began."""

    def __init__(self) -> None:
        self.asked = self.first_word = 0.0
        self.client = ScriptedModel(self._reply, model="scripted-main", capabilities=WINDOW, pieces=self._pieces)

    def _reply(self, _messages: list[Message]) -> str:
        self.asked = time.perf_counter()
        return "".join(WORDS)

    def _pieces(self, _text: str) -> Iterable[str]:
        return self._noted()

    def _noted(self) -> Iterator[str]:
        self.first_word = time.perf_counter()
        yield from WORDS


def measure(*, quick: bool = False, pipecat: str | None = None, offline: bool = False) -> dict[str, Any]:
    """Seconds of each turn, of both programs where there are two; and of the offline chain."""
    turns = QUICK_TURNS if quick else TURNS
    with without_warnings("familiar_connect"):
        found: dict[str, Any] = {"ours": asyncio.run(_measure_own(turns))}
        if pipecat is not None:
            found["pipecat"] = _measure_pipecat(pipecat, turns)
        if offline:
            found["offline"] = asyncio.run(_measure_offline(3 if quick else 10))
    return found


async def _measure_own(turns: int) -> dict[str, list[float]]:
    with tempfile.TemporaryDirectory(prefix="familiar-voice-") as folder:
        root = Path(folder) / "wren"
        write_character(root, CHARACTER, f"voice_lull_timeout = {LULL_S}\n")
        model = NotedModel()
        weak = ScriptedModel(model="weak", capabilities=replace(WINDOW, side_tasks=False))
        clients = {slot: model.client if slot == "main_prose" else weak for slot in SLOT_TEMPERATURES}
        familiar = load_familiar(root, clients)
        voice, replied, stages = OneTone(), asyncio.Event(), StageClock()
        found: dict[str, list[float]] = {"to_request": [], "to_speech": []}
        with stages.watch():
            session = VoiceSession(
                familiar,
                lambda callbacks: Hearing(KnowsTheWords(), LoudIsSpeech, callbacks),
                voice,
                NoOut(),
                VoiceChannel(platform="terminal", channel_id=7, is_dm=True),
                show=lambda text: print(text, file=sys.stderr),
                watcher=SessionWatcher(on_reply=lambda _text: replied.set()),
            )
            try:
                await familiar.start()
                await session.start()
                for _ in range(turns + 1):
                    replied.clear()
                    stages.begin()
                    voice.first_asked = 0.0
                    ended = _say_question(session)
                    await asyncio.wait_for(replied.wait(), 60)
                    found["to_request"].append(model.asked - ended - LULL_S)
                    found["to_speech"].append(voice.first_asked - model.first_word)
                    _add_stages(found, stages.turns[-1], ended=ended, asked=model.asked)
                    await session.wait_until_idle()
                    await familiar.reply_path.recorder.wait_until_idle()
            finally:
                await session.stop()
                await familiar.aclose()
    return {name: each[1:] for name, each in found.items()}  # the first loads what all others have


def _add_stages(found: dict[str, list[float]], reached: dict[str, float], *, ended: float, asked: float) -> None:
    """Seconds of each stage of one turn, in its order."""
    last = ended
    for stage, at in (*reached.items(), ("request", asked)):
        found.setdefault(f"stage: {stage}", []).append(at - last - (LULL_S if stage == "pause is over" else 0.0))
        last = at


def _say_question(session: VoiceSession) -> float:
    """Half a second of speech and the silence that ends it; when its last sound came in."""
    quiet = -(-SILENCE_TIMEOUT_MS * HEARING_RATE // 1000 // CHUNK)
    for chunk in [LOUD] * 16 + [QUIET] * (quiet - 1):
        session.feed(ADA, chunk)
    ended = time.perf_counter()
    session.feed(ADA, QUIET)
    session.feed(ADA, QUIET)
    return ended


def _measure_pipecat(python: str, turns: int) -> dict[str, list[float]]:
    given = json.dumps({"turns": turns + 1, "question": QUESTION, "words": WORDS})
    script = Path(__file__).with_name("voice_pipecat.py")
    done = subprocess.run([python, str(script), given], check=True, stdout=subprocess.PIPE, encoding="utf-8")
    found: dict[str, list[float]] = json.loads(done.stdout.splitlines()[-1])
    return {name: each[1:] for name, each in found.items()}


async def _measure_offline(times: int) -> dict[str, list[float]]:
    """The real parts one after another, over a question that the voice itself has spoken."""
    from familiar_connect.extensions.voice_local.hearing import WhisperRecognizer
    from familiar_connect.extensions.voice_local.speaking import LocalSynthesizer
    from familiar_connect.voice.vad import SileroProbability

    voice, recognizer = LocalSynthesizer(), WhisperRecognizer()
    made = (await voice.synthesize(QUESTION)).audio
    sound = resample(made, voice.sample_rate, HEARING_RATE) + bytes(HEARING_RATE * SAMPLE_BYTES)
    await recognizer.load()
    found: dict[str, list[float]] = {"question_s": [duration_s(made, voice.sample_rate)]}
    for _ in range(times):
        began = time.perf_counter()
        [segment, *_] = SpeechSegmenter(SileroProbability()).feed(sound)
        heard = time.perf_counter()
        words = await recognizer.recognize(segment.pcm)
        understood = time.perf_counter()
        assert "cook" in words.lower(), words
        await voice.synthesize("Make soup.")
        spoken = time.perf_counter()
        found.setdefault(WHILE_SPOKEN, []).append(heard - began)
        found.setdefault("recognition", []).append(understood - heard)
        found.setdefault("first sentence synthesised", []).append(spoken - understood)
    return found


WHILE_SPOKEN = "speech or noise, of the whole question, while it is spoken"
STAGES = {
    "to_request": "end of speech → request sent, p95",
    "to_speech": "first word → first sentence to be spoken, p95",
}


def rows(found: dict[str, Any]) -> list[Row]:
    ours = {name: spread(found["ours"][name], 1000) for name in STAGES}
    told = [Row(name=f"{words} (p50)", value=_ms(ours[name])) for name, words in STAGES.items()]
    told += [
        Row(name=f"of it: → {name.removeprefix('stage: ')}, p95 (p50)", value=_ms(spread(each, 1000)))
        for name, each in found["ours"].items()
        if name.startswith("stage: ")
    ]
    both = [sum(pair) for pair in zip(*(found["ours"][name] for name in STAGES), strict=True)]
    total = spread(both, 1000)
    told.append(
        Row(
            name=f"own share of voice to voice, p95 (p50), {len(both)} turns",
            value=_ms(total),
            bar=f"< {MOST_MS:.0f} ms",
            ok=total["p95"] < MOST_MS,
        )
    )
    if "pipecat" in found:
        theirs = {name: spread(found["pipecat"][name], 1000) for name in STAGES}
        for name, words in STAGES.items():
            ratio = ours[name]["p50"] / max(theirs[name]["p50"], 1e-6)
            told.append(
                Row(name=f"pipecat, {words} (p50)", value=f"{_ms(theirs[name])}; ours is {ratio:.1f} times that")
            )
        total_theirs = spread([sum(pair) for pair in zip(*found["pipecat"].values(), strict=True)], 1000)
        ratio = total["p50"] / max(total_theirs["p50"], 1e-6)
        told.append(Row(name="pipecat, both (p50)", value=f"{_ms(total_theirs)}; ours is {ratio:.1f} times that"))
    if "offline" in found:
        told += _offline_rows(found["offline"], total["p50"])
    return told


def _offline_rows(offline: dict[str, list[float]], own_ms: float) -> list[Row]:
    stages = {name: each for name, each in offline.items() if name != "question_s"}
    told = [
        Row(name=f"offline: {name}, p50 of {len(each)}", value=f"{spread(each, 1000)['p50']:.0f} ms")
        for name, each in stages.items()
    ]
    told.append(Row(name="offline: silence that ends speech", value=f"{SILENCE_TIMEOUT_MS} ms, waited for on purpose"))
    whole = sum(spread(each, 1000)["p50"] for name, each in stages.items() if name != WHILE_SPOKEN) + own_ms
    length = offline["question_s"][0]
    return [
        *told,
        Row(
            name=f"offline: question of {length:.1f} s → first sound, without pauses and the model",
            value=f"{whole:.0f} ms",
        ),
    ]


def _ms(found: dict[str, float]) -> str:
    return f"{found['p95']:.1f} ms ({found['p50']:.1f})"


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a short form")
    parser.add_argument("--json", action="store_true", help="for a script")
    parser.add_argument("--offline", action="store_true", help="measure the recogniser and the voice of the extra, too")
    parser.add_argument("--pipecat", metavar="PYTHON", help="an interpreter that has pipecat-ai")
    options = parser.parse_args(arguments)
    found = measure(quick=options.quick, pipecat=options.pipecat, offline=options.offline)
    return print_part("voice", found, rows(found), as_json=options.json)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
