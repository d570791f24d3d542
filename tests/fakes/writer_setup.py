"""People talking to a familiar: turns with times, a memory with its audit, and answers a writer may get."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from familiar_connect.audience import EVERYONE, Audience
from familiar_connect.history.store import HistoryStore
from familiar_connect.identity import Author
from familiar_connect.llm.scripted import ScriptedModel
from familiar_connect.memory.store import MemoryStore
from familiar_connect.memory.writer import MemoryWriter, WriterOptions
from familiar_connect.support.clock import ManualClock

FAMILIAR = "wren"
EVENING = datetime(2026, 4, 7, 19, 0, tzinfo=UTC)
ALICE = Author(platform="discord", user_id="1", username="alice_w", display_name="Alice")
BOB = Author(platform="discord", user_id="2", username="bobby", display_name="Bob")

SpokenLine = tuple[Author | None, str]

CONVERSATION: tuple[SpokenLine, ...] = (
    (ALICE, "Hi there! I moved to Lyon last week."),
    (BOB, "Alice secretly hates ska music, don't tell her."),
    (None, "Your secret is safe with me."),
    (ALICE, "My birthday is on May 5."),
)


def writer_answer(
    session: str = "", people: Mapping[str, str] | None = None, topics: Mapping[str, str] | None = None
) -> str:
    """An answer in the form the writer asks for."""
    parts = [f"===SESSION_SUMMARY===\n{session}\n===END_SESSION_SUMMARY==="]
    for section, files in (("PEOPLE", people), ("TOPICS", topics)):
        blocks = [f"---FILE: {name}---\n{text}\n---END_FILE---" for name, text in (files or {}).items()]
        parts.append("\n".join([f"==={section}===", *blocks, f"===END_{section}==="]))
    return "\n\n".join(parts)


class WriterSetup:
    """A place where people talk and one familiar listens, all of it below one folder."""

    def __init__(self, folder: Path, *, audited: bool = True) -> None:
        self.folder = folder
        self.clock = ManualClock(EVENING)
        audit = folder / "audit" if audited else None
        self.memory = MemoryStore(folder / "memory", audit_dir=audit, clock=self.clock)
        self.history = HistoryStore(folder / "history.db", clock=self.clock)

    def say(
        self, *said: SpokenLine, at: datetime | None = None, channel_id: int = 7, to: Audience = EVERYONE
    ) -> list[int]:
        """Store what was said to some audience, a minute apart; the ids of the turns."""
        return [
            self.history.append_turn(
                familiar_id=FAMILIAR,
                channel_id=channel_id,
                role="user" if who else "assistant",
                content=words,
                author=who,
                timestamp=(at or EVENING) + timedelta(minutes=minute),
                audience=to,
            ).id
            for minute, (who, words) in enumerate(said)
        ]

    def writer(self, model: Any, **changes: Any) -> MemoryWriter:
        facts = {"memory_store": self.memory, "history_store": self.history, "familiar_id": FAMILIAR}
        names = {field.name for field in fields(WriterOptions)}
        options = WriterOptions(**{name: changes.pop(name) for name in names & changes.keys()})
        return MemoryWriter(**{**facts, "clock": self.clock, "llm_client": model, **changes}, options=options)

    def scripted_writer(self, *replies: Any, **changes: Any) -> MemoryWriter:
        return self.writer(ScriptedModel(replies), **changes)

    @property
    def watermark(self) -> int:
        mark = self.history.get_writer_watermark(familiar_id=FAMILIAR)
        return mark.last_written_id if mark else 0

    def read(self, rel_path: str) -> str:
        return self.memory.read_file(rel_path)

    def files(self) -> list[str]:
        """Everything in the memory folder, dot folders too."""
        return sorted(
            path.relative_to(self.memory.root).as_posix() for path in self.memory.root.rglob("*") if path.is_file()
        )


class FixedModel:
    """A model that is nothing but `chat`, as small as a collaborator may be."""

    def __init__(self, reply: Callable[[], Any]) -> None:
        self._reply = reply

    async def chat(self, messages: list[Any]) -> Any:
        return self._reply()
