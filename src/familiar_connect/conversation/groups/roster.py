"""GroupRoster: who is in a group, what each is called, and who of them only listens."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from familiar_connect.config.groups import GroupConfig
from familiar_connect.conversation.groups.turn_order import GroupSpeaker
from familiar_connect.errors import HomeError
from familiar_connect.support.text import fold_name


@dataclass(frozen=True)
class JoinedCards:
    """What a group's prompts are to have of every member's card."""

    config: GroupConfig
    texts: Mapping[str, Mapping[str, str]]
    """For each member its texts, by field."""


class GroupRoster:
    """The members of one group, in order; each one's first name is the one it is shown by."""

    def __init__(self, speakers: Iterable[GroupSpeaker], joined: JoinedCards | None = None) -> None:
        self.joined = joined
        self._speakers = {each.id: each for each in speakers}
        shown: dict[str, str] = {}
        for each in self._speakers.values():
            other = shown.setdefault(fold_name(each.names[0]), each.id)
            if other != each.id:
                raise HomeError(
                    f"{other} and {each.id} are both called {each.names[0]}, so no one could tell them apart: "
                    "change the name of one in its memory/self/name.md"
                )

    @property
    def speakers(self) -> tuple[GroupSpeaker, ...]:
        return tuple(self._speakers.values())

    @property
    def names(self) -> tuple[str, ...]:
        """What everyone is called."""
        return tuple(each.names[0] for each in self._speakers.values())

    @property
    def silent_names(self) -> tuple[str, ...]:
        """What those are called who only listen."""
        return tuple(each.names[0] for each in self._speakers.values() if each.is_muted)

    def find(self, words: str) -> str | None:
        """The id of the member that *words* name; None: no one has that name."""
        wanted = fold_name(words.strip())
        for each in self._speakers.values():
            if wanted in {fold_name(name) for name in (each.id, *each.names)}:
                return each.id
        return None

    def name_of(self, id_: str) -> str:
        return self._speakers[id_].names[0]

    def set_muted(self, id_: str, *, is_muted: bool) -> None:
        """From now on the member only listens, or speaks again."""
        self._speakers[id_] = replace(self._speakers[id_], is_muted=is_muted)
