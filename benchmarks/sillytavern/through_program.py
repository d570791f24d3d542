"""Prompts through the program: each vector's files given to `familiar` as a person would, its output held against
SillyTavern's messages.

For each vector a home of its own is made: `init --from-card`, `import lorebook` for its books, settings in
`character.toml`, the preset as a file with the switches the case names, the chat as a SillyTavern chat file with its
author's note; then `prompt --fidelity sillytavern`. Only documented commands and settings are used, and nothing is
taken from the expected results.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.sillytavern.prompts import CHAT_ID, Messages, first_difference, loosen, runs_of
from benchmarks.sillytavern.results import CaseResult
from benchmarks.sillytavern.world_info import NAMES, ORDERS
from familiar_connect.config.toml import toml_literal
from tests.fakes.program import run_program

KIND = "prompts_through_program"
LIMIT_S = 300
ROOM = "4000000"
"""The window of a model in which any preset has room, so that the preset alone decides what goes."""
ID = "vector"
NOTE_KEYS = ("note_prompt", "note_interval", "note_position", "note_depth", "note_role")
PERSONA_POSITIONS = {0: "prompt", 2: "note_top", 3: "note_bottom", 4: "chat", 9: "none"}
ROLES = ("system", "user", "assistant")
SWITCHES = {
    "pin_examples": "pin_examples",
    "prefer_character_prompt": "prefer_card_prompt",
    "prefer_character_jailbreak": "prefer_card_last_words",
}


class ProgramFailed(Exception):
    """The program refused; the message is its own."""


def check(folder: Path) -> list[CaseResult]:
    """Every prompt vector of *folder*, through the program."""
    return [_case(folder, path) for path in sorted((folder / "expected" / "prompts").glob("*.json"))]


def _case(folder: Path, path: Path) -> CaseResult:
    try:
        vector = json.loads(path.read_text(encoding="utf-8"))
        with tempfile.TemporaryDirectory(prefix="familiar-vector-") as home:
            difference = _difference(vector, folder, Path(home))
    except Exception as error:  # whatever is wrong with the vector, the rest still counts
        return CaseResult(KIND, path.stem, False, f"{type(error).__name__}: {error}")
    return CaseResult(KIND, path.stem, not difference, difference)


def _difference(vector: Mapping[str, Any], folder: Path, home: Path) -> str:
    case: Mapping[str, Any] = vector["case"]
    run(home, "init", ID, "--as", vector["user"], "--from-card", str(folder / "cards" / case["card"]))
    for book in case.get("books") or ():
        run(home, "import", "lorebook", str(folder / "lorebooks" / book), may_fail=True)
    settings = home / "familiars" / ID / "character.toml"
    settings.write_text(_settings(vector, case), encoding="utf-8")
    chat = home / f"{vector.get('chat_id_for_pick') or vector.get('chat_id') or CHAT_ID}.jsonl"
    chat.write_text(_chat_file(vector, case), encoding="utf-8")
    runs = runs_of(vector)
    ours = _prompt(vector, folder, home, chat, "")
    difference = first_difference(loosen(ours, runs) if len(runs) > 1 else ours, runs[0])
    for mode, wanted in (vector.get("post_processed") or {}).items():
        if not difference:
            told = first_difference(_prompt(vector, folder, home, chat, mode), wanted)
            difference = f"post-processed {mode}: {told}" if told else ""
    return difference


def run(home: Path, *arguments: str, may_fail: bool = False) -> str:
    """What `familiar` prints, as a process of its own."""
    done = run_program(home, "--home", str(home), *arguments, env={"NO_COLOR": "1"}, timeout_s=LIMIT_S)
    if done.returncode and not may_fail:
        raise ProgramFailed((done.stderr.strip() or done.stdout.strip())[-400:])
    return done.stdout


def _prompt(vector: Mapping[str, Any], folder: Path, home: Path, chat: Path, mode: str) -> Messages:
    case: Mapping[str, Any] = vector["case"]
    source = folder / "presets" / case["preset"]
    preset = home / source.name
    preset.write_text(json.dumps(_preset(source, case, mode), ensure_ascii=False), encoding="utf-8")
    more = ["--quiet-prompt", str(case["quiet_prompt"])] if case.get("quiet_prompt") else []
    now = str(vector["fixed_now_utc"]).replace(".000Z", "+0000").replace("Z", "+0000")
    told = run(
        home,
        "prompt",
        str(chat),
        *("--preset", str(preset), "--fidelity", "sillytavern", "--kind", case.get("type") or "normal"),
        *("--chance", "0.5", "--now", now, "--window", ROOM, *more, "--json"),
    )
    return [
        {key: message[key] for key in ("role", "content", "name") if message.get(key) is not None}
        for message in json.loads(told)["messages"]
    ]


def _preset(source: Path, case: Mapping[str, Any], mode: str) -> dict[str, Any]:
    """The preset as its user would have saved it: with the sizes and switches of the case."""
    preset: dict[str, Any] = json.loads(source.read_text(encoding="utf-8-sig"))
    sizes = {"max_context": "openai_max_context", "max_tokens": "openai_max_tokens"}
    changed = {sizes[name]: case[name] for name in sizes if case.get(name)}
    switches = case.get("oai") if isinstance(case.get("oai"), dict) else {}
    return {**preset, **(switches or {}), **changed, "custom_prompt_post_processing": mode}


def _chat_file(vector: Mapping[str, Any], case: Mapping[str, Any]) -> str:
    """The chat as SillyTavern keeps it; the character's name stands where the vector has a macro for it."""
    names = {"{{char}}": vector["char"], "{{user}}": vector["user"]}
    header = {
        "user_name": vector["user"],
        "character_name": vector["char"],
        "chat_metadata": case.get("chat_metadata") or {},
    }
    lines = [{**line, "name": names.get(line.get("name", ""), line.get("name", ""))} for line in vector["chat"]]
    return "\n".join(json.dumps(each, ensure_ascii=False) for each in (header, *lines)) + "\n"


def _settings(vector: Mapping[str, Any], case: Mapping[str, Any]) -> str:
    """`character.toml` with the persona, the World Info settings and the user settings of the case."""
    power = {**(case.get("power_user") or {}), **case}
    top: dict[str, object] = {"user_name": vector["user"]}
    if text := power.get("persona", power.get("persona_description")):
        top["user_persona"] = str(text)
    position = power.get("persona_position", power.get("persona_description_position"))
    if position is not None:
        top["user_persona_position"] = PERSONA_POSITIONS.get(int(position), "none")
    depth = power.get("persona_depth", power.get("persona_description_depth"))
    if depth is not None:
        top["user_persona_depth"] = int(depth)
    role = power.get("persona_role", power.get("persona_description_role"))
    if role is not None:
        top["user_persona_role"] = role if role in ROLES else ROLES[int(role)]
    given = vector.get("wi_settings") or {}
    world: dict[str, object] = {NAMES[name]: value for name, value in given.items() if name in NAMES}
    if given.get("world_info_character_strategy") is not None:
        world["book_order"] = ORDERS[int(given["world_info_character_strategy"])].value
    world["card_book"] = bool(case.get("use_embedded_book"))
    switches = {ours: bool(power[theirs]) for theirs, ours in SWITCHES.items() if power.get(theirs) is not None}
    return "\n".join(
        [
            *(f"{name} = {toml_literal(value)}" for name, value in top.items()),
            "[sillytavern]",
            *(f"{name} = {toml_literal(value)}" for name, value in switches.items()),
            "[world_info]",
            *(f"{name} = {toml_literal(value)}" for name, value in world.items()),
            "",
        ]
    )
