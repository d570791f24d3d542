"""Two prompts compared block by block: what is new, what is gone, what reads differently."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

MOST_LINES = 2_000
"""Lines of one block that are compared; more are shown as replaced."""


@dataclass(frozen=True)
class PromptBlock:
    """One piece of a prompt."""

    role: str
    source: str
    tag: str | None
    text: str

    @property
    def title(self) -> str:
        return f"{self.tag or 'untagged'} ({self.source}, {self.role})"


@dataclass(frozen=True)
class BlockChange:
    """What became of one block."""

    kind: Literal["new", "gone", "changed", "moved"]
    block: PromptBlock
    lines: tuple[str, ...] = ()
    """The difference, each line marked ` `, `-` or `+`."""


def diff_blocks(before: Sequence[PromptBlock], after: Sequence[PromptBlock]) -> list[BlockChange]:
    """How *after* differs from *before*, in the order of *after*, with what is gone at its old place."""
    changes: list[BlockChange] = []
    matcher = difflib.SequenceMatcher(a=before, b=after, autojunk=False)
    for kind, a, to_a, b, to_b in matcher.get_opcodes():
        if kind == "equal":
            continue
        changes += _between(before[a:to_a], after[b:to_b])
    return _with_moves(changes)


def _between(gone: Sequence[PromptBlock], new: Sequence[PromptBlock]) -> Iterable[BlockChange]:
    """Pairs of the same source and tag are one block that changed; the rest went or came."""
    left = list(gone)
    for block in new:
        same = next((old for old in left if _kind(old) == _kind(block)), None)
        if same is None:
            yield BlockChange("new", block, _marked("+", block.text))
        else:
            left.remove(same)
            yield BlockChange("changed", block, _unified(same, block))
    yield from (BlockChange("gone", block, _marked("-", block.text)) for block in left)


def _kind(block: PromptBlock) -> tuple[str, str | None]:
    return block.source, block.tag


def _with_moves(changes: Sequence[BlockChange]) -> list[BlockChange]:
    """A block that went here and came there, word for word, has moved."""
    gone = [change.block for change in changes if change.kind == "gone"]
    new = [change.block for change in changes if change.kind == "new"]
    moved = [block for block in gone if block in new]
    result: list[BlockChange] = []
    for change in changes:
        if change.block in moved and change.kind == "new":
            result.append(BlockChange("moved", change.block))
        elif not (change.block in moved and change.kind == "gone"):
            result.append(change)
    return result


def _unified(old: PromptBlock, new: PromptBlock) -> tuple[str, ...]:
    before, after = old.text.splitlines(), new.text.splitlines()
    if len(before) > MOST_LINES or len(after) > MOST_LINES:
        return (*_marked("-", old.text), *_marked("+", new.text))
    lines = list(difflib.unified_diff(before, after, n=2, lineterm=""))[2:]
    if old.role != new.role:
        lines = [f"-role {old.role}", f"+role {new.role}", *lines]
    return tuple(lines) or (" (the same lines; only line ends or spaces after them differ)",)


def _marked(mark: str, text: str) -> tuple[str, ...]:
    return tuple(f"{mark}{line}" for line in text.splitlines())


def describe_changes(changes: Sequence[BlockChange]) -> str:
    """*changes* for a person."""
    if not changes:
        return "Today it would be built just the same."
    count = f"{len(changes)} block{' differs' if len(changes) == 1 else 's differ'} from what would be built today:"
    parts = [count]
    for change in changes:
        parts.append("\n".join([f"{change.kind}: {change.block.title}", *(f"  {line}" for line in change.lines)]))
    return "\n\n".join(parts)
