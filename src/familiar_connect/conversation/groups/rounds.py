"""GroupRounds: the members of a group speak one after the other, until nobody's turn is left or somebody ends it."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable

from familiar_connect.config.groups import TurnOrder
from familiar_connect.conversation.groups.roster import GroupRoster
from familiar_connect.conversation.groups.turn_order import TurnRules, choose_follow_up, choose_speakers

LetSpeak = Callable[[str, bool], Awaitable[str]]
"""Lets the member of that id speak, whether or not anybody asked; what it said, empty for nothing."""


class GroupRounds:
    """Whose turn it is in one group; nobody has two turns in one round."""

    def __init__(
        self,
        roster: GroupRoster,
        rules: TurnRules,
        let_speak: LetSpeak,
        *,
        rng: random.Random,
        is_over: Callable[[], bool] = lambda: False,
    ) -> None:
        """*is_over*: nobody speaks any more, whoever's turn it would be."""
        self._roster = roster
        self._rules = rules
        self._let_speak = let_speak
        self._rng = rng
        self._is_over = is_over
        self._spoken: list[str] = []
        """Who has spoken since the person did, the latest last."""
        self._latest_text = ""
        self.is_cut = False
        """The round under way is to end."""

    @property
    def waits_to_be_asked(self) -> bool:
        """Nobody answers unless somebody lets them speak."""
        return self._rules.order is TurnOrder.manual

    def note_person(self, text: str) -> None:
        """The person said *text*: whoever spoke before may speak again."""
        self._spoken, self._latest_text = [], text

    def cut(self) -> None:
        """End the round when whoever speaks is done."""
        self.is_cut = True

    async def hold(self, *, is_from_person: bool) -> bool:
        """Let those speak whose turn it is after what was said last; whether anybody did."""
        self.is_cut = False
        waiting = list(
            choose_speakers(
                self._roster.speakers,
                self._rules,
                text=self._latest_text,
                spoken=self._spoken,
                is_from_person=is_from_person,
                rng=self._rng,
            )
        )
        done: list[str] = []
        has_spoken = False
        while waiting and not self.is_cut and not self._is_over():
            id_ = waiting.pop(0)
            done.append(id_)
            words = await self.let_speak(id_, unasked=not is_from_person)
            has_spoken = has_spoken or bool(words)
            follower = choose_follow_up(self._roster.speakers, self._rules, text=words, spoken={*done, *waiting})
            waiting += [follower] if follower is not None else []
        return has_spoken

    async def let_speak(self, id_: str, *, unasked: bool) -> str:
        """Let one member speak, muted or not; what it said."""
        words = await self._let_speak(id_, unasked)
        if words:
            self._spoken.append(id_)
            self._latest_text = words
        return words
