"""Greetings are spoken once and kept; everything else is spoken anew."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.config.character import CharacterConfig
from familiar_connect.config.folders import HomeFolder
from familiar_connect.config.voice import STTConfig, TTSConfig
from familiar_connect.voice.backends import VoiceBackends
from familiar_connect.voice.service_access import ServiceAccess
from familiar_connect.voice.tts import greeting_cache
from familiar_connect.voice.tts.greeting_cache import cache_greetings
from familiar_connect.voice.types import TTSResult, WordTimestamp
from tests.fakes.speech_server import SpeechServer, sound_answer

CONFIG = TTSConfig(provider="openai", greetings=["Hello there! How *are* you?", "Hi."])


class CountingVoice:
    """Speaks its text as bytes."""

    sample_rate = 24_000

    def __init__(self, *, fails: bool = False) -> None:
        self.spoken: list[str] = []
        self._fails = fails

    async def synthesize(self, text: str) -> TTSResult:
        self.spoken.append(text)
        if self._fails:
            raise RuntimeError("no voice")
        return TTSResult(text.encode("utf-16-le"), [WordTimestamp(text, 0.0, 5.0)])


def files_in(folder: Path) -> list[Path]:
    return sorted(folder.iterdir())


async def test_a_greeting_is_spoken_once_and_kept(tmp_path: Path) -> None:
    """Sentence by sentence, as they come to the voice, with the times of words; after a restart, too."""
    first, second = CountingVoice(), CountingVoice()
    made = [await cache_greetings(first, CONFIG, tmp_path).synthesize(text) for text in ("Hello there!", "Hi.")]
    again = [await cache_greetings(second, CONFIG, tmp_path).synthesize(text) for text in ("Hello there!", "Hi.")]
    assert first.spoken == ["Hello there!", "Hi."]
    assert second.spoken == []
    assert again == made


async def test_only_greetings_are_kept(tmp_path: Path) -> None:
    """What is said in a talk leaves nothing on disk."""
    voice = CountingVoice()
    cached = cache_greetings(voice, CONFIG, tmp_path / "greetings")
    for _ in range(2):
        await cached.synthesize("A secret.")
    assert voice.spoken == ["A secret."] * 2
    assert not (tmp_path / "greetings").exists()
    assert cache_greetings(voice, TTSConfig(), tmp_path) is voice


@pytest.mark.parametrize(
    "change", [{"openai_voice": "nova"}, {"provider": "azure"}, {"base_url": "http://localhost:1"}]
)
async def test_another_voice_speaks_its_own_greeting(tmp_path: Path, change: dict[str, str]) -> None:
    """Provider, voice and text tell one from another; the key does not."""
    voice = CountingVoice()
    await cache_greetings(voice, CONFIG, tmp_path).synthesize("Hi.")
    await cache_greetings(voice, replace(CONFIG, api_key_env="OTHER_KEY"), tmp_path).synthesize("Hi.")
    assert len(voice.spoken) == 1
    await cache_greetings(voice, replace(CONFIG, **change), tmp_path).synthesize("Hi.")  # type: ignore[arg-type]
    assert len(voice.spoken) == 2


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"\xff\n", b'{"rate": 24000, "bytes": 9, "words": []}\nab', b"[" * 9999]
)
async def test_a_damaged_file_is_spoken_anew(tmp_path: Path, content: bytes) -> None:
    """And mended."""
    voice = CountingVoice()
    cached = cache_greetings(voice, CONFIG, tmp_path)
    made = await cached.synthesize("Hi.")
    [file] = files_in(tmp_path)
    file.write_bytes(content)
    assert await cached.synthesize("Hi.") == made
    assert await cached.synthesize("Hi.") == made
    assert len(voice.spoken) == 2


async def test_no_more_is_kept_than_may_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest go, and what is too long is not kept at all."""
    monkeypatch.setattr(greeting_cache, "MAX_FILES", 3)
    config = replace(CONFIG, greetings=[f"Hello number {name}." for name in "abcdefgh"])
    cached = cache_greetings(CountingVoice(), config, tmp_path)
    for name in "abcdefgh":
        await cached.synthesize(f"Hello number {name}.")
    assert len(files_in(tmp_path)) == 3
    monkeypatch.setattr(greeting_cache, "MAX_FILE_BYTES", 10)
    await cache_greetings(CountingVoice(), CONFIG, tmp_path / "other").synthesize("Hi.")
    assert not (tmp_path / "other").exists()


async def test_a_voice_that_fails_keeps_nothing_and_a_disk_that_refuses_costs_nothing(tmp_path: Path) -> None:
    """The failure is the voice's own."""
    with pytest.raises(RuntimeError, match="no voice"):
        await cache_greetings(CountingVoice(fails=True), CONFIG, tmp_path / "a").synthesize("Hi.")
    assert not (tmp_path / "a").exists()
    (tmp_path / "b").write_text("a file where the folder should be")
    assert (await cache_greetings(CountingVoice(), CONFIG, tmp_path / "b").synthesize("Hi.")).audio


@given(st.text(max_size=60))
def test_whatever_the_greeting_it_is_cut_into_sentences(greeting: str) -> None:
    """Nothing in it can name a file."""
    config = replace(CONFIG, greetings=[greeting])
    assert cache_greetings(CountingVoice(), config, Path("nowhere"))


async def test_the_voice_of_a_familiar_keeps_its_greetings_in_the_home(tmp_path: Path) -> None:
    """Through the settings: a second start asks the server no more."""
    async with SpeechServer([sound_answer(bytes(480))]) as server:
        base_url = f"{server.base_url}/v1"
        config = CharacterConfig(
            tts=replace(CONFIG, base_url=base_url), stt=STTConfig(provider="openai", base_url=base_url)
        )
        for _ in range(2):
            backends = VoiceBackends(config, ServiceAccess.of_home(tmp_path))
            assert (await backends.synthesizer.synthesize("Hi.")).audio == bytes(480)
            await backends.aclose()
    assert len(server.calls) == 1
    assert len(files_in(HomeFolder(tmp_path).greetings)) == 1
