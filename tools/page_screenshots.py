"""Pictures of the page for the documentation: a small home, a scripted model, a real Chromium.

    python3 tools/page_screenshots.py FOLDER [NAME ...]

Writes NAME-WIDTH-SCHEME.webp for every scene, or for the named ones, at three widths in dark and light; a NAME such as
`chat-390-light` is that picture alone. Needs the packages of the tests and a Chromium; the pictures in
`docs/guides/images` are some of these.
"""

from __future__ import annotations

import base64
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from tests.fakes.browser import open_browser, open_visit  # noqa: E402 - found only with the paths above
from tests.fakes.model_server import stream_answer  # noqa: E402
from tests.fakes.page import PageProcess  # noqa: E402
from tests.fakes.program import make_home, model_endpoint  # noqa: E402

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

SIZES = ((390, 844), (1024, 768), (1600, 1000))
SCHEMES = ("light", "dark")
TALK = (
    (
        "Morning, Ember! I'm Sam. The kettle is on.",
        '*stretches, sparks drifting up* "I can feel it, Sam. Who wants the first cup?"',
    ),
    (
        "Me. Did you sleep?",
        '*settles on the sill* "In embers, yes. I dreamt of **the lighthouse** again: the lamp was out, and somebody '
        'had left the door open." A spark goes out. "Not you, I hope?"',
    ),
    (
        "What would you need to light it?",
        '"Three things, I think:"\n\n1. oil, of which we have *half a can*\n2. a wick\n3. somebody for the stairs\n\n'
        '"The spare key lies under the blue pot, so at least the door is no trouble."',
    ),
)
PEOPLE = "# Sam\n\nSam keeps a heron called Ignatius and drinks black tea.\n\n- Lives by the pond.\n"
HOUSE = "# House\n\nThe spare key lies under the blue pot. See [[garden]].\n"
GARDEN = "# Garden\n\nNine herons, one pond, and a lighthouse at the end of the path.\n"


def show_chat(page: Page) -> None:
    """The chat with its last line in hand."""
    page.locator(".message[data-id]").last.focus()


def show_glass(page: Page) -> None:
    """The glass box of the last reply, with a block open."""
    if page.locator("#glass").is_hidden():
        page.locator("[data-glass-open]").click()
    page.locator("#glass .block", has=page.locator(".name", has_text="people")).first.locator("summary").click()


def open_path(path: str) -> Callable[[Page], None]:
    """A scene that is a page of its own."""

    def show(page: Page) -> None:
        page.goto(page.url.split("/chats")[0] + path)

    return show


def show_compare(page: Page) -> None:
    page.locator(".message[data-turn] [data-see]").last.evaluate("link => location.assign(link.href + '/compare')")
    page.wait_for_url("**/compare")


SCENES: dict[str, Callable[[Page], None]] = {
    "chat": show_chat,
    "glass": show_glass,
    "compare": show_compare,
    "turns": open_path("/turns"),
    "why": open_path("/why?q=silver+whistle"),
    "memory": open_path("/memory"),
    "search": open_path("/memory?q=spare+key"),
    "file": open_path("/memory/file?path=topics%2Fhouse.md"),
    "edit": open_path("/memory/edit?path=topics%2Fhouse.md"),
    "versions": open_path("/memory/versions?path=topics%2Fhouse.md"),
    "sources": open_path("/memory/sources?path=topics%2Fhouse.md"),
    "people": open_path("/memory/people"),
    "graph": open_path("/memory/graph"),
    "review": open_path("/review"),
    "import": open_path("/import"),
    "familiars": open_path("/familiars"),
    "picture": open_path("/picture"),
    "you": open_path("/you"),
    "health": open_path("/health"),
    "settings": open_path("/settings"),
    "setting": open_path("/settings/edit?key=budget_tokens"),
    "connect": open_path("/connect"),
    "rehearsals": open_path("/rehearsals"),
}


@contextmanager
def open_demo(home: Path, face: bytes) -> Iterator[PageProcess]:
    """A page on which something was said already, by a familiar that looks like *face*."""
    with model_endpoint(*(stream_answer(reply) for _, reply in TALK)) as server:
        root = make_home(home, server)
        (root / "picture.png").write_bytes(face)
        memory = root / "memory"
        for name, text in (
            ("people/terminal-you.md", PEOPLE),
            ("topics/house.md", HOUSE),
            ("topics/garden.md", GARDEN),
        ):
            (memory / name).parent.mkdir(parents=True, exist_ok=True)
            (memory / name).write_text(text, encoding="utf-8")
        with PageProcess(home) as running:
            running.enter()
            running.post("/chats", name="The lighthouse")
            running.post("/chats", name="Tuesday")
            running.ask("GET", "/chats/1")
            for said, _ in TALK:
                with running.events() as events:
                    running.say(said)
                    events.until("done")
            yield running


def main(arguments: list[str]) -> int:
    """Take the pictures; 0 when they are taken."""
    if not arguments:
        sys.stderr.write("Where to? python3 tools/page_screenshots.py FOLDER [NAME ...]\n")
        return 2
    folder, wanted = Path(arguments[0]), arguments[1:] or list(SCENES)
    folder.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as home,
        open_browser() as browser,
        open_demo(Path(home), draw_face(browser)) as running,
    ):
        for width, height in SIZES:
            for scheme in SCHEMES:
                address = f"{running.origin}/open?token={running.token}"
                settings = {"viewport": {"width": width, "height": height}, "color_scheme": scheme}
                for name in SCENES:
                    if name not in wanted and f"{name}-{width}-{scheme}" not in wanted:
                        continue
                    with open_visit(browser, address, **settings, reduced_motion="reduce") as visit:
                        visit.page.locator("[data-ready]").wait_for()
                        SCENES[name](visit.page)
                        picture = encode_webp(visit.page.screenshot(), browser)
                        (folder / f"{name}-{width}-{scheme}.webp").write_bytes(picture)
    return 0


def draw_face(browser: Browser) -> bytes:
    """A picture for the familiar: a small flame that looks at you."""
    page = browser.new_page()
    try:
        made = page.evaluate(
            """() => {
                const canvas = document.createElement("canvas");
                [canvas.width, canvas.height] = [400, 600];
                const draw = canvas.getContext("2d");
                const ground = draw.createRadialGradient(200, 260, 40, 200, 300, 420);
                for (const [colour, at] of [["#5b2a5e", 0], ["#2b1a3d", 0.55], ["#120c1f", 1]]) {
                    ground.addColorStop(at, colour);
                }
                draw.fillStyle = ground;
                draw.fillRect(0, 0, 400, 600);
                const flame = (size, colour) => {
                    draw.save();
                    draw.translate(200, 300);
                    draw.scale(size, size);
                    draw.fillStyle = colour;
                    draw.beginPath();
                    draw.moveTo(0, -230);
                    draw.bezierCurveTo(60, -120, 190, -40, 150, 110);
                    draw.bezierCurveTo(110, 210, -110, 210, -150, 110);
                    draw.bezierCurveTo(-180, -20, -50, -60, 0, -230);
                    draw.fill();
                    draw.restore();
                };
                flame(1, "#e2582b");
                draw.translate(0, 38);
                flame(0.76, "#f79a3c");
                draw.translate(0, 34);
                flame(0.5, "#ffd98a");
                draw.setTransform(1, 0, 0, 1, 0, 0);
                for (const x of [160, 240]) {
                    draw.fillStyle = "#2a1410";
                    draw.beginPath();
                    draw.ellipse(x, 330, 15, 22, 0, 0, 7);
                    draw.fill();
                    draw.fillStyle = "#fff";
                    draw.beginPath();
                    draw.arc(x + 5, 322, 5, 0, 7);
                    draw.fill();
                }
                draw.strokeStyle = "#2a1410";
                draw.lineWidth = 6;
                draw.lineCap = "round";
                draw.beginPath();
                draw.arc(200, 366, 24, 0.5, 2.64);
                draw.stroke();
                return canvas.toDataURL("image/png").split(",")[1];
            }"""
        )
    finally:
        page.close()
    return base64.b64decode(made)


def encode_webp(png: bytes, browser: Browser) -> bytes:
    """A picture in a quarter of the room, made by the browser itself."""
    page = browser.new_page()
    try:
        made = page.evaluate(
            """async (png) => {
                const picture = new Image();
                picture.src = `data:image/png;base64,${png}`;
                await picture.decode();
                const canvas = document.createElement("canvas");
                [canvas.width, canvas.height] = [picture.width, picture.height];
                canvas.getContext("2d").drawImage(picture, 0, 0);
                return canvas.toDataURL("image/webp", 0.85).split(",")[1];
            }""",
            base64.b64encode(png).decode(),
        )
    finally:
        page.close()
    return base64.b64decode(made)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
