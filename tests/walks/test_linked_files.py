"""A file that was found links to others: what those say comes along, one step far, and only to whom it may be told."""

from __future__ import annotations

import json
from pathlib import Path

from tests.fakes.model_server import ModelServer, stream_answer
from tests.fakes.program import make_home, model_endpoint, run_program

QUESTION = "What do you know about the rowing boat called Heron?"
FILES = {
    "lore/heron.md": "# Heron\n\nHeron is a rowing boat of larch wood. Ask for [it](../topics/brass-key.md) "
    "like [[widow-brandt]] and see [a letter](../topics/letter.md).\n",
    "topics/brass-key.md": "# Brass key\n\nSeven teaspoons of cinnamon go into it. See [[deeper]].\n",
    "topics/widow-brandt.md": "# Widow Brandt\n\nShe collects stamps from Peru.\n",
    "topics/deeper.md": "# Deeper\n\nThe tax on barley was raised.\n",
    "topics/letter.md": "---\naudience: people:discord:9\n---\n# Letter\n\nSomebody is homesick.\n",
}


def home_with_links(home: Path, server: ModelServer) -> None:
    root = make_home(home, server)
    for path, text in FILES.items():
        file = root / "memory" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


def test_what_was_found_brings_along_what_it_links_to(tmp_path: Path) -> None:
    """By Markdown links and by [[names]], marked as such in inspect; never two steps, never another's letter."""
    with model_endpoint(stream_answer("A boat.")) as server:
        home_with_links(tmp_path, server)
        done = run_program(tmp_path, "ask", QUESTION)
        prompt = json.dumps(server.requests[-1].payload)
    shown = run_program(tmp_path, "inspect", "--json").stdout

    assert done.returncode == 0, done.stderr
    found, _, linked = prompt.partition("from notes that are linked to what was recalled")
    assert "larch wood" in found
    assert "Seven teaspoons" in linked
    assert "stamps from Peru" in linked
    assert "barley" not in prompt
    assert "homesick" not in prompt
    assert "content_search.linked" in shown
