"""Voice messages are decoded apart and listened to by the recogniser that comes along."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from familiar_connect.config.voice import STTConfig
from familiar_connect.voice.audio import duration_s, resample
from familiar_connect.voice.protocols import HEARING_RATE
from familiar_connect.voice.service_access import ServiceAccess
from familiar_connect.voice.stt.voice_messages import decode_recording, find_transcriber
from tests.fakes.familiar_on_discord import familiar_on_discord
from tests.fakes.speech_server import SpeechServer, object_answer
from tests.fakes.spoken_words import Speaker
from tests.fakes.waiting import until

pytestmark = pytest.mark.process

av = pytest.importorskip("av", reason="voice is an extra: `python3 run.py --with voice voice -h` brings it")
VOICE_MESSAGE_FLAG = 1 << 13


async def record_voice_message(text: str) -> bytes:
    """*text* as Discord's clients send it: Opus in Ogg."""
    import numpy as np

    voice = Speaker()
    pcm = resample((await voice.synthesize(text)).audio, voice.sample_rate, 48_000)
    file = io.BytesIO()
    with av.open(file, mode="w", format="ogg") as container:
        stream = container.add_stream("libopus", rate=48_000)
        stream.layout = "mono"
        samples = np.frombuffer(pcm, dtype="<i2").reshape(1, -1)
        frame = av.AudioFrame.from_ndarray(samples, format="s16", layout="mono")
        frame.rate = 48_000
        for packet in [*stream.encode(frame), *stream.encode(None)]:
            container.mux(packet)
    return file.getvalue()


@pytest.mark.slow
async def test_what_is_said_in_a_voice_message_reaches_the_model(tmp_path: Path) -> None:
    """Through Discord's library, with real sound and the real recogniser."""
    sound = await record_voice_message("The kettle is on, and the biscuits are ready.")
    ears = find_transcriber()
    assert ears is not None
    assert "biscuits" in (await ears.transcribe(sound, "audio/ogg")).lower()  # loads the model, which takes its time
    async with familiar_on_discord(tmp_path, lambda messages: "Lovely.", transcriber=ears) as den:
        spoken = den.server.attachment("voice-message.ogg", sound, "audio/ogg", duration_secs=3.0, waveform="AA")
        await den.server.post(den.room, den.ada, "", attachments=[spoken], flags=VOICE_MESSAGE_FLAG)
        await until(lambda: len(den.history()) == 1)
        await den.mention("did you hear?")
        await den.server.until_replied(den.room)
        shown = "\n".join(message.content for message in den.model.calls[0])
    assert "this was a voice message of Ada (0:03)" in shown
    assert "kettle is on" in shown.lower()


async def test_a_voice_message_is_listened_to_by_the_service_that_the_settings_name(tmp_path: Path) -> None:
    """Decoded here, recognised there; without what the service needs nobody listens, and nothing else fails."""
    sound = await record_voice_message("The kettle is on.")
    async with SpeechServer([object_answer({"text": "The kettle is on."})]) as server:
        config = STTConfig(provider="openai", base_url=f"{server.base_url}/v1")
        ears = find_transcriber(config, ServiceAccess.of_home(tmp_path))
        assert ears is not None
        assert await ears.transcribe(sound, "audio/ogg") == "The kettle is on."
    assert b"RIFF" in server.calls[0].body
    assert find_transcriber(STTConfig(provider="deepgram"), ServiceAccess.of_home(tmp_path)) is None


async def test_any_sound_is_decoded_to_the_rate_of_hearing() -> None:
    """Its length stays."""
    pcm = decode_recording(await record_voice_message("One two three four."))
    assert 0.8 < duration_s(pcm, HEARING_RATE) < 4


@pytest.mark.parametrize("data", [b"", b"OggS no sound at all", bytes(100_000), b"<svg onload=x>"])
def test_what_is_no_sound_is_refused(data: bytes) -> None:
    """In the child, with a sentence."""
    with pytest.raises(ValueError, match="a recording"):
        decode_recording(data)
