"""PlaceReaders: who can read a place now, from its platform, its owner's settings and who the owner is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from familiar_connect.audience import OWNER, Audience, AudienceKind, Readers, hidden_channel
from familiar_connect.channel_config import ChannelConfigStore
from familiar_connect.chat.place_readers import PlaceFacts, readers_of_place
from familiar_connect.chat.scene import Scene
from familiar_connect.config.types import PlaceSettings
from familiar_connect.conversation.owner import OwnerContact
from familiar_connect.disclosure import STRICT, Confidence, DisclosurePolicy
from familiar_connect.errors import ConfigError
from familiar_connect.history.store import HistoryStore
from familiar_connect.identity import EVERYTHING_ALLOWED, LOCAL_PLATFORMS, Author, Privacy

_SERVER_KINDS = frozenset({AudienceKind.SERVER, AudienceKind.CHANNEL})


class PlaceReaders:
    """Answers who can read a place. Looked at anew whenever something is heard or about to be told."""

    def __init__(
        self,
        *,
        owner: OwnerContact | None = None,
        channels: ChannelConfigStore | None = None,
        private_channel_ids: Iterable[int] = (),
        policy: DisclosurePolicy = STRICT,
        privacy: Privacy = EVERYTHING_ALLOWED,
    ) -> None:
        self.privacy = privacy
        self._owner = owner or OwnerContact()
        self._channels = channels
        self._private = frozenset(private_channel_ids)
        self._policy = policy

    def is_owner(self, author: Author) -> bool:
        """Whether *author* is the owner; whoever sits at this computer is, and no other familiar there."""
        return (author.platform in LOCAL_PLATFORMS and not author.is_familiar) or self._owner.is_owner(author)

    def at(
        self,
        scene: Scene | None,
        *,
        channel_id: int,
        guild_id: int | None,
        author: Author | None,
        is_dm: bool = False,
    ) -> Readers:
        """Who can read the channel now, where *author* speaks. May read the channel's settings file."""
        platform = author.platform if author is not None else scene.me.platform if scene and scene.me else ""
        if not platform:
            return Readers(OWNER, channel_id=channel_id, server_id=guild_id)
        return readers_of_place(
            scene,
            PlaceFacts(
                platform=platform,
                channel_id=channel_id,
                guild_id=guild_id,
                speaker=author,
                is_dm=is_dm,
                is_owner=author is not None and self._owner.is_owner(author),
                private_channel_ids=self._private,
                share_targets=self._settings(channel_id).shares_with,
            ),
        )

    def policy_for(self, settings: PlaceSettings) -> DisclosurePolicy:
        """How far what was heard may travel to a place with these settings."""
        known = self._policy.known_everywhere | self.privacy.everywhere_keys()
        confidence = self._policy.confidence
        if settings.private_channels_bypass and confidence is Confidence.strict:
            confidence = Confidence.server
        return replace(self._policy, confidence=confidence, known_everywhere=known)

    def _settings(self, channel_id: int) -> PlaceSettings:
        """The channel's settings; one whose file cannot be read shares nothing."""
        try:
            return self._channels.get(channel_id=channel_id).place if self._channels is not None else PlaceSettings()
        except ConfigError:
            return PlaceSettings()


def note_audience_change(
    history: HistoryStore, familiar_id: str, channel_id: int, now: Audience, before: Audience | None = None
) -> bool:
    """Whether a channel was hidden, opened or got other rules since it was last looked at.

    A channel that was hidden takes its old turns along. *before* is whom it was open to then; without it, whom its
    newest turn was said to.
    """
    if before is None:
        before = history.channel_audience(familiar_id=familiar_id, channel_id=channel_id)
    if before is None or not {before.kind, now.kind} <= _SERVER_KINDS:
        return False
    if before.kind is now.kind and before.rules == now.rules:
        return False
    history.change_audience(familiar_id=familiar_id, channel_id=channel_id, audience=now)
    return True


def note_hidden_channels(history: HistoryStore, familiar_id: str, scene: Scene | None, here: Readers) -> None:
    """Let every channel that its server hides now take its old turns along, before anything is told here."""
    if scene is None:
        return
    rules = dict(scene.private_channel_rules)
    for channel_id in sorted(scene.private_channel_ids):
        before = history.channel_audience(familiar_id=familiar_id, channel_id=channel_id)
        if before is not None and before.kind is AudienceKind.SERVER:
            server = here.server_id if here.server_id is not None else before.id
            now = hidden_channel(here.platform, channel_id, server, rules.get(channel_id, ""))
            note_audience_change(history, familiar_id, channel_id, now)
