"""Discord's polls as ours: a message that asks, and the one that tells how it ended."""

from __future__ import annotations

from typing import Any

from familiar_connect.api.messages import Poll, PollAnswer

RESULT = "poll_result"
"""The kind of the message by which Discord tells how a poll ended, and of the frame in it."""
MAX_KEPT = 500
"""Polls that the library holds; by itself it would forget none."""


def poll_of(message: Any) -> Poll | None:
    """The poll that *message* asks, or that it tells the end of; None: neither."""
    if getattr(message.type, "name", "") == RESULT:
        return _note_end(message)
    poll = getattr(message, "poll", None)
    if poll is None:
        return None
    results = poll.results
    return Poll(
        question=poll.question.text or "",
        answers=tuple(
            PollAnswer(answer_id=int(each.id), text=_words(each), votes=max(0, each.count or 0))
            for each in poll.answers
        ),
        allows_several=bool(poll.allow_multiselect),
        is_counted=results is not None,
        is_over=results is not None and bool(results.is_finalized),
    )


def _words(answer: Any) -> str:
    emoji = getattr(answer.emoji, "name", None) or (answer.emoji if isinstance(answer.emoji, str) else None)
    return " ".join(each for each in (emoji, answer.text) if each)


def _note_end(message: Any) -> Poll | None:
    """The end of a poll, as the fields of the frame tell it: the question, and the answer that won, where one did."""
    frame = next((each for each in message.embeds if each.type == RESULT), None)
    if frame is None:
        return None
    told = {str(field.name): str(field.value) for field in frame.fields}
    winner = told.get("victor_answer_text")
    votes = told.get("victor_answer_votes", "")
    won = (
        (PollAnswer(answer_id=0, text=winner, votes=int(votes) if votes.isdigit() else 0),)
        if winner is not None
        else ()
    )
    return Poll(question=told.get("poll_question_text", ""), answers=won, is_counted=True, is_over=True)


def forget_oldest(client: Any) -> None:
    """Let the library hold no more polls than it needs."""
    polls = client._connection._polls
    while len(polls) > MAX_KEPT:
        del polls[next(iter(polls))]
