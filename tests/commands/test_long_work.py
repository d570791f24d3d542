"""Long work on a real terminal: it shows how far it is, and Ctrl-C leaves what is done whole and the rest for later."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from tests.commands.test_model import CONTENT, add_to_catalogue, here
from tests.fakes.model_server import stream_answer
from tests.fakes.program import make_home, model_endpoint, run_program
from tests.fakes.publisher import publisher_of

if sys.platform == "win32":
    pytest.skip("pseudo-terminals are Unix's", allow_module_level=True)

from tests.fakes.terminal import TerminalSession
from tests.fakes.waiting import wait_until

FILES = 160


def test_reindex_shows_how_far_it_is_and_goes_on_after_ctrl_c(tmp_path: Path) -> None:
    """What is in the index by then stays; the next run takes in the rest alone."""
    root = make_home(tmp_path)
    topics = root / "memory" / "topics"
    topics.mkdir(parents=True)
    for number in range(FILES):
        text = f"# Topic {number}\n\n" + f"Something about number {number}, and about tea. " * 8
        (topics / f"{number:03}.md").write_text(text, encoding="utf-8")
    with TerminalSession(tmp_path, "memory", "reindex") as session:
        session.wait_for_text("memory files")
        session.wait_for_text("%  00:")  # the time that is left
        session.ctrl_c()
        code = session.wait_end()
        shown = session.text
    done = run_program(tmp_path, "memory", "reindex", "--json")
    facts = json.loads(done.stdout)

    assert code == 130, shown
    assert "the next run continues from there" in " ".join(shown.split())
    assert "Traceback" not in shown
    assert facts["files_taken_in"] < facts["indexed_files"]
    assert facts["indexed_files"] >= FILES


def test_documents_show_how_many_are_taken_in(tmp_path: Path) -> None:
    """A bar on a terminal; each document is told of at the end."""
    make_home(tmp_path)
    files = [tmp_path / f"page{number}.md" for number in range(3)]
    for file in files:
        file.write_text(f"# {file.stem}\n\nSomething.", encoding="utf-8")
    with TerminalSession(tmp_path, "import", "document", *map(str, files)) as session:
        code = session.wait_end()
        shown = session.text

    assert code == 0, shown
    assert "documents" in shown
    assert "100%" in shown
    assert shown.count("Imported page") == 3


@pytest.mark.parametrize("columns", [80, 40, 24])
def test_a_bar_fits_the_window_and_leaves_nothing_behind(tmp_path: Path, columns: int) -> None:
    """However narrow: what is found and written stands alone on the screen."""
    root = make_home(tmp_path)
    (root / "memory" / "topics").mkdir(parents=True)
    (root / "memory" / "topics" / "tea.md").write_text("# Tea\n\nSam likes green tea.", encoding="utf-8")
    with TerminalSession(tmp_path, "memory", "search", "tea", columns=columns, rows=99) as session:
        assert session.wait_end() == 0
    drawn = re.findall(r"mem.*?%", session.raw.decode().replace("\r", "\n"))
    assert drawn
    assert max(map(len, drawn)) < columns
    assert ("#" in drawn[-1]) == (columns == 80)
    assert "%" not in session.screen.everything
    assert session.screen.lines[0].strip()


def test_an_export_counts_what_is_written(tmp_path: Path) -> None:
    """What was taken back is not, so the bar ends with the last message; nothing of it stays in a narrow window."""
    with model_endpoint(stream_answer("Hello."), stream_answer("Tea.")) as server:
        make_home(tmp_path, server)
        run_program(tmp_path, "chat", "--plain", "--as", "Sam", said="hi\ntea?\n/undo\n")
    for form in ("jsonl", "md"):
        words = ("export", "chat", "--format", form)
        with TerminalSession(tmp_path, *words, columns=40, rows=99) as session:
            assert session.wait_end() == 0
        assert re.findall(r"Writing .*?(\d+)%", session.raw.decode())[-1] == "100"
        assert "Writing" not in session.screen.everything
        assert session.screen.everything.startswith("Wrote")


def test_a_model_that_is_being_fetched_can_be_interrupted(tmp_path: Path) -> None:
    """What has come is kept, and the same command goes on from there."""
    with publisher_of(CONTENT, stall_after=50_000) as published:
        add_to_catalogue(tmp_path, url=published.url)
        part = here(tmp_path).with_name("tiny.gguf.part")
        part.parent.mkdir(parents=True)
        part.write_bytes(CONTENT[:1000])
        with TerminalSession(tmp_path, "model", "get", "tiny", "--from", "publisher") as session:
            session.wait_for_text("Tiny")
            session.wait_for_text("%")
            wait_until(lambda: published.ranges, "the publisher to be asked")
            session.ctrl_c()
            code = session.wait_end()
            shown = session.text

    assert code == 130, shown
    assert "continues from there" in " ".join(shown.split())
    assert part.stat().st_size >= 1000
