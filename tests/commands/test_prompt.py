"""familiar prompt: the exact prompt for a conversation in a file, and nothing left behind."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from familiar_connect.bootstrap.starter import make_starter
from familiar_connect.commands.prompt import prompt
from familiar_connect.config.consent import OwnerConsent
from familiar_connect.errors import ConfigError, FamiliarError
from familiar_connect.memory.store import DEFAULT_MAX_RESULTS_PER_OP, MemoryStore
from tests.fakes.command_call import call_command
from tests.fakes.program import run_program

Run = Callable[..., str]
LOUNGE: dict[str, Any] = {
    "server": {"name": "Tea House", "id": 5},
    "channel": {"name": "lounge", "id": 70},
    "me": "ember",
    "members": [
        {"id": "ember", "name": "Ember", "bot": True},
        {"id": "ada", "name": "Ada", "platform": "discord"},
        {"id": "cy", "name": "Cy", "privacy": "full"},
        {"id": "bo", "name": "Bo", "presence": "online", "privacy": "partial"},
    ],
    "messages": [
        {"id": "1", "author": "cy", "text": "PLANTED"},
        {"id": "2", "author": "ember", "text": "Tea?"},
        {"id": "3", "author": "bo", "text": "yes", "reactions": [{"emoji": "👍", "by": ["cy", "ada"]}]},
        {
            "id": "4",
            "author": "ada",
            "text": "look",
            "attachments": [{"url": "https://example.org/cat.png", "filename": "cat.png", "mime": "image/png"}],
        },
    ],
}
PLAIN_SCENE = {
    "prompts": [
        {"identifier": "main", "name": "Main", "content": "Write as {{char}} to {{user}}.", "system_prompt": True},
        {"identifier": "chatHistory", "name": "Chat", "marker": True},
    ],
    "prompt_order": [
        {
            "character_id": 100001,
            "order": [{"identifier": "main", "enabled": True}, {"identifier": "chatHistory", "enabled": True}],
        }
    ],
}


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("FAMILIAR_ID", raising=False)
    root = make_starter(tmp_path / "home", "ember")
    settings = root / "character.toml"
    plain = settings.read_text(encoding="utf-8").replace('embedder = "auto"', 'embedder = "hashing"')
    settings.write_text(plain.replace("#embedder", "embedder"), encoding="utf-8")
    return root


@pytest.fixture
def run(root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """`familiar prompt` over the lounge, with *changes* to it; what it said on standard output."""

    def call(*words: str, **changes: Any) -> str:
        file = tmp_path / "lounge.json"
        file.write_text(json.dumps({**LOUNGE, **changes}), encoding="utf-8")
        capsys.readouterr()
        call_command(prompt, tmp_path / "home", str(file), *words, name="familiar prompt")
        return capsys.readouterr().out

    return call


def everything_under(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_the_prompt_is_printed_message_by_message(run: Run) -> None:
    """Roles, names, words and pictures as they would be sent; who is not to be heard is nowhere."""
    said = run("--model", "claude")

    assert said.startswith("[system]\n")
    assert "You are Ember, a tiny fire spirit" in said
    assert "[user Ada]\n<image https://example.org/cat.png>\n" in said
    assert "Ada: look" in said
    assert "Cy" not in said
    assert "PLANTED" not in said


def test_stickers_of_the_file_are_offered_where_they_may_be_sent(run: Run, root: Path) -> None:
    """As in the channel: with the tool allowed and a model that uses tools; else nothing is said of them."""
    settings = root / "character.toml"
    settings.write_text('tools = ["send_sticker"]\n' + settings.read_text(encoding="utf-8"), encoding="utf-8")
    OwnerConsent(root.parent.parent, root.name).allow_setting("tools", ["send_sticker"])
    stickers = [{"name": "wave", "id": "12", "description": "a paw"}]

    assert "# Stickers of this server" in run("--model", "claude", "--tools", stickers=stickers)
    assert "# Stickers of this server" not in run("--model", "claude", "--no-tools", stickers=stickers)
    assert "# Stickers of this server" not in run("--model", "claude", "--tools")


def test_nothing_is_written_anywhere(run: Run, root: Path) -> None:
    """No history, no index, no notes: the familiar's folder stays byte for byte what it was."""
    before = everything_under(root)

    run()
    run("--json", "--order", "classic")

    assert everything_under(root) == before


def test_the_same_file_gives_the_same_bytes(run: Run) -> None:
    """The clock is the conversation's own, and chance comes from the seed."""
    assert run("--model", "claude") == run("--model", "claude")


def test_a_blind_model_is_told_of_what_it_cannot_see(run: Run) -> None:
    """The same words with a notice in the picture's stead."""
    seeing = run("--model", "claude")
    blind = run("--model", "claude", "--blind")

    assert "<image" in seeing
    assert "<image" not in blind
    assert "Ada: look" in blind


def test_both_orders_can_be_looked_at(run: Run) -> None:
    """In classic order people stand where their slot is; in the other all system text is one message on top."""
    stable = json.loads(run("--model", "claude", "--json", "--order", "stable_first"))
    classic = json.loads(run("--model", "claude", "--json", "--order", "classic"))

    assert sorted(b["source"] for b in stable["blocks"]) == sorted(b["source"] for b in classic["blocks"])
    assert stable["messages"] != classic["messages"]


def test_a_small_window_cuts_and_says_so(run: Run) -> None:
    """What had no room is listed with its cost."""
    talk = [{"id": str(at), "author": "ada", "text": f"number {at} " * 40} for at in range(10, 30)]
    said = run("--model", "claude", "--window", "600", "--blocks", messages=talk)

    assert "cut: " in said
    assert "no room in the window" in said


def test_a_short_chat_of_people_stands_whole_in_the_small_models_prompt(run: Run) -> None:
    """With what the first start gives, it is shown each line that people said and none of its own, and that is told."""
    who = {0: "ember", 1: "ada"}
    talk = [{"id": str(at), "author": who[at % 2], "text": f"Line {at}, and {'so ' * 30}on."} for at in range(10, 24)]
    said = run(messages=talk)

    assert [at for at in range(10, 24) if f"Line {at}," in said] == list(range(11, 24, 2))
    assert "so small a model is not shown its own replies" in run("--blocks", messages=talk)


def test_a_preset_is_tried_from_a_file_and_leaves_no_trace(run: Run, root: Path, tmp_path: Path) -> None:
    """With our memory, or as SillyTavern would send it; the familiar has no preset afterwards."""
    file = tmp_path / "Plain Scene.json"
    file.write_text(json.dumps(PLAIN_SCENE), encoding="utf-8")
    ours = run("--model", "claude", "--preset", str(file))
    theirs = run("--model", "claude", "--preset", str(file), "--fidelity", "sillytavern")

    assert "Write as Ember to Ada." in ours
    assert "Tea House" in ours
    assert "Write as Ember to Ada." in theirs
    assert "Tea House" not in theirs
    assert not (root / "presets").exists()


def test_people_are_known_by_their_notes(run: Run, root: Path) -> None:
    """A member's platform and id lead to the notes kept of them."""
    MemoryStore(root / "memory").write_file("people/discord-ada.md", "# Ada\nShe grows mint.\n")

    assert "She grows mint." in run("--model", "claude")


def test_a_pinned_file_is_shown_whatever_else_memory_holds(root: Path, tmp_path: Path) -> None:
    """More files than a search of memory hands out at once stand before it."""
    notes = root / "memory/lore/harbour"
    notes.mkdir(parents=True)
    for number in range(DEFAULT_MAX_RESULTS_PER_OP + 1):
        (notes / f"boat-{number:04}.md").write_text("A boat.\n", encoding="utf-8")
    (notes / "zebra.md").write_text("---\npin: true\n---\nNo zebra ever came.\n", encoding="utf-8")
    file = tmp_path / "lounge.json"
    file.write_text(json.dumps(LOUNGE), encoding="utf-8")
    done = run_program(tmp_path / "home", "prompt", str(file))
    assert done.returncode == 0, done.stderr
    assert "No zebra ever came." in done.stdout


def test_what_else_is_asked_can_be_tried(run: Run) -> None:
    """A message to go on with, a persona to speak for: as the file says."""
    messages = [{"id": "1", "author": "ada", "text": "well?"}, {"id": "2", "author": "ember", "text": "It was"}]
    going_on = run("--model", "claude", messages=messages, asked={"manual": True})
    imitating = run("--model", "claude", asked={"imitate": "bo"})

    assert "Continue your last message" in going_on
    assert "Write the next message of Bo" in imitating


def test_a_preset_that_is_not_there_is_a_sentence(run: Run) -> None:
    """It says how to bring one in, and how a file is named."""
    with pytest.raises(FamiliarError, match=r"there is no preset 'Nope'.*\.json"):
        run("--preset", "Nope")


def test_a_file_that_is_no_conversation_is_a_sentence(run: Run) -> None:
    """The place in the file is named."""
    with pytest.raises(ConfigError, match="holds no messages"):
        run(messages=[])


def test_a_broken_setting_is_told_by_the_owners_own_file(run: Run, root: Path) -> None:
    """Not by the copy that is looked at."""
    (root / "channels").mkdir(exist_ok=True)
    (root / "channels" / "70.toml").write_text('mode = "sideways"\n', encoding="utf-8")

    with pytest.raises(FamiliarError, match="sideways") as told:
        run()
    assert str(root / "channels" / "70.toml") in str(told.value)


def test_a_persona_the_familiar_does_not_have_is_a_mistake(run: Run) -> None:
    """Told with what there is, instead of a prompt for nobody."""
    with pytest.raises(FamiliarError, match=r"no further persona called 'Moss'.*it has none"):
        run(asked={"alter": "Moss"})


def test_a_voice_channel_is_shown_as_it_is_spoken_in(run: Run) -> None:
    """B6: no handles, and nobody's presence."""
    said = run("--model", "claude", channel={"name": "Den", "kind": "voice", "id": 70})

    assert "Channel: Den (voice)" in said
    assert not any(mark in said for mark in ("ref_", "media_", "mention: @{", "is online"))


def test_of_who_is_not_to_be_heard_nothing_is_shown_though_they_alone_speak(run: Run) -> None:
    """E4, G33."""
    assert "PLANTED" not in run("--model", "claude", messages=LOUNGE["messages"][:1])


def test_on_voice_the_model_is_told_that_it_is_heard(run: Run, root: Path) -> None:
    """In words, whatever the channel's mode; a note of the owner's for `imitate_voice` stands in its place."""
    spoken: dict[str, Any] = {"channel": {"name": "lounge", "id": 70, "kind": "voice"}}
    assert "people who write to each other" in run("--model", "claude-sonnet")
    told = run("--model", "claude-sonnet", **spoken)
    assert "Everything Ember writes here is heard, not read." in told
    assert "people who write to each other" not in told
    (root / "modes").mkdir(exist_ok=True)
    (root / "modes" / "text_conversation_rp.md").write_text("Text a lot.", encoding="utf-8")
    assert "Text a lot." in run("--model", "claude-sonnet", **spoken)
    (root / "modes" / "imitate_voice.md").write_text("Whisper.", encoding="utf-8")
    assert "Whisper." in run("--model", "claude-sonnet", **spoken)
    assert "Text a lot." in run("--model", "claude-sonnet")
