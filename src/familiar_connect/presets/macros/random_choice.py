"""`random`, `pick` and `roll`, and the last pass that resolves the choices still left in a prompt.

The caller passes the random source, so the same source gives the same text. `pick` needs none: it depends on
chat, text and position alone.

The seeded choice behind `{{pick}}`: the same chat, text and place always choose the same option.

A 53-bit string hash over UTF-16 units seeds an ARC4 stream; the numbers are those SillyTavern gets, so a text that was
written there chooses the same here.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from functools import lru_cache

from familiar_connect.presets.macros.evaluation import Evaluation, Invocation, Macro
from familiar_connect.presets.macros.parse import SPACE

_MASK = 0xFFFFFFFF
_WIDTH = 256
_CHUNKS = 6
"""Bytes taken from the stream before the number is fine enough for 52 bits."""
_START_DENOMINATOR = float(_WIDTH**_CHUNKS)
_SIGNIFICANCE = 2.0**52
_OVERFLOW = 2.0**53


def utf16_units(text: str) -> memoryview:
    """*text* as 16-bit numbers; half a pair counts as one of them."""
    return memoryview(text.encode("utf-16-le" if _LITTLE else "utf-16-be", "surrogatepass")).cast("H")


_LITTLE = memoryview(b"\x01\x00").cast("H")[0] == 1


@lru_cache(maxsize=64)
def string_hash(text: str) -> int:
    """The 53-bit hash of *text*."""
    one, two = 0xDEADBEEF, 0x41C6CE57
    for unit in utf16_units(text):
        one = (one ^ unit) * 2654435761 & _MASK
        two = (two ^ unit) * 1597334677 & _MASK
    first, second = one, two
    one = ((first ^ first >> 16) * 2246822507 & _MASK) ^ ((second ^ second >> 13) * 3266489909 & _MASK)
    two = ((second ^ second >> 16) * 2246822507 & _MASK) ^ ((one ^ one >> 13) * 3266489909 & _MASK)
    return 4294967296 * (2097151 & two) + one


class SeededRandom:
    """A stream of numbers in [0, 1) that depends on nothing but its seed."""

    def __init__(self, seed: str) -> None:
        key: list[int] = []
        smear = 0
        for index, unit in enumerate(utf16_units(seed)):
            place = index & 255
            if place < len(key):
                smear ^= key[place] * 19
                key[place] = smear + unit & 255
            else:
                key.append(smear + unit & 255)
        self._state = _schedule(key or [0])
        self._i = self._j = 0
        self._take(_WIDTH)

    def random(self) -> float:
        number, denominator, low = float(self._take(_CHUNKS)), _START_DENOMINATOR, 0
        while number < _SIGNIFICANCE:
            number = (number + low) * _WIDTH
            denominator *= _WIDTH
            low = self._take(1)
        while number >= _OVERFLOW:
            number /= 2
            denominator /= 2
            low >>= 1
        return (number + low) / denominator

    def _take(self, count: int) -> int:
        state, i, j, value = self._state, self._i, self._j, 0
        for _ in range(count):
            i = i + 1 & 255
            moved = state[i]
            j = j + moved & 255
            state[i], state[j] = state[j], moved
            value = value * _WIDTH + state[state[i] + state[j] & 255]
        self._i, self._j = i, j
        return value


def _schedule(key: list[int]) -> list[int]:
    state = list(range(_WIDTH))
    j = 0
    for i in range(_WIDTH):
        moved = state[i]
        j = j + key[i % len(key)] + moved & 255
        state[i], state[j] = state[j], moved
    return state


def pick_index(chat_id: str, content: str, offset: int, count: int) -> int:
    """Which of *count* options the macro at *offset* (UTF-16 units) of *content* takes in this chat."""
    if count < 2:
        return 0
    seed = f"{string_hash(chat_id)}-{string_hash(content)}-{offset}"
    return int(SeededRandom(str(string_hash(seed))).random() * count)


MAX_DICE = 100
MAX_SIDES = 1000
_PICK_COST = 32768
_DIE_COST = 256
_DICE = re.compile(r"([1-9]\d*)?d([1-9]\d*)([+-]\d+)?", re.I | re.ASCII)
_COMMA = re.compile(r"(?<!\\),")
_LIST = r"\s*random\s*(?:::([^{}]*)|:([^{}:][^{}]*))"
_CHOICE = re.compile(rf"\{{\{{{_LIST}\}}\}}|(?<!\{{)\{{{_LIST}\}}(?!\}})", re.I)
_MAX_DIGITS = 9


def roll_choices(text: str, rng: random.Random) -> str:
    """*text* with every random choice in it made, each by itself; the same object when there is none."""
    if "{" not in text or _CHOICE.search(text) is None:
        return text
    return _CHOICE.sub(lambda found: _choose_option(found, rng), text)


def has_choice(text: str) -> bool:
    """Whether the last pass would find something to roll."""
    return "{" in text and _CHOICE.search(text) is not None


def _choose_option(found: re.Match[str], rng: random.Random) -> str:
    listed = found[1] if found[1] is not None else found[3]
    split = listed.split("::") if listed is not None else _by_comma(found[2] or found[4] or "")
    options = [option for item in split if (option := item.strip(SPACE))]
    return _at_random(options, rng) if options else ""


def _at_random(options: Sequence[str], rng: random.Random) -> str:
    return options[min(len(options) - 1, int(rng.random() * len(options)))]


def options_of(args: Sequence[str]) -> list[str]:
    """The options of `random` and `pick`: several arguments, or one that is split at `::`, else at commas."""
    if len(args) != 1:
        return list(args)
    parts = args[0].split("::") if "::" in args[0] else _by_comma(args[0])
    return [part.strip(SPACE) for part in parts]


def _by_comma(text: str) -> list[str]:
    return [part.replace("\\,", ",") for part in _COMMA.split(text)]


def defer_choice(args: Sequence[str]) -> str | None:
    """The choice as the last pass reads it; None where its options could not be told apart again."""
    options = options_of(args)
    if not any(options) or any("{" in option or "}" in option or "::" in option for option in options):
        return None
    if any(option.startswith(":") or option.endswith(":") for option in options):
        return None
    return "{{random::" + "::".join(options) + "}}"


def _random(run: Evaluation, called: Invocation) -> str:
    options = options_of(called.args)
    return _at_random(options, run.ctx.rng) if options else ""


def _pick(run: Evaluation, called: Invocation) -> str:
    options = options_of(called.args)
    if not options:
        return ""
    run.spend(_PICK_COST)
    return options[pick_index(run.ctx.chat_id, run.text, called.offset, len(options))]


def _roll(run: Evaluation, called: Invocation) -> str:
    """`d6`, `2d6+3`, or a bare number for one die of so many sides. What is not a formula comes to nothing."""
    formula = called.args[0].strip(SPACE)
    if formula.isascii() and formula.isdigit():
        formula = f"1d{formula}"
    found = _DICE.fullmatch(formula)
    if found is None:
        return ""
    if max(len(part or "") for part in found.groups()) > _MAX_DIGITS:
        run.limits["rolls"] = None
        return ""
    dice, sides, extra = int(found[1] or 1), int(found[2]), int(found[3] or 0)
    if dice > MAX_DICE or sides > MAX_SIDES:
        run.limits["rolls"] = None
        return ""
    run.spend(_DIE_COST * dice)
    return str(sum(1 + min(sides - 1, int(run.ctx.rng.random() * sides)) for _ in range(dice)) + extra)


MACROS = {
    "random": Macro("random", _random, most=None),
    "pick": Macro("pick", _pick, most=None, needs_offset=True),
    "roll": Macro("roll", _roll, least=1, most=1),
}
