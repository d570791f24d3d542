"""SlashCommand: a name, what it does, who may use it, and the function that does it.

A command reads the words after its name, whatever platform they come from: typed as one line, filled into
options, or written into a form.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from familiar_connect.chat.place import Place
from familiar_connect.chat.scene import ChannelContext, Scene
from familiar_connect.familiar import Familiar
from familiar_connect.identity import Author
from familiar_connect.support.word_wrap import ENDLESS


async def _ignore_acknowledgement(text: str) -> None:
    """For platforms whose people see the answer at once."""


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

    @property
    def guild_id(self) -> int | None:
        return self.place.guild_id if self.place is not None else None


@dataclass(frozen=True, kw_only=True)
class SlashFile:
    """A text that comes along as a file."""

    name: str
    text: str


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


@dataclass(frozen=True, kw_only=True)
class SlashOption:
    """A word or more after the name; the last option of a command takes all the rest."""

    name: str
    description: str
    required: bool = False
    choices: tuple[str, ...] = ()
    suggest: Callable[[Familiar, str], Awaitable[list[str]]] | None = None
    """What someone who has begun to type may mean."""


@dataclass(frozen=True, kw_only=True)
class SlashForm:
    """One field of text to fill in; what is written comes back as the command's words."""

    title: str
    label: str
    value: str = ""
    placeholder: str = ""
    max_length: int = 4000


SlashHandler = Callable[[SlashContext, Familiar], Awaitable[SlashReply]]


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
    is_control: bool = False
    """For those the owner lets control a chat, and those who may manage the channel."""
    channels_only: bool = False
    """Makes sense only where there are channels to choose from."""
    servers_only: bool = False
    """Makes sense only on a server; refused elsewhere, or without effect there."""
    needs_voice: bool = False
    """Of use only where the familiar can hear or speak aloud."""
