"""Where `DeepgramTranscriber` was promised to be; it lives in its extension, which is loaded when it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from familiar_connect.config.built_in import load_built_in_module
from familiar_connect.config.secrets import read_secret
from familiar_connect.voice.promised_clients import find_client


def create_transcriber_from_env(get: Callable[[str], str | None] = read_secret, **settings: Any) -> Any:
    """A transcriber with the key and the settings of the environment, which *get* reads."""
    return load_built_in_module("voice_deepgram", "stream").create_transcriber(get, **settings)


def __getattr__(name: str) -> object:
    return find_client("deepgram", "stream", name, ("DeepgramTranscriber",))
