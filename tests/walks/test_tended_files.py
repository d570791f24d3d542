"""Pass after pass the program writes to one file: each line stands under its heading, and stands there once."""

from __future__ import annotations

from pathlib import Path

from familiar_connect.memory.writing.markdown_sections import bullets_under
from tests.fakes.model_server import whole_answer
from tests.fakes.program import make_home, model_endpoint, run_program
from tests.fakes.writer_setup import writer_answer
from tests.walks.test_owner_lines import FILE, home_with_writer, say

ABOUT = "What they said about themselves"


def write_up(home: Path) -> None:
    done = run_program(home, "memory", "write-now")
    assert done.returncode == 0, done.stderr


def test_a_line_that_the_model_adds_at_the_end_is_no_link(tmp_path: Path) -> None:
    """The second pass repeats the file and adds below its last list: the line goes to the file's own lines."""
    first = whole_answer(writer_answer("We met.", {"discord-41.md": "# Sam\n\n## What I know\n- Lives in Graz.\n"}))
    with model_endpoint(first) as server:
        root = home_with_writer(tmp_path, server)
        say(root, "I live in Graz.")
        write_up(tmp_path)
        path = root / "memory" / FILE
        again = path.read_text() + "- Works as a nurse at night.\n- Owns a castle in Spain.\n"
        server.script = [whole_answer(writer_answer("We met again.", {"discord-41.md": again}))]
        say(root, "I work as a nurse at night.")
        write_up(tmp_path)
    text = path.read_text()
    why = run_program(tmp_path, "memory", "why", "Sam").stdout

    assert bullets_under(text, "What I know") == ["Lives in Graz.", "Works as a nurse at night."]
    assert all("](" in line for line in bullets_under(text, "Sessions"))
    assert "castle" not in text  # below the links nothing had asked whether it was said
    assert "I work as a nurse" in why.partition("Works as a nurse")[2]


def test_quotes_stay_out_of_the_owners_subheading(tmp_path: Path) -> None:
    """The owner sorts a quote under a heading of their own: the next one goes to the list itself, none stands twice."""
    root = make_home(tmp_path)
    say(root, "I live in Graz. My cat is called Pixel.")
    write_up(tmp_path)
    path = root / "memory" / FILE
    quotes = bullets_under(path.read_text(), ABOUT)
    cat = next(line for line in quotes if "Pixel" in line)
    path.write_text(path.read_text().replace(f"- {cat}\n", f"\n### Pets\n- {cat}\n"))
    say(root, "I work as a nurse. My cat is called Pixel!")
    write_up(tmp_path)
    say(root, "I'm allergic to nuts.")
    write_up(tmp_path)
    text = path.read_text()

    assert [line.partition(": ")[2] for line in bullets_under(text, "Pets")] == ["My cat is called Pixel."]
    own = text.partition(f"## {ABOUT}")[2].partition("###")[0]
    assert [line.partition("said: ")[2] for line in own.split("\n- ")[1:]] == [
        "I live in Graz.",
        "I work as a nurse.",
        "I'm allergic to nuts.\n\n",
    ]
    assert text.count("Pixel") == 1


def test_of_two_headings_with_one_name_the_right_one_gets_the_line(tmp_path: Path) -> None:
    """ "Food" stands under "Likes" and under "Dislikes"; what somebody cannot stand goes to the second."""
    page = "# Sam\n\n## Likes\n\n### Food\n- Likes pizza.\n\n## Dislikes\n\n### Food\n- Hates green olives.\n"
    with model_endpoint(whole_answer(writer_answer("We ate.", {"discord-41.md": page}))) as server:
        root = home_with_writer(tmp_path, server)
        say(root, "I like pizza. I hate green olives.")
        write_up(tmp_path)
        path = root / "memory" / FILE
        more = page + "- Hates salted anchovies.\n"
        server.script = [whole_answer(writer_answer("We ate again.", {"discord-41.md": more}))]
        say(root, "I hate salted anchovies.")
        write_up(tmp_path)

    assert "anchovies" in path.read_text().partition("## Dislikes")[2]
    assert "anchovies" not in path.read_text().partition("## Dislikes")[0]


def test_a_model_with_tools_may_look_into_memory_once(tmp_path: Path) -> None:
    """It asks for a pattern, is shown the lines that this audience may hear, and must answer then."""
    asks = whole_answer("ESCALATE: who is Pixel; GREP: Pixel")
    answers = whole_answer(writer_answer("Pixel came home.", topics={"pixel": "# Pixel\n\n- Pixel came home."}))
    with model_endpoint(asks, answers) as server:
        root = home_with_writer(tmp_path, server)
        settings = root / "character.toml"
        settings.write_text(settings.read_text() + "tools = true\n")
        for name, audience, words in (("cats", "everyone", "a grey cat"), ("letter", "people:discord:9", "a secret")):
            path = root / "memory" / "documents" / f"{name}.md"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"---\naudience: {audience}\n---\n# {name}\n\nPixel is {words}.\n")
        say(root, "Pixel came home, she was gone for a week.")
        write_up(tmp_path)
        first, second = (request.payload["messages"][1]["content"] for request in server.requests)

    assert "ESCALATE: <what is missing>" in first
    assert "a grey cat" not in first
    assert "Pixel is a grey cat." in second
    assert "a secret" not in second
    assert "ESCALATE: <what is missing>" not in second
    assert any("Pixel came home." in path.read_text() for path in (root / "memory" / "topics").glob("pixel*.md"))


def test_a_model_without_tools_is_not_offered_to_look(tmp_path: Path) -> None:
    """A small one would take the offer for the task."""
    with model_endpoint(whole_answer(writer_answer("We met."))) as server:
        root = home_with_writer(tmp_path, server)
        settings = root / "character.toml"
        settings.write_text(settings.read_text() + "tools = false\n")
        say(root, "Hello, how is the weather?")
        write_up(tmp_path)

    assert "ESCALATE" not in server.requests[0].payload["messages"][1]["content"]
    assert len(server.requests) == 1
