"""Slash commands on Discord: they are made known there, and each use of one answered, to the asker alone."""

from __future__ import annotations

import asyncio
import io
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any

from familiar_connect.api import Place, PlatformHost, Scene, SlashCommand, SlashContext, SlashReply
from familiar_connect.api.commands import CommandHost, SlashFile, SlashForm, SlashPlace
from familiar_connect.api.messages import ChannelKind
from familiar_connect.api.support import truncate_chars
from familiar_connect.extensions.discord.people import author_of
from familiar_connect.extensions.discord.scene import channel_context
from familiar_connect.extensions.discord.settings import Settings
from familiar_connect.extensions.discord.voice.control import voice_control
from familiar_connect.extensions.discord.voice.sessions import VoiceSessions

logger = logging.getLogger(__name__)

MAX_TEXT = 2000
MAX_DESCRIPTION = 100
MAX_SUGGESTIONS = 25
PATIENCE_S = 1.5
"""Discord gives a command three seconds for its first word."""
CHAT_INPUT, STRING = 1, 3
IN_SERVERS, IN_DIRECT = 0, 1
MANAGE_CHANNELS, ADMINISTRATORS = str(1 << 4), "0"
"""Rights as Discord counts them; without any, a command is shown to administrators alone."""
CONTROLS_UNLESS_SET = Settings.controls
UNKNOWN = "I do not know that command any more. Discord shows the new ones soon."
IN_FULL = "The answer is long, so it is in the file."


def command_payloads(
    commands: Sequence[SlashCommand], *, controls: str = CONTROLS_UNLESS_SET, has_voice: bool = False
) -> list[dict[str, Any]]:
    """The commands as Discord wants them told; those of parts that are not there are left out.

    *controls* says who may control a chat, as the setting does.
    """
    return [_payload(each, controls) for each in commands if has_voice or not each.needs_voice]


def _default_permissions(wanted: SlashCommand, controls: str) -> str | None:
    """Whom Discord shows the command to, unless a server's own settings say otherwise; None: everyone."""
    if wanted.operator_only:
        return ADMINISTRATORS
    if wanted.needs_manage or (wanted.is_control and controls != "everyone"):
        return MANAGE_CHANNELS
    return None


def _payload(wanted: SlashCommand, controls: str) -> dict[str, Any]:
    options = [
        {
            "type": STRING,
            "name": option.name,
            "description": option.description[:MAX_DESCRIPTION],
            "required": option.required,
            **({"choices": [{"name": each, "value": each} for each in option.choices]} if option.choices else {}),
            **({"autocomplete": True} if option.suggest is not None else {}),
        }
        for option in wanted.options
    ]
    return {
        "type": CHAT_INPUT,
        "name": wanted.name,
        "description": wanted.description[:MAX_DESCRIPTION],
        "options": options,
        "default_member_permissions": _default_permissions(wanted, controls),
        "contexts": [IN_SERVERS] if wanted.channels_only else [IN_SERVERS, IN_DIRECT],
    }


async def register_commands(
    client: Any,
    commands: Sequence[SlashCommand],
    *,
    controls: str = CONTROLS_UNLESS_SET,
    has_voice: bool = False,
) -> bool:
    """Bring the commands Discord shows level with ours; whether anything had to change."""
    app_id = client.application_id
    wanted = command_payloads(commands, controls=controls, has_voice=has_voice)
    present = await client.http.get_global_commands(app_id)
    if _comparable(present) == _comparable(wanted):
        return False
    await client.http.bulk_upsert_global_commands(app_id, wanted)
    return True


def _comparable(commands: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What is said of each command, without what Discord adds."""
    return {
        each["name"]: (
            each["description"],
            sorted(each.get("contexts") or []),
            each.get("default_member_permissions"),
            [
                (
                    option["name"],
                    option["description"],
                    bool(option.get("required")),
                    bool(option.get("autocomplete")),
                    [choice["value"] for choice in option.get("choices") or []],
                )
                for option in each.get("options") or []
            ],
        )
        for each in commands
    }


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
        elif kind == "auto_complete":
            await self._suggest(interaction)

    async def _command(self, interaction: Any) -> None:
        said = _Answer(interaction)
        wanted = self._commands.find(interaction.data["name"])
        if wanted is None:
            await said.finish(SlashReply(text=UNKNOWN))
            return
        values = [str(option["value"]) for option in _in_order(wanted, interaction.data.get("options") or [])]
        ctx = await self._context(interaction, said, words=" ".join(values))
        if wanted.form is None or self._commands.why_refused(wanted, ctx) is not None:
            await said.give(self._commands.run(wanted, ctx))
            return
        try:
            form = await self._commands.open_form(wanted, ctx)
            assert form is not None
            await said.open(wanted, form)
        except Exception as error:  # isolation: a form that cannot be made is said in a sentence
            logger.exception("form could not be opened", extra={"command": wanted.name})
            await said.finish(SlashReply(text=f"The form could not be opened ({type(error).__name__})."))

    async def _form(self, interaction: Any) -> None:
        said = _Answer(interaction)
        wanted = self._commands.find(interaction.data["custom_id"])
        if wanted is None:
            await said.finish(SlashReply(text=UNKNOWN))
            return
        ctx = await self._context(interaction, said, words=_filled_in(interaction.data), from_form=True)
        await said.give(self._commands.run(wanted, ctx))

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
                found = await self._commands.suggest(option, str(focused.get("value", "")))
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
            may_control=interaction.guild_id is None or self._host.settings.controls == "everyone",
            controls_section=self._host.platform,
        )
        return context if said is None else replace(context, acknowledge=said.acknowledge)

    async def _scene(self, channel: Any) -> Scene | None:
        """The channel as it is now; None where it cannot be seen."""
        try:
            return await self._scene_at(channel)
        except Exception as error:  # isolation: without it less is told
            logger.warning("a channel could not be looked at", extra={"error": type(error).__name__})
            return None


def _in_order(wanted: SlashCommand, given: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    names = [option.name for option in wanted.options]
    return sorted((each for each in given if each["name"] in names), key=lambda each: names.index(each["name"]))


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

    async def acknowledge(self, text: str) -> None:
        await self.finish(SlashReply(text=text))

    async def give(self, work: Any) -> None:
        """Wait for the reply; where it takes longer than Discord waits, say so first."""
        task: asyncio.Task[SlashReply] = asyncio.ensure_future(work)
        try:
            await asyncio.wait({task}, timeout=PATIENCE_S)
            if not task.done() and not self._interaction.response.is_done():
                await self._interaction.response.defer(ephemeral=True)
            reply = await task
        finally:
            task.cancel()
        await self.finish(reply)

    async def open(self, wanted: SlashCommand, form: SlashForm) -> None:
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
        shown = discord.ui.Modal(field, title=truncate_chars(form.title, 45), custom_id=wanted.name, store=False)
        await self._interaction.response.send_modal(shown)

    async def finish(self, reply: SlashReply) -> None:
        import discord

        text, file = reply.text or "(nothing)", reply.file
        if len(text) > MAX_TEXT:
            file = file or SlashFile(name="answer.md", text=text)
            text = IN_FULL
        parts: dict[str, Any] = {"ephemeral": not reply.public, "allowed_mentions": discord.AllowedMentions.none()}
        if file is not None:
            parts["file"] = discord.File(io.BytesIO(file.text.encode("utf-8", "replace")), filename=file.name)
        if self._interaction.response.is_done():
            await self._interaction.followup.send(text, **parts)
        else:
            await self._interaction.response.send_message(text, **parts)
