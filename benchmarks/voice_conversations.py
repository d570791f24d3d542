"""Talks of two and three people with a familiar, who speak over each other and over it; in time that is skipped.

Run `python -m benchmarks.voice_conversations`, which takes about six minutes of a processor; `--quick` for a short
form, `--json` for a script. Ears, model and voice are scripted and take their time; intake, history, queue, prompt and
the voice session are the program's own.
Counted are talks that do not come to an end, words that somebody said and the history lacks, and words that the
history has and nobody heard. Then how soon the familiar is silent when it makes way, and what two hours leave behind.
How far it has come is told on standard error; it ends with 1 where a bar is missed.
"""

from __future__ import annotations

import asyncio
import gc
import random
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from benchmarks.fixtures import ANA, BEN, CLEO, without_warnings, write_character
from benchmarks.table import Row, percentile, run_part
from familiar_connect.config import load_character_config
from familiar_connect.config.llm import SLOT_TEMPERATURES
from familiar_connect.familiar import Familiar
from familiar_connect.identity import Author
from familiar_connect.llm.protocols import ChatModel
from familiar_connect.llm.scripted import ScriptedModel
from familiar_connect.llm.types import Capabilities, Message
from familiar_connect.support.simulated_time import LoopClock, run_skipping
from familiar_connect.testing.voice_doubles import MS_PER_LETTER, ScriptedEars
from familiar_connect.voice.interruption import ResponseState, split_at_elapsed, uid_of
from familiar_connect.voice.protocols import Ears, HearingCallbacks
from familiar_connect.voice.session import SessionWatcher, VoiceChannel, VoiceSession
from familiar_connect.voice.speech import estimate_timestamps
from familiar_connect.voice.types import TTSResult

T = TypeVar("T")

TALKS, QUICK_TALKS = 1_000, 25
BARGE_INS, QUICK_BARGE_INS = 300, 10
HOURS, QUICK_HOURS = 2.0, 0.1
TALK_LIMIT_S = 900.0
"""A talk of this many seconds that has not come to an end is stuck."""
MIN_S, BOUNDARY_S, LULL_S = 0.6, 2.5, 1.0
MOST_STOP_MS, MOST_DECISION_MS = 200.0, 50.0
MOST_GROWTH_MB = 24.0
WORDS = [
    "lantern",
    "harbour",
    "soup",
    "winter",
    "letter",
    "garden",
    "river",
    "candle",
    "market",
    "window",
    "story",
    "evening",
    "kettle",
    "sailor",
    "music",
]
PEOPLE = tuple(replace(each, platform="terminal") for each in (ANA, BEN, CLEO))


@dataclass
class TalkResult:
    """What came of one talk."""

    is_stuck: bool = False
    lost: list[str] = field(default_factory=list)
    """Said, and not in the history."""
    unheard: list[str] = field(default_factory=list)
    """In the history as said by the familiar, and not heard by anybody; or heard, and not there."""
    replies: int = 0
    yields: int = 0


class ThinkingModel(ScriptedModel):
    """Takes its time before the first word and between two."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        super().__init__(self._answer)

    def _answer(self, _messages: list[Message]) -> str:
        sentences = [
            " ".join(self._rng.choices(WORDS, k=self._rng.randint(2, 9))).capitalize() + "."
            for _ in range(self._rng.randint(1, 5))
        ]
        return " ".join(sentences)

    async def _say(self, *args: Any, **more: Any) -> AsyncGenerator[str, None]:
        await asyncio.sleep(self._rng.choice((0.1, 0.4, 1.5, 6.0)))
        async for piece in super()._say(*args, **more):
            yield piece
            await asyncio.sleep(0.02)


class NumberedVoice:
    """Puts a number into each sound, by which its words can be told again."""

    sample_rate = 1_000

    def __init__(self) -> None:
        self.texts: list[str] = []

    async def synthesize(self, text: str) -> TTSResult:
        await asyncio.sleep(0.05)
        self.texts.append(text)
        letters = sum(len(word) + 1 for word in text.split())
        number = (len(self.texts) - 1).to_bytes(4, "little")
        return TTSResult(number + bytes(2 * MS_PER_LETTER * letters - len(number)))


class WitnessOut:
    """Plays into the air, and notes every word whose sound began."""

    def __init__(self, voice: NumberedVoice) -> None:
        self._voice = voice
        self._began = 0.0
        self._last_ms = 0.0
        self.words: list[str] = []
        self.stopped_at = 0.0

    async def play(self, pcm: bytes, sample_rate: int) -> None:
        loop, length_s = asyncio.get_running_loop(), len(pcm) / 2 / sample_rate
        text = self._voice.texts[int.from_bytes(pcm[:4], "little")]
        self._began = loop.time()
        try:
            await asyncio.sleep(length_s)
            self._last_ms = length_s * 1000
            self.words += text.split()
        except asyncio.CancelledError:
            self.stopped_at = time.perf_counter()
            self._last_ms = (loop.time() - self._began) * 1000
            self.words += split_at_elapsed(estimate_timestamps(text, length_s * 1000), self._last_ms)[0].split()
            raise

    def position_ms(self) -> float:
        return self._last_ms


class Room:
    """One session, with everything scripted around it."""

    def __init__(self, familiar: Familiar, channel_id: int, rng: random.Random) -> None:
        voice = NumberedVoice()
        self.familiar = familiar
        self.channel_id = channel_id
        self.out = WitnessOut(voice)
        self.said: list[tuple[Author, str]] = []
        self.replies = 0
        self.yields: list[tuple[float, float]] = []
        """When it made way: by the loop, and by the machine."""
        self._ears: list[ScriptedEars] = []
        self._rng = rng
        self.session = VoiceSession(
            familiar,
            self._make_ears,
            voice,
            self.out,
            VoiceChannel(platform="terminal", channel_id=channel_id),
            show=lambda _text: None,
            clock=LoopClock(),
            rng=rng,
            watcher=SessionWatcher(on_reply=self._note_reply, on_yield=self._note_yield),
        )

    def _make_ears(self, callbacks: HearingCallbacks) -> Ears:
        self._ears.append(ScriptedEars(callbacks, recognition_s=self._rng.choice((0.05, 0.3, 0.9))))
        return self._ears[-1]

    def _note_reply(self, _text: str) -> None:
        self.replies += 1

    def _note_yield(self) -> None:
        self.yields.append((asyncio.get_running_loop().time(), time.perf_counter()))

    async def say(self, author: Author, text: str, seconds: float) -> None:
        self.session.join(author)
        if text:
            self.said.append((author, text))
        await self._ears[-1].say(uid_of(author), text, seconds)

    def stored(self) -> tuple[list[tuple[str, str]], list[str]]:
        """What the history has: people's words with who said them, and the familiar's."""
        turns = self.familiar.history_store.recent(
            familiar_id=self.familiar.id, channel_id=self.channel_id, limit=1_000
        )
        people = [(turn.author.user_id, turn.content) for turn in turns if turn.author is not None]
        return people, " ".join(turn.content for turn in turns if turn.role == "assistant").split()


async def hold_talk(familiar: Familiar, channel_id: int, seed: int) -> TalkResult:
    """One talk of two or three people, made of *seed*."""
    rng = random.Random(seed)
    room, people = Room(familiar, channel_id, rng), PEOPLE[: rng.choice((2, 3))]
    result = TalkResult()
    try:
        async with asyncio.timeout(TALK_LIMIT_S):
            await room.session.start()
            async with asyncio.TaskGroup() as group:
                for author in people:
                    group.create_task(_speak(room, author, random.Random(rng.getrandbits(32))))
            await asyncio.sleep(LULL_S + 3.0)
            await room.session.wait_until_idle()
    except TimeoutError:
        result.is_stuck = True
    await room.session.stop()
    _judge(room, result)
    return result


async def _speak(room: Room, author: Author, rng: random.Random) -> None:
    """What one person does in a talk: wait, speak, back-channel, type, be noise."""
    for number in range(rng.randint(1, 4)):
        await asyncio.sleep(rng.uniform(0.0, 6.0))
        kind = rng.random()
        text = f"{author.user_id[:2]}{number} " + " ".join(rng.choices(WORDS, k=rng.randint(1, 8)))
        if kind < 0.1:
            room.said.append((author, text))
            room.session.type_text(author, text)
        elif kind < 0.2:
            await room.say(author, "", rng.uniform(0.2, 2.0))
        elif kind < 0.3:
            await room.say(author, "Mhm, yeah.", rng.uniform(0.3, 1.0))
        else:
            await room.say(author, text, rng.uniform(0.3, 4.0))


def _judge(room: Room, result: TalkResult) -> None:
    people, own = room.stored()
    for author, text in room.said:
        if not any(user_id == author.user_id and text in content for user_id, content in people):
            result.lost.append(text)
    if own != room.out.words:
        result.unheard = [f"recorded {' '.join(own)!r}, heard {' '.join(room.out.words)!r}"]
    result.replies, result.yields = room.replies, len(room.yields)


async def barge_in(familiar: Familiar, channel_id: int, seed: int) -> tuple[float, float] | None:
    """Talk over a reply: milliseconds from the minimum to the decision, and on to silence; None: it talked on."""
    rng = random.Random(seed)
    room = Room(familiar, channel_id, rng)
    await room.session.start()
    try:
        await room.say(PEOPLE[0], "Tell me a story.", 1.0)
        async with asyncio.timeout(120):
            while room.session.state is not ResponseState.SPEAKING:  # noqa: ASYNC110  # nothing else tells
                await asyncio.sleep(0.005)
        await asyncio.sleep(rng.uniform(0.0, 0.3))
        if room.session.state is not ResponseState.SPEAKING:
            return None
        began = asyncio.get_running_loop().time()
        await room.say(PEOPLE[1], "Wait, I have something to say.", MIN_S + 0.4)
        if not room.yields:
            return None
        decided, by_machine = room.yields[0]
        return (decided - began - MIN_S) * 1000, max(0.0, room.out.stopped_at - by_machine) * 1000
    finally:
        await room.session.stop()


async def talk_for_hours(familiar: Familiar, channel_id: int, hours: float) -> dict[str, float]:
    """A session that lasts: what it holds after a tenth of the time, and at the end."""
    rng, loop = random.Random(5), asyncio.get_running_loop()
    room = Room(familiar, channel_id, rng)
    await room.session.start()
    end, first = loop.time() + hours * 3600, 0.0
    warm = loop.time() + hours * 360
    while loop.time() < end:
        await room.say(rng.choice(PEOPLE), " ".join(rng.choices(WORDS, k=5)), rng.uniform(0.5, 3.0))
        await asyncio.sleep(rng.uniform(2.0, 20.0))
        if not first and loop.time() > warm:
            await room.session.wait_until_idle()
            first = _resident_mb()
    await room.session.wait_until_idle()
    last = _resident_mb()
    await room.session.stop()
    await familiar.reply_path.recorder.wait_until_idle()
    left = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    return {"hours": hours, "replies": room.replies, "growth_mb": last - first, "tasks_left": len(left)}


def _resident_mb() -> float:
    """What the process holds; 0 where the system does not tell."""
    gc.collect()
    file = Path("/proc/self/statm")
    return int(file.read_text(encoding="utf-8").split()[1]) * 4096 / 1e6 if file.exists() else 0.0


@asynccontextmanager
async def _familiar(root: Path) -> AsyncIterator[Familiar]:
    write_character(root, {"description": "Wren keeps a lighthouse and tells stories."})
    config = replace(
        load_character_config(root / "character.toml"),
        voice_lull_timeout=LULL_S,
        min_interruption_s=MIN_S,
        short_long_boundary_s=BOUNDARY_S,
    )
    weak = ScriptedModel(model="weak", capabilities=Capabilities(side_tasks=False))
    main = ThinkingModel(random.Random(3))
    clients: dict[str, ChatModel] = {slot: main if slot == "main_prose" else weak for slot in SLOT_TEMPERATURES}
    familiar = Familiar.from_config(root, config, llm_clients=clients, clock=LoopClock())
    try:
        yield familiar
    finally:
        await familiar.aclose()


class Progress:
    """Tells on standard error how far a long run has come, ten times for each part."""

    def __init__(self) -> None:
        self._began = time.monotonic()

    def tell(self, what: str, done: float, total: float) -> None:
        print(f"{time.monotonic() - self._began:6.0f} s  {what}: {done:g} of {total:g}", file=sys.stderr, flush=True)

    async def follow(self, what: str, total: int, work: Callable[[int], Awaitable[T]]) -> list[T]:
        """What *work* finds for each number up to *total*."""
        found = []
        for number in range(total):
            found.append(await work(number))
            if (number + 1) % max(1, total // 10) == 0:
                self.tell(what, number + 1, total)
        return found


async def _measure(talks: int, barge_ins: int, hours: float) -> dict[str, Any]:
    progress = Progress()
    with tempfile.TemporaryDirectory() as folder:
        async with _familiar(Path(folder) / "wren") as familiar:
            results = await progress.follow("talks", talks, lambda seed: hold_talk(familiar, 1_000 + seed, seed))
            found = await progress.follow("barge-ins", barge_ins, lambda seed: barge_in(familiar, 500_000 + seed, seed))
            lasting = await talk_for_hours(familiar, 900_000, hours)
            progress.tell("hours of one session", hours, hours)
    decided = [each[0] for each in found if each is not None]
    stopped = [each[1] for each in found if each is not None]
    return {
        "talks": talks,
        "replies": sum(each.replies for each in results),
        "yields": sum(each.yields for each in results),
        "stuck": [seed for seed, each in enumerate(results) if each.is_stuck],
        "lost": {seed: each.lost for seed, each in enumerate(results) if each.lost},
        "unheard": {seed: each.unheard for seed, each in enumerate(results) if each.unheard},
        "barge_ins": len(decided),
        "decision_ms_p99": percentile(decided, 0.99),
        "stop_ms_p99": percentile(stopped, 0.99),
        "lasting": lasting,
    }


def measure(*, quick: bool = False, talks: int | None = None) -> dict[str, Any]:
    """Everything; *quick* in a bounded form."""
    with without_warnings("familiar_connect"):
        if quick:
            return run_skipping(_measure(talks or QUICK_TALKS, QUICK_BARGE_INS, QUICK_HOURS))
        return run_skipping(_measure(talks or TALKS, BARGE_INS, HOURS))


def rows(found: dict[str, Any]) -> list[Row]:
    lasting = found["lasting"]
    talks = f"{found['talks']:,} talks, {found['replies']:,} replies, {found['yields']:,} times made way"
    return [
        Row(name="talks that do not end", value=f"{len(found['stuck'])} of {talks}", bar="0", ok=not found["stuck"]),
        Row(name="talks with words lost", value=str(len(found["lost"])), bar="0", ok=not found["lost"]),
        Row(name="talks with words nobody heard", value=str(len(found["unheard"])), bar="0", ok=not found["unheard"]),
        Row(
            name=f"from the minimum to the decision, p99 of {found['barge_ins']}",
            value=f"{found['decision_ms_p99']:.1f} ms",
            bar=f"< {MOST_DECISION_MS:g} ms",
            ok=found["decision_ms_p99"] < MOST_DECISION_MS,
        ),
        Row(
            name="from the decision to silence, p99",
            value=f"{found['stop_ms_p99']:.2f} ms",
            bar=f"< {MOST_STOP_MS:g} ms",
            ok=found["stop_ms_p99"] < MOST_STOP_MS,
        ),
        Row(
            name=f"growth in {lasting['hours']:g} hours, {lasting['replies']:,} replies",
            value=f"{lasting['growth_mb']:.1f} MB",
            bar=f"< {MOST_GROWTH_MB:g} MB",
            ok=lasting["growth_mb"] < MOST_GROWTH_MB,
        ),
        Row(name="tasks left", value=str(lasting["tasks_left"]), bar="0", ok=lasting["tasks_left"] == 0),
    ]


def main(arguments: Sequence[str]) -> int:
    return run_part(arguments, title="voice", description=__doc__, measure=measure, rows=rows)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
