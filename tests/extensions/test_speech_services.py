"""What built-in voices use, used by strangers: services with a key, and ears that listen while somebody speaks."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from familiar_connect.extensions.speech import ExtensionSynthesizer
from familiar_connect.extensions.speech_stream import ExtensionStream
from familiar_connect.extensions.thread import ExtensionThread
from familiar_connect.voice.audio import loudness, resample
from familiar_connect.voice.protocols import HEARING_RATE
from familiar_connect.voice.speech_service import SpeechServiceError
from familiar_connect.voice.types import TranscriptionResult, TTSResult
from familiar_connect.voice.wav import read_wav
from tests.fakes.extension_packages import install_extension, run_beside
from tests.fakes.model_server import stream_answer
from tests.fakes.program import make_home, model_endpoint, one_sentence
from tests.fakes.speech_server import object_answer, sound_answer, speech_endpoint
from tests.fakes.terminal import TerminalSession
from tests.fakes.waiting import until
from tests.voice.test_vad import tone

SOUND_LIBRARY = Path(__file__).parent.parent / "fakes" / "sound_library"
TEA = """
from familiar_connect.api import Extension
from familiar_connect.api.speech import SERVICE_RATE, RemoteService, ServiceCalls
from familiar_connect.api.speech import SynthesizerPart, read_speech

class Voice:
    sample_rate = SERVICE_RATE
    def __init__(self, calls):
        self._calls = calls
    async def synthesize(self, text):
        service = self._calls.service
        headers = {"Tea-Key": service.api_key or "none"}
        answer = await self._calls.post("pour", headers=headers, json={"say": text}, said=text)
        return await read_speech(answer, service.name)
    async def aclose(self):
        await self._calls.aclose()

def create(context, name):
    return Voice(ServiceCalls(context.service))

service = RemoteService(title="Tea's speech", key="TEA_KEY", other_keys=("OLD_TEA_KEY",), address="https://tea.example")
extension = Extension(
    name="tea", synthesizer=SynthesizerPart(create=create, secrets=("TEA_KEY", "OLD_TEA_KEY"), service=service)
)
"""
STREAM = """
from familiar_connect.api import Extension
from familiar_connect.api.speech import RecognizerPart, TranscriptionResult

class Stream:
    def begin(self, on_result, *, on_trouble=None):
        self._tell = on_result
    def feed(self, pcm):
        pass
    def finalize(self):
        self._tell(TranscriptionResult("What is for dinner?", True, 0.0, 1.0))
    def unheard(self):
        return b""
    async def finish(self):
        pass
    async def stop(self):
        pass

class Recognizer:
    async def recognize(self, pcm):
        return "Nobody is to ask this."

extension = Extension(
    name="stream",
    recognizer=RecognizerPart(create=lambda context, name: Recognizer(), create_stream=lambda context, name: Stream()),
)
"""


def add_settings(root: Path, **sections: str) -> None:
    file = root / "character.toml"
    text = file.read_text(encoding="utf-8")
    for name, lines in sections.items():
        text = text.replace(f"\n[{name}]\n", f"\n[{name}]\n{lines}\n", 1)
    file.write_text(text, encoding="utf-8")


def test_a_strangers_service_gets_its_key_and_its_address_as_ours_do(tmp_path: Path) -> None:
    """What is missing is our sentence, its key goes where the owner said, and `base_url` leads elsewhere."""
    site, home, out = tmp_path / "site", tmp_path / "home", tmp_path / "out.wav"
    install_extension(site, "tea", TEA)
    root = make_home(home)
    add_settings(root, tts='provider = "extension:tea"')
    run_beside(site, home, "extension", "allow", "tea")
    words = ("voice", "--say", "Good evening.", "--out", str(out))

    missing = one_sentence(run_beside(site, home, *words))
    with speech_endpoint(sound_answer(tone(0.5))) as server:
        add_settings(root, tts=f'base_url = "{server.base_url}"\napi_key_env = "TEA_KEY"')
        refused = one_sentence(run_beside(site, home, *words))
        run_beside(site, home, "trust", "add", server.base_url, "--key", "TEA_KEY")
        run_beside(site, home, "keys", "set", "OLD_TEA_KEY", said="leaves")
        spoken = run_beside(site, home, *words)

    assert '[tts] provider = "extension:tea" needs a key: `familiar keys set TEA_KEY` keeps TEA_KEY' in missing
    assert "trust add" in refused
    assert spoken.returncode == 0, spoken.stderr
    assert [(call.path, call.headers["tea-key"], call.payload["say"]) for call in server.calls] == [
        ("/pour", "leaves", "Good evening.")
    ]
    assert loudness(read_wav(out)) > 0.01


def test_a_strangers_service_that_refuses_is_said_in_our_words(tmp_path: Path) -> None:
    """Which service, and what can be done; not the name of an exception."""
    site, home = tmp_path / "site", tmp_path / "home"
    install_extension(site, "tea", TEA)
    root = make_home(home)
    run_beside(site, home, "extension", "allow", "tea")
    with speech_endpoint(object_answer({"error": "no"}, 402)) as server:
        add_settings(root, tts=f'provider = "extension:tea"\nbase_url = "{server.base_url}"')
        told = one_sentence(run_beside(site, home, "voice", "--say", "Hello.", "--out", str(tmp_path / "out.wav")))

    assert "The tts server asks for payment (402): add credit to the account." in told


async def test_a_strangers_ears_listen_while_somebody_speaks(tmp_path: Path) -> None:
    """At the microphone of `familiar voice` its stream is used, not its recogniser of whole stretches."""
    pytest.importorskip("hibari", reason="somebody has to speak")
    from tests.fakes.spoken_words import Speaker

    site, home, voice = tmp_path / "site", tmp_path / "home", Speaker()
    sound = resample((await voice.synthesize("Good evening to you all.")).audio, voice.sample_rate, HEARING_RATE)
    (tmp_path / "said.pcm").write_bytes(bytes(16_000) + sound)
    hears = [{"file": str(tmp_path / "said.pcm"), "unplugged": False}]
    plan = tmp_path / "sound.json"
    plan.write_text(json.dumps({"input": hears, "output": str(tmp_path / "played.pcm")}), encoding="utf-8")
    install_extension(site, "stream", STREAM)
    with model_endpoint(stream_answer("Make soup.")) as server:
        root = make_home(home, server)
        add_settings(root, stt='provider = "extension:stream"')
        settings = root / "character.toml"
        settings.write_text("voice_lull_timeout = 0.5\n" + settings.read_text(encoding="utf-8"), encoding="utf-8")
        run_beside(site, home, "extension", "allow", "stream")
        found = os.pathsep.join([str(SOUND_LIBRARY), str(site)])
        with TerminalSession(home, "voice", env={"PYTHONPATH": found, "FAKE_SOUND": str(plan)}) as terminal:
            terminal.wait_for_text("What is for dinner?")
            terminal.wait_for_text("Ember: Make soup.")
            assert terminal.leave() == 0


def test_a_stream_that_lacks_a_method_is_a_finding_of_the_doctor(tmp_path: Path) -> None:
    """Before anybody speaks."""
    site, home = tmp_path / "site", tmp_path / "home"
    install_extension(site, "stream", STREAM.replace("def finalize", "def finalise"))
    add_settings(make_home(home), stt='provider = "extension:stream"')
    run_beside(site, home, "extension", "allow", "stream")

    told = " ".join(run_beside(site, home, "doctor", "--all", "--offline").stdout.split())

    assert "[stt] provider: the stream of stream has no `finalize`" in told


class Stream:
    """A stranger's stream that can be told to fail."""

    def __init__(self, *, error: Exception | None = None, blocks: bool = False) -> None:
        self.heard = b""
        self.events: list[str] = []
        self._error = error
        self._blocks = blocks
        self.is_blocked, self.released = threading.Event(), threading.Event()

    def begin(
        self, on_result: Callable[[TranscriptionResult], None], *, on_trouble: Callable[[str], None] | None = None
    ) -> None:
        self._tell = on_result

    def feed(self, pcm: bytes) -> None:
        if self._blocks:
            self.is_blocked.set()
            self.released.wait(3)
        self.heard += pcm
        if self._error is not None:
            raise self._error

    def finalize(self) -> None:
        self._tell("no result")  # type: ignore[arg-type]
        self._tell(TranscriptionResult(f"{len(self.heard)} bytes", True, 0.0, 1.0))

    def unheard(self) -> bytes:
        return self.heard

    async def finish(self) -> None:
        self.events.append("finish")

    async def stop(self) -> None:
        self.events.append("stop")


async def test_what_a_stream_tells_comes_back_in_order_and_it_is_ended() -> None:
    """What is no result is left out; all sound is given before the end."""
    stream, told = Stream(), list[str]()
    kept_apart = ExtensionStream(stream, "tea")

    kept_apart.begin(lambda result: told.append(result.text))
    kept_apart.feed(b"1234")
    kept_apart.finalize()
    await until(lambda: told == ["4 bytes"])
    kept_apart.feed(b"56")
    await kept_apart.finish()

    assert (stream.heard, stream.events) == (b"123456", ["finish", "stop"])


@pytest.mark.parametrize(
    ("error", "says", "is_final"),
    [
        (KeyError("x"), "the extension tea failed: KeyError", False),
        (SpeechServiceError("Tea asks for payment.", is_final=True), "Tea asks for payment.", True),
    ],
)
async def test_a_stream_that_fails_is_told_once_and_gives_back_what_it_had(
    error: Exception, says: str, is_final: bool
) -> None:
    """The next feed raises, so that another stream is opened with what was not understood."""
    troubles: list[str] = []
    kept_apart = ExtensionStream(Stream(error=error), "tea")
    kept_apart.begin(lambda _: None, on_trouble=troubles.append)
    kept_apart.feed(b"1234")
    await until(lambda: bool(troubles))

    with pytest.raises(RuntimeError, match=says) as raised:
        kept_apart.feed(b"56")
    await kept_apart.stop()

    assert says in troubles[0]
    assert len(troubles) == 1
    assert kept_apart.unheard() == b"1234"
    assert getattr(raised.value, "is_final", False) is is_final


async def test_a_stream_that_blocks_holds_up_nobody() -> None:
    """It has a loop of its own: others go on while it hangs."""
    stream = Stream(blocks=True)
    kept_apart = ExtensionStream(stream, "tea")
    kept_apart.begin(lambda _: None)
    kept_apart.feed(b"1234")
    await until(lambda: stream.is_blocked.is_set())
    had_heard = stream.heard
    stream.released.set()
    await until(lambda: stream.heard == b"1234")
    await kept_apart.stop()

    assert had_heard == b""


async def test_a_strangers_voice_is_loaded_and_closed_where_it_can_be() -> None:
    """As ours are: on its own loop, and a close that fails costs nothing."""
    done: list[str] = []

    class Voice:
        sample_rate = 16_000

        async def synthesize(self, text: str) -> TTSResult:
            return TTSResult(b"12")

        async def load(self) -> None:
            done.append("load")

        async def aclose(self) -> None:
            done.append("aclose")
            raise KeyError("never open")

    voice = ExtensionSynthesizer(Voice(), ExtensionThread("tea"))
    await voice.load()
    await voice.aclose()

    assert done == ["load", "aclose"]
