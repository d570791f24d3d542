"""A lamp in the room: one small part of each kind, to copy from.

The familiar sees whether it is lit (a provider), whispers while it is not (a processor) and may switch it (a tool);
people ask for it in chat (a slash command), and the owner on the command line (a verb).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from familiar_connect.api import (
    EVERYONE,
    Audience,
    Author,
    ChannelMode,
    Clock,
    ConfigError,
    ContextProvider,
    ContextRequest,
    Contribution,
    Extension,
    Layer,
    Outcome,
    PartContext,
    PostProcessor,
    PreProcessor,
    ProcessorPart,
    ProviderPart,
    Refusal,
    SlashCommand,
    SlashContext,
    SlashPart,
    SlashReply,
    Status,
    Tool,
    ToolPart,
    VerbPart,
    tool_spec,
)
from familiar_connect.api.settings import FLAG, TEXT, TEXT_OR_NONE, choice_rule, number_rule, setting

if TYPE_CHECKING:
    import click

WRITTEN_FOR_ALL: frozenset[Audience] = frozenset({EVERYONE})
ROLEPLAY = frozenset({ChannelMode.full_rp, ChannelMode.text_conversation_rp})


@dataclass(frozen=True)
class LampSettings:
    """The section [lamp] of character.toml."""

    name: str = setting("the lamp", TEXT, "What it is called in the prompt.")
    colour: str = setting("warm", choice_rule("warm", "cold"), "The colour of its light.")
    lit_at_first: bool = setting(True, FLAG, "Whether it is lit until somebody switches it.")
    deadline_s: float = setting(0.5, number_rule(above=0), "How long looking at it may take, seconds.")
    keeper: str | None = setting(None, TEXT_OR_NONE, "The only person who may switch it, by name.", example='"Ada"')


class Lamp:
    """The lamp of one familiar, kept in a file of its own."""

    def __init__(self, context: PartContext) -> None:
        self.settings: LampSettings = context.settings
        self._clock: Clock = context.clock
        self._file: Path = context.folder / "lamp.txt"

    def is_lit(self) -> bool:
        if not self._file.exists():
            return self.settings.lit_at_first
        return self._file.read_text(encoding="utf-8").startswith("lit")

    def switch(self, by: Author | None) -> bool:
        """Switch it, if *by* may; whether it is lit now."""
        if self.settings.keeper is not None and (by is None or by.label != self.settings.keeper):
            raise Refusal(Status.disabled, f"only {self.settings.keeper} may switch {self.settings.name}")
        is_lit = not self.is_lit()
        self._file.parent.mkdir(parents=True, exist_ok=True)
        self._file.write_text(f"{'lit' if is_lit else 'dark'} {self._clock.now():%H:%M}\n", encoding="utf-8")
        return is_lit


class LampProvider:
    """Tells the familiar whether the lamp is lit."""

    id = "light"

    def __init__(self, lamp: Lamp) -> None:
        self._lamp = lamp
        self.deadline_s = lamp.settings.deadline_s

    async def contribute(self, request: ContextRequest) -> list[Contribution]:
        light = f"gives {self._lamp.settings.colour} light" if self._lamp.is_lit() else "is dark"
        text = f"In the room, {self._lamp.settings.name} {light}."
        return [Contribution.of(Layer.extensions, text, source=self.id, audiences=WRITTEN_FOR_ALL)]


class WhisperProcessor:
    """Lets the familiar whisper in the dark."""

    id = "whisper"

    def __init__(self, lamp: Lamp) -> None:
        self._lamp = lamp

    async def process(self, reply_text: str, request: ContextRequest) -> str:
        return reply_text if self._lamp.is_lit() else reply_text.lower()


class NightProcessor:
    """Looks at the request before the model is asked, and leaves it as it is."""

    id = "night"

    async def process(self, request: ContextRequest) -> ContextRequest:
        return request


def create_provider(context: PartContext) -> ContextProvider:
    return LampProvider(Lamp(context))


def create_whisper(context: PartContext) -> PostProcessor:
    return WhisperProcessor(Lamp(context))


def create_night(context: PartContext) -> PreProcessor:
    return NightProcessor()


def create_tool(context: PartContext) -> Callable[[ContextRequest], Tool | None]:
    lamp = Lamp(context)

    def for_reply(request: ContextRequest) -> Tool | None:
        async def run(arguments: Mapping[str, object]) -> Outcome:
            return Outcome(Status.updated, "it is lit now" if lamp.switch(request.author) else "it is dark now")

        return Tool(tool_spec("switch", f"Switch {lamp.settings.name} on or off."), run)

    return for_reply


def create_command(context: PartContext) -> SlashCommand:
    lamp = Lamp(context)

    async def run(ctx: SlashContext, familiar: object) -> SlashReply:
        if ctx.words.strip() == "switch":
            lamp.switch(ctx.author)
        return SlashReply(text=f"{lamp.settings.name.capitalize()} is {'lit' if lamp.is_lit() else 'dark'}.")

    return SlashCommand(name="lamp", description="Look at the lamp; `switch` switches it.", run=run)


def create_verb() -> click.Command:
    import click

    @click.command("lamp")
    def show() -> None:
        """Say what this extension is for."""
        click.echo("The lamp shows one small part of each kind.")

    return show


def find_fault(context: PartContext) -> str | None:
    """For `familiar doctor`."""
    try:
        Lamp(context).is_lit()
    except (OSError, UnicodeDecodeError) as error:
        return str(ConfigError(f"the lamp's file cannot be read ({type(error).__name__}); take it away"))
    return None


extension = Extension(
    name="lamp",
    providers=(
        ProviderPart(create=create_provider, settings=LampSettings, check=find_fault, modes=ROLEPLAY, on_voice=False),
    ),
    processors=(
        ProcessorPart(create=create_whisper, settings=LampSettings, runs="after"),
        ProcessorPart(create=create_night, runs="before"),
    ),
    tools=(ToolPart(name="switch", create=create_tool, settings=LampSettings),),
    slash_commands=(SlashPart(create=create_command, settings=LampSettings),),
    verbs=(VerbPart(name="lamp", help="Say what the lamp is for.", create=create_verb),),
)
