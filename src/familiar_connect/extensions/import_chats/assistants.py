"""Conversations from the data exports of ChatGPT and of Claude, each a chat of its own.

Both keep a conversation as a tree, for a message may be edited and an answer asked for again. The path that was open
last is the chat; other answers to the same message become its versions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from familiar_connect.api.importing import ImportedChat, ImportedLine, parse_send_date
from familiar_connect.extensions.import_chats.take import (
    ChatItem,
    LeftOut,
    find_path,
    find_siblings,
    list_versions,
    take_list,
    take_object,
    take_part,
    take_text,
    take_title,
)

ROOT = ""
THOUGHTS = ("thoughts", "reasoning_recap", "thinking")
_FROM_ROOT = "00000000-0000-4000-8000-000000000000"
"""What Claude calls the parent of a first message."""


@dataclass(frozen=True, kw_only=True)
class _Node:
    """A message of the tree; without a *line* nothing was said in it."""

    line: ImportedLine | None
    sent: datetime | None = None


def is_chatgpt(row: Mapping[str, Any]) -> bool:
    return isinstance(row.get("mapping"), dict)


def is_claude(row: Mapping[str, Any]) -> bool:
    return isinstance(row.get("chat_messages"), list)


def read_chatgpt(row: Mapping[str, Any], where: str) -> Iterator[ChatItem]:
    """One conversation of ChatGPT's `conversations.json`."""
    left = LeftOut()
    key = take_title(row.get("conversation_id"), row.get("id"))
    yield ImportedChat(title=take_title(row.get("title"), "ChatGPT"), key=f"chatgpt:{key}" if key else "")
    nodes: dict[str, _Node] = {}
    parents: dict[str, str] = {}
    for number, (name, value) in enumerate(take_object(row.get("mapping"), where).items(), start=1):
        node = take_object(value, f"{where}, message {number}")
        parent = node.get("parent")
        parents[name] = parent if isinstance(parent, str) else ROOT
        message = node.get("message")
        found = _chatgpt_line(message, left, f"{where}, message {number}") if isinstance(message, dict) else None
        nodes[name] = _Node(line=found, sent=found.sent if found is not None else None)
    current = row.get("current_node")
    leaf = current if isinstance(current, str) and current in nodes else _latest(nodes, parents)
    yield from _walk(nodes, parents, leaf, left)


def read_claude(row: Mapping[str, Any], where: str) -> Iterator[ChatItem]:
    """One conversation of Claude's `conversations.json`."""
    left = LeftOut()
    key = take_title(row.get("uuid"))
    yield ImportedChat(title=take_title(row.get("name"), "Claude"), key=f"claude:{key}" if key else "")
    nodes: dict[str, _Node] = {}
    parents: dict[str, str] = {}
    before = ROOT
    for number, value in enumerate(take_list(row.get("chat_messages"), where), start=1):
        message = take_object(value, f"{where}, message {number}")
        name = take_title(message.get("uuid")) or f"message {number}"
        parent = message.get("parent_message_uuid")
        parents[name] = parent if isinstance(parent, str) and parent != name else before
        parents[name] = ROOT if parents[name] == _FROM_ROOT else parents[name]
        line = _claude_line(message, left, f"{where}, message {number}")
        nodes[name] = _Node(line=line, sent=parse_send_date(message.get("created_at"), None))
        before = name
    current = row.get("current_leaf_message_uuid")
    leaf = current if isinstance(current, str) and current in nodes else _latest(nodes, parents)
    yield from _walk(nodes, parents, leaf, left)


def _walk(nodes: Mapping[str, _Node], parents: Mapping[str, str], leaf: str, left: LeftOut) -> Iterator[ChatItem]:
    """The lines from the root to *leaf*, an answer with its versions, and how many lines that leaves aside."""
    siblings = find_siblings(parents)
    used: set[str] = set()
    for name in find_path(parents, leaf):
        line = nodes[name].line
        if line is None:
            continue
        used.add(name)
        if line.is_character:
            others = [each for each in siblings[parents[name]] if _may_replace(nodes[each].line, line)]
            used.update(others)
            texts = [found.text for each in others if (found := nodes[each].line) is not None]
            line = replace(line, versions=list_versions(texts, line.text))
        yield line
    aside = sum(node.line is not None for name, node in nodes.items() if name not in used)
    left.add("message of another branch", "messages of other branches", aside)
    yield from left.tell()


def _may_replace(other: ImportedLine | None, line: ImportedLine) -> bool:
    return other is not None and other.is_character == line.is_character


def _latest(nodes: Mapping[str, _Node], parents: Mapping[str, str]) -> str:
    """The end of the branch that was written last."""
    inner = set(parents.values())
    leaves = [name for name in nodes if name not in inner]
    dated = [(sent, name) for name in leaves if (sent := nodes[name].sent) is not None and sent.tzinfo is not None]
    return max(dated)[1] if dated else (leaves or [ROOT])[-1]


def _chatgpt_line(message: Mapping[str, Any], left: LeftOut, where: str) -> ImportedLine | None:
    """What was said in a message; what a model told itself or its tools is left out."""
    role = str(take_part(message, "author").get("role") or "").lower()
    content, about = take_part(message, "content"), take_part(message, "metadata")
    kind = str(content.get("content_type") or "")
    recipient = message.get("recipient")
    if role == "tool":
        left.add("result of a tool", "results of tools")
        return None
    if kind in THOUGHTS:
        left.add("note of what the model thought", "notes of what the model thought")
        return None
    if role not in ("user", "assistant") or about.get("is_visually_hidden_from_conversation") is True:
        return None
    if role == "assistant" and isinstance(recipient, str) and recipient != "all":
        left.add("call of a tool", "calls of tools")
        return None
    text = _chatgpt_text(content, left, where)
    if not text.strip():
        return None
    return ImportedLine(
        name="",
        text=text,
        is_user=role == "user",
        is_character=role == "assistant",
        sent=parse_send_date(message.get("create_time"), None),
    )


def _chatgpt_text(content: Mapping[str, Any], left: LeftOut, where: str) -> str:
    """The words of a message: its text, and what was said aloud in it."""
    parts = content.get("parts")
    said: list[str] = []
    for part in parts if isinstance(parts, list) else [content.get("text")]:
        if isinstance(part, str):
            said.append(part)
        elif isinstance(part, dict) and isinstance(part.get("text"), str):
            said.append(part["text"])
        elif isinstance(part, dict):
            left.add("picture or file", "pictures and files")
    return take_text("\n".join(each for each in said if each.strip()), where)


def _claude_line(message: Mapping[str, Any], left: LeftOut, where: str) -> ImportedLine | None:
    is_user = message.get("sender") == "human"
    said: list[str] = []
    parts = message.get("content")
    for part in parts if isinstance(parts, list) else ():
        kind = part.get("type") if isinstance(part, dict) else None
        if kind == "text" and isinstance(part.get("text"), str):
            said.append(part["text"])
        elif kind in THOUGHTS:
            left.add("note of what the model thought", "notes of what the model thought")
        elif kind in ("tool_use", "tool_result"):
            left.add("call of a tool or its result", "calls of tools and their results")
    for key in ("attachments", "files"):
        files = message.get(key)
        left.add("picture or file", "pictures and files", len(files) if isinstance(files, list) else 0)
    text = take_text("\n".join(each for each in said if each.strip()) or message.get("text"), where)
    if not text.strip():
        return None
    return ImportedLine(
        name="",
        text=text,
        is_user=is_user,
        is_character=not is_user,
        sent=parse_send_date(message.get("created_at"), None),
    )
