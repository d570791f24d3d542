"""VerbHost: the command line as a verb of an extension meets it.

A verb is a click command. It says what it has to say by its host, which knows the home that is meant, wraps lines to
the window and names commands as they are typed here.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import click

from familiar_connect.config.home import WHICH_FAMILIAR

if TYPE_CHECKING:
    import asyncio

    from click.shell_completion import CompletionItem

    from familiar_connect.extensions.host import PlatformHost
    from familiar_connect.extensions.hosts.follow_host import FollowHost
    from familiar_connect.support.clock import Clock

HOST_KEY = "familiar_connect.extensions.verbs"
"""Under which click keeps the host of the verb that runs."""


class VerbHost(Protocol):
    """What a verb may do: know whom it is about, read its extension's secrets, and say something."""

    secrets_file: Path
    """The owner's file of secrets, for a sentence that names it."""

    def say(self, text: str) -> None:
        """Print *text* for a person; commands in backquotes are shown as they are typed here."""

    def say_json(self, value: object) -> None:
        """Print *value* for a script."""

    def choose_familiar(self, named: str | None) -> str:
        """The familiar that is meant: the one *named*, else FAMILIAR_ID's, else the only one; empty: nobody's."""

    def read_secret(self, name: str, familiar_id: str) -> tuple[str, str | None]:
        """A secret that a part of the extension names: under which name it is kept, and its value where it is there."""

    def has_alters(self, familiar_id: str) -> bool:
        """Whether that familiar, where it is known, has further personas."""

    def list_familiars(self) -> Sequence[str]:
        """The familiars of this home."""

    @property
    def clock(self) -> Clock:
        """What tells the time here."""

    @property
    def folder(self) -> Path:
        """Where the extension may keep files that are about all familiars; it makes it when it first writes."""

    def prepare_familiar(self, familiar_id: str) -> None:
        """Ask what has to be asked, and fetch what has to be there, before that familiar is opened."""

    def open_familiar(self, familiar_id: str) -> AbstractAsyncContextManager[PlatformHost]:
        """A familiar of this home, alive as long as this is open, as a platform named after the extension meets it."""

    def follow_familiar(self, familiar_id: str) -> FollowHost:
        """A familiar of this home, looked on at, whichever program it lives in; it is closed by whoever asked."""

    def stop_on_signal(self) -> AbstractContextManager[asyncio.Event]:
        """Set when the program is told to end; what was said is on disk either way."""


def open_verb(ctx: click.Context) -> VerbHost:
    """The command line on which the verb of *ctx* runs."""
    host: VerbHost = ctx.meta[HOST_KEY]
    return host


def _complete(ctx: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    return [CompletionItem(each) for each in open_verb(ctx).list_familiars() if each.startswith(begun)]


def familiar_option(command: Any) -> Any:
    """The option `--familiar ID`, as the parameter `familiar_id`."""
    option = click.option("--familiar", "familiar_id", metavar="ID", shell_complete=_complete, help=WHICH_FAMILIAR)
    return option(command)


def json_option(command: Any) -> Any:
    """The option `--json`, as the parameter `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON for a script.")(command)
