"""Groups: several familiars of one home that talk in one place. Each is a file `groups/NAME.toml` in the home."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from familiar_connect.config.folders import HomeFolder
from familiar_connect.config.home import is_valid_familiar_id
from familiar_connect.config.rules import FLAG, TEXT, TEXTS, InvalidValue, Rule, enum_rule, integer_rule, number_rule
from familiar_connect.config.settings import describe, fill_fields, keys_of, setting
from familiar_connect.config.toml import (
    check_document,
    format_value,
    parse_toml,
    read_text,
    read_toml,
    toml_literal,
    write_text,
)
from familiar_connect.errors import ConfigError, HomeError

DEFAULT_TALKATIVENESS = 0.5
LEAST_MEMBERS, MOST_MEMBERS = 2, 20
DEFAULT_MAX_REPLIES = 8

_SHARE = number_rule(least=0, most=1)


class TurnOrder(Enum):
    """In which order the members of a group speak, by SillyTavern's names."""

    natural = "natural"
    list = "list"
    pooled = "pooled"
    manual = "manual"


class GroupCards(Enum):
    """Whose cards a prompt of a group has."""

    own = "own"
    joined = "joined"
    joined_with_muted = "joined_with_muted"


def _talkativeness(value: object) -> dict[str, float]:
    if not isinstance(value, Mapping):
        raise InvalidValue
    return {str(name): _SHARE.read(share) for name, share in value.items()}


TALKATIVENESS = Rule("a table of members, each with a number from 0 to 1", _talkativeness)


@dataclass(frozen=True, kw_only=True)
class GroupConfig:
    """Everything `groups/NAME.toml` can say."""

    members: list[str] = setting([], TEXTS, "The familiars of the group, by the names of their folders.")
    order: TurnOrder = setting(
        TurnOrder.natural,
        enum_rule(TurnOrder),
        "Who answers: `natural`: who is named, then whom chance and talkativeness let speak, at least one; "
        "`list`: everyone, in the order of `members`; `pooled`: one at a time, among those who have not spoken yet; "
        "`manual`: no one, until you ask for it with `/speak` or a click.",
    )
    max_replies: int = setting(
        DEFAULT_MAX_REPLIES, integer_rule(least=1), "The most replies that follow one message; each member has one."
    )
    allow_self_responses: bool = setting(
        False, FLAG, "Whether who spoke last may be drawn again when `/speak` lets a group in natural order go on."
    )
    muted: list[str] = setting([], TEXTS, "Members who listen and do not speak.")
    cards: GroupCards = setting(
        GroupCards.own,
        enum_rule(GroupCards),
        "Under `sillytavern`: whose description, personality, scenario and examples each prompt has: `own`: of who "
        "answers; `joined`: of everyone who speaks; `joined_with_muted`: of everyone.",
    )
    join_before: str = setting(
        "", TEXT, "With joined cards: what stands before each text; <FIELDNAME> names it, {{char}} whose it is."
    )
    join_after: str = setting("", TEXT, "With joined cards: what stands behind each text.")
    talkativeness: dict[str, float] = field(
        default_factory=dict,
        metadata=describe(
            TALKATIVENESS,
            "How likely a member speaks in natural order without being named: 0 never, 1 always. "
            f"Else what its card says, else {DEFAULT_TALKATIVENESS}.",
        ),
    )

    def check(self, source: str) -> None:
        """A `ConfigError` where these are no group; *source* names where they come from."""
        if not LEAST_MEMBERS <= len(self.members) <= MOST_MEMBERS:
            raise ConfigError(f"{source}: members must name {LEAST_MEMBERS} to {MOST_MEMBERS} familiars")
        twice = next((each for each in self.members if self.members.count(each) > 1), None)
        if twice is not None:
            raise ConfigError(f"{source}: members names {format_value(twice)} twice; leave one out")
        for key, names in (("muted", self.muted), ("talkativeness", self.talkativeness)):
            stranger = next((each for each in names if each not in self.members), None)
            if stranger is not None:
                raise ConfigError(f"{source}: {key} names {format_value(stranger)}, who is not among members")


GROUP_KEYS = keys_of(GroupConfig)


def group_file(home: Path, name: str) -> Path:
    """The file of the group *name*, whether or not it exists."""
    if not is_valid_familiar_id(name):
        raise HomeError(f"{format_value(name)} cannot name a group; use a-z, A-Z, 0-9, - and _")
    return HomeFolder(home).group_file(name)


def list_groups(home: Path) -> list[str]:
    """The groups of this home, by name."""
    return sorted(path.stem for path in HomeFolder(home).groups.glob("*.toml"))


def load_group(home: Path, name: str) -> GroupConfig:
    """The group *name* of this home; a `HomeError` where there is none, a `ConfigError` where its file is wrong."""
    path = group_file(home, name)
    document = read_toml(path)
    if document is None:
        there = list_groups(home)
        from difflib import get_close_matches  # only for a mistake

        near = get_close_matches(name, there, n=1)
        sentence = f"{path}: there is no group called {format_value(name)}"
        if near:
            raise HomeError(f"{sentence}; did you mean {near[0]!r}?")
        listed = f"; there are: {', '.join(there[:20])}" if there else ""
        raise HomeError(f"{sentence}{listed}; make it with `familiar chat --group {name} --with ONE --with ANOTHER`")
    return _read_group(document, path)


def _read_group(document: Mapping[str, object], path: Path) -> GroupConfig:
    values = check_document(document, GROUP_KEYS, path)
    group = fill_fields(GroupConfig(), {key.field: values[key.path] for key in GROUP_KEYS if key.path in values})
    group.check(str(path))
    return group


def write_group(home: Path, name: str, members: Sequence[str]) -> Path:
    """Write the file of a new group, every other setting shown as it is without being set."""
    path = group_file(home, name)
    usual = GroupConfig(members=list(members))
    lines = [
        "# A group of familiars. Each setting shows its default: take away the # in front of a key to change it.",
        "",
    ]
    for key in GROUP_KEYS:
        value = getattr(usual, key.field)
        if key.field == "talkativeness":
            lines += [
                f"# {key.meaning}",
                "#[talkativeness]",
                *(f"#{each} = {DEFAULT_TALKATIVENESS}" for each in members),
            ]
        else:
            mark = "" if key.field == "members" else "#"
            lines += [f"# {key.meaning}", f"{mark}{key.name} = {toml_literal(value)}", ""]
    write_text(path, "\n".join([*lines, ""]))
    return path


def change_group(home: Path, name: str, values: Mapping[str, object]) -> None:
    """Set those keys in the file of the group *name*, where they differ; comments and everything else stay.

    What a start would refuse is refused here with the same sentence, and nothing is written.
    """
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    path, now = group_file(home, name), load_group(home, name)
    text = read_text(path) or ""
    expected = parse_toml(text, path)
    try:
        document = tomlkit.parse(text)
        for tables in (expected, document):
            tables.update({key: value for key, value in values.items() if value != _as_written(getattr(now, key))})
        result = tomlkit.dumps(document)
    except (TOMLKitError, ValueError, TypeError, KeyError) as error:
        raise ConfigError(f"{path}: could not be changed; write it there yourself") from error
    reread = parse_toml(result, path)
    if reread != expected:
        raise ConfigError(f"{path}: could not be changed; write it there yourself")
    _read_group(reread, path)
    write_text(path, result)


def _as_written(value: object) -> object:
    """*value* as the file has it."""
    return value.value if isinstance(value, Enum) else value
