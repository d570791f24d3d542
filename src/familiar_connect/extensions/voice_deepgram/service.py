"""Where Deepgram is, and with which key."""

from __future__ import annotations

from familiar_connect.api.speech import RemoteService
from familiar_connect.extensions.voice_deepgram.secrets import KEY

SERVICE = RemoteService(title="Deepgram", key=KEY, address="https://api.deepgram.com/v1")
