"""CommandLineHost: this program's command line, as the verbs of an extension meet it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from familiar_connect.commands.common import familiar_from_env, home_of, open_root, profile_of, say, say_json
from familiar_connect.commands.help_lines import fit_help
from familiar_connect.commands.lazy_group import VerbGroup
from familiar_connect.config.folders import FamiliarFolder, HomeFolder
from familiar_connect.config.home import find_home, list_familiars

if TYPE_CHECKING:
    import asyncio

    from familiar_connect.extensions.host import PlatformHost
    from familiar_connect.extensions.hosts.follow_host import FollowHost
    from familiar_connect.extensions.parts import Extension
    from familiar_connect.support.clock import Clock


def fit_verb(made: click.Command) -> click.Command:
    """*made* with help as our own verbs have it; a group names the nearest member for a slip."""
    verb = _as_ours(made) if type(made) is click.Group else made
    fit_help(verb)
    return verb


def _as_ours(group: click.Group) -> VerbGroup:
    """*group* as one that names the nearest member for a slip, as our own do."""
    return VerbGroup(
        name=group.name,
        commands=group.commands,
        callback=group.callback,
        params=group.params,
        help=group.help,
        epilog=group.epilog,
        invoke_without_command=group.invoke_without_command,
        no_args_is_help=group.no_args_is_help,
        context_settings=group.context_settings,
    )


class CommandLineHost:
    """This program's command line, for the verbs of one extension."""

    def __init__(self, ctx: click.Context, extension: Extension) -> None:
        self._ctx = ctx
        self._extension = extension

    @property
    def secrets_file(self) -> Path:
        return HomeFolder(home_of(self._ctx)).secrets_file

    def say(self, text: str) -> None:
        say(text)

    def say_json(self, value: object) -> None:
        say_json(value)

    def choose_familiar(self, named: str | None) -> str:
        home = home_of(self._ctx)
        known = list_familiars(home)
        return named or familiar_from_env(home) or (known[0] if len(known) == 1 else "")

    def read_secret(self, name: str, familiar_id: str) -> tuple[str, str | None]:
        from familiar_connect.config.secrets import Secrets

        parts = [part for part in self._extension.parts if name in part.secrets]
        if not parts:
            raise click.ClickException(f"the extension {self._extension.name} may not read {name}: no part names it")
        secrets = Secrets(home_of(self._ctx))
        is_of_each = any(name in part.secrets_of_each for part in parts)
        kept_as = secrets.name_for(familiar_id, name) if is_of_each else name
        return kept_as, secrets.get(kept_as)

    def has_alters(self, familiar_id: str) -> bool:
        home = home_of(self._ctx)
        if familiar_id not in list_familiars(home):
            return False
        from familiar_connect.config import load_character_config

        file = FamiliarFolder(open_root(home, familiar_id)).settings_file
        return bool(load_character_config(file, defaults_path=profile_of(home)).alters)

    def list_familiars(self) -> Sequence[str]:
        return list_familiars(find_home(self._ctx.find_root().params.get("home")))

    @property
    def clock(self) -> Clock:
        from familiar_connect.support.clock import SystemClock

        return SystemClock()

    @property
    def folder(self) -> Path:
        return HomeFolder(home_of(self._ctx)).extension_data(self._extension.name)

    def prepare_familiar(self, familiar_id: str) -> None:
        from familiar_connect.commands.prepare import prepare_to_start

        home = home_of(self._ctx)
        prepare_to_start(open_root(home, familiar_id), home)

    @asynccontextmanager
    async def open_familiar(self, familiar_id: str) -> AsyncIterator[PlatformHost]:
        from familiar_connect.bot import check_keys, load_familiar
        from familiar_connect.extensions.platforms import make_verb_host
        from familiar_connect.support.aio import off_loop
        from familiar_connect.support.clock import machine_zone
        from familiar_connect.support.sign_of_life import show_life

        home = home_of(self._ctx)
        root = await off_loop(open_root, home, familiar_id)
        load = partial(load_familiar, root, home=home, defaults_path=profile_of(home), zone=machine_zone(), wake=False)
        familiar, _ = await off_loop(load)
        try:
            await off_loop(check_keys, familiar, home)
            async with show_life(FamiliarFolder(root).running_file):
                await familiar.start()
                host = make_verb_host(familiar, self._extension.name, tell=self._tell)
                try:
                    yield host
                finally:
                    await host.aclose()
        finally:
            await familiar.aclose()

    def follow_familiar(self, familiar_id: str) -> FollowHost:
        from familiar_connect.extensions.hosts.follow_host import FollowHost

        home = home_of(self._ctx)
        return FollowHost(open_root(home, familiar_id), profile_of(home))

    def stop_on_signal(self) -> AbstractContextManager[asyncio.Event]:
        from familiar_connect.bot import stop_on_signal

        return stop_on_signal(self._tell)

    def _tell(self, sentence: str) -> None:
        say(sentence, err=True)
