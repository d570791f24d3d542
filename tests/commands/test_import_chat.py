"""`familiar import chat`, `import list`, `import undo`: chats from elsewhere, through the program as a process."""

from __future__ import annotations

import json
import re
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.history.chats import ChatRegistry
from familiar_connect.history.store import HistoryStore
from familiar_connect.presets.story.state_store import StoryStateStore
from tests.fakes.model_server import stream_answer
from tests.fakes.program import make_home, model_endpoint, one_sentence, run_program
from tests.fakes.terminal import TerminalSession

HEADER = {
    "user_name": "unused",
    "character_name": "unused",
    "create_date": "2026-3-1@18h05m00s",
    "chat_metadata": {
        "integrity": "5d1c",
        "note_prompt": "[Keep it short.]",
        "note_interval": 2,
        "note_position": 1,
        "note_depth": 3,
        "note_role": 0,
        "variables": {"n": 3, "mood": "wry"},
        "tainted": True,
    },
}
LINES: list[dict[str, Any]] = [
    {
        "name": "Ember",
        "is_user": False,
        "is_system": False,
        "send_date": "March 1, 2026 6:05pm",
        "mes": "Ho.",
        "swipes": ["Hi.", "Ho."],
        "swipe_id": 1,
        "swipe_info": [{"extra": {"model": "a"}}, {"extra": {"model": "b"}}],
        "extra": {"api": "openai"},
    },
    {
        "name": "Sam",
        "is_user": True,
        "is_system": False,
        "send_date": "2026-03-01T18:06:00.000Z",
        "mes": "My dog is called Biscuit. I live in Leith.",
    },
    {"name": "Guest", "is_user": False, "mes": "I came from Ullapool.", "send_date": 1772388420000},
    {"name": "System", "is_user": False, "is_system": True, "mes": "secret plumbing"},
    {"name": "Storm", "is_user": False, "mes": "Wind rises.", "extra": {"type": "narrator"}},
    {"name": "Ember", "is_user": False, "mes": "A fine dog.", "send_date": "2026-3-1 @18h 10m 00s 000ms"},
]


def write_chat(path: Path, *rows: object) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    make_home(tmp_path)
    return tmp_path


def facts_of(home: Path, *words: str) -> dict[str, Any]:
    """What an import says as JSON, of its one chat."""
    done = run_program(home, "import", "chat", *words, "--json")
    found: dict[str, Any] = json.loads(done.stdout)
    assert found["errors"] == [], found
    return dict(found["chats"][0])


def logs(home: Path, chat: str) -> list[tuple[str, str]]:
    rows = json.loads(run_program(home, "logs", "--chat", chat, "--json").stdout)
    return [(row["who"], row["text"]) for row in rows]


def test_a_chat_comes_along_with_dates_names_swipes_note_and_variables(home: Path) -> None:
    """It is a chat of its own, hidden lines are in no prompt, and going on with it is one command."""
    file = write_chat(home / "evening.jsonl", HEADER, *LINES)

    told = run_program(home, "import", "chat", file).stdout
    out = re.sub(r"\s+", " ", told)

    assert "Imported 6 of 6 messages" in out
    assert "1 with swipes, 1 hidden" in out
    assert "Ember is this familiar; others in it: Guest." in out
    assert "2 variables came with it." in out
    assert "chat --familiar ember --chat evening" in out
    assert logs(home, "evening") == [
        ("Ember", "Ho."),
        ("Sam", "My dog is called Biscuit. I live in Leith."),
        ("Guest", "I came from Ullapool."),
        ("Ember", "Wind rises."),
        ("Ember", "A fine dog."),
    ]
    folder = FamiliarFolder(home / "familiars" / "ember")
    chat = ChatRegistry(folder).find(1, "evening")
    assert chat is not None
    settings = folder.channel_file(chat.channel_id).read_text(encoding="utf-8")
    assert f"Its author's note is in {folder.channel_file(chat.channel_id)}." in out
    assert 'author_note = "[Keep it short.]"' in settings
    assert "author_note_interval = 2" in settings
    assert StoryStateStore(folder.story).load(chat.channel_id).variables == {"n": "3", "mood": "wry"}
    history = HistoryStore(folder.history_db)
    first = history.turns_after(familiar_id="ember", after_id=0, channel_id=chat.channel_id, limit=1)[0]
    history.close()
    assert (first.timestamp.month, first.timestamp.day) == (3, 1)


def test_the_same_file_again_adds_nothing_and_a_grown_one_what_is_new(home: Path) -> None:
    """A message that was swiped or edited since reads as it does now; one that was deleted at the end is gone."""
    file = home / "evening.jsonl"
    write_chat(file, HEADER, *LINES)
    facts_of(home, str(file))
    again = facts_of(home, str(file))
    swiped = {**LINES[5], "mes": "A good dog.", "swipes": ["A fine dog.", "A good dog."], "swipe_id": 1}
    more = {"name": "Sam", "is_user": True, "mes": "Shall we walk?", "send_date": "2026-03-01T18:11:00.000Z"}
    write_chat(file, HEADER, *LINES[:5], swiped, more)
    grown = facts_of(home, str(file))
    after_growth = logs(home, "evening")[-2:]
    write_chat(file, HEADER, *LINES[:5], swiped)
    cut = facts_of(home, str(file))

    assert (again["added"], again["changed"]) == (0, 0)
    assert (grown["added"], grown["changed"], grown["import"]) == (1, 1, again["import"])
    assert after_growth == [("Ember", "A good dog."), ("Sam", "Shall we walk?")]
    assert (cut["added"], cut["taken_back"]) == (0, 1)
    assert logs(home, "evening")[-1] == ("Ember", "A good dog.")


def test_talk_here_goes_on_after_an_import_that_grows(home: Path) -> None:
    """What is said here and what comes with the grown file stand one after the other."""
    file = home / "evening.jsonl"
    write_chat(file, HEADER, *LINES[:2])
    channel = facts_of(home, str(file))["channel_id"]
    history = HistoryStore(home / "familiars/ember/history.db")
    history.append_turn(familiar_id="ember", channel_id=channel, role="assistant", content="Said here.")
    history.close()
    write_chat(file, HEADER, *LINES)

    assert facts_of(home, str(file))["added"] == 4
    assert [text for _, text in logs(home, "evening")][:4] == ["Ho.", LINES[1]["mes"], "Said here.", LINES[2]["mes"]]


@pytest.mark.parametrize("line", ["not json", "[1, 2]", '{"name": "Sam", "is_user": true}', '{"mes": 3}'])
def test_a_broken_line_is_named_and_nothing_is_stored(home: Path, line: str) -> None:
    """File and line stand in one sentence; a second file is taken all the same."""
    bad, good = home / "bad.jsonl", home / "good.jsonl"
    write_chat(bad, HEADER, *LINES[:2])
    bad.write_text(bad.read_text(encoding="utf-8") + line + "\n", encoding="utf-8")
    write_chat(good, HEADER, *LINES)

    done = run_program(home, "import", "chat", str(bad), str(good))

    assert done.returncode == 1
    assert f"{bad}, line 4:" in done.stderr.replace("\n", " ")
    assert [row["chat"] for row in json.loads(run_program(home, "import", "list", "--json").stdout)] == ["good"]
    assert "bad" not in run_program(home, "chat", "--list").stdout


def test_what_is_no_chat_and_what_is_another_chat_are_refused(home: Path) -> None:
    """An empty file, a file that is not there, other messages under a name that is taken, a chat of one's own."""
    (home / "empty.jsonl").write_text("\n")
    file = home / "evening.jsonl"
    write_chat(file, HEADER, *LINES)
    facts_of(home, str(file))
    write_chat(home / "other.jsonl", HEADER, {"name": "Ember", "is_user": False, "mes": "Elsewhere."})

    empty = run_program(home, "import", "chat", str(home / "empty.jsonl"))
    missing = run_program(home, "import", "chat", str(home / "none.jsonl"))
    other = run_program(home, "import", "chat", str(home / "other.jsonl"), "--chat", "evening")

    assert "is empty; choose a chat file" in one_sentence(empty)
    assert "is not a file" in one_sentence(missing)
    assert "a different chat from the one imported as 'evening'" in one_sentence(other)


def test_plain_text_and_json_logs_come_along(home: Path) -> None:
    """Names and dates are read; who the familiar is is plain from its name, or said."""
    text, log = home / "talk.txt", home / "log.json"
    text.write_text(
        "[2026-03-01 18:05] Ember: Good evening.\n[2026-03-01 18:06] Sam: Hello!\nI brought a map: look.\n", "utf-8"
    )
    log.write_text(
        json.dumps(
            [
                {"role": "system", "content": "You are Ember."},
                {"role": "user", "content": "My boat is the Kittiwake.", "date": "2026-03-02T08:00:00Z"},
                {"role": "assistant", "content": [{"type": "text", "text": "A fine name."}]},
            ]
        ),
        "utf-8",
    )

    facts_of(home, str(text))
    facts = facts_of(home, str(log), "--chat", "boats")

    assert logs(home, "talk") == [("Ember", "Good evening."), ("Sam", "Hello!\nI brought a map: look.")]
    assert (facts["form"], facts["hidden"], facts["first"]) == ("json", 1, "2026-03-02T08:00:00+00:00")
    assert logs(home, "boats") == [("Friend", "My boat is the Kittiwake."), ("Ember", "A fine name.")]


def test_an_unknown_familiar_in_a_log_is_asked_for(home: Path) -> None:
    """The sentence names the option and the names there are."""
    text = home / "talk.txt"
    text.write_text("Ash: Good evening.\nSam: Hello!\n", "utf-8")

    done = run_program(home, "import", "chat", str(text))
    facts = facts_of(home, str(text), "--character", "Ash")

    assert "say who the familiar is with --character NAME: Ash, Sam" in one_sentence(done)
    assert facts["character"] == "Ash"
    assert logs(home, "talk") == [("Ember", "Good evening."), ("Sam", "Hello!")]


def test_an_import_is_found_written_up_and_taken_back_with_its_memory(home: Path) -> None:
    """Undoing leaves neither the chat nor what memory was made of it; what others said stays."""
    file = write_chat(home / "evening.jsonl", HEADER, *LINES)
    before = run_program(home, "memory", "search", "what is the dog called").returncode
    written = run_program(home, "import", "chat", file, "--write-up")
    memory = home / "familiars/ember/memory"
    people = [path.name for path in (memory / "people").glob("*.md")]
    found = run_program(home, "memory", "search", "what is the dog called").stdout

    undone = run_program(home, "import", "undo", "1")

    assert before == 1
    assert written.returncode == 0
    assert sorted(people) == ["import-guest.md", "terminal-you.md"]
    assert "My dog is called Biscuit" in found
    assert "secret plumbing" not in run_program(home, "memory", "search", "secret plumbing").stdout
    assert "Removed 6 messages of evening.jsonl." in undone.stdout
    assert not list((memory / "people").glob("*.md"))
    assert not list((memory / "sessions").glob("*.md"))
    assert run_program(home, "memory", "search", "what is the dog called").returncode == 1
    assert "evening" not in run_program(home, "chat", "--list").stdout
    assert not list((home / "familiars/ember/story").glob("1*.json"))
    assert "No chat has been imported yet" in run_program(home, "import", "list").stdout


def test_who_asked_that_nothing_is_kept_is_asked_first(home: Path) -> None:
    """Full privacy holds for old words too."""
    run_program(home, "chat", "--plain", said="/privacy full\n")
    file = write_chat(home / "evening.jsonl", HEADER, *LINES)

    done = run_program(home, "import", "chat", file)

    assert "your privacy here is full" in one_sentence(done)
    assert "evening" not in run_program(home, "chat", "--list").stdout


def test_undoing_what_is_not_there_says_so(home: Path) -> None:
    """The sentence names where the numbers stand."""
    assert "there is no import 7; `familiar import list` shows them" in one_sentence(
        run_program(home, "import", "undo", "7")
    )


def test_a_chat_that_was_exported_comes_back_the_same(home: Path, tmp_path: Path) -> None:
    """Swipes, dates, names, note, variables and fields nobody here knows: all of it goes in and out."""
    file = write_chat(home / "evening.jsonl", HEADER, *LINES)
    facts_of(home, file)
    out = home / "out.jsonl"
    run_program(home, "export", "chat", "--chat", "evening", "-o", str(out))
    other = tmp_path / "other"
    make_home(other)
    facts_of(other, str(out), "--chat", "evening")
    back = other / "back.jsonl"
    run_program(other, "export", "chat", "--chat", "evening", "-o", str(back))

    first, second = (read_chat(path) for path in (out, back))
    assert first == second
    assert first == [HEADER, *(with_defaults(line) for line in LINES)]


def test_an_export_that_grew_elsewhere_adds_what_is_new(home: Path) -> None:
    """A chat of ours that went to SillyTavern and came back is not there twice."""
    history = HistoryStore(home / "familiars/ember/history.db")
    history.append_turn(familiar_id="ember", channel_id=1, role="assistant", content="Good evening.")
    history.close()
    out = home / "out.jsonl"
    run_program(home, "export", "chat", "--chat", "main", "-o", str(out))
    more = {"name": "Sam", "is_user": True, "mes": "Hello from elsewhere."}
    out.write_text(out.read_text("utf-8") + json.dumps(more) + "\n", "utf-8")

    facts = facts_of(home, str(out), "--chat", "main")
    again = facts_of(home, str(out), "--chat", "main")

    assert (facts["added"], again["added"]) == (1, 0)
    assert logs(home, "main") == [("Ember", "Good evening."), ("Sam", "Hello from elsewhere.")]


def read_chat(path: Path) -> list[dict[str, Any]]:
    """The rows of an exported chat, without what our export adds."""
    rows: list[dict[str, Any]] = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    rows[0]["chat_metadata"].pop("familiar_connect")
    for row in rows[1:]:
        row["extra"].pop("familiar_connect")
        if not row["extra"]:
            del row["extra"]
    return rows


def with_defaults(line: dict[str, Any]) -> dict[str, Any]:
    return {"is_system": False, **line}


PRESET: dict[str, Any] = {
    "prompts": [
        {
            "identifier": "main",
            "system_prompt": True,
            "role": "system",
            "content": "You are {{char}}, {{getvar::mood}}.",
        },
        {"identifier": "chatHistory", "system_prompt": True, "marker": True},
    ],
    "prompt_order": [
        {
            "character_id": 100001,
            "order": [{"identifier": name, "enabled": True} for name in ("main", "chatHistory")],
        }
    ],
    "new_chat_prompt": "",
    "openai_max_context": 4000,
    "openai_max_tokens": 300,
}


def test_the_next_message_of_an_old_chat_knows_the_chat(tmp_path: Path) -> None:
    """With our own prompt, and as SillyTavern makes it: words, names, note and variables; hidden lines in neither."""
    with model_endpoint(stream_answer("Once more."), stream_answer("And again.")) as server:
        root = make_home(tmp_path, server)
        facts_of(tmp_path, write_chat(tmp_path / "evening.jsonl", HEADER, *LINES))
        said = "Tell me more.\n"
        ours = run_program(tmp_path, "chat", "--plain", "--chat", "evening", "--as", "Sam", said=said)
        write_chat(tmp_path / "p.json", PRESET)
        run_program(tmp_path, "preset", "import", str(tmp_path / "p.json"))
        settings = root / "character.toml"
        text = settings.read_text(encoding="utf-8")
        settings.write_text(f'preset_fidelity = "sillytavern"\n{text}', encoding="utf-8")
        theirs = run_program(tmp_path, "chat", "--plain", "--chat", "evening", "--as", "Sam", said=said)
        first, second = ([(m["role"], m["content"]) for m in each.payload["messages"]] for each in server.requests[-2:])

    assert "Once more." in ours.stdout
    assert "And again." in theirs.stdout
    words = "\n".join(text for _, text in first)
    assert "My dog is called Biscuit. I live in Leith." in words
    assert "Guest: I came from Ullapool." in words
    assert "Keep it short." in words
    assert "secret plumbing" not in words + str(second)
    assert second[0] == ("system", "You are Ember, wry.")
    assert ("assistant", "Guest: I came from Ullapool.") in second
    assert ("system", "Wind rises.") in second
    assert ("user", "Tell me more.") in second


def test_progress_and_time_left_are_shown_where_somebody_watches(home: Path) -> None:
    """A bar while it is stored and one while it is made searchable, on a real terminal."""
    file = write_chat(home / "long.jsonl", HEADER, *LINES * 400)

    with TerminalSession(home, "import", "chat", file) as session:
        session.wait_for_text("Importing long.jsonl")
        session.wait_for_text("Making it searchable")
        session.wait_for_text("Continue it")
        assert session.wait_end() == 0


def test_ctrl_c_stops_an_import_and_the_same_command_goes_on(home: Path) -> None:
    """Exit code 130 and a sentence; nothing is lost and nothing stands twice."""
    file = write_chat(home / "long.jsonl", HEADER, *LINES * 1200)

    with TerminalSession(home, "import", "chat", file) as session:
        session.wait_for_text("Importing long.jsonl")
        session.ctrl_c()
        code = session.wait_end()
        shown = session.text

    facts = facts_of(home, file)
    chat = json.loads(run_program(home, "chat", "--list", "--json").stdout)[1]
    assert (code, "the same command continues from there" in " ".join(shown.split())) == (130, True)
    assert 0 < facts["added"] < len(LINES) * 1200
    assert chat["turns"] == len(LINES) * 1200


def test_of_several_familiars_the_chat_goes_to_the_one_it_is_with(home: Path) -> None:
    """By the name in the file, whoever was talked with last; `--familiar` says otherwise."""
    assert run_program(home, "init", "wren", "--name", "Wren").returncode == 0
    file = write_chat(home / "w.jsonl", {**HEADER, "character_name": "Wren"}, {**LINES[0], "name": "Wren"}, LINES[1])

    done = run_program(home, "import", "chat", file)
    assert done.returncode == 0, done.stderr
    assert "It is a chat with wren, so it goes there" in " ".join(done.stdout.split())
    assert "Biscuit" in run_program(home, "logs", "--familiar", "wren", "--chat", "w").stdout
    assert run_program(home, "logs", "--familiar", "ember", "--chat", "w").returncode != 0
    assert "as wren's chat 'w'" in done.stdout
    assert "chat --familiar wren --chat w" in done.stdout
    there = run_program(home, "import", "chat", file, "--familiar", "ember", "--character", "Wren", "--json")
    assert json.loads(there.stdout)["chats"][0]["familiar"] == "ember"


def test_chats_with_different_familiars_are_refused_before_anything_is_taken(home: Path) -> None:
    """The head of each file tells, or who speaks in it; `--familiar` takes them all."""
    assert run_program(home, "init", "wren", "--name", "Wren").returncode == 0
    wrens = write_chat(home / "w.jsonl", {**HEADER, "character_name": "Wren"}, {**LINES[0], "name": "Wren"}, LINES[1])
    embers = write_chat(home / "e.jsonl", HEADER, *LINES)

    told = one_sentence(run_program(home, "import", "chat", wrens, embers))
    assert "chats with different familiars (w.jsonl with wren, e.jsonl with ember); nothing was imported" in told
    assert "import the chats of one at a time, or choose with --familiar ID where all of them go" in told
    for name in ("wren", "ember"):
        assert json.loads(run_program(home, "import", "list", "--familiar", name, "--json").stdout) == []

    more = write_chat(home / "e2.jsonl", HEADER, *LINES[:2])
    done = run_program(home, "import", "chat", embers, more, "--json")
    assert [each["familiar"] for each in json.loads(done.stdout)["chats"]] == ["ember", "ember"]


def test_an_import_is_no_talk(home: Path) -> None:
    """Who was talked with last goes on being meant where none is named; the list marks them."""
    assert run_program(home, "init", "wren", "--name", "Wren").returncode == 0
    with closing(HistoryStore(home / "familiars/ember/history.db")) as history:
        history.append_turn(familiar_id="ember", channel_id=1, role="user", content="Good evening.")
    later = datetime.now(UTC) + timedelta(days=1)
    said = {**LINES[0], "name": "Wren", "send_date": later.isoformat()}
    file = write_chat(home / "w.jsonl", {**HEADER, "character_name": "Wren"}, said)
    assert facts_of(home, file)["familiar"] == "wren"

    listed = json.loads(run_program(home, "list", "--json").stdout)["familiars"]
    assert [(each["id"], each["current"]) for each in listed] == [("ember", True), ("wren", False)]
    assert run_program(home, "list").stdout.splitlines()[1].startswith("* ember ")
    assert "Good evening." in run_program(home, "logs").stdout
    assert not list((home / "familiars").glob("*/history.db-*")), "whoever looks leaves nothing behind"

    with closing(HistoryStore(home / "familiars/wren/history.db")) as history:
        history.append_turn(familiar_id="wren", channel_id=1, role="user", content="Hello, Wren.")
        assert "* wren" in run_program(home, "list").stdout, "also while somebody else has it open"


def test_undo_takes_back_what_was_said_here_and_nothing_that_came_along(tmp_path: Path) -> None:
    """An old chat may end with a question that nobody answered; it stays, with its names filled in."""
    unanswered = {**LINES[1], "mes": "Tell {{char}} about it."}
    with model_endpoint(stream_answer("Good evening.")) as server:
        make_home(tmp_path, server)
        facts_of(tmp_path, write_chat(tmp_path / "evening.jsonl", HEADER, LINES[0], unanswered))
        said = "Hello?\n/undo\n/lines\n"
        done = run_program(tmp_path, "chat", "--plain", "--chat", "evening", "--as", "Sam", said=said)

    taken_back, _, lines = done.stdout.partition("Removed from this chat")[2].partition("Ember: Good evening.")
    assert "Sam: Hello?" in taken_back
    assert "about it" not in taken_back
    assert "Sam: Tell Ember about it." in lines


def test_what_an_import_sets_off_is_said_before_it_is_taken_in(tmp_path: Path) -> None:
    """Calls, tokens and how many a day; of a model that is too small for it, that none is made."""
    said = [{**LINES[1], "mes": f"Line {number}."} for number in range(60)]
    file = write_chat(tmp_path / "long.jsonl", HEADER, *said)
    with model_endpoint() as server:
        root = make_home(tmp_path, server)
        small = run_program(tmp_path, "import", "chat", str(file)).stdout
        slots = "".join(
            f'[llm.{slot}]\nmodel = "m"\nbase_url = "{server.base_url}"\n'
            for slot in ("memory_writer", "history_summary")
        )
        settings = root / "character.toml"
        text = settings.read_text(encoding="utf-8").replace("#calls_per_day = 200", "calls_per_day = 2")
        settings.write_text(f"{text}\n{slots}", encoding="utf-8")
        large = run_program(tmp_path, "import", "chat", str(file), "--chat", "again").stdout
        told = run_program(tmp_path, "import", "chat", str(file), "--chat", "once more", "--json").stdout
        forecast = json.loads(told)["chats"][0]["write_up"]

    assert "Writing it up as memory asks no model" in small
    before, _, after = large.partition("Imported ")
    assert after
    assert "60 messages. Writing it up as memory takes up to 3 calls of m, about " in before
    assert "; 2 a day at most" in before
    assert "Summing it up takes up to 2 calls more." in before
    assert (forecast["calls"], forecast["calls_per_day"], forecast["summary_calls"]) == (3, 2, 2)
    assert forecast["tokens"] > 0
    assert forecast["says"] in before


def gpt_chat(key: str, *said: str) -> dict[str, object]:
    """A conversation as ChatGPT exports it, user and model by turns."""
    mapping: dict[str, object] = {}
    for number, text in enumerate(said):
        role = ("user", "assistant")[number % 2]
        message = {"author": {"role": role}, "create_time": 1772388300 + number, "content": {"parts": [text]}}
        mapping[f"{key}{number}"] = {"parent": f"{key}{number - 1}", "message": message}
    leaf = f"{key}{len(said) - 1}"
    return {"title": "Ferries", "conversation_id": key, "current_node": leaf, "mapping": mapping}


def test_each_conversation_of_an_export_becomes_a_chat_and_is_known_again(home: Path) -> None:
    """Also where two are called the same and a later export has them in another order; one can be chosen."""
    file = home / "conversations.json"
    file.write_text(json.dumps([gpt_chat("a", "When?", "At nine."), gpt_chat("b", "Where?", "Mallaig.")]))
    told = re.sub(r"\s+", " ", run_program(home, "import", "chat", str(file)).stdout)
    grown = gpt_chat("a", "When?", "At nine.", "Thanks.")
    tea = {**gpt_chat("c", "Tea?"), "title": "Tea"}
    file.write_text(json.dumps([gpt_chat("b", "Where?", "Mallaig."), tea, grown]))
    chosen = facts_of(home, str(file), "--only", "tea")
    named = run_program(home, "import", "chat", str(file), "--chat", "mine")
    found = json.loads(run_program(home, "import", "chat", str(file), "--json").stdout)["chats"]

    assert "conversations.json: 2 chats." in told
    assert "Imported 2 of 2 messages as 'Ferries' (import 1)." in told
    assert "Imported 2 of 2 messages as 'Ferries 2' (import 2)." in told
    assert (chosen["chat"], chosen["messages"]) == ("Tea", 1)
    assert "holds 3 chats, and --chat names one; choose it with --only" in one_sentence(named)
    assert [(each["chat"], each["added"]) for each in found] == [("Ferries 2", 0), ("Tea", 0), ("Ferries", 1)]
    assert logs(home, "Ferries") == [("Friend", "When?"), ("Ember", "At nine."), ("Friend", "Thanks.")]
