"""CallHost: voice channels, as far as the familiar has a part in them: what it hears and speaks with, and its talk."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.familiar import Familiar
from familiar_connect.subscriptions import SubscriptionKind
from familiar_connect.support.aio import off_loop
from familiar_connect.voice.backends import VoiceBackends, libraries_for
from familiar_connect.voice.protocols import AudioOut, EarsFactory, SpeechSynthesizer
from familiar_connect.voice.service_access import ServiceAccess
from familiar_connect.voice.session import SessionWatcher, VoiceChannel, VoiceSession

OpenSpeech = Callable[[], ServiceAccess]
"""Opens the speech services that the familiar's settings may name."""


async def _close_nothing() -> None:
    """For what holds nothing open."""


@dataclass(frozen=True, kw_only=True)
class CallVoice:
    """What hears and what speaks in voice channels; made when one is joined first, and closed with the platform."""

    ears: EarsFactory
    synthesizer: SpeechSynthesizer
    aclose: Callable[[], Awaitable[None]] = _close_nothing


class CallHost:
    """What a platform with voice channels may do with the familiar. A channel is a number, as in `ServerHost`."""

    def __init__(self, familiar: Familiar, open_speech: OpenSpeech | None = None) -> None:
        self._familiar = familiar
        self._open_speech = open_speech or self._open_own_speech

    @property
    def libraries(self) -> tuple[str, ...]:
        """The modules that hearing and speaking take with the familiar's settings, besides the platform's own."""
        return libraries_for(self._familiar.config, self._open_own_speech())

    @property
    def greetings(self) -> Sequence[str]:
        """What it says of its own accord when it comes; one of them, if there are any."""
        return self._familiar.config.tts.greetings

    def make_voice(self) -> CallVoice:
        """Hearing and speaking as the settings say; what they lack is a `SetupError`. Takes a while: by `off_loop`."""
        backends = VoiceBackends(self._familiar.config, self._open_speech())
        return CallVoice(ears=backends.make_ears, synthesizer=backends.synthesizer, aclose=backends.aclose)

    def open_session(
        self,
        voice: CallVoice,
        out: AudioOut,
        channel: VoiceChannel,
        *,
        show: Callable[[str], None],
        watcher: SessionWatcher | None = None,
    ) -> VoiceSession:
        """The familiar in a voice channel: it is fed what people say and speaks through *out*.

        *show* is given what can only be read: notices, trouble, and sentences that could not be spoken. *watcher* is
        told what is heard and said as it happens.
        """
        return VoiceSession(self._familiar, voice.ears, voice.synthesizer, out, channel, show=show, watcher=watcher)

    def _open_own_speech(self) -> ServiceAccess:
        """The speech services without those that extensions bring."""
        return ServiceAccess.of_home(FamiliarFolder(self._familiar.root).home.root)

    def find_subscribed(self, server_id: int) -> int | None:
        """The voice channel of a server that the familiar was asked into; None: into none."""
        known = self._familiar.subscriptions.voice_in_guild(server_id)
        return known.channel_id if known is not None else None

    async def subscribe(self, channel_id: int, server_id: int) -> None:
        """The familiar was asked into a voice channel, and comes again after the next start."""
        await off_loop(
            self._familiar.subscriptions.add, channel_id=channel_id, kind=SubscriptionKind.voice, guild_id=server_id
        )

    async def unsubscribe(self, channel_id: int) -> None:
        """The familiar was sent out of a voice channel: nothing of it waits for an answer any more."""
        self._familiar.monitor.clear_channel(channel_id)
        await off_loop(self._familiar.subscriptions.remove, channel_id=channel_id, kind=SubscriptionKind.voice)
