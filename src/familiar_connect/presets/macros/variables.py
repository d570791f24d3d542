"""Variables: what `setvar`, `{{.name}}` and kin keep from text to text of one build.

Values are text. Where a text reads as a number it is used and shown as one (`007` is 7), and a list in square brackets
grows by what is added; both the way SillyTavern does it, so that a preset counts the same here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from decimal import Decimal

from familiar_connect.presets.macros.evaluation import MAX_OUTPUT, Evaluation, Invocation, Macro, MacroHandler
from familiar_connect.presets.macros.parse import SPACE

MAX_INDEX = 10_000
"""The farthest place in a list that may be set; a list is filled up to it."""
_MAX_NUMBER_CHARS = 400
_NUMBER = re.compile(r"[+-]?(?:Infinity|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,6})?)", re.ASCII)
_BASED = re.compile(r"0(?:[xX][0-9a-fA-F]+|[bB][01]+|[oO][0-7]+)")
_FALSE = ("false", "off", "0")
_JSON_COST = 8
_MISSING: object = object()
_EXACT = 2**53
"""Above it a number is written with as few digits as tell it from its neighbours."""


def number_of(text: str) -> float | None:
    """*text* as a number, None when it is not one. Blank is zero, as it is in a browser."""
    if len(text) > _MAX_NUMBER_CHARS:
        return None
    text = text.strip(SPACE)
    if not text:
        return 0.0
    if _BASED.fullmatch(text):
        return float(int(text, 0)) if len(text) < 250 else float("inf")
    return float(text) if _NUMBER.fullmatch(text) else None


def format_number(number: float) -> str:
    """*number* the way a browser prints it."""
    if number != number:
        return "NaN"
    if number in (float("inf"), float("-inf")):
        return "Infinity" if number > 0 else "-Infinity"
    if number == int(number) and abs(number) < 1e21:
        return str(int(number) if abs(number) < _EXACT else int(Decimal(repr(number))))
    digits = repr(number)
    mantissa, _, exponent = digits.partition("e")
    if not exponent:
        return digits
    power = int(exponent)
    if -6 <= power < 0:
        return f"{number:.{max(0, len(mantissa.replace('.', '').lstrip('-')) - 1 - power)}f}"
    return f"{mantissa.removesuffix('.0')}e{power:+d}"


def is_false(text: str) -> bool:
    """Whether a condition that came to *text* does not hold."""
    return not text or (len(text) < 64 and text.strip(SPACE).lower() in _FALSE)


def read(run: Evaluation, scope: str, name: str) -> str:
    """The variable's value; nothing when it was never set."""
    value = _store(run, scope).get(name, "")
    run.spend(len(value))
    return normalize_number(value)


def normalize_number(value: str) -> str:
    number = None if not value.strip(SPACE) else number_of(value)
    return value if number is None else format_number(number)


def write(run: Evaluation, scope: str, name: str, value: str) -> None:
    """Keeps *value*, cut to what all variables together may hold."""
    store = _store(run, scope)
    if run.variable_chars is None:
        every = (run.ctx.variables.local, run.ctx.variables.shared)
        run.variable_chars = sum(len(key) + len(held) for store in every for key, held in store.items())
    before = len(name) + len(store[name]) if name in store else 0
    room = MAX_OUTPUT - (run.variable_chars - before) - len(name)
    if len(value) > room:
        run.limits["output"] = None
        if room < 0:
            return
        value = value[:room]
    run.spend(len(name) + len(value))
    store[name] = value
    run.variable_chars += len(name) + len(value) - before


def add(run: Evaluation, scope: str, name: str, value: str, *, counts: bool = False) -> str:
    """Adds numbers, appends to a list, joins anything else; the new value. A list keeps what *counts* as a number."""
    current = read(run, scope, name)
    if current.lstrip(SPACE).startswith("["):
        held = _json(run, current)
        if isinstance(held, list):
            grown = _dumps([*held, _plain_number(value) if counts else value])
            write(run, scope, name, grown)
            return grown
    left, right = number_of(current or "0"), number_of(value)
    if left is None or right is None:
        joined = ("" if current == "0" else current) + value
        write(run, scope, name, joined)
        return joined
    total = left + right
    if total != total:
        return ""
    write(run, scope, name, format_number(total))
    return format_number(total)


def _plain_number(text: str) -> int | float:
    number = float(text)
    return int(number) if number.is_integer() else number


def step(run: Evaluation, scope: str, name: str, by: int) -> str:
    """Counts up or down; the new value."""
    return add(run, scope, name, str(by), counts=True)


def evaluate_shorthand(run: Evaluation, scope: str, name: str, operator: str, value: str) -> str:
    """`{{.name op value}}`: assignments say nothing, everything else says what it came to."""
    if operator == "":
        return read(run, scope, name)
    if operator == "=":
        write(run, scope, name, value)
        return ""
    if operator == "+=":
        add(run, scope, name, value)
        return ""
    if operator == "-=":
        taken = number_of(value)
        if taken is not None:
            add(run, scope, name, format_number(-taken), counts=True)
        return ""
    if operator in ("++", "--"):
        return step(run, scope, name, 1 if operator == "++" else -1)
    current = read(run, scope, name)
    if operator in _COMPARED:
        return "true" if _COMPARED[operator](current, value) else "false"
    exists = name in _store(run, scope)
    keep = exists if operator.startswith("??") else not is_false(current)
    if keep:
        return current
    if operator.endswith("="):
        write(run, scope, name, value)
    return value


def _less(left: str, right: str) -> bool | None:
    """None when one of the two is no number, or both are the same."""
    one, two = number_of(left), number_of(right)
    return None if one is None or two is None or one == two else one < two


def _same(left: str, right: str) -> bool:
    """Letter by letter: a variable is written as the number it is, what it is held against as it stands."""
    return left == right


def _level(left: str, right: str) -> bool:
    one, two = number_of(left), number_of(right)
    return one is not None and one == two


_COMPARED: dict[str, Callable[[str, str], bool]] = {
    "==": _same,
    "!=": lambda left, right: not _same(left, right),
    "<": lambda left, right: _less(left, right) is True,
    ">": lambda left, right: _less(left, right) is False,
    "<=": lambda left, right: _less(left, right) is True or _level(left, right),
    ">=": lambda left, right: _less(left, right) is False or _level(left, right),
}


def read_key(run: Evaluation, scope: str, name: str, key: str) -> str:
    """One entry of a variable that holds a list or an object."""
    value = _store(run, scope).get(name, "")
    held = _json(run, value)
    if held is None:
        return "0" if value.strip(SPACE) == "null" else normalize_number(value)
    number = number_of(key)
    found: object = _MISSING
    if isinstance(held, list | str) and key == "length":
        found = len(held)
    elif isinstance(held, list | str) and number is not None and number == number // 1 and 0 <= number < len(held):
        found = held[int(number)]
    elif isinstance(held, dict):
        found = held.get(format_number(number) if number is not None and key.strip(SPACE) else key, _MISSING)
    if found is _MISSING:
        return ""
    if isinstance(found, str):
        return normalize_number(found)
    return format_number(float(found)) if isinstance(found, int | float) else _dumps(found)


def write_key(run: Evaluation, scope: str, name: str, key: str, value: str) -> None:
    """Sets one entry; a variable that was never set becomes a list or an object, as the key suggests."""
    number = number_of(key)
    text = _store(run, scope).get(name)
    held: object = ({} if number is None else []) if text in (None, "null") else _json(run, text or "")
    if isinstance(held, dict):
        held[key if number is None else format_number(number)] = value
    elif isinstance(held, list) and number is not None and number == number // 1 and 0 <= number <= MAX_INDEX:
        place = int(number)
        held.extend([None] * (place + 1 - len(held)))
        held[place] = value
    else:
        return
    write(run, scope, name, _dumps(held))


def _store(run: Evaluation, scope: str) -> dict[str, str]:
    return run.ctx.variables.shared if scope == "$" else run.ctx.variables.local


def _json(run: Evaluation, text: str) -> object:
    """What *text* says as JSON; None when it does not, or when it is nested beyond reading."""
    run.spend(_JSON_COST * len(text))
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _dumps(value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except (ValueError, RecursionError):
        return ""


def _delete(run: Evaluation, scope: str, name: str) -> None:
    held = _store(run, scope).pop(name, None)
    if held is not None and run.variable_chars is not None:
        run.variable_chars -= len(name) + len(held)


def _handlers(scope: str) -> dict[str, Macro]:
    word = "globalvar" if scope == "$" else "var"

    def macro(name: str, run: MacroHandler, count: int) -> tuple[str, Macro]:
        return name, Macro(name, run, least=count, most=count)

    def needs_name(handler: MacroHandler) -> MacroHandler:
        """What changes a variable needs its name."""
        return lambda run, called: handler(run, called) if called.args[0] else None

    def exists(run: Evaluation, called: Invocation) -> str:
        return "true" if called.args[0] in _store(run, scope) else "false"

    def delete(run: Evaluation, called: Invocation) -> str:
        _delete(run, scope, called.args[0])
        return ""

    def add_(run: Evaluation, called: Invocation) -> str:
        add(run, scope, *called.args)
        return ""

    def set_(run: Evaluation, called: Invocation) -> str:
        write(run, scope, called.args[0], called.args[1])
        return ""

    def set_key(run: Evaluation, called: Invocation) -> str:
        write_key(run, scope, *called.args)
        return ""

    return dict(
        (
            macro(f"set{word}", needs_name(set_), 2),
            macro(f"add{word}", needs_name(add_), 2),
            macro(f"inc{word}", needs_name(lambda run, called: step(run, scope, called.args[0], 1)), 1),
            macro(f"dec{word}", needs_name(lambda run, called: step(run, scope, called.args[0], -1)), 1),
            macro(f"get{word}", lambda run, called: read(run, scope, called.args[0]), 1),
            macro(f"has{word}", exists, 1),
            macro(f"{word}exists", exists, 1),
            macro(f"delete{word}", delete, 1),
            macro(f"flush{word}", delete, 1),
            macro(f"set{word}key", needs_name(set_key), 3),
            macro(f"get{word}key", lambda run, called: read_key(run, scope, *called.args), 2),
        )
    )


MACROS = _handlers(".") | _handlers("$")
