"""Slash commands on Discord: they are made known there, and each use of one answered, to the asker alone."""

from __future__ import annotations

import asyncio
import io
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from familiar_connect.api import Place, PlatformHost, Scene, SlashCommand, SlashContext, SlashReply
from familiar_connect.api.commands import CommandHost, OptionKind, SlashFile, SlashForm, SlashPlace
from familiar_connect.api.messages import ChannelContext, ChannelKind
from familiar_connect.api.support import truncate_chars
from familiar_connect.extensions.discord.commands.components import draw_pickers, read_use
from familiar_connect.extensions.discord.commands.payloads import MAX_DESCRIPTION
from familiar_connect.extensions.discord.commands.reply_buttons import OLDER
from familiar_connect.extensions.discord.errors import delivery_error
from familiar_connect.extensions.discord.people import author_of, visible_name
from familiar_connect.extensions.discord.scene import channel_context
from familiar_connect.extensions.discord.voice.sessions import VoiceSessions

logger = logging.getLogger(__name__)

MAX_TEXT = 2000
MAX_SUGGESTIONS = 25
PATIENCE_S = 1.5
"""Discord gives a command three seconds for its first word."""
SAY_WITHIN_S = 30.0
UNKNOWN = "I do not know that command any more. Discord shows the new ones soon."
MOST_MESSAGES = 3
"""What only the asker sees and fits in so many messages is no file."""
SEEN_BELOW = "Everyone can see the answer below."
IN_FULL = "The answer is long, so it is in the file."


class Interactions:
    """Answers the uses of commands, forms and half-typed options."""

    def __init__(
        self,
        host: PlatformHost,
        owners: frozenset[int],
        *,
        scene_at: Callable[[Any], Awaitable[Scene | None]],
        read_past: Callable[[int], None] | None = None,
        place_at: Callable[[Any], Place | None] = lambda _channel: None,
        voice: VoiceSessions | None = None,
        why_no_voice: str | None = None,
    ) -> None:
        """*read_past* begins to read what was said in a channel, by its id, before; None: nobody wants that.

        *why_no_voice* is said where there is no *voice*.
        """
        self._voice = voice
        self._why_no_voice = why_no_voice
        self._read_past = read_past
        self._host = host
        self._commands: CommandHost = host.commands
        self._owners = owners
        self._scene_at = scene_at
        self._place_at = place_at

    async def answer(self, interaction: Any) -> None:
        kind = interaction.type.name
        if kind == "application_command":
            await self._command(interaction)
        elif kind == "modal_submit":
            await self._form(interaction)
        elif kind == "component":
            await self._component(interaction)
        elif kind == "auto_complete":
            await self._suggest(interaction)

    async def _command(self, interaction: Any) -> None:
        said = _Answer(interaction)
        name, message_id = interaction.data["name"], interaction.data.get("target_id")
        wanted = self._commands.find(name) if message_id is None else self._commands.find_message_action(name)
        if wanted is None:
            await said.finish(SlashReply(text=UNKNOWN))
            return
        words = _words_of(wanted, interaction.data.get("options") or [], self._host.platform)
        if wanted.form is None:
            await said.give(self._run(wanted, interaction, said, words=words, message_id=message_id), wanted.name)
            return
        ctx = replace(await self._context(interaction, said, words=words), message_id=message_id)
        if self._commands.why_refused(wanted, ctx) is not None:
            await said.give(self._commands.run(wanted, ctx), wanted.name)
            return
        try:
            form = await self._commands.open_form(wanted, ctx)
            assert form is not None
            if isinstance(form, SlashReply):
                await said.finish(form)
            else:
                await said.open(wanted, form, message_id)
        except Exception as error:  # isolation: a form that cannot be made is said in a sentence
            logger.exception("form could not be opened", extra={"command": wanted.name})
            await said.finish(SlashReply(text=f"The form could not be opened ({type(error).__name__})."))

    async def _run(
        self, wanted: SlashCommand, interaction: Any, said: _Answer, *, message_id: str | None = None, **how: Any
    ) -> SlashReply:
        """Look at where it is used, which may take a while, and do it."""
        ctx = await self._context(interaction, said, **how)
        return await self._commands.run(wanted, replace(ctx, message_id=message_id))

    async def _component(self, interaction: Any) -> None:
        """Something below an answer was used: the command that it stands for is, with what was chosen."""
        found = read_use(interaction.data)
        if found is None:  # of an older version of ours, or of nobody
            return
        name, words = found
        said = _Answer(interaction)
        wanted = self._commands.find(name)
        if wanted is None:
            await said.finish(SlashReply(text=UNKNOWN))
            return
        if await self._is_old(interaction, wanted):
            await said.finish(SlashReply(text=OLDER))
            return
        await said.give(self._run(wanted, interaction, said, words=words), wanted.name)

    async def _is_old(self, interaction: Any, wanted: SlashCommand) -> bool:
        """Whether a control stands below a reply that is not the newest: it would be used on that one instead."""
        message = interaction.message
        if not wanted.is_control or message is None or message.flags.ephemeral:
            return False
        return not await self._commands.is_newest_reply(interaction.channel_id, str(message.id))

    async def _form(self, interaction: Any) -> None:
        said = _Answer(interaction)
        name, _, message_id = str(interaction.data["custom_id"]).partition(":")
        wanted = self._commands.find_message_action(name) if message_id else self._commands.find(name)
        if wanted is None:
            await said.finish(SlashReply(text=UNKNOWN))
            return
        written = _filled_in(interaction.data)
        work = self._run(wanted, interaction, said, words=written, from_form=True, message_id=message_id or None)
        await said.give(work, wanted.name)

    async def _suggest(self, interaction: Any) -> None:
        wanted = self._commands.find(interaction.data["name"])
        options = interaction.data.get("options") or []
        focused = next((option for option in options if option.get("focused")), None)
        known = wanted.options if wanted is not None else ()
        option = next((each for each in known if focused is not None and each.name == focused["name"]), None)
        found: list[str] = []
        if wanted is not None and focused is not None and option is not None and option.suggest is not None:
            ctx = await self._context(interaction, None, words="")
            if self._commands.why_refused(wanted, ctx) is None:
                begun = str(focused.get("value", ""))
                found = await self._commands.suggest(option, begun, is_operator=ctx.is_operator)
        await interaction.response.send_autocomplete_result(choices=_choices(found))

    async def _context(
        self, interaction: Any, said: _Answer | None, *, words: str, from_form: bool = False
    ) -> SlashContext:
        user = interaction.user
        scene = await self._scene(interaction.channel)
        context = SlashContext(
            channel_id=interaction.channel_id,
            author=author_of(user),
            is_operator=user.id in self._owners,
            words=words,
            may_manage=bool(interaction.permissions.manage_channels),
            from_form=from_form,
            place=replace(
                _place(interaction),
                scene=scene,
                read_past=self._read_past,
                voice=voice_control(self._voice, interaction) if self._voice is not None else None,
                why_no_voice=self._why_no_voice,
            ),
            answers_at=self._place_at(interaction.channel),
            may_control=self._may_control(interaction),
            controls_section=self._host.platform,
            find_place=partial(self._find_place, interaction),
            may_manage_server=bool(interaction.permissions.manage_guild),
            names=_resolved_names(interaction.data),
        )
        return context if said is None else replace(context, acknowledge=said.acknowledge)

    def _may_control(self, interaction: Any) -> bool:
        if interaction.guild_id is None or self._host.settings.controls == "everyone":
            return True
        roles = [str(each.id) for each in getattr(interaction.user, "roles", ())]
        return self._commands.is_granted(interaction.guild_id, person=str(interaction.user.id), roles=roles)

    async def _find_place(self, interaction: Any, channel_id: int) -> SlashPlace | None:
        """Another channel of the server that a command was used on, as its user meets it."""
        guild = interaction.guild
        channel = guild.get_channel_or_thread(channel_id) if guild is not None else None
        is_lost = channel is not None and hasattr(channel, "parent") and channel.parent is None
        if channel is None or guild.me is None or is_lost:
            return None
        ours, theirs = channel.permissions_for(guild.me), channel.permissions_for(interaction.user)
        here = channel_context(channel)
        in_thread = here.kind in (ChannelKind.thread, ChannelKind.forum_post)

        async def say(text: str) -> None:
            try:
                async with asyncio.timeout(SAY_WITHIN_S):
                    await channel.send(text)
            except Exception as error:  # isolation: it listens all the same
                logger.warning("a line could not be said", extra={"reason": str(delivery_error(error))})

        return SlashPlace(
            channel=here,
            guild_id=guild.id,
            can_view=bool(ours.view_channel),
            can_send=bool(ours.send_messages_in_threads if in_thread else ours.send_messages),
            join=channel.join if in_thread else None,
            parent_id=getattr(channel, "parent_id", None) if in_thread else None,
            read_past=self._read_past,
            may_manage=bool(theirs.manage_channels) or interaction.user.id in self._owners,
            say=say,
        )

    async def _scene(self, channel: Any) -> Scene | None:
        """The channel as it is now; None where it cannot be seen."""
        try:
            return await self._scene_at(channel)
        except Exception as error:  # isolation: without it less is told
            logger.warning("a channel could not be looked at", extra={"error": type(error).__name__})
            return None


def _words_of(wanted: SlashCommand, given: Sequence[dict[str, Any]], platform: str) -> str:
    """What was chosen and typed, in the order of the command's own options, as if it were one line."""
    values = {each["name"]: each["value"] for each in given}
    found = []
    for option in wanted.options:
        if option.name in values:
            value = f"{values[option.name]}"
            is_person = option.kind is OptionKind.person
            found += [option.words, f"{platform}:{value}" if is_person else value]
    return " ".join(filter(None, found))


def _resolved_names(data: dict[str, Any]) -> dict[str, str]:
    """What Discord says people, roles and channels are called whose ids it gave."""
    resolved = data.get("resolved") or {}
    names: dict[str, str] = {}
    for kind in ("users", "roles", "channels", "members"):
        for key, about in (resolved.get(kind) or {}).items():
            shown = about.get("nick") or about.get("global_name") or about.get("name") or about.get("username")
            if visible_name(shown):
                names[key] = str(shown)
    return names


def _filled_in(data: dict[str, Any]) -> str:
    """What was written into the first field of a form, whichever way it is wrapped."""
    for row in data.get("components") or []:
        for part in row.get("components") or [row.get("component") or {}]:
            if "value" in part:
                return str(part["value"])
    return ""


def _choices(found: Sequence[str]) -> list[Any]:
    import discord

    fitting = [each for each in found if 0 < len(each) <= MAX_DESCRIPTION]
    return [discord.OptionChoice(name=each, value=each) for each in fitting[:MAX_SUGGESTIONS]]


def _place(interaction: Any) -> SlashPlace:
    """Where the command was used, with what we may do there."""
    channel = interaction.channel
    rights = interaction.app_permissions
    here = channel_context(channel, other=author_of(interaction.user))
    in_thread = here.kind in (ChannelKind.thread, ChannelKind.forum_post)
    in_guild = interaction.guild_id is not None
    return SlashPlace(
        channel=here,
        guild_id=interaction.guild_id,
        can_view=not in_guild or bool(rights.view_channel),
        can_send=not in_guild or bool(rights.send_messages_in_threads if in_thread else rights.send_messages),
        join=channel.join if in_thread else None,
        parent_id=getattr(channel, "parent_id", None) if in_thread else None,
    )


class _Answer:
    """The answer to one use, in as many parts as it takes."""

    def __init__(self, interaction: Any) -> None:
        self._interaction = interaction
        self._is_hidden_already = False
        """Discord shows the asker alone that something is being thought about; the answer can only be as hidden."""

    async def acknowledge(self, text: str) -> None:
        await self.finish(SlashReply(text=text))

    async def give(self, work: Any, name: str = "") -> None:
        """Wait for the reply of the command *name*; where it takes longer than Discord waits, say so first."""
        task: asyncio.Task[SlashReply] = asyncio.ensure_future(work)
        try:
            await asyncio.wait({task}, timeout=PATIENCE_S)
            if not task.done() and not self._interaction.response.is_done():
                await self._interaction.response.defer(ephemeral=True)
                self._is_hidden_already = self._interaction.type.name == "application_command"
            reply = await task
        finally:
            task.cancel()
        await self.finish(reply, name)

    async def open(self, wanted: SlashCommand, form: SlashForm, message_id: str | None = None) -> None:
        import discord

        field = discord.ui.InputText(
            label=truncate_chars(form.label, 45),
            style=discord.InputTextStyle.long,
            value=form.value[: form.max_length] or None,
            placeholder=form.placeholder[:MAX_DESCRIPTION] or None,
            required=False,
            max_length=form.max_length,
            custom_id="text",
        )
        meant = wanted.name if message_id is None else f"{wanted.name}:{message_id}"
        shown = discord.ui.Modal(field, title=truncate_chars(form.title, 45), custom_id=meant, store=False)
        await self._interaction.response.send_modal(shown)

    async def finish(self, reply: SlashReply, name: str = "") -> None:
        import discord

        text, file = reply.text or "(nothing)", reply.file
        may_be_split = file is None and not (reply.public or reply.replaces or reply.pickers)
        messages = split_into_messages(text) if may_be_split else [text]
        if len(messages) > MOST_MESSAGES or len(messages[0]) > MAX_TEXT:
            file = file or SlashFile(name="answer.md", text=text)
            messages = [IN_FULL]
        text, *rest = messages
        parts: dict[str, Any] = {"ephemeral": not reply.public, "allowed_mentions": discord.AllowedMentions.none()}
        if file is not None:
            parts["file"] = discord.File(io.BytesIO(file.text.encode("utf-8", "replace")), filename=file.name)
        if reply.pickers:
            parts["view"] = draw_pickers(reply.pickers, name)
        is_below = self._interaction.type.name == "component" and reply.replaces
        if is_below:
            view = {"view": parts["view"]} if "view" in parts else {}
            is_done = self._interaction.response.is_done()
            edit = self._interaction.edit_original_response if is_done else self._interaction.response.edit_message
            await edit(content=text, **view)
        elif self._interaction.response.is_done():
            if reply.public and self._is_hidden_already:
                await self._interaction.followup.send(SEEN_BELOW, ephemeral=True)
            self._is_hidden_already = False
            await self._interaction.followup.send(text, **parts)
        else:
            await self._interaction.response.send_message(text, **parts)
        for each in rest:
            await self._interaction.followup.send(each, **parts)


def split_into_messages(text: str) -> list[str]:
    """*text* in messages of whole lines; all of it in one where a line is too long for a message."""
    lines = text.split("\n")
    if max(map(len, lines)) > MAX_TEXT:
        return [text]
    messages = [lines[0]]
    for line in lines[1:]:
        if len(messages[-1]) + 1 + len(line) <= MAX_TEXT:
            messages[-1] += f"\n{line}"
        else:
            messages.append(line)
    return messages


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
