"""What a Discord message holds besides its words, and what becomes of it later."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from familiar_connect.chat.types import InboundMessage
from familiar_connect.extensions.discord.demo.world import MEMBER_JOIN, VOICE_MESSAGE_FLAG, FakePerson
from familiar_connect.extensions.discord.inbound import to_inbound
from familiar_connect.extensions.discord.place import DiscordPlace
from familiar_connect.history.message_edits import MessageEdits
from familiar_connect.history.types import DELETED
from familiar_connect.identity import PrivacyLevel
from tests.fakes.familiar_on_discord import FamiliarOnDiscord, familiar_on_discord
from tests.fakes.waiting import until

PICTURE = {
    "id": "77",
    "filename": "badger.png",
    "size": 1234,
    "url": "https://cdn.invalid/badger.png",
    "proxy_url": "https://media.invalid/badger.png",
    "content_type": "image/png",
}


def place_in(den: FamiliarOnDiscord) -> DiscordPlace:
    """The room as the platform knows it."""
    assert den.platform is not None
    found = den.platform._places.get(den.room.id)
    assert found is not None
    return found


async def seen(den: FamiliarOnDiscord, text: str) -> InboundMessage:
    """The message as a reply would be shown it."""
    await den.wait_stored(text)
    assert den.platform is not None
    place = place_in(den)
    return next(message for message in await place.recent(50) if text in message.text)


async def test_pictures_and_stickers_come_along(tmp_path: Path) -> None:
    """With name, kind and address."""
    async with familiar_on_discord(tmp_path) as den:
        sticker = {"id": "5", "name": "wave", "format_type": 1}
        await den.server.post(den.room, den.ada, "look", attachments=[PICTURE], sticker_items=[sticker])
        message = await seen(den, "look")

        assert [(each.filename, each.mime, each.is_voice) for each in message.attachments] == [
            ("badger.png", "image/png", False)
        ]
        assert [each.name for each in message.stickers] == ["wave"]


async def test_a_voice_message_is_marked_as_one(tmp_path: Path) -> None:
    """Somebody may listen to it later."""
    spoken = PICTURE | {
        "filename": "voice-message.ogg",
        "content_type": "audio/ogg",
        "duration_secs": 2.5,
        "waveform": "AAAA",
    }

    async with familiar_on_discord(tmp_path) as den:
        await den.server.post(den.room, den.ada, "", attachments=[spoken], flags=VOICE_MESSAGE_FLAG)
        await until(lambda: len(den.history()) == 1)
        assert den.platform is not None
        message = (await place_in(den).recent(1))[0]

        assert [each.is_voice for each in message.attachments] == [True]


async def test_a_reply_says_what_it_answers(tmp_path: Path) -> None:
    """Its words and who said them."""
    async with familiar_on_discord(tmp_path) as den:
        first = await den.server.post(den.room, den.ben, "I dig badgers")
        await den.server.reply(den.room, den.ada, "me too", to=first)
        message = await seen(den, "me too")

        assert message.reply_to is not None
        assert message.reply_to.text == "I dig badgers"
        assert message.reply_to.author is not None
        assert message.reply_to.author.label == "Ben"
        assert not message.is_reply_to_us


async def test_a_reply_to_something_deleted_keeps_its_id(tmp_path: Path) -> None:
    """And nothing else."""
    async with familiar_on_discord(tmp_path) as den:
        reference = {"message_id": "12345", "channel_id": str(den.room.id)}
        more: dict[str, Any] = {"type": 19, "message_reference": reference, "referenced_message": None}
        await den.server.post(den.room, den.ada, "what?", **more)
        message = await seen(den, "what?")

        assert message.reply_to is not None
        assert message.reply_to.message_id == "12345"
        assert message.reply_to.author is None


async def test_a_forward_carries_what_was_passed_on(tmp_path: Path) -> None:
    """As the snapshot has it."""
    async with familiar_on_discord(tmp_path) as den:
        snapshot = {
            "content": "a tale of badgers",
            "embeds": [],
            "attachments": [PICTURE],
            "timestamp": "2025-05-05T12:00:00+00:00",
            "edited_timestamp": None,
            "flags": 0,
            "type": 0,
            "mentions": [],
            "components": [],
        }
        reference = {"type": 1, "message_id": str(den.server.world.new_id()), "channel_id": str(den.room.id)}
        more: dict[str, Any] = {"message_reference": reference, "message_snapshots": [{"message": snapshot}]}
        await den.server.post(den.room, den.ada, "fwd", **more)
        message = await seen(den, "fwd")

        assert [each.text for each in message.forwards] == ["a tale of badgers"]
        assert message.forwards[0].attachments[0].filename == "badger.png"
        assert message.forwards[0].channel_name == "general"
        assert message.reply_to is None


async def test_a_link_preview_is_an_embed(tmp_path: Path) -> None:
    """Somebody else's, not a notice of ours."""
    embed = {"type": "rich", "title": "Badgers", "description": "All of them", "fields": [{"name": "n", "value": "v"}]}

    async with familiar_on_discord(tmp_path) as den:
        await den.server.post(den.room, den.ada, "read this", embeds=[embed])
        message = await seen(den, "read this")

        assert message.embeds[0].title == "Badgers"
        assert message.embeds[0].fields[0].value == "v"
        assert message.embeds[0].notice is None


async def test_reactions_show_as_they_are_now(tmp_path: Path) -> None:
    """Who gave them can be asked."""
    async with familiar_on_discord(tmp_path) as den:
        said = await den.server.post(den.room, den.ada, "a joke")
        await den.wait_stored("a joke")
        await den.server.react(den.room, said, den.ben, "😂")
        assert den.platform is not None
        place = place_in(den)
        await until(lambda: den.platform is not None and den.platform._client.get_message(int(said["id"])).reactions)
        message = (await place.recent(1))[0]

        assert [(each.label, each.count, each.by_us) for each in message.reactions] == [("😂", 1, False)]
        assert [author.label for author in await place.reactors(said["id"], "😂", 5)] == ["Ben"]


async def test_someone_joining_is_no_message_but_is_told(tmp_path: Path) -> None:
    """A join is heard as one; a pin is nobody speaking."""
    async with familiar_on_discord(tmp_path) as den:
        await den.server.post(den.room, den.ben, "", type=6)
        await den.server.post(den.room, den.ben, "", type=MEMBER_JOIN)
        await until(lambda: len(den.history()) == 1)
        assert den.platform is not None
        message = (await place_in(den).recent(1))[0]

        assert message.kind == "join"


async def test_an_edited_message_reads_as_it_does_now(tmp_path: Path) -> None:
    """What it read before is kept for the owner, and no prompt shows it."""
    async with familiar_on_discord(tmp_path) as den:
        said = await den.server.post(den.room, den.ada, "I love ska")
        before = await den.wait_stored("I love ska")
        await den.server.edit(den.room, said, "I love jazz")
        after = await den.wait_stored("I love jazz")
        kept = MessageEdits(den.familiar.history_store, den.familiar.id).edits_of_turn(before.id)

        assert after.id == before.id
        assert [(each.said_before, each.was_deleted) for each in kept] == [("I love ska", False)]


async def test_a_preview_added_by_discord_is_no_edit(tmp_path: Path) -> None:
    """The same words leave no trace."""
    async with familiar_on_discord(tmp_path) as den:
        said = await den.server.post(den.room, den.ada, "see https://example.invalid")
        stored = await den.wait_stored("see https")
        await den.server.edit(den.room, said, said["content"])
        await den.server.post(den.room, den.ada, "afterwards")
        await den.wait_stored("afterwards")

        assert MessageEdits(den.familiar.history_store, den.familiar.id).edits_of_turn(stored.id) == []


async def test_deleted_messages_are_shown_to_nobody(tmp_path: Path) -> None:
    """One alone and several at once; only the fact remains."""
    async with familiar_on_discord(tmp_path) as den:
        said = [await den.server.post(den.room, den.ada, f"secret {number}") for number in range(3)]
        await den.wait_stored("secret 2")
        await den.server.delete(den.room, said[0])
        await den.server.delete(den.room, said[1], said[2])
        await until(lambda: [words for _, words in den.roles_and_texts()] == [DELETED] * 3)
        kept = MessageEdits(den.familiar.history_store, den.familiar.id).edits_of_turn(den.history()[0].id)

        assert [(each.said_before, each.was_deleted) for each in kept] == [("secret 0", True)]


async def test_new_words_of_a_private_person_are_not_kept(tmp_path: Path) -> None:
    """Who became private and edits an old message is forgotten in it, not quoted."""
    async with familiar_on_discord(tmp_path) as den:
        said = await den.server.post(den.room, den.ada, "old words")
        turn = await den.wait_stored("old words")
        assert turn.author is not None
        den.familiar.stores.privacy.set(turn.author, PrivacyLevel.FULL)
        await den.server.edit(den.room, said, "new words")
        await den.wait_stored(DELETED)

        assert "new words" not in str(den.roles_and_texts())


async def test_the_scene_is_what_the_server_looks_like(tmp_path: Path) -> None:
    """Server, channel, topic, people, roles, emojis and stickers; looked at anew when it changes."""
    async with familiar_on_discord(tmp_path, arrive=False) as den:
        den.server.world.role(den.guild, "Digger", id=900)
        den.ada.roles = (900,)
        den.ada.nick = "Addie"
        den.guild.emojis[901] = "badger"
        den.guild.stickers[902] = "wave"
        await den.connect()
        await den.mention("hello")
        await den.server.until_replied(den.room)
        assert den.platform is not None
        place = place_in(den)
        scene = await place.scene()
        den.room.topic = "Badgers only"
        await den.server.gateway.dispatch("CHANNEL_UPDATE", den.room.payload())
        await until(lambda: den.platform is not None and den.platform._scenes.get(den.room.id) is None)
        later = await place.scene()

        assert (scene.server_name, scene.server_description) == ("The Burrow", "A cosy place")
        assert scene.channel is not None
        assert (scene.channel.name, scene.channel_topic) == ("general", "Anything goes")
        assert [(m.author.label, m.server_nickname, m.presence) for m in scene.members] == [
            ("Addie", "Addie", "online")
        ]
        assert [role.name for role in scene.members[0].roles] == ["Digger"]
        assert [emoji.name for emoji in scene.emojis] == ["badger"]
        assert [sticker.name for sticker in scene.stickers] == ["wave"]
        assert scene.me is not None
        assert later.channel_topic == "Badgers only"


async def test_a_webhook_is_the_familiar_by_its_application_and_by_nothing_else(tmp_path: Path) -> None:
    """As it is heard, as it is looked up later, and as it is answered; a name and a picture tell nothing."""
    async with familiar_on_discord(tmp_path) as den:
        world = den.server.world
        hook = FakePerson(world.new_id(), world.bot.username, world.bot.display_name, is_bot=True)
        posted = [
            await den.server.post(den.room, hook, "of our own", webhook_id="71", application_id=str(world.bot.id)),
            await den.server.post(den.room, hook, "of another", webhook_id="72", application_id=str(den.ada.id)),
            await den.server.post(den.room, hook, "of nobody", webhook_id="73"),
        ]
        replies = [await den.server.reply(den.room, den.ada, "what was that?", each) for each in posted]
        assert den.platform is not None
        client = den.platform._client
        await until(lambda: client.get_message(int(replies[-1]["id"])) is not None)

        def read(live: Any) -> InboundMessage:
            found = to_inbound(live, me=client.user.id, application=client.application_id)
            assert found is not None
            return found

        heard = [read(client.get_message(int(each["id"]))) for each in posted]
        channel = client.get_channel(den.room.id)
        fetched = [read(await channel.fetch_message(int(each["id"]))) for each in posted]
        listed = sorted([read(each) async for each in channel.history(limit=6)], key=lambda each: each.message_id or "")
        answered = [read(client.get_message(int(each["id"]))).reply_to for each in replies]

    assert [each.is_self for each in heard] == [True, False, False]
    assert [each.is_self for each in fetched] == [True, False, False]
    assert [each.is_self for each in listed if each.webhook is not None] == [True, False, False]
    assert [each is not None and each.is_self for each in answered] == [True, False, False]
