"""The recogniser, and the ears, that a familiar's settings name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from familiar_connect.config.voice import STTConfig
from familiar_connect.voice.built_in_voices import find_hearing
from familiar_connect.voice.protocols import EarsFactory, SpeechProbability, SpeechRecognizer, StreamingTranscriber
from familiar_connect.voice.service_access import ServiceAccess


def create_recognizer(config: STTConfig, *, access: ServiceAccess | None = None) -> SpeechRecognizer:
    """Makes words of whole stretches of speech as *config* says; a key that is missing is a ValueError naming it."""
    access = access or ServiceAccess.of_home()
    if config.is_extension:
        return access.added.create_recognizer(config)
    return find_hearing(config.provider).create(access.open_context(config), "")


def create_ears_factory(
    config: STTConfig,
    recognizer: SpeechRecognizer,
    make_probability: Callable[[], SpeechProbability],
    *,
    access: ServiceAccess | None = None,
) -> EarsFactory:
    """Makes the ears of one voice channel: streams where the provider has them, else stretches to *recognizer*."""
    make_stream = _find_streams(config, access or ServiceAccess.of_home())
    if make_stream is None:
        from familiar_connect.voice.hearing import Hearing

        return lambda callbacks: Hearing(recognizer, make_probability, callbacks)
    from familiar_connect.voice.stt.streamed_hearing import StreamedHearing

    make_stream()  # a setting that is wrong is said now, not when somebody speaks
    return lambda callbacks: StreamedHearing(make_stream, make_probability, callbacks)


def _find_streams(config: STTConfig, access: ServiceAccess) -> Callable[[], StreamingTranscriber] | None:
    if config.is_extension:
        return access.added.find_streams(config)
    create = find_hearing(config.provider).create_stream
    return partial(create, access.open_context(config), "") if create is not None else None
