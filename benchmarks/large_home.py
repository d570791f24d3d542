"""Homes of any size for measuring: turns in the history, files in memory, and their index, made in a minute.

The words are those of the informal chats, drawn as often as they are used there, so that rare and common ones are
spread as in real talk. The vectors of a home's own texts come from a table of words, which costs nothing; the index
carries the shipped embedder's name and size, so that questions are embedded by that one and cost what they cost.
"""

from __future__ import annotations

import argparse
import itertools
import os
import random
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.fixtures import CHANNEL_ID, GUILD_ID, PEOPLE
from benchmarks.informal import DATA
from familiar_connect.audience import whole_server
from familiar_connect.config.folders import index_folder
from familiar_connect.history.store import HistoryStore
from familiar_connect.memory.index.embeddings import INDEX_FILE, EmbeddingIndex
from familiar_connect.memory.index.minilm import MINILM_DIM, MINILM_NAME
from familiar_connect.memory.index.turns import TURNS_FILE, TurnIndex
from familiar_connect.memory.store import MemoryStore

SEED = 14
FAMILIAR = "wren"
END = datetime(2026, 11, 1, 18, tzinfo=UTC)
TURN_WORDS, LINE_WORDS, FILE_LINES = (3, 26), (8, 20), (6, 22)
CHANNELS = 12
SEVERAL = 0.3
"""Of the turns that are long enough, so many are of two or three sentences."""
_INSERT = (
    "INSERT INTO turns (familiar_id, channel_id, guild_id, role, author_platform, author_user_id, author_username,"
    " author_display_name, content, timestamp, audience) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)


class WordTableModel:
    """An embedder that adds up random vectors of words: cheap, and texts with the same words lie near each other."""

    name = MINILM_NAME
    dim = MINILM_DIM

    def __init__(self) -> None:
        self._random = np.random.default_rng(SEED)
        self._vectors: dict[str, NDArray[np.float32]] = {}

    def embed(self, texts: list[str]) -> NDArray[np.float32]:
        found = np.zeros((len(texts), self.dim), dtype=np.float32)
        for row, text in zip(found, texts, strict=True):
            row += np.sum([self._vector(word) for word in text.lower().split()] or [self._vector("")], axis=0)
        return np.asarray(found / np.linalg.norm(found, axis=1, keepdims=True))

    def _vector(self, word: str) -> NDArray[np.float32]:
        if word not in self._vectors:
            self._vectors[word] = self._random.standard_normal(self.dim).astype(np.float32)
        return self._vectors[word]


@lru_cache(maxsize=1)
def chat_words() -> tuple[str, ...]:
    """Every word of the informal chats, as often as it is used there."""
    texts = (path.read_text(encoding="utf-8") for path in sorted(DATA.glob("*/*.txt")))
    return tuple(word for text in texts for word in re.findall(r"[^\W\d_]+(?:'[^\W\d_]+)?", text))


def sentences(chance: random.Random, length: tuple[int, int]) -> Iterator[str]:
    """Words of the chats in no order, now and then asking something."""
    words = chat_words()
    while True:
        text = " ".join(chance.choices(words, k=chance.randint(*length)))
        yield f"{text}?" if chance.random() < 0.15 else text


def _in_sentences(text: str, chance: random.Random) -> str:
    """*text* as two or three sentences, now and then, where it has words enough."""
    words = text.split(" ")
    count = chance.choice((2, 3))
    if len(words) < 4 * count or chance.random() >= SEVERAL:
        return text
    size = -(-len(words) // count)
    return ". ".join(" ".join(words[at : at + size]) for at in range(0, len(words), size))


def questions(count: int, seed: int = SEED) -> list[str]:
    """Things somebody may ask such a home: the shipped chats' own questions, over and over."""
    asked = re.findall(
        r"^\d \| ([^|]+) \|", "\n".join(path.read_text(encoding="utf-8") for path in sorted(DATA.glob("*/*.txt"))), re.M
    )
    random.Random(seed).shuffle(asked)
    return list(itertools.islice(itertools.cycle(asked), count))


def fill_home(root: Path, *, turns: int, files: int) -> None:
    """Give the familiar at *root* *turns* turns and *files* files, and index them; files of its own stay."""
    store = MemoryStore(root / "memory")
    chance = random.Random(SEED)
    said, noted = sentences(chance, TURN_WORDS), sentences(chance, LINE_WORDS)
    for number in range(files):
        path = store.root / _file_path(number)
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = [f"- {next(noted)}" for _ in range(chance.randint(*FILE_LINES))]
        path.write_text(f"# {' '.join(next(noted).split()[:3])}\n\n" + "\n".join(lines) + "\n", encoding="utf-8")
    history = HistoryStore(root / "history.db")
    with history.database.transaction() as connection:
        connection.executemany(
            _INSERT,
            (
                _turn(number, turns, _in_sentences(text, chance))
                for number, text in zip(range(turns), said, strict=False)
            ),
        )
    history.put_writer_watermark(familiar_id=FAMILIAR, last_written_id=turns)  # all of it is written up already
    build_index(root, store, history)
    history.close()


def fill_home_in_child(root: Path, *, turns: int, files: int) -> None:
    """`fill_home` in a process of its own: nobody's program has made its home's past a moment before it is measured."""
    places = os.pathsep.join(filter(None, sys.path))
    subprocess.run(
        [sys.executable, "-m", "benchmarks.large_home", str(root), str(turns), str(files)],
        check=True,
        env=os.environ | {"PYTHONPATH": places},
    )


def build_index(root: Path, store: MemoryStore, history: HistoryStore) -> None:
    """The index of a home, with vectors that cost nothing, under the shipped embedder's name."""
    model, folder = WordTableModel(), index_folder(store.root)
    facts: dict[str, Any] = {"dim": model.dim, "model_name": model.name}
    with EmbeddingIndex(folder / INDEX_FILE, **facts) as index:
        index.build_if_stale(store, model)
    turns = TurnIndex(folder / TURNS_FILE, history=history, familiar_id=FAMILIAR, **facts)
    turns.sync(model)
    turns.close()


def _file_path(number: int) -> str:
    """A third notes on people, a third topics, a third sessions, which are named after days."""
    kind = number % 3
    if kind == 0:
        return f"people/discord-{1_000_000 + number}.md"
    if kind == 1:
        return f"topics/topic-{number}.md"
    return f"sessions/{END - timedelta(days=number // 9):%Y-%m-%d}-{number % 9}.md"


def _turn(number: int, turns: int, text: str) -> tuple[Any, ...]:
    """Talk of an hour, then silence, in several channels; every third turn is the familiar's own."""
    channel = CHANNEL_ID + number // 30 % CHANNELS
    moment = END - timedelta(minutes=turns - number + 120 * ((turns - number) // 30))
    facts: Sequence[str | None] = (None, None, None, None)
    if number % 3:
        who = PEOPLE[number // 3 % len(PEOPLE)]
        facts = (who.platform, who.user_id, who.username, who.display_name)
    role = "user" if number % 3 else "assistant"
    audience = str(whole_server(PEOPLE[0].platform, GUILD_ID))
    return (FAMILIAR, channel, GUILD_ID, role, *facts, text, moment.isoformat(), audience)


def main() -> None:
    """Fill a home on its own, so that whoever measures it begins with an empty heap."""
    parser = argparse.ArgumentParser(description="Fill a familiar's folder with turns, files and their index.")
    parser.add_argument("root", type=Path, help="the familiar's folder")
    parser.add_argument("turns", type=int)
    parser.add_argument("files", type=int)
    given = parser.parse_args()
    fill_home(given.root, turns=given.turns, files=given.files)


if __name__ == "__main__":
    main()
