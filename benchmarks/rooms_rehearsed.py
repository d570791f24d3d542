"""Random rooms played through `familiar rehearse`: the file they are, and what each of its steps made."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.room_events import ROLES, Event, Story
from benchmarks.room_world import EVERYONE, OWNER, VIEW, Place, RoomWorld

CARELESS = ("history_summary", "memory_writer", "memory_search", "interjection_decision", "reasoning_context")
KINDS = {"private_thread": "thread", "terminal": "dm", "telegram": "text"}


def settings_for(*, is_open: bool) -> str:
    confidence = 'confidence = "open"\n' if is_open else ""
    return f'{confidence}[providers.content_search]\nembedder = "hashing"\n'


def rehearsal_of(world: RoomWorld, *, is_open: bool) -> dict[str, Any]:
    """The world as it is at first, without what happens in it."""
    people = {
        name: {"name": name.capitalize(), "id": str(100 + number), "roles": sorted(world.roles[name])}
        for number, name in enumerate(world.people)
        if name != OWNER
    }
    return {
        "familiar": {"name": "Ember", "settings": settings_for(is_open=is_open)},
        "people": people,
        "places": {key: place_of(place, is_first=not at) for at, (key, place) in enumerate(world.places.items())},
        "models": {"main_prose": {"say": [], "otherwise": "Mm."}, **dict.fromkeys(CARELESS, "echo")},
    }


def place_of(place: Place, *, is_first: bool) -> dict[str, Any]:
    about: dict[str, Any] = {"kind": KINDS.get(place.kind, place.kind)}
    if is_first:
        about["roles"] = {role: [] for role in ROLES}
    if place.server:
        about |= {"server": place.server, "name": place.key}
    else:
        about["members"] = sorted(place.inside)
    if place.kind in ("terminal", "telegram"):
        about["platform"] = place.kind
    if place.parent:
        about["parent"] = place.parent
    if place.kind == "private_thread":
        about |= {"hidden": True, "members": sorted(place.inside)}
    for key, names in (
        ("allow", [name for name, (allow, _) in place.overwrites.items() if allow & VIEW]),
        ("deny", [name for name, (_, deny) in place.overwrites.items() if deny & VIEW]),
    ):
        about |= {key: sorted(names, key=lambda name: name != EVERYONE)} if names else {}
    return about | ({"age_restricted": True} if place.is_for_adults else {})


def step_of(event: Event) -> dict[str, Any]:
    """One event as a step."""
    match event["do"]:
        case "say":
            step = {"in": event["in"], "by": event["by"], "say": event["text"], "mention": True, "after": "3m"}
            return step | ({"proxy": event["proxy"]} if "proxy" in event else {})
        case "delete":
            return {"delete": f"s{event['of']}", "in": event["in"]}
        case "edit":
            return {"edit": f"s{event['of']}", "in": event["in"], "say": event["text"]}
        case "overwrite":
            return {"allow" if event["allow"] else "deny": [event["name"]], "in": event["in"]}
        case "hide":
            return {"hide": event["in"], "members": event["members"]}
        case "open":
            return {"open": event["in"]}
        case "roles":
            return {"roles": {event["of"]: event["roles"]}}
        case "kick":
            return {"kick": event["person"], "from": event["server"]}
        case "join":
            return {"join": event["person"], "in": event["in"]}
        case "thread":
            return {"join" if event["joins"] else "leave": event["person"], "in": event["in"]}
        case "slash":
            return {"slash": f"/{event['command']}", "in": event["in"], "by": OWNER}
        case what:
            return {what: True}


def play_rehearsed(first: dict[str, Any], story: Story, *, as_process: bool = False) -> dict[int, dict[str, Any]]:
    """What each event made, by its number."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rooms.json"
        path.write_text(json.dumps(first | {"steps": [step_of(event) for event in story.events]}), encoding="utf-8")
        results = _play_as_process(path) if as_process else _play(path)
    for result in results:
        if result["failed"]:
            raise RuntimeError(f"step {result['step']} failed: {result['failed'][0]}")
    return {int(result["step"]): result for result in results}


def _play(script_file: Path) -> list[dict[str, Any]]:
    from familiar_connect.commands.rehearsal_home import make_rehearsal_home
    from familiar_connect.rehearsal.play import PlaySettings, play_rehearsal
    from familiar_connect.rehearsal.report import step_as_json
    from familiar_connect.rehearsal.script_file import read_rehearsal

    results: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="familiar-", ignore_cleanup_errors=True) as folder:
        stage = Path(folder)
        rehearsal = read_rehearsal(script_file)
        root = make_rehearsal_home(rehearsal, stage, home=stage)
        settings = PlaySettings(root=root, home=stage, is_scripted=True)
        play_rehearsal(rehearsal, settings, lambda result: results.append(step_as_json(result)))
    return results


def _play_as_process(script_file: Path) -> list[dict[str, Any]]:
    command = [sys.executable, "-m", "familiar_connect", "rehearse", str(script_file), "--scripted", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    if done.returncode == 2:
        raise RuntimeError(done.stderr)
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"step"')]
