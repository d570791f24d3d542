"""`familiar voice` with speech services that the settings name: servers on loopback, the real program."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from familiar_connect.voice.audio import loudness
from familiar_connect.voice.wav import read_wav, write_wav
from tests.fakes.model_server import stream_answer
from tests.fakes.program import make_home, model_endpoint, one_sentence, run_program
from tests.fakes.speech_server import object_answer, sound_answer, speech_endpoint
from tests.fakes.spoken_words import Speaker
from tests.voice.test_cloud_voices import cartesia_answer, speak_well
from tests.voice.test_vad import tone

pytest.importorskip("hibari", reason="voice is an extra: `python3 run.py --with voice voice -h` brings it")

KEY = "sk-verysecretkey123"


async def record_question(path: Path) -> Path:
    voice = Speaker()
    write_wav(path, (await voice.synthesize("Good evening, what is for dinner?")).audio, voice.sample_rate)
    return path


def add_settings(root: Path, **sections: str) -> None:
    """Write lines into sections of the familiar's settings."""
    file = root / "character.toml"
    text = file.read_text(encoding="utf-8")
    for name, lines in sections.items():
        assert f"\n[{name}]\n" in text
        text = text.replace(f"\n[{name}]\n", f"\n[{name}]\n{lines}\n", 1)
    file.write_text(text, encoding="utf-8")


async def test_a_question_goes_to_the_servers_that_the_settings_name(tmp_path: Path) -> None:
    """One makes words of it, another speaks the reply; a key goes where the owner said."""
    question, answer = await record_question(tmp_path / "question.wav"), tmp_path / "answer.wav"
    with (
        model_endpoint(stream_answer("Make soup. ", "It is cold outside.")) as model,
        speech_endpoint(object_answer({"text": "What is for dinner?"})) as ears,
        speech_endpoint(sound_answer(tone(0.5))) as mouth,
    ):
        root = make_home(tmp_path / "home", model)
        add_settings(
            root,
            stt=f'provider = "openai"\nbase_url = "{ears.base_url}/v1"\napi_key_env = "MY_SPEECH_KEY"',
            tts=f'provider = "openai"\nbase_url = "{mouth.base_url}/v1"\nopenai_voice = "nova"',
        )
        words = ("voice", "--wav", str(question), "--out", str(answer), "--json")
        refused = run_program(tmp_path / "home", *words)
        assert refused.returncode == 1
        assert f"trust add {ears.base_url} --key MY_SPEECH_KEY" in one_sentence(refused)
        assert ears.calls == []

        run_program(tmp_path / "home", "trust", "add", ears.base_url, "--key", "MY_SPEECH_KEY")
        missing = run_program(tmp_path / "home", *words)
        assert missing.returncode == 1
        assert "keys set MY_SPEECH_KEY" in one_sentence(missing)

        run_program(tmp_path / "home", "keys", "set", "MY_SPEECH_KEY", said=KEY)
        done = run_program(tmp_path / "home", *words)
    assert done.returncode == 0, done.stderr
    [spoken] = json.loads(done.stdout)["spoken"]
    assert (spoken["said"], spoken["reply"]) == ("What is for dinner?", "Make soup. It is cold outside.")
    assert [call.payload["input"] for call in mouth.calls] == ["Make soup.", "It is cold outside."]
    assert {call.payload["voice"] for call in mouth.calls} == {"nova"}
    assert ears.calls[0].headers["authorization"] == f"Bearer {KEY}"
    assert "authorization" not in mouth.calls[0].headers
    assert loudness(read_wav(answer)) > 0.01
    assert KEY not in done.stdout + done.stderr


async def test_a_question_goes_to_deepgram_and_is_answered_by_cartesia(tmp_path: Path) -> None:
    """A recording goes there stretch by stretch; the reply comes over a websocket."""
    question, answer = await record_question(tmp_path / "question.wav"), tmp_path / "answer.wav"
    words = {"channels": [{"alternatives": [{"transcript": "What is for dinner?"}]}]}
    with (
        model_endpoint(stream_answer("Make soup.")) as model,
        speech_endpoint(object_answer({"results": words})) as ears,
        speech_endpoint(cartesia_answer(speak_well)) as mouth,
    ):
        root = make_home(tmp_path / "home", model)
        add_settings(
            root,
            stt=f'provider = "deepgram"\nbase_url = "{ears.base_url}/v1"\napi_key_env = "DEEPGRAM_API_KEY"',
            tts=f'provider = "cartesia"\nbase_url = "{mouth.base_url}"\ncartesia_voice_id = "v"\ncartesia_model = "m"',
        )
        run_program(tmp_path / "home", "trust", "add", ears.base_url, "--key", "DEEPGRAM_API_KEY")
        run_program(tmp_path / "home", "keys", "set", "deepgram", said=KEY)
        done = run_program(tmp_path / "home", "voice", "--wav", str(question), "--out", str(answer), "--json")
    assert done.returncode == 0, done.stderr
    [spoken] = json.loads(done.stdout)["spoken"]
    assert (spoken["said"], spoken["reply"]) == ("What is for dinner?", "Make soup.")
    assert {call.headers.get("authorization") for call in ears.calls} == {f"Token {KEY}"}
    assert len(read_wav(answer)) > 0


async def test_a_voice_that_fails_costs_sound_and_no_words(tmp_path: Path) -> None:
    """The sentence is shown in its place."""
    question = await record_question(tmp_path / "question.wav")
    with (
        model_endpoint(stream_answer("Make soup.")) as model,
        speech_endpoint(object_answer({"text": "What is for dinner?"})) as ears,
        speech_endpoint(object_answer({"error": {"message": "no such voice"}}, 400)) as mouth,
    ):
        root = make_home(tmp_path / "home", model)
        add_settings(
            root,
            stt=f'provider = "openai"\nbase_url = "{ears.base_url}/v1"',
            tts=f'provider = "openai"\nbase_url = "{mouth.base_url}/v1"',
        )
        done = run_program(tmp_path / "home", "voice", "--wav", str(question))
    assert done.returncode == 0, done.stderr
    assert "Make soup." in done.stdout
    assert "(could not be spoken) Make soup." in done.stderr
    assert "Traceback" not in done.stderr


async def test_a_recogniser_that_fails_is_said_and_no_model_is_asked(tmp_path: Path) -> None:
    """With the length of what was lost."""
    question = await record_question(tmp_path / "question.wav")
    with (
        model_endpoint(stream_answer("never")) as model,
        speech_endpoint(object_answer({"error": "down"}, 500)) as ears,
    ):
        root = make_home(tmp_path / "home", model)
        add_settings(root, stt=f'provider = "openai"\nbase_url = "{ears.base_url}/v1"')
        done = run_program(tmp_path / "home", "voice", "--wav", str(question))
        assert model.requests == []
    assert done.returncode == 3
    assert "could not be made out" in done.stderr


def test_the_doctor_names_what_a_speech_service_lacks(tmp_path: Path) -> None:
    """One line for hearing and one for speaking, each with the fix; without services nothing is said."""
    root = make_home(tmp_path / "home")
    words = ("doctor", "--offline", "--json")

    def findings() -> dict[str, tuple[str, str]]:
        done = run_program(tmp_path / "home", *words)
        assert KEY not in done.stdout + done.stderr
        return {each["area"]: (each["state"], each["says"]) for each in json.loads(done.stdout)}

    assert {"hearing", "speaking"} & findings().keys() == set()
    add_settings(root, stt='provider = "deepgram"', tts='provider = "cartesia"\ncartesia_voice_id = "v"')
    found = findings()
    assert found["hearing"][0] == found["speaking"][0] == "bad"
    assert "keys set DEEPGRAM_API_KEY" in found["hearing"][1]
    assert "cartesia_model" in found["speaking"][1]
    add_settings(root, tts='cartesia_model = "m"')
    run_program(tmp_path / "home", "keys", "set", "deepgram", said=KEY)
    run_program(tmp_path / "home", "keys", "set", "cartesia", said=KEY)
    found = findings()
    assert found["hearing"] == ("ok", "by voice what people say is sent to Deepgram, with the key DEEPGRAM_API_KEY")
    assert found["speaking"] == ("ok", "by voice what it says is sent to Cartesia, with the key CARTESIA_API_KEY")
