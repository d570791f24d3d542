"""Post-processing for backends with strict rules: `post_process(items, mode, *, char, user, group=())`.

`merge` writes names into the text and joins neighbours of one role; `semi` also lets only the first message be
system; `strict` also makes a user speak first; `single` makes everything one message of the user's.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from familiar_connect.context.types import ContextItem
from familiar_connect.llm.types import Part, TextPart

PLACEHOLDER = "[Start a new chat]"
_MODES = {"merge": "merge", "claude": "merge", "semi": "semi", "strict": "strict", "single": "single"}


def post_process(
    items: Iterable[ContextItem], mode: str, *, char: str, user: str, group: Sequence[str] = ()
) -> tuple[ContextItem, ...]:
    """*items* as *mode* wants them; as they are where *mode* is empty or unknown."""
    wanted = _MODES.get(mode.removesuffix("_tools"))
    if wanted is None:
        return tuple(items)
    named = [_name(item, char, user, group) for item in items]
    if wanted == "single":
        named = [_speak_as(item, char, user, group) for item in named]
    merged = _merge(named) or [ContextItem.of("user", PLACEHOLDER)]
    if wanted == "merge":
        return tuple(merged)
    merged = [replace(item, role="user") if at and item.role == "system" else item for at, item in enumerate(merged)]
    if wanted == "strict":
        merged = _open_by_user(merged)
    return tuple(_merge(merged))


def _open_by_user(items: list[ContextItem]) -> list[ContextItem]:
    placeholder = ContextItem.of("user", PLACEHOLDER)
    if items[0].role == "system" and (len(items) == 1 or items[1].role != "user"):
        return [items[0], placeholder, *items[1:]]
    if items[0].role == "assistant":
        return [placeholder, *items]
    return items


def _name(item: ContextItem, char: str, user: str, group: Sequence[str]) -> ContextItem:
    """The `name` of a message written before its text instead."""
    if item.role == "system":
        if item.name == "example_assistant":
            item = _prefix(item, char, group)
        elif item.name == "example_user":
            item = _prefix(item, user)
    elif item.name:
        item = _prefix(item, item.name)
    return replace(item, name=None)


def _speak_as(item: ContextItem, char: str, user: str, group: Sequence[str]) -> ContextItem:
    if item.role == "assistant":
        item = _prefix(item, char, group)
    elif item.role == "user":
        item = _prefix(item, user)
    return replace(item, role="user")


def _prefix(item: ContextItem, name: str, others: Sequence[str] = ()) -> ContextItem:
    if not name or any(item.text.startswith(f"{known}: ") for known in (name, *others)):
        return item
    return replace(item, parts=_join_parts((TextPart(f"{name}: "),), item.parts))


def _merge(items: Iterable[ContextItem]) -> list[ContextItem]:
    """Neighbours of one role as one message, a blank line between them; an empty one joins nothing."""
    runs: list[list[ContextItem]] = []
    for item in items:
        if runs and runs[-1][0].role == item.role and _says_something(item):
            runs[-1].append(item)
        else:
            runs.append([item])
    return [run[0] if len(run) == 1 else _join(run) for run in runs]


def _says_something(item: ContextItem) -> bool:
    return any(not isinstance(part, TextPart) or part.text for part in item.parts)


def _join(run: list[ContextItem]) -> ContextItem:
    parts: list[Part] = []
    for item in run:
        if parts:
            parts.append(TextPart("\n\n"))
        parts.extend(item.parts)
    tag = run[0].tag if len({item.tag for item in run}) == 1 else None
    source = ", ".join(dict.fromkeys(item.source for item in run if item.source))
    return replace(run[0], parts=_join_parts(parts), tag=tag, source=source)


def _join_parts(*groups: Iterable[Part]) -> tuple[Part, ...]:
    """The parts of all *groups*, neighbouring texts as one."""
    joined: list[Part] = []
    texts: list[str] = []
    for part in (part for group in groups for part in group):
        if isinstance(part, TextPart):
            texts.append(part.text)
            continue
        if texts:
            joined.append(TextPart("".join(texts)))
            texts = []
        joined.append(part)
    if texts:
        joined.append(TextPart("".join(texts)))
    return tuple(joined)
