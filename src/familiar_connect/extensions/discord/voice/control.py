"""DiscordVoiceControl: the voice channels of a server, as whoever uses a command meets them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from familiar_connect.api.messages import ChannelContext
from familiar_connect.extensions.discord.scene import channel_context
from familiar_connect.extensions.discord.voice.sessions import VoiceSessions


@dataclass(kw_only=True)
class DiscordVoiceControl:
    """A `VoiceControl` for one use of a command."""

    sessions: VoiceSessions
    guild_id: int
    channel: Any
    """The library's channel that the caller is in, or None."""
    caller_channel: ChannelContext | None
    caller_channel_id: int | None
    connected_channel_id: int | None
    may_connect: bool
    may_speak: bool

    async def connect(self) -> None:
        await self.sessions.join(self.channel)

    async def greet(self) -> None:
        self.sessions.greet(self.guild_id)

    async def disconnect(self) -> None:
        await self.sessions.leave(self.guild_id)


def voice_control(sessions: VoiceSessions, interaction: Any) -> DiscordVoiceControl | None:
    """What the caller of *interaction* can ask of us; None where there are no voice channels."""
    guild = interaction.guild
    if guild is None:
        return None
    member = guild.get_member(interaction.user.id) or interaction.user
    state = getattr(member, "voice", None)
    channel = state.channel if state is not None else None
    rights = channel.permissions_for(guild.me) if channel is not None else None
    return DiscordVoiceControl(
        sessions=sessions,
        guild_id=guild.id,
        channel=channel,
        caller_channel=channel_context(channel) if channel is not None else None,
        caller_channel_id=channel.id if channel is not None else None,
        connected_channel_id=sessions.channel_id_in(guild.id),
        may_connect=bool(rights and rights.view_channel and rights.connect),
        may_speak=bool(rights and rights.speak),
    )
