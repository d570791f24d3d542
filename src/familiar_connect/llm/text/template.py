"""How a chat becomes one text, for models that are given no messages but go on with what they read.

`render_text(messages, template)` is that text, up to where the answer begins. Sequences stand before each message and
suffixes behind it, as SillyTavern's instruct templates have them; without sequences every line begins with a name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from familiar_connect.llm.types import Message
from familiar_connect.llm.types import TextTemplate as TextTemplate

EXAMPLES = ("example_user", "example_assistant")
"""Names of messages that are example dialogue: what the user says in it, and what the character does."""
HEADING = "heading"
"""The name of a message that stands between parts as it is."""
_NAME = re.compile(r"\{\{name\}\}", re.IGNORECASE)
_LAST_BREAK = re.compile(r"\n?\Z")
LINE_END = "\n"
NOBODY = "System"
"""Who speaks where nobody does."""


CHATML = TextTemplate(
    name="chatml",
    system="<|im_start|>system",
    user="<|im_start|>user",
    assistant="<|im_start|>assistant",
    user_end="<|im_end|>\n",
    assistant_end="<|im_end|>\n",
    system_end="<|im_end|>\n",
    story_begin="<|im_start|>system",
    story_end="<|im_end|>\n",
    stop=("<|im_end|>", "<|im_start|>"),
    wraps=True,
)
PLAIN = TextTemplate(name="plain", is_instruct=False)
TEMPLATES = {
    "chatml": CHATML,
    "llama3": TextTemplate(
        name="llama3",
        system="<|start_header_id|>system<|end_header_id|>\n\n",
        user="<|start_header_id|>user<|end_header_id|>\n\n",
        assistant="<|start_header_id|>assistant<|end_header_id|>\n\n",
        user_end="<|eot_id|>",
        assistant_end="<|eot_id|>",
        system_end="<|eot_id|>",
        story_begin="<|start_header_id|>system<|end_header_id|>\n\n",
        story_end="<|eot_id|>",
        stop=("<|eot_id|>", "<|start_header_id|>"),
    ),
    "mistral": TextTemplate(
        name="mistral",
        user="[INST] ",
        assistant=" ",
        user_end="[/INST]",
        assistant_end="</s>",
        system_as_user=True,
        story_begin="[INST] ",
        story_end="[/INST] Understood.</s>",
        stop=("</s>", "[INST]"),
    ),
    "alpaca": TextTemplate(
        name="alpaca",
        system="### Input:",
        user="### Instruction:",
        assistant="### Response:",
        user_end="\n\n",
        assistant_end="\n\n",
        system_end="\n\n",
        story_end="\n\n",
        stop=("### Instruction:", "### Response:"),
        wraps=True,
    ),
    "plain": PLAIN,
}
"""Templates that need no preset, by the name a slot's settings give."""


def render_text(messages: Sequence[Message], template: TextTemplate) -> str:
    """*messages* as one text that ends where the answer begins."""
    rest = list(messages)
    story: list[str] = []
    while rest and rest[0].role == "system" and not rest[0].name:
        story.append(rest.pop(0).content)
    examples = []
    while rest and rest[0].role == "system" and rest[0].name in (*EXAMPLES, HEADING):
        examples.append(_example(rest.pop(0), template))
    begun = template.chat_start + "\n" if template.chat_start else ""
    pieces = ["".join(_story("\n".join(filter(None, story)), template)), *examples, begun]
    return "".join(pieces) + _chat(rest, template)


def _story(text: str, template: TextTemplate) -> list[str]:
    if not text:
        return []
    if not template.is_instruct:
        return [text if text.endswith("\n") else f"{text}\n"]
    if template.wraps and not template.story_end and not text.endswith("\n"):
        text += "\n"
    begin = f"{template.story_begin}{_separator(template)}" if template.story_begin else ""
    return [_named(begin, NOBODY), text, template.story_end]


def _example(message: Message, template: TextTemplate) -> str:
    if message.name == HEADING or not template.is_instruct:
        return f"{message.content}\n" if message.content else ""
    is_user = message.name == EXAMPLES[0]
    who = template.user_name if is_user else template.char_name
    begin, end = (template.user, template.user_end) if is_user else (template.assistant, template.assistant_end)
    return _framed(begin, message.content, end, who, template)


def _chat(messages: list[Message], template: TextTemplate) -> str:
    """The chat itself, and what the answer begins with."""
    last_user = max((at for at, each in enumerate(messages) if each.role == "user"), default=-1)
    lines = []
    if template.user_first and template.is_instruct and (not messages or messages[0].role != "user"):
        lines.append(
            _framed(template.first_user or template.user, template.user_first, template.user_end, "", template)
        )
    for at, message in enumerate(messages):
        place = "first" if at == 0 else ""
        place = "last" if at == last_user else place
        lines.append(_line(message, place, template))
    if messages and messages[-1].role == "assistant" and not messages[-1].tool_calls:
        begun = _as_begun(messages[-1])
        lines[-1] = _open_line(begun, template)
        return "".join(lines)
    text = "".join(lines)
    if not template.is_instruct or template.wraps:
        text = _LAST_BREAK.sub("", text, count=1)
    return text + _answer_begins(template, is_first=not lines)


def _as_begun(message: Message) -> Message:
    """*message* as the beginning of an answer: blanks at its end would be gone on with."""
    return replace(message, content=message.content.rstrip())


def _line(message: Message, place: str, template: TextTemplate) -> str:
    role = "system" if message.role not in ("user", "assistant") else message.role
    if not template.is_instruct:
        name = {"user": template.user_name, "assistant": template.char_name}.get(role, "")
        return f"{_with_name(message, name)}\n"
    begin, end = _signs(role, place, template)
    who = message.name or {"user": template.user_name, "assistant": template.char_name}.get(role, "")
    return _framed(begin, message.content, end, who, template)


def _open_line(message: Message, template: TextTemplate) -> str:
    """A begun answer, with nothing behind it."""
    if not template.is_instruct:
        return _with_name(message, template.char_name)
    begin = _named(template.last_assistant or template.assistant, message.name or template.char_name)
    return _separator(template).join(filter(None, (begin, message.content)))


def _answer_begins(template: TextTemplate, *, is_first: bool) -> str:
    name = f"{template.answers_as}:" if template.answers_as else ""
    if not template.is_instruct:
        return f"{'' if is_first or not name else LINE_END}{name}"
    gap = _separator(template)
    sign = (
        (template.last_user or template.user) if template.is_for_user else template.last_assistant or template.assistant
    )
    sequence = _named(sign, template.answers_as or template.char_name)
    before = "" if is_first else gap
    if not name:
        text = before + sequence
        return (text.rstrip() if template.wraps else text) + gap
    filler = _filler(template, sequence)
    text = f"{before}{sequence}{gap}{filler}{name}"
    return text.rstrip() if template.wraps else text


def _filler(template: TextTemplate, sequence: str) -> str:
    """The blank between sequence and name that other answers have and the last sequence lacks."""
    usual = template.assistant
    lacks = template.last_assistant and usual[-1:].isspace() and not sequence[-1:].isspace()
    return usual[-1] if lacks else ""


def _signs(role: str, place: str, template: TextTemplate) -> tuple[str, str]:
    if role == "system" and not template.system_as_user:
        return template.system, template.system_end
    if role in ("user", "system"):
        special = {"first": template.first_user, "last": template.last_user}.get(place, "") if role == "user" else ""
        return special or template.user, template.user_end
    return (template.first_assistant if place == "first" else "") or template.assistant, template.assistant_end


def _framed(begin: str, text: str, end: str, who: str, template: TextTemplate) -> str:
    begin, end = _named(begin, who), _named(end, who)
    if not end and template.wraps:
        end = "\n"
    return _separator(template).join(filter(None, (begin, text + end)))


def _named(text: str, who: str) -> str:
    return _NAME.sub(lambda found: who or NOBODY, text)


def _separator(template: TextTemplate) -> str:
    return "\n" if template.wraps else ""


def _with_name(message: Message, name: str) -> str:
    """A line with its speaker before it, once."""
    name = message.name or name
    return message.content if not name or message.content.startswith(f"{name}:") else f"{name}: {message.content}"
