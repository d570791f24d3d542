"""What a part is given when it is made, and what its owner has still to do before it can be.

Nothing of the part's own library is loaded to say it, so that verbs which only report are quick.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from familiar_connect.config.built_in import BUILT_IN
from familiar_connect.config.extras import how_to_install
from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.config.settings import fill_fields, keys_of
from familiar_connect.config.toml import check_document
from familiar_connect.extensions.part_context import PartContext

if TYPE_CHECKING:
    from familiar_connect.config.character import CharacterConfig
    from familiar_connect.config.secrets import Secrets
    from familiar_connect.extensions.part_context import ExtensionPart
    from familiar_connect.extensions.parts import Extension
    from familiar_connect.support.clock import Clock

IsInstalled = Callable[[str], bool]


def is_installed(library: str) -> bool:
    """Whether the module *library* can be imported; it is not."""
    return find_spec(library) is not None


def read_part_settings(part: ExtensionPart, extension: Extension, config: CharacterConfig, file: Path) -> Any:
    """The settings of *part* from its section, None: it has none; a `ConfigError` names the key and the fix."""
    if part.settings is None:
        return None
    if extension.name in BUILT_IN and part.shared_section:
        shared = getattr(config, part.shared_section)
        return part.settings(**{each.name: getattr(shared, each.name) for each in fields(part.settings)})
    if extension.name in BUILT_IN:  # read together with the program's own
        return getattr(config.built_in, extension.name)
    keys = [key for each in extension.parts if each.settings is not None for key in keys_of(each.settings)]
    known = [replace(key, name=f"{extension.name}.{key.name}") for key in keys]
    table = config.extension_tables.get(extension.name, {})
    values = check_document({extension.name: table}, known, file)
    own = {key.name: key.field for key in keys_of(part.settings)}
    given = {own[".".join(path[1:])]: value for path, value in values.items() if ".".join(path[1:]) in own}
    return fill_fields(part.settings(), given)


@dataclass(frozen=True, kw_only=True)
class PartSetup:
    """What the files of one familiar and its home say of a part."""

    root: Path
    config: CharacterConfig
    secrets: Secrets
    clock: Clock
    is_installed: IsInstalled = is_installed

    def context_for(self, part: ExtensionPart, extension: Extension) -> PartContext:
        """What *part* is given: its own settings, the secrets it named, and nothing else of the owner's."""
        folder = FamiliarFolder(self.root)
        named = {name: self.secrets.get(self.secret_name(part, name)) for name in part.secrets}
        at_home = {name: self.secrets.get_from_home(self.secret_name(part, name)) for name in part.secrets}
        return PartContext(
            settings=read_part_settings(part, extension, self.config, folder.settings_file),
            secrets={name: value for name, value in named.items() if value is not None},
            secrets_of_home=frozenset(name for name, value in at_home.items() if value and value == named[name]),
            secrets_file=folder.home.secrets_file,
            clock=self.clock,
            folder=folder.extension_data(extension.name),
            familiar_id=self.root.name,
        )

    def secret_name(self, part: ExtensionPart, name: str) -> str:
        """Under which name *part* has its secret *name* for this familiar."""
        return self.secrets.name_for(self.root.name, name) if name in part.secrets_of_each else name

    def why_absent(self, part: ExtensionPart, extension: Extension) -> str | None:
        """Why *part* cannot be made, with what to do about it; None: it can."""
        reason = self.why_not_set_up(part, extension)
        if reason is None and part.library and not self.is_installed(part.library):
            return (
                how_to_install(extension.name) if extension.name in BUILT_IN else f"it lacks the library {part.library}"
            )
        return reason

    def why_not_set_up(self, part: ExtensionPart, extension: Extension) -> str | None:
        """What the owner has not given that *part* takes."""
        context, folder = self.context_for(part, extension), FamiliarFolder(self.root)
        unset = [name for name in _required_settings(part) if not getattr(context.settings, name)]
        if unset:
            return f"no {unset[0]}; set `{unset[0]}` under [{extension.name}] in {folder.settings_file}"
        lacking = [name for name in part.required if name in part.secrets and name not in context.secrets]
        if lacking:
            file = folder.home.secrets_file
            commands = " and ".join(f"`familiar keys set {name}`" for name in lacking)
            does = f"ask for them and keep them in {file}" if lacking[1:] else f"asks for it and keeps it in {file}"
            return f"no {' and no '.join(lacking)}; {commands} {does}"
        return part.why_not_set_up(context) if part.why_not_set_up is not None else None

    def is_begun(self, part: ExtensionPart, extension: Extension) -> bool:
        """Whether the owner wants *part*: a setting, or else a secret, that it requires is there."""
        context = self.context_for(part, extension)
        required = _required_settings(part)
        if required:
            return any(getattr(context.settings, name) for name in required)
        return any(name in context.secrets for name in part.required)


def _required_settings(part: ExtensionPart) -> list[str]:
    return [name for name in part.required if name not in part.secrets]
