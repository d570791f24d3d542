"""PlaceTalkPages: the buttons of a channel in which one takes part."""

from __future__ import annotations

from typing import TYPE_CHECKING

from familiar_connect.errors import HomeError
from familiar_connect.platforms.web.place_pages import OtherPlace, OtherPlaces
from familiar_connect.platforms.web.place_talk import PlaceTalk
from familiar_connect.platforms.web.render import (
    PageRenderer,
    answer_json,
    is_script,
    make_routes,
    read_form,
    redirect,
)
from familiar_connect.support.aio import off_loop

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute


class PlaceTalkPages:
    """What can be done in a channel, under `/places/ID`."""

    def __init__(self, places: OtherPlaces, talk: PlaceTalk, renderer: PageRenderer) -> None:
        self._places = places
        self._talk = talk
        self._renderer = renderer

    def routes(self) -> list[BaseRoute]:
        handlers = (("/places/{id:number}/say", self.say, "POST"), ("/places/{id:number}/speak", self.speak, "POST"))
        return make_routes(handlers, self._renderer)

    async def say(self, request: Request) -> Response:
        """Words of the familiar's, written by its owner."""
        place = await self._require(request)
        await self._talk.say(place, (await read_form(request)).get("text", ""))
        return _back(request, place)

    async def speak(self, request: Request) -> Response:
        """The familiar speaks now: a form waits for it, a script sees it come."""
        place = await self._require(request)
        if is_script(request):
            self._talk.start_speaking(place)
        else:
            await self._talk.speak_now(place)
        return _back(request, place)

    async def _require(self, request: Request) -> OtherPlace:
        place = await off_loop(self._places.require, request.path_params["id"])
        if not self._talk.can_reach(place):
            raise HomeError(
                f"{place.platform_name} is not connected in this program: `familiar run --page` connects it"
            )
        return place


def _back(request: Request, place: OtherPlace) -> Response:
    return answer_json({"done": True}) if is_script(request) else redirect(f"/places/{place.channel_id}#end")
