"""World Info at the page, over real HTTP: every field of an entry, on and off, conflicts, and what would fire."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest

from familiar_connect.bootstrap.import_silly_tavern import import_silly_tavern_lorebook
from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.memory.lorebooks.book_shelf import BookShelf
from familiar_connect.memory.store import MemoryStore
from familiar_connect.presets.store import PresetStore
from familiar_connect.presets.world_info.types import EntryPosition, WorldEntry
from tests.fakes.model_server import ModelServer, stream_answer
from tests.fakes.page import Answered, PageProcess, needs_page
from tests.fakes.program import make_home, model_endpoint
from tests.fakes.waiting import wait_until
from tests.fakes.web_form import send_form

pytestmark = needs_page

EXAMPLES = Path("examples/bring_a_character")
TITLES = ("Gull Point", "Saltmere", "The North Cave", "The Lighthouse", "The Chapel")
"""Entries of their own for the tests that change one: with the numbers 10, 11, …."""
RECORD = "lore/imported/.lorebook-the-harbour.json"


def lore_home(home: Path, model: ModelServer) -> Path:
    """A home whose familiar has the lorebook of the harbour, a preset, and SillyTavern's own prompts."""
    root = make_home(home, model)
    settings = root / "character.toml"
    settings.write_text('preset_fidelity = "sillytavern"\n' + settings.read_text())
    folder = FamiliarFolder(root)
    store = MemoryStore(folder.memory, audit_dir=folder.audit)
    book = json.loads((EXAMPLES / "harbour.json").read_text())
    for uid, title in enumerate(TITLES, 10):
        entry = {"uid": uid, "comment": title, "key": [title.lower()], "content": f"{title} is old.\n\nIt is quiet."}
        book["entries"][str(uid)] = entry
    import_silly_tavern_lorebook(store, json.dumps(book))
    assert store.audit is not None
    store.audit.close()
    PresetStore(folder.presets).import_bytes("Plain Scene", (EXAMPLES / "Plain Scene.json").read_bytes())
    return root


@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    with model_endpoint(stream_answer("Hm.")) as server:
        yield server


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory, model: ModelServer) -> Path:
    return lore_home(tmp_path_factory.mktemp("lore"), model)


@pytest.fixture(scope="module")
def page(root: Path) -> Iterator[PageProcess]:
    with PageProcess(root.parent.parent) as running:
        running.enter()
        yield running


def scanned(root: Path, title: str) -> WorldEntry:
    """The entry as a reply's scan has it."""
    books = BookShelf(MemoryStore(root / "memory")).read().books
    return next(entry for book in books for entry in book.entries if entry.title == title)


def form_of(body: str) -> dict[str, str]:
    """The fields of the form as a browser would send them back."""
    body = body[body.index('class="editor"') :].split("</form>")[0]
    found = {name: html.unescape(value) for name, value in re.findall(r'<input[^>]*name="(\w+)" value="([^"]*)"', body)}
    found = {name: value for name, value in found.items() if f'type="checkbox" name="{name}"' not in body}
    for name in re.findall(r'type="checkbox" name="(\w+)" value="1" checked', body):
        found[name] = "1"
    for name, words in re.findall(r'<textarea[^>]*name="(\w+)"[^>]*>\n(.*?)</textarea>', body, re.DOTALL):
        found[name] = html.unescape(words)
    for name, options in re.findall(r'<select[^>]*name="(\w+)">(.*?)</select>', body, re.DOTALL):
        chosen = re.search(r'value="([^"]*)" selected', options)
        found[name] = chosen[1] if chosen is not None else ""
    return found


def entry_form(page: PageProcess, **place: str) -> dict[str, str]:
    answer = page.ask("GET", f"/lore/entry?{urlencode(place)}")
    assert answer.status == 200, answer.body
    return form_of(answer.body)


def save(page: PageProcess, form: dict[str, str], **changed: str) -> Answered:
    return send_form(page, "/lore/entry", **(form | changed))


def test_every_field_of_an_entry_is_what_a_scan_reads_next(page: PageProcess, root: Path) -> None:
    """Saved without any script; the Markdown is the file a person would edit."""
    form = entry_form(page, record=RECORD, key="10")
    answer = save(
        page,
        form,
        key="bell\r\n/gull\\s+point/i",
        keysecondary="night",
        selectiveLogic="3",
        position="4",
        depth="2",
        role="1",
        order="250",
        probability="60",
        group="water",
        groupWeight="30",
        scanDepth="7",
        caseSensitive="1",
        sticky="3",
        constant="",
        filterTags="sea",
        content="A bell is heard.",
    )
    entry = scanned(root, "Gull Point")
    file = root / "memory" / "lore" / "imported" / "gull-point.md"

    assert answer.status == 303, answer.body
    assert entry.keys == ("bell", "/gull\\s+point/i")
    assert (entry.secondary_keys, entry.logic.value) == (("night",), 3)
    assert (entry.position, entry.depth, entry.role, entry.order) == (EntryPosition.at_depth, 2, "user", 250)
    assert (entry.probability, entry.group, entry.group_weight) == (60, "water", 30)
    assert (entry.scan_depth, entry.case_sensitive, entry.sticky) == (7, True, 3)
    assert entry.character_filter.tags == ("sea",)
    assert file.read_text().startswith("# Gull Point\n")
    assert "> - bell\n" in file.read_text()
    assert "Saved. It takes effect from the next reply on." in page.ask("GET", answer.headers["location"]).body


def test_an_entry_that_is_off_has_no_file_and_comes_back_with_its_text(page: PageProcess, root: Path) -> None:
    """Then nothing finds it, as after an import; what it says is kept."""
    form = entry_form(page, record=RECORD, key="11")
    folder = root / "memory" / "lore" / "imported"
    before = (folder / "saltmere.md").read_text()
    off = save(page, form | {"on": ""})
    gone = sorted(path.name for path in folder.glob("*.md"))
    silent = scanned(root, "Saltmere").is_disabled
    save(page, entry_form(page, record=RECORD, key="11"), on="1")

    assert off.status == 303
    assert "saltmere.md" not in gone
    assert silent
    assert (folder / "saltmere.md").read_text() == before
    assert not scanned(root, "Saltmere").is_disabled


def test_a_file_edited_by_hand_shows_in_the_form_and_keeps_the_rest(page: PageProcess, root: Path) -> None:
    """Both ways go on working, also with lines at the head of the file that the form does not show."""
    form = entry_form(page, record=RECORD, key="12")
    save(page, form, order="7")
    file = root / "memory" / "lore" / "imported" / "the-north-cave.md"
    file.write_text("---\naudience: owner\n---\n" + file.read_text().replace("quiet", "loud"))
    seen = entry_form(page, record=RECORD, key="12")
    save(page, seen, keysecondary="pier")
    entry = scanned(root, "The North Cave")

    assert "loud" in seen["content"]
    assert (entry.order, entry.secondary_keys) == (7, ("pier",))
    assert "loud" in entry.content
    assert file.read_text().startswith("---\naudience: owner\n---\n# The North Cave\n")


def test_two_changes_of_different_fields_are_brought_together(page: PageProcess, root: Path) -> None:
    """And two of the same one are shown beside each other; nothing is written and nothing is lost."""
    form = entry_form(page, record=RECORD, key="13")
    file = root / "memory" / "lore" / "imported" / "the-lighthouse.md"
    save(page, form, order="11")
    both = save(page, form, depth="9", position="4")
    joined = scanned(root, "The Lighthouse")
    first = entry_form(page, record=RECORD, key="13")
    file.write_text(file.read_text().replace("# The Lighthouse", "# The Dark House"))
    answer = save(page, first, comment="The Lamp")
    again = form_of(answer.body)
    standing = file.read_text()
    settled = save(page, again, comment="The Lighthouse")

    assert both.headers["location"].endswith("done=merged")
    assert (joined.order, joined.depth) == (11, 9)
    assert answer.status == 409
    assert "This entry changed while you wrote." in answer.body
    assert "The Dark House" in answer.body
    assert again["comment"] == "The Lamp"
    assert standing.startswith("# The Dark House")
    assert settled.status == 303
    assert file.read_text().startswith("# The Lighthouse")


def test_what_cannot_be_saved_stays_in_the_form(page: PageProcess, root: Path) -> None:
    """The sentence names the field."""
    form = entry_form(page, record=RECORD, key="14")
    answer = save(page, form, probability="140", content="kept words")

    assert answer.status == 400
    assert "Probability, in percent must be a number from 0 to 100. Nothing was saved" in answer.body
    assert form_of(answer.body)["content"] == "kept words"
    assert scanned(root, "The Chapel").probability == 100


def test_a_book_and_an_entry_are_begun_and_deleted(page: PageProcess, root: Path) -> None:
    """A new entry is a Markdown file in the book's folder; deleting it does not wait for a question of a script."""
    send_form(page, "/lore/books", name="Night Sky")
    record = "lore/night-sky/.lorebook-night-sky.json"
    form = form_of(page.ask("GET", f"/lore/entry?new=1&record={quote(record, safe='')}").body)
    made = save(page, form, comment="Comet", key="comet", content="It comes back.")
    file = root / "memory" / "lore" / "night-sky" / "comet.md"
    text = file.read_text()
    shown = entry_form(page, record=record, key="0")
    stale = send_form(page, "/lore/delete", **(shown | {"was": shown["was"].replace("comet", "star")}))
    kept = file.exists()
    gone = send_form(page, "/lore/delete", **shown)

    assert made.status == 303, made.body
    assert text.endswith("\n\nIt comes back.\n")
    assert text.startswith(
        "# Comet\n\n> Trigger keywords (looked for under `sillytavern`, else by meaning):\n> - comet\n"
    )
    assert stale.status == 400
    assert kept
    assert gone.headers["location"].endswith("/lore?done=deleted")
    assert not file.exists()


def test_lore_of_one_file_stays_one_file_until_it_says_more(page: PageProcess, root: Path) -> None:
    """Title, keys and text need no record; the first other field brings one, and the entry stays the same entry."""
    file = root / "memory" / "lore" / "mill.md"
    file.write_text("# The Mill\n\nIt grinds at night.\n")
    plain = page.ask("GET", "/lore").body
    form = entry_form(page, path="lore/mill.md")
    save(page, form, key="mill")
    record = root / "memory" / "lore" / ".lorebook-lore.json"
    without = record.exists()
    listed = page.ask("GET", "/lore?q=grinds").body
    save(page, entry_form(page, path="lore/mill.md"), order="5")
    entry = scanned(root, "The Mill")

    assert "lore/mill.md" in plain
    assert not without
    assert "The Mill" in listed
    assert json.loads(record.read_text())["name"] == "lore"
    assert (entry.book, entry.keys, entry.order) == ("lore", ("mill",), 5)
    keys = [each.key for book in BookShelf(MemoryStore(root / "memory")).read().books for each in book.entries]
    assert len(keys) == len(set(keys))


def test_the_test_says_what_a_reply_then_calls_up(page: PageProcess, model: ModelServer) -> None:
    """The same entries for the same reasons, and for the others what stands against them."""
    words = "Did you hear the bell, asked Odile?"
    tested = page.ask("GET", f"/lore/test?chat=1&text={quote(words)}").body
    fires, _, silent = tested.partition('id="silent"')
    page.say(words)
    wait_until(lambda: "Hm." in page.ask("GET", "/chats/1/messages").body, "it is answered")
    wait_until(lambda: _latest_turn(page) is not None, "its turn is kept")
    told = page.ask("GET", f"/turns/{_latest_turn(page)}/data").json()

    called = [each["entry"] for each in _world_info(told)]
    assert "The Harbour: The Harbour Mistress" in called
    assert html.unescape(fires).count("key ") == len(called)
    for each in _world_info(told):
        assert each["reason"].split(" in ")[0] in html.unescape(fires)
    assert "An unfinished idea" in silent
    assert "it is off" in silent


def test_a_book_is_switched_at_once(page: PageProcess, root: Path) -> None:
    """It stands in the settings, and is scanned no more, until it is switched on again."""
    send_form(page, "/lore/books", name="Old Maps")
    record = "lore/old-maps/.lorebook-old-maps.json"
    form = form_of(page.ask("GET", f"/lore/entry?new=1&record={quote(record, safe='')}").body)
    save(page, form, comment="Chart", key="chart", content="Torn.")
    answer = send_form(page, "/lore/books/switch", name="Old Maps", on="")
    settings = (root / "character.toml").read_text()
    wait_until(lambda: "Chart" not in page.ask("GET", "/lore/test?chat=1&text=chart").body, "it is not scanned")
    listed = page.ask("GET", "/lore").body
    send_form(page, "/lore/books/switch", name="Old Maps", on="1")
    wait_until(lambda: "Chart" in page.ask("GET", "/lore/test?chat=1&text=chart").body, "it is scanned")

    assert answer.status == 303, answer.body
    assert 'books_off = ["Old Maps"]' in settings
    assert "not in force" in listed
    assert "Old Maps" not in (root / "character.toml").read_text()
    assert send_form(page, "/lore/books/switch", name="Nothing", on="").status == 400


def _latest_turn(page: PageProcess) -> str | None:
    found = re.search(r'href="/f/ember/turns/([^"]+)"', page.ask("GET", "/turns").body)
    return found[1] if found is not None else None


def _world_info(found: object) -> list[dict[str, str]]:
    """The lines of a turn that tell which entries it called up."""
    if isinstance(found, dict):
        for name, value in found.items():
            if name == "world_info":
                return list(value)
            if inner := _world_info(value):
                return inner
    for each in found if isinstance(found, list) else ():
        if inner := _world_info(each):
            return inner
    return []


def test_what_was_changed_is_taken_along_to_sillytavern(page: PageProcess, root: Path) -> None:
    """All lore as a lorebook and the character as a card, each as the command line writes it."""
    lore = page.ask("GET", "/lore/export")
    card = page.ask("GET", "/character/export?form=json")
    png = page.ask("GET", "/character/export?form=png", encoding="latin-1")

    assert "The Drowned Bell" in [each["comment"] for each in lore.json()["entries"].values()]
    assert card.json()["data"]["name"] == "Ember"
    assert png.body.startswith("\x89PNG")
    assert 'filename="ember.png"' in png.headers["content-disposition"]
    assert page.ask("GET", "/character/export?form=exe").status == 400


def test_what_is_no_place_of_an_entry_is_told(page: PageProcess) -> None:
    """No path of a form leads out of the lorebooks."""
    for place in ({"path": "self/description.md"}, {"record": "../x", "key": "0"}, {"record": RECORD, "key": "99"}):
        answer = page.ask("GET", f"/lore/entry?{urlencode(place)}")
        assert answer.status == 400
        assert "is gone; World Info lists the others" in answer.body
