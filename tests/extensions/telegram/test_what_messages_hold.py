"""Pictures, voice notes, marks, mentions and commands on a Telegram of our own, through the real library."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

pytest.importorskip("telegram", reason="the Telegram library is an extra")

from familiar_connect.extensions.telegram.demo.deeds import Deeds
from familiar_connect.extensions.telegram.demo.pictures import draw_picture
from familiar_connect.extensions.telegram.formatting import to_entities
from familiar_connect.extensions.telegram.settings import Settings
from familiar_connect.llm.types import Capabilities
from tests.fakes.telegram_stage import OWNER_ID, telegram_stage

SETTINGS = Settings(owner=str(OWNER_ID), dms="everyone")


class WhoListens:
    """Ears that understand one thing."""

    async def transcribe(self, data: bytes, mime: str) -> str:
        return f"I am at the harbour ({len(data)} bytes of {mime})"


async def test_a_model_that_sees_is_shown_the_picture_and_no_address_with_the_token(tmp_path: Path) -> None:
    """The file is fetched by its id when it is needed; what is kept of it is the id. A voice note is listened to."""
    sees = Capabilities(vision=True)
    async with telegram_stage(
        tmp_path, settings=SETTINGS, replies=("A square.", "By the sea."), capabilities=sees, transcriber=WhoListens()
    ) as stage:
        deeds, ada = Deeds(stage.server), stage.server.world.user("ada", 502)
        chat = stage.server.world.direct(ada)
        deeds.photo(ada, draw_picture(), chat, "what is this?")
        await stage.until_sent(1)
        deeds.voice(ada, b"OggS and more", chat)
        await stage.until_sent(2)
        await stage.until_idle()
        saw, heard = (repr(call) for call in stage.house.model.calls)
        kept = "".join(repr(await stage.host.recent("502", 10)))

        shown = [part.data or "" for message in stage.house.model.calls[0] for part in message.media]
        assert [each.partition(",")[2] for each in shown] == [base64.b64encode(draw_picture()).decode()]
        assert "I am at the harbour (13 bytes of audio/ogg)" in heard
        assert "telegram:AgAC" in kept
        assert stage.server.token not in saw + heard + kept


async def test_a_reply_is_shown_as_the_familiar_marked_it(tmp_path: Path) -> None:
    """By entities, in Telegram's units; a mark without its pair is a sign, and no message is refused for one."""
    replies = ("🐙 **Tea** is *hot*, `kettle` and 2 * 3 * 4 _or", "1 < 2 & [x](y) \\ **")
    async with telegram_stage(tmp_path, settings=SETTINGS, replies=replies) as stage:
        ada = stage.server.world.user("ada", 502)
        stage.server.say(ada, "well?")
        await stage.until_sent(1)
        stage.server.say(ada, "and?")
        first, second = await stage.until_sent(2)
        posted = next(each.result for each in stage.server.api.calls if each.method == "sendMessage")

        assert (first, second) == ("🐙 Tea is hot, kettle and 2 * 3 * 4 _or", replies[1])
        spans = [(each["type"], each["offset"], each["length"]) for each in posted["entities"]]
        assert spans == [("bold", 3, 3), ("italic", 10, 3), ("code", 15, 6)]
    assert to_entities("**a *b* c**")[0] == "a b c"


async def test_a_command_is_done_and_is_no_talk(tmp_path: Path) -> None:
    """Telegram's menu names it without hyphens; one for another bot is not ours, and in a group all read the answer."""
    async with telegram_stage(tmp_path, settings=SETTINGS) as stage:
        world, deeds = stage.server.world, Deeds(stage.server)
        world.set_privacy(is_on=False)
        you, ada = world.user("you", OWNER_ID), world.user("ada", 502)
        chat = world.group(-4001, "Kitchen")
        chat.statuses |= {you.id: "creator", ada.id: "member"}
        deeds.add_bot(you, chat)
        stage.server.say(ada, "/what_do_you_know_about_me")
        stage.server.say(ada, "/help@other_bot", chat)
        stage.server.say(you, "/channel_full_rp@ember_bot", chat)
        stage.server.say(ada, "/nonsense")
        sent = await stage.until_sent(2)
        await stage.until_idle()
        menu = {each["command"] for each in stage.server.api.menus["all_private_chats"]}

        assert any("nothing" in each.lower() or "know" in each.lower() for each in sent), sent
        assert any("full_rp" in each for each in sent), sent
        assert {"remind", "privacy", "what_do_you_know_about_me"} <= menu
        assert "memory" not in menu, "the owner's own are typed"
        assert await stage.heard(502) == await stage.heard(-4001) == []
