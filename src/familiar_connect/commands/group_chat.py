"""chat --with and chat --group: several familiars at one terminal."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from familiar_connect.commands import exit_codes
from familiar_connect.commands.common import open_root, profile_of
from familiar_connect.commands.conversation import ChatWish, TalkOptions, model_for_call
from familiar_connect.commands.upgrade import open_upgrade, wait_for_quiet
from familiar_connect.config.folders import FamiliarFolder, HomeFolder
from familiar_connect.config.groups import (
    LEAST_MEMBERS,
    GroupConfig,
    group_file,
    load_group,
    write_group,
)
from familiar_connect.errors import HomeError
from familiar_connect.support.clock import machine_zone

if TYPE_CHECKING:  # a verb loads no more than it needs
    from familiar_connect.conversation.groups.roster import GroupRoster
    from familiar_connect.familiar import Familiar
    from familiar_connect.llm.embedded.server import EmbeddedServer
    from familiar_connect.platforms.terminal.adapter import TerminalPlatform
    from familiar_connect.platforms.terminal.group_member import GroupMember
    from familiar_connect.platforms.terminal.line_input import LineReader
    from familiar_connect.platforms.terminal.own_name import OwnName
    from familiar_connect.platforms.terminal.screen import Screen
    from familiar_connect.platforms.terminal.upgrade import UpgradeOffer

BusyWith = Callable[["Familiar", "EmbeddedServer | None"], str]
"""What keeps the reply of a familiar waiting."""
LogBeside = Callable[["TerminalPlatform"], AbstractContextManager[None]]
"""Shows the log that was asked for as notes of the chat."""


@dataclass(frozen=True)
class GroupWish:
    """Whom somebody wants to talk with."""

    familiar_id: str | None
    members: tuple[str, ...]
    name: str | None


@dataclass(frozen=True, kw_only=True)
class OpenGroup:
    """A group, and the chat that each member has for it."""

    config: GroupConfig
    roots: tuple[Path, ...]
    channel_ids: tuple[int, ...]


def open_group(home: Path, wish: GroupWish, chat: ChatWish) -> OpenGroup:
    """The group that is meant, its file written where it is new, and its chat begun where there is none."""
    from familiar_connect.platforms.group_talk import label_group, open_group_chat

    if chat.name is not None:
        raise click.UsageError(
            "--chat names a chat with one familiar; a group has its own chats, and --new starts another"
        )
    named = tuple(dict.fromkeys((*((wish.familiar_id,) if wish.familiar_id else ()), *wish.members)))
    if wish.name is not None and not wish.members:
        if wish.familiar_id:
            raise click.UsageError("--familiar goes with --with: a group's file names its members")
        config, label = load_group(home, wish.name), wish.name
    else:
        config, label = GroupConfig(members=list(named)), wish.name or label_group(named)
        if len(named) < LEAST_MEMBERS:
            raise click.UsageError("a group has two familiars or more: --with ONE --with ANOTHER")
        config.check("--with")
    roots = tuple(open_root(home, each) for each in config.members)
    if wish.name is not None and wish.members:
        _write_new(home, wish.name, config)
    return OpenGroup(config=config, roots=roots, channel_ids=open_group_chat(roots, label, is_new=chat.is_new))


def _write_new(home: Path, name: str, config: GroupConfig) -> None:
    path = group_file(home, name)
    if path.exists():
        if load_group(home, name).members == config.members:
            return
        raise HomeError(
            f"{path}: there is a group called {name!r} already; leave out --with, or edit its members there"
        )
    write_group(home, name, config.members)


async def hold_group_chat(
    group: OpenGroup,
    home: Path,
    screen: Screen,
    options: TalkOptions,
    *,
    busy_with: BusyWith,
    log_beside: LogBeside,
) -> int:
    """Talk until the person leaves; the exit code."""
    from familiar_connect.conversation.groups.turn_order import TurnRules
    from familiar_connect.platforms.group_talk import build_roster
    from familiar_connect.platforms.terminal.group import GroupTerminal
    from familiar_connect.platforms.terminal.welcome import describe_models

    config = group.config
    async with AsyncExitStack() as closing:
        loaded = [await _load(root, home, options, closing) for root in group.roots]
        familiars = [familiar for familiar, _ in loaded]
        roster = build_roster(config, familiars)
        own_name, name = await _user_name(group.roots[0], familiars, options.user_name)
        members = [
            await _member(each, channel_id, name, screen, roster, busy_with)
            for each, channel_id in zip(loaded, group.channel_ids, strict=True)
        ]
        for sentence in describe_models(familiars):
            screen.note(sentence)
        reader = _reader(members[0], screen, home)
        closing.callback(reader.close)
        upgrade = _offer(familiars, home, reader, options, note=lambda sentence: platform.note(sentence))
        for familiar in familiars:
            await familiar.start()
        platform = GroupTerminal(
            members,
            roster,
            TurnRules(
                order=config.order,
                allow_self_responses=config.allow_self_responses,
                max_replies=config.max_replies,
            ),
            screen=screen,
            reader=reader,
            rng=random.Random(),
            own_name=own_name,
            upgrade=upgrade,
        )
        if upgrade is not None:
            closing.push_async_callback(upgrade.aclose)
        with log_beside(platform):
            await platform.greet(is_chosen=options.greeting is not None, greeting=options.greeting or 0)
            if upgrade is not None and all(each.config.offer_upgrade for each in familiars):
                upgrade.start(wait_for_quiet(familiars[0]))
            await platform.run()
        return exit_codes.NO_REPLY if platform.exit_code else exit_codes.OK


def _offer(
    familiars: Sequence[Familiar], home: Path, reader: LineReader, options: TalkOptions, *, note: Callable[[str], None]
) -> UpgradeOffer | None:
    """The offer of a better model where somebody types and one of *familiars* answers through the small one."""
    from familiar_connect.platforms.terminal.line_input import EditorReader

    if not isinstance(reader, EditorReader) or options.model is not None:
        return None
    is_wanted = any(each.has_small_model for each in familiars)
    return open_upgrade(familiars, home, reader, note=note) if is_wanted else None


async def _load(
    root: Path, home: Path, options: TalkOptions, closing: AsyncExitStack
) -> tuple[Familiar, EmbeddedServer | None]:
    from familiar_connect.bot import load_familiar

    model = model_for_call(root, home, options.model)
    familiar, embedded = load_familiar(
        root, home=home, defaults_path=profile_of(home), zone=machine_zone(), speaks_through=model
    )
    closing.push_async_callback(familiar.aclose)
    return familiar, embedded


async def _user_name(first: Path, familiars: Sequence[Familiar], given: str | None) -> tuple[OwnName, str | None]:
    """What keeps the person's name, and what they are called: as they say now, else as any of the familiars does."""
    from familiar_connect.platforms.terminal.own_name import OwnName
    from familiar_connect.support.aio import off_loop

    known = next((each.config.user_name for each in familiars if each.config.user_name), None)
    own_name = OwnName(FamiliarFolder(first).settings_file, is_known=bool(given or known), is_fixed=bool(given))
    if given and given != known:
        given = await off_loop(own_name.keep, given)
    return own_name, given or known


async def _member(
    loaded: tuple[Familiar, EmbeddedServer | None],
    channel_id: int,
    user_name: str | None,
    screen: Screen,
    roster: GroupRoster,
    busy_with: BusyWith,
) -> GroupMember:
    from familiar_connect.platforms.terminal.group_member import GroupMember
    from familiar_connect.platforms.terminal.place import person_at_terminal
    from familiar_connect.support.aio import off_loop

    familiar, embedded = loaded
    return GroupMember(
        familiar,
        user=await off_loop(person_at_terminal, user_name, familiar),
        channel_id=channel_id,
        screen=screen,
        roster=roster,
        busy_with=lambda: busy_with(familiar, embedded),
    )


def _reader(first: GroupMember, screen: Screen, home: Path) -> LineReader:
    from familiar_connect.platforms.group_talk import GROUP_COMMANDS
    from familiar_connect.platforms.terminal.adapter import prompt_of
    from familiar_connect.platforms.terminal.completion import LineCompletion
    from familiar_connect.platforms.terminal.help import OWN_COMMANDS, list_slash_commands
    from familiar_connect.platforms.terminal.line_input import EditorReader, PipeReader

    if screen.plain:
        return PipeReader(sys.stdin)
    screen.note("Type and press Enter. /help lists commands, Ctrl-C stops a reply, Ctrl-D leaves.")
    own = {**OWN_COMMANDS, **GROUP_COMMANDS}
    suggest = LineCompletion(first.familiar, list_slash_commands(), own).suggest
    is_private = first.familiar.stores.privacy.is_full(first.user)
    lines = None if is_private else HomeFolder(home).chat_lines(first.id)
    return EditorReader(prompt_of(screen, first.user), lines, screen=screen, suggest=suggest)
