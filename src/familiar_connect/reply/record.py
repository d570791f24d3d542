"""Writing down what we got out: one row, exactly what was sent; and how the conversation stands, for a day."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from functools import partial

from familiar_connect.chat.scene import Scene
from familiar_connect.chat.types import Turn, TurnRevision
from familiar_connect.config.channel import ChannelConfig
from familiar_connect.config.types import ChannelMode
from familiar_connect.errors import HistoryError
from familiar_connect.history.message_edits import MessageEdits
from familiar_connect.history.message_metadata import alter_facts, own_turn_facts
from familiar_connect.history.store import HistoryStore
from familiar_connect.history.types import HistoryTurn
from familiar_connect.history.versions import TurnVersionStore
from familiar_connect.memory.short_term import ShortTermNotes
from familiar_connect.observe.trace import TraceBuilder
from familiar_connect.reply.outbox import OutgoingReply
from familiar_connect.support.aio import off_loop

logger = logging.getLogger(__name__)


class TurnArchive:
    """Keeps a reply once it is out: in the history, in the day's notes, and whoever counts turns is told."""

    def __init__(
        self,
        history: HistoryStore,
        *,
        short_term: ShortTermNotes | None = None,
        notify_turn: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._history = history
        self._short_term = short_term
        self._notify_turn = notify_turn

    async def keep(
        self,
        turn: Turn,
        sent: str,
        channel: ChannelConfig,
        trace: TraceBuilder,
        *,
        scene: Scene | None = None,
        outgoing: OutgoingReply | None = None,
        revises: TurnRevision | None = None,
        words: str | None = None,
    ) -> None:
        """Write down that *sent* went out in answer to *turn*, and end *outgoing* in the same step.

        *words* are the model's own, where scripts made *sent* of them: then they are the turn, and *sent* its view.
        What cannot be written is logged. A draft is not written down.
        """
        if revises is not None and revises.turn_id is None:
            return
        async with trace.span("record"):
            notes = self._short_term if channel.place.short_term_memory_enabled else None
            note = partial(notes.capture, turn, sent, scene=scene) if notes is not None else None
            try:
                if revises is None:
                    await record(
                        self._history, turn, sent, mode=channel.mode, outgoing=outgoing, note=note, words=words
                    )
                elif sent.strip():
                    await off_loop(record_revision, self._history, turn.familiar_id, revises, sent, words)
            except HistoryError as error:
                logger.error("reply could not be recorded", extra={"reason": str(error)})
                return
        if self._notify_turn is not None:
            await self._notify_turn()


def record_revision(
    history: HistoryStore, familiar_id: str, revises: TurnRevision, sent: str, words: str | None = None
) -> None:
    """*sent* becomes another version of a turn, or goes on where it ends; *words* as `TurnArchive.keep` has them."""
    assert revises.turn_id is not None
    if not revises.continues:
        TurnVersionStore(history, familiar_id).add_version(revises.turn_id, *_words_and_view(sent, words))
        return
    before = history.turn_by_id(familiar_id=familiar_id, turn_id=revises.turn_id)
    if before is not None:
        text = join_continuation(before.content, sent if words is None else words)
        text, view = _words_and_view(join_continuation(before.display_text, sent), text)
        MessageEdits(history, familiar_id).record_edit_of_turn(revises.turn_id, text, view)


def _words_and_view(sent: str, words: str | None) -> tuple[str, str | None]:
    """The words that are stored, and what prompts have in their place."""
    return (sent, None) if words is None or words == sent else (words, sent)


def join_continuation(begun: str, added: str) -> str:
    """*begun* with what goes on behind it; a model that says the beginning again is taken at its last word."""
    start = begun.rstrip()
    rest = added.lstrip()
    if start and rest.startswith(start):
        return rest
    is_apart = begun != start or rest != added or not rest[:1].isalnum()
    gap = begun[len(start) :] or added[: len(added) - len(rest)]
    return f"{start}{gap}{rest}" if is_apart else f"{start} {rest}"


async def record(
    history: HistoryStore,
    turn: Turn,
    sent: str,
    *,
    mode: ChannelMode | None = None,
    outgoing: OutgoingReply | None = None,
    note: Callable[[], object] | None = None,
    words: str | None = None,
) -> HistoryTurn | None:
    """One assistant turn holding *sent*, or *words* and *sent* as their view; nothing sent, no row.

    Heard messages are stored already. *note* keeps how the conversation stands, in the same database: both are one
    step, for which the disk is asked once.
    """
    pieces = outgoing.pieces if outgoing is not None else ()
    content, view = _words_and_view(sent, words)
    append = partial(
        history.append_turn,
        familiar_id=turn.familiar_id,
        channel_id=turn.channel_id,
        role="assistant",
        content=content,
        view=view,
        guild_id=turn.guild_id,
        mode=mode,
        platform_message_id=pieces[0].message_id if pieces else None,
        facts=own_turn_facts(
            pieces, alter_facts(turn.flags.alter), answers=outgoing.reply.answers if outgoing is not None else ()
        ),
    )
    has_words = bool(sent.strip())
    write: Callable[[], HistoryTurn | None] = partial(_settle, history, turn, append) if has_words else _nothing
    if outgoing is not None:
        finish = history.outbox.finish
        write = partial(finish, outgoing.reply, append if has_words else None, doubtful=outgoing.doubtful)
    return await off_loop(_write_down, history, write, note if has_words else None)


def _settle(history: HistoryStore, turn: Turn, append: Callable[[], HistoryTurn]) -> HistoryTurn:
    """Store the reply, and in the same step that nobody waits for it any more."""
    with history.database.transaction():
        stored = append()
        history.outbox.settle([said.history_id for said in turn.said if said.history_id is not None])
    return stored


def _nothing() -> None:
    return None


def _write_down(
    history: HistoryStore, write: Callable[[], HistoryTurn | None], note: Callable[[], object] | None
) -> HistoryTurn | None:
    """What was said, and the *note* with it; whatever goes wrong with the note costs nothing but the note."""
    if note is None:
        return write()
    try:
        with history.database.transaction() as connection:
            stored = write()
            connection.execute("SAVEPOINT note")
            try:
                note()
            except Exception as error:  # isolation: the reply is out already
                connection.execute("ROLLBACK TO note")
                _log_lost_note(error)
            return stored
    except HistoryError as error:
        stored = write()  # alone: the step may have failed for the note, on a disk that had room for no more
        _log_lost_note(error)
        return stored


def _log_lost_note(error: Exception) -> None:
    logger.warning("short-term note could not be kept", extra={"error": type(error).__name__})
