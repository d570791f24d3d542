"""Lorebooks that would keep World Info searching: the turn is answered, and `inspect` and `why` say what stopped."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.fakes.model_server import ModelServer, stream_answer
from tests.fakes.program import model_endpoint, run_program

NODES = ("main", "worldInfoBefore", "chatHistory")
PRESET: dict[str, Any] = {
    "prompts": [
        {"identifier": name, "system_prompt": True, "marker": name != "main", "content": "Be a crow."} for name in NODES
    ],
    "prompt_order": [{"character_id": 100001, "order": [{"identifier": name, "enabled": True} for name in NODES]}],
    "openai_max_context": 400_000,
}
CHAIN, KEYS = 30, 200
TWINS = [
    {"id": 1, "keys": ["bell"], "content": "A bell of bronze.", "enabled": True, "insertion_order": 1},
    {"id": 1, "keys": ["bell"], "content": "A bell of glass.", "enabled": True, "insertion_order": 1},
]


def chain() -> list[dict[str, Any]]:
    """Each entry calls up the next one, and has patterns enough to make the search dear."""
    return [
        {
            "id": at,
            "keys": [f"k{at}", *(f"/never{at}x{key}/" for key in range(KEYS))],
            "content": f"Room {at} is blue, see k{at + 1}.",
            "enabled": True,
            "insertion_order": 1,
        }
        for at in range(CHAIN)
    ]


def make_rook(home: Path, entries: list[dict[str, Any]], server: ModelServer) -> None:
    home.mkdir(exist_ok=True)
    data = {"name": "Rook", "description": "a crow", "first_mes": "", "character_book": {"entries": entries}}
    card = home / "card.json"
    card.write_text(json.dumps({"spec": "chara_card_v2", "spec_version": "2.0", "data": data}), encoding="utf-8")
    preset = home / "p.json"
    preset.write_text(json.dumps(PRESET), encoding="utf-8")
    run(home, "init", "rook", "--as", "Ada", "--from-card", str(card))
    run(home, "preset", "import", str(preset))
    settings = home / "familiars/rook/character.toml"
    slot = f'\n[llm.main_prose]\nmodel = "test-model"\nbase_url = "{server.base_url}"\n'
    text = settings.read_text(encoding="utf-8").replace("[world_info]\n", "[world_info]\nbudget_percent = 100\n")
    text = text.replace("[providers.content_search]\n", '[providers.content_search]\nembedder = "hashing"\n')
    settings.write_text(f'preset_fidelity = "sillytavern"\n{text}{slot}', encoding="utf-8")


def run(home: Path, *words: str) -> str:
    done = run_program(home, *words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_two_entries_with_one_number_end_the_scan(tmp_path: Path) -> None:
    """A stranger's card can carry them; the turn is answered."""
    with model_endpoint(stream_answer("Caw.")) as server:
        make_rook(tmp_path, TWINS, server)
        assert "Caw." in run(tmp_path, "ask", "Do you hear the bell?")
        assert "of glass" in str(server.requests[-1].payload)


def test_a_chain_of_entries_without_end_is_cut_and_said(tmp_path: Path) -> None:
    """In the turn's page, and as the answer to why an entry behind the cut was not there."""
    with model_endpoint(stream_answer("Caw.")) as server:
        make_rook(tmp_path, chain(), server)
        assert "Caw." in run(tmp_path, "ask", "What is in k0?")
    assert "the search stopped early" in run(tmp_path, "inspect")
    lines = json.loads(run(tmp_path, "inspect", "--json"))["world_info"]
    assert "stopped early" in lines[-1]["reason"]
    done = run_program(tmp_path, "why", f"Room {CHAIN - 1} is blue", "--json")
    found = json.loads(done.stdout)
    assert found["answer"] == "World Info"
    assert "stopped before it reached it" in found["sentence"]
