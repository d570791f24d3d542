"""COMMANDS: the ordered list of slash commands that every platform reads; `use`, by which each is used."""

from __future__ import annotations

import logging
import re
from pathlib import Path

from familiar_connect.errors import ConfigError, FamiliarError
from familiar_connect.familiar import Familiar
from familiar_connect.slash.channel import BACKDROP, MODES
from familiar_connect.slash.chats import BRANCH, CHAT
from familiar_connect.slash.command import SlashCommand, SlashContext, SlashReply
from familiar_connect.slash.conditioning import PUNISH, REWARD
from familiar_connect.slash.context import CONTEXT
from familiar_connect.slash.greeting import GREETING
from familiar_connect.slash.ignore import IGNORE, UNIGNORE
from familiar_connect.slash.marks import MARKS
from familiar_connect.slash.memory import MEMORY
from familiar_connect.slash.own_records import FORGET_ME, WHAT_DO_YOU_KNOW
from familiar_connect.slash.persona import PERSONA
from familiar_connect.slash.preset import PRESET
from familiar_connect.slash.privacy import PRIVACY, REMEMBER_EVERYWHERE
from familiar_connect.slash.remind import REMIND
from familiar_connect.slash.roleplay import CONTROLS
from familiar_connect.slash.stop import STOP
from familiar_connect.slash.subscribe import (
    SUBSCRIBE_FORUM,
    SUBSCRIBE_TEXT,
    SUBSCRIBE_VOICE,
    UNSUBSCRIBE_FORUM,
    UNSUBSCRIBE_TEXT,
    UNSUBSCRIBE_VOICE,
)

logger = logging.getLogger(__name__)


async def run_help(ctx: SlashContext, familiar: Familiar) -> SlashReply:
    """What the asker may use in this place."""
    usable = [each for each in commands_of(familiar) if is_offered_at(each, ctx) and refusal(each, ctx) is None]
    return SlashReply(text="\n".join(f"`/{each.name}` {_in_short(each)}" for each in usable))


def _in_short(wanted: SlashCommand) -> str:
    """What a command does, without how its words are put."""
    return re.split(r"[;:.]", wanted.description, maxsplit=1)[0]


HELP = SlashCommand(name="help", description="What you may ask of me here.", run=run_help)

COMMANDS: tuple[SlashCommand, ...] = (
    HELP,
    SUBSCRIBE_TEXT,
    UNSUBSCRIBE_TEXT,
    SUBSCRIBE_FORUM,
    UNSUBSCRIBE_FORUM,
    SUBSCRIBE_VOICE,
    UNSUBSCRIBE_VOICE,
    *MODES,
    BACKDROP,
    CONTEXT,
    MEMORY,
    PRESET,
    PERSONA,
    PRIVACY,
    REMEMBER_EVERYWHERE,
    REWARD,
    PUNISH,
    IGNORE,
    UNIGNORE,
    STOP,
    REMIND,
    WHAT_DO_YOU_KNOW,
    FORGET_ME,
    *CONTROLS,
    *MARKS,
    GREETING,
    CHAT,
    BRANCH,
)

NOT_THE_OPERATOR = "Only the familiar's operator may use that."
MAY_NOT_MANAGE = "That takes the right to manage this channel."
MAY_NOT_CONTROL = "That takes the right to manage this channel; `controls` under [{section}] lets everyone."
"""Where a platform's settings let everyone."""
ONLY_FOR_OWNER = "The answer names files of my owner's, so only my owner is told; `familiar doctor` says what is wrong."
WRONG_SETTINGS = "A settings file of mine is wrong. My owner finds it with `familiar doctor`."


def commands_of(familiar: Familiar) -> tuple[SlashCommand, ...]:
    """The commands of *familiar*: ours, then those of extensions that have a name of their own."""
    added = {each.name: each for each in familiar.added.slash_commands if isinstance(each, SlashCommand)}
    return (*COMMANDS, *(each for name, each in added.items() if find_command(name) is None))


def find_command(name: str, familiar: Familiar | None = None) -> SlashCommand | None:
    """The command called *name*, among those of *familiar*; among ours alone where none is given."""
    among = COMMANDS if familiar is None else commands_of(familiar)
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
        return NOT_THE_OPERATOR
    if wanted.is_control and not (ctx.may_control or ctx.may_manage):
        section = ctx.controls_section
        return MAY_NOT_MANAGE if section is None else MAY_NOT_CONTROL.format(section=section)
    if wanted.needs_manage and not ctx.may_manage:
        return MAY_NOT_MANAGE
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
            return SlashReply(text=WRONG_SETTINGS)
        return _without_paths(SlashReply(text=str(error)), ctx, familiar)
    except Exception as error:  # isolation: one command that fails ends nothing else
        logger.exception("slash command failed", extra={"command": wanted.name})
        return SlashReply(text=f"That did not work ({type(error).__name__}). The log says more.")


def _without_paths(reply: SlashReply, ctx: SlashContext, familiar: Familiar) -> SlashReply:
    """*reply*, where it tells nobody but the operator where the owner's files lie."""
    if ctx.is_operator:
        return reply
    shown = f"{reply.text}\n{reply.file.text if reply.file is not None else ''}\n{reply.draft or ''}"
    folders = {str(each) for each in (familiar.root, familiar.root.resolve(), Path.home())} - {"/"}
    return SlashReply(text=ONLY_FOR_OWNER) if any(folder in shown for folder in folders) else reply
