"""`familiar memory check --propose`, as a process: what is put before the owner, and what their yes does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.fakes.model_server import whole_answer
from tests.fakes.program import make_home, model_endpoint, run_program
from tests.fakes.writer_setup import writer_answer
from tests.walks.test_owner_lines import home_with_writer

SERVER = "---\naudience: server:discord:5\n---\n"
SAM = f"""{SERVER}# Sam

## What they said about themselves
- 2026-03-01, Sam said: I live in Graz.
- 2026-03-02, Sam said: My sister is called Ida.
- 2026-03-05, Sam said: I have an exam on 20 March.
- 2026-04-01, Sam said: I live in Vienna.
- 2026-04-02, Sam said: My birthday is on 20 March.
- 2026-05-01, Sam said: my sister is called Ida!
"""


def write(root: Path, **files: str) -> None:
    for name, text in files.items():
        path = root / "memory" / f"{name.replace('__', '/')}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def check(home: Path) -> Any:
    done = run_program(home, "memory", "check", "--propose", "--json")
    return json.loads(done.stdout)


def approve(home: Path, run_id: str) -> None:
    done = run_program(home, "memory", "review", "--approve", run_id)
    assert done.returncode == 0, done.stdout + done.stderr


def test_lines_that_no_longer_hold_are_put_before_the_owner(tmp_path: Path) -> None:
    """Graz and Vienna, an exam that is over, a sister named twice: nothing changes until the owner says yes."""
    root = make_home(tmp_path)
    write(root, **{"people__discord-41": SAM})
    told = check(tmp_path)
    path = root / "memory" / "people" / "discord-41.md"
    untouched = path.read_text()
    approve(tmp_path, told["proposal"])
    log = run_program(tmp_path, "memory", "log", "people/discord-41.md").stdout

    kinds = sorted(each["kind"] for each in told["findings"] if each["suggests"])
    assert kinds == ["contradiction", "duplicate", "stale"]
    assert any("“I live in Graz.” does not go with “I live in Vienna.”" in each["says"] for each in told["findings"])
    assert untouched == SAM
    assert [line.partition("said: ")[2] for line in path.read_text().splitlines() if "said: " in line] == [
        "My sister is called Ida.",
        "I live in Vienna.",
        "My birthday is on 20 March.",
    ]
    assert path.read_text().startswith(SERVER)
    assert "another line says it" in log
    assert check(tmp_path)["findings"] == []


def test_what_others_hear_is_no_reason_to_edit(tmp_path: Path) -> None:
    """Told in a direct message that somebody moved: the open file stays as it is, the owner is told of both."""
    root = make_home(tmp_path)
    private = "---\naudience: people:discord:41\n---\n# Sam\n\n- Lives in Vienna.\n"
    write(
        root,
        **{
            "people__discord-41": f"{SERVER}# Sam\n\n- Sam lives in Graz.\n",
            "people__discord-41@dm-discord-41": private,
        },
    )
    told = check(tmp_path)

    assert [(each["kind"], each["suggests"]) for each in told["findings"]] == [("contradiction", False)]
    assert "which other people may hear" in told["findings"][0]["says"]
    assert told["proposal"] is None


def test_two_topics_that_are_one_become_one(tmp_path: Path) -> None:
    """The lines of both in one file, the other points to it; topics for different ears stay apart."""
    root = make_home(tmp_path)
    write(
        root,
        topics__boat=f"{SERVER}# The boat\n\n- It is green.\n",
        topics__heron=f"{SERVER}# The boat\n\n- It leaks.\n",
        topics__secret="---\naudience: people:discord:41\n---\n# The boat\n\n- It was stolen.\n",
    )
    told = check(tmp_path)
    approve(tmp_path, told["proposal"])
    boat, heron = ((root / "memory" / "topics" / f"{name}.md").read_text() for name in ("boat", "heron"))

    assert "It is green." in boat
    assert "It leaks." in boat
    assert "stolen" not in boat
    assert "leaks" not in heron
    assert "(boat.md)" in heron
    assert heron.startswith(SERVER)


def test_a_file_that_is_nearly_full_is_split_at_a_heading(tmp_path: Path) -> None:
    """Its largest section gets a file for the same ears, and a link stands in its place."""
    root = make_home(tmp_path)
    sails = "".join(f"- Sail number {number} is mended with thread of colour {number}.\n" for number in range(3_000))
    oars = "".join(f"- Oar number {number} is of ash and has a crack.\n" for number in range(1_500))
    write(root, topics__boat=f"{SERVER}# Boat\n\n## Oars\n{oars}\n## Sails\n{sails}\n## Anchor\n- Rusty.\n")
    told = check(tmp_path)
    approve(tmp_path, told["proposal"])
    boat, split = ((root / "memory" / "topics" / f"{name}.md").read_text() for name in ("boat", "boat-sails"))

    assert "large file" in [each["kind"] for each in told["findings"]]
    assert (
        boat == f"{SERVER}# Boat\n\n## Oars\n{oars}\n## Sails\n\nSee [Sails](boat-sails.md).\n\n## Anchor\n- Rusty.\n"
    )
    assert split == f"{SERVER}# Sails\n\n{sails}"


def test_a_file_over_its_cap_is_split_for_the_same_ears(tmp_path: Path) -> None:
    """Approved under the name of the file alone, its parts come along: no line is lost, none is heard by others."""
    root = make_home(tmp_path)
    cap = 262_144
    sails = "".join(f"- Sail number {number} is mended with thread of colour {number}.\n" for number in range(8_000))
    oars = "".join(f"- Oar number {number} is of ash and has a crack.\n\n" for number in range(2_000))
    whole = f"{SERVER}# Boat\n\nShe is green.\n\n## Sails\n{sails}\n## Oars\n{oars}\n## Anchor\n- Rusty.\n"
    write(root, topics__boat=whole)
    told = check(tmp_path)
    waiting = (root / "memory" / "topics" / "boat.md").read_text()
    done = run_program(tmp_path, "memory", "review", "--approve", told["proposal"], "--file", "topics/boat.md")
    files = {path.name: path.read_text() for path in sorted((root / "memory" / "topics").glob("*.md"))}
    again = check(tmp_path)

    assert "cut there; shorten or split it: into topics/boat.md and 3 files beside it" in told["findings"][0]["says"]
    assert waiting == whole
    assert done.returncode == 0, done.stdout + done.stderr
    assert list(files) == ["boat-sails-2.md", "boat-sails-3.md", "boat-sails.md", "boat.md"]
    assert all(text.startswith(SERVER) and len(text.encode()) <= cap for text in files.values())
    assert "See [Sails](boat-sails.md), [Sails 2](boat-sails-2.md), [Sails 3](boat-sails-3.md)." in files["boat.md"]
    lines = [line for text in files.values() for line in text.splitlines() if line.startswith("- ")]
    assert sorted(lines) == sorted(line for line in whole.splitlines() if line.startswith("- "))
    assert [each["kind"] for each in again["findings"]] == []


def test_a_pasted_page_without_headings_is_split_too(tmp_path: Path) -> None:
    """Between paragraphs; canon and files about people are the owner's to shorten, and only told of."""
    root = make_home(tmp_path)
    pages = "\n\n".join(f"Page {number}. {'It rained. ' * 100}" for number in range(300))
    write(root, notes=f"# Notes\n\n{pages}\n", self__canon=f"# Canon\n\n{pages}\n", people__ida=f"# Ida\n\n{pages}\n")
    told = check(tmp_path)
    approve(tmp_path, told["proposal"])
    notes = {path.name: path.read_text() for path in (root / "memory").glob("notes*.md")}

    assert [each["suggests"] for each in told["findings"] if "is read to" in each["says"]] == [True, False, False]
    assert sorted(notes) == ["notes-part-2.md", "notes-part.md", "notes.md"]
    assert notes["notes.md"] == "# Notes\n\nSee [Notes part](notes-part.md), [Notes part 2](notes-part-2.md).\n\n"
    assert all(f"Page {number}. " in "".join(notes.values()) for number in range(300))


def test_the_running_program_looks_memory_over_once_a_day(tmp_path: Path) -> None:
    """When a talk is over and written up; no model is asked, nothing is changed, and each day's talk asks once."""
    script = {
        "familiar": {"memory": {"people/discord-41.md": SAM}},
        "people": {"ada": {"name": "Ada"}},
        "places": {"tea": {"server": "Tea House"}},
        "models": {"main_prose": {"otherwise": "Mm."}, "memory_writer": "echo"},
        "steps": [
            {"at": "2026-06-01T08:00:00+00:00", "in": "tea", "by": "ada", "say": "I moved to Lyon."},
            {"after": "10m", "expect": {"file_lacks": {"audit/checked": ["2026"]}}},
            {"after": "2h", "in": "tea", "by": "ada", "say": "My cat is called Pixel."},
            {"after": "3h", "expect": {"file_has": {"audit/checked": ["2026-06-01"]}}},
        ],
    }
    path = tmp_path / "day.json"
    path.write_text(json.dumps(script))
    kept = tmp_path / "kept"
    done = run_program(tmp_path, "rehearse", str(path), "--keep", str(kept))
    listed = json.loads(run_program(kept, "memory", "review", "--list", "--json").stdout)
    file = next(kept.glob("familiars/*/memory/people/discord-41.md"))

    assert done.returncode == 0, done.stdout + done.stderr
    assert [(each["source"], each["files"]) for each in listed] == [("housekeeping", ["people/discord-41.md"])]
    assert file.read_text() == SAM


def test_what_is_taken_back_leaves_the_suggestions_that_wait_too(tmp_path: Path) -> None:
    """A plan that is over was suggested to go; then its message is deleted: no file holds its words any more."""
    script: dict[str, Any] = {
        "people": {"ada": {"name": "Ada", "id": "101"}},
        "places": {"tea": {"server": "Tea House"}},
        "models": {
            "main_prose": {"otherwise": "Mm."},
            "memory_writer": {"otherwise": writer_answer("Ada told of an exam.")},
        },
        "steps": [
            {"at": "2026-03-01T08:00:00+00:00", "in": "tea", "by": "ada", "say": "I have a zither exam on 20 March."},
            {"after": "60d", "in": "tea", "by": "ada", "say": "My cat is called Pixel."},
            {"after": "3h", "expect": {"file_has": {"audit/checked": ["2026-04-30"]}}},
            {"file": "memory/notes.md", "write": "# Notes\n"},
            {"restart": True},
            {"delete": "s1", "in": "tea"},
            {"after": "1h", "expect": {"file_lacks": {"memory/people/discord-101.md": ["zither"]}}},
        ],
    }
    (tmp_path / "day.json").write_text(json.dumps(script))
    (tmp_path / "early.json").write_text(json.dumps({**script, "steps": script["steps"][:3]}))
    homes = {}
    for name in ("early", "day"):
        kept = homes[name] = tmp_path / name
        done = run_program(tmp_path, "rehearse", str(tmp_path / f"{name}.json"), "--keep", str(kept))
        assert done.returncode == 0, done.stdout + done.stderr
    waiting = {
        name: [each.read_text() for each in home.rglob(".pending/**/*") if each.is_file()]
        for name, home in homes.items()
    }

    assert any("zither" in text for text in waiting["early"])
    assert not any("zither" in text for text in waiting["day"])


def test_a_model_finds_what_the_rules_do_not(tmp_path: Path) -> None:
    """It is shown one file at a time and answers in numbers; what it names waits for the owner."""
    sam = (
        f"{SERVER}# Sam\n\n- 2026-03-01, Sam said: The bakery is my whole life.\n- 2026-04-01, Sam said: Sold it all.\n"
    )
    letter = "---\naudience: people:discord:41\n---\n# Sam\n\n- 2026-03-01, Sam said: I owe money.\n- Lots.\n"
    answers = (whole_answer("OUT 1 BECAUSE 2\nOUT 2 BECAUSE 1\nOUT 7 BECAUSE 9\nrm -rf"), whole_answer("NONE"))
    with model_endpoint(*answers) as server:
        root = home_with_writer(tmp_path, server)
        write(root, **{"people__discord-41": sam, "people__discord-41@dm-discord-41": letter})
        done = run_program(tmp_path, "memory", "check", "--ask-model", "--propose", "--json")
    told = json.loads(done.stdout)
    prompts = [request.payload["messages"][0]["content"] for request in server.requests]

    assert [(each["kind"], each["suggests"]) for each in told["findings"]] == [("contradiction", True)]
    assert "may be over, a model says, since “Sold it all.”" in told["findings"][0]["says"]
    assert ["I owe money" in prompt for prompt in prompts] == [False, True]
    assert ["bakery" in prompt for prompt in prompts] == [True, False]
    assert "rm -rf" not in done.stdout
    approve(tmp_path, told["proposal"])
    assert "bakery" not in (root / "memory" / "people" / "discord-41.md").read_text()


def test_a_small_model_is_not_asked(tmp_path: Path) -> None:
    """The embedded one: the rules look alone, and that is said."""
    make_home(tmp_path)
    done = run_program(tmp_path, "memory", "check", "--ask-model")

    assert "too small to ask" in done.stderr
