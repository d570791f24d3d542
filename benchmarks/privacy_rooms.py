"""Whoever is not to be heard: random channels in which all they say, send and are called holds a planted word.

Every message of the rooms comes in, the familiar answers each, and then everything it made is searched for the
word: what models were shown, the pages and traces, notes, history and memory.
`python -m benchmarks.privacy_rooms` searches
five hundred rooms; `--rooms N` another number, `--json` for a script. Exit code 1 when the word was found.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import tempfile
import zlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.random_rooms import Room, random_room
from familiar_connect.bootstrap.starter import make_starter
from familiar_connect.config import load_character_config
from familiar_connect.config.llm import SLOT_TEMPERATURES
from familiar_connect.familiar import Familiar
from familiar_connect.identity import PrivacyLevel
from familiar_connect.llm.scripted import ScriptedModel
from familiar_connect.llm.types import Capabilities
from familiar_connect.subscriptions import SubscriptionKind

ROOMS = 500
PLANTED = "PLANTED"
NEWEST = 4
"""Messages of a room that come in one by one; those before are there to be looked back at."""


def find_planted(root: Path, planted: str) -> list[str]:
    """Files under *root* that hold *planted*, packed ones unpacked; who chose to be hushed is written down itself."""
    found = []
    for path in sorted(root.rglob("*")):
        if path.is_file() and path.name != "privacy.toml":
            data = path.read_bytes()
            data = zlib.decompress(data) if path.name.endswith(".z") else data
            found += [str(path.relative_to(root))] if planted.encode() in data else []
    return found


async def talk_in_room(familiar: Familiar, room: Room, *, hush: bool = True) -> None:
    """The newest messages of *room* come in, everybody's, and each is answered."""
    if hush and room.hidden is not None:
        familiar.stores.privacy.set(room.hidden, PrivacyLevel.FULL)
    familiar.subscriptions.add(channel_id=room.channel_id, kind=SubscriptionKind.text, guild_id=5)
    for message in room.messages[-NEWEST:]:
        if not message.is_self:
            await familiar.intake.receive(replace(message, is_mention=True), room)
            await familiar.intake.wait_until_idle()
            await familiar.reply_path.queue.wait_until_channel_idle(room.channel_id)


async def run_rooms(home: Path, rooms: int, *, hush: bool = True) -> dict[str, Any]:
    """How many calls a familiar in *home* made in so many rooms, and where the planted word turned up."""
    root = make_starter(home, "ember")
    model = ScriptedModel(lambda messages: "I see.", capabilities=Capabilities(vision=True))
    weak = ScriptedModel(capabilities=Capabilities(side_tasks=False))
    clients = {slot: model if slot == "main_prose" else weak for slot in SLOT_TEMPERATURES}
    config = load_character_config(root / "character.toml")
    familiar = Familiar.from_config(root, config, llm_clients=dict(clients), fetches_media=False)
    shown, sent, calls = 0, 0, 0
    try:
        for at in range(rooms):
            room = random_room(random.Random(at), 200 + at, planted=PLANTED)
            await talk_in_room(familiar, room, hush=hush)
            shown += sum(PLANTED in repr(message.to_dict()) for call in model.calls for message in call)
            sent += sum(PLANTED in text for text in room.sent)
            calls += len(model.calls)
            model.calls.clear()
        await familiar.reply_path.recorder.wait_until_idle()
    finally:
        await familiar.aclose()
    return {"rooms": rooms, "calls": calls, "shown": shown, "sent": sent, "files": find_planted(root, PLANTED)}


def has_no_leak(found: dict[str, Any]) -> bool:
    return not (found["shown"] or found["sent"] or found["files"])


def main(words: Sequence[str]) -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rooms", type=int, default=ROOMS)
    options.add_argument("--json", action="store_true")
    chosen = options.parse_args(words)
    with tempfile.TemporaryDirectory() as home:
        found = asyncio.run(run_rooms(Path(home), chosen.rooms))
    print(json.dumps(found, indent=2) if chosen.json else _sentence(found))
    return 0 if has_no_leak(found) else 1


def _sentence(found: dict[str, Any]) -> str:
    how = "nowhere" if has_no_leak(found) else f"in {found['shown']} messages and in {found['files'][:5]}"
    return f"{found['rooms']} rooms, {found['calls']} replies: words of who is not to be heard were found {how}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
