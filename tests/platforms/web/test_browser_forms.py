"""Character, World Info and the other forms in a real Chromium: what a person who comes from SillyTavern does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest

from familiar_connect.bootstrap.card_files.png import plain_picture
from familiar_connect.config.edit import find_setting, write_setting
from familiar_connect.config.load import load_character_config
from familiar_connect.presets.prompt_order import nodes_of
from familiar_connect.presets.store import PresetStore
from familiar_connect.presets.types import PresetFidelity
from tests.fakes.browser import Visit, open_visit
from tests.fakes.model_server import ModelServer
from tests.fakes.page import PageProcess, needs_page
from tests.platforms.web.test_lore import lore_home

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = needs_page

PAGES = (
    "/character",
    "/lore",
    "/lore/entry?record=lore%2Fimported%2F.lorebook-the-harbour.json&key=0",
    "/lore/entry?new=1",
    "/lore/test?chat=1&text=Odile",
    "/presets",
    "/presets/prompt?name=Plain+Scene&id=main",
    "/note?chat=1",
    "/regex",
    "/regex/script",
    "/personas",
    "/personas/one",
    "/import",
    "/gallery",
    "/familiars",
    "/chats/1/about",
    "/you",
)
SCHEMES: tuple[tuple[int, Literal["dark", "light"]], ...] = ((390, "dark"), (1280, "light"))


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, model: ModelServer) -> Path:
    """A home whose familiar has a lorebook and a preset, and whose memory a model writes up."""
    root = lore_home(tmp_path_factory.mktemp("forms"), model)
    with (root / "character.toml").open("a", encoding="utf-8") as file:  # so that writing up memory costs something
        file.write(f'\n[llm.memory_writer]\nmodel = "test-model"\nbase_url = "{model.base_url}"\n')
    write_setting(root / "character.toml", find_setting("memory_writer.calls_per_day"), 3)
    return root.parent.parent


@pytest.fixture
def visit(browser: Browser, running: PageProcess) -> Iterator[Visit]:
    """Somebody at the page; afterwards no script has failed, nothing was loaded from elsewhere, no dialog opened."""
    with open_visit(browser, running.address) as opened:
        yield opened
    assert opened.faults == []


@pytest.fixture
def plain(browser: Browser, running: PageProcess) -> Iterator[Visit]:
    """The same without any script."""
    with open_visit(browser, running.address, java_script_enabled=False) as opened:
        yield opened


def test_an_entry_is_written_and_tried_against_the_chat(visit: Visit, running: PageProcess, home: Path) -> None:
    """From the left side: a new entry with a key, then what would fire, and why, before anything is said."""
    page = visit.page
    page.locator(".pages").get_by_role("link", name="Character").click()
    page.locator(".tabs").get_by_role("link", name="World Info").click()
    page.get_by_role("link", name="New entry").first.click()
    page.get_by_label("Title", exact=True).fill("The Ferry")
    page.get_by_label("What it says").fill("The ferry leaves at six.")
    page.get_by_role("textbox", name="Keys", exact=True).fill("ferry\n/boat(s)?/i")
    page.get_by_label("Position").select_option("in the chat, at a depth")
    page.get_by_label("Depth", exact=True).fill("2")
    page.get_by_role("button", name="Save").click()
    page.get_by_text("Saved. It takes effect from the next reply on.").wait_for()
    page.locator(".tabs").get_by_role("link", name="World Info").click()
    page.get_by_role("link", name="Test against a chat").click()
    page.get_by_label("What you would say next").fill("Are there BOATS tonight?")
    page.get_by_role("button", name="Test").click()
    fired = page.locator("#fires li", has_text="The Ferry")
    fired.wait_for()

    assert "key '/boat(s)?/i' in message" in fired.inner_text()
    assert page.locator("#silent li", has_text="An unfinished idea").get_by_text("it is off").is_visible()
    files = home / "familiars" / "ember" / "memory" / "lore" / "imported"
    assert (files / "the-ferry.md").read_text().startswith("# The Ferry\n")

    fired.get_by_role("link").click()
    page.get_by_text("Delete this entry").click()
    page.get_by_role("button", name="Delete it").click()
    page.get_by_text("The entry is deleted.").wait_for()
    assert not (files / "the-ferry.md").exists()


def test_an_entry_that_an_editor_changed_meanwhile_shows_both(visit: Visit, running: PageProcess, home: Path) -> None:
    """Nothing is saved and nothing is lost; a second save takes what stands in the form."""
    page = visit.page
    file = home / "familiars" / "ember" / "memory" / "lore" / "imported" / "the-lighthouse.md"
    page.goto(f"{running.home}/lore?q=lighthouse")
    page.get_by_role("link", name="The Lighthouse").click()
    page.get_by_label("Title", exact=True).fill("The Lamp")
    file.write_text(file.read_text().replace("# The Lighthouse", "# The Dark House"))
    page.get_by_role("button", name="Save").click()
    page.get_by_text("This entry changed while you wrote.").wait_for()
    shown = page.locator(".clash pre").inner_text()
    standing = file.read_text()
    page.get_by_role("button", name="Save").click()
    page.get_by_text("Saved. It takes effect from the next reply on.").wait_for()

    assert shown == "The Dark House"
    assert standing.startswith("# The Dark House")
    assert file.read_text().startswith("# The Lamp")


def test_the_character_is_written_without_any_script(plain: Visit, running: PageProcess, home: Path) -> None:
    """By the keys g c where there are scripts; the form alone is enough."""
    page = plain.page
    own = home / "familiars" / "ember" / "memory" / "self"
    page.goto(f"{running.home}/character")
    page.get_by_label("Personality").fill("Warm, and a little smug.")
    page.get_by_label("Greeting 2").fill("*The lid rattles.* You again!")
    page.get_by_role("button", name="Save").click()
    page.get_by_text("Saved. It takes effect from the next reply on.").wait_for()

    assert (own / "personality.md").read_text() == "Warm, and a little smug."
    assert (own / "alternate_greetings.md").read_text() == "*The lid rattles.* You again!"
    assert page.get_by_label("Greeting 3").is_visible()


def test_a_preset_is_tuned_and_its_prompts_put_in_order(visit: Visit, running: PageProcess, home: Path) -> None:
    """A sampler, a prompt off, another one place up: the preset's own file and its switches say so."""
    page = visit.page
    presets = PresetStore(home / "familiars" / "ember" / "presets")
    page.goto(f"{running.home}/character")
    page.locator(".tabs").get_by_role("link", name="Presets").click()
    page.get_by_label("Temperature").fill("0.3")
    page.get_by_role("button", name="Save samplers").click()
    page.get_by_text("Saved. It takes effect from the next reply on.").wait_for()
    page.get_by_role("button", name="Voice", exact=True).click()
    page.locator('[aria-pressed="false"]', has_text="Off").first.wait_for()
    before = [node.identifier for node in nodes_of(presets.get("Plain Scene"), PresetFidelity.sillytavern)]
    page.get_by_role("button", name="Move Post-History up").click()
    page.wait_for_url("**#order")
    after = nodes_of(presets.get("Plain Scene"), PresetFidelity.sillytavern)

    assert presets.document("Plain Scene")["temperature"] == 0.3
    assert {node.identifier: node.is_enabled for node in after}["voice"] is False
    names = [node.identifier for node in after]
    assert names.index("jailbreak") == before.index("jailbreak") - 1


def test_a_note_and_a_script_are_written_without_any_script(plain: Visit, running: PageProcess, home: Path) -> None:
    """The note stands in the chat's file; the rule is tried before anything is said."""
    page, root = plain.page, home / "familiars" / "ember"
    page.goto(f"{running.home}/chats/1/about")
    page.get_by_role("link", name="Author's note").click()
    page.get_by_label("Note for").fill("It is snowing.")
    page.get_by_role("button", name="Save").click()
    page.get_by_text("Saved. It takes effect from the next reply on.").wait_for()
    page.locator(".tabs").get_by_role("link", name="Regex").click()
    page.get_by_role("link", name="New script").click()
    page.get_by_label("Name", exact=True).fill("Quiet")
    page.get_by_label("Find", exact=True).fill("/!+/g")
    page.get_by_label("Put there").fill(".")
    page.get_by_role("button", name="Save").click()
    page.get_by_role("link", name="Quiet").click()
    page.get_by_label("A text").fill("Come here!!!")
    page.get_by_role("button", name="Try").click()

    assert page.locator("#made").inner_text() == "Come here."
    assert "It is snowing." in next((root / "channels").glob("*.toml")).read_text()


def test_a_persona_is_made_and_locked_to_a_chat(visit: Visit, running: PageProcess, home: Path) -> None:
    """In the chat's own settings; the list says in which chat you are whom."""
    page = visit.page
    page.goto(f"{running.home}/personas")
    page.get_by_role("link", name="New persona").click()
    page.get_by_label("Name", exact=True).fill("Captain Robin")
    page.get_by_label("Who you are").fill("A retired sailor.")
    page.get_by_role("button", name="Save").click()
    page.get_by_role("link", name="Captain Robin").wait_for()
    page.get_by_label("you are").select_option("Captain Robin")
    page.get_by_role("button", name="Lock it").click()
    page.get_by_role("heading", name="Locked to chats").wait_for()
    locked = page.locator(".entries a[href*='/chats/']").get_attribute("href") or ""
    page.get_by_role("link", name="Captain Robin").first.click()
    page.get_by_label("A picture").set_input_files(
        {"name": "robin.png", "mimeType": "image/png", "buffer": plain_picture(20, 20)}
    )
    page.get_by_role("button", name="Use it").click()
    page.locator(".portrait img").wait_for()
    page.goto(f"{running.origin}{locked}")
    face = page.locator(".you .avatar img")
    face.wait_for()

    assert face.evaluate("async (image) => { await image.decode(); return image.naturalWidth; }") == 20

    root = home / "familiars" / "ember"
    assert load_character_config(root / "character.toml").personas[0].text == "A retired sailor."
    assert any('persona = "Captain Robin"' in file.read_text() for file in (root / "channels").glob("*.toml"))


def test_a_chat_is_brought_in_after_its_cost_is_seen(visit: Visit, running: PageProcess, tmp_path: Path) -> None:
    """Calls, tokens and the limit a day first; it stands among the chats after another click."""
    from tests.platforms.web.test_browser_chat import serious_faults

    page, file = visit.page, tmp_path / "old evening.txt"
    file.write_text("\n".join(f"{who}: Line {number}." for number in range(60) for who in ("Sam", "Ember")))
    page.goto(f"{running.home}/import")
    page.get_by_label("File", exact=True).set_input_files(file)
    page.get_by_label("It is").select_option("chat")
    page.get_by_role("button", name="Import", exact=True).click()
    page.get_by_text("Nothing is imported yet.").wait_for()
    told = page.locator("main").inner_text()
    before = page.locator(".chats").get_by_text("old evening").count()
    faults = serious_faults(page)
    page.get_by_role("button", name="Import", exact=True).click()
    page.get_by_text("It is in the list of chats on the left.").wait_for()

    assert "120 messages. Writing it up as memory takes up to" in told
    assert "with at most 3 calls a day" in told
    assert before == 0
    assert faults == []
    assert page.locator(".chats").get_by_text("old evening").count() > 0


@pytest.mark.parametrize("path", PAGES)
def test_every_form_fits_a_phone_and_a_desk_and_axe_finds_no_fault(
    browser: Browser, running: PageProcess, path: str
) -> None:
    """In dark and light, with every group of fields open."""
    from tests.platforms.web.test_browser_chat import serious_faults

    with open_visit(browser, running.address) as opened:
        for width, scheme in SCHEMES:
            opened.page.set_viewport_size({"width": width, "height": 844})
            opened.page.emulate_media(color_scheme=scheme)
            opened.page.goto(running.home + path)
            opened.page.evaluate("document.querySelectorAll('main details').forEach(each => { each.open = true; })")
            assert opened.page.evaluate("document.documentElement.scrollWidth") <= width
            assert opened.page.evaluate("document.querySelector('main').scrollWidth") <= width
            assert serious_faults(opened.page) == []
    assert opened.faults == []
