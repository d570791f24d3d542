"""The voice channel of `familiar run --demo-discord`: the real program, the real library, services on loopback."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from familiar_connect.extensions.discord.demo.tour import list_steps
from familiar_connect.extensions.discord.voice import parts
from familiar_connect.extensions.load import find_platform
from familiar_connect.platforms.terminal.demonstration import Demonstration, TourReader
from familiar_connect.platforms.terminal.line_input import PipeReader
from familiar_connect.voice.audio import duration_s, loudness
from familiar_connect.voice.protocols import HEARING_RATE
from familiar_connect.voice.wav import read_wav, write_wav
from tests.commands.test_voice_services import KEY, add_settings
from tests.fakes.model_server import ModelServer, answer_as_asked, stream_answer
from tests.fakes.program import make_home, model_endpoint, run_program
from tests.fakes.scripted_familiar import scripted_familiar
from tests.fakes.speech_server import SpeechServer, object_answer, sound_answer, speech_endpoint
from tests.fakes.spoken_words import Speaker

pytest.importorskip("hibari", reason="voice is an extra: `python3 run.py --with voice voice -h` brings it")
pytest.importorskip("davey", reason="voice channels are encrypted by packages of the extra discord")

QUESTION = "Ember, what is for dinner?"
GREETING = "Good evening."
RECIPE = "Potatoes with onions. First you peel ten of them. Then you fry them."
OBJECTION = "Wait, I would rather have soup."
GIVES_WAY = 'interrupt_tolerance = "very_meek"\nmin_interruption_s = 0.5'
"""Half a second of talking over it counts. In a tender talk, as the side model calls it, it gives way for sure."""


@contextmanager
def familiar_with_services(home: Path, sound: bytes) -> Iterator[tuple[ModelServer, SpeechServer, SpeechServer]]:
    """Ember, who hears the same question in all that is said; whatever is spoken sounds like *sound*.

    The service that hears wants a key, which the owner keeps in the home.
    """
    replies = [stream_answer(each) for each in (GREETING, RECIPE, "Soup, then.")]
    with (
        model_endpoint(*replies) as model,
        model_endpoint(answer_as_asked("-0.5")) as mood,
        speech_endpoint(object_answer({"text": QUESTION})) as ears,
        speech_endpoint(sound_answer(sound)) as mouth,
    ):
        root = make_home(home, model)
        file = root / "character.toml"
        slot = f'\n[llm.mood_eval]\nmodel = "side"\nbase_url = "{mood.base_url}"\n'
        file.write_text(f"voice_lull_timeout = 0.3\n{file.read_text(encoding='utf-8')}{slot}", encoding="utf-8")
        services = {
            "stt": f'provider = "openai"\nbase_url = "{ears.base_url}/v1"\napi_key_env = "MY_SPEECH_KEY"',
            "tts": f'provider = "openai"\nbase_url = "{mouth.base_url}/v1"',
            "voice.interruption": GIVES_WAY,
        }
        add_settings(root, **services)
        run_program(home, "trust", "add", ears.base_url, "--key", "MY_SPEECH_KEY")
        run_program(home, "keys", "set", "MY_SPEECH_KEY", said=KEY)
        yield model, ears, mouth


async def test_people_are_heard_answered_aloud_and_talk_over_the_familiar(tmp_path: Path) -> None:
    """It comes when it is called; what it says is shown with its length and kept; who talks over it has it stop."""
    spoken = (await Speaker().synthesize("Good evening, what is for dinner?")).audio
    write_wav(tmp_path / "hello.wav", spoken, Speaker.sample_rate)
    lines = (
        "ada: !join",
        "ada: /subscribe-my-voice",
        "!record answers.wav",
        "ada: !play hello.wav",
        f"ada: !say {QUESTION}",
        f"ben: !over {OBJECTION}",
    )
    with familiar_with_services(tmp_path / "home", spoken) as (model, ears, mouth):
        said = "".join(f"{line}\n" for line in lines)
        done = run_program(tmp_path / "home", "run", "--demo-discord", said=said, cwd=tmp_path)
    shown, once_s = done.stdout, duration_s(spoken, Speaker.sample_rate)
    answered = [float(each) for each in re.findall(r"^Ember \(aloud, ([\d.]+) s\)", shown, re.MULTILINE)]

    assert (done.returncode, done.stderr) == (0, "")
    in_order = (
        "(Ada comes to #lounge.",
        "(Ember comes to #lounge.)",
        f"(Ada speaks, {once_s:.1f} s.)",
        f"(Ember heard Ada: {QUESTION}",
        f"s): {GREETING}\n",
        "(Ember speaks…)",
        "(Ben speaks, ",
        "(Ember stops: Ben talks over it.)",
        "s): Potatoes with onions.",
        f"(Ember heard Ben: {QUESTION}",
        "s): Soup, then.\n",
    )
    rest = shown
    for line in in_order:
        before, found, rest = rest.partition(line)
        assert found, f"{line!r} is not shown after: {before!r}"
    assert [answered[0], answered[2]] == [pytest.approx(once_s, abs=0.5)] * 2
    assert 3 * once_s - 0.5 < answered[1] < 4 * once_s + 0.5  # what was talked over is said again
    kept = read_wav(tmp_path / "answers.wav")
    assert duration_s(kept, HEARING_RATE) == pytest.approx(sum(answered), abs=0.5)
    assert loudness(kept) > 0.01
    assert {QUESTION, OBJECTION, GREETING} <= {call.payload["input"] for call in mouth.calls}
    assert {call.headers.get("authorization") for call in ears.calls} == {f"Bearer {KEY}"}
    assert "Ben" in str(model.requests[-1].payload["messages"])


async def play(home: Path, *lines: str) -> list[str]:
    """What the demonstration shows when *lines* are typed, without the help."""
    said: list[str] = []
    async with scripted_familiar(home, [GREETING], subscribed=False) as house:
        reader = PipeReader(io.StringIO("".join(f"{line}\n" for line in lines)))
        await Demonstration(house.familiar, "discord", find_platform("discord"), reader=reader, say=said.append).run()
    return said


async def test_what_stands_in_the_way_of_sound_is_said(tmp_path: Path) -> None:
    """Nobody there, nothing to say, nobody who listens; and nothing waits for it."""
    shown = await play(
        tmp_path, "ada: !leave", "ada: !say", "ada: !say hello", "ada: !join", "ben: !over wait", "!record x.wav"
    )

    assert shown[1:] == [
        "(Ada is in no voice channel.)",
        "Say more after !say: `!say hello`.",
        "(Ada comes to #lounge. `/subscribe-my-voice` brings Ember.)",
        "(No one hears it: Ember is not in #lounge. `/subscribe-my-voice` of someone there brings it.)",
        "(Ada is in #lounge already.)",
        "(Ben comes to #lounge. `/subscribe-my-voice` brings Ember.)",
        "(Ember is not in #lounge, so nobody can talk over it.)",
        "(What Ember says aloud goes to x.wav.)",
    ]


async def test_without_the_packages_of_voice_it_is_said_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the help and to whoever wants to speak; the rest of the demonstration works."""
    monkeypatch.setattr(parts, "find_spec", lambda library: None)
    shown = await play(tmp_path, "ada: !join", "ada: /persona")

    assert "The voice channel is without sound: its library is not installed" in " ".join(shown[0].split())
    assert shown[1].startswith("(The voice channel is without sound: its library is not installed; ")
    assert shown[2].startswith("(only Ada sees)")


async def test_a_tour_without_the_packages_of_voice_says_so_and_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """In one line, where the voice channel would have been; with them somebody speaks there."""
    shown: list[str] = []
    monkeypatch.setattr(parts, "find_spec", lambda library: None)
    before, after = list_steps()
    reader = TourReader((*before, *after), "Ember", shown.append)
    lines = await read_all(reader)

    assert [each for each in shown if each.startswith("\n— The voice channel is left out: its library")]
    assert not any("!say" in line for line in lines)
    assert lines[-1].startswith("#garden ben:")
    monkeypatch.undo()
    assert any("!say" in line for step in list_steps()[0] for line in step.lines)


async def read_all(reader: TourReader) -> list[str]:
    lines = []
    while (line := await reader.line()) is not None:
        lines.append(line)
    return lines
