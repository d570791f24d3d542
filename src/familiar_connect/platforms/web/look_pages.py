"""LookPages: how the pages look in this browser: theme, size of the text, width of a chat, faces, background.

The choice is kept in a cookie, so that a phone may look otherwise than a desk, and it counts for every familiar. It
reaches the pages as one more style sheet, which is made of it: no script is needed, and no style stands in a page.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from familiar_connect.platforms.web.familiar_pictures import FamiliarPictures
from familiar_connect.platforms.web.render import PageRenderer, make_routes, read_form, redirect
from familiar_connect.support.aio import off_loop

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute

COOKIE = "familiar_look"
COOKIE_FOR_S = 365 * 24 * 3600
_SCHEMES = re.compile(r":root \{([^}]*)\}")


@dataclass(frozen=True, kw_only=True)
class PageLook:
    """What was chosen, by the words of CHOICES; the first of each is what is shown where nothing was."""

    theme: str = "system"
    text: str = "normal"
    width: str = "normal"
    faces: str = "round"
    background: str = "none"
    mood: str = "shown"


CHOICES: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "theme": (
        "Colours",
        {
            "system": "As the system is set",
            "light": "Light",
            "dark": "Dark",
            "sepia": "Sepia",
            "contrast": "High contrast",
        },
    ),
    "text": ("Text", {"normal": "Normal", "small": "Small", "large": "Large", "larger": "Very large"}),
    "width": (
        "Lines of a chat",
        {"normal": "Normal", "narrow": "Narrow", "wide": "Wide", "full": "As wide as there is room"},
    ),
    "faces": ("Faces", {"round": "Round", "square": "Square", "tall": "Tall", "none": "None"}),
    "background": (
        "Behind a chat",
        {"none": "Nothing", "picture": "The picture of the familiar", "own": "A background of its own"},
    ),
    "mood": ("Expressions", {"shown": "Beside the chat, where there are some", "none": "None"}),
}
"""Field → its name on the page, and its values with theirs."""
SIZES = {"small": (14, 12, 16), "large": (18, 15, 21), "larger": (21, 18, 25)}
"""Text, small text and titles, in pixels."""
WIDTHS = {"narrow": "52ch", "wide": "92ch", "full": "240ch"}
FACES = {
    "square": ".avatar, .bar .face { border-radius: 6px; }",
    "tall": (
        ".avatar, .bar .face { border-radius: 6px; }\n"
        "@media (min-width: 701px) { .message > .avatar { height: calc(var(--face) * 1.5); } }"
    ),
    "none": ":root { --face: 0px; }\n.message > .avatar, .bar .face { display: none; }\n.message { column-gap: 0; }",
}
BEHIND = (
    '.log {{ background: url("{}") center / cover no-repeat; }}\n'
    ".log .message, .log .versions, .log .empty, .log .more a, .log .greetings, .log .view-begins"
    " {{ background: var(--surface); }}\n"
    ".log .message {{ margin-bottom: var(--s1); }}"
)


def read_look(cookie: str) -> PageLook:
    """The look that a cookie holds; what is no choice of ours is as if nothing had been chosen."""
    given = dict(zip((each.name for each in fields(PageLook)), cookie[:200].split("."), strict=False))
    return PageLook(**{name: value for name, value in given.items() if value in CHOICES[name][1]})


def write_look(look: PageLook) -> str:
    """The cookie's value."""
    return ".".join(str(getattr(look, each.name)) for each in fields(look))


class LookPages:
    """The routes `/look`, where it is chosen, and `/look.css`, which every page loads last."""

    def __init__(self, familiar_id: str, pictures: FamiliarPictures, renderer: PageRenderer) -> None:
        self._familiar_id = familiar_id
        self._pictures = pictures
        self._renderer = renderer

    def routes(self) -> list[BaseRoute]:
        handlers = (
            ("/look", self.show, "GET"),
            ("/look", self.change, "POST"),
            ("/look.css", self.style, "GET"),
        )
        return make_routes(handlers, self._renderer)

    async def show(self, request: Request) -> Response:
        return await off_loop(self._page, _look_of(request), request.query_params.get("done") == "1")

    def _page(self, look: PageLook, is_done: bool) -> Response:
        there = {"none", *(kind for kind in ("picture", "own") if self._background(kind))}
        return self._renderer.page(
            "look.html", title="Appearance", choices=CHOICES, look=look, is_done=is_done, backgrounds=there
        )

    async def change(self, request: Request) -> Response:
        """Keep what was chosen in the browser."""
        given = await read_form(request)
        look = PageLook(**{name: given[name] for name in CHOICES if given.get(name) in CHOICES[name][1]})
        response = redirect("/look?done=1")
        response.set_cookie(COOKIE, write_look(look), max_age=COOKIE_FOR_S, httponly=True, samesite="strict")
        return response

    async def style(self, request: Request) -> Response:
        from starlette.responses import Response

        text = await off_loop(self._style, _look_of(request))
        return Response(text, media_type="text/css")

    def _style(self, look: PageLook) -> str:
        behind = self._background(look.background)
        parts = [
            self._colours(look.theme),
            ":root {{ --text: {}px; --small: {}px; --title: {}px; }}".format(*SIZES[look.text])
            if look.text in SIZES
            else "",
            f":root {{ --measure: {WIDTHS[look.width]}; }}" if look.width in WIDTHS else "",
            FACES.get(look.faces, ""),
            BEHIND.format(behind) if behind else "",
            ".mood { display: none; }" if look.mood == "none" else "",
        ]
        return "".join(f"{part}\n" for part in parts if part)

    def _colours(self, theme: str) -> str:
        """The colours of a theme: light and dark stand in the page's own file, each other one in its own."""
        if theme in ("light", "dark"):
            schemes = _SCHEMES.findall(self._renderer.files["tokens.css"].content.decode())
            return f":root {{ color-scheme: {theme}; {schemes[theme == 'dark']} }}"
        name = f"theme-{theme}.css"
        return self._renderer.files[name].content.decode() if name in self._renderer.files else ""

    def _background(self, kind: str) -> str | None:
        """The address of a picture to stand behind a chat, from where the style sheet is; None: there is none."""
        if kind == "picture":
            found = self._pictures.url_of(self._familiar_id)
        else:
            found = self._pictures.background_of(self._familiar_id) if kind == "own" else None
        return found.removeprefix("/") if found is not None else None


def _look_of(request: Request) -> PageLook:
    return read_look(request.cookies.get(COOKIE, ""))
