"""COMMANDS: the ordered list of slash commands that every platform reads; `use`, by which each is used."""

from __future__ import annotations

import logging
import re

from familiar_connect.familiar import Familiar
from familiar_connect.slash.channel import BACKDROP, MODES
from familiar_connect.slash.chats import BRANCH, CHAT
from familiar_connect.slash.command import (
    SlashCommand,
    SlashCommands,
    SlashContext,
    SlashReply,
    is_offered_at,
    refusal,
)
from familiar_connect.slash.conditioning import PUNISH, REWARD
from familiar_connect.slash.context import CONTEXT
from familiar_connect.slash.dialogue_start import DIALOGUE_START_COMMANDS
from familiar_connect.slash.greeting import GREETING
from familiar_connect.slash.ignore import IGNORE, UNIGNORE
from familiar_connect.slash.link import LINK, UNLINK
from familiar_connect.slash.memory import MEMORY
from familiar_connect.slash.own_records import FORGET_ME, WHAT_DO_YOU_KNOW
from familiar_connect.slash.persona import PERSONA
from familiar_connect.slash.preset import PRESET
from familiar_connect.slash.privacy import PRIVACY, REMEMBER_EVERYWHERE
from familiar_connect.slash.quick_reply import QUICK_REPLY
from familiar_connect.slash.remind import REMIND
from familiar_connect.slash.roleplay import CONTROLS, STOP
from familiar_connect.slash.servers.limits import LIMITS
from familiar_connect.slash.servers.message_actions import MESSAGE_ACTIONS
from familiar_connect.slash.servers.model import MODEL
from familiar_connect.slash.servers.quiet import QUIET
from familiar_connect.slash.servers.setup import SETUP
from familiar_connect.slash.servers.usage import USAGE
from familiar_connect.slash.subscribe import (
    SUBSCRIBE_FORUM,
    SUBSCRIBE_TEXT,
    SUBSCRIBE_VOICE,
    UNSUBSCRIBE_FORUM,
    UNSUBSCRIBE_TEXT,
    UNSUBSCRIBE_VOICE,
)
from familiar_connect.support.translate import later, tr

logger = logging.getLogger(__name__)


async def run_help(ctx: SlashContext, familiar: Familiar) -> SlashReply:
    """What the asker may use in this place."""
    there = [each for each in BUILT_IN_COMMANDS.list_for(familiar) if ctx.place is None or not each.needs_chats]
    usable = [each for each in there if is_offered_at(each, ctx) and refusal(each, ctx) is None]
    return SlashReply(text="\n".join(f"`/{each.name}` {_in_short(each)}" for each in usable))


def _in_short(wanted: SlashCommand) -> str:
    """What a command does, without how its words are put."""
    return re.split(r"[;:.；：。]", tr(wanted.description), maxsplit=1)[0]


HELP = SlashCommand(name="help", description=later("List the commands you can use here."), run=run_help)

COMMANDS: tuple[SlashCommand, ...] = (
    HELP,
    SETUP,
    SUBSCRIBE_TEXT,
    UNSUBSCRIBE_TEXT,
    SUBSCRIBE_FORUM,
    UNSUBSCRIBE_FORUM,
    SUBSCRIBE_VOICE,
    UNSUBSCRIBE_VOICE,
    *MODES,
    LINK,
    UNLINK,
    BACKDROP,
    CONTEXT,
    MEMORY,
    PRESET,
    MODEL,
    PERSONA,
    PRIVACY,
    REMEMBER_EVERYWHERE,
    REWARD,
    PUNISH,
    IGNORE,
    UNIGNORE,
    STOP,
    QUIET,
    LIMITS,
    USAGE,
    REMIND,
    WHAT_DO_YOU_KNOW,
    FORGET_ME,
    *CONTROLS,
    *DIALOGUE_START_COMMANDS,
    GREETING,
    QUICK_REPLY,
    CHAT,
    BRANCH,
)

BUILT_IN_COMMANDS = SlashCommands(COMMANDS, MESSAGE_ACTIONS)
"""Those that come with the program, and what can be done to one message."""
find_command = BUILT_IN_COMMANDS.find
