"""What an extension imports, and the only thing of ours that it imports. It re-exports; it does nothing itself.

A name is loaded when it is first asked for, so that whoever declares settings loads no platform.

These names stay as they are within a minor version: a field, a parameter or a name may be added, and none is taken
away or changes its meaning before the next minor version, whose changelog then says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from familiar_connect.support.lazy_names import load_lazily

if TYPE_CHECKING:
    from familiar_connect.audience import EVERYONE, Audience
    from familiar_connect.chat.message_parts import ReferencedMessage
    from familiar_connect.chat.place import Place, PlaceFeatures, ReplyTarget
    from familiar_connect.chat.scene import Scene
    from familiar_connect.chat.types import InboundMessage, ListedUser
    from familiar_connect.config.types import ChannelMode
    from familiar_connect.context.layers import Layer
    from familiar_connect.context.protocols import ContextProvider, PostProcessor, PreProcessor
    from familiar_connect.context.types import ContextRequest, Contribution
    from familiar_connect.errors import ConfigError, DeliveryError, SetupError
    from familiar_connect.extensions.host import PlatformHost, ReadBy
    from familiar_connect.extensions.part_context import PartContext
    from familiar_connect.extensions.parts import Extension, ExtensionPlatform, PlatformPart, SlashPart, VerbPart
    from familiar_connect.extensions.turn_parts import ModelPart, ProcessorPart, ProviderPart, ToolPart
    from familiar_connect.identity import Author
    from familiar_connect.llm.protocols import ChatModel
    from familiar_connect.llm.types import Capabilities, Message
    from familiar_connect.slash.command import SlashCommand, SlashContext, SlashReply
    from familiar_connect.support.clock import Clock
    from familiar_connect.tools.types import Outcome, Refusal, Status, Tool, tool_spec

__all__ = [
    "EVERYONE",
    "Audience",
    "Author",
    "Capabilities",
    "ChannelMode",
    "ChatModel",
    "Clock",
    "ConfigError",
    "ContextProvider",
    "ContextRequest",
    "Contribution",
    "DeliveryError",
    "Extension",
    "ExtensionPlatform",
    "InboundMessage",
    "Layer",
    "ListedUser",
    "Message",
    "ModelPart",
    "Outcome",
    "PartContext",
    "Place",
    "PlaceFeatures",
    "PlatformHost",
    "PlatformPart",
    "PostProcessor",
    "PreProcessor",
    "ProcessorPart",
    "ProviderPart",
    "ReadBy",
    "ReferencedMessage",
    "Refusal",
    "ReplyTarget",
    "Scene",
    "SetupError",
    "SlashCommand",
    "SlashContext",
    "SlashPart",
    "SlashReply",
    "Status",
    "Tool",
    "ToolPart",
    "VerbPart",
    "tool_spec",
]

_HOMES = {
    "audience": (
        "EVERYONE",
        "Audience",
    ),
    "chat.message_parts": ("ReferencedMessage",),
    "chat.place": (
        "Place",
        "PlaceFeatures",
        "ReplyTarget",
    ),
    "chat.scene": ("Scene",),
    "chat.types": (
        "InboundMessage",
        "ListedUser",
    ),
    "config.types": ("ChannelMode",),
    "context.layers": ("Layer",),
    "context.protocols": (
        "ContextProvider",
        "PostProcessor",
        "PreProcessor",
    ),
    "context.types": (
        "ContextRequest",
        "Contribution",
    ),
    "errors": (
        "ConfigError",
        "DeliveryError",
        "SetupError",
    ),
    "extensions.host": (
        "PlatformHost",
        "ReadBy",
    ),
    "extensions.part_context": ("PartContext",),
    "extensions.parts": (
        "Extension",
        "ExtensionPlatform",
        "PlatformPart",
        "SlashPart",
        "VerbPart",
    ),
    "extensions.turn_parts": (
        "ModelPart",
        "ProcessorPart",
        "ProviderPart",
        "ToolPart",
    ),
    "identity": ("Author",),
    "llm.protocols": ("ChatModel",),
    "llm.types": (
        "Capabilities",
        "Message",
    ),
    "slash.command": (
        "SlashCommand",
        "SlashContext",
        "SlashReply",
    ),
    "support.clock": ("Clock",),
    "tools.types": (
        "Outcome",
        "Refusal",
        "Status",
        "Tool",
        "tool_spec",
    ),
}


__getattr__ = load_lazily(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
