"""For voices: what makes words of speech, and speech of words. Chosen by `provider` under [stt] and [tts].

A name is loaded when it is first asked for, so that whoever says what an extension brings loads no client of a service.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from familiar_connect.support.lazy_names import load_lazily

if TYPE_CHECKING:
    from familiar_connect.extensions.turn_parts import RecognizerPart, SynthesizerPart
    from familiar_connect.voice.clarity import join_clear_pieces
    from familiar_connect.voice.protocols import (
        HEARING_RATE,
        SpeechRecognizer,
        SpeechSynthesizer,
        StreamingTranscriber,
    )
    from familiar_connect.voice.sound_answer import SERVICE_RATE, encode_wav, read_samples, read_speech
    from familiar_connect.voice.speech_context import RemoteService, SpeechContext
    from familiar_connect.voice.speech_service import (
        ServiceAnswer,
        ServiceCalls,
        SpeechService,
        SpeechServiceError,
        check_speech_length,
    )
    from familiar_connect.voice.types import TranscriptionResult, TTSResult, WordTimestamp
    from familiar_connect.voice.websocket import ServiceSockets, WebSocket, WebSocketClosedError

__all__ = [
    "HEARING_RATE",
    "SERVICE_RATE",
    "RecognizerPart",
    "RemoteService",
    "ServiceAnswer",
    "ServiceCalls",
    "ServiceSockets",
    "SpeechContext",
    "SpeechRecognizer",
    "SpeechService",
    "SpeechServiceError",
    "SpeechSynthesizer",
    "StreamingTranscriber",
    "SynthesizerPart",
    "TTSResult",
    "TranscriptionResult",
    "WebSocket",
    "WebSocketClosedError",
    "WordTimestamp",
    "check_speech_length",
    "encode_wav",
    "join_clear_pieces",
    "read_samples",
    "read_speech",
]

__getattr__ = load_lazily(
    __name__,
    {
        "extensions.turn_parts": ("RecognizerPart", "SynthesizerPart"),
        "voice.clarity": ("join_clear_pieces",),
        "voice.protocols": ("HEARING_RATE", "SpeechRecognizer", "SpeechSynthesizer", "StreamingTranscriber"),
        "voice.sound_answer": ("SERVICE_RATE", "encode_wav", "read_samples", "read_speech"),
        "voice.speech_context": ("RemoteService", "SpeechContext"),
        "voice.speech_service": (
            "ServiceAnswer",
            "ServiceCalls",
            "SpeechService",
            "SpeechServiceError",
            "check_speech_length",
        ),
        "voice.types": ("TTSResult", "TranscriptionResult", "WordTimestamp"),
        "voice.websocket": ("ServiceSockets", "WebSocket", "WebSocketClosedError"),
    },
)
