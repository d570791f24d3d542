"""PlacePages: channels of the platforms by their names, and who the person at the page is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from familiar_connect.audience import AudienceKind
from familiar_connect.conversation.channels import KeptChannel
from familiar_connect.errors import HomeError
from familiar_connect.familiar import Familiar
from familiar_connect.memory.maintenance.field_merge import form_state, merge_fields, read_form_state
from familiar_connect.platforms.terminal.place import CHANNEL_ID
from familiar_connect.platforms.web.chats import PAGE_SIZE, WebChats
from familiar_connect.platforms.web.live import TOO_MANY_PAGES, format_event
from familiar_connect.platforms.web.message_fragments import MessageFragments
from familiar_connect.platforms.web.render import (
    PageRenderer,
    answer_json,
    make_routes,
    read_form,
    read_number,
    redirect,
    stream_events,
)
from familiar_connect.support.aio import off_loop

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute

LOOK_EVERY_S = 0.5
"""How often it is looked whether something was said in a channel that somebody shows."""
MOST_PLACES = 12
"""Places on the left side, the one talked in last first."""
PEOPLE_NAMED = 3


@dataclass(frozen=True)
class OtherPlace:
    """A channel the familiar was talked to in, elsewhere than here."""

    channel_id: int
    name: str
    """What it is called; where nobody knows that, its platform and the people in it."""
    is_private: bool
    platform: str
    """The id of its platform; empty where nobody has spoken there."""
    where: str
    """Its platform and server, for people."""

    @property
    def platform_name(self) -> str:
        return self.platform.capitalize() or "Elsewhere"


class OtherPlaces:
    """Where else the familiar is."""

    def __init__(self, familiar: Familiar) -> None:
        self._familiar = familiar

    def all(self) -> list[OtherPlace]:
        """The places talked in last."""
        familiar = self._familiar
        ours = {chat.channel_id for chat in familiar.stores.chats.all(CHANNEL_ID)}
        found = familiar.history_store.distinct_other_channels(familiar_id=familiar.id, exclude_channel_id=CHANNEL_ID)
        names = familiar.labels.read_channels()
        others = [each.channel_id for each in found if each.channel_id not in ours]
        others = [each for each in others if not familiar.stores.chats.is_deleted(each)][:MOST_PLACES]
        return [self._named(channel_id, names.get(channel_id)) for channel_id in others]

    def require(self, channel_id: int) -> OtherPlace:
        found = next((place for place in self.all() if place.channel_id == channel_id), None)
        if found is None:
            raise HomeError("there is no such place, or others were talked in since; choose one on the left")
        return found

    def _named(self, channel_id: int, kept: KeptChannel | None) -> OtherPlace:
        history, of = self._familiar.history_store, self._familiar.id
        people = history.recent_distinct_authors(familiar_id=of, channel_id=channel_id, limit=PEOPLE_NAMED)
        audience = history.channel_audience(familiar_id=of, channel_id=channel_id)
        platform = people[0].platform if people else ""
        shown = platform.capitalize() or "Elsewhere"
        names = ", ".join(person.label for person in people)
        is_private = audience is not None and audience.kind in (AudienceKind.PEOPLE, AudienceKind.OWNER)
        if kept is not None:
            where = f"{shown} · {kept.server}" if kept.server else shown
            return OtherPlace(channel_id, kept.label, is_private, platform, where)
        return OtherPlace(channel_id, f"{shown} · {names}" if names else shown, is_private, platform, shown)


class PlacePages:
    """The routes under `/places`, and `/you`."""

    def __init__(
        self,
        places: OtherPlaces,
        chats: WebChats,
        renderer: PageRenderer,
        can_reach: Callable[[OtherPlace], bool],
    ) -> None:
        """*can_reach* says whether one can take part in a channel from here."""
        self._can_reach = can_reach
        self._places = places
        self._chats = chats
        self._renderer = renderer
        self._drawn = MessageFragments(chats, renderer, is_read_only=True)
        self._watches: set[int] = set()
        """Channels that are looked at now and then, because somebody shows them."""

    def routes(self) -> list[BaseRoute]:
        handlers = (
            ("/places/{id:number}", self.show, "GET"),
            ("/places/{id:number}/messages", self.list_messages, "GET"),
            ("/places/{id:number}/events", self.stream, "GET"),
            ("/you", self.show_person, "GET"),
            ("/you", self.change_person, "POST"),
        )
        return make_routes(handlers, self._renderer)

    async def show(self, request: Request) -> Response:
        """What was said there, and what can be said there from here."""
        return await off_loop(self._show, request.path_params["id"])

    def _show(self, channel_id: int) -> Response:
        place = self._places.require(channel_id)
        messages = self._chats.messages(channel_id)
        return self._renderer.page(
            "place.html",
            title=place.name,
            here=place,
            messages=messages,
            may_be_more=len(messages) == PAGE_SIZE,
            is_live=self._can_reach(place),
        )

    async def list_messages(self, request: Request) -> Response:
        """Earlier or later messages, as a piece of the page."""
        place = await off_loop(self._places.require, request.path_params["id"])
        before, after = (read_number(request, name) for name in ("before", "after"))
        found = await off_loop(self._chats.messages, place.channel_id, before=before, after=after)
        return await off_loop(self._renderer.page, "messages.html", here=place, messages=found, is_read_only=True)

    async def stream(self, request: Request) -> Response:
        """What is said there, as server-sent events; it may be another program that hears it."""
        place = await off_loop(self._places.require, request.path_params["id"])
        if self._chats.events.is_full:
            return answer_json({"problem": TOO_MANY_PAGES}, status=503)
        latest = await off_loop(self._chats.latest_id, place.channel_id)
        self._drawn.begin(place.channel_id, latest)
        return stream_events(self._listen(place, latest))

    async def _listen(self, place: OtherPlace, latest: int) -> AsyncIterator[str]:
        events, channel_id = self._chats.events, place.channel_id
        first = partial(format_event, "state", {"latest": latest})
        async for text in events.listen(channel_id, first, partial(self._drawn.draw, place)):
            if channel_id not in self._watches:
                self._watches.add(channel_id)
                events.start_task(self._watch(channel_id, latest), name=f"watch-{channel_id}")
            yield text

    async def _watch(self, channel_id: int, known: int) -> None:
        """Look for new messages, once for all pages of the channel, as long as there are any."""
        events = self._chats.events
        try:
            while events.has_pages(channel_id):
                latest = await off_loop(self._chats.latest_id, channel_id)
                if latest != known:
                    known = latest
                    await self._chats.wait_until_kept()
                    events.publish_new(channel_id)
                await asyncio.sleep(LOOK_EVERY_S)
        finally:
            self._watches.discard(channel_id)

    async def show_person(self, request: Request) -> Response:
        return await off_loop(self._show_person, self._person(), ())

    def _person(self) -> dict[str, str]:
        return {"name": self._chats.own_name(), "persona": self._chats.persona()}

    def _show_person(self, fields: dict[str, str], clashes: Sequence[str]) -> Response:
        there = self._person()
        return self._renderer.page(
            "you.html",
            status=409 if clashes else 200,
            title="You",
            persona=fields["persona"],
            called=fields["name"],
            was=form_state(there),
            clashes={each: there[each] for each in clashes},
            own_picture=self._chats.person_pictures.url_of(""),
        )

    async def change_person(self, request: Request) -> Response:
        return await off_loop(self._change_person, await read_form(request))

    def _change_person(self, form: dict[str, str]) -> Response:
        there = self._person()
        mine = {each: form.get(each, "").strip() for each in there}
        merged = merge_fields(read_form_state(form.get("was", "")) or there, mine, there)
        if merged.conflicts:
            return self._show_person(merged.fields, merged.conflicts)
        self._chats.change_person(merged.fields["name"], merged.fields["persona"])
        return redirect("/")
