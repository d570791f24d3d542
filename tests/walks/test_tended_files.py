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
