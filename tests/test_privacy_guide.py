"""Every sentence of docs/guides/privacy.md about who hears what, played through `familiar rehearse`."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from familiar_connect.commands.rehearsal_home import make_rehearsal_home
from familiar_connect.history.channel_readers import mark_of
from familiar_connect.rehearsal.play import PlaySettings, play_rehearsal
from familiar_connect.rehearsal.player import StepResult
from familiar_connect.rehearsal.script_file import read_rehearsal
from tests.fakes.program import run_program

GUIDE = Path(__file__).parent.parent / "docs" / "guides" / "privacy.md"
Step = dict[str, Any]

PEOPLE = {"ada": {"name": "Ada", "id": "101", "roles": ["crew"]}, "bo": {"name": "Bo", "id": "102"}}
PLACES = {
    "lounge": {"kind": "text", "server": "Tea House", "name": "lounge"},
    "garden": {"kind": "text", "server": "Tea House", "name": "garden"},
    "staff": {"kind": "text", "server": "Tea House", "name": "staff", "hidden": True, "members": ["ada"]},
    "nook": {"kind": "text", "server": "Tea House", "name": "nook", "hidden": True, "members": ["ada"]},
    "deck": {"kind": "text", "server": "Tea House", "name": "deck", "hidden": True, "allow": ["crew"]},
    "hall": {"kind": "text", "server": "Elsewhere", "name": "hall"},
    "dm-ada": {"kind": "dm", "members": ["ada"]},
    "dm-bo": {"kind": "dm", "members": ["bo"]},
    "terminal": {"kind": "dm", "platform": "terminal", "members": ["owner"]},
    "stream": {"platform": "twitch", "name": "ada_live"},
    "group": {"platform": "telegram", "name": "kitchen"},
}
CARELESS = ("history_summary", "memory_writer", "memory_search", "interjection_decision", "reasoning_context")


def say(place: str, by: str, text: str) -> Step:
    return {"in": place, "by": by, "say": f"Ember, {text}", "mention": True}


def ask(place: str, by: str, *, has: str = "", lacks: str = "") -> list[Step]:
    """Somebody asks for the password; the prompt must hold one word, or must not."""
    expected: Step = {"reply_in": place}
    expected |= {"prompt_has": [has]} if has else {}
    expected |= {"prompt_lacks": [lacks]} if lacks else {}
    return [say(place, by, "what is the password of the cellar?"), {"expect": expected}]


def secret(place: str, by: str = "ada") -> list[Step]:
    """The word is said somewhere, written up, and the familiar is opened anew."""
    return [say(place, by, "the password of the cellar is swordfish."), {"write_up": True}, {"restart": True}]


WORD = "swordfish"
CLAIMS: dict[str, list[Step]] = {
    "What someone writes in a direct message is told in direct messages with the same person, and nowhere else.": [
        *secret("dm-ada"),
        *ask("lounge", "ada", lacks=WORD),
        *ask("dm-bo", "bo", lacks=WORD),
        *ask("dm-ada", "ada", has=WORD),
    ],
    "What is said in a hidden channel is told in that channel, in other channels of the server that no one else can"
    " read, and in direct messages with people who can read it.": [
        *secret("staff"),
        *ask("lounge", "ada", lacks=WORD),
        *ask("dm-bo", "bo", lacks=WORD),
        *ask("dm-ada", "ada", has=WORD),
        *ask("nook", "ada", has=WORD),
        *ask("staff", "ada", has=WORD),
    ],
    "What is said in an open channel is told in every channel of its server, and in direct messages with its"
    " members.": [
        *secret("lounge"),
        *ask("garden", "bo", has=WORD),
        *ask("staff", "ada", has=WORD),
        *ask("dm-bo", "bo", has=WORD),
    ],
    "Nothing that is said on one server is told on another.": [*secret("lounge"), *ask("hall", "ada", lacks=WORD)],
    "When you hide a channel, what was said in it before is hidden with it.": [
        *secret("garden"),
        {"hide": "garden", "members": ["ada"]},
        *ask("lounge", "bo", lacks=WORD),
    ],
    "When you open a channel, what was said while it was hidden stays hidden.": [
        *secret("staff"),
        {"open": "staff"},
        *ask("staff", "bo", lacks=WORD),
        *ask("lounge", "bo", lacks=WORD),
    ],
    "What you say in the terminal is told nowhere else.": [
        *secret("terminal", "owner"),
        *ask("lounge", "bo", lacks=WORD),
        *ask("terminal", "owner", has=WORD),
    ],
    "You hear everything in the terminal, except other people's direct messages.": [
        *secret("staff"),
        *ask("terminal", "owner", has=WORD),
        say("dm-bo", "bo", "the password of the attic is plugh."),
        {"write_up": True},
        say("terminal", "owner", "what is the password of the attic?"),
        {"expect": {"reply_in": "terminal", "prompt_lacks": ["plugh"]}},
    ],
    "What you write into a file of your own in `memory/` may be told to everyone.": [
        {"file": "memory/lore/cellar.md", "write": "# Cellar\n\nThe password of the cellar is swordfish.\n"},
        {"restart": True},
        *ask("hall", "bo", has=WORD),
    ],
    "Anyone who chooses `/privacy full` is left out of everything, also of what was written before.": [
        *secret("lounge"),
        {"slash": "/privacy", "args": "full", "in": "lounge", "by": "ada"},
        *ask("garden", "bo", lacks=WORD),
    ],
    "What is said in a Twitch chat is told everywhere, on other platforms too: anyone can read such a chat.": [
        *secret("stream"),
        *ask("hall", "bo", has=WORD),
    ],
    "What is said in a group on Telegram is told in that group alone: a bot cannot ask who is in it.": [
        *secret("group"),
        *ask("hall", "bo", lacks=WORD),
        *ask("dm-ada", "ada", lacks=WORD),
        *ask("group", "bo", has=WORD),
    ],
    "While the rules stay the same, anyone who is given the role may hear what was said before: Discord shows it to"
    " them too.": [*secret("deck"), {"roles": {"bo": ["crew"]}}, *ask("dm-bo", "bo", has=WORD)],
    "When the rules change, anyone who is let in is not told what was said before, not even in the channel itself.": [
        *secret("deck"),
        {"allow": ["bo"], "in": "deck"},
        *ask("deck", "bo", lacks=WORD),
    ],
    "Anyone who loses the role is not told what is said there afterwards.": [
        {"roles": {"bo": ["crew"]}},
        say("deck", "bo", "I am here."),
        {"roles": {"bo": []}},
        *secret("deck"),
        *ask("dm-bo", "bo", lacks=WORD),
    ],
}


def test_the_guide_and_the_tests_make_the_same_claims() -> None:
    """A sentence that nobody plays is not promised."""
    text = GUIDE.read_text(encoding="utf-8").split("## Who hears what")[1].split("\n##")[0]
    bullets = re.findall(r"^- (.+?)(?=\n- |\n\n)", text, flags=re.MULTILINE | re.DOTALL)

    assert [" ".join(each.split()) for each in bullets] == list(CLAIMS)


def play(folder: Path, steps: list[Step]) -> tuple[Path, list[str]]:
    """Play *steps* with models that repeat everything they are given: the familiar's folder, and what did not hold."""
    script = {
        "familiar": {"name": "Ember", "settings": '[providers.content_search]\nembedder = "hashing"\n'},
        "people": PEOPLE,
        "places": PLACES,
        "models": {"main_prose": {"say": [], "otherwise": "Mm."}, **dict.fromkeys(CARELESS, "echo")},
        "steps": steps,
    }
    file = folder / "claim.json"
    file.write_text(json.dumps(script), encoding="utf-8")
    failed: list[str] = []

    def keep(result: StepResult) -> None:
        failed.extend(result.failed)

    rehearsal = read_rehearsal(file)
    root = make_rehearsal_home(rehearsal, folder / "home", home=folder)
    play_rehearsal(rehearsal, PlaySettings(root=root, home=folder, is_scripted=True), keep)
    return root, failed


@pytest.mark.parametrize("claim", CLAIMS, ids=[f"claim-{number}" for number in range(1, len(CLAIMS) + 1)])
def test_a_claim_of_the_privacy_guide_holds(claim: str, tmp_path: Path) -> None:
    """Played with models that repeat everything they are given."""
    _, failed = play(tmp_path, CLAIMS[claim])

    assert failed == []


def test_what_was_taken_back_is_shown_to_the_owner_alone_and_readers_are_kept_as_marks(tmp_path: Path) -> None:
    """`familiar logs` says what it read and why it went; the rows of readers hold nobody's number."""
    root, failed = play(
        tmp_path,
        [
            say("deck", "ada", "the password of the cellar is swordfish."),
            {"write_up": True},
            {"delete": "s1", "in": "deck"},
            *ask("deck", "ada", lacks=WORD),
        ],
    )
    logs = run_program(root.parent.parent, "logs", "--familiar", root.name).stdout
    with closing(sqlite3.connect(root / "history.db")) as database:
        readers = {people for (people,) in database.execute("SELECT people FROM channel_readers")}

    assert failed == []
    assert "removed: the message was deleted" in logs
    assert WORD in logs
    assert any(mark_of("101") in people for people in readers)
    assert not any('"101"' in people for people in readers)
