"""`familiar voice` when things go wrong around it: each by the program itself.

Silence, and noise, clipping, a hum and ten people at once are in `test_voice`; unplugged devices in `test_voice_live`.
"""

from __future__ import annotations

import json
import signal
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from familiar_connect.voice.audio import resample
from familiar_connect.voice.protocols import HEARING_RATE
from familiar_connect.voice.wav import write_wav
from tests.commands.test_voice import talk_file
from tests.commands.test_voice_live import Devices, quick_lull
from tests.commands.test_voice_services import add_settings, record_question
from tests.fakes.model_server import event, head, raw_answer, stall, stream_answer
from tests.fakes.program import make_home, model_endpoint, run_program
from tests.fakes.speech_server import cut_off, object_answer, sound_answer, speech_endpoint
from tests.fakes.spoken_words import Speaker
from tests.fakes.terminal import TerminalSession
from tests.fakes.waiting import wait_until

pytest.importorskip("hibari", reason="voice is an extra: `python3 run.py --with voice voice -h` brings it")


def pending_words(database: Path) -> str:
    """What is on disk of what was said, and is no turn yet."""
    try:
        with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
            return " ".join(row[0] for row in connection.execute("SELECT content FROM pending_speech"))
    except sqlite3.OperationalError:
        return ""  # it is being made


async def test_a_kill_while_the_familiar_speaks_loses_no_words_said_over_it(tmp_path: Path) -> None:
    """They are in the history after the next start, as a turn of whoever said them."""
    devices, voice, later = Devices(tmp_path), Speaker(), tmp_path / "later.pcm"
    await devices.hear(("What should I cook tonight?", False))
    plan = json.loads(devices.plan.read_text(encoding="utf-8"))
    plan["input"][0]["then"] = str(later)
    devices.plan.write_text(json.dumps(plan), encoding="utf-8")
    over = resample((await voice.synthesize("Please remember the lentils.")).audio, voice.sample_rate, HEARING_RATE)
    never_ends = raw_answer(head(), event("First you peel ten potatoes. "), event("Then you "), then=stall)
    with model_endpoint(never_ends, stream_answer("Good morning.")) as server:
        home = tmp_path / "home"
        root = make_home(home, server)
        quick_lull(root)
        with TerminalSession(home, "voice", "--headphones", env=devices.env) as terminal:
            wait_until(lambda: server.requests, "the question is asked")
            later.with_suffix(".part").write_bytes(over)
            later.with_suffix(".part").rename(later)
            wait_until(lambda: "lentils" in pending_words(root / "history.db").lower(), "what was said over it")
            terminal.signal(signal.SIGKILL)
            terminal.wait_end()
        assert "lentils" not in run_program(home, "logs", "--chat", "voice").stdout.lower()
        assert run_program(home, "ask", "Good morning.").returncode == 0
        lines = run_program(home, "logs", "--chat", "voice").stdout.lower()
    assert lines.count("lentils") == 1
    assert lines.index("cook tonight") < lines.index("lentils")


HANGING = """
import threading

class Segment:
    avg_logprob = -0.2
    no_speech_prob = 0.0
    text = "Can you still hear me?"

class WhisperModel:
    calls = 0

    def __init__(self, *args, **more):
        pass

    def transcribe(self, samples, **more):
        WhisperModel.calls += 1
        if WhisperModel.calls == 1:
            threading.Event().wait()
        return [Segment()], None
"""
SHORT_LIMIT = "import familiar_connect.voice.hearing as hearing\nhearing.RECOGNITION_TIMEOUT_S = 1.0\n"


async def test_a_recogniser_that_hangs_is_given_up_and_the_talk_goes_on(tmp_path: Path) -> None:
    """What could not be made out is said; what follows is heard and answered, and the program ends."""
    voice, question = Speaker(), tmp_path / "question.wav"
    said = [(await voice.synthesize(each)).audio for each in ("Good evening.", "Can you still hear me?")]
    write_wav(question, bytes(voice.sample_rate * 4).join(said), voice.sample_rate)
    (tmp_path / "double").mkdir()
    (tmp_path / "double" / "faster_whisper.py").write_text(HANGING, encoding="utf-8")
    (tmp_path / "double" / "sitecustomize.py").write_text(SHORT_LIMIT, encoding="utf-8")
    with model_endpoint(stream_answer("I hear you.")) as server:
        make_home(tmp_path / "home", server)
        done = run_program(
            tmp_path / "home",
            *("voice", "--wav", str(question), "--json"),
            env={"PYTHONPATH": str(tmp_path / "double")},
        )
    assert done.returncode == 0, done.stderr
    assert "could not be made out" in done.stderr
    [spoken] = json.loads(done.stdout)["spoken"]
    assert (spoken["said"], spoken["reply"]) == ("Can you still hear me?", "I hear you.")


@pytest.mark.parametrize("rate", [8_000, 96_000])
async def test_speech_at_the_rates_of_telephones_and_studios_is_understood(tmp_path: Path, rate: int) -> None:
    """And answered."""
    voice, question = Speaker(), tmp_path / "question.wav"
    made = (await voice.synthesize("Good evening. What should I cook tonight?")).audio
    write_wav(question, resample(made, voice.sample_rate, rate), rate)
    with model_endpoint(stream_answer("Make soup.")) as server:
        make_home(tmp_path / "home", server)
        done = run_program(tmp_path / "home", "voice", "--wav", str(question), "--json")
    assert done.returncode == 0, done.stderr
    [spoken] = json.loads(done.stdout)["spoken"]
    assert "cook" in spoken["said"].lower()
    assert spoken["reply"] == "Make soup."


async def test_one_who_never_stops_is_kept_and_keeps_nobody_from_an_answer(tmp_path: Path) -> None:
    """They are heard in pieces; what another said is answered after a minute, while they still speak."""
    voice = Speaker()
    made = (await voice.synthesize("And then the sailors walked along the harbour and told another story, ")).audio
    times = -(-70 * voice.sample_rate * 2 // len(made))
    write_wav(tmp_path / "endless.wav", made * times, voice.sample_rate)
    script = talk_file(
        tmp_path,
        {"speaker": "Talker", "at": 0, "wav": "endless.wav"},
        {"speaker": "Sam", "at": 2.0, "text": "What should we cook tonight?"},
    )
    with model_endpoint(*[stream_answer("Soup.")] * 4) as server:
        make_home(tmp_path / "home", server)
        done = run_program(tmp_path / "home", "voice", "--script", str(script), "--json")
    assert done.returncode == 0, done.stderr
    talk = json.loads(done.stdout)["talk"]
    asked = next(each for each in talk if each["who"] == "Sam" and "cook" in each["said"].lower())
    answered = next(each for each in talk if each["first_sound_at"] is not None)
    assert asked["at"] <= answered["first_sound_at"] < 70
    said = " ".join(each["said"] for each in talk if each["who"] == "Talker").lower()
    assert said.count("harbo") > times / 2


async def test_a_recogniser_that_dies_in_the_middle_costs_one_stretch(tmp_path: Path) -> None:
    """It hangs up on the first, twice; that is said, and the next one is answered."""
    voice, question = Speaker(), tmp_path / "question.wav"
    said = [(await voice.synthesize(each)).audio for each in ("Good evening.", "Can you still hear me?")]
    write_wav(question, bytes(voice.sample_rate * 4).join(said), voice.sample_rate)
    with (
        model_endpoint(stream_answer("I hear you.")) as model,
        speech_endpoint(cut_off, cut_off, object_answer({"text": "Can you still hear me?"})) as ears,
    ):
        root = make_home(tmp_path / "home", model)
        add_settings(root, stt=f'provider = "openai"\nbase_url = "{ears.base_url}/v1"')
        done = run_program(tmp_path / "home", "voice", "--wav", str(question), "--json")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("could not be made out") == 1
    [spoken] = json.loads(done.stdout)["spoken"]
    assert (spoken["said"], spoken["reply"]) == ("Can you still hear me?", "I hear you.")


async def test_a_voice_that_returns_no_sound_loses_no_text(tmp_path: Path) -> None:
    """What could not be spoken is shown and kept; the sentence after it is spoken."""
    question = await record_question(tmp_path / "question.wav")
    with (
        model_endpoint(stream_answer("Make soup. ", "It is cold outside.")) as model,
        speech_endpoint(sound_answer(b""), sound_answer(b""), sound_answer(bytes(4_800))) as mouth,
    ):
        root = make_home(tmp_path / "home", model)
        add_settings(root, tts=f'provider = "openai"\nbase_url = "{mouth.base_url}/v1"')
        done = run_program(tmp_path / "home", "voice", "--wav", str(question))
    assert done.returncode == 0, done.stderr
    assert "(could not be spoken) Make soup." in done.stderr
    assert "Make soup. It is cold outside." in done.stdout
    assert "Make soup. It is cold outside." in run_program(tmp_path / "home", "logs", "--chat", "voice").stdout
