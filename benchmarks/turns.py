"""Reading the room: how long it takes to build and lay out a turn of many messages.

Every message answers another, has reactions and now and then a picture. The whole way is measured, from
the surroundings' messages to dialogue items; beside it, in the same run, a bare loop that only writes
`name: text`. And whole turns of a familiar on disk, from a message heard to a reply recorded, with a model that costs
nothing: one with a long past against one with hardly any. All in processor time. Run `python -m benchmarks.turns`;
`--quick` for a short form, `--json` for a script.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from benchmarks import large_home
from benchmarks.conversation_script import CHARACTER
from benchmarks.fixtures import PEOPLE as PEOPLE_ON_DISK
from benchmarks.fixtures import QuietPlace, load_familiar, say, scripted_clients, without_warnings, write_character
from benchmarks.table import Row, run_part, spread
from familiar_connect.chat import window
from familiar_connect.chat.build import build_turn
from familiar_connect.chat.message_parts import Attachment, Embed, Reaction, ReferencedMessage
from familiar_connect.chat.place import Surroundings
from familiar_connect.chat.scene import ChannelContext, ChannelKind, Member, Scene
from familiar_connect.chat.types import InboundMessage, Turn, TurnSettings
from familiar_connect.context.providers.history.turn_items import turn_items
from familiar_connect.conversation.types import BufferedMessage, Exchange, ResponseTrigger
from familiar_connect.identity import Author

SMALL, LARGE = 100, 1_000
TURN_P50_MS = 15.0
MOST_GROWTH = 12.0
YOUNG, OLD, QUICK_OLD = (10, 10), (100_000, 10_000), (600, 60)
"""Turns and files of a familiar."""
MOST_AGEING = 3.0
WHOLE_TURNS = 12
INDEX_LIMIT_S = 900.0
PEOPLE = tuple(Author("discord", str(1000 + n), f"person{n}", f"Person {n}") for n in range(25))
START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


class CrowdedChannel(Surroundings):
    """A channel of lively people."""

    def __init__(self, count: int) -> None:
        self.messages = [_message(number) for number in range(count)]
        members = tuple(Member(author=author, saved_nickname=f"P{author.user_id}") for author in PEOPLE)
        self._scene = Scene(
            server_name="Lantern Street", channel=ChannelContext("lounge", ChannelKind.text), members=members
        )

    async def recent(self, limit: int) -> Sequence[InboundMessage]:
        return self.messages

    async def scene(self) -> Scene:
        return self._scene


def _message(number: int) -> InboundMessage:
    author, other = PEOPLE[number % len(PEOPLE)], PEOPLE[(number * 7 + 3) % len(PEOPLE)]
    return InboundMessage(
        platform="discord",
        channel_id=7,
        author=author,
        text=f"Message {number} for <@{other.user_id}>: the lamps along the quay were lit early, and nobody knew why. "
        "<:lamp:77> See https://example.org/quay for more.",
        timestamp=START + timedelta(minutes=number),
        message_id=str(5000 + number),
        reply_to=ReferencedMessage(message_id=str(4990 + number), author=other, text="And what did the keeper say?"),
        reactions=(
            Reaction(label="👍", count=4, users=PEOPLE[:4]),
            Reaction(label="lamp", count=2, is_custom=True, users=PEOPLE[4:6]),
        ),
        attachments=(Attachment(url=f"https://example.org/{number}.png", mime="image/png"),) if number % 5 == 0 else (),
        embeds=(Embed(title="The quay", description="Lamps and boats. " * 10),) if number % 7 == 0 else (),
        history_id=number + 1,
    )


async def _turn(place: CrowdedChannel) -> Turn:
    newest = place.messages[-1]
    said = BufferedMessage(newest.author, newest.text, newest.timestamp, newest.history_id, newest)
    exchange = Exchange(
        familiar_id="wren", channel_id=7, guild_id=1, messages=(said,), trigger=ResponseTrigger.direct_address
    )
    count = len(place.messages)
    settings = TurnSettings(persona="Wren", message_fetch_limit=count, window_size=count, triggers=("Wren",))
    return await build_turn(exchange, place, settings=settings)


async def _whole(place: CrowdedChannel) -> int:
    return sum(len(item.text) for item in turn_items(await _turn(place)))


def _bare(place: CrowdedChannel) -> int:
    return sum(len(f"{message.author.label}: {message.text}") for message in place.messages)


async def _timed(rounds: int) -> dict[int, dict[str, Any]]:
    """Processor time of few and of many messages by turns, so that whatever else the machine does slows both alike."""
    places = {size: CrowdedChannel(size) for size in (SMALL, LARGE)}
    took: dict[int, list[float]] = {size: [] for size in places}
    bare: dict[int, list[float]] = {size: [] for size in places}
    shown = {size: len((await _turn(place)).messages) for size, place in places.items()}
    for _ in range(rounds):
        for size, place in places.items():
            for _ in range(LARGE // size):
                began = time.process_time()
                await _whole(place)
                took[size].append(time.process_time() - began)
                began = time.process_time()
                _bare(place)
                bare[size].append(time.process_time() - began)
    return {
        size: {"turn_ms": spread(took[size], 1e3), "bare_ms": spread(bare[size], 1e3), "entries": shown[size]}
        for size in places
    }


async def _whole_turns(size: tuple[int, int]) -> dict[str, float]:
    """Processor time of whole turns, the first two left out, of a familiar with so many turns and files behind it."""
    with tempfile.TemporaryDirectory(prefix="familiar-turns-") as folder:
        root = Path(folder) / large_home.FAMILIAR
        write_character(root, CHARACTER)
        large_home.fill_home_in_child(root, turns=size[0], files=size[1])
        clients = scripted_clients(lambda _: "The lamp is lit.", lambda _: "")
        familiar = load_familiar(root, clients)
        try:
            await familiar.start(keep_index=False)
            assert await familiar.update_memory_index(INDEX_LIMIT_S)
            place, took = QuietPlace(), []
            for number, question in enumerate(large_home.questions(WHOLE_TURNS + 2)):
                began = time.process_time()
                await say(familiar, place, PEOPLE_ON_DISK[number % 3], f"Wren, {question}", datetime.now(UTC))
                took.append(time.process_time() - began)
        finally:
            await familiar.aclose()
    return spread(took[2:], 1000.0)


def measure(*, quick: bool = False) -> dict[str, Any]:
    """Milliseconds for few and for many messages, and of the bare loop."""
    found: dict[str, Any] = {}
    fetched = window.MOST_FETCHED
    window.MOST_FETCHED = LARGE  # a turn never looks at so many; how the work grows is what is asked
    try:
        found["sizes"] = asyncio.run(_timed(3 if quick else 12))
    finally:
        window.MOST_FETCHED = fetched
    small, large = found["sizes"][SMALL], found["sizes"][LARGE]
    found["growth"] = large["turn_ms"]["p50"] / small["turn_ms"]["p50"]
    found["against_bare"] = small["turn_ms"]["p50"] / small["bare_ms"]["p50"]
    with without_warnings("familiar_connect"):
        old = QUICK_OLD if quick else OLD
        found["whole"] = {
            "size": old,
            "young_ms": asyncio.run(_whole_turns(YOUNG)),
            "old_ms": asyncio.run(_whole_turns(old)),
        }
    found["ageing"] = found["whole"]["old_ms"]["p50"] / found["whole"]["young_ms"]["p50"]
    return found


def rows(found: dict[str, Any]) -> list[Row]:
    small, large = found["sizes"][SMALL], found["sizes"][LARGE]
    p50, whole = small["turn_ms"]["p50"], found["whole"]
    return [
        Row(
            name=f"a turn of {SMALL} messages with replies, reactions and media, built and laid out, processor time",
            value=f"{p50:.1f} ms (p95 {small['turn_ms']['p95']:.1f}; {small['entries']} entries)",
            bar=f"< {TURN_P50_MS:g} ms",
            ok=p50 < TURN_P50_MS,
        ),
        Row(
            name=f"{LARGE:,} messages against {SMALL}",
            value=f"{found['growth']:.1f} × ({large['turn_ms']['p50']:.0f} ms)",
            bar=f"< {MOST_GROWTH:g} ×",
            ok=found["growth"] < MOST_GROWTH,
        ),
        Row(
            name="against a bare loop that writes name and text",
            value=f"{found['against_bare']:.0f} × ({small['bare_ms']['p50']:.3f} ms)",
        ),
        Row(
            name=f"a whole turn without its model, processor time: {whole['size'][0]:,} turns and {whole['size'][1]:,} "
            f"files against {YOUNG[0]} and {YOUNG[1]}",
            value=f"{found['ageing']:.2f} × "
            f"({whole['old_ms']['p50']:.0f} ms against {whole['young_ms']['p50']:.0f} ms)",
            bar=f"≤ {MOST_AGEING:g} ×",
            ok=found["ageing"] <= MOST_AGEING,
        ),
    ]


def main(arguments: Sequence[str]) -> int:
    return run_part(arguments, title="turns", description=__doc__, measure=measure, rows=rows)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
