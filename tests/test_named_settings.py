"""Every setting, section, command and option that a sentence of the program names is one that exists."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import click
import pytest

import familiar_connect
from familiar_connect.cli import cli
from familiar_connect.config.channel import CHANNEL_KEYS
from familiar_connect.config.character import CHARACTER_KEYS
from familiar_connect.config.secrets import list_variables

PACKAGE = Path(familiar_connect.__file__).parent
SENTENCES = (
    "llm",
    "context",
    "reply",
    "conversation",
    "wiring",
    "errors.py",
    "bot.py",
    "familiar.py",
    "commands",
    "voice",
)
"""Where the sentences are made that people read when something went wrong."""

KEYS = {key.path[-1] for key in (*CHARACTER_KEYS, *CHANNEL_KEYS)}
TABLES = {".".join(key.path[:size]) for key in (*CHARACTER_KEYS, *CHANNEL_KEYS) for size in range(1, len(key.path))}

_ADVICE = re.compile(r"\b(?:[Rr]aise|[Ll]ower|[Ss]et|[Uu]nset|[Cc]heck|[Ff]aster|or|and) `([a-z_]+)`")
_TABLE = re.compile(r"\[([a-z_]+(?:\.[a-z_]+)*)\]")
_COMMAND = re.compile(r"`familiar ([^`]+)`")
_VARIABLE = re.compile(r"\bvariable ([A-Z_]{4,})\b")
_OTHER_VARIABLES = {"SSL_CERT_FILE"}
_NOT_SETTINGS = {"max_completion_tokens"}


@cache
def sentences() -> list[tuple[str, str]]:
    """Every text in the code that is no docstring, with where it stands; values put into it are a star."""
    return [
        found
        for path in sorted(PACKAGE.rglob("*.py"))
        if path.relative_to(PACKAGE).parts[0] in SENTENCES
        for found in sentences_of(path)
    ]


def sentences_of(path: Path) -> Iterator[tuple[str, str]]:
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    notes = {id(node.value) for node in nodes if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)}
    inner = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    left_out = notes | inner
    for node in nodes:
        where = f"{path.name}:{getattr(node, 'lineno', 0)}"
        if isinstance(node, ast.JoinedStr):
            yield where, "".join(str(p.value) if isinstance(p, ast.Constant) else "*" for p in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in left_out:
            yield where, node.value


@pytest.mark.slow
def test_every_setting_that_is_advised_exists() -> None:
    """A person told to raise, lower, set or check something finds it in the reference."""
    named = {(key, where) for where, text in sentences() for key in _ADVICE.findall(text)}

    assert {key for key, _ in named} >= {
        "first_token_s",
        "deadline_s",
        "reply_timeout_s",
        "max_output_tokens",
        "base_url",
    }
    assert {(key, where) for key, where in named if key not in KEYS | _NOT_SETTINGS} == set()


@pytest.mark.slow
def test_every_table_that_is_advised_exists() -> None:
    """`[llm]` and its like, where a sentence names a setting in them."""
    advice = [(where, text) for where, text in sentences() if _ADVICE.search(text)]

    assert {(t, where) for where, text in advice for t in _TABLE.findall(text) if t not in TABLES} == set()


@pytest.mark.slow
def test_every_command_that_is_advised_exists() -> None:
    """With its options."""
    wrong = []
    for where, text in sentences():
        for words in _COMMAND.findall(text):
            problem = command_problem(words.split())
            if problem:
                wrong.append(f"{where}: familiar {words}: {problem}")

    assert wrong == []


def command_problem(words: list[str]) -> str | None:
    """What is wrong with a command as a sentence names it; words in capitals and stars stand for values."""
    context, command = click.Context(cli), cli
    found: click.Command = command
    for word in words:
        if word.startswith("--"):
            names = {option for parameter in found.params for option in parameter.opts}
            if word.split("=")[0] not in names:
                return f"no option {word}"
        elif isinstance(found, click.Group) and word.islower():
            following = found.get_command(context, word)
            if following is None:
                return f"no command {word}"
            found = following
    return None


@pytest.mark.slow
def test_every_variable_that_is_advised_exists() -> None:
    """In the list of the reference, or one that the certificates' own library reads."""
    named = {name for _, text in sentences() for name in _VARIABLE.findall(text)}

    assert named - set(list_variables()) - _OTHER_VARIABLES == set()
