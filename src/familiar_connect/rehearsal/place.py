"""RehearsalPlace: one place of a rehearsal as the familiar meets it; what is said stands as its platform posts it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from familiar_connect.chat.place import Place, PlaceFeatures, ReplyTarget, TextMarks
from familiar_connect.chat.scene import ChannelContext, ChannelRef, Member, Scene
from familiar_connect.chat.types import InboundMessage, ListedUser
from familiar_connect.errors import SetupError
from familiar_connect.extensions.load import find_platform
from familiar_connect.familiar import Familiar
from familiar_connect.history.stored_messages import StoredMessages
from familiar_connect.identity import Author
from familiar_connect.rehearsal.models import TURN
from familiar_connect.rehearsal.platforms import TERMINAL
from familiar_connect.rehearsal.types import OWNER, PlaceSetup
from familiar_connect.rehearsal.world import Notice, RehearsalWorld
from familiar_connect.support.aio import off_loop
from familiar_connect.support.text import printable

MESSAGE_LIMIT = 100_000
"""Characters of one message, at the terminal."""
MAX_SPEAKERS = 30


class RehearsalPlace(Place):
    """One place as the familiar meets it; such as the terminal is, which shows what it is given."""

    def __init__(self, world: RehearsalWorld, setup: PlaceSetup, familiar: Familiar) -> None:
        self._world = world
        self._setup = setup
        self._familiar = familiar

    @property
    def features(self) -> PlaceFeatures:
        return PlaceFeatures(limit=MESSAGE_LIMIT)

    async def why_not_writable(self) -> str | None:
        """Never closed. It is asked as a reply begins, so that all that follows is known to belong to that reply."""
        TURN.set(self._world.begin_turn(self._setup.key))
        return None

    async def send(self, text: str) -> None:
        self._world.add_piece(self._setup.key, self._as_posted(text))

    def _as_posted(self, text: str) -> str:
        """*text* as people see it here."""
        return printable(text)

    async def notice(self, text: str) -> None:
        self._world.notices.append(Notice(self._setup.key, text))

    async def recent(self, limit: int) -> Sequence[InboundMessage]:
        """The stored messages, each with what the platform shows of it now."""
        stored = StoredMessages(
            self._familiar.history_store,
            self._familiar.id,
            self._setup.channel_id,
            platform=self._setup.platform,
            me=self._me,
        )
        return [self._world.as_shown(self._setup.key, message) for message in await stored.recent(limit)]

    async def scene(self) -> Scene:
        if self._setup.scene is not None:
            return self._setup.scene
        spoke = await off_loop(
            self._familiar.history_store.recent_distinct_authors,
            familiar_id=self._familiar.id,
            channel_id=self._setup.channel_id,
            limit=MAX_SPEAKERS,
        )
        speakers = tuple(spoke)
        here = self.channel_context
        network = self._world.network_of(self._setup.key)
        if self._setup.is_dm or network is None:
            return await self._small_scene(here, speakers)
        scene = Scene(
            server_name=self._setup.server_name,
            server_id=self._setup.server_id,
            channel=here,
            channel_topic=self._setup.topic,
            participants=speakers,
            members=tuple(Member(author=author) for author in speakers),
            channels=self._channels(),
            is_hidden=True,
            me=self._me,
            own_name=self._me.label,
        )
        if self._setup.server_id is None:
            return replace(scene, is_hidden=False)
        return await network.look(scene, self._setup.channel_id)

    async def _small_scene(self, here: ChannelContext, speakers: tuple[Author, ...]) -> Scene:
        """The scene of a direct message, or of a platform that shows little."""
        world, key = self._world, self._setup.key
        scene = replace(
            await self._plain_scene(),
            channel=here,
            participants=speakers or self._listeners(),
            me=self._me,
            own_name=self._me.label,
        )
        people = world.members_of(key)
        if not self._setup.is_dm or self._setup.platform == TERMINAL or not people:
            return scene
        scene, network = replace(scene, is_dm=True), world.network_of(key)
        if network is not None:
            scene = await network.look(scene, self._setup.channel_id, [world.servers.person(each) for each in people])
        return replace(scene, reader_keys=frozenset(world.author(person, key).canonical_key for person in people))

    async def _plain_scene(self) -> Scene:
        """What the platform itself says of every place."""
        return Scene()

    @property
    def channel_context(self) -> ChannelContext:
        setup = self._setup
        if setup.is_dm and self._world.network_of(setup.key) is not None:
            listeners = self._listeners()
            return ChannelContext(listeners[0].label if listeners else setup.name, setup.kind)
        parent = self._world.rehearsal.places.get(setup.parent or "")
        return ChannelContext(setup.name, setup.kind, parent.name if parent is not None else setup.parent)

    @property
    def _me(self) -> Author:
        return self._world.me(self._setup.platform, self._familiar.name)

    def _listeners(self) -> tuple[Author, ...]:
        """Who reads here, the owner last."""
        members = sorted(self._world.members_of(self._setup.key), key=lambda person: person == OWNER)
        return tuple(self._world.author(person, self._setup.key) for person in members)

    def _server(self) -> list[PlaceSetup]:
        places = self._world.rehearsal.places.values()
        return [place for place in places if place.server_id == self._setup.server_id and not place.is_dm]

    def _channels(self) -> tuple[ChannelRef, ...]:
        ids = {key: place.channel_id for key, place in self._world.rehearsal.places.items()}
        return tuple(
            ChannelRef(channel_id=each.channel_id, name=each.name, parent_id=ids.get(each.parent or ""))
            for each in self._server()
        )


class BuiltInRehearsalPlace(RehearsalPlace):
    """A place of a platform that comes as an extension: its own place posts, and what it posts is shown here."""

    def __init__(self, world: RehearsalWorld, setup: PlaceSetup, familiar: Familiar) -> None:
        super().__init__(world, setup, familiar)
        self._place = _place_of(setup, super().send)

    @property
    def features(self) -> PlaceFeatures:
        shown = self._place.features
        return PlaceFeatures(limit=shown.limit, posts_answers=shown.posts_answers)

    def text_marks(self, users: Sequence[ListedUser]) -> TextMarks | None:
        return self._place.text_marks(users)

    async def send(self, text: str) -> None:
        await self._place.send(text)

    async def post_answer(self, text: str, *, target: ReplyTarget | None = None) -> str | None:
        await self._place.post_answer(text)
        return None

    def _as_posted(self, text: str) -> str:
        return text

    async def _plain_scene(self) -> Scene:
        return await self._place.scene()


def _place_of(setup: PlaceSetup, post: Callable[[str], Awaitable[None]]) -> Place:
    rehearse = find_platform(setup.platform).rehearse
    if rehearse is None:
        raise SetupError(f"{setup.platform} cannot be rehearsed")
    return rehearse(setup.name, post)


def rehearsal_place(world: RehearsalWorld, setup: PlaceSetup, familiar: Familiar) -> RehearsalPlace:
    """The place *setup* as its platform shows it."""
    kind = RehearsalPlace if setup.platform == TERMINAL else BuiltInRehearsalPlace
    return kind(world, setup, familiar)
