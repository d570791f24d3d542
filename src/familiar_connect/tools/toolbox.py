"""Toolbox: the tools a familiar has, and which of them a turn is offered.

Off by default; the owner names them, or switches all of them on. A turn that is spoken, or in which the familiar
speaks for somebody else, is offered none. Otherwise the list is the same from turn to turn in a channel: it stands
before everything else a model reads, and what of it is no use in one turn says so when it is called. Arguments a
model wrote are read with care: whatever they are, it is told how it went.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, tzinfo

from familiar_connect.chat.scene import Scene
from familiar_connect.context.types import ContextRequest, Modality
from familiar_connect.history.reminders import ReminderBook
from familiar_connect.identity import EVERYTHING_ALLOWED, Privacy
from familiar_connect.llm.types import ToolCall, ToolSpec
from familiar_connect.memory.index.protocols import Retriever
from familiar_connect.memory.part_audiences import PartAudiences
from familiar_connect.memory.store import MemoryStore
from familiar_connect.tools.long_term import LongTermMemoryTools, ShortTermNoteTool
from familiar_connect.tools.reveal_message_metadata import MessageMetadataTool
from familiar_connect.tools.search_memory import FollowLinksTool, SearchMemoryTool
from familiar_connect.tools.send_sticker import SendStickerTool
from familiar_connect.tools.set_reminder import SetReminderTool
from familiar_connect.tools.types import (
    ALL_TOOLS,
    FOLLOW_LINKS,
    MACROS,
    REVEAL_MESSAGE_METADATA,
    SEARCH_MEMORY,
    SEND_STICKER,
    SET_REMINDER,
    SHORT_TERM_NOTE,
    Notify,
    Outcome,
    Refusal,
    SendSticker,
    Status,
    SummaryKeeper,
    Tool,
)

logger = logging.getLogger(__name__)

RetrieverNow = Callable[[], Retriever | None]
"""What searches memory, once it is ready."""


class TurnTools:
    """The tools of one reply. Each call is answered; none raises for what a model wrote."""

    def __init__(self, tools: Sequence[Tool], withheld: frozenset[str] = frozenset()) -> None:
        self._tools = {tool.spec.name: tool for tool in tools}
        self.withheld = withheld
        """Those that are described as always and of no use in this turn; each says so when it is called."""
        self.used: list[tuple[str, Status]] = []
        """Which tools were called, and how it went."""

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        return tuple(tool.spec for tool in self._tools.values())

    @property
    def names(self) -> frozenset[str]:
        """Those that can be used in this turn."""
        return frozenset(self._tools) - self.withheld

    @property
    def macros(self) -> Mapping[str, str]:
        """Tool macro → function, of those that are offered."""
        return {macro: name for macro, name in MACROS.items() if name in self.names}

    async def call(self, call: ToolCall) -> str:
        outcome = await self._outcome(call)
        self.used.append((call.name if call.name in self._tools else "unknown", outcome.status))
        logger.info("tool used", extra={"tool": self.used[-1][0], "status": outcome.status.value})
        return outcome.as_text()

    async def _outcome(self, call: ToolCall) -> Outcome:
        tool = self._tools.get(call.name)
        if tool is None:
            return Outcome(Status.disabled, "there is no such tool in this turn")
        try:
            return await tool.run(_arguments(call))
        except Refusal as refused:
            return refused.outcome


def _arguments(call: ToolCall) -> dict[str, object]:
    try:
        given = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict):
        raise Refusal(Status.invalid_arguments, "the arguments must be one JSON object")
    return given


class Toolbox:
    """All a familiar's tools can work with. Long-lived; `for_turn` hands out what one reply may use."""

    def __init__(
        self,
        enabled: Sequence[str],
        *,
        store: MemoryStore,
        privacy: Privacy = EVERYTHING_ALLOWED,
        summaries: SummaryKeeper | None = None,
        retriever: RetrieverNow | None = None,
        audiences: PartAudiences | None = None,
        notify: Notify | None = None,
        zone: tzinfo = UTC,
        reminders: ReminderBook | None = None,
        added: Mapping[str, Callable[[ContextRequest], Tool | None]] | None = None,
    ) -> None:
        """*added*: what makes the tools of extensions for one reply, by the names that *enabled* has for them."""
        self.enabled = frozenset(enabled) & frozenset(ALL_TOOLS)
        self._added = {name: make for name, make in (added or {}).items() if name in enabled}
        self._privacy = privacy
        self._summaries = summaries
        self._retriever = retriever or (lambda: None)
        self._audiences = audiences or PartAudiences(store)
        self._notify = notify
        self._zone = zone
        self._reminders = reminders
        self._lock = threading.Lock()

    def is_on(self, request: ContextRequest) -> bool:
        """Whether a turn is offered any tool of the familiar's own."""
        return bool(self.enabled or self._added) and self._may_use_tools(request)

    def _may_use_tools(self, request: ContextRequest) -> bool:
        turn = request.turn
        spoken = request.modality is Modality.voice or (turn is not None and turn.is_voice)
        withheld = turn is not None and (
            turn.flags.disable_all_tools or turn.flags.impersonation or turn.imitated is not None
        )
        return not spoken and not withheld

    def for_turn(
        self, request: ContextRequest, *, send_sticker: SendSticker | None = None, brought: Sequence[Tool] = ()
    ) -> TurnTools | None:
        """What the reply to *request* may use; None for nothing. Its place *brought* tools, which need no setting."""
        if not self._may_use_tools(request):
            return None
        made = (*self._long_term_tools(request), *self._other_tools(request, send_sticker)) if self.enabled else ()
        offered = [tool for tool in made if tool.spec.name in self.enabled]
        offered += self._create_added_tools(request)
        taken = {tool.spec.name for tool in offered}
        offered += [tool for tool in brought if tool.spec.name not in taken]
        return TurnTools(offered, self._withheld(request)) if offered else None

    def _create_added_tools(self, request: ContextRequest) -> list[Tool]:
        """Those of extensions; one that cannot be made is left out."""
        tools: list[Tool] = []
        for name, make in self._added.items():
            try:
                tool = make(request)
            except Exception as error:  # isolation: one tool that fails ends no reply
                logger.warning("tool left out", extra={"tool": name, "error": type(error).__name__})
                continue
            tools += [tool] if tool is not None else []
        return tools

    def _withheld(self, request: ContextRequest) -> frozenset[str]:
        names = set()
        flags = request.turn.flags if request.turn is not None else None
        if flags is not None and (flags.explicit_long_term_memory_intent or flags.disable_short_term_memory_update):
            names.add(SHORT_TERM_NOTE)
        if flags is not None and flags.disable_task_creation:
            names.add(SET_REMINDER)
        if self._retriever() is None:
            names.add(SEARCH_MEMORY)
        return frozenset(names)

    def _long_term_tools(self, request: ContextRequest) -> tuple[Tool, ...]:
        if request.author is None or request.turn is None:
            return ()
        memory = LongTermMemoryTools(
            self._audiences, request, privacy=self._privacy, lock=self._lock, notify=self._notify
        )
        return memory.tools()

    def _other_tools(self, request: ContextRequest, send_sticker: SendSticker | None) -> list[Tool]:
        tools: list[Tool] = []
        if SHORT_TERM_NOTE in self.enabled and self._summaries is not None and _may_note(request):
            tools.append(ShortTermNoteTool(self._summaries, request).tool())
        if SEARCH_MEMORY in self.enabled:
            tools.append(SearchMemoryTool(self._retriever(), request, self._privacy, self._audiences).tool())
        if FOLLOW_LINKS in self.enabled:
            tools.append(FollowLinksTool(request, self._privacy, self._audiences).tool())
        scene = request.scene
        if (
            SEND_STICKER in self.enabled
            and send_sticker is not None
            and scene is not None
            and _may_stick(request, scene)
        ):
            tools.append(SendStickerTool(send_sticker, scene).tool())
        flags = request.turn.flags if request.turn is not None else None
        if REVEAL_MESSAGE_METADATA in self.enabled and flags is not None and not flags.disable_message_metadata:
            tools.append(MessageMetadataTool(request, self._zone).tool())
        if SET_REMINDER in self.enabled and self._reminders is not None and request.author is not None:
            tools.append(SetReminderTool(self._reminders, request, self._privacy, self._zone).tool())
        return tools


def _may_note(request: ContextRequest) -> bool:
    """Whether conversations here may be summed up; the tool itself refuses where this one is not to be."""
    return request.author is not None and request.settings.short_term_memory_enabled


def _may_stick(request: ContextRequest, scene: Scene) -> bool:
    return bool(scene.stickers) and not request.is_dm and request.settings.sticker_usage_enabled
