"""What the owner edits, adds, renames or deletes while a conversation runs is found in it, or gone."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from tests.fakes.model_server import ModelServer, stream_answer
from tests.fakes.program import make_home, model_endpoint
from tests.fakes.running_chat import RunningChat
from tests.fakes.waiting import wait_until


def indexed_texts(root: Path) -> str:
    """All that the index of the files holds."""
    path = root / "memory" / ".index" / "embeddings.sqlite"
    if not path.exists():
        return ""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        try:
            return "\n".join(f"{path}: {text}" for path, text in database.execute("SELECT rel_path, text FROM chunks"))
        except sqlite3.OperationalError:
            return ""


def last_prompt(server: ModelServer) -> str:
    return json.dumps(server.requests[-1].payload)


def test_a_file_is_found_and_gone_while_the_chat_goes_on(tmp_path: Path) -> None:
    """Added, edited, renamed and deleted with an editor, between two lines of the same conversation."""
    with model_endpoint(stream_answer("Hi")) as server:
        root = make_home(tmp_path, server)
        lore = root / "memory" / "lore"
        with closing(RunningChat(tmp_path)) as chat:
            chat.say("hello", replies=1)
            wait_until(lambda: indexed_texts(root), "the index is built")

            lore.mkdir(exist_ok=True)
            (lore / "boat.md").write_text("# Boat\n\nThe ferry to Saltmarrow leaves at noon.\n", encoding="utf-8")
            wait_until(lambda: "leaves at noon" in indexed_texts(root), "a new file is found")
            chat.say("when does the ferry to Saltmarrow leave?", replies=2)
            assert "leaves at noon" in last_prompt(server)

            (lore / "boat.md").write_text("# Boat\n\nThe ferry to Saltmarrow leaves at dusk.\n", encoding="utf-8")
            wait_until(lambda: "leaves at dusk" in indexed_texts(root), "an edit is found")
            (lore / "boat.md").rename(lore / "ferry.md")
            wait_until(lambda: "lore/ferry.md" in indexed_texts(root), "a renamed file is found")
            assert "lore/boat.md" not in indexed_texts(root)
            chat.say("tell me when the ferry to Saltmarrow leaves", replies=3)
            assert "leaves at dusk" in last_prompt(server)
            assert "leaves at noon" not in last_prompt(server)

            shutil.rmtree(root / "memory" / ".index")
            wait_until(lambda: "lore/ferry.md" in indexed_texts(root), "an index that was deleted is made again")
            (lore / "ferry.md").unlink()
            wait_until(lambda: "Saltmarrow" not in indexed_texts(root), "a deleted file is gone")
            chat.say("once more, when does the ferry leave?", replies=4)
            assert "leaves at dusk" not in last_prompt(server)
            chat.end()
