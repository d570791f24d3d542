"""Whole prompts, as a person would read them, for every mode in both orders.

Set UPDATE_GOLDEN=1 to write them anew; then look at the difference.
"""

from __future__ import annotations

import difflib
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from familiar_connect.chat.types import Directives, Turn
from familiar_connect.config.types import ChannelMode, PromptOrder
from familiar_connect.context.pipeline import ContextPipeline
from familiar_connect.context.processors.stepped_thinking import SteppedThinkingPreProcessor
from familiar_connect.context.providers.character import CharacterProvider
from familiar_connect.context.providers.history import HistoryProvider
from familiar_connect.context.providers.mode_instructions import ModeInstructionProvider
from familiar_connect.context.render import RenderOptions
from familiar_connect.context.types import ContextRequest, Contribution, ItemTag, Layer, Modality, PendingTurn
from familiar_connect.history.store import HistoryStore
from familiar_connect.llm.scripted import ScriptedModel
from familiar_connect.llm.types import Message
from familiar_connect.memory.store import MemoryStore
from familiar_connect.support.clock import ManualClock
from tests.fakes.context import ADA, BO, CY, PLENTY, FixedProvider, a_piece

PROMPTS = Path(__file__).parent.parent / "prompts"
RULE = "-" * 24

SELF = {
    "system_prompt": "You are Wren, keeper of the lighthouse library. Stay in character.",
    "name": "Wren",
    "description": "Wren is small, grey and curious. She has read every book in the tower but one.",
    "personality": "Dry, kind, easily distracted by the sea.",
    "scenario": "Evening. A storm is coming up, and three guests are staying the night.",
    "post_history_instructions": "Answer in at most three sentences.",
    "mes_example": "<START>\n{{user}}: Is it open?\n{{char}}: The library is always open. It is the door that sticks.",
    "creator_notes": "Never shown.",
}
NOTES = {
    ChannelMode.full_rp: "A scene: write actions between asterisks.",
    ChannelMode.text_conversation_rp: "A chat: write as people type.",
    ChannelMode.imitate_voice: "A call: write as people speak.",
}
SAID = [
    (7, ADA, "We made it before the rain.", 0),
    (7, None, "Barely. Mind the third step.", 20),
    (7, BO, "Which book have you not read?", 40),
    (9, CY, "The boat is tied up for the night.", 240),
    (7, None, "The one you are sitting on.", 200),
]
NEW = [(BO, "Oh."), (ADA, "Give it to her, Bo!")]


def an_archive(clock: ManualClock, mode: ChannelMode) -> HistoryStore:
    """What three people said, in two rooms, with a summary and news cached."""
    store = HistoryStore(":memory:", clock=clock)
    for channel, author, content, after_s in SAID:
        clock.advance(after_s)
        role = "user" if author else "assistant"
        store.append_turn(familiar_id="wren", channel_id=channel, role=role, content=content, author=author, mode=mode)
    store.put_summary(familiar_id="wren", last_summarised_id=5, summary_text="Ada and Bo came by boat with Cy.")
    store.put_cross_context(
        familiar_id="wren",
        viewer_mode=mode.value,
        source_channel_id=9,
        source_last_id=5,
        summary_text="Cy has tied up the boat.",
    )
    return store


def the_rest() -> list[Contribution]:
    """Blocks that other contributors bring."""
    return [
        a_piece("# Ada\nSails. Afraid of thunder.", tag=ItemTag.PEOPLE, key=ADA.slug, priority=85, source="people:ada"),
        a_piece("# Bo\nSits on things.", tag=ItemTag.PEOPLE, key=BO.slug, priority=85, source="people:bo"),
        a_piece("From your notes: the unread book has a blue spine.", tag=ItemTag.FOUND, priority=70, volatile=True),
        a_piece(
            "[It is Sunday, 12:09. Here: Ada, Bo.]",
            Layer.scene,
            tag=ItemTag.NOW,
            role="user",
            depth=2,
            volatile=True,
            directives=Directives(lower=("Bo sounds embarrassed.",), tail=("Reply to Ada.",)),
        ),
    ]


async def the_messages(mode: ChannelMode, order: PromptOrder, tmp_path: Path) -> list[Message]:
    """What the model is sent."""
    clock = ManualClock(datetime(2026, 3, 1, 12, 0, tzinfo=UTC))
    memory = MemoryStore(tmp_path / "memory")
    for stem, text in SELF.items():
        memory.write_file(f"self/{stem}.md", text)
    (tmp_path / "modes").mkdir()
    (tmp_path / "modes" / f"{mode.value}.md").write_text(NOTES[mode], encoding="utf-8")
    store = an_archive(clock, mode)
    clock.advance(90)
    rows = [
        store.append_turn(familiar_id="wren", channel_id=7, role="user", content=text, author=author, mode=mode)
        for author, text in NEW
    ]
    model = ScriptedModel(["Bo, up."])
    history = HistoryProvider(store=store, llm_client=ScriptedModel(), window_size=10)
    pipeline = ContextPipeline(
        [
            CharacterProvider(memory),
            history,
            ModeInstructionProvider(modes_root=tmp_path / "modes", mode=mode),
            FixedProvider(*the_rest()),
        ],
        [SteppedThinkingPreProcessor(llm_client=ScriptedModel(["Ada wants the book; Bo is sitting on it."]))],
        model=model,
        budget_by_layer=PLENTY,
        options=RenderOptions(prompt_order=order),
        persona="Wren",
    )
    request = ContextRequest(
        "wren",
        7,
        None,
        ADA,
        NEW[-1][1],
        Modality.text,
        8000,
        30.0,
        pending_turns=tuple(PendingTurn(r.author, r.content, r.id) for r in rows),
        interruption_context="You were about to light the lamp when they spoke.",
        mode=mode,
        before_id=rows[0].id,
        turn=Turn(familiar_id="wren", channel_id=7, said=(), directives=Directives(prefill="Well,")),
    )
    await pipeline.run(request)
    await history.aclose()
    store.close()
    return model.calls[0]


def readable(messages: list[Message]) -> str:
    return "".join(f"{RULE} {m.role}{f' ({m.name})' if m.name else ''}\n{m.content}\n" for m in messages)


@pytest.mark.parametrize("order", list(PromptOrder), ids=lambda order: order.value)
@pytest.mark.parametrize("mode", list(ChannelMode), ids=lambda mode: mode.value)
async def test_the_prompt_reads_as_it_did(mode: ChannelMode, order: PromptOrder, tmp_path: Path) -> None:
    """Character, summary, people, news, dialogue, found memory, thought, new messages and last words."""
    golden = PROMPTS / f"{mode.value}.{order.value}.txt"
    now = readable(await the_messages(mode, order, tmp_path))
    if os.environ.get("UPDATE_GOLDEN") == "1":
        golden.write_text(now, encoding="utf-8")
    before = golden.read_text(encoding="utf-8")
    changes = difflib.unified_diff(before.splitlines(), now.splitlines(), golden.name, "now", lineterm="")

    assert now == before, "\n".join(changes)
