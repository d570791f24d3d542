"""Books, cards and presets made to stall a turn: how long the prompt takes with each.

    python -m benchmarks.sillytavern.stall [--cases 60] [--seed WORD]

Each case combines what is slow by itself: entries that call up each other one after the other, levels of delay, minimum
activations over a long chat, keys of every kind by the thousand, texts of megabytes, macros that double a variable,
nest, or never close. A prompt that takes longer than the limit, or an exception, is a failure with its number.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from familiar_connect.presets.load import read_preset
from familiar_connect.presets.macros.types import MacroContext, Variables
from familiar_connect.presets.prompt_order import nodes_of
from familiar_connect.presets.sillytavern.assemble import assemble
from familiar_connect.presets.sillytavern.types import PromptTooLarge, SillyTavernInputs
from familiar_connect.presets.types import CardFields, ChatLine, PresetFidelity
from familiar_connect.presets.world_info.read_entries import read_entry
from familiar_connect.presets.world_info.types import ScanSettings, WorldBook

SEED, CASES = "reef", 60
LIMIT_S = 8.0
"""Processor time of one prompt at most."""
Entries = list[dict[str, Any]]


@dataclass(frozen=True)
class Stall:
    """How long one case took."""

    number: int
    kinds: str
    seconds: float
    problem: str = ""


def chain(rng: random.Random, size: int) -> Entries:
    """Each entry calls up the next."""
    return [{"key": [f"link{at:05}x"], "content": f"link{at + 1:05}x"} for at in range(size)]


def levels(rng: random.Random, size: int) -> Entries:
    """Each waits for a level of its own."""
    return [{"key": ["the"], "content": f"w{at} " * 20, "delayUntilRecursion": at + 1} for at in range(size)]


def patterns(rng: random.Random, size: int) -> Entries:
    """Patterns that are slow where they may go back."""
    shapes = ("/(a+)+$/", "/(?:a|aa)+b/i", "/[^x]{0,900}y/", "/(\\w+\\s?)*!/", "/.*.*.*z/s")
    return [{"key": [rng.choice(shapes).replace("y", f"y{at}")], "content": "a" * 400} for at in range(min(size, 400))]


def phrases(rng: random.Random, size: int) -> Entries:
    """Long keys with blanks, alike but for their ends."""
    return [{"key": [f"{'the ' * 40}{at}", " ", ""], "content": "the " * 60} for at in range(size)]


def groups(rng: random.Random, size: int) -> Entries:
    """All in all groups, scored."""
    named = ",".join(f"g{at}" for at in range(40))
    return [
        {"key": ["the"], "content": "x", "group": named, "useGroupScoring": True, "groupWeight": at}
        for at in range(min(size, 2_000))
    ]


def macros(rng: random.Random, size: int) -> Entries:
    """Macros in keys and contents, which double what they hold."""
    double = "{{setvar::v::{{getvar::v}}{{getvar::v}}{{user}}}}"
    return [{"constant": True, "key": ["{{getvar::v}}"], "content": double * 20} for _ in range(min(size, 300))]


def huge(rng: random.Random, size: int) -> Entries:
    """Texts of megabytes."""
    return [{"constant": True, "content": "the word " * 200_000} for _ in range(4)]


BOOKS: tuple[Callable[[random.Random, int], Entries], ...] = (chain, levels, patterns, phrases, groups, macros, huge)
TEXTS = {
    "open": "{{if user}}" * 6_000,
    "crossed": "{{if a}}{{setvar::b}}{{/if}}{{/setvar}}" * 2_000,
    "raw": "{{user}}" * 5_000 + "{{/user}}" * 4_000,
    "nested": "{{reverse::" * 3_000 + "x" + "}}" * 3_000,
    "doubling": "{{setvar::v::{{getvar::v}}{{getvar::v}}x}}" * 200 + "{{getvar::v}}" * 50,
    "braces": "{" * 200_000,
    "else": "{{if user}}a{{else}}b{{/if}}" * 4_000,
    "plain": "the lamp " * 100_000,
}


def make_inputs(rng: random.Random) -> tuple[str, SillyTavernInputs]:
    kinds = rng.sample(BOOKS, rng.randint(1, 3))
    words = rng.choices(list(TEXTS), k=4)
    books = tuple(
        WorldBook(
            name=each.__name__,
            entries=tuple(
                read_entry({"uid": uid, "order": uid, **entry}, book=each.__name__)
                for uid, entry in enumerate(each(rng, rng.choice((500, 3_000, 9_000))))
            ),
        )
        for each in kinds
    )
    card = CardFields(
        name="Rook", description=TEXTS[words[0]], first_mes=TEXTS[words[1]], mes_example=f"<START>\n{TEXTS[words[2]]}"
    )
    preset = read_preset(
        '{"prompts": [{"identifier": "main", "content": "Go."}, {"identifier": "chatHistory", "marker": true},'
        ' {"identifier": "charDescription", "marker": true}, {"identifier": "dialogueExamples", "marker": true}],'
        ' "prompt_order": [{"character_id": 100001, "order": [{"identifier": "main", "enabled": true},'
        ' {"identifier": "charDescription", "enabled": true}, {"identifier": "dialogueExamples", "enabled": true},'
        ' {"identifier": "chatHistory", "enabled": true}]}]}',
        "stall",
    )
    chat = tuple(
        ChatLine(name="Ada", text=f"the link00000x {'a' * 200} {at}", is_user=True)
        for at in range(rng.choice((3, 900)))
    )
    settings = ScanSettings(
        depth=rng.choice((2, 1000)), budget_percent=100.0, min_activations=rng.choice((0, 100_000)), recursive=True
    )
    inputs = SillyTavernInputs(
        nodes=nodes_of(preset, PresetFidelity.sillytavern),
        settings=preset.settings,
        card=card,
        persona=TEXTS[words[3]],
        chat=chat,
        context=MacroContext(char="Rook", user="Ada", rng=random.Random(1), variables=Variables(local={"v": "xy"})),
        budget=10_000_000,
        books=books,
        scan=settings,
    )
    return " ".join([*(each.__name__ for each in kinds), *words]), inputs


def try_case(seed: str, number: int) -> Stall:
    """Case *number* of *seed*, timed."""
    kinds, inputs = make_inputs(random.Random(f"{seed}:{number}"))
    began, problem = time.process_time(), ""
    try:
        assemble(inputs)
    except PromptTooLarge:
        pass
    except Exception as error:  # whatever it is, no book may cause it
        problem = f"{type(error).__name__}: {error}"
    took = time.process_time() - began
    return Stall(number, kinds, took, problem or (f"took {took:.1f} s" if took > LIMIT_S else ""))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sillytavern.stall")
    parser.add_argument("--cases", type=int, default=CASES)
    parser.add_argument("--seed", default=SEED)
    options = parser.parse_args(arguments)
    tried = [try_case(options.seed, number) for number in range(options.cases)]
    slowest = max(tried, key=lambda each: each.seconds)
    print(
        f"{len(tried)} turns, the slowest {slowest.seconds:.2f} s of processor time ({slowest.number}: {slowest.kinds})"
    )
    failed = [each for each in tried if each.problem]
    for each in failed:
        print(f"  {each.number} {each.kinds}: {each.problem}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
