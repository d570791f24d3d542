"""Voices and recognisers that an extension brings: chosen as ours are, through `familiar voice`, kept apart."""

from __future__ import annotations

import asyncio
import json
import wave
from pathlib import Path

import pytest

from familiar_connect.extensions.speech import ExtensionRecognizer, ExtensionSynthesizer
from familiar_connect.extensions.thread import ExtensionThread
from familiar_connect.voice.types import TTSResult
from familiar_connect.voice.wav import write_wav
from tests.fakes.extension_packages import install_example, install_extension, run_beside
from tests.fakes.model_server import stream_answer
from tests.fakes.program import make_home, model_endpoint, one_sentence

HUM = '\n[tts]\nprovider = "extension:hum/low"\n\n[stt]\nprovider = "extension:hum"\n'
FAULTY = """
from familiar_connect.api import Extension
from familiar_connect.api.speech import SynthesizerPart
class Voice:
    sample_rate = 16000
    async def synthesize(self, text):
        raise KeyError("no voice today")
class Silent:
    pass
def create(context, voice):
    return Silent() if voice == "silent" else Voice()
extension = Extension(name="faulty", synthesizer=SynthesizerPart(create=create))
"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    return tmp_path / "site"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def add_settings(settings: Path, text: str) -> None:
    kept = settings.read_text(encoding="utf-8").replace("[tts]", "").replace("[stt]", "")
    settings.write_text(kept + text, encoding="utf-8")


def seconds_of(file: Path) -> float:
    with wave.open(str(file), "rb") as sound:
        return sound.getnframes() / sound.getframerate()


def test_an_extension_speaks_where_the_settings_name_it(site: Path, home: Path, tmp_path: Path) -> None:
    """By the same setting as any voice; not allowed, it is a sentence; `info` and `doctor` show it."""
    install_example(site, "hum")
    add_settings(make_home(home) / "character.toml", HUM)
    out = tmp_path / "out.wav"
    words = ("voice", "--say", "Good evening, all of you.", "--out", str(out))

    refused = one_sentence(run_beside(site, home, *words))
    run_beside(site, home, "extension", "allow", "hum")
    spoken = run_beside(site, home, *words)
    shown = run_beside(site, home, "extension", "info", "hum").stdout
    told = " ".join(run_beside(site, home, "doctor", "--all", "--offline").stdout.split())

    assert "provider names the extension hum, and it is not allowed here" in refused
    assert spoken.returncode == 0, spoken.stderr
    assert seconds_of(out) == pytest.approx(7 * 0.25, abs=0.01)
    assert "speaks: extension:hum" in shown
    assert "hears: extension:hum" in shown
    assert "what it says is sent to the extension hum" in told


async def test_an_extension_hears_a_recording(site: Path, home: Path, tmp_path: Path) -> None:
    """What it makes of the sound is what the model is asked."""
    pytest.importorskip("hibari", reason="somebody has to speak")
    from tests.fakes.spoken_words import Speaker

    install_example(site, "hum")
    voice = Speaker()
    question, answer = tmp_path / "question.wav", tmp_path / "answer.wav"
    write_wav(question, (await voice.synthesize("Good evening. What should I cook?")).audio, voice.sample_rate)
    with model_endpoint(stream_answer("Soup.")) as server:
        add_settings(make_home(home, server) / "character.toml", HUM)
        run_beside(site, home, "extension", "allow", "hum")
        done = await asyncio.to_thread(
            run_beside, site, home, "voice", "--wav", str(question), "--out", str(answer), "--json"
        )

    assert done.returncode == 0, done.stderr
    said = [each["said"] for each in json.loads(done.stdout)["spoken"]]
    assert set(" ".join(said).split()) == {"la"}
    assert "la" in json.dumps(server.requests[-1].payload)
    assert seconds_of(answer) > 0


def test_a_voice_that_fails_or_lacks_something_is_a_sentence(site: Path, home: Path, tmp_path: Path) -> None:
    """As when a service fails; a provider that is no name is refused like any wrong setting."""
    install_extension(site, "faulty", FAULTY)
    settings = make_home(home) / "character.toml"
    run_beside(site, home, "extension", "allow", "faulty")
    kept = settings.read_text(encoding="utf-8")
    told = {}
    for provider in ("extension:faulty", "extension:faulty/silent", "extension:", "extension:Not A Name"):
        settings.write_text(kept, encoding="utf-8")
        add_settings(settings, f'\n[tts]\nprovider = "{provider}"\n')
        words = ("voice", "--say", "Hello.", "--out", str(tmp_path / "out.wav"))
        told[provider] = one_sentence(run_beside(site, home, *words))

    assert "the extension faulty failed: KeyError" in told["extension:faulty"]
    assert "no `sample_rate`" in told["extension:faulty/silent"]
    assert "[tts] provider must be one of" in told["extension:"]
    assert "or extension:NAME" in told["extension:Not A Name"]


async def test_what_an_extension_gives_is_looked_at() -> None:
    """Half a sample, or no text, is an error of its own and goes no further."""

    class Odd:
        sample_rate = 16_000

        async def synthesize(self, text: str) -> TTSResult:
            return TTSResult(b"123")

        async def recognize(self, pcm: bytes) -> str:
            return 7  # type: ignore[return-value]

    thread = ExtensionThread("odd")
    voice, ears = ExtensionSynthesizer(Odd(), thread), ExtensionRecognizer(Odd(), thread)
    with pytest.raises(RuntimeError, match="the extension odd gave no sound"):
        await voice.synthesize("hello")
    with pytest.raises(RuntimeError, match="the extension odd gave no text"):
        await ears.recognize(b"")
    await voice.aclose()
