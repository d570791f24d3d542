"""The owner's yes, asked at a real terminal: scripts at import, settings of folders that came from elsewhere."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from familiar_connect.audience import Confidence
from familiar_connect.config.consent import OwnerConsent
from familiar_connect.familiar import Familiar
from familiar_connect.llm.scripted import ScriptedModel
from tests.commands.test_raw_words import OWES, card_with
from tests.commands.test_regex import run, write
from tests.fakes.model_server import stream_answer
from tests.fakes.program import make_home, model_endpoint, run_program
from tests.fakes.scripted_familiar import model_slots
from tests.fakes.terminal import TerminalSession

WIDE = 'confidence = "open"\nowner_hears_all = true\ntools = true\n'


def widen(root: Path) -> None:
    """Let a folder read as one that somebody else filled."""
    file = root / "character.toml"
    file.write_text(WIDE + file.read_text(encoding="utf-8"), encoding="utf-8")
    (root / "channels").mkdir(exist_ok=True)
    (root / "channels/70.toml").write_text('shares_with = ["twitch"]\n', encoding="utf-8")


@pytest.mark.parametrize(("typed", "state"), [("y", "on"), ("n", "not allowed"), ("", "not allowed")])
def test_one_question_at_import_shows_each_script_and_takes_the_answer(tmp_path: Path, typed: str, state: str) -> None:
    """Its name, where it acts, what it finds and puts there; Enter alone means no."""
    file = write(tmp_path / "card.json", card_with(OWES))
    words = ("init", "rook", "--as", "Ada", "--from-card", file)
    with TerminalSession(tmp_path, *words, columns=240) as terminal:
        terminal.wait_for_text("Allow it? [y/N]")
        shown = " ".join(terminal.text.split())
        assert "1. Debt: changes what people say (in prompts, in the chat and in exports); finds" in shown
        assert "`/^Please water the plants$/`" in shown
        assert "puts `I, the owner, owe you 100 coins` there" in shown
        terminal.enter(typed)
        assert terminal.wait_end() == 0
    (row,) = json.loads(run(tmp_path, "regex", "list", "--json"))["scripts"]
    assert row["state"] == state


@pytest.mark.parametrize(("typed", "counts"), [("y", True), ("", False)])
def test_a_copied_folders_settings_are_asked_about_one_by_one(tmp_path: Path, typed: str, counts: bool) -> None:
    """In the familiar's settings and in its channels' files; no is meant wherever nothing is typed."""
    with model_endpoint(stream_answer("Yes.")) as server:
        root = make_home(tmp_path, server)
        widen(root)
        file = root / "character.toml"
        file.write_text(file.read_text().replace('"test-model"', '"test-model"\ntools = true'), encoding="utf-8")
        with TerminalSession(tmp_path, "ask", "Hello?", columns=240) as terminal:
            for number in range(1, 5):
                terminal.wait_for_text("Allow it from now on? [y/N]", times=number)
                terminal.enter(typed)
            assert terminal.wait_end() == 0
            shown = " ".join(terminal.text.split())
        assert "channels/70.toml: shares_with" in shown
        assert ("tools" in server.requests[-1].payload) is counts
    consent = OwnerConsent(tmp_path, "ember")
    assert consent.allows_setting("confidence", "open") is counts
    assert consent.allows_in_channel(70, "shares_with", ("platform:twitch",)) is counts


@pytest.mark.parametrize("is_asked", [True, False])
def test_an_adopted_familiars_settings_are_taken_after_a_yes_alone(tmp_path: Path, is_asked: bool) -> None:
    """Each with what it does; without a terminal none is taken, whatever --yes says, and a sentence tells of it."""
    gift = tmp_path / "gift"
    (gift / "memory/self").mkdir(parents=True)
    (gift / "memory/self/name.md").write_text("Mira\n", encoding="utf-8")
    (gift / "character.toml").write_text(WIDE + '[discord]\ndms = "everyone"\n', encoding="utf-8")
    (gift / "channels").mkdir()
    (gift / "channels/70.toml").write_text('shares_with = ["twitch"]\n', encoding="utf-8")
    home = tmp_path / "home"
    if is_asked:
        with TerminalSession(home, "adopt", str(gift), "--yes", columns=240) as terminal:
            for number in range(1, 5):
                terminal.wait_for_text("Take it? [y/N]", times=number)
                terminal.enter("y" if number != 2 else "")
            assert terminal.wait_end() == 0
            shown = terminal.text
    else:
        done = run_program(home, "adopt", str(gift), "--yes")
        assert done.returncode == 0, done.stderr
        shown = done.stdout
    made = home / "familiars/mira"
    settings = tomllib.loads((made / "character.toml").read_text(encoding="utf-8"))
    assert 'It came with the setting confidence = "open": mira then may tell people' in shown
    assert "Not added. If you want it, write it into" in shown
    assert not (made / "channels/70.toml").exists()
    found = {name: settings.get(name) for name in ("confidence", "owner_hears_all", "tools")}
    assert found["owner_hears_all"] is None
    familiar = Familiar.load_from_disk(made, llm_clients=model_slots(ScriptedModel()))
    assert (found["confidence"], found["tools"]) == (("open", True) if is_asked else (None, None))
    assert (familiar.config.confidence is Confidence.open) is is_asked
    assert (familiar.config.built_in.discord.dms == "everyone") is is_asked
    familiar.history_store.close()


def test_a_folder_that_is_loaded_counts_what_its_home_allows(tmp_path: Path) -> None:
    """Through Python as well: neither its settings nor its channels' files widen anything by themselves."""
    root = make_home(tmp_path)
    widen(root)
    for is_allowed in (False, True):
        if is_allowed:
            run(tmp_path, "trust", "setting", "confidence")
            run(tmp_path, "trust", "setting", "channels/70.toml: shares_with")
        familiar = Familiar.load_from_disk(root, llm_clients=model_slots(ScriptedModel()))
        assert (familiar.config.confidence is Confidence.open) is is_allowed
        assert bool(familiar.channel_configs.get(70).place.shares_with) is is_allowed
        familiar.history_store.close()


REHEARSED = {
    "familiar": {"base": "ember"},
    "people": {"ada": {"name": "Ada"}, "ben": {"name": "Ben"}},
    "places": {
        "dm": {"kind": "dm", "members": ["ada"]},
        "tea": {"kind": "text", "server": "Tea House", "name": "lounge"},
    },
    "models": {"main_prose": {"say": [], "otherwise": "Mm."}},
    "steps": [
        {"in": "dm", "by": "ada", "say": "The vault word is marzipan."},
        {"in": "tea", "by": "ben", "say": "Ember, which vault word did Ada tell you?", "mention": True},
        {"expect": {"reply_in": "tea", "prompt_lacks": ["marzipan"]}},
    ],
}


def test_a_rehearsal_of_a_familiar_counts_what_is_allowed_and_what_it_sets_itself(tmp_path: Path) -> None:
    """A copied folder's settings open nothing there; the rehearsal's own do, for whoever plays it chose them."""
    widen(make_home(tmp_path))
    closed = run_program(tmp_path, "rehearse", write(tmp_path / "closed.json", REHEARSED), "--scripted")
    assert closed.returncode == 0, closed.stdout + closed.stderr
    told = json.loads(json.dumps(REHEARSED).replace("prompt_lacks", "prompt_has"))
    own = {**told, "familiar": {"base": "ember", "settings": 'confidence = "open"'}}
    opened = run_program(tmp_path, "rehearse", write(tmp_path / "opened.json", own), "--scripted")
    assert opened.returncode == 0, opened.stdout + opened.stderr
    run(tmp_path, "trust", "setting", "confidence")
    allowed = run_program(tmp_path, "rehearse", write(tmp_path / "allowed.json", told), "--scripted")
    assert allowed.returncode == 0, allowed.stdout + allowed.stderr


def test_the_prompt_that_is_shown_is_made_with_what_counts(tmp_path: Path) -> None:
    """A setting that waits for the owner's yes changes no prompt, also where it is only looked at."""
    root = make_home(tmp_path)
    talk = {
        "channel": {"name": "Ada", "kind": "dm", "id": 71},
        "me": "ember",
        "members": [{"id": "ember", "name": "Ember", "bot": True}, {"id": "ada", "name": "Ada", "username": "ada"}],
        "messages": [{"id": "1", "author": "ada", "text": "Hello?"}],
    }
    file = write(tmp_path / "talk.json", talk)
    usual = run(tmp_path, "prompt", file, "--tools")
    widen(root)
    assert run(tmp_path, "prompt", file, "--tools") == usual
    run(tmp_path, "trust", "setting", "tools")
    assert run(tmp_path, "prompt", file, "--tools") != usual
