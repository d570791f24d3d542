"""The same cases through our assembly: preset, card and entries are read as files are, the rest is handed over."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from benchmarks.sillytavern.oracle.generate import Json
from benchmarks.sillytavern.oracle.real import FROZEN
from benchmarks.sillytavern.prompts import (
    CHAT_ID,
    NOTE_POSITIONS,
    PERSONA_POSITIONS,
    ROLES,
    HalfRandom,
    Messages,
    count,
    to_wire,
)
from benchmarks.sillytavern.world_info import read_settings
from familiar_connect.bootstrap.card_files.read_payload import read_payload
from familiar_connect.bootstrap.cards import read_card
from familiar_connect.presets.load import read_preset
from familiar_connect.presets.macros.types import MacroContext, Variables
from familiar_connect.presets.prompt_order import nodes_of
from familiar_connect.presets.sillytavern.assemble import assemble
from familiar_connect.presets.sillytavern.prepare_card import read_sent
from familiar_connect.presets.sillytavern.types import AssembledPrompt, PromptTooLarge, SillyTavernInputs
from familiar_connect.presets.story.types import AuthorNote
from familiar_connect.presets.types import CardFields, ChatLine, Preset, PresetFidelity
from familiar_connect.presets.world_info.read_entries import read_entry
from familiar_connect.presets.world_info.types import BookKind, TimedEffects, WorldBook

KINDS = {kind.value: kind for kind in BookKind}
CHAT_FIELDS = ("scenario", "mes_example", "system_prompt")


@dataclass(frozen=True)
class OurStep:
    """What one turn came to here."""

    messages: Messages
    typed: str
    """What was typed, as it is kept."""
    variables: dict[str, str]
    shared: dict[str, str]
    activated: list[str] = field(default_factory=list)
    problems: tuple[str, ...] = ()
    limit: str = ""
    is_too_large: bool = False


class OurCase:
    """One case, turn after turn."""

    def __init__(self, case: Json) -> None:
        self._case = case
        self._card = card_of(case)
        self._preset = preset_of(case)
        self._books = books_of(case)
        found = case["metadata"].get("variables") or {}
        self._variables = Variables(local={name: str(value) for name, value in found.items()})
        self._timed = TimedEffects()

    def run(self, step: Json, chat: Sequence[Json]) -> OurStep:
        """The prompt of *step*, the chat before it being *chat*."""
        inputs = self._inputs(step, chat_of(chat))
        typed = ""
        if step["kind"] == "normal":
            typed = read_sent(inputs, step["typed"])
            line = ChatLine(name=self._case["user"], text=typed, is_user=True, is_first=not inputs.chat)
            inputs = replace(inputs, chat=(*inputs.chat, line))
        too_large = False
        try:
            made = assemble(inputs)
        except PromptTooLarge as error:
            made, too_large = error.built or AssembledPrompt(items=()), True
        self._timed = made.world.timed
        return OurStep(
            messages=to_wire(made.items),
            typed=typed,
            variables=dict(self._variables.local),
            shared=dict(self._variables.shared),
            activated=[each.entry.key for each in made.world.activated],
            problems=made.world.problems,
            limit=made.world.limit,
            is_too_large=too_large,
        )

    def _inputs(self, step: Json, chat: tuple[ChatLine, ...]) -> SillyTavernInputs:
        case, settings = self._case, self._preset.settings
        window, answer = settings.max_context or 4095, settings.max_tokens or 300
        persona, power = case["persona"], case["power_user"]
        return SillyTavernInputs(
            preset_name=self._preset.name,
            nodes=nodes_of(self._preset, PresetFidelity.sillytavern),
            settings=settings,
            card=self._card,
            persona=persona["text"],
            persona_position=PERSONA_POSITIONS[persona["position"]],
            persona_depth=persona["depth"],
            persona_role=ROLES[persona["role"]],
            chat=chat,
            context=MacroContext(
                char=self._card.name,
                user=case["user"],
                now=datetime.fromisoformat(FROZEN),
                rng=HalfRandom(0),
                chat_id=CHAT_ID,
                variables=self._variables,
                max_prompt=window - answer,
                max_context=window,
                max_response=answer,
            ),
            kind=step["kind"],
            author_note=note_of(case["metadata"], is_scanned=case["scan_note"]),
            scans_notes=case["scan_note"],
            quiet_prompt=step.get("quiet_prompt", ""),
            pin_examples=power["pin_examples"],
            prefers_card_prompts=power["prefer_character_prompt"],
            prefers_card_last_words=power["prefer_character_jailbreak"],
            budget=window - answer,
            count=count,
            count_lore=lambda length: 3 + -(-length // 4) if length else 0,
            books=self._books,
            scan=read_settings(case["world_info"]),
            timed=self._timed,
            tags=tuple(case["card"]["tags"]),
        )


def card_of(case: Json) -> CardFields:
    """The card, read from the file it would come in, with what the chat says otherwise."""
    data = {key: value for key, value in case["card"].items() if key != "depth_prompt"}
    data["extensions"] = {"depth_prompt": case["card"]["depth_prompt"]}
    file = {"spec": "chara_card_v2", "spec_version": "2.0", "data": data}
    card = read_card(read_payload(json.dumps(file).encode())).to_card_fields()
    own: dict[str, Any] = {name: case["metadata"][name] for name in CHAT_FIELDS if case["metadata"].get(name)}
    return replace(card, **own)


def preset_of(case: Json) -> Preset:
    return read_preset(json.dumps(case["preset"]).encode(), "generated")


def books_of(case: Json) -> tuple[WorldBook, ...]:
    return tuple(
        WorldBook(
            name=book["name"],
            kind=KINDS[book["kind"]],
            entries=tuple(read_entry(entry, book=book["name"]) for entry in book["entries"]),
        )
        for book in case["books"]
    )


def note_of(metadata: Mapping[str, Any], *, is_scanned: bool) -> AuthorNote | None:
    if "note_prompt" not in metadata:
        return None
    return AuthorNote(
        text=metadata["note_prompt"],
        position=NOTE_POSITIONS[metadata["note_position"]],
        depth=metadata["note_depth"],
        role=ROLES[metadata["note_role"]],
        interval=metadata["note_interval"],
        is_scanned=is_scanned,
    )


def chat_of(lines: Sequence[Json]) -> tuple[ChatLine, ...]:
    return tuple(
        ChatLine(
            name=line["name"],
            text=line["mes"],
            is_user=line["is_user"],
            is_hidden=line["is_system"],
            is_narrator=(line.get("extra") or {}).get("type") == "narrator",
            is_first=number == 0,
            swipes=tuple(line.get("swipes") or ()),
            swipe_id=line.get("swipe_id") or 0,
        )
        for number, line in enumerate(lines)
    )
