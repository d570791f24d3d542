"""Where scene blocks stand in a prompt, what they cost a small model, and what stays the same from turn to turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from familiar_connect.chat.message_parts import Emoji
from familiar_connect.chat.scene import Member
from familiar_connect.chat.types import SimplifiedMessage
from familiar_connect.config.channel import channel_config_for_mode
from familiar_connect.config.types import ChannelMode, PlaceSettings, PromptOrder
from familiar_connect.context.pipeline import ContextPipeline
from familiar_connect.context.protocols import ContextProvider
from familiar_connect.context.providers.character import CharacterProvider
from familiar_connect.context.providers.history import HistoryProvider
from familiar_connect.context.providers.owner_notes import ChannelNotesProvider
from familiar_connect.context.providers.scene.participants import ParticipantsProvider
from familiar_connect.context.providers.scene.server import AssetsProvider, ServerInfoProvider, ServerMemoriesProvider
from familiar_connect.context.render import PREAMBLE, RenderOptions
from familiar_connect.context.types import ContextItem, ItemTag, Layer
from familiar_connect.history.store import HistoryStore
from familiar_connect.llm.scripted import ScriptedModel
from familiar_connect.llm.types import Capabilities
from familiar_connect.memory.store import MemoryStore
from familiar_connect.reply.request import with_model_limits
from tests.fakes.context import ADA, BO, PLENTY, AddingPreProcessor, FixedProvider, a_piece
from tests.fakes.scene import HOUSE, entry_by, our_entry, request_in_place

TALK = (entry_by(ADA, "1"), our_entry("2"), entry_by(BO, "3"), our_entry("4"), entry_by(ADA, "5", in_exchange=True))
STOCKED = replace(
    HOUSE,
    emojis=(Emoji(name="tea"),),
    members=(Member(author=ADA, presence="online"), Member(author=BO)),
)


@pytest.fixture
def memory(tmp_path: Path) -> MemoryStore:
    store = MemoryStore(tmp_path / "memory")
    for stem, text in {
        "system_prompt": "Rules.",
        "post_history_instructions": "Last.",
        "description": "Small.",
    }.items():
        store.write_file(f"self/{stem}.md", text)
    store.write_file("servers/discord-5.md", "- The kettle is copper.")
    return store


async def the_items(
    memory: MemoryStore,
    *messages: SimplifiedMessage,
    order: PromptOrder = PromptOrder.classic,
    budgets: dict[Layer, int] | None = None,
    more: Sequence[ContextProvider] = (),
    before: Sequence[Any] = (),
    **request: Any,
) -> list[ContextItem]:
    store = HistoryStore(":memory:")
    providers = [
        *more,
        ParticipantsProvider(),
        AssetsProvider(),
        ServerMemoriesProvider(memory),
        ServerInfoProvider(),
        ChannelNotesProvider(memory),
        CharacterProvider(memory, samples=False),
        HistoryProvider(store=store, llm_client=ScriptedModel()),
    ]
    pipeline = ContextPipeline(
        providers, before, budget_by_layer=budgets or PLENTY, options=RenderOptions(prompt_order=order)
    )
    prompt = await pipeline.build_prompt(request_in_place(*messages, **{"scene": STOCKED} | request))
    store.close()
    return list(prompt.items)


def tags(items: Sequence[ContextItem]) -> list[str]:
    return [item.tag.value if item.tag else item.text for item in items]


async def test_the_table_is_the_order(memory: MemoryStore) -> None:
    """B18, B9: the preamble first, then the rows in their order; the moment before the latest pair."""
    items = await the_items(memory, *TALK, settings=PlaceSettings(channel_prompt="Whisper."))

    assert tags(items) == [
        "PREAMBLE",
        "RULES",
        "CHANNEL_PROMPT",
        "PERSONA",
        "SERVER_INFO",
        "SERVER_MEMORIES",
        "EMOJIS",
        "PARTICIPANTS",
        *["DIALOGUE"] * 3,
        "NOW",
        *["DIALOGUE"] * 2,
        "POST_HISTORY",
    ]
    assert items[0].text == PREAMBLE


async def test_stable_first_moves_the_moment_to_the_exchange(memory: MemoryStore) -> None:
    """B18: everything above it can stay as it is."""
    items = await the_items(memory, *TALK, order=PromptOrder.stable_first)

    assert tags(items)[-4:] == ["DIALOGUE", "NOW", "DIALOGUE", "POST_HISTORY"]


async def test_at_equal_depth(memory: MemoryStore) -> None:
    """B19: the moment, a note, then the words after the history."""
    settings = PlaceSettings(channel_note="Rain.", channel_note_depth=2)
    items = await the_items(memory, *TALK, settings=settings)
    note_last = await the_items(memory, *TALK, settings=replace(settings, channel_note_depth=0))

    at = tags(items).index("NOW")
    assert tags(items)[at : at + 2] == ["NOW", "AUTHOR_NOTE"]
    assert tags(note_last)[-2:] == ["AUTHOR_NOTE", "POST_HISTORY"]


async def test_a_note_deeper_than_the_talk_stands_before_it(memory: MemoryStore) -> None:
    """B102: before the first turn, and date spacers count as none (B104)."""
    items = await the_items(memory, *TALK, settings=PlaceSettings(channel_note="Rain.", channel_note_depth=50))

    assert tags(items)[tags(items).index("AUTHOR_NOTE") + 1] == "DIALOGUE"
    assert tags(items).count("DIALOGUE") == len(TALK)


async def test_untagged_blocks_and_early_notes_have_their_places(memory: MemoryStore) -> None:
    """B8: after the last slot of the layer; B7: what a pre-processor adds is placed by depth, not by a contributor."""
    extra = FixedProvider(a_piece("a fact of the scene", Layer.scene))
    items = tags(await the_items(memory, *TALK, more=[extra], before=[AddingPreProcessor("a thought")]))

    assert items.index("a fact of the scene") == items.index("PARTICIPANTS") + 1
    assert items.index("THINKING") > items.index("DIALOGUE")
    assert extra.asked[0].preprocessor_contributions == ()


async def test_the_prefix_holds_while_the_company_does(memory: MemoryStore) -> None:
    """Someone else speaks and somebody goes idle: all above the exchange is the same, byte for byte."""
    later = replace(STOCKED, members=(Member(author=ADA, presence="idle"), Member(author=BO, activity="tea")))
    before = await the_items(memory, *TALK, order=PromptOrder.stable_first)
    said = (*(replace(each, in_exchange=False) for each in TALK), our_entry("6"), entry_by(BO, "7", in_exchange=True))
    after = await the_items(memory, *said, order=PromptOrder.stable_first, scene=later, author=BO)

    shared = tags(before).index("NOW")
    assert shared > 8
    assert [item.text for item in before[:shared]] == [item.text for item in after[:shared]]


@pytest.mark.parametrize("mode", list(ChannelMode))
async def test_a_small_model_is_not_drowned(memory: MemoryStore, mode: ChannelMode) -> None:
    """Of the place it is told nothing; the channel's own words reach it."""
    small = with_model_limits(channel_config_for_mode(mode), Capabilities(budget_tokens=1000))
    items = await the_items(
        memory,
        *TALK,
        budgets=dict(small.budget_by_layer),
        settings=PlaceSettings(channel_prompt="Whisper."),
        budget_tokens=small.budget_tokens,
        mode=mode,
    )
    about_the_place = {ItemTag.SERVER_INFO, ItemTag.EMOJIS, ItemTag.PARTICIPANTS, ItemTag.NOW}

    assert not about_the_place & {item.tag for item in items}
    assert ItemTag.CHANNEL_PROMPT in {item.tag for item in items}


@pytest.mark.parametrize("mode", list(ChannelMode))
async def test_a_place_of_ordinary_size_is_told_whole(memory: MemoryStore, mode: ChannelMode) -> None:
    """Server, people and the time fit every mode's budget."""
    channel = channel_config_for_mode(mode)
    items = await the_items(
        memory, *TALK, budgets=dict(channel.budget_by_layer), budget_tokens=channel.budget_tokens, mode=mode
    )

    assert {ItemTag.SERVER_INFO, ItemTag.PARTICIPANTS, ItemTag.NOW} <= {item.tag for item in items}
