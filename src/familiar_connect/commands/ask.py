"""ask: one message, one reply, for scripts and for a quick question."""

from __future__ import annotations

import asyncio
import io
import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from familiar_connect.commands import exit_codes
from familiar_connect.commands.common import (
    familiar_option,
    home_of,
    json_option,
    keep_log_apart,
    open_or_make_root,
    profile_of,
    say,
    say_json,
    say_kept_warnings,
)
from familiar_connect.commands.conversation import ChatWish, chat_options, model_for_call, open_chat
from familiar_connect.commands.prepare import prepare_to_start
from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.config.llm import MAIN_SLOT
from familiar_connect.support.clock import machine_zone

if TYPE_CHECKING:
    from familiar_connect.config.llm import LLMSlotConfig
    from familiar_connect.familiar import Familiar
    from familiar_connect.history.chats import Chat
    from familiar_connect.observe.trace import TurnTrace

USUAL_CHAT = "ask"
"""Where questions go that name no chat, so that they do not stand in the middle of a conversation."""
MOST_CHARS = 1_000_000
"""A longer text is a slip: no model takes it in."""

EPILOG = """\b
Examples:
  familiar ask "What should I cook tonight?"
  git diff | familiar ask "What does this change?"     the piped text goes below the question
  familiar ask --json "Name three colours."            reply, model, seconds and turn as JSON
  familiar ask --continue "And then?"                  in the latest chat
  familiar ask --new -m embedded "Hello"               in its own chat, with the small model
It answers in the chat `ask` unless another is named, and knows what was said there before.
`ask` writes no memory itself: `chat`, `run`, the page and `familiar memory write-now` do that later.
Exit codes: 0 answered, 1 something is set up wrong, 2 nothing was asked, 3 no reply came.
"""


@dataclass(frozen=True, kw_only=True)
class AskOutcome:
    """What came of a question."""

    reply: str
    notices: tuple[str, ...]
    seconds: float
    model: str


@dataclass(frozen=True, kw_only=True)
class Question:
    """What is asked, where, and through which model."""

    text: str
    chat: Chat
    user_name: str | None = None
    speaks_through: LLMSlotConfig | None = None


@click.command(epilog=EPILOG)
@click.argument("words", nargs=-1)
@familiar_option
@click.option("--as", "user_name", metavar="NAME", help="What the familiar calls you.")
@chat_options
@json_option
@click.pass_context
def ask(
    ctx: click.Context,
    words: tuple[str, ...],
    familiar_id: str | None,
    user_name: str | None,
    chat_name: str | None,
    is_new: bool,
    is_continued: bool,
    model: str | None,
    as_json: bool,
) -> int:
    """Ask a familiar one thing and print its reply. Piped text is added below the question."""
    wish = ChatWish(name=chat_name, is_new=is_new, is_continued=is_continued)
    wish.check()
    text = _question(words)
    home = home_of(ctx)
    keep_log_apart(ctx, home)
    root = open_or_make_root(home, familiar_id)
    prepare_to_start(root, home, model=model)
    speaks_through = model_for_call(root, home, model)
    chat = open_chat(root, wish, usual=USUAL_CHAT)
    question = Question(text=text, chat=chat, user_name=user_name, speaks_through=speaks_through)
    outcome = asyncio.run(_ask(question, root, home, io.StringIO() if as_json else sys.stdout))
    if as_json:
        say_json(_facts(root, chat, outcome))
    if not outcome.reply:  # why there is none was told
        return exit_codes.NO_REPLY
    say_kept_warnings()
    return exit_codes.OK


def _question(words: tuple[str, ...]) -> str:
    """What is asked: the words, and below them what came through a pipe."""
    piped = "" if sys.stdin is None or sys.stdin.isatty() else sys.stdin.read(MOST_CHARS + 1)
    text = "\n\n".join(part for part in (" ".join(words).strip(), piped.strip("\n")) if part.strip())
    if not text:
        raise click.UsageError('there is no question: write it after `ask`, as in `familiar ask "Hello"`')
    if len(text) > MOST_CHARS:
        raise click.UsageError(f"that is more than {MOST_CHARS:,} characters, too much for any model; ask about less")
    return text


async def _ask(question: Question, root: Path, home: Path, out: TextIO) -> AskOutcome:
    from familiar_connect.bot import load_familiar

    familiar, _ = load_familiar(
        root, home=home, defaults_path=profile_of(home), zone=machine_zone(), speaks_through=question.speaks_through
    )
    try:
        # It ends right after the reply: nothing else is said meanwhile, and a question alone is not worth a write-up.
        await familiar.start(keep_index=False, writes_memory=False)
        finished = await familiar.memory_writer_scheduler.find_finished_talk()
        outcome = await _answer(familiar, question, out)
        await familiar.write_finished_talk(finished)
        return outcome
    finally:
        await familiar.aclose()


async def _answer(familiar: Familiar, question: Question, out: TextIO) -> AskOutcome:
    from familiar_connect.chat.types import InboundMessage
    from familiar_connect.commands.answer_place import AnswerPlace
    from familiar_connect.conversation.intake import IntakeResult
    from familiar_connect.platforms.terminal.place import person_at_terminal
    from familiar_connect.platforms.terminal.unanswered import describe_unanswered
    from familiar_connect.support.aio import off_loop

    user = await off_loop(person_at_terminal, question.user_name or familiar.config.user_name, familiar)
    place = AnswerPlace(familiar, question.chat.channel_id, user, out)
    message = InboundMessage(
        platform="terminal",
        channel_id=question.chat.channel_id,
        author=user,
        text=question.text,
        timestamp=datetime.now(UTC),
        is_dm=True,
        is_mention=True,
        channel_name="terminal",
    )
    told = await off_loop(
        partial(describe_unanswered, familiar, question.chat.channel_id, remedy="Ask again if you still want to know.")
    )
    if told is not None:
        say(f"familiar: {told}", err=True)
    began = time.monotonic()
    heard = await familiar.intake.receive(message, place)
    if heard is IntakeResult.answering:
        await familiar.reply_path.queue.wait_until_channel_idle(question.chat.channel_id)
    elif heard is IntakeResult.private:
        await place.notice("Your privacy level is full, so I did not hear that. `privacy.toml` sets it.")
    place.end()
    if not place.reply.strip() and not place.notices:
        await place.notice(f"{familiar.name} said nothing. Try saying it differently.")
    return AskOutcome(
        reply=place.reply.strip(),
        notices=tuple(place.notices),
        seconds=time.monotonic() - began,
        model=familiar.config.llm[MAIN_SLOT].model,
    )


def _facts(root: Path, chat: Chat, outcome: AskOutcome) -> dict[str, object]:
    trace = _trace_of(root, chat)
    return {
        "familiar": root.name,
        "chat": chat.name,
        "channel_id": chat.channel_id,
        "model": outcome.model,
        "reply": outcome.reply or None,
        "error": " ".join(outcome.notices) or None,
        "seconds": round(outcome.seconds, 3),
        "turn": trace.trace_id if trace else None,
    }


def _trace_of(root: Path, chat: Chat) -> TurnTrace | None:
    from familiar_connect.observe.ledger import SQLiteCollector

    latest = SQLiteCollector(FamiliarFolder(root).metrics_db).last_trace(root.name)
    return latest if latest is not None and latest.channel_id == chat.channel_id else None
