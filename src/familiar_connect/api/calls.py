"""For networks with voice channels: the familiar in one, what it hears and speaks with, and sound at another rate."""

from __future__ import annotations

from familiar_connect.extensions.hosts.call_host import CallHost, CallVoice
from familiar_connect.voice.audio import duration_s, mono_to_stereo, resample
from familiar_connect.voice.session import SessionWatcher, VoiceChannel, VoiceSession
from familiar_connect.voice.wav import SoundFileError, read_wav, write_wav

__all__ = [
    "CallHost",
    "CallVoice",
    "SessionWatcher",
    "SoundFileError",
    "VoiceChannel",
    "VoiceSession",
    "duration_s",
    "mono_to_stereo",
    "read_wav",
    "resample",
    "write_wav",
]
