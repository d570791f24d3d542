"""SlashCommand: a name, what it does, who may use it, and the function that does it.

A command reads the words after its name, whatever platform they come from: typed as one line, filled into
options, or written into a form.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from familiar_connect.chat.place import Place
from familiar_connect.chat.scene import ChannelContext, Scene
from familiar_connect.errors import ConfigError, FamiliarError
from familiar_connect.identity import Author
from familiar_connect.support.translate import later, tr
from familiar_connect.support.word_wrap import ENDLESS

if TYPE_CHECKING:  # an extension that only says what its commands are loads none of a familiar's parts
    from familiar_connect.familiar import Familiar

logger = logging.getLogger(__name__)

NOT_THE_OPERATOR = later("Only my operator may use that.")
MAY_NOT_MANAGE = later("You need the right to manage this channel.")
MAY_NOT_CONTROL = later("You need the right to manage this channel; `controls` under [{section}] can allow everyone.")
"""Where a platform's settings let everyone."""
ONLY_FOR_OWNER = later(
    "The answer names my owner's files, so only my owner may see it. `familiar doctor` says what is wrong."
)
WRONG_SETTINGS = later("One of my settings files is wrong. My owner can find it with `familiar doctor`.")


async def _ignore_acknowledgement(text: str) -> None:
    """For platforms whose people see the answer at once."""


class OptionKind(Enum):
    """What somebody chooses or types, where a platform can tell: it then shows what there is to choose from."""

    text = "text"
    number = "number"
    person = "person"
    """Comes as `platform:id`."""
    channel = "channel"
    """Comes as the number of the channel."""
    role = "role"
    """Comes as the network's id of the role."""


class VoiceControl(Protocol):
    """Voice channels of the server, as the caller meets them."""

    caller_channel: ChannelContext | None
    """Where the caller is heard; None: nowhere."""
    caller_channel_id: int | None
    connected_channel_id: int | None
    """Where we are in this server; None: nowhere."""
    may_connect: bool
    may_speak: bool

    async def connect(self) -> None:
        """Go to the caller's channel; raises when that fails."""

    async def greet(self) -> None:
        """Say something nice, if we can speak, and begin to listen, if we can hear."""

    async def disconnect(self) -> None:
        """Stop listening and leave. Being nowhere is fine."""


@dataclass(frozen=True, kw_only=True)
class SlashPlace:
    """The channel a command was used in, as far as its rules ask."""

    channel: ChannelContext
    guild_id: int | None = None
    can_view: bool = True
    can_send: bool = True
    join: Callable[[], Awaitable[None]] | None = None
    """Becomes a member of a thread; None: nothing to join."""
    voice: VoiceControl | None = None
    """None: this platform has no voice for us."""
    why_no_voice: str | None = None
    """What is to be done about that, in a sentence."""
    scene: Scene | None = None
    """The channel as its platform shows it now; None: it does not."""
    read_past: Callable[[int], None] | None = None
    """Begins to read what was said in a channel before; None: the platform does not show it, or nobody wants it."""
    parent_id: int | None = None
    """The channel or forum that a thread or post is in."""
    may_manage: bool = False
    """Whoever asks has the right to manage this channel."""
    say: Callable[[str], Awaitable[None]] | None = None
    """Says something to everybody who reads there, without a model; None: nothing can be said."""


async def find_no_place(channel_id: int) -> SlashPlace | None:
    """For platforms that show no other channel than the one a command is used in."""
    return None


@dataclass(frozen=True, kw_only=True)
class SlashContext:
    """Who asks, where, and with which words after the name."""

    channel_id: int
    author: Author
    is_operator: bool
    words: str = ""
    may_manage: bool = False
    """Has the right to manage this channel."""
    from_form: bool = False
    """The words were written into the command's form: none of them is an answer, too."""
    place: SlashPlace | None = None
    """None: a door that is no channel among channels, like the terminal."""
    columns: int = ENDLESS
    """Of the window that the answer is shown in."""
    answers_at: Place | None = None
    """Where the familiar speaks here; None: nowhere."""
    may_control: bool = False
    """The owner lets them use the controls of a chat."""
    controls_section: str | None = None
    """The section of the settings in which `controls` says who may use them; None: the platform has none."""
    acknowledge: Callable[[str], Awaitable[None]] = _ignore_acknowledgement
    """Says a first word where the answer takes longer than people wait."""
    find_place: Callable[[int], Awaitable[SlashPlace | None]] = find_no_place
    """Another channel of the same server, as the asker meets it; None: it cannot be seen."""
    message_id: str | None = None
    """The message that it is used on, by the platform's own id; None: on none."""
    may_manage_server: bool = False
    others_read: bool = False
    """The answer is shown to everybody who reads the channel."""
    names: Mapping[str, str] = field(default_factory=dict)
    """What those are called whose ids stand in the words, where the platform says so."""

    @property
    def guild_id(self) -> int | None:
        return self.place.guild_id if self.place is not None else None


@dataclass(frozen=True, kw_only=True)
class SlashFile:
    """A text that comes along as a file."""

    name: str
    text: str


@dataclass(frozen=True, kw_only=True)
class SlashPicker:
    """Something to choose from below an answer; what is chosen is used as the command's words, behind *words*."""

    kind: OptionKind
    label: str
    words: str
    may_be_empty: bool = False
    """Choosing nothing is a choice, too."""


@dataclass(frozen=True, kw_only=True)
class SlashReply:
    """The answer; visible to the asker only unless said otherwise."""

    text: str
    public: bool = False
    file: SlashFile | None = None
    """The whole of it, where the text is only the short of it."""
    is_aside: bool = False
    """Said beside the chat: what was asked for is shown in it already."""
    draft: str | None = None
    """Words for the asker to say, or to change first, where a line can be begun for them."""
    channel_id: int | None = None
    """The chat to go on in, where one door has several."""
    pickers: tuple[SlashPicker, ...] = ()
    """Shown below the answer where a platform can; elsewhere the words that they stand for are typed."""
    replaces: bool = False
    """Chosen in a picker, the answer stands in place of the one that the picker was below."""


@dataclass(frozen=True, kw_only=True)
class SlashOption:
    """A word or more after the name; the last option of a command takes all the rest."""

    name: str
    description: str
    required: bool = False
    choices: tuple[str, ...] = ()
    suggest: Callable[[Familiar, str], Awaitable[list[str]]] | None = None
    """What someone who has begun to type may mean."""
    suggest_to_operator: Callable[[Familiar, str], Awaitable[list[str]]] | None = None
    """The same for the operator, where they are offered more."""
    kind: OptionKind = OptionKind.text
    words: str = ""
    """Stand before the value, where a platform has a field for it, so that the command knows what it is."""


@dataclass(frozen=True, kw_only=True)
class SlashForm:
    """One field of text to fill in; what is written comes back as the command's words."""

    title: str
    label: str
    value: str = ""
    placeholder: str = ""
    max_length: int = 4000


SlashHandler = Callable[[SlashContext, "Familiar"], Awaitable[SlashReply]]


@dataclass(frozen=True, kw_only=True)
class SlashCommand:
    """A command that people use in chat: its name, what it does, who may use it, and the function that does it."""

    name: str
    description: str
    run: SlashHandler
    operator_only: bool = False
    needs_manage: bool = False
    """For those who may manage the channel, and the operator."""
    options: tuple[SlashOption, ...] = ()
    form: Callable[[SlashContext, Familiar], Awaitable[SlashForm]] | None = None
    """Where a platform has forms, the command opens this one first."""
    words: tuple[str, ...] = ()
    """Words that may follow the name, besides what its first option offers: for where lines are typed."""
    message_title: str = ""
    """What it is called where it is offered on a message, which `message_id` names; empty: it is typed."""
    is_control: bool = False
    """For those the owner lets control a chat, and those who may manage the channel."""
    channels_only: bool = False
    """Makes sense only where there are channels to choose from."""
    servers_only: bool = False
    """Makes sense only on a server; refused elsewhere, or without effect there."""
    needs_chats: bool = False
    """Of use only where one door has several chats."""
    needs_voice: bool = False
    """Of use only where the familiar can hear or speak aloud."""


class SlashCommands:
    """Commands by name: those of a program, and those that a familiar's extensions add."""

    def __init__(self, commands: Sequence[SlashCommand], message_actions: Sequence[SlashCommand] = ()) -> None:
        self._commands = tuple(commands)
        self.message_actions = tuple(message_actions)
        """What can be done to one message, each under its `message_title`."""

    def list_for(self, familiar: Familiar) -> tuple[SlashCommand, ...]:
        """The commands of *familiar*: ours, then those of extensions that have a name of their own."""
        added = {each.name: each for each in familiar.added.slash_commands if isinstance(each, SlashCommand)}
        return (*self._commands, *(each for name, each in added.items() if self.find(name) is None))

    def find(self, name: str, familiar: Familiar | None = None) -> SlashCommand | None:
        """The command called *name*, among those of *familiar*; among ours alone where none is given."""
        among = self._commands if familiar is None else self.list_for(familiar)
        return next((each for each in among if each.name == name), None)


def is_offered_at(wanted: SlashCommand, ctx: SlashContext) -> bool:
    """Whether the command makes sense where it would be used."""
    voice = ctx.place.voice if ctx.place is not None else None
    if wanted.needs_voice and voice is None:
        return False
    return ctx.guild_id is not None or not (wanted.channels_only or wanted.servers_only)


def refusal(wanted: SlashCommand, ctx: SlashContext) -> str | None:
    """Why the asker may not use the command; None: they may."""
    if ctx.is_operator:
        return None
    if wanted.operator_only:
        return tr(NOT_THE_OPERATOR)
    if wanted.is_control and not (ctx.may_control or ctx.may_manage):
        section = ctx.controls_section
        return tr(MAY_NOT_MANAGE) if section is None else tr(MAY_NOT_CONTROL).format(section=section)
    if wanted.needs_manage and not ctx.may_manage:
        return tr(MAY_NOT_MANAGE)
    return None


async def run_command(wanted: SlashCommand, ctx: SlashContext, familiar: Familiar) -> SlashReply:
    """Use the command if the asker may; whatever goes wrong is an answer, too."""
    refused = refusal(wanted, ctx)
    if refused is not None:
        return SlashReply(text=refused)
    try:
        return _without_paths(await wanted.run(ctx, familiar), ctx, familiar)
    except FamiliarError as error:
        logger.warning("slash command refused", extra={"command": wanted.name, "error": type(error).__name__})
        if isinstance(error, ConfigError) and not ctx.is_operator:
            return SlashReply(text=tr(WRONG_SETTINGS))
        return _without_paths(SlashReply(text=str(error)), ctx, familiar)
    except Exception as error:  # isolation: one command that fails ends nothing else
        logger.exception("slash command failed", extra={"command": wanted.name})
        return SlashReply(text=tr("That did not work ({name}). The log says more.").format(name=type(error).__name__))


def _without_paths(reply: SlashReply, ctx: SlashContext, familiar: Familiar) -> SlashReply:
    """*reply*, where it tells nobody but the operator where the owner's files lie."""
    if ctx.is_operator:
        return reply
    shown = f"{reply.text}\n{reply.file.text if reply.file is not None else ''}\n{reply.draft or ''}"
    folders = {str(each) for each in (familiar.root, familiar.root.resolve(), Path.home())} - {"/"}
    return SlashReply(text=tr(ONLY_FOR_OWNER)) if any(folder in shown for folder in folders) else reply
