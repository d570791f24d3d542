"""LanguageRules: the words of one language by which a sentence tells something that lasts, or something that fades.

Each language is a file beside this one, such as `de.toml`, and a further language is a further file. A part of it lists
expressions, one a line or with ` | ` between them; each stands for whole words, but for one that ends in `~`, which may
go on. `{NAME}` is a list of the file's own. The parts:

- `script`: letters that tell the language by themselves; or `small_words` and `letters` by which it is guessed
- `asks`: how a question or a request begins; `supposes`: what says that it only might be, or may be a request;
  nothing of such a sentence is kept
- `person`: the speaker, one of the speaker's people, or whom they told of; `leaves_out_subject`: nobody need be named
- `states`: by kind, what is a statement by its form alone ("me llamo …")
- `tells`: by kind, what counts once it is said of a person ("… murió")
- `fades`: by kind, what is over tomorrow
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from familiar_connect.support.lazy_pattern import LazyPattern

CODES = ("de", "es", "fr", "ja", "pt", "ru", "zh")
LASTING_WEIGHTS: Mapping[str, int] = {
    "event": 3,
    "health": 3,
    "identity": 3,
    "kinship": 2,
    "work": 3,
    "place": 3,
    "liking": 3,
    "habit": 2,
    "duration": 2,
    "date": 2,
    "plan": 1,
    "owning": 2,
}
FADING_WEIGHTS: Mapping[str, int] = {
    "now": 2,
    "mood": 2,
    "weather": 4,
    "gadget": 3,
    "food": 2,
    "journey": 2,
    "play": 2,
    "chore": 2,
    "joke": 3,
    "laughter": 1,
    "stranger": 4,
    "peeve": 5,
    "hyperbole": 5,
    "you": 2,
}
_I = re.IGNORECASE
_SENTENCE_START = r"(?:^|[,;:.!…]\s*)\W*"
"""A question or a request begins there; elsewhere its words are those of a statement."""
_BETWEEN = re.compile(r"\s\|\s|\n")


@dataclass(frozen=True, kw_only=True)
class LanguageRules:
    """One language, as its file has it."""

    code: str
    script: re.Pattern[str] | None
    small_words: frozenset[str]
    letters: frozenset[str]
    asks: LazyPattern
    supposes: LazyPattern
    person: LazyPattern
    leaves_out_subject: bool
    states: Mapping[str, LazyPattern]
    tells: Mapping[str, LazyPattern]
    fades: Mapping[str, LazyPattern]


@cache
def load_rules(code: str) -> LanguageRules:
    """The language with that *code*, read once."""
    found = _read_file(code)
    is_spaced = found.get("is_spaced", True)
    lists = {name: "|".join(_expressions(each)) for name, each in found["lists"].items()}

    def pattern(listed: str, before: str = "") -> LazyPattern:
        return LazyPattern(lambda: before + _join(_expressions(listed), lists, is_spaced=is_spaced), _I)

    def by_kind(part: str, weights: Mapping[str, int]) -> dict[str, LazyPattern]:
        kinds: dict[str, Any] = found[part]
        return {kind: pattern(kinds[kind]) for kind in weights if kind in kinds}

    return LanguageRules(
        code=code,
        script=re.compile(found["script"], _I) if "script" in found else None,
        small_words=frozenset(found.get("small_words", "").split()),
        letters=frozenset(found.get("letters", "")),
        asks=pattern(found["asks"], _SENTENCE_START if is_spaced else ""),
        supposes=pattern(found["supposes"]),
        person=pattern(found["person"]),
        leaves_out_subject=found.get("leaves_out_subject", False),
        states=by_kind("states", LASTING_WEIGHTS),
        tells=by_kind("tells", LASTING_WEIGHTS),
        fades=by_kind("fades", FADING_WEIGHTS),
    )


@cache
def load_other_small_words() -> tuple[frozenset[str], ...]:
    """Small words of English, and of languages that have no rules."""
    return tuple(frozenset(listed.split()) for listed in _read_file("others").values())


def _read_file(name: str) -> dict[str, Any]:
    return tomllib.loads(files(__package__).joinpath(f"{name}.toml").read_text(encoding="utf-8"))


def _expressions(listed: str) -> list[str]:
    return [each.strip() for each in _BETWEEN.split(listed) if each.strip()]


def _join(expressions: list[str], lists: Mapping[str, str], *, is_spaced: bool) -> str:
    parts = []
    for each in expressions:
        for name, alternatives in lists.items():
            each = each.replace(f"{{{name}}}", f"(?:{alternatives})")
        parts.append(each.removesuffix("~") if each.endswith("~") or not is_spaced else rf"(?:{each})(?!\w)")
    joined = "|".join(parts)
    return rf"(?<!\w)(?:{joined})" if is_spaced else joined
