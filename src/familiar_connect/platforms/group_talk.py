"""Several familiars at one of the operator's own doors: the chat each has for the group, and how each of them answers.

The group is called the same at every door, so that what was begun at the terminal goes on at the page.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from familiar_connect.chat.place import Place
from familiar_connect.chat.scene import ChannelContext, ChannelKind, Scene
from familiar_connect.chat.types import TurnOptions
from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.config.groups import DEFAULT_TALKATIVENESS, GroupCards, GroupConfig, group_file, load_group
from familiar_connect.config.home import is_valid_familiar_id
from familiar_connect.conversation.buffer import MAX_BUFFERED
from familiar_connect.conversation.groups.roster import GroupRoster, JoinedCards
from familiar_connect.conversation.groups.turn_order import GroupSpeaker, names_of_speaker
from familiar_connect.conversation.types import BufferedMessage, ResponseTrigger
from familiar_connect.errors import ConfigError, HomeError
from familiar_connect.familiar import Familiar
from familiar_connect.history.chats import MAX_CHATS, MAX_NAME_CHARS, ChatRegistry
from familiar_connect.history.stored_messages import message_of_turn
from familiar_connect.history.types import HistoryTurn
from familiar_connect.identity import Author
from familiar_connect.memory.card_fields import CardReader
from familiar_connect.presets.macros.identity_macros import name_filler
from familiar_connect.presets.story.types import Story
from familiar_connect.presets.types import CardFields
from familiar_connect.slash.greeting import expand_greeting
from familiar_connect.support.aio import off_loop

PLATFORM = "terminal"
PLACE_ID = 1
"""The terminal's own channel, of which groups are further chats."""
LOOK_BACK = 50
GROUP_PREFIX = "group "
"""How the name of a group's chat begins."""
_CHAT_NAME = re.compile(r"group (?P<label>.+?)(?: (?P<number>[0-9]{1,5}))?", re.DOTALL)
JOIN = " + "
PERSON_LINE = "page:"
"""How the name of a person's line begins."""
_MEMBER_LINE = "group:"
_ORIGIN = re.compile(r"group:(?P<member>[A-Za-z0-9_-]{1,64}):(?P<turn>[0-9]{1,18})")


JOINED = {
    "description": "Description",
    "personality": "Personality",
    "scenario": "Scenario",
    "mes_example": "Example Messages",
}
"""Texts of the cards that a group may join, and what each is called."""
_FIELD = re.compile("<FIELDNAME>", re.IGNORECASE)


GROUP_COMMANDS: Mapping[str, str] = MappingProxyType(
    {
        "speak": "Let NAME speak now. Without a name, the group talks on by itself.",
        "mute": "Make NAME listen only. Without a name, lists who is muted.",
        "unmute": "Let NAME speak again.",
    }
)

FOR_ONE_ALONE = frozenset(
    {
        "chat",
        "branch",
        "greeting",
        "reset",
        "compact",
    }
)
"""Commands that change the chat of one familiar: the others would remember it otherwise."""


@dataclass(frozen=True, kw_only=True)
class GroupChat:
    """One chat of a group."""

    label: str
    """What the group is called: its file, or the names of its members."""
    number: int
    config: GroupConfig
    has_file: bool
    """Whether its settings are kept."""

    @property
    def chat_name(self) -> str:
        """What the chat is called among those of each member."""
        return name_group_chat(self.label, self.number)


def name_line_of(member: str, turn_id: int) -> str:
    """What the others call a line that *member* said: the same for all of them."""
    return f"{_MEMBER_LINE}{member}:{turn_id}"


def name_line_of_person(key: str) -> str:
    """What every member calls a line that the person said."""
    return f"{PERSON_LINE}{key}"


def origin_of_line(turn: HistoryTurn) -> tuple[str, int] | None:
    """Which member said a line that another one heard, and as which of its turns; None: no member, or nobody knows."""
    found = _ORIGIN.fullmatch(turn.platform_message_id or "")
    return (found["member"], int(found["turn"])) if found is not None else None


def label_group(members: Sequence[str]) -> str:
    """What a group without a name is called."""
    return JOIN.join(sorted(members))


def name_group_chat(label: str, number: int = 1) -> str:
    """What the chat with that number of a group is called."""
    return f"{GROUP_PREFIX}{label}" if number == 1 else f"{GROUP_PREFIX}{label} {number}"


def find_group_chat(home: Path, chat_name: str, member: str) -> GroupChat | None:
    """The group whose chat is called so, if *member* is of it; None: it is a chat with one familiar. Reads files."""
    found = _CHAT_NAME.fullmatch(chat_name)
    if found is None:
        return None
    label, number = found["label"], int(found["number"] or 1)
    if is_valid_familiar_id(label) and group_file(home, label).exists():
        config, has_file = load_group(home, label), True
    elif JOIN in label:
        config, has_file = GroupConfig(members=label.split(JOIN)), False
        try:
            config.check(label)
        except ConfigError:
            return None
    else:
        return None
    return GroupChat(label=label, number=number, config=config, has_file=has_file) if member in config.members else None


def open_group_chat(roots: Sequence[Path], label: str, *, is_new: bool = False) -> tuple[int, ...]:
    """The channel of each member for the latest chat of the group *label*; begun where there is none or *is_new*.

    A familiar's own chats stay as they are, and the one of last time stays that.
    """
    if len(name_group_chat(label, MAX_CHATS)) > MAX_NAME_CHARS:
        raise HomeError("that many names are too long for a chat: name the group with --group NAME")
    registries = [ChatRegistry(FamiliarFolder(root)) for root in roots]
    number = 1
    while any(each.find(PLACE_ID, name_group_chat(label, number + 1)) for each in registries):
        number += 1
    if is_new and any(each.find(PLACE_ID, name_group_chat(label, number)) for each in registries):
        number += 1
    return join_group_chat(roots, label, number)


def join_group_chat(roots: Sequence[Path], label: str, number: int) -> tuple[int, ...]:
    """The channel of each member for that chat of the group *label*, begun by whoever has none yet."""
    name = name_group_chat(label, number)
    registries = [ChatRegistry(FamiliarFolder(root)) for root in roots]
    chats = [each.find(PLACE_ID, name) or each.start(PLACE_ID, name, make_current=False) for each in registries]
    return tuple(chat.channel_id for chat in chats)


def build_roster(config: GroupConfig, familiars: Sequence[Familiar]) -> GroupRoster:
    """Who is in the group, called as their cards say. Reads files."""

    def speaker(familiar: Familiar) -> GroupSpeaker:
        told = CardReader(familiar.memory_store, familiar.id).talkativeness()
        usual = DEFAULT_TALKATIVENESS if told is None else told
        return GroupSpeaker(
            id=familiar.id,
            names=names_of_speaker(familiar.name, *familiar.config.aliases, familiar.id),
            talkativeness=config.talkativeness.get(familiar.id, usual),
            is_muted=familiar.id in config.muted,
        )

    cards = {each.id: CardReader(each.memory_store, each.id).read() for each in familiars}
    joins = config.cards is not GroupCards.own
    return GroupRoster(
        map(speaker, familiars),
        joined=JoinedCards(config, {id_: _joinable(card) for id_, card in cards.items()}) if joins else None,
    )


def _joinable(card: CardFields) -> dict[str, str]:
    texts = {name: getattr(card, name).strip() for name in JOINED}
    if texts["mes_example"] and not texts["mes_example"].startswith("<START>"):
        texts["mes_example"] = f"<START>\n{texts['mes_example']}"
    return texts


def greeting_in_group(familiar: Familiar, user: Author, roster: GroupRoster, number: int = 0) -> str:
    """The first words in a group with that number; of a member who has fewer the last. Reads files."""
    there = CardReader(familiar.memory_store, familiar.id).group_greetings()
    words = there[min(number, len(there) - 1)] if there else ""
    return expand_greeting(words.strip(), familiar, user, roster.names)


def scene_of_group(roster: GroupRoster, name: str, listener: Author) -> Scene:
    """The group as the member called *name* meets it."""
    others = [
        Author.from_familiar(each.id, each.names[0], platform=PLATFORM)
        for each in roster.speakers
        if each.names[0] != name
    ]
    return Scene(channel=ChannelContext("terminal", ChannelKind.group_dm), participants=(listener, *others))


def story_of_group(story: Story, roster: GroupRoster, listener: Author, name: str) -> Story:
    """*story* with the names of everybody here, and with their cards where the group joins them, as *name* meets it."""
    joined = join_cards(roster, listener, name) if roster.joined is not None else {}
    return replace(story, user=listener.label, group=roster.names, muted=roster.silent_names, joined=joined)


def join_cards(roster: GroupRoster, listener: Author, name: str) -> dict[str, str]:
    """Each text of all cards that count while *name* answers, one after the other."""
    joined = roster.joined
    assert joined is not None
    found = {}
    for field, told in JOINED.items():
        texts = []
        for each in roster.speakers:
            is_left_out = each.is_muted and each.names[0] != name
            words = joined.texts[each.id][field]
            if words and not (is_left_out and joined.config.cards is GroupCards.joined):
                fill = name_filler(each.names[0], listener.label)
                framed = (joined.config.join_before, words, joined.config.join_after)
                texts.append("".join(fill(_FIELD.sub(told, text)) for text in framed))
        found[field] = "\n".join(texts)
    return found


async def answer_in_group(
    familiar: Familiar, channel_id: int, place: Place, messages: Sequence[BufferedMessage]
) -> HistoryTurn | None:
    """Let *familiar* answer *messages* at *place*; the turn it said, None for nothing."""
    before = await off_loop(_last_turn, familiar, channel_id)
    queue = familiar.reply_path.queue
    queue.set_place(channel_id, place)
    queue.answer(channel_id, messages, trigger=ResponseTrigger.direct_address)
    await queue.wait_until_channel_idle(channel_id)
    after = await off_loop(_last_turn, familiar, channel_id)
    is_new = after is not None and after.role == "assistant" and (before is None or after.id > before.id)
    return after if is_new else None


def _last_turn(familiar: Familiar, channel_id: int) -> HistoryTurn | None:
    turns = familiar.history_store.recent(familiar_id=familiar.id, channel_id=channel_id, limit=1)
    return turns[-1] if turns else None


def find_last_heard(familiar: Familiar, channel_id: int) -> list[BufferedMessage]:
    """The last words of somebody else, to be answered once more. Reads the history."""
    turns = familiar.history_store.recent(familiar_id=familiar.id, channel_id=channel_id, limit=LOOK_BACK)
    heard = next((turn for turn in reversed(turns) if turn.role == "user" and turn.author is not None), None)
    if heard is None or heard.author is None:
        return []
    asked = TurnOptions(manual=True)
    return [BufferedMessage(heard.author, heard.display_text, heard.timestamp, heard.id, asked=asked, is_for_us=True)]


def find_unanswered(familiar: Familiar, channel_id: int) -> list[BufferedMessage]:
    """What others said since *familiar* last spoke, oldest first. Reads the history."""
    turns = familiar.history_store.recent(familiar_id=familiar.id, channel_id=channel_id, limit=MAX_BUFFERED)
    heard: list[BufferedMessage] = []
    for turn in reversed(turns):
        message = message_of_turn(turn)
        if turn.role == "assistant":
            break
        if message is not None and turn.author is not None:
            found = BufferedMessage(turn.author, message.text, turn.timestamp, turn.id, message, is_for_us=True)
            heard.insert(0, found)
    return heard
