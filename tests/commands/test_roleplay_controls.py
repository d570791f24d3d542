"""The controls of a roleplay through the program as a process, with an endpoint that keeps what it was asked."""

from __future__ import annotations

import json
import re
from pathlib import Path
from unittest.mock import ANY

from tests.fakes.model_server import ModelServer, stream_answer
from tests.fakes.program import make_home, model_endpoint, run_program

REHEARSAL = Path(__file__).parents[2] / "examples" / "rehearse" / "roleplay_controls.json"
PRESET = {
    "prompts": [
        {"identifier": "main", "name": "Main", "role": "system", "content": "{{char}}: {{lastGenerationType}}"},
        {"identifier": "chatHistory", "name": "Chat", "marker": True},
    ],
    "prompt_order": [
        {
            "character_id": 100001,
            "order": [{"identifier": each, "enabled": True} for each in ("main", "chatHistory")],
        }
    ],
    "new_chat_prompt": "",
    "continue_nudge_prompt": "[Go on from: {{lastChatMessage}}]",
    "impersonation_prompt": "[Write as {{user}}.]",
    "continue_prefill": False,
}


def asked(server: ModelServer, number: int) -> list[tuple[str, str]]:
    """What the endpoint was sent, but the card's own description and its first words."""
    messages = server.requests[number].payload["messages"]
    return [
        (each["role"], each["content"])
        for each in messages
        if "fire spirit" not in each["content"] and "little flame" not in each["content"]
    ]


def test_each_control_asks_as_sillytavern_would(tmp_path: Path) -> None:
    """Continue with its nudge, a swipe without the answer, an impersonation with its own prompt."""
    answers = [stream_answer(text) for text in ("Once upon", "a time.", "Never.", "And then?", "Well.")]
    with model_endpoint(*answers) as server:
        root = make_home(tmp_path, server)
        (tmp_path / "p.json").write_text(json.dumps(PRESET), encoding="utf-8")
        run_program(tmp_path, "preset", "import", str(tmp_path / "p.json"))
        settings = root / "character.toml"
        text = settings.read_text(encoding="utf-8")
        settings.write_text(f'preset_fidelity = "sillytavern"\nuser_name = "Ada"\n{text}', encoding="utf-8")
        said = "Tell.\n/continue\n/swipe\n/impersonate\n/swipe back\n/undo\nHm?\n"
        done = run_program(tmp_path, "chat", "--plain", said=said)

    first = [(each["role"], each["content"]) for each in server.requests[0].payload["messages"]][1]
    assert first[0] == "assistant", first
    assert "little flame in this kettle" in first[1]
    assert "little flame" not in done.stdout
    told = ("user", "Tell.")
    assert asked(server, 0) == [("system", "Ember: normal"), told]
    nudged = [("assistant", "Once upon"), ("system", "[Go on from: Once upon]")]
    assert asked(server, 1) == [("system", "Ember: continue"), told, *nudged]
    assert asked(server, 2) == [("system", "Ember: swipe"), told]
    imitated = [("assistant", "Never."), ("system", "[Write as Ada.]")]
    assert asked(server, 3) == [("system", "Ember: impersonate"), told, *imitated]
    assert asked(server, 4) == [("system", "Ember: normal"), ("user", "Hm?")]
    lines = done.stdout.splitlines()
    assert lines[:5] == ["Once upon", "a time.", "Never.", "And then?", "Once upon a time."]
    assert lines[-1] == "Well."


def test_an_undone_line_is_found_and_exported_no_more(tmp_path: Path) -> None:
    """In the next process, too; the chosen version is."""
    answers = [stream_answer(text) for text in ("The kettle is blue.", "The kettle is green.", "Yes, ska.")]
    with model_endpoint(*answers) as server:
        make_home(tmp_path, server)
        run_program(tmp_path, "chat", "--plain", said="The kettle?\n/regenerate\nDo you know ska?\n/undo\n")
        written = run_program(tmp_path, "export", "chat", "--format", "md", "-o", "-")
        found = run_program(tmp_path, "memory", "search", "kettle")
        counted = [
            run_program(tmp_path, *words).stdout
            for words in (("list",), ("chat", "--list"), ("doctor", "--all", "--offline"))
        ]

    assert [re.findall(r"\d+ turns.*", text) for text in counted][:2] == [["2 turns"], [ANY]]
    assert "2 turns, 2 more removed, " in counted[2]
    assert written.returncode == 0, written.stderr
    assert "The kettle is green." in written.stdout
    assert "blue" not in written.stdout + found.stdout
    assert "ska" not in written.stdout


def test_the_example_of_controls_holds(tmp_path: Path) -> None:
    """A scripted conversation with each of them, as an owner would rehearse it."""
    done = run_program(tmp_path, "rehearse", str(REHEARSAL), "--scripted")

    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 failed" in done.stdout


def test_what_undo_says_and_every_count_agree(tmp_path: Path) -> None:
    """One exchange of two lines; what is left is counted the same wherever turns are counted."""
    with model_endpoint(stream_answer("One."), stream_answer("Two.")) as server:
        make_home(tmp_path, server)
        done = run_program(tmp_path, "chat", "--plain", "--as", "Sam", said="Do you know ska?\nAnd dub?\n/undo\n")
        counts = [
            run_program(tmp_path, *words).stdout for words in (("list",), ("chat", "--list"), ("doctor", "--all"))
        ]
        left = run_program(tmp_path, "logs").stdout.splitlines()

    assert "Removed from this chat (1 exchange, 2 lines): no prompt, search or memory uses it now.\n" in done.stdout
    assert "channel" not in done.stdout
    assert len(left) == 2
    assert all("2 turns" in each for each in counts), counts
    assert "2 turns, 2 more removed" in counts[2]


def test_lines_says_that_there_are_older_ones(tmp_path: Path) -> None:
    """Ten are shown unasked, and fifty at most."""
    with model_endpoint(*[stream_answer(f"Answer {n}.") for n in range(26)]) as server:
        make_home(tmp_path, server)
        said = "".join(f"Line {n}.\n" for n in range(26))
        done = run_program(tmp_path, "chat", "--plain", "--as", "Sam", said=f"{said}/lines\n/lines 80\n/lines 3\n")

    assert "There are older ones; /lines 20 shows more." in done.stdout
    assert done.stdout.count("There are older ones; /lines shows at most 50.") == 1
    assert done.stdout.count("There are older ones") == 2


def test_one_line_is_hidden_moved_or_deleted_and_undo_still_takes_one_exchange(tmp_path: Path) -> None:
    """A hidden question is taken back with its answer, and nothing before it."""
    with model_endpoint(*[stream_answer(f"Answer {n}.") for n in "123"]) as server:
        make_home(tmp_path, server)
        said = "One\nTwo\nThree\n/move 1 up\n/move 2 down\n/hide 2\n/undo\n/delete 1\n/move 1 aside\n/lines\n"
        done = run_program(tmp_path, "chat", "--plain", "--as", "Sam", said=said)

    assert "Removed from this chat (1 exchange, 2 lines)" in done.stdout, done.stdout
    assert "Removed from this chat; no prompt, search or memory uses it now:\n  Ember: Answer 2." in done.stdout
    assert "Say up or down" in done.stdout + done.stderr
    assert done.stdout.splitlines()[-3:] == ["  3  Sam: One", "  2  Ember: Answer 1.", "  1  Sam: Two"]
