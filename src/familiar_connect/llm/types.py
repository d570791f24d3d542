"""What goes to a model and what comes back: plain values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True)
class TextPart:
    text: str


@dataclass(frozen=True)
class ImagePart:
    uri: str
    mime: str
    fallback: str | None = None


@dataclass(frozen=True)
class VideoPart:
    uri: str
    mime: str
    is_youtube: bool = False


Part = TextPart | ImagePart | VideoPart


@dataclass
class Message:
    """One chat message. `media` makes the wire form a list of parts; `content` is always the text."""

    role: str
    content: str
    name: str | None = None
    media: tuple[ImagePart, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        content: Any = self.content
        if self.media:
            content = [{"type": "image_url", "image_url": {"url": part.uri}} for part in self.media]
            content.append({"type": "text", "text": self.content})
        wire = {"role": self.role, "content": content}
        if self.name is not None:
            wire["name"] = self.name
        return wire


@dataclass(frozen=True)
class Usage:
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    """Of the prompt tokens, those the provider had worked before."""


@dataclass(frozen=True, kw_only=True)
class Capabilities:
    """What one model can do, and what suits it. None means unknown: nothing is cut or capped for it."""

    window: int | None = None
    max_output: int | None = None
    vision: bool = False
    tools: bool = False
    strict_roles: bool = False
    """Wants user and assistant turns in strict alternation and one system message on top."""
    prefill: bool = True
    """Can continue a trailing assistant message."""
    side_tasks: bool = True
    """Strong enough to summarise, filter, decide and rewrite. False: deterministic forms are used."""
    budget_tokens: int | None = None
    """Largest prompt budget that suits it, whatever the channel's mode allows."""
    deadline_s: float | None = None
    """Least time a turn needs on it, whatever the channel's mode asks."""
    temperature: float | None = None
    """Used when the slot sets none."""
    bare_single_speaker: bool = False
    """So small that names and marks before people's words confuse it: with one other speaker they are left off."""


@dataclass(kw_only=True)
class Completion:
    """All that one call told us: text, cost, time. Filled as the stream goes."""

    model: str
    text: str = ""
    finish_reason: str | None = None
    usage: Usage = field(default_factory=Usage)
    first_token_s: float | None = None
    duration_s: float = 0.0
    provider: str = ""
    attempts: int = 1
    timings: dict[str, Any] = field(default_factory=dict)
    """What a local server reports of its own work (prompt tokens worked, speed)."""
