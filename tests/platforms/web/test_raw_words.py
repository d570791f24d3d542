"""Scripts change what the page shows and what a model is told; the words that were typed and written stay."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.fakes.page import needs_page
from tests.fakes.scripted_familiar import scripted_familiar

pytestmark = needs_page

from tests.extensions.discord.test_raw_words import allow_scripts  # noqa: E402
from tests.fakes.served_page import served_page  # noqa: E402 - needs the packages of the page
from tests.fakes.waiting import until  # noqa: E402


async def test_what_is_typed_at_the_page_is_kept_as_it_was_typed(tmp_path: Path) -> None:
    """Also after it was edited there; the page shows what scripts made of it, the editor the words themselves."""
    async with scripted_familiar(tmp_path, ["A quiet yes."]) as house, served_page(house.familiar) as page:
        allow_scripts(house.familiar.root)
        store = house.familiar.history_store

        def stored() -> list[tuple[str, str | None]]:
            turns = store.recent(familiar_id="ember", channel_id=1, limit=9)
            return [(turn.content, turn.view) for turn in turns[-2:]]

        await asyncio.to_thread(page.ask, "GET", "/chats/1")
        await asyncio.to_thread(page.say, "please water the plants")
        await until(lambda: ("A quiet yes.", "A LOUD yes.") in stored())
        assert stored()[0] == ("please water the plants", "please owe the plants")
        assert "please owe the plants" in str(house.model.calls[-1])
        shown = (await asyncio.to_thread(page.ask, "GET", "/chats/1")).body
        assert "A LOUD yes." in shown
        assert "please owe the plants" in shown

        turn = store.recent(familiar_id="ember", channel_id=1, limit=2)[0].id
        editor = await asyncio.to_thread(page.ask, "GET", f"/chats/1/messages/{turn}/edit", accept="application/json")
        assert editor.json() == {"text": "please water the plants"}
        edited = await asyncio.to_thread(page.post, f"/chats/1/messages/{turn}/edit", text="water them twice")
        assert edited.status == 200, edited.body
        assert stored()[0] == ("water them twice", None)
        assert stored()[1] == ("A quiet yes.", "A LOUD yes.")
