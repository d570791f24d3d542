"""What goes to a model and what comes back: plain values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields, replace
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
    data: str | None = field(default=None, repr=False)
    """The picture itself as a `data:` URI, where it was fetched; sent instead of its address."""


@dataclass(frozen=True)
class VideoPart:
    uri: str
    mime: str
    is_youtube: bool = False
    data: str | None = field(default=None, repr=False)
    """As of a picture."""


Part = TextPart | ImagePart | VideoPart
MediaPart = ImagePart | VideoPart


@dataclass(frozen=True)
class ToolCall:
    """Something the model wants done: which tool, and its arguments as the JSON text it wrote."""

    id: str
    name: str
    arguments: str = "{}"

    def to_dict(self) -> dict[str, object]:
        return {"id": self.id, "type": "function", "function": {"name": self.name, "arguments": self.arguments}}


@dataclass(frozen=True)
class ToolSpec:
    """A tool as it is described to a model; *parameters* is a JSON schema."""

    name: str
    description: str
    parameters: Mapping[str, Any] = field(default_factory=lambda: {"type": "object", "properties": {}})

    def to_dict(self) -> dict[str, object]:
        facts = {"name": self.name, "description": self.description, "parameters": dict(self.parameters)}
        return {"type": "function", "function": facts}


@dataclass
class Message:
    """One chat message. `media` makes the wire form a list of parts; `content` is always the text."""

    role: str
    content: str
    name: str | None = None
    media: tuple[MediaPart, ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()
    """What an assistant's message asks to have done."""
    tool_call_id: str | None = None
    """Of a message of role `tool`: the call it answers."""

    def to_dict(self) -> dict[str, object]:
        content: object = self.content
        if self.media:
            content = [_wire_part(part) for part in self.media]
            content.append({"type": "text", "text": self.content})
        wire: dict[str, object] = {"role": self.role, "content": content}
        if self.name is not None:
            wire["name"] = self.name
        if self.tool_calls:
            wire["content"] = content or None
            wire["tool_calls"] = [call.to_dict() for call in self.tool_calls]
        if self.tool_call_id is not None:
            wire["tool_call_id"] = self.tool_call_id
        return wire


def _wire_part(part: MediaPart) -> dict[str, object]:
    kind = "image_url" if isinstance(part, ImagePart) else "video_url"
    return {"type": kind, kind: {"url": part.data or part.uri}}


@dataclass(frozen=True)
class Usage:
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    """Of the prompt tokens, those the provider had worked before."""
    cost: float | None = None
    """What the provider says the call cost, in its own currency; None: it does not say."""


@dataclass(frozen=True, kw_only=True)
class Capabilities:
    """What one model can do, and what suits it. None means unknown: nothing is cut or capped for it."""

    window: int | None = None
    is_window_set: bool = False
    """Whether the owner said how large it is: then nobody is asked."""
    max_output: int | None = None
    vision: bool = False
    is_vision_set: bool = False
    """Whether the owner said so: then no endpoint knows better."""
    video: bool = False
    """Takes films, and addresses of YouTube ones."""
    tools: bool = False
    is_tools_set: bool = False
    """As for what it sees."""
    strict_roles: bool = False
    """Wants user and assistant turns in strict alternation and one system message on top."""
    prefill: bool = True
    """Can continue a trailing assistant message."""
    prefix_completion: bool = False
    """Its server wants such a message marked as one to go on with."""
    reasoning_tags: tuple[str, ...] = ()
    """What it writes before and behind its thoughts, beside the usual ones."""
    thinking: bool = False
    """Reasons before it answers, and so begins every answer itself."""
    single_system: bool = False
    """Takes one system message only: all that would be system text stands in it, on top."""
    side_tasks: bool = True
    """Strong enough to summarise, filter, decide and rewrite. False: deterministic forms are used."""
    budget_tokens: int | None = None
    """Largest prompt budget that suits it, whatever the channel's mode allows."""
    first_token_s: float | None = None
    """How long its client waits for its first token; None: it does not say, and the turn's deadline counts."""
    temperature: float | None = None
    """Used when the slot sets none."""
    bare_single_speaker: bool = False
    """So small that names and marks before people's words confuse it: with one other speaker they are left off."""
    repeats_itself: bool = False
    """So small that it falls into saying its last replies over again: they are compared."""
    imitates_itself: bool = False
    """So small that it goes on as it went: it is not shown its own replies, and what people said before as lines."""
    quotes_memory: bool = False
    """So small that it does not find an answer in its prompt: where a rule finds it, it is quoted instead."""


def capabilities_of(model: object) -> Capabilities:
    """What *model* says of itself; a bare client says nothing and is trusted with everything."""
    found = getattr(model, "capabilities", None)
    return found if isinstance(found, Capabilities) else Capabilities()


def model_name_of(model: object) -> str:
    """The name that *model* is asked by; a client that has none goes by its class."""
    return str(getattr(model, "model", type(model).__name__))


SamplerValue = float | int | bool | str | tuple[str | int, ...]


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """How the words of a reply are chosen. Each setting None or empty where nothing is said about it."""

    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    min_p: float | None = None
    top_a: float | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    repeat_penalty: float | None = None
    seed: int | None = None
    stop: tuple[str, ...] = ()
    logit_bias: tuple[tuple[str, float], ...] = ()
    """Numbers of tokens, as text, and how much more or less likely each is made."""
    reasoning_effort: str | None = None
    max_output_tokens: int | None = None
    text: tuple[tuple[str, SamplerValue], ...] = ()
    """Samplers that completion endpoints alone know, by name; a chat endpoint is not sent them."""

    def values_by_name(self) -> dict[str, object]:
        """What is said, by name."""
        return {each.name: value for each in fields(self) if (value := getattr(self, each.name)) not in (None, ())}

    def over(self, other: Sampling) -> Sampling:
        """*other* with what this one says in its place; stop words add up, the shorter longest answer holds."""
        merged = replace(other, **self.values_by_name())  # type: ignore[arg-type]
        limits = [each for each in (self.max_output_tokens, other.max_output_tokens) if each is not None]
        stop = tuple(dict.fromkeys((*self.stop, *other.stop)))
        return replace(merged, stop=stop, max_output_tokens=min(limits, default=None))


@dataclass(frozen=True, kw_only=True)
class TextTemplate:
    """The signs around the messages of a chat. Empty: nothing stands there."""

    name: str = ""
    """Of the preset or the built-in it comes from."""
    system: str = ""
    user: str = ""
    assistant: str = ""
    first_user: str = ""
    first_assistant: str = ""
    last_user: str = ""
    last_assistant: str = ""
    last_system: str = ""
    user_end: str = ""
    assistant_end: str = ""
    system_end: str = ""
    story_begin: str = ""
    story_end: str = ""
    chat_start: str = ""
    """A line between what comes before the chat and the chat."""
    user_first: str = ""
    """What the user says where the chat begins with nothing of theirs."""
    stop: tuple[str, ...] = ()
    """What ends an answer where the model writes it."""
    is_instruct: bool = True
    """Whether there are sequences; else each line begins with the speaker's name."""
    wraps: bool = False
    """Whether each sequence has a line to itself."""
    system_as_user: bool = False
    names: str = "force"
    """When names stand before words: none, force (in company) or always."""
    stops_at_names: bool = True
    """Whether the names of the others end an answer, too."""
    example_heading: str = ""
    """The line before each example dialogue."""
    is_for_user: bool = False
    """Whether the answer is what the user says next."""
    answers_as: str = ""
    """The name that the answer begins with; empty: none."""
    user_name: str = field(default="", compare=False)
    """Who the user is, where a line has no name."""
    char_name: str = field(default="", compare=False)

    def map_texts(self, read: Callable[[str], str]) -> TextTemplate:
        """The same with each of its texts, but names, read by *read*."""
        texts: dict[str, Any] = {
            each.name: read(text)
            for each in fields(self)
            if each.name not in _NO_TEXTS and isinstance(text := getattr(self, each.name), str) and "{" in text
        }
        return replace(self, **texts, stop=tuple(map(read, self.stop)))


_NO_TEXTS = ("name", "names", "answers_as", "user_name", "char_name")


@dataclass(frozen=True)
class CompletionRequest:
    """One call of a model: what it is shown, and within what bounds it answers."""

    messages: Sequence[Message]
    _: KW_ONLY
    stop: Sequence[str] = ()
    """What ends the answer where the model writes it."""
    max_tokens: int | None = None
    """Longest answer of this call; None: as the model's own settings say."""
    tools: Sequence[ToolSpec] = ()
    may_call: bool = True
    """False: the tools are only described, for what was called before; now the model is to speak."""
    sampling: Sampling | None = None
    template: TextTemplate | None = None
    """How a model that goes on with a text is shown the messages; None: as its slot says."""
    place: str = ""
    """The conversation it belongs to; a model on several servers asks one of them for all of it."""
    attempt: int = 0
    """How often an answer to the same was thrown away: each time the words are chosen more daringly."""


@dataclass(kw_only=True)
class Completion:
    """The result of one call: text, cost, time. Filled while the stream is read."""

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
    tool_calls: tuple[ToolCall, ...] = ()
    """What the model wants done before it goes on; complete when the stream has ended."""
