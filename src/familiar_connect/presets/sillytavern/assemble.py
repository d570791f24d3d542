"""SillyTavern's prompt for one turn: `assemble(inputs: SillyTavernInputs) -> AssembledPrompt`.

The steps and their order are SillyTavern's own, because a macro that sets a variable, or a budget that runs out,
makes the order visible: greeting and card are read, the preset's prompts collected and the markers filled, the
card's words put in place of the preset's, relative prompts given their places, in-chat texts laid among the chat,
chat and examples fitted into what room is left, and the words of control put last. Nothing else is added.

What cannot be left out and does not fit raises `PromptTooLarge`, a sentence for the owner.

Neighbouring system messages made one.

Texts among the chat: in-chat prompts of the preset, author's note, the card's depth prompt, persona at depth.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from familiar_connect.context.types import ContextItem, ItemTag, Layer
from familiar_connect.llm.types import Role
from familiar_connect.presets.depth_groups import DepthText, group_by_depth
from familiar_connect.presets.prompt_order import STORY_NODE
from familiar_connect.presets.sillytavern.chat_messages import chat_pieces, lines_to_send
from familiar_connect.presets.sillytavern.example_dialogue import example_blocks
from familiar_connect.presets.sillytavern.js_text import js_trim
from familiar_connect.presets.sillytavern.prepare_card import PreparedCard, prepare_card, read_sent
from familiar_connect.presets.sillytavern.prompt_collection import (
    CollectedPrompt,
    PromptCollection,
    PromptSlots,
    TokenBudgetExceeded,
    author_note_for_turn,
    collect_prompts,
    fill_story,
)
from familiar_connect.presets.sillytavern.scan_world import lore_without_room, scan_world
from familiar_connect.presets.sillytavern.token_budget import ChatFitter
from familiar_connect.presets.sillytavern.types import (
    AssembledPrompt,
    Piece,
    PromptTooLarge,
    SillyTavernInputs,
)
from familiar_connect.presets.story.types import AuthorNote
from familiar_connect.presets.world_info.types import WorldInfo


def squash_messages(pieces: Iterable[Piece]) -> list[Piece]:
    """Runs of unnamed system messages joined by a newline, empty ones left out; separators and nudges stand alone.

    An empty message of another role still parts its neighbours.
    """
    runs: list[list[Piece]] = []
    for piece in pieces:
        if piece.role == "system" and not piece.text:
            continue
        if runs and _joins(piece) and _joins(runs[-1][0]):
            runs[-1].append(piece)
        else:
            runs.append([piece])
    return [run[0] if len(run) == 1 else _join(run) for run in runs]


def _joins(piece: Piece) -> bool:
    return piece.role == "system" and not piece.name and not piece.apart


def _join(run: list[Piece]) -> Piece:
    return replace(
        run[0],
        text="\n".join(piece.text for piece in run),
        source=", ".join(dict.fromkeys(piece.source for piece in run if piece.source)),
        tag=run[0].tag if len({piece.tag for piece in run}) == 1 else None,
        line=None,
    )


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


FIRST_PLACED = (
    "worldInfoBefore",
    "main",
    "worldInfoAfter",
    "charDescription",
    "charPersonality",
    "scenario",
    "personaDescription",
)
THEN_PLACED = ("nsfw", "jailbreak")
LAST_PLACED = "enhanceDefinitions"


def assemble(inputs: SillyTavernInputs) -> AssembledPrompt:
    """The prompt SillyTavern would send; `PromptTooLarge` when the required part does not fit."""
    if inputs.quiet_prompt:  # it is read when it is asked for, and as all others are
        inputs = replace(inputs, quiet_prompt=read_sent(inputs, inputs.quiet_prompt))
    opening = prepare_card(inputs)
    world = scan_world(inputs, opening)
    opening = opening.with_outlets(world.outlets)
    note = author_note_for_turn(inputs, world)
    if note is not None and note.position != "chat":
        opening.reader.read(note.text)
    if any(node.identifier == STORY_NODE and node.is_enabled for node in inputs.nodes):
        opening = opening.with_story_parts(fill_story(inputs, opening, note, world))
    collection = collect_prompts(inputs, opening, note, world)
    slots = PromptSlots(inputs.budget, inputs.count)
    fitting = ChatFitter(inputs, opening, collection, slots)
    try:
        _lay_out(inputs, opening, collection, note, world, slots, fitting)
    except TokenBudgetExceeded as error:
        raise PromptTooLarge(_sentence(inputs, error.what), _finish(inputs, opening, world, slots, fitting)) from error
    made = _finish(inputs, opening, world, slots, fitting)
    _read_once_more(inputs, opening, note)
    return made


def _read_once_more(inputs: SillyTavernInputs, opening: PreparedCard, note: AuthorNote | None) -> None:
    """Read the note and the persona at its depth for what they count.

    SillyTavern lists them for its own inspector once the prompt is made, and a note beside `main` before that, too.
    """
    persona = inputs.persona if inputs.persona_position == "chat" else ""
    opening.reader.read("\n".join(filter(None, (js_trim(note.text) if note is not None else "", js_trim(persona)))))


def _lay_out(
    inputs: SillyTavernInputs,
    opening: PreparedCard,
    collection: PromptCollection,
    note: AuthorNote | None,
    world: WorldInfo,
    slots: PromptSlots,
    fitting: ChatFitter,
) -> None:
    for identifier in FIRST_PLACED:
        _place(collection, slots, identifier)
    control = _control(inputs, collection)
    slots.reserve(control)
    users = [prompt.identifier for prompt in collection.prompts if prompt.is_users and not prompt.in_chat]
    for identifier in (*THEN_PLACED, *users, LAST_PLACED):
        _place(collection, slots, identifier)
    in_chat = [prompt for prompt in collection.prompts if prompt.in_chat]
    _stand_by_main(collection, note, slots, in_chat)
    in_chat = [prompt for prompt in in_chat if prompt.role_given]
    chat = chat_pieces(
        lines_to_send(opening.chat, inputs.kind),
        behavior=inputs.settings.names_behavior,
        user=inputs.context.user,
        is_group=inputs.is_group,
    )
    if inputs.kind == "continue" and inputs.settings.continue_prefill and chat:
        begun = _begin_answer(inputs, opening, chat.pop())
        control.append(begun)
        slots.reserve([begun])
    chat = insert_at_depth(chat, in_chat, depth_additions(inputs, opening, note, world))
    blocks = _examples(inputs, opening, world)
    if inputs.pin_examples:
        fitting.fit_examples(blocks)
        fitting.fit_history(chat)
    else:
        fitting.fit_history(chat)
        fitting.fit_examples(blocks)
    slots.free(control)
    if control:
        slots.put("controlPrompts", control)


def _examples(inputs: SillyTavernInputs, opening: PreparedCard, world: WorldInfo) -> list[list[Piece]]:
    """The card's blocks of example dialogue, with those of World Info above and below."""

    def read_blocks(text: str) -> list[list[Piece]]:
        return example_blocks(
            text,
            user=inputs.context.user,
            char=opening.reader.context.char,
            group=inputs.context.group if inputs.is_group else (),
            is_group=inputs.is_group,
        )

    blocks = read_blocks(opening.card.mes_example)
    for text in world.examples_top:
        blocks = read_blocks(opening.reader.read(text).replace("\r", "")) + blocks
    for text in world.examples_bottom:
        blocks = blocks + read_blocks(opening.reader.read(text).replace("\r", ""))
    return blocks


def _place(collection: PromptCollection, slots: PromptSlots, identifier: str) -> None:
    prompt = collection.get(identifier)
    if prompt is None or prompt.in_chat or (identifier in collection.disabled and identifier != "main"):
        return
    slots.put(identifier, [_piece(prompt)], collection.index(identifier))


def _piece(prompt: CollectedPrompt) -> Piece:
    return Piece(prompt.role, prompt.text, source=prompt.source, layer=prompt.layer)


def _control(inputs: SillyTavernInputs, collection: PromptCollection) -> list[Piece]:
    """Words that always stand last: the impersonation prompt, then the quiet one."""
    prompts = [collection.get("impersonate") if inputs.kind == "impersonate" else None, collection.get("quietPrompt")]
    return [_piece(prompt) for prompt in prompts if prompt is not None and prompt.text]


def _stand_by_main(
    collection: PromptCollection, note: AuthorNote | None, slots: PromptSlots, in_chat: list[CollectedPrompt]
) -> None:
    """The author's note next to `main`; where `main` stands among the chat, in the same message."""
    prompt = collection.get("authorsNote")
    if note is None or prompt is None or note.position == "chat" or collection.has_story:
        return
    first = note.position == "before_main"
    if slots.has("main"):
        slots.insert("main", _piece(prompt), first=first)
        return
    at = next((at for at, other in enumerate(in_chat) if other.identifier == "main"), None)
    if at is not None:
        main = in_chat[at]
        beside = replace(prompt, role=main.role, in_chat=True, depth=main.depth, order=main.order)
        in_chat.insert(at if first else at + 1, beside)


def _begin_answer(inputs: SillyTavernInputs, opening: PreparedCard, last: Piece) -> Piece:
    """The message to be continued, as the last of all; the prefill before it where the model takes one."""
    words = opening.reader.read(last.text)
    if inputs.takes_prefill and last.role == "assistant":
        prefill = opening.reader.read(inputs.settings.assistant_prefill)
        words = "\n\n".join(filter(None, (prefill, words)))
    return replace(last, text=words)


def _finish(
    inputs: SillyTavernInputs, opening: PreparedCard, world: WorldInfo, slots: PromptSlots, fitting: ChatFitter
) -> AssembledPrompt:
    pieces = slots.pieces()
    if inputs.settings.squash_system_messages:
        pieces = squash_messages(pieces)
    pieces = [piece for piece in pieces if piece.text]
    prefill = _prefill(inputs, opening)
    if prefill:
        source = f"preset:{inputs.preset_name}:assistant_prefill"
        pieces.append(Piece("assistant", prefill, source=source, tag=ItemTag.PREFILL))
    return AssembledPrompt(
        items=tuple(
            ContextItem.of(piece.role, piece.text, tag=piece.tag, name=piece.name, source=piece.source, apart=True)
            for piece in pieces
        ),
        lines=tuple(piece.line for piece in pieces),
        dropped=(*fitting.dropped, *lore_without_room(world)),
        world=world,
    )


def _prefill(inputs: SillyTavernInputs, opening: PreparedCard) -> str:
    settings = inputs.settings
    begun = inputs.kind == "continue" and settings.continue_prefill
    if not inputs.takes_prefill or inputs.kind == "quiet" or begun:
        return ""
    words = settings.assistant_impersonation if inputs.kind == "impersonate" else settings.assistant_prefill
    return opening.reader.read(words).rstrip()


def _sentence(inputs: SillyTavernInputs, what: str) -> str:
    preset = f"preset {inputs.preset_name!r}" if inputs.preset_name else "preset"
    return (
        f"The {preset} and the card need more than the {inputs.budget} tokens there are: {what!r} does not fit. "
        "Turn prompts of the preset off, shorten the card, or use a model with a larger window."
    )
