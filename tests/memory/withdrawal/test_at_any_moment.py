"""Words are taken back at any moment: while memory is written up, and by a process that is killed on the way."""

from __future__ import annotations

import asyncio
import signal
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from familiar_connect.history.message_edits import MessageEdits
from familiar_connect.history.outbox import OutboxReply
from familiar_connect.history.store import HistoryStore
from familiar_connect.history.types import RemovalCause
from familiar_connect.history.withdrawal.withdrawals import Withdrawals
from familiar_connect.identity import Author
from familiar_connect.llm.scripted import ScriptedModel
from familiar_connect.llm.types import Message
from familiar_connect.memory.store import MemoryStore
from familiar_connect.memory.withdrawal.withdraw_turns import TurnWithdrawal
from familiar_connect.memory.writer import MemoryWriter
from tests.fakes.program import make_home, model_endpoint, run_program
from tests.fakes.writer_setup import ALICE, BOB, EVENING, FAMILIAR, WriterSetup, writer_answer

SAM = Author("discord", "41", "sam", "Sam")
KILLED = """
import os, signal, sys
from pathlib import Path
from familiar_connect.history.store import HistoryStore
from familiar_connect.memory.store import MemoryStore
from familiar_connect.memory.withdrawal.withdraw_turns import TurnWithdrawal

root = Path(sys.argv[1])
def watch(count, of):
    if count == 2:
        os.kill(os.getpid(), signal.SIGKILL)

store = MemoryStore(root / "memory", audit_dir=root / "audit")
TurnWithdrawal(store, HistoryStore(root / "history.db"), "ember", progress=watch).carry_out()
"""


def files_with(folder: Path, word: str) -> list[str]:
    """Files that hold *word*, but for the history."""
    return [
        path.name
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.startswith("history.db") and word.encode() in path.read_bytes()
    ]


class InterruptedModel:
    """Writes up what it is shown; while it first does so, a turn is taken back."""

    def __init__(self, setup: WriterSetup, gone: int) -> None:
        self._setup = setup
        self._gone = gone
        self.shown: list[bool] = []
        self.writer: Any = None

    async def chat(self, messages: list[Message]) -> Message:
        self.shown.append(any("xyzzy" in message.content for message in messages))
        if len(self.shown) == 1:
            Withdrawals(self._setup.history, FAMILIAR).withdraw([self._gone], RemovalCause.deleted)
            await self.writer.correct()
        secret = "- The password is xyzzy.\n" if self.shown[-1] else ""
        return Message(
            "assistant", writer_answer("We talked.", topics={"tea": f"# Tea\n\n{secret}- Green tea is fine."})
        )


async def test_what_is_taken_back_while_memory_is_written_up_is_not_written(tmp_path: Path) -> None:
    """The model is asked again without it, and what others said is written."""
    setup = WriterSetup(tmp_path)
    first, _ = setup.say((ALICE, "The password is xyzzy."), (BOB, "Green tea is fine."))
    model = InterruptedModel(setup, first)
    model.writer = setup.writer(model)
    result = await model.writer.run()

    assert (result.state, model.shown) == ("written", [True, False])
    assert "Green tea is fine." in setup.read("topics/tea.md")
    assert files_with(tmp_path, "xyzzy") == []


def write_up(root: Path, history: HistoryStore) -> None:
    """Have a model write what was said into several files."""
    memory = MemoryStore(root / "memory", audit_dir=root / "audit")
    lines = "- Sam keeps 40 zqorchids in his garden.\n- Sam bought a red bicycle in Vienna."
    answer = writer_answer(lines, topics={"garden": f"# Garden\n\n{lines}", "hobbies": f"# Hobbies\n\n{lines}"})
    writer = MemoryWriter(
        memory_store=memory, history_store=history, llm_client=ScriptedModel([answer]), familiar_id="ember"
    )
    asyncio.run(writer.run())


def test_a_withdrawal_whose_process_was_killed_goes_on_at_the_next_start(tmp_path: Path) -> None:
    """Killed between two memory files; whoever starts the familiar next finishes it."""
    with model_endpoint() as server:
        root = make_home(tmp_path, server)
    history = HistoryStore(root / "history.db")
    for number, words in enumerate(("I keep 40 zqorchids in my garden.", "I bought a red bicycle in Vienna.")):
        history.append_turn(
            familiar_id="ember",
            channel_id=5,
            role="user",
            content=words,
            author=SAM,
            guild_id=7,
            platform_message_id=f"m{number}",
        )
    write_up(root, history)
    before = files_with(root / "memory", "zqorchids")
    MessageEdits(history, "ember").record_deletions(channel_id=5, message_ids=["m0"])
    history.close()
    killed = run_program(tmp_path, str(root), code=KILLED)
    left = files_with(root / "memory", "zqorchids")
    started = run_program(tmp_path, "chat", "--plain")

    assert len(before) > 1
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert left != []
    assert started.returncode == 0, started.stderr
    assert files_with(root, "zqorchids") == []
    assert files_with(root / "memory", "red bicycle") != []


def test_a_reply_left_on_its_way_out_is_not_posted_with_words_taken_back_meanwhile(tmp_path: Path) -> None:
    """It was written down after everything else was level; the next run looks again."""
    setup = WriterSetup(tmp_path)
    first, _ = setup.say((ALICE, "The password is xyzzy."), (BOB, "What is it?"))
    rows = Withdrawals(setup.history, FAMILIAR, clock=setup.clock)
    rows.withdraw([first], RemovalCause.deleted)
    TurnWithdrawal(setup.memory, setup.history, FAMILIAR, clock=setup.clock).carry_out()
    late = EVENING + timedelta(seconds=9)
    reply = OutboxReply(reply_id="r", channel_id=7, guild_id=None, answers=(2,), created_at=late)
    setup.history.outbox.plan(FAMILIAR, reply, ["It is xyzzy.", "Or so."])
    setup.history.close()
    again = HistoryStore(tmp_path / "history.db", clock=setup.clock)
    TurnWithdrawal(setup.memory, again, FAMILIAR, clock=setup.clock).carry_out()
    left = [piece.text for _, pieces in again.outbox.leftovers(FAMILIAR, 7) for piece in pieces]
    again.close()

    assert left == ["Or so."]


def test_what_we_said_elsewhere_in_our_own_words_stays(tmp_path: Path) -> None:
    """Though an answer that was taken back had the same ones; what repeats the person's words goes."""
    setup = WriterSetup(tmp_path)
    moment = datetime(2026, 4, 7, 19, 0, tzinfo=UTC)

    def say(channel: int, role: str, text: str) -> int:
        author = ALICE if role == "user" else None
        where: dict[str, Any] = {"familiar_id": FAMILIAR, "channel_id": channel, "timestamp": moment}
        return setup.history.append_turn(**where, role=role, author=author, content=text).id

    gone = [say(7, "user", "It is xyzzy."), say(7, "assistant", "The lanterns glimmer over the harbour.")]
    say(8, "user", "Tell me something.")
    say(8, "assistant", "Lanterns glimmer in the harbour.")
    repeating = say(8, "assistant", "They say xyzzy.")
    withdrawal = TurnWithdrawal(setup.memory, setup.history, FAMILIAR, clock=setup.clock)
    withdrawal.rows.withdraw(gone, RemovalCause.undone)

    assert withdrawal.carry_out().replies == [repeating]


def test_what_scripts_made_of_words_is_taken_back_with_them(tmp_path: Path) -> None:
    """An answer that repeats what prompts showed goes too; so does a view's own word in a trace."""
    setup = WriterSetup(tmp_path)
    moment = datetime(2026, 4, 7, 19, 0, tzinfo=UTC)
    said: dict[str, Any] = {"familiar_id": FAMILIAR, "channel_id": 7, "timestamp": moment}
    first = setup.history.append_turn(**said, role="user", author=ALICE, content="It is xyzzy.", view="It is plugh.")
    ours = setup.history.append_turn(**said, role="assistant", content="So it is.", view="So PLUGH it is.")
    withdrawal = TurnWithdrawal(setup.memory, setup.history, FAMILIAR, clock=setup.clock)
    withdrawal.rows.withdraw([first.id], RemovalCause.deleted)
    words = withdrawal.words_of(withdrawal.rows.describe([first.id]))

    assert words.is_in("nothing but plugh")
    assert withdrawal.carry_out().replies == [ours.id]
    assert setup.history.database.read("SELECT view FROM turns WHERE view IS NOT NULL") == []
