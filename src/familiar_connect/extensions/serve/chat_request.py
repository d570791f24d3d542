"""ChatRequest: what a program asks for, read with care: whatever it sent, it is told what is wrong in a sentence."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from familiar_connect.extensions.serve.program_tools import ProgramTool
from familiar_connect.extensions.serve.reconcile import ShownLine

MAX_LINES = 10_000
MAX_TOOLS, MAX_DESCRIPTION_CHARS, MAX_SCHEMA_CHARS = 64, 2_000, 20_000
TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
MAX_TEXTS, MAX_TEXT_CHARS = 256, 20_000
CHAT_HEADERS = ("x-familiar-chat", "x-openwebui-chat-id")
PERSON_HEADERS = ("x-familiar-user", "x-openwebui-user-id")
NAME_HEADERS = ("x-familiar-user-name", "x-openwebui-user-name")
CHAT_FIELDS = ("chat_id", "conversation_id", "session_id")
CHORE_START = "### Task:"
"""How the requests begin by which Open WebUI has a model write titles and tags."""
PICTURE = "(a picture, which is not handed on here)"
_SYSTEM_ROLES = frozenset({"system", "developer"})


class RefusedRequest(Exception):
    """A request that is not carried out; what its sender is told, and the status of HTTP for it."""

    def __init__(self, sentence: str, *, status: int = 400, code: str = "invalid_request_error") -> None:
        super().__init__(sentence)
        self.status = status
        self.code = code


@dataclass(frozen=True, kw_only=True)
class ChatRequest:
    """One request for a reply."""

    model: str
    lines: tuple[ShownLine, ...]
    """What the program shows of the chat, the newest last."""
    note: str
    """What it tells a model of the setting: all its system messages."""
    streams: bool
    chat: str | None
    """What it calls the chat; None: it does not say."""
    person: str | None
    """Whom it names as the speaker; None: nobody."""
    person_name: str | None
    tools: tuple[ProgramTool, ...] = ()
    """Those that the program runs itself."""
    results: Mapping[str, str] = field(default_factory=dict)
    """What its tools gave, by the ids of their calls, where its last messages say so."""


def read_chat_request(body: bytes, headers: Mapping[str, str]) -> ChatRequest:
    """The request in *body*; a `RefusedRequest` says what is wrong with it."""
    given = read_object(body)
    lines, notes = _read_messages(given.get("messages"))
    if not lines:
        raise RefusedRequest("`messages` has nothing that a person or the familiar said")
    if len(lines) == 1 and lines[0].text.lstrip().startswith(CHORE_START):
        raise RefusedRequest(
            "a familiar writes no titles, tags or follow-ups for other programs: choose another model for tasks",
            code="not_a_chat",
        )
    metadata = given.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    chat = _first(headers, CHAT_HEADERS) or _first(metadata, CHAT_FIELDS) or _first(given, CHAT_FIELDS)
    return ChatRequest(
        model=read_model(given),
        lines=tuple(lines),
        note="\n\n".join(notes),
        streams=given.get("stream") is True,
        chat=chat,
        person=_first(headers, PERSON_HEADERS) or _first(given, ("user",)),
        person_name=_first(headers, NAME_HEADERS),
        tools=_read_tools(given.get("tools")) if given.get("tool_choice") != "none" else (),
        results=_read_results(given["messages"]),
    )


def _read_tools(given: object) -> tuple[ProgramTool, ...]:
    """The functions among *given*; a `RefusedRequest` for what is none."""
    if given is None:
        return ()
    if not isinstance(given, list) or len(given) > MAX_TOOLS:
        raise RefusedRequest(f"`tools` must be a list of at most {MAX_TOOLS} tools")
    specs = []
    for each in given:
        function = each.get("function") if isinstance(each, dict) else None
        name = function.get("name") if isinstance(function, dict) else None
        if not isinstance(function, dict) or not isinstance(name, str) or not TOOL_NAME.fullmatch(name):
            raise RefusedRequest("each of `tools` must be a function with a name of letters, digits, - and _")
        schema = function.get("parameters")
        schema = schema if isinstance(schema, dict) else {"type": "object", "properties": {}}
        if len(json.dumps(schema)) > MAX_SCHEMA_CHARS:
            raise RefusedRequest(f"the parameters of {name} are longer than {MAX_SCHEMA_CHARS:,} characters")
        told = str(function.get("description") or "")[:MAX_DESCRIPTION_CHARS]
        specs.append(ProgramTool(name=name, description=told, parameters=schema))
    return tuple(specs)


def _read_results(messages: object) -> dict[str, str]:
    """What the tools of the last call gave: the messages of tools at the end."""
    found: dict[str, str] = {}
    for each in reversed(messages if isinstance(messages, list) else []):
        if not isinstance(each, dict) or each.get("role") != "tool":
            break
        found[str(each.get("tool_call_id"))[:200]] = _text_of(each.get("content"))
    return found


@dataclass(frozen=True, kw_only=True)
class EmbeddingRequest:
    """One request for vectors."""

    model: str
    texts: tuple[str, ...]
    as_bytes: bool
    """Whether each vector is to come as the bytes of its numbers."""


def read_embedding_request(body: bytes) -> EmbeddingRequest:
    """The request in *body*; a `RefusedRequest` says what is wrong with it."""
    given = read_object(body)
    texts = given.get("input")
    texts = [texts] if isinstance(texts, str) else texts
    if not isinstance(texts, list) or not texts or not all(isinstance(each, str) for each in texts):
        raise RefusedRequest("`input` must be a text or a list of texts; numbers of tokens are not taken")
    if len(texts) > MAX_TEXTS or any(len(each) > MAX_TEXT_CHARS for each in texts):
        raise RefusedRequest(f"`input` may hold {MAX_TEXTS} texts of {MAX_TEXT_CHARS:,} characters each")
    return EmbeddingRequest(
        model=read_model(given), texts=tuple(texts), as_bytes=given.get("encoding_format") == "base64"
    )


def read_object(body: bytes) -> dict[str, object]:
    """The JSON object in *body*."""
    try:
        given = json.loads(body)
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict):
        raise RefusedRequest("the body must be one JSON object")
    return given


def read_model(given: Mapping[str, object]) -> str:
    """Which familiar is meant."""
    model = given.get("model")
    if not isinstance(model, str) or not model.strip():
        raise RefusedRequest("`model` must name a familiar; GET /v1/models lists them")
    return model.strip()


def _read_messages(given: object) -> tuple[list[ShownLine], list[str]]:
    if not isinstance(given, list) or len(given) > MAX_LINES:
        raise RefusedRequest(f"`messages` must be a list of at most {MAX_LINES:,} messages")
    lines: list[ShownLine] = []
    notes: list[str] = []
    for each in given:
        if not isinstance(each, dict) or not isinstance(each.get("role"), str):
            raise RefusedRequest("each of `messages` must be an object with a role and content")
        role, text = each["role"], _text_of(each.get("content"))
        if role in _SYSTEM_ROLES:
            notes += [text.strip()] if text.strip() else []
        elif role in ("user", "assistant"):
            lines += [ShownLine(role == "assistant", text)] if text.strip() else []
        elif role != "tool":
            raise RefusedRequest(f"`messages` has a role {role[:40]!r}, which is none of OpenAI's")
    return lines, notes


def _text_of(content: object) -> str:
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    parts: list[str] = []
    for each in content:
        kind = each.get("type") if isinstance(each, dict) else None
        if kind == "text" and isinstance(each.get("text"), str):
            parts.append(each["text"])
        elif kind == "image_url":
            parts.append(PICTURE)
    return "\n".join(parts)


def _first(given: Mapping[str, object], names: Sequence[str]) -> str | None:
    """The first of *names* that *given* has a short text for."""
    for name in names:
        value = given.get(name)
        if isinstance(value, str) and value.strip() and "{{" not in value:  # a placeholder that nobody filled
            return value.strip()[:200]
    return None
