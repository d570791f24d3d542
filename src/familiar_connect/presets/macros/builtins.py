"""The known macros: names, card, chat and small conveniences, each with the number of arguments it takes.

What would need a user interface (swipes, the input box, text-completion templates) is known and empty, and said to be.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from familiar_connect.presets.macros import clock, evaluation, random_choice, variables
from familiar_connect.presets.macros.evaluation import MAX_OUTPUT, Evaluation, Invocation, Macro
from familiar_connect.presets.macros.types import MacroContext
from familiar_connect.presets.types import ChatLine

TRIM = "{{trim}}"
"""Placeholder of `{{trim}}`; removed last, with the line ends around it."""

_INTEGER = re.compile(r"-?\d{1,9}", re.ASCII)
_START = re.compile(r"<START>", re.I)

UNSUPPORTED = (
    "banned",
    "firstIncludedMessageId",
    "firstDisplayedMessageId",
    "systemPrompt",
    "defaultSystemPrompt",
    "instructSystem",
    "instructSystemPrompt",
    "instructStoryStringPrefix",
    "instructStoryStringSuffix",
    "instructUserPrefix",
    "instructInput",
    "instructUserSuffix",
    "instructAssistantPrefix",
    "instructOutput",
    "instructAssistantSuffix",
    "instructSeparator",
    "instructSystemPrefix",
    "instructSystemSuffix",
    "instructFirstAssistantPrefix",
    "instructFirstOutputPrefix",
    "instructLastAssistantPrefix",
    "instructLastOutputPrefix",
    "instructFirstUserPrefix",
    "instructFirstInput",
    "instructLastUserPrefix",
    "instructLastInput",
    "instructSystemInstructionPrefix",
    "instructUserFiller",
    "instructStop",
    "chatSeparator",
    "exampleSeparator",
    "authorsNote",
    "charAuthorsNote",
    "defaultAuthorsNote",
    "chatStart",
)
_ONE_ARGUMENT = ("banned",)


def find_macro(name: str, ctx: MacroContext) -> Macro | None:
    """The macro of that name (any case), None when it is not known."""
    name = name.lower()
    if ctx.dynamic:
        for key, value in ctx.dynamic.items():
            if key.lower() == name:
                return _plain(key, value)
    known = MACROS.get(name)
    if known is not None or not ctx.ours:
        return known
    tool = evaluation.tool_name(name, ctx)
    return OWN_MACROS.get(name) if tool is None else _plain(name, tool)


def _plain(name: str, value: str) -> Macro:
    return Macro(name, lambda run, called: value)


def _value(name: str, of: Callable[[MacroContext], str]) -> Macro:
    return Macro(name, lambda run, called: of(run.ctx))


def _card(name: str, of: Callable[[MacroContext], str]) -> Macro:
    """A text of the card; a caller wants to know when it came out non-empty."""

    def card_text(run: Evaluation, called: Invocation) -> str:
        value = _read_card(run.ctx, of(run.ctx))
        if value:
            run.content_macros[name] = None
        return value

    return Macro(name, card_text)


def _read_card(ctx: MacroContext, text: str) -> str:
    """*text* of the card as a macro shows it."""
    if not ctx.card or not text:
        return ""
    return text if ctx.read_card is None else ctx.read_card(text)


def _or_empty(name: str, of: Callable[[MacroContext], str]) -> Macro:
    """Something only a user interface knows, unless the caller does."""
    return Macro(name, lambda run, called: of(run.ctx) or run.note_unsupported(name))


def _group(ctx: MacroContext) -> str:
    return ", ".join(ctx.group) or ctx.char


def _group_not_muted(ctx: MacroContext) -> str:
    return ", ".join(name for name in ctx.group if name not in ctx.muted) if ctx.group else ctx.char


def _not_char(ctx: MacroContext) -> str:
    return ", ".join([*(name for name in ctx.group if name != ctx.char), ctx.user])


def _persona(run: Evaluation, called: Invocation) -> str:
    ctx = run.ctx
    value = ctx.persona if ctx.read_card is None else _read_card(ctx, ctx.persona)
    if value:
        run.content_macros["persona"] = None
    return value


def _examples(run: Evaluation, called: Invocation) -> str:
    """The example dialogue, each block under its own `<START>`."""
    text = _read_card(run.ctx, run.ctx.mes_example).strip()
    if text:
        run.content_macros["mesExamples"] = None
    if not text or text == "<START>":
        return ""
    blocks = _START.split(text if text.startswith("<START>") else f"<START>\n{text}")[1:]
    return "".join(f"<START>\n{block.strip()}\n" for block in blocks)


def _greeting(run: Evaluation, called: Invocation) -> str | None:
    place = _integer(called, 0)
    greetings = (run.ctx.first_mes, *run.ctx.alternate_greetings)
    if place is None:
        return None
    read = [
        _read_card(run.ctx, text) for text in (greetings[1:] if place else greetings[:1])
    ]  # all, for what they count
    at = place - 1 if place else 0
    return read[at] if 0 <= at < len(read) else ""


def _last(ctx: MacroContext, wanted: Callable[[ChatLine], bool] = lambda line: True) -> int | None:
    """Where the newest finished line that is *wanted* stands."""
    for place in range(len(ctx.chat) - 1, -1, -1):
        line = ctx.chat[place]
        if (not line.swipes or line.swipe_id < len(line.swipes)) and wanted(line):
            return place
    return None


def _last_text(wanted: Callable[[ChatLine], bool] = lambda line: True) -> Callable[[MacroContext], str]:
    def text(ctx: MacroContext) -> str:
        place = _last(ctx, wanted)
        return "" if place is None else ctx.chat[place].text

    return text


def _last_id(ctx: MacroContext) -> str:
    place = _last(ctx)
    return "" if place is None else str(place)


def _swipes(ctx: MacroContext) -> str:
    return str(len(ctx.chat[-1].swipes)) if ctx.chat and ctx.chat[-1].swipes else ""


def _swipe(ctx: MacroContext) -> str:
    return str(ctx.chat[-1].swipe_id + 1) if ctx.chat and ctx.chat[-1].swipes else ""


def _by_user(line: ChatLine) -> bool:
    return line.is_user and not line.is_hidden


def _by_char(line: ChatLine) -> bool:
    return not line.is_user and not line.is_hidden


def _integer(called: Invocation, default: int) -> int | None:
    """The one optional number; None when what stands there is no number."""
    if not called.args:
        return default
    return int(called.args[0]) if _INTEGER.fullmatch(called.args[0]) else None


def _repeat_macro(name: str, mark: str) -> Macro:
    def repeat(run: Evaluation, called: Invocation) -> str | None:
        count = _integer(called, 1)
        return None if count is None or count < 0 else mark * min(count, MAX_OUTPUT + 1)

    return Macro(name, repeat, most=1)


def _trim(run: Evaluation, called: Invocation) -> str:
    return called.args[0] if called.block else TRIM


def _reverse(run: Evaluation, called: Invocation) -> str:
    return called.args[0][::-1]


def _outlet(run: Evaluation, called: Invocation) -> str:
    return run.ctx.outlets.get(called.args[0], "")


def _original(run: Evaluation, called: Invocation) -> str | None:
    """The text that is being overridden, once."""
    value = run.original
    if value is not None:
        run.original = ""
    return value


def _nothing(run: Evaluation, called: Invocation) -> str:
    return ""


def _count(name: str, of: Callable[[MacroContext], int]) -> Macro:
    return _value(name, lambda ctx: str(of(ctx)) if of(ctx) else "")


def _refuse_macro(name: str) -> Macro:
    count = int(name in _ONE_ARGUMENT)
    return Macro(name, lambda run, called: run.note_unsupported(name), least=count, most=count)


def _table(*macros: Macro, **also: Macro) -> dict[str, Macro]:
    return {macro.name.lower(): macro for macro in macros} | also


_DESCRIPTION = _card("description", lambda ctx: ctx.description)
_PERSONALITY = _card("personality", lambda ctx: ctx.personality)
_SCENARIO = _card("scenario", lambda ctx: ctx.scenario)
_VERSION = _value("charVersion", lambda ctx: ctx.character_version if ctx.card else "")
_NOTES = _card("creatorNotes", lambda ctx: ctx.creator_notes)
_INSTRUCTION = _card("charInstruction", lambda ctx: ctx.post_history_instructions)
_GREETING = Macro("greeting", _greeting, most=1)
_GROUP = _value("group", _group)
_PROMPT_SIZE = _count("maxPrompt", lambda ctx: ctx.max_prompt)
_CONTEXT_SIZE = _count("maxContext", lambda ctx: ctx.max_context)
_RESPONSE_SIZE = _count("maxResponse", lambda ctx: ctx.max_response)

MACROS: dict[str, Macro] = {
    **_table(
        _value("user", lambda ctx: ctx.user),
        _value("char", lambda ctx: ctx.char),
        _GROUP,
        _value("groupNotMuted", _group_not_muted),
        _value("notChar", _not_char),
        charifnotgroup=_GROUP,
    ),
    **_table(
        _DESCRIPTION,
        _PERSONALITY,
        _SCENARIO,
        Macro("persona", _persona),
        Macro("mesExamples", _examples),
        _card("mesExamplesRaw", lambda ctx: ctx.mes_example),
        _card("charPrompt", lambda ctx: ctx.system_prompt),
        _INSTRUCTION,
        _card("charDepthPrompt", lambda ctx: ctx.depth_prompt),
        _VERSION,
        _NOTES,
        _GREETING,
        chardescription=_DESCRIPTION,
        charpersonality=_PERSONALITY,
        charscenario=_SCENARIO,
        version=_VERSION,
        char_version=_VERSION,
        charcreatornotes=_NOTES,
        charfirstmessage=_GREETING,
    ),
    **_table(
        _value("lastMessage", _last_text()),
        _value("lastMessageId", _last_id),
        _value("lastUserMessage", _last_text(_by_user)),
        _value("lastCharMessage", _last_text(_by_char)),
        _or_empty("lastSwipeId", _swipes),
        _or_empty("currentSwipeId", _swipe),
        _value("allChatRange", lambda ctx: f"0-{len(ctx.chat) - 1}" if ctx.chat else ""),
        _or_empty("input", lambda ctx: ctx.input),
        _value("lastGenerationType", lambda ctx: ctx.generation),
    ),
    **_table(
        _repeat_macro("newline", "\n"),
        _repeat_macro("space", " "),
        Macro("noop", _nothing),
        Macro("trim", _trim, most=1),
        Macro("//", _nothing, least=1, most=1),
        Macro("comment", _nothing, least=1, most=1),
        Macro("reverse", _reverse, least=1, most=1),
        Macro("if", _nothing, least=2, most=2),
        Macro("else", _nothing),
        Macro("original", _original),
        Macro("isMobile", lambda run, called: "false"),
        Macro("outlet", _outlet, least=1, most=1),
        Macro("hasExtension", lambda run, called: "false", least=1, most=1),
        _value("model", lambda ctx: ctx.model),
        _card("summary", lambda ctx: ctx.summary if ctx.ours else ""),
        _value("reasoningPrefix", lambda ctx: "<think>"),
        _value("reasoningSuffix", lambda ctx: "</think>"),
        _value("reasoningSeparator", lambda ctx: "\n"),
        _PROMPT_SIZE,
        _CONTEXT_SIZE,
        _RESPONSE_SIZE,
        maxprompttokens=_PROMPT_SIZE,
        maxcontexttokens=_CONTEXT_SIZE,
        maxresponsetokens=_RESPONSE_SIZE,
    ),
    **_table(*(_refuse_macro(name) for name in UNSUPPORTED)),
    **clock.MACROS,
    **variables.MACROS,
    **random_choice.MACROS,
}
"""Every macro SillyTavern reads, by its name in small letters."""

OWN_MACROS: dict[str, Macro] = _table(
    _value("bot", lambda ctx: ctx.char),
    _value("lastChatMessage", _last_text(_by_user)),
    Macro("hidden_key", _nothing, least=1, most=1),
)
"""Those that are read beside them unless the caller wants SillyTavern's alone."""
