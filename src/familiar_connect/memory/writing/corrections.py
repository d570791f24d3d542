"""Corrections: lines of a person's list that something they said later takes the place of.

Only quotes are compared with quotes, of one person in one file. The line goes with the turn that replaces it as its
reason, so the versions show both; a line of the owner's stays, and they are asked.
"""

from __future__ import annotations

from collections.abc import Sequence

from familiar_connect.memory.weighing.answers import replaces
from familiar_connect.memory.writing.batch import Batch
from familiar_connect.memory.writing.extractive import ABOUT_HEADING, SelfStatement, words_of_quote
from familiar_connect.memory.writing.markdown_sections import bullets_under
from familiar_connect.memory.writing.reply_parser import OutdatedLine
from familiar_connect.memory.writing.rewrite import OurLines, RewriteResult, merge_rewrite


def remove_replaced(text: str, batch: Batch, told: Sequence[SelfStatement], ours: OurLines) -> RewriteResult:
    """*text*, a person's file, without the quotes that what they *told* in *batch* takes the place of."""
    said = {turn.id: turn.content for turn in batch.turns}
    outdated = [
        OutdatedLine(text=bullet, turn=statement.turn_id)
        for bullet in bullets_under(text, ABOUT_HEADING)
        for statement in told
        if _replaces(statement, said.get(statement.turn_id, ""), words_of_quote(bullet))
    ]
    if not outdated:
        return RewriteResult(text=text)
    return merge_rewrite(text, "", outdated=outdated, turns={turn.id for turn in batch.turns}, ours=ours)


def _replaces(statement: SelfStatement, message: str, earlier: str) -> bool:
    """Whether *statement* takes the place of *earlier*, or the *message* it is from does: "Not the mill. The barn!"."""
    return replaces(statement.sentence, earlier) or replaces(message, earlier)
