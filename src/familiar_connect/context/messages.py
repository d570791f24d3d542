"""Prompt → model messages: one system message on top, names, and what each kind of model takes.

A model that wants strict alternation gets text of a depth inside a user's turn, never as a turn of its own or as the
assistant's words. Pictures never stand in an assistant's turn. Where a preset asks for it, system messages that follow
each other are sent as one. The assistant's first words (`with_prefill`) stand last for a model that goes on from a turn
it finds begun. For one that does not, because of what it is, because it thinks first or because it has tools, the
words somebody asked for become an instruction, and the familiar's own are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from familiar_connect.chat.types import Turn
from familiar_connect.context.types import ContextItem, ItemTag, Prompt
from familiar_connect.llm.types import Capabilities, ImagePart, MediaPart, Message, TextPart, VideoPart
from familiar_connect.support.system_notes import note, quote_inline, wrap_note

NEVER_SQUASHED = (":newMainChat", ":newExampleChat", ":groupNudge")
"""How the sources of a preset's separators end."""

PREFILL_SOURCE = "prefill"
"""Of the item that the tail ends with."""


def to_messages(
    items: Sequence[ContextItem], capabilities: Capabilities | None = None, *, squash: bool = False
) -> list[Message]:
    """What is sent, in order. System items that follow each other at the top are one message."""
    return _build_sent(items_for_model(items, capabilities), capabilities, squash=squash)[0]


def items_for_model(items: Sequence[ContextItem], capabilities: Capabilities | None) -> Sequence[ContextItem]:
    """Those of *items* that such a model is shown, as it is shown them; first words where it can go on from them."""
    items = with_media_in_user_turns(items)
    if capabilities is None:
        return items
    if not capabilities.prefill and any(item.tag is ItemTag.PREFILL for item in items):
        items = [item for item in items if item.tag is not ItemTag.PREFILL]
    items = with_single_system(items) if capabilities.single_system else items
    return without_speaker_names(items) if capabilities.bare_single_speaker else items


def message_places(
    shown: Sequence[ContextItem], capabilities: Capabilities | None, *, squash: bool = False
) -> list[int | None]:
    """For each of the *shown* items the message it is sent in; None for one that has nothing to say."""
    return _build_sent(shown, capabilities, squash=squash)[1]


def _build_sent(
    shown: Sequence[ContextItem], capabilities: Capabilities | None, *, squash: bool
) -> tuple[list[Message], list[int | None]]:
    strict = capabilities is not None and capabilities.strict_roles
    items, hosts = merge_by_depth(shown) if strict else (shown, list(range(len(shown))))
    items, moved_into = merge_recall(items)
    hosts = [moved_into[host] for host in hosts]
    top = top_length(items)
    messages = [Message(role="system", content=join_text(items[:top]))] if top else []
    fixed = [False] * len(messages)
    places: list[int | None] = [0] * top
    for item in items[top:]:
        message = _one(item)
        says = bool(message.content if item.even_blank else message.content.strip()) or bool(message.media)
        places.append(len(messages) if says else None)
        messages += [message] if says else []
        fixed += [item.source.endswith(NEVER_SQUASHED)] if says else []
    moved = list(range(len(messages)))
    if strict:
        messages, moved = _alternate(messages)
    elif squash:
        messages, moved = _squash(messages, fixed)
    moved_places = [None if place is None else moved[place] for place in places]
    return messages, [moved_places[host] for host in hosts]


def _squash(messages: Sequence[Message], fixed: Sequence[bool]) -> tuple[list[Message], list[int]]:
    """Runs of unnamed system messages as one each, lines apart; a preset's separators stay as they are."""
    result: list[Message] = []
    places: list[int] = []
    open_run = False
    for message, keeps in zip(messages, fixed, strict=True):
        joins = message.role == "system" and message.name is None and not keeps and not message.media
        if joins and open_run:
            result[-1] = Message(role="system", content=f"{result[-1].content}\n{message.content}")
        else:
            result.append(message)
        open_run = joins
        places.append(len(result) - 1)
    return result, places


def merge_by_depth(items: Sequence[ContextItem]) -> tuple[list[ContextItem], list[int]]:
    """*items* with text of a depth inside the turns, and for each of *items* which of the result holds it.

    A text of depth d joins the turn that d others follow: a user's at its end, an assistant's at the head of the
    user's turn after it, or as a turn of its own where none comes directly.
    """
    deep = [index for index, item in enumerate(items) if _is_deep(item)]
    if not deep:
        return list(items), list(range(len(items)))
    turns = [index for index, item in enumerate(items) if is_dialogue(item)]
    texts: dict[tuple[int, str], list[int]] = {}
    for index in sorted(deep, key=lambda index: items[index].depth or 0):
        texts.setdefault(_host(items, turns, items[index].depth or 0), []).append(index)
    result: list[ContextItem] = []
    hosts: dict[int, int] = {}
    for index, item in enumerate(items):
        if index in deep:
            continue
        head, tail, after = (texts.get((index, where), []) for where in ("head", "tail", "after"))
        hosts |= dict.fromkeys([index, *head, *tail], len(result))
        if head or tail:
            before = (TextPart(f"{_system_line(items, head)}\n"),) if head else ()
            behind = (TextPart(f"\n{_system_line(items, tail)}"),) if tail else ()
            item = replace(item, parts=(*before, *item.parts, *behind))
        result.append(item)
        if after:
            hosts |= dict.fromkeys(after, len(result))
            result.append(ContextItem.of("user", _system_line(items, after), source=items[after[0]].source, apart=True))
    if last := texts.get((-1, "after")):
        hosts |= dict.fromkeys(last, len(result))
        result.append(ContextItem.of("user", _system_line(items, last), source=items[last[0]].source, apart=True))
    return result, [hosts[index] for index in range(len(items))]


def merge_recall(items: Sequence[ContextItem]) -> tuple[Sequence[ContextItem], list[int]]:
    """*items* with what was recalled for a message at the head of that message, and for each which of them holds it.

    A model of 1.5 billion parameters answered from it there, and talked past it where it stood as a message of its own.
    """
    into: dict[int, int] = {}
    for index, item in enumerate(items):
        if item.tag is ItemTag.FOUND and item.apart:
            host = next((at for at in range(index + 1, len(items)) if is_dialogue(items[at])), None)
            if host is not None and items[host].role == "user":
                into[index] = host
    if not into:
        return items, list(range(len(items)))
    result: list[ContextItem] = []
    hosts: list[int] = []
    for index, item in enumerate(items):
        hosts.append(len(result))
        if index in into:
            continue
        recalled = "".join(f"{items[found].text}\n\n" for found, host in into.items() if host == index)
        result.append(replace(item, parts=(TextPart(recalled), *item.parts)) if recalled else item)
    return result, [hosts[into.get(index, index)] for index in range(len(items))]


def _is_deep(item: ContextItem) -> bool:
    return item.depth is not None and (item.tag is None or item.tag is ItemTag.AUTHOR_NOTE)


def _host(items: Sequence[ContextItem], turns: Sequence[int], depth: int) -> tuple[int, str]:
    """The item a text of *depth* joins, and where it stands there; -1: nobody has said anything."""
    if not turns:
        return -1, "after"
    place = min(max(len(turns) - 1 - depth, 0), len(turns) - 1)
    if items[turns[place]].role == "user":
        return turns[place], "tail"
    following = turns[place + 1] if place + 1 < len(turns) else None
    if following is not None and items[following].role == "user":
        return following, "head"
    return turns[place], "after"


def _system_line(items: Sequence[ContextItem], indexes: Sequence[int]) -> str:
    return wrap_note("\n".join(items[index].text for index in indexes))


def without_speaker_names(items: Sequence[ContextItem]) -> Sequence[ContextItem]:
    """*items* without marks and names before people's words, where only one person speaks to us.

    A very small model takes a name before the words for its own. With several speakers the names stay:
    who said what matters more than style.
    """
    speakers = {item.sender.name for item in items if is_dialogue(item) and item.sender is not None}
    if len(speakers) > 1:
        return items
    return [_bare(item) for item in items if item.tag is not ItemTag.PREAMBLE and not _is_sample_note(item)]


def _is_sample_note(item: ContextItem) -> bool:
    """Whether *item* only says where sample dialogues begin or end."""
    return item.tag is ItemTag.SAMPLE and item.words == ""


def _bare(item: ContextItem) -> ContextItem:
    if item.role != "user" or item.words is None or not item.text.endswith(item.words):
        return item
    return replace(item, parts=(TextPart(item.words),), name=None)


def top_length(items: Sequence[ContextItem]) -> int:
    """How many items make up the system message on top: none of the dialogue, none that stands apart."""
    below = (i for i, item in enumerate(items) if item.role != "system" or item.apart or is_dialogue(item))
    return next(below, len(items))


def join_text(items: Iterable[ContextItem]) -> str:
    return "\n\n".join(text for item in items if (text := item.text.strip("\n")).strip())


def _one(item: ContextItem) -> Message:
    media = tuple(part for part in item.parts if isinstance(part, ImagePart | VideoPart))
    return Message(role=item.role, content=item.text, name=item.name, media=media)


def with_alternating_roles(messages: Sequence[Message]) -> list[Message]:
    """*messages* with user and assistant turns strictly in turn: for templates that refuse anything else.

    A system message below the top becomes a System line of a user turn, never of the assistant's.
    """
    return _alternate(messages)[0]


def _alternate(messages: Sequence[Message]) -> tuple[list[Message], list[int]]:
    """The alternating messages, and for each of *messages* which of them holds it."""
    result: list[Message] = []
    places: list[int] = []
    for message in messages:
        role, content = message.role, message.content
        if role == "tool" or message.tool_calls:
            result.append(message)
            places.append(len(result) - 1)
            continue
        if role == "system" and result:
            role, content = "user", wrap_note(content)
        if result and result[-1].role == role and not result[-1].tool_calls:
            last = result[-1]
            result[-1] = Message(role=role, content=f"{last.content}\n{content}", media=last.media + message.media)
        else:
            if role == "assistant" and (not result or result[-1].role == "system"):
                result.append(Message(role="user", content=wrap_note("the conversation begins")))
            name = message.name if role == message.role else None
            result.append(Message(role=role, content=content, name=name, media=message.media))
        places.append(len(result) - 1)
    return result, places


def is_dialogue(item: ContextItem) -> bool:
    """Whether *item* is a real turn: the only kind that depth and trimming count."""
    return item.tag is ItemTag.DIALOGUE


def with_media_in_user_turns(items: Sequence[ContextItem]) -> Sequence[ContextItem]:
    """*items* with what an assistant's turn shows in a user's turn behind it, which names who sent it."""
    if not any(item.role == "assistant" and _media(item) for item in items):
        return items
    moved: list[ContextItem] = []
    for item in items:
        media = _media(item) if item.role == "assistant" else ()
        if not media:
            moved.append(item)
            continue
        words = tuple(part for part in item.parts if isinstance(part, TextPart))
        if item.text.strip():
            moved.append(replace(item, parts=words))
        moved.append(
            ContextItem(
                role="user",
                parts=(*media, TextPart(note(f"{_count(media)} sent by {_sender(item)}"))),
                tag=ItemTag.DATE_SPACER,
                source=item.source,
                apart=True,
            )
        )
    return moved


def with_single_system(items: Sequence[ContextItem]) -> list[ContextItem]:
    """*items* with all system text on top, in its order, so that it makes one message."""
    top = [
        replace(item, apart=False, tag=None if item.tag is ItemTag.DIALOGUE else item.tag)
        for item in items
        if item.role == "system"
    ]
    return [*top, *(item for item in items if item.role != "system")]


def _media(item: ContextItem) -> tuple[MediaPart, ...]:
    return tuple(part for part in item.parts if isinstance(part, ImagePart | VideoPart))


def _sender(item: ContextItem) -> str:
    if item.sender is not None:
        return item.sender.name
    return item.name or "you"


def _count(media: Sequence[MediaPart]) -> str:
    images = sum(1 for part in media if isinstance(part, ImagePart))
    told = ((images, "image"), (len(media) - images, "video"))
    return " and ".join(f"{count} {kind}{'' if count == 1 else 's'}" for count, kind in told if count)


def with_prefill(
    prompt: Prompt, capabilities: Capabilities, *, turn: Turn | None = None, tools: bool = False
) -> Prompt:
    """*prompt* with its prefill, if it has one, adapted to this attempt; it stays last."""
    items = [item for item in prompt.items if item.tag is not ItemTag.PREFILL]
    given = [item for item in prompt.items if item.tag is ItemTag.PREFILL]
    text = "\n".join(item.text.strip() for item in given).strip()
    if not given:
        return prompt
    manual = is_manual(turn)
    if given[-1].source != PREFILL_SOURCE:  # laid out by somebody who knew the turn: taken whole or not at all
        items += given if can_continue(capabilities, tools=tools) else []
    elif text and (manual or _own_applies(turn)):
        text = with_prefill_name(text, turn.persona if turn is not None and turn.showing.own_names else "")
        if can_continue(capabilities, tools=tools):
            items.append(replace(given[-1], parts=(TextPart(text),)))
        elif manual:
            items.append(ContextItem.of("user", prefill_instruction(text), tag=ItemTag.TAIL, source=PREFILL_SOURCE))
    return replace(prompt, items=tuple(items))


def can_continue(capabilities: Capabilities, *, tools: bool = False) -> bool:
    """Whether a model goes on from an assistant's turn that stands last."""
    return capabilities.prefill and not capabilities.thinking and not tools


def is_manual(turn: Turn | None) -> bool:
    """Whether the first words were asked for with this turn, and are not the familiar's own."""
    return turn is not None and bool((turn.directives.prefill or "").strip())


def with_prefill_name(text: str, name: str) -> str:
    """*text* with `name: ` before it, once; without a name as it is."""
    text = text.strip()
    if not name or text.casefold().startswith(f"{name.casefold()}:"):
        return text
    return f"{name}: {text}"


def prefill_instruction(text: str) -> str:
    """The same as an order, for a model that begins every turn itself."""
    return note(f"Begin your reply with exactly these words: {quote_inline(text)}")


def _own_applies(turn: Turn | None) -> bool:
    """The familiar's own first words are for its plain replies."""
    if turn is None:
        return True
    flags = turn.flags
    return not (flags.impersonation or flags.reasoning or flags.stop or flags.reminder is not None)
