"""ScriptRun: carries a script out command by command, within bounds, and stops where it asks the person something.

Between a question and its answer nothing runs: the run is a value that is gone on with, or dropped.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable

from familiar_connect.errors import ScriptError
from familiar_connect.presets.scripts.parse import parse_script
from familiar_connect.presets.scripts.types import (
    MAX_ASKED,
    MAX_GENERATED,
    MAX_NESTING,
    MAX_SHOWN_CHARS,
    MAX_STEPS,
    MAX_TEXT_CHARS,
    Command,
    Script,
    ScriptDoor,
    ScriptQuestion,
)

MAX_VARIABLES = 1_000
RULES = "eq, neq, in, nin, gt, gte, lt, lte and not"
FALSE = ("", "false", "off", "0")


class ScriptRun:
    """One run of a script."""

    def __init__(self, script: Script) -> None:
        self._frames = [iter(script.commands)]
        """What is left of the script, and of each closure in it that was entered."""
        self._pipe = ""
        self._steps = 0
        self._generated = 0
        self._asked = 0
        self._question: ScriptQuestion | None = None
        self._shown: list[str] = []
        self._shown_chars = 0

    @property
    def question(self) -> ScriptQuestion | None:
        """What is waited for; None: nothing."""
        return self._question

    def take_shown(self) -> list[str]:
        """What was shown since the last time."""
        shown, self._shown = self._shown, []
        return shown

    async def advance(self, door: ScriptDoor, answer: str = "") -> ScriptQuestion | None:
        """Go on to the next question, which *answer* answers the last of, or to the end."""
        if self._question is not None:
            self._pipe = _choose(self._question, answer)
            self._question = None
        while self._frames:
            command = next(self._frames[-1], None)
            if command is None:
                self._frames.pop()
                continue
            self._steps += 1
            if self._steps > MAX_STEPS:
                raise self._error(command, f"it takes more than {MAX_STEPS} steps")
            await self._carry_out(command, door)
            if self._question is not None:
                return self._question
        return None

    async def _carry_out(self, command: Command, door: ScriptDoor) -> None:
        handlers: dict[str, Callable[[Command, ScriptDoor], Awaitable[str | None]]] = {
            "send": self._send,
            "sendas": self._send_as,
            "sys": self._narrate,
            "trigger": self._trigger,
            "if": self._branch,
            "echo": self._echo,
            "input": self._ask,
            "buttons": self._offer,
            "gen": self._generate,
            "pass": self._pass,
            "return": self._return,
            "abort": self._abort,
        }
        handler = handlers.get(command.name)
        made = await handler(command, door) if handler is not None else self._use_variable(command, door)
        if made is not None:
            self._pipe = made[:MAX_TEXT_CHARS]

    # Said

    async def _send(self, command: Command, door: ScriptDoor) -> str:
        text = self._words(command, door)
        name = self._named(command, door, "name")
        if text.strip():
            await door.say(text, name)
            self._show(command, f"{name or 'You'}: {text}")
        return ""

    async def _send_as(self, command: Command, door: ScriptDoor) -> str:
        name, text = self._named(command, door, "name"), self._words(command, door)
        if not name:
            raise self._error(command, "/sendas needs name=NAME")
        if text.strip():
            await door.say_as(name, text)
            self._show(command, f"{name}: {text}")
        return ""

    async def _narrate(self, command: Command, door: ScriptDoor) -> str:
        text = self._words(command, door)
        if text.strip():
            await door.narrate(text)
            self._show(command, text)
        return ""

    async def _trigger(self, command: Command, door: ScriptDoor) -> None:
        self._count_generated(command)
        await door.answer()

    async def _generate(self, command: Command, door: ScriptDoor) -> str:
        self._count_generated(command)
        return await door.generate(self._words(command, door))

    def _count_generated(self, command: Command) -> None:
        self._generated += 1
        if self._generated > MAX_GENERATED:
            raise self._error(command, f"it asks the model more than {MAX_GENERATED} times")

    # Shown and asked

    async def _echo(self, command: Command, door: ScriptDoor) -> str:
        text = self._words(command, door)
        self._show(command, text)
        return text

    async def _ask(self, command: Command, door: ScriptDoor) -> None:
        self._wait_for(command, ScriptQuestion(text=self._words(command, door) or "What do you say?"))

    async def _offer(self, command: Command, door: ScriptDoor) -> None:
        given = self._named(command, door, "labels")
        try:
            labels = json.loads(given)
        except (ValueError, RecursionError):
            labels = None
        if not isinstance(labels, list) or not 0 < len(labels) <= 20:
            raise self._error(command, '/buttons needs labels=["one","two"], at most 20')
        choices = tuple(str(each)[:100] for each in labels)
        self._wait_for(command, ScriptQuestion(text=self._words(command, door) or "Choose one.", choices=choices))

    def _wait_for(self, command: Command, question: ScriptQuestion) -> None:
        self._asked += 1
        if self._asked > MAX_ASKED:
            raise self._error(command, f"it asks more than {MAX_ASKED} questions")
        self._question = question

    def _show(self, command: Command, text: str) -> None:
        self._shown_chars += len(text)
        if self._shown_chars > MAX_SHOWN_CHARS:
            raise self._error(command, f"it shows more than {MAX_SHOWN_CHARS:,} characters")
        self._shown.append(text)

    # Where it goes

    async def _branch(self, command: Command, door: ScriptDoor) -> None:
        left, right = (_operand(self._named(command, door, side), door) for side in ("left", "right"))
        rule = self._named(command, door, "rule") or ("eq" if "right" in command.named else "true")
        chosen = command.words if _compare(left, rule, right, command) else command.named.get("else", "")
        if isinstance(chosen, str):
            if not chosen.strip():
                return
            chosen = parse_script(chosen, MAX_NESTING - 1)
        if len(self._frames) >= MAX_NESTING:
            raise self._error(command, f"it is nested more than {MAX_NESTING} deep")
        self._frames.append(iter(chosen.commands))

    async def _pass(self, command: Command, door: ScriptDoor) -> str:
        return self._words(command, door)

    async def _return(self, command: Command, door: ScriptDoor) -> str:
        self._frames.pop()
        return self._words(command, door)

    async def _abort(self, command: Command, door: ScriptDoor) -> None:
        self._frames.clear()

    # Variables

    def _use_variable(self, command: Command, door: ScriptDoor) -> str:
        is_shared = "global" in command.name
        kept = door.variables.shared if is_shared else door.variables.local
        verb = command.name.replace("global", "").removesuffix("var")
        named = self._named(command, door, "key") or self._named(command, door, "name")
        key = named or door.fill(command.words, self._pipe).strip() if isinstance(command.words, str) else named
        if not key:
            raise self._error(command, f"/{command.name} needs key=NAME")
        before = kept.get(key, "")
        match verb:
            case "get":
                return before
            case "flush":
                kept.pop(key, None)
                return ""
            case "set":
                made = self._words(command, door)
            case "add":
                made = _add(before, self._words(command, door))
            case _:
                made = _add(before or "0", "1" if verb == "inc" else "-1")
        if key not in kept and len(kept) >= MAX_VARIABLES:
            raise self._error(command, f"there are {MAX_VARIABLES:,} variables already")
        kept[key] = made[:MAX_TEXT_CHARS]
        return kept[key]

    # Values

    def _words(self, command: Command, door: ScriptDoor) -> str:
        """What a command is given; the pipe where it is given nothing."""
        if isinstance(command.words, Script):
            raise self._error(command, f"/{command.name} takes a text here, no closure")
        return door.fill(command.words, self._pipe) if command.words else self._pipe

    def _named(self, command: Command, door: ScriptDoor, key: str) -> str:
        value = command.named.get(key, "")
        if isinstance(value, Script):
            raise self._error(command, f"{key}= of /{command.name} takes a text, no closure")
        return door.fill(value, self._pipe)

    def _error(self, command: Command, words: str) -> ScriptError:
        return ScriptError(f"line {command.line}: {words}")


def _choose(question: ScriptQuestion, answer: str) -> str:
    """What was answered: of choices the one of that number or name."""
    answer = answer.strip()
    if not question.choices:
        return answer[:MAX_TEXT_CHARS]
    if answer.isascii() and answer.isdigit() and 1 <= int(answer[:6]) <= len(question.choices):
        return question.choices[int(answer) - 1]
    folded = answer.casefold()
    found = next((each for each in question.choices if each.casefold() == folded), None)
    if found is None:
        raise ScriptError(f"there is no {answer!r} to choose; there are: {', '.join(question.choices)}")
    return found


def _operand(text: str, door: ScriptDoor) -> str:
    """A variable's value where *text* names one, else *text*."""
    for kept in (door.variables.local, door.variables.shared):
        if text in kept:
            return kept[text]
    return text


def _compare(left: str, rule: str, right: str, command: Command) -> bool:
    """As SillyTavern compares: by number where both are numbers, else by words in any case."""
    numbers = _number(left), _number(right)
    first, second = left.casefold(), right.casefold()
    match rule:
        case "true":
            return first not in FALSE
        case "not":
            return first in FALSE
        case "eq" | "neq":
            is_equal = numbers[0] == numbers[1] if None not in numbers else first == second
            return is_equal is (rule == "eq")
        case "in" | "nin":
            return (second in first) is (rule == "in")
        case "gt" | "gte" | "lt" | "lte":
            if numbers[0] is None or numbers[1] is None:
                return False
            below, same = numbers[0] < numbers[1], numbers[0] == numbers[1]
            return {"gt": not below and not same, "gte": not below, "lt": below, "lte": below or same}[rule]
    raise ScriptError(
        f"line {command.line}: rule={rule} is not known; there are eq, neq, in, nin, gt, gte, lt, lte, not"
    )


def _number(text: str) -> float | None:
    try:
        found = float(text) if len(text) < 40 else None
    except ValueError:
        return None
    return found if found is not None and abs(found) < 1e300 else None


def _add(before: str, more: str) -> str:
    """The sum of two numbers, else both texts behind each other."""
    numbers = _number(before or "0"), _number(more)
    if numbers[0] is None or numbers[1] is None:
        return before + more
    total = numbers[0] + numbers[1]
    return str(int(total)) if total == int(total) else str(total)
