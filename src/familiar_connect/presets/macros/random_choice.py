"""`random`, `pick` and `roll`, and the last pass that resolves the choices still left in a prompt.

The caller passes the random source, so the same source gives the same text. `pick` needs none: it depends on
chat, text and position alone.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

from familiar_connect.presets.macros.evaluation import Evaluation, Invocation, Macro
from familiar_connect.presets.macros.parse import SPACE
from familiar_connect.presets.macros.pick import pick_index

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
