"""Texts among the chat: in-chat prompts of the preset, author's note, the card's depth prompt, persona at depth."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from familiar_connect.context.types import Layer
from familiar_connect.llm.types import Role
from familiar_connect.presets.depth_groups import DepthText, group_by_depth
from familiar_connect.presets.sillytavern.js_text import js_trim
from familiar_connect.presets.sillytavern.prepare_card import PreparedCard
from familiar_connect.presets.sillytavern.prompt_collection import CollectedPrompt
from familiar_connect.presets.sillytavern.types import Piece, SillyTavernInputs
from familiar_connect.presets.story.types import AuthorNote
from familiar_connect.presets.world_info.types import WorldInfo

_READING_ORDER: tuple[Role, ...] = ("system", "user", "assistant")


def depth_additions(
    inputs: SillyTavernInputs, opening: PreparedCard, note: AuthorNote | None, world: WorldInfo
) -> dict[tuple[int, Role], DepthText]:
    """What joins the chat beside the preset's prompts, one text per depth and role; read from the end upwards."""
    card = opening.card
    texts: list[DepthText] = []
    if note is not None and note.position == "chat":
        texts.append(DepthText(role=note.role, text=note.text, depth=note.depth, source="author_note"))
    if card.depth_prompt:
        role, depth = card.depth_prompt_role, card.depth_prompt_depth
        texts.append(DepthText(role=role, text=card.depth_prompt, depth=depth, source="card:depth_prompt"))
    if inputs.persona and inputs.persona_position == "chat":
        role, depth = inputs.persona_role, inputs.persona_depth
        texts.append(DepthText(role=role, text=inputs.persona, depth=depth, source="persona"))
    for block in world.depth:
        lore = "\n".join(block.texts)
        texts.append(DepthText(role=block.role, text=lore, depth=block.depth, source="world_info:depth"))
    places: dict[tuple[int, Role], list[DepthText]] = {}
    for text in texts:
        places.setdefault((text.depth or 0, text.role), []).append(text)
    added = {}
    for depth, role in sorted(places, key=lambda place: (place[0], _READING_ORDER.index(place[1]))):
        here = places[depth, role]
        joined = opening.reader.read("\n".join(js_trim(text.text) for text in here))
        source = ", ".join(text.source for text in here)
        added[depth, role] = DepthText(role=role, text=joined, depth=depth, source=source)
    return added


def insert_at_depth(
    chat: Sequence[Piece], prompts: Iterable[CollectedPrompt], added: dict[tuple[int, Role], DepthText]
) -> list[Piece]:
    """*chat* (oldest first) with every text at its depth: that many messages of the chat come after it."""
    texts = [
        DepthText(role=prompt.role, text=prompt.text, depth=prompt.depth, order=prompt.order, source=prompt.source)
        for prompt in prompts
    ]
    newest_first: list[Piece] = []
    passed = 0
    for depth, blocks in group_by_depth(texts, added).items():
        upto = min(depth, len(chat))
        newest_first.extend(chat[len(chat) - 1 - number] for number in range(passed, upto))
        passed = max(passed, upto)
        for block in reversed(blocks):
            source = ", ".join(dict.fromkeys(block.sources))
            newest_first.append(Piece(block.role, block.text, None, source, layer=Layer.depth_inject, injected=True))
    newest_first.extend(chat[len(chat) - 1 - number] for number in range(passed, len(chat)))
    return newest_first[::-1]
