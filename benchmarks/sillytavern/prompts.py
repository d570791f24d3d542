"""Prompts: each vector's preset, card, chat and settings assembled by us and held against SillyTavern's messages."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from datetime import datetime
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any, cast, get_args

from benchmarks.sillytavern.results import CaseResult
from benchmarks.sillytavern.world_info import read_settings
from familiar_connect.bootstrap.cards import load_card
from familiar_connect.bootstrap.lorebook_files.books import sillytavern_entries
from familiar_connect.context.types import ContextItem
from familiar_connect.llm.types import Role
from familiar_connect.presets.load import read_preset
from familiar_connect.presets.macros.types import MacroContext, Variables
from familiar_connect.presets.prompt_order import nodes_of
from familiar_connect.presets.sillytavern.arrange import post_process
from familiar_connect.presets.sillytavern.assemble import assemble
from familiar_connect.presets.sillytavern.types import (
    Piece,
    PromptTooLarge,
    SillyTavernInputs,
)
from familiar_connect.presets.story.types import AuthorNote, NotePosition, PersonaPosition
from familiar_connect.presets.types import ChatLine, GenerationKind, PresetFidelity, PresetSettings
from familiar_connect.presets.world_info.read_entries import read_entry
from familiar_connect.presets.world_info.types import BookKind, WorldBook
from familiar_connect.support.text import utf16_length

KIND = "prompts"
NOTE_POSITIONS: dict[int, NotePosition] = {0: "after_main", 1: "chat", 2: "before_main"}
PERSONA_POSITIONS: dict[int, PersonaPosition] = {0: "prompt", 2: "note_top", 3: "note_bottom", 4: "chat", 9: "none"}
ROLES: tuple[Role, ...] = ("system", "user", "assistant")
CHAT_ID = "oracle-chat"
OLD_NAMES = {
    "openai_max_context": "max_context",
    "openai_max_tokens": "max_tokens",
    "custom_prompt_post_processing": "post_processing",
}
Messages = list[dict[str, str]]
_WORDS = re.compile(r"\s+|\S+")


class HalfRandom(random.Random):
    """The chance the vectors were made with: always a half."""

    def random(self) -> float:
        return 0.5


def count(piece: Piece) -> int:
    """Tokens as the vectors count them."""
    values = (piece.role, piece.text, piece.name or "")
    return 1 + sum(-(-utf16_length(value) // 4) for value in values)


def check(folder: Path) -> list[CaseResult]:
    """Every prompt vector of *folder*; what cannot be read is a failure with its reason."""
    return [_case(folder, path) for path in sorted((folder / "expected" / "prompts").glob("*.json"))]


def _case(folder: Path, path: Path) -> CaseResult:
    try:
        vector = json.loads(path.read_text(encoding="utf-8"))
        difference = _difference(vector, inputs_of(vector, folder))
    except Exception as error:  # whatever is wrong with the vector, the rest still counts
        return CaseResult(KIND, path.stem, False, f"{type(error).__name__}: {error}")
    return CaseResult(KIND, path.stem, not difference, difference)


def inputs_of(vector: Mapping[str, Any], folder: Path) -> SillyTavernInputs:
    """What *vector* says was given to SillyTavern."""
    case: Mapping[str, Any] = vector["case"]
    preset_path = folder / "presets" / case["preset"]
    preset = read_preset(preset_path.read_bytes(), preset_path.stem)
    card = load_card(folder / "cards" / case["card"]).to_card_fields()
    metadata = _section(case, "chat_metadata")
    own: dict[str, Any] = {
        key: str(metadata[key]) for key in ("scenario", "mes_example", "system_prompt") if metadata.get(key)
    }
    card = replace(card, name=vector.get("char") or card.name, **own)
    settings = _settings(preset.settings, {**_section(case, "oai"), **vector.get("settings_used", {})})
    window, answer = settings.max_context or 4095, settings.max_tokens or 300
    power = {**_section(case, "power_user"), **case}
    names = {"{{char}}": card.name, "{{user}}": vector["user"]}
    return SillyTavernInputs(
        preset_name=preset.name,
        nodes=nodes_of(preset, PresetFidelity.sillytavern),
        settings=settings,
        card=card,
        persona=str(power.get("persona", power.get("persona_description")) or ""),
        persona_position=PERSONA_POSITIONS.get(
            int(power.get("persona_position", power.get("persona_description_position")) or 0), "none"
        ),
        persona_depth=int(_first(power, "persona_depth", "persona_description_depth", default=2)),
        persona_role=_role(_first(power, "persona_role", "persona_description_role", default=0)),
        chat=tuple(_line(line, number, names) for number, line in enumerate(vector["chat"])),
        context=_context(vector, card.name, window, answer, _section(metadata, "variables")),
        kind=cast(GenerationKind, case.get("type") or "normal"),
        author_note=_note(metadata),
        quiet_prompt=str(_first(case, "quiet_prompt", "quietPrompt", "quiet", default="")),
        is_group=bool(case.get("group")),
        pin_examples=bool(power.get("pin_examples")),
        prefers_card_prompts=bool(power.get("prefer_character_prompt", True)),
        prefers_card_last_words=bool(power.get("prefer_character_jailbreak", True)),
        budget=window - answer,
        count=count,
        books=_books(case, folder),
        scan=read_settings(vector.get("wi_settings") or {}),
    )


def _books(case: Mapping[str, Any], folder: Path) -> tuple[WorldBook, ...]:
    """The books a case names, and the card's own where it is used."""
    books = [
        _book(sillytavern_entries(folder / "lorebooks" / name), Path(name).stem, BookKind.everyone)
        for name in case.get("books") or ()
    ]
    own = load_card(folder / "cards" / case["card"]).character_book if case.get("use_embedded_book") else None
    if own:
        books.append(_book(sillytavern_entries(own), "embedded", BookKind.character))
    return tuple(books)


def _book(entries: Sequence[Mapping[str, Any]], name: str, kind: BookKind) -> WorldBook:
    return WorldBook(name=name, kind=kind, entries=tuple(read_entry(each, book=name) for each in entries))


def _section(case: Mapping[str, Any], key: str) -> dict[str, Any]:
    found = case.get(key)
    return dict(found) if isinstance(found, dict) else {}


def _first(section: Mapping[str, Any], *keys: str, default: Any) -> Any:
    return next((section[key] for key in keys if section.get(key) is not None), default)


def _role(value: Any) -> Role:
    if value in get_args(Role):
        return cast(Role, value)
    return ROLES[int(value or 0)]


def _settings(own: PresetSettings, used: Mapping[str, Any]) -> PresetSettings:
    known = {field.name for field in fields(PresetSettings)}
    given = {OLD_NAMES.get(key, key): value for key, value in used.items() if value is not None}
    return replace(own, **{key: value for key, value in given.items() if key in known})


def _note(metadata: Mapping[str, Any]) -> AuthorNote | None:
    position = NOTE_POSITIONS.get(int(metadata.get("note_position", 1)))
    if position is None or not any(key.startswith("note_") for key in metadata):
        return None
    return AuthorNote(
        text=str(metadata.get("note_prompt") or ""),
        position=position,
        depth=int(metadata.get("note_depth", 4)),
        role=_role(metadata.get("note_role", 0)),
        interval=int(metadata.get("note_interval", 1)),
    )


def _line(line: Mapping[str, Any], number: int, names: Mapping[str, str]) -> ChatLine:
    extra = line.get("extra") or {}
    sent = line.get("send_date")
    return ChatLine(
        name=names.get(str(line.get("name", "")), str(line.get("name", ""))),
        text=str(line.get("mes") or ""),
        is_user=bool(line.get("is_user")),
        is_hidden=bool(line.get("is_system")),
        is_narrator=extra.get("type") == "narrator",
        is_first=number == 0,
        forced_name=bool(line.get("force_avatar")),
        sent_at=datetime.fromisoformat(sent) if isinstance(sent, str) and "T" in sent else None,
        swipes=tuple(line.get("swipes") or ()),
        swipe_id=int(line.get("swipe_id") or 0),
    )


def _context(
    vector: Mapping[str, Any], char: str, window: int, answer: int, variables: Mapping[str, Any]
) -> MacroContext:
    return MacroContext(
        char=char,
        user=vector["user"],
        now=datetime.fromisoformat(vector["fixed_now_utc"]),
        rng=HalfRandom(0),
        chat_id=str(vector.get("chat_id_for_pick") or vector.get("chat_id") or CHAT_ID),
        variables=Variables(local={name: str(value) for name, value in variables.items()}),
        max_prompt=window - answer,
        max_context=window,
        max_response=answer,
    )


def _difference(vector: Mapping[str, Any], inputs: SillyTavernInputs) -> str:
    try:
        items = assemble(inputs).items
    except PromptTooLarge as error:  # SillyTavern sends what it has by then; we refuse, having built the same
        items = error.built.items if error.built else ()
    runs = runs_of(vector)
    ours = loosen(to_wire(items), runs) if len(runs) > 1 else to_wire(items)
    difference = first_difference(ours, runs[0])
    for mode, wanted in _section(vector, "post_processed").items():
        if difference:
            break
        ours_now = to_wire(post_process(items, mode, char=inputs.card.name, user=inputs.context.user))
        difference = first_difference(ours_now, wanted)
        difference = f"post-processed {mode}: {difference}" if difference else ""
    return difference


def runs_of(vector: Mapping[str, Any]) -> list[Messages]:
    """What SillyTavern sent: one run, or two where chance had a hand in it."""
    runs = [vector["messages"]]
    if vector.get("deterministic") is False:
        second = next(
            (value for key, value in vector.items() if key.startswith("messages") and key != "messages"), None
        )
        second = second or (vector.get("runs") or [None])[-1]
        if isinstance(second, dict):
            second = second.get("messages")
        runs += [second] if isinstance(second, list) else []
    return runs


def loosen(ours: Messages, runs: Sequence[Messages]) -> Messages:
    """*ours*, taken for the first run's wherever it has all that both runs agree on."""
    if any([message["role"] for message in run] != [message["role"] for message in ours] for run in runs):
        return ours
    return [
        wanted if allows(wanted["content"], other["content"], mine["content"]) else mine
        for mine, wanted, other in zip(ours, runs[0], runs[1], strict=True)
    ]


def allows(one: str, other: str, text: str) -> bool:
    """Whether *text* has, in order, all that *one* and *other* have in common, word by word, and ends as they do."""
    ones, others = _WORDS.findall(one), _WORDS.findall(other)
    at, free = 0, False
    for kind, start, stop, *_ in SequenceMatcher(None, ones, others, autojunk=False).get_opcodes():
        if kind != "equal":
            free = True
            continue
        stretch = "".join(ones[start:stop])
        found = text.find(stretch, at) if free else at
        if found < 0 or not text.startswith(stretch, found):
            return False
        at, free = found + len(stretch), False
    return free or at == len(text)


def to_wire(items: Iterable[ContextItem]) -> Messages:
    """*items* as messages on the wire."""
    return [{"role": item.role, "content": item.text, **({"name": item.name} if item.name else {})} for item in items]


def first_difference(ours: Messages, wanted: Messages) -> str:
    """Where the two part, as a sentence; empty where they do not."""
    for number, (mine, theirs) in enumerate(zip(ours, wanted, strict=False)):
        for key in ("role", "name", "content"):
            got, want = mine.get(key, ""), theirs.get(key, "")
            if got != want:
                return f"message {number}, {key}: {_apart(got, want)}"
    if len(ours) != len(wanted):
        longer, whose = (ours, "ours") if len(ours) > len(wanted) else (wanted, "SillyTavern's")
        extra = longer[min(len(ours), len(wanted))]
        return f"{len(ours)} messages where SillyTavern has {len(wanted)}; first only in {whose}: {str(extra)[:120]}"
    return ""


def _apart(got: str, want: str) -> str:
    at = next((at for at, (a, b) in enumerate(zip(got, want, strict=False)) if a != b), min(len(got), len(want)))
    start = max(0, at - 30)
    return f"at {at} we have {got[start : at + 60]!r}, SillyTavern has {want[start : at + 60]!r}"
