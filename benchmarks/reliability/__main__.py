"""How a familiar bears up: `python -m benchmarks.reliability [--quick] [--json] [PART …]`.

`doors` and `trouble` take `--door NAME`, and `trouble` takes `--trouble NAME`. `doors` alone takes `--kills N` and
`--part i/n`: the i-th of n runs that share the places between them.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.reliability import addressed, bursts, cuts, kills, load, soak
from benchmarks.reliability.door_kills import trial as doors
from benchmarks.reliability.door_kills.doors import DOORS
from benchmarks.reliability.trouble import trial as trouble
from benchmarks.reliability.trouble.means import TROUBLES
from benchmarks.table import Row, machine, table


@dataclass(frozen=True, kw_only=True)
class Part:
    """One trial: how it is made, long or short, and how it is told."""

    measure: Callable[[bool], Coroutine[Any, Any, dict[str, Any]]]
    rows: Callable[[dict[str, Any]], list[Row]]


def _load(quick: bool) -> Coroutine[Any, Any, dict[str, Any]]:
    return load.measure(seconds=10.0, per_second=50.0) if quick else load.measure()


def _cuts(quick: bool) -> Coroutine[Any, Any, dict[str, Any]]:
    return cuts.measure(seconds=10.0) if quick else cuts.measure()


async def _addressed(quick: bool) -> dict[str, Any]:
    return {
        "bursts": await bursts.measure(mentions=60 if quick else bursts.MENTIONS, seed=bursts.SEED),
        "side_by_side": await bursts.measure_side_by_side(),
        "faults": await (addressed.measure(asked=100, per_second=10.0) if quick else addressed.measure()),
    }


def _addressed_rows(found: dict[str, Any]) -> list[Row]:
    told = [*bursts.rows(found["bursts"]), *bursts.side_by_side_rows(found["side_by_side"])]
    return [*told, *addressed.rows(found["faults"])]


def _soak(quick: bool) -> Coroutine[Any, Any, dict[str, Any]]:
    return soak.measure(heard=400, answered=40, rounds=4) if quick else soak.measure()


def _kills(quick: bool) -> Coroutine[Any, Any, dict[str, Any]]:
    return kills.measure(rounds=8) if quick else kills.measure()


def _doors(quick: bool) -> Coroutine[Any, Any, dict[str, Any]]:
    return doors.measure(kills=doors.QUICK_KILLS if quick else doors.KILLS)


def _trouble(quick: bool) -> Coroutine[Any, Any, dict[str, Any]]:
    return trouble.measure(doors=trouble.DOOR_NAMES[-2:] if quick else ())


PARTS: dict[str, Part] = {
    "load": Part(measure=_load, rows=load.rows),
    "addressed": Part(measure=_addressed, rows=_addressed_rows),
    "cuts": Part(measure=_cuts, rows=cuts.rows),
    "kills": Part(measure=_kills, rows=kills.rows),
    "doors": Part(measure=_doors, rows=doors.rows),
    "trouble": Part(measure=_trouble, rows=trouble.rows),
    "soak": Part(measure=_soak, rows=soak.rows),
}


def main(arguments: Sequence[str]) -> int:
    options = _parser().parse_args(arguments)
    unknown = [name for name in options.parts if name not in PARTS]
    if unknown:
        print(f"there is no {', '.join(unknown)}; there are {', '.join(PARTS)}", file=sys.stderr)
        return 2
    soak.HEARD, soak.ANSWERED = options.heard, options.answered
    bursts.MENTIONS, bursts.SEED = options.mentions, options.seed
    found: dict[str, Any] = {}
    rows: dict[str, list[Row]] = {}
    for name in options.parts or PARTS:
        print(f"measuring {name} …", file=sys.stderr, flush=True)
        found[name] = asyncio.run(_measure(name, options))
        rows[name] = PARTS[name].rows(found[name])
    bars = [row.ok for each in rows.values() for row in each if row.ok is not None]
    facts = machine()
    if options.json:
        told = {name: [asdict(row) for row in each] for name, each in rows.items()}
        print(json.dumps({"machine": facts, "quick": options.quick, "rows": told, "found": found}, indent=2))
    else:
        print(", ".join(f"{key} {value}" for key, value in facts.items()) + (", quick form" if options.quick else ""))
        print(f"\n{table(rows)}\n\n{sum(bars)} of {len(bars)} bars met")
    return 0 if all(bars) else 1


def _measure(name: str, options: argparse.Namespace) -> Coroutine[Any, Any, dict[str, Any]]:
    if name == "trouble" and (options.door or options.trouble):
        return trouble.measure(doors=options.door, troubles=options.trouble)
    if name != "doors":
        return PARTS[name].measure(options.quick)
    kills_wanted = options.kills or (doors.QUICK_KILLS if options.quick else doors.KILLS)
    return doors.measure(kills=kills_wanted, doors=options.door, part=options.part)


def _part(text: str) -> tuple[int, int]:
    number, _, of = text.partition("/")
    if not (number.isdigit() and of.isdigit() and 1 <= int(number) <= int(of)):
        raise argparse.ArgumentTypeError("write it as 2/4: the second of four parts")
    return int(number), int(of)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reliability", description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"only these of {', '.join(PARTS)}")
    parser.add_argument("--quick", action="store_true", help="a short form, for a look in passing")
    parser.add_argument(
        "--door", action="append", default=[], choices=DOORS, help="only this door; several may be named"
    )
    parser.add_argument(
        "--trouble", action="append", default=[], choices=TROUBLES, help="only this trouble; several may be named"
    )
    parser.add_argument("--kills", type=int, metavar="N", help="kills behind each door")
    parser.add_argument("--part", type=_part, default=(1, 1), metavar="I/N", help="the I-th of N runs")
    parser.add_argument("--mentions", type=int, default=bursts.MENTIONS, help="mentions in bursts, of `addressed`")
    parser.add_argument("--seed", type=int, default=bursts.SEED, help="by which those bursts are drawn")
    parser.add_argument("--heard", type=int, default=soak.HEARD, help="messages of a soak")
    parser.add_argument("--answered", type=int, default=soak.ANSWERED, help="how many of them are answered")
    parser.add_argument("--json", action="store_true", help="everything measured, for a script")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
