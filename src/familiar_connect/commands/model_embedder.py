"""The part of `model` about embedders: getting one, and having memory searched with it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from familiar_connect.commands.common import open_root, profile_of, say
from familiar_connect.config.command import command_name
from familiar_connect.config.folders import FamiliarFolder, HomeFolder
from familiar_connect.config.home import familiar_root, list_familiars
from familiar_connect.errors import ConfigError

if TYPE_CHECKING:
    from familiar_connect.llm.local.embedders import Embedder

SETTING = "providers.content_search.embedder"


def find_embedder(home: Path, name: str) -> Embedder | None:
    """The embedder of that name; None: it is none."""
    from familiar_connect.llm.local.embedders import read_embedders

    return read_embedders(home).get(name)


Progress = Callable[[int, int], None]


def get_embedder(
    home: Path, entry: Embedder, *, quiet: bool, show: Callable[[str], AbstractContextManager[Progress]]
) -> bool:
    """Fetch what is missing of *entry*; whether it was all there. *show* gives what is told how far a file is."""
    from familiar_connect.llm.local.embedders import fetch_embedder

    if entry.is_in(home):
        return True
    if not quiet:
        say(f"Fetching {entry.title}, licence {entry.licence}.", err=True)
    with ExitStack() as bars:
        fetch_embedder(entry, home, progress=lambda title: bars.enter_context(show(f"{entry.name} {title}")))
    return False


def use_embedder(home: Path, entry: Embedder, familiar_id: str | None) -> None:
    """Have memory searched with *entry* by one familiar, or by all of them: those there are, and those to come."""
    from familiar_connect.config.edit import find_setting, write_setting
    from familiar_connect.config.load import load_character_config

    if not entry.is_in(home):
        raise ConfigError(f"{entry.name} is not here yet: `{command_name()} model get {entry.name}` fetches it")
    profile = profile_of(home)
    if familiar_id is not None:
        files = [FamiliarFolder(open_root(home, familiar_id)).settings_file]
    else:
        write_setting(HomeFolder(home).profile.settings_file, find_setting(SETTING), entry.name)
        own = [FamiliarFolder(familiar_root(home, name)).settings_file for name in list_familiars(home)]
        files = [each for each in own if load_character_config(each, defaults_path=profile).embedder != entry.name]
    for file in files:
        write_setting(file, find_setting(SETTING), entry.name, defaults_path=profile)
    who = familiar_id or "every familiar of this home"
    say(f"The memory of {who} is searched with {entry.name} from its next start on.")
    say("Its index is made anew then, in the background; until that is done, what was said is found by its words.")


def remove_embedder(home: Path, entry: Embedder) -> int:
    """Delete the files of *entry*, unless memory is searched with it."""
    from familiar_connect.config.load import load_character_config
    from familiar_connect.llm.local.library import part_files
    from familiar_connect.support.no_follow import remove_file

    roots = {name: FamiliarFolder(familiar_root(home, name)) for name in list_familiars(home)}
    users = [
        name
        for name, folder in roots.items()
        if load_character_config(folder.settings_file, defaults_path=profile_of(home)).embedder == entry.name
    ]
    if users:
        raise ConfigError(f"the memory of {', '.join(users)} is searched with it: first set {SETTING} to another")
    whole = [entry.folder_in(home) / file.name for file in entry.files]
    files = [path for each in whole for path in (each, *part_files(each)) if path.is_file()]
    freed = sum(path.stat().st_size for path in files)
    for path in files:
        remove_file(path)
    say(f"{entry.name} is deleted: {freed / 1e6:,.0f} MB freed.")
    return 0


def say_embedders(home: Path) -> None:
    """Those there are, each on a line."""
    from familiar_connect.llm.local.embedders import read_embedders

    for entry in read_embedders(home).values():
        state = "here" if entry.is_in(home) else "to get"
        say(f"  {entry.name:<28} {state:<9} searches memory; {entry.licence}")
        if entry.note:
            say(f"      {entry.note}")
