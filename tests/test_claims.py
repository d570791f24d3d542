"""What the pages about safety claim is held by tests: every sentence is in claims.toml, with tests that exist."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from familiar_connect.bootstrap import shared_files
from familiar_connect.bootstrap.chat_files import chat_file
from familiar_connect.bootstrap.child_reader import LIMITS
from familiar_connect.chat.files import file_lines
from familiar_connect.config.built_in import BUILT_IN_PLATFORMS
from familiar_connect.config.consent import WIDENING
from familiar_connect.extensions.import_chats import extension as import_chats
from familiar_connect.extensions.import_documents.extension import PDF_LIMITS, TEXT_LIMITS
from familiar_connect.llm import sse

TESTS = Path(__file__).parent
ROOT = TESTS.parent
WHOLE = ("SECURITY.md", "docs/architecture/security.md", "docs/guides/privacy.md")
"""Pages of which every sentence is listed."""
IN_PART = "README.md"
WATCHED = re.compile(
    r"\b(private|offline|network|keys?|accounts?|privacy|secrets?|telemetry|lost|contact)\b", re.IGNORECASE
)
"""A sentence of the README with one of these words is listed too."""
FENCE = re.compile(r"^```.*?^```\n", re.MULTILINE | re.DOTALL)
BULLET = re.compile(r"^\s*[-*] ")
END = re.compile(r"(?<=[.!?])\s+(?=[A-Z`\"*\[<])")
NAMED = re.compile(r"`(tests/[\w/]+\.py|test_\w+)`")
PLATFORMS = tuple(f"{platform}." for platform in BUILT_IN_PLATFORMS)
LEAST_CHARS = 12
"""A phrase that is shorter could stand for anything."""


def load_claims() -> Mapping[str, Any]:
    return tomllib.loads((TESTS / "claims.toml").read_text(encoding="utf-8"))


def blocks_of(text: str) -> Iterator[str]:
    """Paragraphs, bullets and rows of tables, each in one line; no headings, code or heads of tables."""
    lines: list[str] = []
    before = ""
    for line in [*FENCE.sub("\n", text).splitlines(), ""]:
        is_row = line.startswith("|")
        if lines and (not line.strip() or is_row or BULLET.match(line) or line.startswith("#")):
            yield " ".join(lines)
            lines = []
        if is_row and before.startswith("|") and not line.startswith("|---"):
            yield line.strip()
        elif line.strip() and not is_row and not line.startswith(("#", "![")):
            lines.append(BULLET.sub("", line).strip())
        before = line


def sentences_of(text: str) -> list[str]:
    """What a page says, one thought each; a row of a table is one."""
    found: list[str] = []
    for block in blocks_of(text):
        found += [block] if block.startswith("|") else END.split(block)
    return found


def read_page(name: str) -> list[str]:
    sentences = sentences_of((ROOT / name).read_text(encoding="utf-8"))
    return sentences if name in WHOLE else [each for each in sentences if WATCHED.search(each)]


@cache
def list_tests(file: Path) -> frozenset[str]:
    """Names of the tests that *file* defines."""
    if not file.exists():
        return frozenset()
    body = ast.parse(file.read_text(encoding="utf-8")).body
    nodes = [*body, *(node for each in body if isinstance(each, ast.ClassDef) for node in each.body)]
    return frozenset(node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


@pytest.mark.parametrize("name", [*WHOLE, IN_PART])
def test_every_sentence_is_held_by_a_test_or_claims_nothing(name: str) -> None:
    """A new sentence fails here until its tests are named, or it is listed as an explanation."""
    page = load_claims()[name]
    phrases = [*page["claims"], *page["explains"]]

    assert [each for each in read_page(name) if not any(phrase in each for phrase in phrases)] == []


@pytest.mark.parametrize("name", [*WHOLE, IN_PART])
def test_every_phrase_is_in_one_sentence_of_its_page(name: str) -> None:
    """A claim that was taken out or reworded is taken out here too; none stands for two sentences."""
    page = load_claims()[name]
    sentences = read_page(name)
    wrong = [
        phrase
        for phrase in [*page["claims"], *page["explains"]]
        if len(phrase) < LEAST_CHARS or sum(phrase in each for each in sentences) != 1
    ]

    assert wrong == []


def test_every_test_that_a_claim_names_exists() -> None:
    """By file and name, and at least one for each claim."""
    claims = [(phrase, ids) for page in load_claims().values() for phrase, ids in page["claims"].items()]
    lost = [
        each
        for _, ids in claims
        for each in ids
        if each.partition("::")[2] not in list_tests(TESTS / each.partition("::")[0])
        or not each.partition("::")[2].startswith("test_")
    ]

    assert [phrase for phrase, ids in claims if not ids] == []
    assert lost == []


@pytest.mark.parametrize("name", WHOLE)
def test_tests_that_a_page_names_exist(name: str) -> None:
    """Files by their path; a single test by its name, which a claim of the page has too."""
    page = load_claims()[name]
    held = {each.partition("::")[2] for ids in page["claims"].values() for each in ids}
    named = NAMED.findall((ROOT / name).read_text(encoding="utf-8"))

    assert [each for each in named if each.startswith("tests/") and not (ROOT / each).exists()] == []
    assert [each for each in named if each.startswith("test_") and each not in held] == []


def test_numbers_on_the_pages_are_those_of_the_program() -> None:
    """Limits of child processes, replies, chat files and archives; the settings that want a yes; the reach of a ban."""
    megabyte = 1024 * 1024
    safety = " ".join((ROOT / "docs/architecture/security.md").read_text(encoding="utf-8").split())

    for small in (LIMITS, TEXT_LIMITS):
        assert (small.cpu_s, small.memory_bytes, small.wall_s) == (1.5, 160 * megabyte, 30.0)
    assert (PDF_LIMITS.cpu_s, PDF_LIMITS.memory_bytes, PDF_LIMITS.wall_s) == (120.0, 1024 * megabyte, 240.0)
    chats = (import_chats.LIMITS.cpu_s, import_chats.LIMITS.memory_bytes, import_chats.LIMITS.wall_s)
    assert (*chats, import_chats.LIMITS.output_bytes) == (600.0, 1024 * megabyte, 1200.0, 1024 * megabyte)
    assert LIMITS.output_bytes == TEXT_LIMITS.output_bytes == PDF_LIMITS.output_bytes == 64 * megabyte
    assert (200_000, 16 * megabyte) == (sse.MAX_REPLY_CHARS, sse.MAX_BODY_BYTES)
    assert (16 * megabyte, 1_000_000, 100) == (file_lines.MAX_LINE_BYTES, chat_file.MAX_MESSAGES, file_lines.MAX_DEPTH)
    assert (10_000, 64 * megabyte) == (shared_files.MAX_FILES, shared_files.MAX_TOTAL_BYTES)
    assert [each.key for each in WIDENING if not each.key.startswith(PLATFORMS) and f"`{each.key}`" not in safety] == []


def test_a_sentence_without_an_entry_is_found() -> None:
    """So that the tests above can fail: bullets, rows and code are told apart."""
    prose = "# Head\n\nOne. Two\nlines!\n\n- **Name.** Three.\n- Four\n"
    text = f"{prose}\n| a | b |\n|---|---|\n| c | d |\n\n```sh\nx\n```\nFive.\n"

    assert sentences_of(text) == ["One.", "Two lines!", "**Name.** Three.", "Four", "| c | d |", "Five."]
