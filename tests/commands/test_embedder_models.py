"""An embedder is fetched, checked and used with a command each, as a chat model is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from familiar_connect.config.folders import HomeFolder
from familiar_connect.memory.index import minilm
from familiar_connect.memory.index.embedders.unigram import UnigramTokenizer
from familiar_connect.memory.index.letters import read_vocabulary
from tests.fakes.model_server import stream_answer
from tests.fakes.program import make_home, model_endpoint, one_sentence, run_program
from tests.fakes.publisher import Publisher, publisher_of

NAME = "multilingual-e5-small"
ROW = """
[[embedder]]
name = "multilingual-e5-small"
title = "The same shape"
licence = "MIT"
[[embedder.file]]
name = "model.onnx"
url = "{weights}"
[[embedder.file]]
name = "tokenizer.json"
url = "{tokenizer}"
"""


def tokenizer_of_minilm() -> bytes:
    """The vocabulary of the embedder that comes along, as a tokenizer of XLM-RoBERTa's kind."""
    marks = {"[CLS]": "<s>", "[SEP]": "</s>"}
    pieces = [
        marks.get(piece) or (piece[2:] if piece.startswith("##") else f"\u2581{piece}") for piece in read_vocabulary()
    ]
    vocabulary = [[piece, -8.0 if piece.startswith("\u2581") else -11.0] for piece in pieces]
    return json.dumps({"model": {"type": "Unigram", "unk_id": 100, "vocab": vocabulary}}).encode()


def publish(home: Path, weights: Publisher, tokenizer: Publisher) -> None:
    """Have this home fetch the embedder from these two."""
    row = ROW.format(weights=weights.url, tokenizer=tokenizer.url)
    (home / "catalogue.toml").write_text(row, encoding="utf-8")


def test_an_embedder_is_fetched_checked_used_and_found_with(tmp_path: Path) -> None:
    """Its publisher says its hash first; memory is searched with it from then on."""
    path = minilm.weights_path()
    if path is None:
        pytest.skip("the weights of the embedder that comes along are not installed")
    make_home(tmp_path)
    notes = tmp_path / "familiars" / "ember" / "memory" / "notes"
    notes.mkdir(parents=True, exist_ok=True)
    (notes / "pets.md").write_text("# Pets\n\nTheir puppy chews every slipper in the hall.\n", encoding="utf-8")
    with publisher_of(path.read_bytes()) as weights, publisher_of(tokenizer_of_minilm()) as tokenizer:
        publish(tmp_path, weights, tokenizer)
        early = run_program(tmp_path, "model", "use", NAME)
        got = run_program(tmp_path, "model", "get", NAME)
    used = run_program(tmp_path, "model", "use", NAME)
    rebuilt = run_program(tmp_path, "memory", "reindex", "--rebuild", "--familiar", "ember")
    found = run_program(tmp_path, "memory", "search", "which dog destroys shoes", "--familiar", "ember", "--json")
    kept = run_program(tmp_path, "model", "remove", NAME)

    assert "model get" in one_sentence(early)
    assert got.returncode == 0, got.stderr
    assert used.returncode == 0, used.stderr
    assert rebuilt.returncode == 0, rebuilt.stderr
    assert "puppy chews" in found.stdout.split("score")[0] or "puppy chews" in found.stdout
    assert "is searched with it" in one_sentence(kept)


def test_an_embedder_that_is_not_what_was_announced_is_deleted(tmp_path: Path) -> None:
    """Nobody opens it."""
    with publisher_of(b"weights" * 1000) as weights, publisher_of(b"{}") as tokenizer:
        weights.announced = "0" * 64
        publish(tmp_path, weights, tokenizer)
        got = run_program(tmp_path, "model", "get", NAME)

    assert got.returncode == 1
    assert "is not the publisher's file" in one_sentence(got)
    assert not list((HomeFolder(tmp_path).models / NAME).glob("model.onnx*"))


def test_the_likeliest_pieces_are_taken_and_letters_nobody_knows_are_one(tmp_path: Path) -> None:
    """The longest match would cut otherwise."""
    vocabulary = [["<s>", 0], ["</s>", 0], ["<unk>", 0], ["\u2581haus", -9.0], ["\u2581ha", -3.0], ["ustür", -3.0]]
    vocabulary += [["tür", -7.0], ["\u2581", -2.0]]
    file = tmp_path / "tokenizer.json"
    file.write_text(json.dumps({"model": {"unk_id": 2, "vocab": vocabulary}}), encoding="utf-8")
    tokenizer = UnigramTokenizer.load(file)

    assert tokenizer.encode("haustür", 16) == [0, 4, 5, 1]
    assert tokenizer.encode("語語 haus", 16) == [0, 7, 2, 3, 1]


def test_whoever_writes_another_language_is_told_of_it_once(tmp_path: Path) -> None:
    """After a few lines of it; English ones do not count."""
    german = "Guten Morgen, hast du gut geschlafen?\nIch war gestern mit meiner Schwester am See.\n"
    said = "I went to the lake with my sister yesterday.\n" * 3 + german * 3
    with model_endpoint(*[stream_answer("Ja.")] * 9) as server:
        root = make_home(tmp_path)
        slot = f'[llm.main_prose]\nmodel = "test-model"\nbase_url = "{server.base_url}"\n'
        (root / "character.toml").write_text(slot, encoding="utf-8")
        done = run_program(tmp_path, "chat", said=said)

    assert (done.stderr + done.stdout).count(f"model use {NAME}") == 1
    assert HomeFolder(tmp_path).cache.joinpath("told-of-languages").exists()
