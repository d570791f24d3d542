"""What `chat` and `ask` share: which chat is meant and through which model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from familiar_connect.commands.common import profile_of
from familiar_connect.commands.name_completion import complete_chats, complete_models
from familiar_connect.config.folders import FamiliarFolder

if TYPE_CHECKING:  # a verb loads no more than it needs
    from familiar_connect.config.llm import LLMSlotConfig
    from familiar_connect.history.chats import Chat

TERMINAL_PLACE = 1
"""The channel id of the terminal, and of its first chat."""


@dataclass(frozen=True, kw_only=True)
class ChatWish:
    """Which chat somebody asked for."""

    name: str | None = None
    is_new: bool = False
    is_continued: bool = False

    def check(self) -> None:
        if self.is_continued and (self.is_new or self.name is not None):
            raise click.UsageError("--continue opens the latest chat: leave out --new and --chat")


@dataclass(frozen=True, kw_only=True)
class TalkOptions:
    """How a chat is held."""

    user_name: str | None
    plain: bool
    greeting: int | None
    model: str | None


def chat_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that say in which chat and through which model."""
    options = (
        click.option("--new", "is_new", is_flag=True, help="Start a new chat; --chat names it."),
        click.option("-c", "--continue", "is_continued", is_flag=True, help="Continue the latest chat."),
        click.option(
            "--chat",
            "chat_name",
            metavar="NAME",
            shell_complete=complete_chats,
            help="The chat of this name; new if there is none.",
        ),
        click.option(
            "-m",
            "--model",
            metavar="MODEL",
            shell_complete=complete_models,
            help="Use this model this time: one of `model list`, or of the current endpoint.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def is_new_chat(root: Path, wish: ChatWish) -> bool:
    """Whether *wish* begins a chat that is not there yet."""
    from familiar_connect.history.chats import ChatRegistry

    if wish.is_new or wish.name is None:
        return wish.is_new
    return ChatRegistry(FamiliarFolder(root)).find(TERMINAL_PLACE, wish.name) is None


def open_chat(root: Path, wish: ChatWish, *, usual: str | None = None) -> Chat:
    """The chat that is meant, begun if it is not there.

    Without a wish it is the one called *usual*, which stays beside the latest chat; else that of last time.
    """
    from familiar_connect.history.chats import ChatRegistry

    registry = ChatRegistry(FamiliarFolder(root))
    is_wished = wish.is_new or wish.is_continued or wish.name is not None
    name = wish.name if is_wished else usual
    if wish.is_new:
        return registry.start(TERMINAL_PLACE, name)
    if name is None:
        return registry.current(TERMINAL_PLACE)
    found = registry.find(TERMINAL_PLACE, name)
    if found is None:
        return registry.start(TERMINAL_PLACE, name, make_current=is_wished)
    return registry.select(TERMINAL_PLACE, name) if is_wished else found


def model_for_call(root: Path, home: Path, model: str | None) -> LLMSlotConfig | None:
    """How replies are made this time; None: as the settings say."""
    if model is None:
        return None
    from familiar_connect.commands.model_choice import slot_for_model
    from familiar_connect.config.load import load_character_config

    config = load_character_config(FamiliarFolder(root).settings_file, defaults_path=profile_of(home))
    return slot_for_model(home, config.llm["main_prose"], model)
