"""The sound of greetings, kept on disk: whoever joins a voice channel often does not wait, or pay, each time."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Protocol, runtime_checkable

from familiar_connect.config.voice import TTSConfig
from familiar_connect.errors import HomeError
from familiar_connect.support.aio import off_loop
from familiar_connect.support.files import atomic_write
from familiar_connect.support.no_follow import load_bytes, remove_file
from familiar_connect.voice.audio import SAMPLE_BYTES
from familiar_connect.voice.protocols import SpeechSynthesizer
from familiar_connect.voice.sentences import SentenceCutter
from familiar_connect.voice.types import TTSResult, WordTimestamp

MAX_FILES = 100
MAX_FILE_BYTES = 4_000_000
"""More than a minute of speech; what is longer is not kept."""
SUFFIX = ".speech"
NOT_OF_THE_VOICE = ("greetings", "api_key_env")
"""Settings that change nothing about the sound."""

logger = logging.getLogger(__name__)


@runtime_checkable
class _Loadable(Protocol):
    async def load(self) -> None: ...


@runtime_checkable
class _Closable(Protocol):
    async def aclose(self) -> None: ...


class GreetingCache:
    """A voice that speaks the sentences of greetings from disk once they were spoken, and all others anew."""

    def __init__(self, voice: SpeechSynthesizer, folder: Path, sentences: Iterable[str], voice_key: str) -> None:
        """*voice_key* says what the sound depends on besides the text: provider, voice and the like."""
        self._voice = voice
        self._folder = folder
        self._sentences = frozenset(sentences)
        self._voice_key = voice_key
        self.sample_rate = voice.sample_rate

    async def synthesize(self, text: str) -> TTSResult:
        if text not in self._sentences:
            return await self._voice.synthesize(text)
        file = self._folder / f"{self._name_of(text)}{SUFFIX}"
        kept = await off_loop(_read, file, self.sample_rate)
        if kept is not None:
            return kept
        made = await self._voice.synthesize(text)
        await off_loop(_write, file, made, self.sample_rate)
        return made

    async def load(self) -> None:
        """Load the voice now, where it can be loaded."""
        if isinstance(self._voice, _Loadable):
            await self._voice.load()

    async def aclose(self) -> None:
        if isinstance(self._voice, _Closable):
            await self._voice.aclose()

    def _name_of(self, text: str) -> str:
        return hashlib.sha256(json.dumps([self._voice_key, text]).encode()).hexdigest()


def cache_greetings(voice: SpeechSynthesizer, config: TTSConfig, folder: Path) -> SpeechSynthesizer:
    """*voice* with its greetings kept in *folder*; itself where there are none."""
    if not config.greetings:
        return voice
    settings = {name: value for name, value in asdict(config).items() if name not in NOT_OF_THE_VOICE}
    sentences = [sentence for greeting in config.greetings for sentence in _sentences_of(greeting)]
    return GreetingCache(voice, folder, sentences, json.dumps(settings, sort_keys=True))


def _sentences_of(text: str) -> list[str]:
    """As they come to the voice."""
    cutter = SentenceCutter()
    return [*cutter.feed(text), *cutter.finish()]


def _read(file: Path, rate: int) -> TTSResult | None:
    """What is kept in *file*; None where there is nothing, or nothing that makes sense."""
    try:
        data = load_bytes(file, limit=MAX_FILE_BYTES + 1)
        head, _, pcm = data.partition(b"\n")
        facts = json.loads(head)
        words = [WordTimestamp(str(word), float(start), float(end)) for word, start, end in facts["words"]]
        is_whole = facts["rate"] == rate and facts["bytes"] == len(pcm) and pcm and len(pcm) % SAMPLE_BYTES == 0
    except (OSError, HomeError, ValueError, LookupError, TypeError, RecursionError):
        return None
    return TTSResult(pcm, words) if is_whole else None


def _write(file: Path, made: TTSResult, rate: int) -> None:
    """Keep *made* in *file*, and no more files than may be; a disk that refuses costs nothing but the cache."""
    words = [(each.word, each.start_ms, each.end_ms) for each in made.timestamps]
    head = json.dumps({"rate": rate, "bytes": len(made.audio), "words": words}).encode()
    if not made.audio or len(head) + len(made.audio) >= MAX_FILE_BYTES:
        return
    try:
        atomic_write(file, head + b"\n" + made.audio, durable=False)
        kept = sorted(file.parent.glob(f"*{SUFFIX}"), key=lambda each: each.lstat().st_mtime_ns)
        for old in kept[:-MAX_FILES]:
            remove_file(old)
    except (OSError, HomeError) as error:
        logger.warning("a greeting could not be kept", extra={"error": type(error).__name__})
