"""PlaceReaders: who can read a place now, from what its platform shows, the settings and who the owner is.

OwnerContact: who the owner is, and how to reach them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from familiar_connect.audience import (
    EVERYONE,
    OWNER,
    STRICT,
    Audience,
    AudienceKind,
    Confidence,
    DisclosurePolicy,
    Readers,
    RuledChannel,
    between,
    hidden_channel,
    sealed_chat,
    whole_server,
)
from familiar_connect.channel_config import ChannelConfigStore
from familiar_connect.chat.scene import ChannelKind, Scene
from familiar_connect.chat.types import InboundMessage
from familiar_connect.config.types import PlaceSettings
from familiar_connect.errors import ConfigError
from familiar_connect.history.store import HistoryStore
from familiar_connect.identity import EVERYTHING_ALLOWED, LOCAL_PLATFORMS, Author, Privacy

IsOwner = Callable[[Author], bool]
TellOwner = Callable[[str], Awaitable[None]]


@dataclass(frozen=True)
class _Channel:
    """What one platform knows of the owner."""

    is_owner: IsOwner | None
    tell: TellOwner | None


class OwnerContact:
    """Each platform connects while it runs and says whom it takes for the owner and how to write to them."""

    def __init__(self) -> None:
        self._channels: list[_Channel] = []

    @contextmanager
    def connect(self, *, is_owner: IsOwner | None = None, tell: TellOwner | None = None) -> Iterator[None]:
        """Know the owner by *is_owner* too, and reach them by *tell*, while this is open."""
        channel = _Channel(is_owner, tell)
        self._channels.append(channel)
        try:
            yield
        finally:
            self._channels = [each for each in self._channels if each is not channel]

    def is_owner(self, author: Author) -> bool:
        """Whether some platform takes *author* for the owner."""
        return any(channel.is_owner is not None and channel.is_owner(author) for channel in self._channels)

    @property
    def is_reachable(self) -> bool:
        """Whether some platform can write to the owner now."""
        return any(channel.tell is not None for channel in self._channels)

    async def tell(self, sentence: str) -> bool:
        """Tell the owner by the first way that was connected; False: there is none."""
        tell = next((channel.tell for channel in self._channels if channel.tell is not None), None)
        if tell is None:
            return False
        await tell(sentence)
        return True


_SERVER_KINDS = frozenset({AudienceKind.SERVER, AudienceKind.CHANNEL})


@dataclass(frozen=True, kw_only=True)
class PlaceFacts:
    """What is known of a place whatever its platform can show."""

    platform: str
    channel_id: int
    guild_id: int | None = None
    speaker: Author | None = None
    is_dm: bool = False
    is_owner: bool = False
    """Whether *speaker* is the owner."""
    private_channel_ids: Collection[int] = field(default_factory=frozenset)
    """Channels, and channels' parents, that the owner calls private."""
    is_sealed: bool = False
    """Whether the owner sealed it: see `audience.sealed_chat`."""
    share_targets: Collection[str] = ()
    """Where the owner lets this place's talk be told as well, as `audience.parse_share_target` writes it."""


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
        linked: Callable[[], frozenset[frozenset[str]]] = frozenset,
    ) -> None:
        """*linked* gives the keys of each person who is known on several networks, as of now."""
        self.privacy = privacy
        self._linked = linked
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
                is_sealed=self._settings(channel_id).sealed,
                share_targets=self._settings(channel_id).shares_with,
            ),
        )

    def policy_for(self, settings: PlaceSettings) -> DisclosurePolicy:
        """How far what was heard may travel to a place with these settings."""
        known = self._policy.known_everywhere | self.privacy.everywhere_keys()
        confidence = self._policy.confidence
        if settings.private_channels_bypass and confidence is Confidence.strict:
            confidence = Confidence.server
        return replace(self._policy, confidence=confidence, known_everywhere=known, linked=self._linked())

    def _settings(self, channel_id: int) -> PlaceSettings:
        """The channel's settings; one whose file cannot be read shares nothing."""
        try:
            return self._channels.get(channel_id=channel_id).place if self._channels is not None else PlaceSettings()
        except ConfigError:
            return PlaceSettings()


def readers_of_place(scene: Scene | None, facts: PlaceFacts) -> Readers:
    """Who can read a place now. What *scene* cannot say, or no scene at all, makes the circle smaller, never wider."""
    audience = _audience(scene, facts)
    return Readers(
        audience.with_targets(facts.share_targets),
        platform=facts.platform,
        channel_id=facts.channel_id,
        server_id=_server(scene, facts),
        speaker=facts.speaker.canonical_key if facts.speaker is not None else "",
        channels=_channels(scene, facts.platform) if scene is not None else frozenset(),
        servers=scene.reader_server_ids if scene is not None else frozenset(),
    )


def _channels(scene: Scene, platform: str) -> frozenset[RuledChannel]:
    return scene.reader_channels | {RuledChannel(platform, each) for each in scene.reader_channel_ids}


def _audience(scene: Scene | None, facts: PlaceFacts) -> Audience:
    if facts.platform in LOCAL_PLATFORMS:
        return sealed_chat(facts.platform, facts.channel_id) if facts.is_sealed else OWNER
    kind = scene.channel.kind if scene is not None and scene.channel is not None else None
    server = _server(scene, facts)
    if kind is ChannelKind.group_dm:
        return hidden_channel(facts.platform, facts.channel_id)
    if facts.is_dm or kind is ChannelKind.dm or (scene is not None and scene.is_dm):
        return OWNER if facts.is_owner else between(_people(scene, facts)) if _people(scene, facts) else OWNER
    if is_hidden(scene, facts):
        # A channel that only the owner calls private has rules that let everybody in: they say nothing.
        rules = scene.rules if scene is not None and scene.is_hidden else ""
        return hidden_channel(facts.platform, facts.channel_id, server, rules)
    if server is not None:
        return (
            whole_server(facts.platform, server)
            if scene is not None
            else hidden_channel(facts.platform, facts.channel_id, server)
        )
    is_public = scene is not None and scene.is_public
    return EVERYONE if is_public else hidden_channel(facts.platform, facts.channel_id)


def is_hidden(scene: Scene | None, facts: PlaceFacts) -> bool:
    """Whether some people of the server cannot see the channel, its parent, or a private thread."""
    parent = None
    closed = set(facts.private_channel_ids)
    if scene is not None:
        if scene.is_hidden:
            return True
        parent = next((each.parent_id for each in scene.channels if each.channel_id == facts.channel_id), None)
        closed |= scene.private_channel_ids
    return not closed.isdisjoint({facts.channel_id, parent})


def _server(scene: Scene | None, facts: PlaceFacts) -> int | None:
    return facts.guild_id if facts.guild_id is not None else scene.server_id if scene is not None else None


def _people(scene: Scene | None, facts: PlaceFacts) -> frozenset[str]:
    if scene is not None and scene.reader_keys:
        return scene.reader_keys
    return frozenset({facts.speaker.canonical_key}) if facts.speaker is not None else frozenset()


def note_audience_change(
    history: HistoryStore, familiar_id: str, channel_id: int, now: Audience, before: Audience | None = None
) -> bool:
    """Whether a channel was hidden, opened or got other rules since it was last looked at.

    A channel that was hidden takes its old turns along. *before* is whom it was open to then; without it, whom its
    newest turn was said to.
    """
    if before is None:
        before = history.channel_audience(familiar_id=familiar_id, channel_id=channel_id)
    if before is None or not _may_change(before, now):
        return False
    history.change_audience(familiar_id=familiar_id, channel_id=channel_id, audience=now)
    return True


def _may_change(before: Audience, now: Audience) -> bool:
    """Whether what was said to *before* goes along when a place is read by *now*."""
    if before.is_sealed or now.is_sealed:
        return before.channel_key != now.channel_key
    are_rooms = {before.kind, now.kind} <= _SERVER_KINDS
    return are_rooms and (before.kind is not now.kind or before.rules != now.rules)


def find_audience(
    readers: PlaceReaders, history: HistoryStore, familiar_id: str, message: InboundMessage, scene: Scene | None
) -> Audience:
    """Those the message is said to. A channel that was hidden or opened meanwhile is noticed here."""
    here = readers.at(
        scene,
        channel_id=message.channel_id,
        guild_id=message.guild_id,
        author=message.author,
        is_dm=message.is_dm,
    )
    if scene is not None:  # one that could not be looked at was not hidden: its old turns stay as they are
        seen = history.channel_readers.now.get(message.channel_id)
        before = seen.audience if seen is not None else None
        note_audience_change(history, familiar_id, message.channel_id, here.audience, before)
        history.channel_readers.now.put(message.channel_id, here)
    if message.said_under and here.audience.kind in _SERVER_KINDS:
        then = hidden_channel(here.platform, message.channel_id, here.server_id, message.said_under)
        return then.with_targets(here.audience.also)
    return here.audience


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
