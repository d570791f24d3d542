"""keep_user_name: what the owner is called, kept for one familiar and known to those to come."""

from __future__ import annotations

from pathlib import Path

from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.config.load import write_user_name
from familiar_connect.config.toml import read_toml


def keep_user_name(folder: FamiliarFolder, name: str) -> None:
    """Set `user_name` of a familiar; familiars that were told none go by it too.

    For them it stands in the profile: the first name that is given in a home, and whatever that one is changed to.
    """
    before = _read_user_name(folder.settings_file)
    write_user_name(folder.settings_file, name)
    share_user_name(folder, name, instead_of=before)


def share_user_name(folder: FamiliarFolder, name: str, *, instead_of: str | None = None) -> None:
    """Let the familiars beside *folder* that were told no name know this one; another that stands there stays."""
    profile = folder.profile.settings_file
    if _read_user_name(profile) in (None, instead_of):
        write_user_name(profile, name)


def _read_user_name(path: Path) -> str | None:
    found = (read_toml(path) or {}).get("user_name")
    return found if isinstance(found, str) and found.strip() else None
