"""The week: what Alice, Bob and Cleo say to Mira, day by day, and what a good side model makes of each day.

Each day's answer is in the format the memory writer asks for. Files are given whole, kept and extended from
the day before, as the writer wishes; what is no longer true is named with the turn that says so.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime

from familiar_connect.identity import Author

ALICE = Author("discord", "1001", "alice_n", "Alice")
BOB = Author("discord", "1002", "bobby", "Bob")
CLEO = Author("twitch", "77", "cleo_draws", "Cleo")
MIRA = None
KITCHEN, STREAM = 10, 20
CHANNELS = {KITCHEN: "#kitchen-table", STREAM: "#cleo-draws"}


@dataclass(frozen=True, kw_only=True)
class Day:
    """One day: where and when the talk was, what was said, and what is to be remembered."""

    began: datetime
    channel: int
    said: tuple[tuple[Author | None, str], ...]
    summary: str
    people: dict[str, str] = field(default_factory=dict)
    topics: dict[str, str] = field(default_factory=dict)

    @property
    def answer(self) -> str:
        """The day as the side model tells it."""
        people = "\n".join(f"---FILE: {name}.md---\n{text}\n---END_FILE---" for name, text in self.people.items())
        topics = "\n".join(f"---FILE: {name}.md---\n{text}\n---END_FILE---" for name, text in self.topics.items())
        return (
            f"===SESSION_SUMMARY===\n{self.summary}\n===END_SESSION_SUMMARY===\n"
            f"===PEOPLE===\n{people}\n===END_PEOPLE===\n===TOPICS===\n{topics}\n===END_TOPICS===\n"
        )


def person_file(name: str, aliases: str, who: str, feelings: str, *facts: str) -> str:
    """A people file."""
    names = "\n".join(f"- {alias.strip()}" for alias in aliases.split(","))
    known = "\n".join(f"- {fact}" for fact in facts)
    sections = [f"# {name}", who, f"## Aliases\n{names}"]
    sections += [f"## What I know\n{known}"] if known else []
    return "\n\n".join([*sections, f"## How I feel about them\n{feelings}"])


def _at(day: int, hour: int) -> datetime:
    return datetime(2026, 4, day, hour, tzinfo=UTC)


_ALICE_1 = "Alice works nights as a nurse at St. Anna."
_ALICE_2 = "She has a grey cat called Pixel who sleeps on the radiator."
_BOB_1 = "Bob restores an old rowing boat in his garage and wants it on the lake by June."
_CLEO_1 = "Cleo draws comics and streams it on Sundays."
_PIXEL = "# Pixel\n\nAlice's grey cat, who sleeps on the radiator.\n\n## Notable\n- Knocked over a teapot on Tuesday."

WEEK = (
    Day(
        began=_at(6, 18),
        channel=KITCHEN,
        said=(
            (ALICE, "Hi Mira, I'm Alice. I work nights as a nurse at St. Anna, so I live on coffee."),
            (MIRA, "Hello Alice! Coffee it is, then. What keeps you going besides?"),
            (ALICE, "My cat Pixel. She's grey and sleeps on the radiator all day."),
            (BOB, "Evening. I'm restoring an old rowing boat in my garage, I want it on the lake by June."),
            (MIRA, "A boat by June! You must let me name it, Bob."),
        ),
        summary="Alice and Bob came by the kitchen table for the first time. Alice told of her night shifts, her "
        "coffee and her cat Pixel; Bob of the rowing boat he restores.",
        people={
            "discord-1001": person_file(
                "Alice",
                "Alice, alice_n",
                _ALICE_1,
                "Warm and tired; I like her at once.",
                "She lives on coffee.",
                _ALICE_2,
            ),
            "discord-1002": person_file("Bob", "Bob, bobby", _BOB_1, "Patient hands. I want to name the boat."),
        },
        topics={"rowing-boat": "# The rowing boat\n\nBob restores it in his garage and wants it on the lake by June."},
    ),
    Day(
        began=_at(7, 19),
        channel=KITCHEN,
        said=(
            (ALICE, "Pixel knocked over the teapot this morning. Tea everywhere."),
            (MIRA, "Poor teapot! Was Pixel sorry?"),
            (ALICE, "Not in the least. She looked proud."),
        ),
        summary="Alice told how Pixel knocked over the teapot and was proud of it.",
        people={
            "discord-1001": person_file(
                "Alice",
                "Alice, alice_n",
                _ALICE_1,
                "Warm and tired; I like her at once. Her cat stories are the best part of my evening.",
                "She lives on coffee.",
                _ALICE_2,
                "Pixel knocked over the teapot and looked proud.",
            )
        },
        topics={"pixel": _PIXEL},
    ),
    Day(
        began=_at(8, 20),
        channel=KITCHEN,
        said=(
            (BOB, "The hull is sanded. Two planks were rotten, so I replaced them with larch."),
            (MIRA, "Larch smells of summer. Is she still on for June?"),
            (BOB, "June, yes. Alice is going to sail with me, she is never seasick."),
        ),
        summary="Bob has sanded the hull and replaced two rotten planks with larch. He says Alice will sail with him.",
        people={
            "discord-1002": person_file(
                "Bob",
                "Bob, bobby",
                _BOB_1,
                "Patient hands. I want to name the boat.",
                "He replaced two rotten planks with larch.",
                "He says that Alice will sail with him and is never seasick.",
            )
        },
        topics={
            "rowing-boat": "# The rowing boat\n\nBob restores it in his garage and wants it on the lake by June.\n\n"
            "## Notable\n- The hull is sanded; two rotten planks were replaced with larch."
        },
    ),
    Day(
        began=_at(9, 9),
        channel=STREAM,
        said=(
            (CLEO, "Morning! I'm Cleo, I draw comics and stream it on Sundays."),
            (MIRA, "Good morning, Cleo. What are you drawing?"),
            (CLEO, "A lighthouse keeper who is afraid of the dark. He's called Tomas."),
        ),
        summary="Cleo draws comics; her newest is about Tomas, a lighthouse keeper who is afraid of the dark.",
        people={
            "twitch-77": person_file(
                "Cleo", "Cleo, cleo_draws", _CLEO_1, "Quick and kind.", "Her comic is about Tomas, who fears the dark."
            )
        },
    ),
    Day(
        began=_at(10, 18),
        channel=KITCHEN,
        said=(
            (ALICE, "I quit coffee! The doctor told me to. I drink tea now, mostly mint."),
            (MIRA, "Mint it is! I'll put the kettle on."),
            (BOB, "Proud of you, Alice."),
        ),
        summary="Alice quit coffee on her doctor's advice and drinks mint tea now. Bob is proud of her.",
        people={
            "discord-1001": person_file(
                "Alice",
                "Alice, alice_n",
                _ALICE_1,
                "Warm and tired; I like her at once. Her cat stories are the best part of my evening.",
                "She quit coffee on her doctor's advice and drinks tea now, mostly mint.",
                _ALICE_2,
                "Pixel knocked over the teapot and looked proud.",
            )
            + "\nOUTDATED [15]: She lives on coffee."
        },
    ),
    Day(
        began=_at(11, 18),
        channel=KITCHEN,
        said=(
            (BOB, "I heard Cleo is moving to Lisbon in autumn."),
            (MIRA, "Is she? She has not told me."),
            (BOB, "The boat needs a name by the way. You wanted to choose, Mira."),
            (MIRA, "Then she is the Marigold."),
            (BOB, "Marigold. I like that."),
        ),
        summary="The boat is called Marigold now; I chose the name. Bob says Cleo is moving to Lisbon in autumn.",
        people={
            "discord-1002": person_file(
                "Bob",
                "Bob, bobby",
                _BOB_1,
                "Patient hands. He let me name the boat, and I am proud of it.",
                "He replaced two rotten planks with larch.",
                "He says that Alice will sail with him and is never seasick.",
                "He says that Cleo is moving to Lisbon in autumn.",
                "His boat is called Marigold.",
            )
        },
        topics={
            "rowing-boat": "# The rowing boat\n\nBob restores it in his garage and wants it on the lake by June. "
            "She is called Marigold; I chose the name.\n\n"
            "## Notable\n- The hull is sanded; two rotten planks were replaced with larch."
        },
    ),
    Day(
        began=_at(12, 15),
        channel=STREAM,
        said=(
            (CLEO, "Stream time! Tomas learned to light the lamp today."),
            (MIRA, "He did it! Was he very brave?"),
            (CLEO, "Shaking all the way up the stairs. And no, I'm not moving to Lisbon, who says that?"),
        ),
        summary="In Cleo's comic Tomas lit the lamp. Cleo says she is not moving to Lisbon.",
        people={
            "twitch-77": person_file(
                "Cleo",
                "Cleo, cleo_draws",
                _CLEO_1,
                "Quick and kind.",
                "Her comic is about Tomas, who fears the dark.",
                "In her comic Tomas lit the lamp, shaking all the way up the stairs.",
                "She is not moving to Lisbon.",
            )
        },
    ),
)
