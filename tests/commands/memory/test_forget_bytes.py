"""`memory forget` as a process: of what somebody said no byte is left in the home, packed or not."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from benchmarks.withdrawals import pieces_of
from tests.commands.test_raw_words import card_with
from tests.commands.test_regex import make_rook, run, script
from tests.fakes.model_server import stream_answer
from tests.fakes.program import model_endpoint

WORDS = ("zqxyzzy", "zqplyzzy", "zqfryzzy")
"""What was said, what scripts make of it in prompts, and what they make of the answer; no script has any of them."""
SCRIPTS = (script("Heard", "/zqx(yzzy)/g", "zqpl$1", 1), script("Said", "/zqpl(yzzy)/g", "zqfr$1", 2))


def places_of(home: Path, word: str) -> set[str]:
    """Files and tables of the home that hold *word*."""
    return {
        f"{path.name} {where}"
        for path in home.rglob("*")
        if path.is_file()
        for where, data in pieces_of(path)
        if word.encode() in data
    }


def test_no_byte_is_left_of_what_somebody_said(tmp_path: Path) -> None:
    """Words, views, the answer that repeats them, its trace, memory, and a piece of a reply that may have arrived."""
    with model_endpoint(stream_answer("So zqplyzzy it is.")) as server:
        make_rook(tmp_path, server, card_with(*SCRIPTS))
        run(tmp_path, "chat", "--plain", said="I live in the zqxyzzy lighthouse.\n")
    run(tmp_path, "memory", "write-now")
    root = tmp_path / "familiars/rook"
    with closing(sqlite3.connect(root / "history.db")) as database, database:
        database.execute(
            "INSERT INTO outbox (familiar_id, channel_id, reply_id, piece, text, nonce, state, answers, created_at)"
            " VALUES ('rook', 1, 'r', 0, 'So zqfryzzy it is.', 'n', 'doubtful', '[1]', '2026-01-01T00:00:00+00:00')"
        )
    before = {word: places_of(root, word) for word in WORDS}
    run(tmp_path, "memory", "forget", "Ada", "--yes")

    assert all({"history.db turns", "history.db bytes"} <= before[word] for word in WORDS), before
    assert "history.db outbox" in before["zqfryzzy"]
    assert any(".md " in place for place in before["zqxyzzy"])
    assert {word: places_of(root, word) for word in WORDS} == {word: set() for word in WORDS}
