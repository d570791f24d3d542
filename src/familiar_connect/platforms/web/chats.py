"""WebChats: the chats of a familiar as the page sees them: what was said, something new to say, and a stop.

The chats are those of the terminal and so is the person: the page is another door to the same conversations.
"""

from __future__ import annotations

from collections.abc import Coroutine, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

from familiar_connect.audience import OWNER, sealed_chat
from familiar_connect.chat.types import InboundMessage
from familiar_connect.config.command import with_command
from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.config.load import write_user_persona
from familiar_connect.conversation.intake import IntakeResult
from familiar_connect.errors import ConfigError, HomeError
from familiar_connect.familiar import Familiar
from familiar_connect.history.chats import Chat
from familiar_connect.history.reminders import StoredReminder
from familiar_connect.history.stored_messages import StoredMessages
from familiar_connect.history.types import HistoryTurn, TurnMark
from familiar_connect.history.versions import TurnVersions, TurnVersionStore
from familiar_connect.identity import Author
from familiar_connect.observe.reply_traces import match_replies
from familiar_connect.platforms.group_talk import PERSON_LINE, find_group_chat
from familiar_connect.platforms.terminal.own_name import OwnName, keep_user_name
from familiar_connect.platforms.terminal.place import CHANNEL_ID, PLATFORM, person_at_terminal
from familiar_connect.platforms.terminal.unanswered import describe_unanswered
from familiar_connect.platforms.terminal.welcome import WarmUps, record_greeting
from familiar_connect.platforms.web.attached_files import (
    AttachedFiles,
    SentFiles,
    list_attachments,
)
from familiar_connect.platforms.web.expressions import Expressions, find_expression
from familiar_connect.platforms.web.live import SAID_WAITS_S, ChatEvents
from familiar_connect.platforms.web.other_lines import FindOtherLines, OtherLine, no_lines
from familiar_connect.platforms.web.persona_pictures import PersonaPictures
from familiar_connect.platforms.web.place import CHANNEL_NAME, WebPlace
from familiar_connect.platforms.web.shown_message import ShownMessage
from familiar_connect.slash.command import SlashContext, run_command
from familiar_connect.slash.greeting import choose_greeting, list_greetings
from familiar_connect.slash.registry import find_command
from familiar_connect.support.aio import BackgroundTasks, KeyedLocks, off_loop
from familiar_connect.support.lru import LruCache
from familiar_connect.support.markdown_html import MAX_SHOWN_CHARS, markdown_to_html
from familiar_connect.support.text import one_line

PAGE_SIZE, EARLIER_SIZE = 40, 24
"""Messages shown at once; earlier ones are fetched when they are wanted, so many that drawing them takes no moment."""
PRIVATE = "your privacy level is full, so that was not heard; /privacy changes it"
NOT_STORED = "that could not be written down; the line above says why"
KEY_PREFIX = PERSON_LINE
"""How the id of a message begins that a page sent: behind it stands the key that the page gave it."""
MOST_COMMANDS = 1_000
"""Commands whose keys are known, so that none runs twice because an answer was lost."""
UNANSWERED_REMEDY = "“Answer this” beside it does so now; or go on with something else."
MAX_NAME_CHARS, MAX_PERSONA_CHARS = 80, 1_500
NO_FILES = SentFiles()
LONGEST_TURN = timedelta(hours=1)


class LineNotStored(HomeError):
    """What was said could not be written down; it may be said again."""


class WebChats:
    """Talks with one familiar for every page that is open."""

    def __init__(self, familiar: Familiar, events: ChatEvents, find_others: FindOtherLines = no_lines) -> None:
        """*find_others* knows the lines that other familiars said."""
        self._familiar = familiar
        self._find_others = find_others
        self.events = events
        self.attached_files = AttachedFiles(familiar)
        self.person_pictures = PersonaPictures(familiar)
        self.expressions = Expressions(FamiliarFolder(familiar.root))
        self._background = BackgroundTasks("web-chats")
        self._warm_ups = WarmUps(familiar)
        self._locks = KeyedLocks()
        self._commands: LruCache[str, bool] = LruCache(MOST_COMMANDS)
        self._zone = ZoneInfo(familiar.config.display_tz)
        self._name = familiar.config.user_name
        self._versions = TurnVersionStore(familiar.history_store, familiar.id, clock=familiar.clock)
        self._own_name = OwnName(FamiliarFolder(familiar.root).settings_file, is_known=bool(self._name), is_fixed=False)

    def all(self) -> list[Chat]:
        """The chats, the newest first."""
        return list(reversed(self._familiar.stores.chats.all(CHANNEL_ID)))

    def find(self, channel_id: int) -> Chat | None:
        return next((chat for chat in self.all() if chat.channel_id == channel_id), None)

    def current(self) -> Chat:
        return self._familiar.stores.chats.current(CHANNEL_ID)

    def select(self, chat: Chat) -> None:
        """Make *chat* the one that is opened next time."""
        if not chat.is_current:
            self._familiar.stores.chats.select(CHANNEL_ID, chat.name)

    def start(self, name: str | None) -> Chat:
        """Begin a chat, with the character's first words."""
        chat = self._familiar.stores.chats.start(CHANNEL_ID, name)
        self.greet(chat.channel_id)
        return chat

    def is_group(self, chat: Chat) -> bool:
        """Whether several familiars talk in it. Reads files."""
        home = FamiliarFolder(self._familiar.root).home.root
        return find_group_chat(home, chat.name, self._familiar.id) is not None

    def is_sealed(self, channel_id: int) -> bool:
        """Whether a chat is a world of its own."""
        try:
            return self._familiar.channel_configs.get(channel_id).place.sealed
        except ConfigError:
            return False

    def seal(self, channel_id: int, *, is_sealed: bool) -> None:
        """Make a chat a world of its own, with all that was said in it so far, or part of everything else again."""
        if is_sealed == self.is_sealed(channel_id):
            return
        familiar = self._familiar
        familiar.channel_configs.set_sealed(channel_id, is_sealed=is_sealed)
        audience = sealed_chat(PLATFORM, channel_id) if is_sealed else OWNER
        familiar.history_store.change_audience(familiar_id=familiar.id, channel_id=channel_id, audience=audience)

    def greet(self, channel_id: int) -> None:
        """Say the character's first words where nothing was ever said."""
        familiar = self._familiar
        if familiar.history_store.count(familiar_id=familiar.id, channel_id=channel_id):
            return
        words = choose_greeting(list_greetings(familiar, self.person()), None)
        if words:
            record_greeting(words, familiar, channel_id)

    def greetings(self) -> list[str]:
        """The words a chat may begin with."""
        return list_greetings(self._familiar, self.person())

    def own_name(self) -> str:
        """What the person is called; empty where they gave no name."""
        return self._name or ""

    def persona(self) -> str:
        """Who the person is to the familiar."""
        return self._familiar.reply_path.user_persona.read()

    def change_person(self, name: str, persona: str) -> None:
        """Keep what the person is called and who they are, for the next reply and for later runs."""
        name, persona = one_line(name).strip(), one_line(persona).strip()
        if len(name) > MAX_NAME_CHARS or len(persona) > MAX_PERSONA_CHARS:
            raise HomeError(f"a name has at most {MAX_NAME_CHARS} characters, a persona {MAX_PERSONA_CHARS:,}")
        settings = FamiliarFolder(self._familiar.root).settings_file
        if name and name != self._name:
            keep_user_name(FamiliarFolder(self._familiar.root), name)
            self._name = name
            self._own_name = OwnName(settings, is_known=True, is_fixed=False)
        if persona != self.persona():
            write_user_persona(settings, persona)
            self._familiar.reply_path.user_persona.change(persona)

    def person(self) -> Author:
        """Who sits at the page."""
        return person_at_terminal(self._name, self._familiar)

    def messages(self, channel_id: int, *, before: int | None = None, after: int | None = None) -> list[ShownMessage]:
        """A page of what was said, oldest first: the latest, what came *before* a turn, or what came *after* it."""
        history, of = self._familiar.history_store, self._familiar.id
        if after is not None:
            turns = history.turns_after(
                familiar_id=of, channel_id=channel_id, after_id=after, limit=PAGE_SIZE, with_hidden=True
            )
        else:
            limit = PAGE_SIZE if before is None else EARLIER_SIZE
            turns = history.recent(
                familiar_id=of, channel_id=channel_id, limit=limit, before_id=before, with_hidden=True
            )
        return self._shown(channel_id, turns)

    def message(self, channel_id: int, turn_id: int) -> list[ShownMessage]:
        """One message; none where it was taken back."""
        history, of = self._familiar.history_store, self._familiar.id
        turns = history.turns_after(
            familiar_id=of, channel_id=channel_id, after_id=turn_id - 1, max_id=turn_id, limit=1, with_hidden=True
        )
        return self._shown(channel_id, turns)

    def whole_text(self, channel_id: int, turn_id: int) -> str | None:
        """All that a message says, however long it is; None where it was taken back."""
        turns = self._familiar.history_store.turns_after(
            familiar_id=self._familiar.id,
            channel_id=channel_id,
            after_id=turn_id - 1,
            max_id=turn_id,
            limit=1,
            with_hidden=True,
        )
        return turns[0].display_text if turns else None

    def _shown(self, channel_id: int, turns: Sequence[HistoryTurn]) -> list[ShownMessage]:
        name = self._familiar.name
        versions = {row.turn_id: row for row in self._versions.versions_of_all([turn.id for turn in turns])}
        traces = self._traces_of(channel_id, turns, versions)
        others = self._others_of(turns)
        moods = self.expressions.list_urls()
        mine, face = self.person().canonical_key, self.person_pictures.url_in_chat(channel_id)
        return [
            ShownMessage(
                id=turn.id,
                who=turn.author.label if turn.author is not None else name,
                is_own=turn.role == "assistant",
                html=markdown_to_html(turn.display_text),
                time=turn.timestamp.astimezone(self._zone).strftime("%Y-%m-%d %H:%M"),
                clock=turn.timestamp.astimezone(self._zone).strftime("%H:%M"),
                trace_id=others[turn.id].trace_id if turn.id in others else traces.get(turn.id),
                version=others[turn.id].version if turn.id in others else _number_of(versions.get(turn.id)),
                versions=others[turn.id].versions if turn.id in others else _count_of(versions.get(turn.id)),
                other=others.get(turn.id),
                is_hidden=turn.mark is TurnMark.hidden,
                attached=list_attachments(turn),
                key=key_of(turn),
                is_cut=len(turn.display_text) > MAX_SHOWN_CHARS,
                expression=find_expression(turn.display_text, moods) if turn.role == "assistant" else None,
                picture=face if turn.author is not None and turn.author.canonical_key == mine else None,
            )
            for turn in turns
        ]

    def _others_of(self, turns: Sequence[HistoryTurn]) -> dict[int, OtherLine]:
        said = [turn for turn in turns if turn.author is not None and turn.author.is_familiar]
        known = self._find_others(said) if said else {}
        return {turn.id: known.get(turn.id, OtherLine()) for turn in said}

    def describe_own(
        self, channel_id: int, turn_ids: Sequence[int], at: str, picture: str | None
    ) -> dict[int, OtherLine]:
        """What the pages of others are to know of those turns of ours; *at* is where ours begin."""
        found = (
            self._familiar.history_store.turn_by_id(familiar_id=self._familiar.id, turn_id=turn_id)
            for turn_id in turn_ids
        )
        turns = [turn for turn in found if turn is not None]
        versions = {row.turn_id: row for row in self._versions.versions_of_all([turn.id for turn in turns])}
        traces = self._traces_of(channel_id, turns, versions)
        return {
            turn.id: OtherLine(
                at=at,
                picture=picture,
                trace_id=traces.get(turn.id),
                version=_number_of(versions.get(turn.id)),
                versions=_count_of(versions.get(turn.id)),
            )
            for turn in turns
        }

    def _traces_of(
        self, channel_id: int, turns: Sequence[HistoryTurn], versions: Mapping[int, TurnVersions]
    ) -> dict[int, str]:
        said = {turn.id: turn.timestamp for turn in turns if turn.role == "assistant"}
        if not said:
            return {}
        chosen = {turn_id: row.chosen for turn_id, row in versions.items() if row.chosen}
        starts = self._familiar.reply_path.collector.starts_in_channel(
            familiar_id=self._familiar.id,
            channel_id=channel_id,
            start=min(said.values()) - LONGEST_TURN,
            end=self._familiar.clock.now() if chosen else max(said.values()),
        )
        return match_replies(said, starts, chosen)

    def describe_unanswered(self, channel_id: int) -> str | None:
        """A sentence about what was asked before the program stopped and never answered; None: nothing is open."""
        return describe_unanswered(self._familiar, channel_id, remedy=UNANSWERED_REMEDY)

    def latest_id(self, channel_id: int) -> int:
        """The id of what was said last; 0 where nothing was."""
        return self._familiar.history_store.latest_id(familiar_id=self._familiar.id, channel_id=channel_id) or 0

    def place(
        self, channel_id: int, person: Author, *, revised: HistoryTurn | None = None, goes_on: bool = False
    ) -> WebPlace:
        """The chat as a channel; what is said there takes the place of the turn *revised*, or goes on with it."""
        familiar = self._familiar
        return WebPlace(
            channel_id,
            person,
            StoredMessages(familiar.history_store, familiar.id, channel_id, platform=PLATFORM),
            self.events,
            revises=revised.id if revised is not None else None,
            begins_with=revised.display_text if revised is not None and goes_on else "",
        )

    def start_task(self, doing: Coroutine[Any, Any, None], *, name: str) -> None:
        """Do something in the background; closing waits for it."""
        self._background.start(doing, name=name)

    async def say(self, channel_id: int, text: str, files: SentFiles = NO_FILES, *, key: str = "") -> int | None:
        """Hear *text*, from the person at the page; the turn it is stored as, None for a command.

        Said again under the same *key* it is the same line, and the same command. What comes of it is told to every
        page of the chat.
        """
        if text.startswith("/") and not files:
            if self.is_new_command(key):
                self.start_task(self.use_command(channel_id, text), name=f"command-{channel_id}")
            return None
        turn_id, is_answered = await self._hear(channel_id, text, files, key)
        if is_answered:
            self.start_task(self._wait_for_reply(channel_id), name=f"say-{channel_id}")
        return turn_id

    async def answer(self, channel_id: int, text: str, files: SentFiles = NO_FILES, *, key: str = "") -> None:
        """Hear *text* with *files* and wait for what comes of it."""
        if text.startswith("/") and not files:
            if self.is_new_command(key):
                await self.use_command(channel_id, text)
        elif (await self._hear(channel_id, text, files, key))[1]:
            await self._wait_for_reply(channel_id)

    def find_sent(self, channel_id: int, key: str) -> int | None:
        """The turn that the line with that key was stored as; None: it was not."""
        found = self._familiar.history_store.find_message(
            familiar_id=self._familiar.id, channel_id=channel_id, message_id=f"{KEY_PREFIX}{key}"
        )
        return found.id if found is not None else None

    def is_new_command(self, key: str) -> bool:
        """Whether no command came under that key yet; from now on one did."""
        if not key:
            return True
        is_new = self._commands.get(key) is None
        self._commands.put(key, True)
        return is_new

    async def use_command(self, channel_id: int, text: str) -> None:
        """Run a slash command; what it says is told to every page of the chat."""
        person = await off_loop(self.person)
        await self._run_slash(channel_id, person, self.place(channel_id, person), text[1:].strip())

    async def _hear(self, channel_id: int, text: str, files: SentFiles, key: str) -> tuple[int | None, bool]:
        """Store *text* with *files*: the turn it is, and whether that is being answered; an error where it is not."""
        familiar, person = self._familiar, await off_loop(self.person)
        person = await off_loop(self._learn_name, channel_id, person, text)
        message = InboundMessage(
            platform=PLATFORM,
            channel_id=channel_id,
            author=person,
            text="\n\n".join(filter(None, (text, files.text))),
            attachments=files.pictures,
            timestamp=familiar.clock.now(),
            is_dm=True,
            is_mention=True,
            channel_name=CHANNEL_NAME,
            message_id=f"{KEY_PREFIX}{key}" if key else None,
        )
        place = self.place(channel_id, person)
        heard = await familiar.intake.receive(message, place)
        self.events.publish_new(channel_id, wait_s=SAID_WAITS_S)
        if heard is IntakeResult.private:
            raise HomeError(PRIVATE)
        if heard is IntakeResult.not_stored:
            raise LineNotStored(NOT_STORED)
        turn_id = await off_loop(self.find_sent, channel_id, key) if key else None
        return turn_id, heard is IntakeResult.answering

    def _learn_name(self, channel_id: int, person: Author, text: str) -> Author:
        """*person*, called what they say they are called from the line on in which they do."""
        if self._familiar.stores.privacy.is_full(person):
            return person
        self._name = self._own_name.learn(text, self._last_words(channel_id)) or self._name
        return self.person()

    def _last_words(self, channel_id: int) -> str:
        """What the familiar said last, as long as the person's name is not known."""
        if self._own_name.is_known:
            return ""
        turns = self._familiar.history_store.recent(familiar_id=self._familiar.id, channel_id=channel_id, limit=1)
        return turns[-1].display_text if turns and turns[-1].role == "assistant" else ""

    async def _wait_for_reply(self, channel_id: int) -> None:
        """Tell when everything that was asked is answered, once, however many wait."""
        async with self._locks.lock(channel_id):
            await self._familiar.reply_path.queue.wait_until_channel_idle(channel_id)
            await self.end_reply(channel_id)
        self._warm_ups.start(await off_loop(self.person), channel_id)

    async def wait_until_kept(self) -> None:
        """Wait until what the model saw for the turns so far is kept, so that their replies lead to it."""
        await self._familiar.reply_path.recorder.wait_until_idle()

    async def end_reply(self, channel_id: int, *, changed: Sequence[int] = ()) -> None:
        """Tell that a reply is over and which turns read otherwise, once what the model saw for it is kept."""
        await self.wait_until_kept()
        self.events.end_reply(channel_id, changed=list(changed))

    def connect_reminders(self) -> AbstractContextManager[None]:
        """While this is open, reminders are told in the chat they were asked for in, whether a page shows it or not."""
        return self._familiar.reply_path.reminders.connect(PLATFORM, place_at=self._reminder_place)

    async def _reminder_place(self, reminder: StoredReminder) -> WebPlace:
        """The chat in which a reminder is answered next; its end is told as any reply's is."""
        person = await off_loop(self.person)
        self.start_task(self._wait_for_reply(reminder.channel_id), name=f"reminder-{reminder.id}")
        return self.place(reminder.channel_id, person)

    async def _run_slash(self, channel_id: int, person: Author, place: WebPlace, line: str) -> None:
        name, _, words = line.partition(" ")
        found = find_command(name, self._familiar)
        if found is None:
            self.events.publish(channel_id, "notice", text=f"There is no /{name}.")
            return
        context = SlashContext(
            channel_id=channel_id, author=person, is_operator=True, words=words, answers_at=place, may_control=True
        )
        reply = await run_command(found, context, self._familiar)
        if found.is_control:
            await self.end_reply(channel_id)
            self.events.publish(channel_id, "changed", ids=[])
            self.events.publish(channel_id, "model")  # /model may have changed it
        if reply.draft is not None:
            self.events.publish(channel_id, "draft", text=reply.draft)
        elif not reply.is_aside:
            self.events.publish(channel_id, "notice", text=with_command(reply.text, self._familiar.id))
        if reply.channel_id is not None:
            self.events.publish(channel_id, "go", chat=reply.channel_id)

    async def stop(self, channel_id: int) -> bool:
        """End the reply under way; what was said of it is recorded."""
        return await self._familiar.reply_path.queue.stop(channel_id)

    def require(self, channel_id: int) -> Chat:
        """The chat of that id; a sentence where there is none."""
        chat = self.find(channel_id)
        if chat is None:
            raise HomeError("there is no such chat; choose one on the left")
        return chat

    async def aclose(self) -> None:
        await self.events.aclose()
        await self._background.wait_until_idle()
        await self._warm_ups.aclose()


def _number_of(row: TurnVersions | None) -> int:
    return row.chosen + 1 if row is not None else 1


def _count_of(row: TurnVersions | None) -> int:
    return len(row.texts) if row is not None else 1


def key_of(turn: HistoryTurn) -> str:
    """What the page called a line that sent it; empty for every other."""
    named = turn.platform_message_id or ""
    return named.removeprefix(KEY_PREFIX) if named.startswith(KEY_PREFIX) else ""
