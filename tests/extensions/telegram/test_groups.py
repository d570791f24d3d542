"""Groups on a Telegram of our own: what is heard there, who may hear of it, and what becomes of groups."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("telegram", reason="the Telegram library is an extra")

from familiar_connect.extensions.telegram.demo.deeds import Deeds
from familiar_connect.extensions.telegram.demo.pictures import draw_picture
from familiar_connect.extensions.telegram.demo.server import TelegramServer
from familiar_connect.extensions.telegram.demo.world import TelegramChat
from familiar_connect.extensions.telegram.settings import Settings
from tests.fakes.telegram_stage import OWNER_ID, TelegramStage, telegram_stage

GROUP, SUPERGROUP, OPEN = -4001, -100_400_4, -100_400_5


class Scene:
    """A server with an owner, Ada, and a group that the owner has added the bot to once `enter` was called."""

    def __init__(self, *, chat_id: int = GROUP, username: str | None = None, is_forum: bool = False) -> None:
        self.server = TelegramServer()
        self.world = self.server.world
        self.world.set_privacy(is_on=False)
        self.deeds = Deeds(self.server)
        self.owner, self.ada = self.world.user("you", OWNER_ID), self.world.user("ada", 502)
        self.chat: TelegramChat = self.world.group(chat_id, "Kitchen", username=username, is_forum=is_forum)
        self.chat.statuses |= {self.owner.id: "creator", self.ada.id: "member"}

    async def enter(self, stage: TelegramStage) -> None:
        self.deeds.add_bot(self.owner, self.chat)
        await stage.until_idle()


SETTINGS = Settings(owner=str(OWNER_ID), dms="everyone")


async def test_a_group_is_heard_once_the_owner_has_added_the_bot(tmp_path: Path) -> None:
    """A stranger's group is told what it takes, and nothing of it is kept; the owner's /start lets it in."""
    scene = Scene()
    async with telegram_stage(tmp_path, scene.server, settings=SETTINGS, replies=("Hello, Ada.",)) as stage:
        scene.deeds.add_bot(scene.ada, scene.chat)
        scene.server.say(scene.ada, "Ember, hello?", scene.chat)
        await stage.until_idle()
        assert scene.server.list_sent() == ["I listen here once my owner writes /start@ember_bot in this group."]
        assert await stage.heard(GROUP) == []
        scene.server.say(scene.owner, "/start@ember_bot", scene.chat)
        scene.server.say(scene.ada, "Ember, hello!", scene.chat)
        await stage.until_sent(3)

        assert scene.server.list_sent()[1:] == ["Ember listens here now.", "Hello, Ada."]
        assert await stage.heard(GROUP) == ["Ember, hello!"]


async def test_what_is_said_in_a_group_stays_there(tmp_path: Path) -> None:
    """A bot does not know who is in a group: nothing of it is told in anybody's direct chat, nor the other way."""
    scene = Scene()
    async with telegram_stage(tmp_path, scene.server, settings=SETTINGS, replies=("One.", "Two.", "Three.")) as stage:
        await scene.enter(stage)
        scene.server.say(scene.ada, "Ember, the password of the cellar is swordfish", scene.chat)
        await stage.until_sent(1)
        scene.server.say(scene.ada, "What is the password?")
        await stage.until_sent(2)
        scene.server.say(scene.ada, "Ember, what did I write to you alone?", scene.chat)
        await stage.until_sent(3)
        alone, together = (str(request) for request in stage.house.model.calls[1:])

        number = await stage.host.number_of(str(GROUP))
        assert str((await stage.history(GROUP))[0].audience) == f"server:telegram:{number}"
        assert "swordfish" not in alone
        assert "swordfish" in together
        assert "What is the password?" not in together


async def test_a_group_with_a_user_name_is_read_by_everybody(tmp_path: Path) -> None:
    """Until it has none any more; what is said then is the group's again."""
    scene = Scene(chat_id=OPEN, username="the_market")
    async with telegram_stage(tmp_path, scene.server, settings=SETTINGS) as stage:
        await scene.enter(stage)
        scene.server.say(scene.ada, "open words", scene.chat)
        scene.chat.username = None
        scene.server.say(scene.ada, "closed words", scene.chat)
        await stage.until_idle()

        audiences = [str(turn.audience).partition(":")[0] for turn in await stage.history(OPEN)]
        assert audiences == ["everyone", "server"]


async def test_a_group_that_becomes_a_supergroup_stays_what_it_was(tmp_path: Path) -> None:
    """Another id, and messages counted from the first: nothing is taken for something older, and replies arrive."""
    scene = Scene()
    replies = ("One.", "Two.", "Three.")
    async with telegram_stage(tmp_path, scene.server, settings=SETTINGS, replies=replies) as stage:
        await scene.enter(stage)
        scene.server.say(scene.ada, "Ember, my cat is called Pickle", scene.chat)
        await stage.until_sent(1)
        new = scene.deeds.upgrade(scene.owner, scene.chat, SUPERGROUP)
        for words in ("a", "b", "Ember, what is my cat called?"):
            scene.server.say(scene.ada, words, new)
        await stage.until_sent(2)
        await stage.until_idle()

        assert await stage.heard(GROUP) == ["Ember, my cat is called Pickle", "a", "b", "Ember, what is my cat called?"]
        assert scene.server.list_sent(new) == ["Two."]
        assert "Pickle" in str(stage.house.model.calls[-1])
    async with telegram_stage(tmp_path, scene.server, settings=SETTINGS, replies=("Four.",)) as stage:
        scene.server.say(scene.ada, "Ember, and now?", new)
        await scene.server.until(lambda: scene.server.list_sent(new)[-1] == "Four.", within_s=60)
        assert "Pickle" in str(stage.house.model.calls[-1]), "after a restart as well"


async def test_topics_of_a_group_are_channels_that_the_same_people_read(tmp_path: Path) -> None:
    """Each has its own talk; the general one has no id to write to."""
    scene = Scene(chat_id=SUPERGROUP, is_forum=True)
    async with telegram_stage(tmp_path, scene.server, settings=SETTINGS, replies=("One.", "Two.")) as stage:
        await scene.enter(stage)
        topic = scene.deeds.add_topic(scene.owner, scene.chat, "packing")
        scene.deeds.say_in_topic(scene.ada, "Ember, the tent is with Ben", scene.chat, topic)
        await stage.until_sent(1)
        scene.server.say(scene.ada, "Ember, hello all", scene.chat)
        await stage.until_sent(2)
        await stage.until_idle()
        posted = [each.result for each in scene.server.api.calls if each.method == "sendMessage"]

        assert [each.get("message_thread_id") for each in posted] == [topic, None]
        assert await stage.heard(f"{SUPERGROUP}/{topic}") == ["Ember, the tent is with Ben"]
        assert "packing" in str(stage.house.model.calls[0])
        turns = [*await stage.history(SUPERGROUP), *await stage.history(f"{SUPERGROUP}/{topic}")]
        assert len({str(turn.audience) for turn in turns}) == 1


async def test_messages_are_heard_with_all_that_they_hold(tmp_path: Path) -> None:
    """An album is one message, a forward says whose it is, an edit replaces, a reply and a reaction are shown."""
    scene = Scene()
    async with telegram_stage(tmp_path, scene.server, settings=SETTINGS, replies=("One.", "Two.")) as stage:
        await scene.enter(stage)
        chat, ada = scene.chat, scene.ada
        scene.deeds.album(ada, [draw_picture(1), draw_picture(2)], chat, "the harbour at noon")
        scene.deeds.voice(ada, b"OggS", chat)
        scene.deeds.sticker(ada, draw_picture(3), chat, "🐙", "Kettles")
        scene.deeds.forward(ada, "The boat leaves at five.", chat, {"type": "hidden_user", "sender_user_name": "Joe"})
        typo = scene.server.say(ada, "we meet at six", chat)
        scene.deeds.edit(chat, typo["message_id"], "we meet at seven")
        anonymous = scene.deeds.write_as_group("Dinner is ready.", chat)
        await stage.until_idle()
        scene.deeds.reply(ada, "@ember_bot when does it leave, and where is this?", anonymous, chat)
        await stage.until_sent(1)
        asked = str(stage.house.model.calls[-1])

        assert len(await stage.heard(GROUP)) == 7
        for words in ("the harbour at noon", "Joe", "The boat leaves at five.", "we meet at seven", "🐙", "Kitchen"):
            assert words in asked, words
        assert "we meet at six" not in asked
        assert "/file/bot" not in asked


async def test_somebody_sent_the_bot_out(tmp_path: Path) -> None:
    """It listens no more, says so to whoever runs it, and comes back only when the owner lets it in."""
    scene = Scene()
    async with telegram_stage(tmp_path, scene.server, settings=SETTINGS) as stage:
        await scene.enter(stage)
        scene.deeds.remove_bot(scene.ada, scene.chat)
        scene.deeds.add_bot(scene.ada, scene.chat)
        scene.server.say(scene.ada, "Ember, are you there?", scene.chat)
        await stage.until_idle()

        assert await stage.heard(GROUP) == []
        assert "Telegram: Ember is no longer in Kitchen." in stage.told
