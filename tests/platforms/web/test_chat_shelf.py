"""Chats are named, put in folders and found again at the page, over real HTTP."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from urllib.parse import urlencode

from familiar_connect.platforms import web
from tests.fakes.page import Answered, PageClient, needs_page
from tests.fakes.scripted_familiar import scripted_familiar

pytestmark = needs_page

from familiar_connect.platforms.web.chat_shelf_pages import cut_around  # noqa: E402
from familiar_connect.platforms.web.page_controls import choose_branch_name  # noqa: E402
from tests.fakes.served_page import served_page  # noqa: E402 - needs the packages of the page

HOSTILE = "<script>alert(1)</script>"


async def ask(page: PageClient, path: str) -> Answered:
    return await asyncio.to_thread(page.ask, "GET", path)


async def send(page: PageClient, path: str, **fields: str) -> Answered:
    form = {"origin": page.origin, "content_type": "application/x-www-form-urlencoded"}
    return await asyncio.to_thread(page.ask, "POST", path, urlencode(fields), **form)


async def test_a_chat_is_renamed_pinned_and_put_in_a_folder(tmp_path: Path) -> None:
    """Which is kept in `chats.toml`; a name that is taken is a sentence, and hostile ones are text."""
    async with scripted_familiar(tmp_path, lambda _: "Aye.") as house, served_page(house.familiar) as page:
        for number in range(3):
            chat = house.familiar.stores.chats.start(1, f"Chat {number}")
            await send(page, f"/chats/{chat.channel_id}/about", name=f"{HOSTILE} {number}", folder="Journeys")
        pinned = await send(page, f"/chats/{chat.channel_id}/about", name="Top", folder="", pinned="1")
        taken = await send(page, f"/chats/{chat.channel_id}/about", name="main")
        shown = (await ask(page, "/chats/1")).body
        side = shown.partition("<nav")[2].partition("</nav>")[0]
        kept = house.familiar.stores.chats.all(1)

    assert pinned.status == 303
    assert (taken.status, "already; choose another name. Nothing was changed." in taken.body) == (400, True)
    assert [(each.name, each.folder, each.is_pinned) for each in kept] == [
        ("main", "", False),
        (f"{HOSTILE} 0", "Journeys", False),
        (f"{HOSTILE} 1", "Journeys", False),
        ("Top", "", True),
    ]
    assert side.index("Top") < side.index(">main<") < side.index("Journeys")
    assert "<script>alert" not in shown


async def test_a_line_of_long_ago_is_found_and_shown_where_it_stands(tmp_path: Path) -> None:
    """By its words in any chat or one, or by its day; signs of patterns stand for themselves."""
    async with scripted_familiar(tmp_path, lambda _: "Aye.") as house, served_page(house.familiar) as page:
        store, other = house.familiar.history_store, house.familiar.stores.chats.start(1, "Other")
        for number in range(120):
            text = "The 100% blue_pot stands there" if number == 30 else f"Line {number} with a bluexpot"
            store.append_turn(familiar_id="ember", channel_id=1, role="user", content=text)
        store.append_turn(familiar_id="ember", channel_id=other.channel_id, role="user", content="A blue_pot too")
        every = (await ask(page, "/search?q=BLUE_pot")).body
        here = (await ask(page, "/search?chat=1&q=100%25+blue_pot")).body
        none = (await ask(page, "/search?q=zeppelin")).body
        link = re.search(r'href="/f/ember(/chats/1\?line=(\d+))#line-\2"', here)
        assert link is not None
        around = (await ask(page, link[1])).body
        day = await ask(page, "/chats/1/day?date=2020-01-01")
        nonsense = await ask(page, "/chats/1/day?date=2026-99-99")

    assert every.count("<mark>blue_pot</mark>") == 2
    assert here.count("<mark>") == 1
    assert "No line has all of these words" in none
    assert "blue_pot stands there" in around
    assert "Line 29 " in around
    assert "Line 31 " in around
    assert "Line 119 " not in around
    assert "To the latest line" in around
    assert "/chats/1?line=" in day.headers["location"]
    assert (nonsense.status, "that is not a day" in nonsense.body) == (400, True)


async def test_a_chat_is_taken_along_as_a_file(tmp_path: Path) -> None:
    """For SillyTavern or to be read, as `familiar export chat` writes it."""
    async with scripted_familiar(tmp_path, lambda _: "Aye.") as house, served_page(house.familiar) as page:
        house.familiar.history_store.append_turn(
            familiar_id="ember", channel_id=1, role="user", content="Take me along"
        )
        lines = await ask(page, "/chats/1/export?form=jsonl")
        text = await ask(page, "/chats/1/export?form=md")
        wrong = await ask(page, "/chats/1/export?form=exe")

    assert '"mes": "Take me along"' in lines.body or '"mes":"Take me along"' in lines.body
    assert "attachment" in lines.headers["content-disposition"]
    assert "Take me along" in text.body
    assert wrong.status == 400


def test_a_hit_is_cut_around_the_word() -> None:
    """Whatever the case; where it is not there the beginning is shown."""
    found = cut_around("x" * 100 + " The Kettle sings", "kettle")

    assert (found["found"], found["after"]) == ("Kettle", " sings")
    assert found["before"].startswith("…")
    assert cut_around("Nothing", "kettle")["before"] == "Nothing"


async def test_a_branch_is_called_after_the_chat_it_leaves(tmp_path: Path) -> None:
    """A second one has a number, and a long name is cut."""
    async with scripted_familiar(tmp_path, lambda _: "Aye.") as house, served_page(house.familiar) as page:
        store = house.familiar.history_store
        turn = store.append_turn(familiar_id="ember", channel_id=1, role="user", content="Here the ways part")
        for _ in range(2):
            await send(page, f"/chats/1/messages/{turn.id}/branch")
        names = [chat.name for chat in house.familiar.stores.chats.all(1)]

    assert names == ["main", "Branch of main", "Branch of main 2"]
    assert len(choose_branch_name("x" * 64, ())) <= 64


async def test_what_is_not_there_or_not_allowed_is_a_page_and_not_a_bare_line(tmp_path: Path) -> None:
    """For a browser; a script is told as JSON, and whoever asks for text gets text."""
    async with scripted_familiar(tmp_path) as house, served_page(house.familiar) as page:
        html = {"accept": "text/html"}
        missing = await asyncio.to_thread(page.ask, "GET", "/nowhere", **html)
        told = await asyncio.to_thread(page.ask, "GET", "/nowhere", accept="application/json")
        nobody = await asyncio.to_thread(page.ask, "GET", "/f/nobody/chats/1", **html)
        page.cookie = None
        stranger = await asyncio.to_thread(page.ask, "GET", "/chats/1", **html)
        plain = await asyncio.to_thread(page.ask, "GET", "/chats/1")

    assert [each.status for each in (missing, told, nobody, stranger, plain)] == [404, 404, 404, 401, 401]
    assert "<nav" in missing.body
    assert "There is no such page" in missing.body
    assert "There is no such page" in told.json()["problem"]
    assert "<main>" in nobody.body
    assert "<main>" in stranger.body
    assert "This page is private" in stranger.body
    assert "<" not in plain.body


def test_no_page_sends_anybody_to_a_command_line_for_what_a_page_can_do() -> None:
    """But for the connection to Discord and Twitch, which only another way to start the program brings."""
    folder = Path(web.__file__).parent / "templates"
    texts = {each.name: each.read_text(encoding="utf-8") for each in folder.iterdir()}
    found = {name for name, text in texts.items() if "<code>familiar " in text or '("`familiar ' in text}

    assert found == {"place.html"}


async def test_a_deleted_chat_is_in_no_list_and_in_no_prompt(tmp_path: Path) -> None:
    """Nothing said in it is found again; the first chat is emptied, and what was said elsewhere stays."""
    async with scripted_familiar(tmp_path, lambda _: "Aye.") as house, served_page(house.familiar) as page:
        chats, store = house.familiar.stores.chats, house.familiar.history_store
        other = chats.start(1, "Secrets")
        for channel, text, many in ((other.channel_id, "The zeppelin is hidden", 510), (1, "The kettle is on", 3)):
            for number in range(many):
                store.append_turn(familiar_id="ember", channel_id=channel, role="user", content=f"{text} {number}")
        about = (await ask(page, f"/chats/{other.channel_id}/about")).body
        gone = await send(page, f"/chats/{other.channel_id}/delete")
        shown = (await ask(page, gone.headers["location"])).status
        names = [each.name for each in chats.all(1)]
        lists = (await ask(page, "/chats/1")).body
        found = (await ask(page, "/search?q=zeppelin")).body
        again = await ask(page, f"/chats/{other.channel_id}")
        await send(page, "/chats/1/delete")
        emptied = (await ask(page, "/chats/1")).body

    assert "Delete 510 lines" in about
    assert (gone.status, shown, names) == (303, 303, ["main"])
    assert "Elsewhere" not in lists
    assert "kettle is on 2" in lists
    assert "No line has all of these words" in found
    assert again.status == 400
    assert "kettle" not in emptied


async def test_a_line_is_moved_with_all_that_belongs_to_it(tmp_path: Path) -> None:
    """Its versions, its key and who said it go along; the model reads it where it stands then."""
    async with scripted_familiar(tmp_path, lambda _: "Aye.") as house, served_page(house.familiar) as page:
        store, versions = house.familiar.history_store, house.familiar.reply_path.controls._versions
        said = [
            store.append_turn(familiar_id="ember", channel_id=1, role=role, content=text).id
            for role, text in (("user", "One"), ("assistant", "Two"), ("user", "Three"), ("assistant", "Four"))
        ]
        versions.add_version(said[1], "Two, again")
        moved = await asyncio.to_thread(page.post, f"/chats/1/messages/{said[1]}/move/down")
        lines = [(turn.role, turn.content) for turn in store.recent(familiar_id="ember", channel_id=1, limit=9)]
        texts = [each.texts for each in versions.versions_of_all(said[1:3])]
        await send(page, f"/chats/1/messages/{said[3]}/move/up")
        beyond = await send(page, f"/chats/1/messages/{said[0]}/move/up")
        await asyncio.to_thread(page.say, "Well?")
        await house.familiar.reply_path.queue.wait_until_channel_idle(1)
        asked = str(house.model.calls[-1])

    assert moved.json() == {"line": said[2]}
    assert lines == [("user", "One"), ("user", "Three"), ("assistant", "Two, again"), ("assistant", "Four")]
    assert texts == [("Three",), ("Two", "Two, again")]
    assert beyond.status == 400
    assert asked.index("One") < asked.index("Three") < asked.index("Four") < asked.index("Two, again")
