"""Whole prompts of real places: a busy channel, a direct message, a voice channel, a turn spoken for somebody.

Set UPDATE_GOLDEN=1 to write them anew; then look at the difference.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from familiar_connect.chat.build import build_turn
from familiar_connect.chat.message_parts import Attachment, Emoji, Reaction, ReferencedMessage, Sticker, WebhookIdentity
from familiar_connect.chat.scene import ChannelContext, ChannelKind, ChannelRef, Member, Role, Scene
from familiar_connect.chat.types import InboundMessage, TurnOptions, TurnSettings
from familiar_connect.config.channel import channel_config_for_mode
from familiar_connect.config.types import ChannelMode, PlaceSettings, PromptOrder
from familiar_connect.context.pipeline import ContextPipeline
from familiar_connect.context.providers.character import CharacterProvider, SampleDialoguesProvider
from familiar_connect.context.providers.history import HistoryProvider
from familiar_connect.context.providers.owner_notes import ChannelNotesProvider
from familiar_connect.context.providers.scene.participants import ParticipantsProvider
from familiar_connect.context.providers.scene.server import AssetsProvider, ServerInfoProvider, ServerMemoriesProvider
from familiar_connect.context.render import RenderOptions
from familiar_connect.extensions.host import PlatformHost, ReadBy
from familiar_connect.extensions.twitch.place import WRITING_NOTE
from familiar_connect.history.store import HistoryStore
from familiar_connect.identity import Author, FixedPrivacy, PrivacyLevel
from familiar_connect.llm.scripted import ScriptedModel
from familiar_connect.llm.types import Message
from familiar_connect.memory.store import MemoryStore
from familiar_connect.reply.request import scene_for_turn, to_request
from familiar_connect.support.clock import ManualClock
from tests.fakes.chat import WREN, FakeChannel, an_exchange
from tests.fakes.context import ADA, BO, CY

PROMPTS = Path(__file__).parent.parent / "prompts"
RULE = "-" * 24
START = datetime(2026, 3, 1, 17, 30, tzinfo=UTC)
DEE = Author("irc", "dee", "dee", "Dee")

SELF = {
    "system_prompt": "You are Wren, keeper of the lighthouse library. Stay in character.",
    "name": "Wren",
    "description": "Wren is small, grey and curious. She has read every book in the tower but one.",
    "personality": "Dry, kind, easily distracted by the sea.",
    "post_history_instructions": "Answer in at most three sentences.",
    "mes_example": "<START>\n{{user}}: Is it open?\n{{char}}: It is always open, {{user}}. It is the door that sticks.",
}
KEPT = (
    "# The lighthouse\n\n- [id:1] The lamp is lit at six.\n- [id:2] Bo broke the third step. (tags: step)\n"
    "- [id:3] Fridays are for sea shanties. (tags: #music)\n"
)
KEEPER, GUEST = Role(role_id="31", name="Keeper", position=5), Role(role_id="32", name="Guest", position=1)
EVERYONE = Role(role_id="30", name="@everyone")
HOUSE = Scene(
    server_name="The Lighthouse",
    server_description="A place for readers. {char} keeps it; ask in <#9> for a room.",
    server_id=5,
    channel=ChannelContext("reading-room", ChannelKind.text),
    me=WREN,
    own_name="Wren",
    members=(
        Member(
            author=ADA,
            global_name="Ada Lowe",
            presence="online",
            activity="listening to rain",
            roles=(EVERYONE, GUEST, KEEPER),
        ),
        Member(author=BO, server_nickname="Bo", presence="idle", roles=(EVERYONE, GUEST)),
        Member(author=CY, saved_nickname="Captain", presence="online", roles=(EVERYONE, GUEST)),
    ),
    participants=(ADA, BO, CY),
    channels=(ChannelRef(channel_id=7, name="reading-room"), ChannelRef(channel_id=9, name="harbour")),
    emojis=(Emoji(name="wave", emoji_id="11", note="joy; a small wave"), Emoji(name="lamp", emoji_id="12")),
    stickers=(Sticker(name="Storm", sticker_id="21", description="Dark clouds over the tower"),),
)
LEVELS = {CY.canonical_key: PrivacyLevel.PARTIAL}


def said(text: str, author: Author, minute: int, **more: Any) -> InboundMessage:
    facts: dict[str, Any] = {
        "platform": author.platform,
        "channel_id": 7,
        "author": author,
        "text": text,
        "timestamp": START + timedelta(minutes=minute),
        "message_id": str(1000 + minute),
        "is_self": author is WREN,
    }
    return InboundMessage(**facts | more)


BUSY = (
    said("We made it before the rain.", ADA, 0),
    said("Barely. Mind the third step.", WREN, 1, reactions=(Reaction(label="😅", count=1, users=(BO,)),)),
    said("Which step?", BO, 2, reply_to=ReferencedMessage(message_id="1001", author=WREN, text="…", is_self=True)),
    said("The one you sat on.", CY, 3, attachments=(Attachment(url="https://x.test/step.png", mime="image/png"),)),
    said("ahoy from the harbour", WREN, 4, is_self=False, webhook=WebhookIdentity(webhook_id="77", name="Harbour")),
    said("evening all", DEE, 5, webhook=WebhookIdentity(webhook_id="78", name="Dee", bridge_user=DEE)),
    said("<@99> which book have you not read?", ADA, 6),
)
LETTERS = (
    said("Are you still up?", ADA, 0),
    said("The lamp does not light itself.", WREN, 1),
    said("Tell me about the blue book.", ADA, 2),
)
CALL = (
    said("Can you hear me?", ADA, 0, is_voice=True),
    said("Over the wind, yes.", WREN, 1, is_voice=True),
    said("Good. Is the door open?", BO, 2, is_voice=True),
)
LETTER_SCENE = Scene(channel=ChannelContext("Ada", ChannelKind.dm), is_dm=True, me=WREN, members=HOUSE.members[:1])
CALL_SCENE = replace(HOUSE, channel=ChannelContext("Lamp Room", ChannelKind.voice))

STREAM = (
    said("PogChamp that jump", ADA, 0, platform="twitch"),
    said("[Twitch] Bo has raided the channel with 12 viewers", BO, 1, platform="twitch", message_id="event:1"),
    said("Welcome in, raiders!", WREN, 2, platform="twitch"),
    said(
        "Wren, which book?",
        ADA,
        3,
        platform="twitch",
        reply_to=ReferencedMessage(message_id="1002", author=WREN, text="Welcome in, raiders!", is_self=True),
    ),
)
STREAM_SCENE = replace(PlatformHost.scene("wren_reads", read_by=ReadBy.everyone, writing_note=WRITING_NOTE), me=WREN)

PLACES: dict[str, dict[str, Any]] = {
    "busy_channel": {
        "messages": BUSY,
        "scene": HOUSE,
        "settings": PlaceSettings(
            channel_prompt="This is the reading room: speak softly.",
            channel_note="The storm is getting closer.",
            channel_note_depth=1,
        ),
    },
    "direct_message": {"messages": LETTERS, "scene": LETTER_SCENE, "guild_id": None},
    "voice_channel": {
        "messages": CALL,
        "scene": CALL_SCENE,
        "mode": ChannelMode.imitate_voice,
        "is_voice": True,
    },
    "twitch_chat": {"messages": STREAM, "scene": STREAM_SCENE, "guild_id": None},
    "impersonation": {
        "messages": BUSY[:4],
        "scene": HOUSE,
        "asked": TurnOptions(
            imitate=BO, imitate_style="{user} writes in lower case and never apologises.", manual=True
        ),
    },
}


async def the_messages(
    folder: Path,
    order: PromptOrder,
    *,
    messages: Sequence[InboundMessage],
    scene: Scene,
    settings: PlaceSettings | None = None,
    mode: ChannelMode = ChannelMode.text_conversation_rp,
    asked: TurnOptions | None = None,
    guild_id: int | None = 5,
    is_voice: bool = False,
) -> list[Message]:
    """What the model is sent."""
    memory = MemoryStore(folder / "memory")
    for stem, text in SELF.items():
        memory.write_file(f"self/{stem}.md", text)
    memory.write_file("servers/discord-5.md", KEPT)
    now = messages[-1].timestamp + timedelta(seconds=20)
    clock = ManualClock(now)
    store = HistoryStore(":memory:", clock=clock)
    exchange = an_exchange(messages[-1], asked=asked or TurnOptions(), guild_id=guild_id, is_voice=is_voice)
    turn = await build_turn(
        exchange, FakeChannel(messages, scene), settings=TurnSettings(persona="Wren"), scene=scene, now=now
    )
    channel = replace(channel_config_for_mode(mode), place=settings or PlaceSettings())
    providers = [
        CharacterProvider(memory, samples=False),
        ChannelNotesProvider(memory),
        ServerInfoProvider(),
        ServerMemoriesProvider(memory),
        AssetsProvider(sticker_tool="send_sticker"),
        ParticipantsProvider(privacy=FixedPrivacy(LEVELS), clock=clock),
        SampleDialoguesProvider(memory),
        HistoryProvider(store=store, llm_client=ScriptedModel()),
    ]
    model = ScriptedModel(["Hm."])
    pipeline = ContextPipeline(
        providers,
        model=model,
        budget_by_layer=channel.budget_by_layer,
        options=RenderOptions(prompt_order=order),
        persona="Wren",
    )
    await pipeline.run(to_request(turn, channel, scene=scene_for_turn(turn, scene)))
    store.close()
    return model.calls[0]


def readable(messages: list[Message]) -> str:
    return "".join(f"{RULE} {m.role}{f' ({m.name})' if m.name else ''}\n{m.content}\n" for m in messages)


@pytest.mark.parametrize("order", list(PromptOrder), ids=lambda order: order.value)
@pytest.mark.parametrize("place", list(PLACES))
async def test_the_prompt_of_a_place_reads_as_it_did(place: str, order: PromptOrder, tmp_path: Path) -> None:
    """B18: where we are, who is there, what was said and when, in the order of the table."""
    golden = PROMPTS / f"{place}.{order.value}.txt"
    now = readable(await the_messages(tmp_path, order, **PLACES[place]))
    if os.environ.get("UPDATE_GOLDEN") == "1":
        golden.write_text(now, encoding="utf-8")
    before = golden.read_text(encoding="utf-8")
    changes = difflib.unified_diff(before.splitlines(), now.splitlines(), golden.name, "now", lineterm="")

    assert now == before, "\n".join(changes)
