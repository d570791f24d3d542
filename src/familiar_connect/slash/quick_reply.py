"""/qr: the quick replies of the familiar: a list of them, one carried out, and the answer to what one asks.

Scripts act on the chat alone: they reach no network, no file and no other chat. They work in the terminal and on the
page, where what is said in the chat is seen by nobody but its owner.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from datetime import datetime
from weakref import WeakKeyDictionary
from zoneinfo import ZoneInfo

from familiar_connect.chat.types import InboundMessage, LineFacts
from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.conversation.intake import IntakeResult
from familiar_connect.conversation.types import ReplyDue
from familiar_connect.errors import FamiliarError, ScriptError
from familiar_connect.familiar import Familiar
from familiar_connect.history.message_metadata import encode_file_line
from familiar_connect.identity import LOCAL_PLATFORMS, Author
from familiar_connect.memory.store import MemoryStoreError
from familiar_connect.presets.macros.engine import substitute
from familiar_connect.presets.macros.types import MacroContext, Variables
from familiar_connect.presets.scripts.parse import parse_script
from familiar_connect.presets.scripts.quick_replies import QuickReply, QuickReplyStore
from familiar_connect.presets.scripts.run import ScriptRun
from familiar_connect.presets.scripts.types import ScriptQuestion
from familiar_connect.presets.story.state_store import StoryStateStore
from familiar_connect.presets.story.types import StoryState
from familiar_connect.presets.types import ChatLine
from familiar_connect.reply.chat_controls import ControlDoor
from familiar_connect.slash.command import SlashCommand, SlashContext, SlashOption, SlashReply
from familiar_connect.slash.roleplay import door_of
from familiar_connect.support.aio import off_loop
from familiar_connect.support.lru import LruCache
from familiar_connect.support.text import fold_name, shorten
from familiar_connect.support.translate import later, tr

ANSWER = "answer"
IMPORTED = "import"
"""The platform of characters who are known by name alone, as of those in a chat file."""
MAX_WAITING = 100
"""Chats in which a quick reply may wait for an answer."""
LINES_READ = 50
"""Of the chat, for the macros of a script."""
NONE_YET = later("There are no quick replies yet: `familiar import quick-replies FILE` takes SillyTavern's.")
ONLY_AT_HOME = later("Quick replies work in the terminal and on the page.")


@dataclass(frozen=True, kw_only=True)
class ShownReply:
    """A button of the page."""

    label: str
    title: str
    words: str
    """What is said to press it."""


class _ChatDoor:
    """The chat that a script acts on."""

    def __init__(self, ctx: SlashContext, familiar: Familiar, state: StoryState) -> None:
        self._ctx = ctx
        self._familiar = familiar
        self._state = state
        self._controls: ControlDoor = door_of(ctx)
        self._chat: tuple[ChatLine, ...] = ()
        self.variables = Variables(local=dict(state.variables), shared=dict(state.shared))
        self.has_said = False

    async def read_chat(self) -> None:
        """Look at the chat for the macros of a script."""
        lines = await self._familiar.reply_path.controls.lines(self._ctx.channel_id, LINES_READ)
        self._chat = tuple(
            ChatLine(
                name=turn.author.label if turn.author is not None else self._familiar.name,
                text=turn.display_text,
                is_user=turn.role == "user",
                sent_at=turn.timestamp,
            )
            for turn in lines
        )

    def keep_variables(self) -> None:
        """Write down what the script set, beside what else lasts in the chat."""
        store, channel_id = story_of(self._familiar), self._ctx.channel_id
        now = store.load(channel_id)
        before = self._state
        local, shared = (
            _merge(dict(there), dict(was), is_now)
            for there, was, is_now in (
                (now.variables, before.variables, self.variables.local),
                (now.shared, before.shared, self.variables.shared),
            )
        )
        store.save(channel_id, replace(now, variables=local, shared=shared))

    def fill(self, text: str, pipe: str) -> str:
        if "{" not in text and "<" not in text:
            return text
        familiar = self._familiar
        values = MacroContext(
            char=familiar.name,
            user=self._ctx.author.label,
            persona=familiar.reply_path.user_persona.read(),
            description=_card_text(familiar, "description"),
            personality=_card_text(familiar, "personality"),
            scenario=_card_text(familiar, "scenario"),
            chat=self._chat,
            now=datetime.now(ZoneInfo(familiar.config.display_tz)),
            rng=random.Random(),
            chat_id=f"{familiar.id}/{self._ctx.channel_id}",
            variables=self.variables,
            dynamic={"pipe": pipe},
        )
        return substitute(text, values)

    async def say(self, text: str, name: str) -> None:
        author = replace(self._ctx.author, display_name=name) if name else self._ctx.author
        message = InboundMessage(
            platform=author.platform,
            channel_id=self._ctx.channel_id,
            author=author,
            text=text,
            timestamp=self._familiar.clock.now(),
            is_dm=True,
            is_mention=True,
        )
        heard = await self._familiar.intake.receive(message, self._controls.place, due=ReplyDue.never)
        if heard is IntakeResult.private:
            raise ScriptError(tr("your privacy level is full, so nothing you say is kept; /privacy changes it"))
        if heard is IntakeResult.not_stored:
            raise ScriptError(tr("that could not be written down; the log says why"))
        await self._note_said()

    async def say_as(self, name: str, text: str) -> None:
        if fold_name(name) == fold_name(self._familiar.name):
            await off_loop(self._append, text, LineFacts(), None)
        else:
            author = Author(IMPORTED, fold_name(name), None, name)
            await off_loop(self._append, text, LineFacts(is_character=True), author)
        await self._note_said()

    async def narrate(self, text: str) -> None:
        await off_loop(self._append, text, LineFacts(is_narrator=True), None)
        await self._note_said()

    async def answer(self) -> None:
        await self._familiar.reply_path.controls.speak_now(self._controls)
        await self._note_said()

    async def generate(self, prompt: str) -> str:
        return await self._familiar.reply_path.controls.write_aside(self._controls, prompt)

    async def _note_said(self) -> None:
        self.has_said = True
        await self.read_chat()

    def _append(self, text: str, line: LineFacts, author: Author | None) -> None:
        familiar = self._familiar
        familiar.history_store.append_turn(
            familiar_id=familiar.id,
            channel_id=self._ctx.channel_id,
            role="user" if author is not None else "assistant",
            content=text,
            author=author,
            mode=familiar.channel_configs.get(channel_id=self._ctx.channel_id).mode,
            facts=encode_file_line(line, {})[0],
        )


class QuickReplyRuns:
    """Carries quick replies out, and keeps those that wait for an answer, in memory alone."""

    def __init__(self) -> None:
        self._waiting: WeakKeyDictionary[Familiar, LruCache[int, ScriptRun]] = WeakKeyDictionary()

    async def run(self, ctx: SlashContext, familiar: Familiar) -> SlashReply:
        """Without words the list; with a name that reply; `answer WORDS` goes on with one that asked."""
        if ctx.author.platform not in LOCAL_PLATFORMS:
            return SlashReply(text=tr(ONLY_AT_HOME))
        words = ctx.words.strip()
        store = QuickReplyStore(FamiliarFolder(familiar.root).quick_replies)
        if not words:
            return SlashReply(text=await off_loop(list_quick_replies, store))
        first, _, rest = words.partition(" ")
        waiting = self.find_waiting(familiar, ctx.channel_id)
        if waiting is not None and first.lower() == ANSWER:
            return await self._advance(ctx, familiar, waiting, rest)
        reply = await off_loop(store.find, words)
        if reply is None:
            return SlashReply(text=tr("There is no quick reply called {words!r}. /qr lists them.").format(words=words))
        if reply.is_script:
            return await self._advance(ctx, familiar, ScriptRun(parse_script(reply.text)))
        return await self._say_text(ctx, familiar, reply)

    def find_waiting(self, familiar: Familiar, channel_id: int) -> ScriptRun | None:
        """The run that waits for an answer in a chat."""
        runs = self._waiting.get(familiar)
        return runs.get(channel_id) if runs is not None else None

    async def _advance(self, ctx: SlashContext, familiar: Familiar, run: ScriptRun, answer: str = "") -> SlashReply:
        door = await self._open(ctx, familiar)
        self._let_go(familiar, ctx.channel_id)
        problem = ""
        try:
            await run.advance(door, answer)
        except FamiliarError as error:
            problem = str(error)
        finally:
            await off_loop(door.keep_variables)
        question = run.question
        if question is not None:
            self._waiting.setdefault(familiar, LruCache(MAX_WAITING)).put(ctx.channel_id, run)
        shown = [
            *run.take_shown(),
            *([tr("The quick reply stopped: {problem}").format(problem=problem)] if problem else []),
        ]
        if question is None:
            return SlashReply(text="\n".join(shown) or tr("Done."), is_aside=not shown)
        return SlashReply(text="\n".join((*shown, describe_question(question))))

    async def _say_text(self, ctx: SlashContext, familiar: Familiar, reply: QuickReply) -> SlashReply:
        """A reply that is words: they are said and answered, or written into the field."""
        door = await self._open(ctx, familiar)
        text = door.fill(reply.text, "")
        if reply.is_draft:
            return SlashReply(text=text, draft=text)
        await door.say(text, "")
        await door.answer()
        return SlashReply(text=text, is_aside=True)

    async def _open(self, ctx: SlashContext, familiar: Familiar) -> _ChatDoor:
        door = _ChatDoor(ctx, familiar, await off_loop(story_of(familiar).load, ctx.channel_id))
        await door.read_chat()
        return door

    def _let_go(self, familiar: Familiar, channel_id: int) -> None:
        runs = self._waiting.get(familiar)
        if runs is not None:
            runs.pop(channel_id)


def describe_question(question: ScriptQuestion) -> str:
    """A question with how it is answered."""
    if not question.choices:
        return tr("{text}\nSay /qr {answer} and your words.").format(text=question.text, answer=ANSWER)
    rows = [f"{number:>3}  {choice}" for number, choice in enumerate(question.choices, start=1)]
    return "\n".join((question.text, *rows, tr("Say /qr {answer} 1, or another number.").format(answer=ANSWER)))


def list_quick_replies(store: QuickReplyStore) -> str:
    """Every set with its replies, and why one cannot be run here."""
    rows: list[str] = []
    for each in store.all():
        rows.append(f"{each.name}:")
        for reply in each.replies:
            refused = reply.why_not_run()
            said = (
                tr("cannot be run: {refused}").format(refused=refused)
                if refused
                else reply.title or shorten(" ".join(reply.text.split()), 60)
            )
            rows.append(f"  {reply.label}  {said}")
    return "\n".join((*rows, tr("Say /qr and a name to use one."))) if rows else tr(NONE_YET)


def list_buttons(familiar: Familiar, channel_id: int) -> tuple[str, list[ShownReply]]:
    """What the page shows below a chat: the choices of a reply that asked, with its question, else every reply."""
    waiting = RUNS.find_waiting(familiar, channel_id)
    question = waiting.question if waiting is not None else None
    if question is not None and question.choices:
        choices = enumerate(question.choices, start=1)
        return question.text, [
            ShownReply(label=choice, title="", words=f"/qr {ANSWER} {number}") for number, choice in choices
        ]
    store = QuickReplyStore(FamiliarFolder(familiar.root).quick_replies)
    found = [reply for each in store.all() for reply in each.replies if not reply.is_hidden]
    buttons = [
        ShownReply(
            label=each.label,
            title=each.title,
            words=f"/qr {each.set_name}.{each.label}",
        )
        for each in found
        if not each.why_not_run()
    ]
    return "", buttons


def story_of(familiar: Familiar) -> StoryStateStore:
    return StoryStateStore(FamiliarFolder(familiar.root).story)


def _merge(there: dict[str, str], before: dict[str, str], now: dict[str, str]) -> dict[str, str]:
    """*there* with what changed between *before* and *now*, so that what others set meanwhile stays."""
    changed = {name: value for name, value in now.items() if before.get(name) != value}
    gone = before.keys() - now.keys()
    return {name: value for name, value in there.items() if name not in gone} | changed


def _card_text(familiar: Familiar, stem: str) -> str:
    try:
        return familiar.memory_store.read_file(f"self/{stem}.md").strip()
    except MemoryStoreError:
        return ""


RUNS = QuickReplyRuns()
QUICK_REPLY = SlashCommand(
    name="qr",
    description=later("List the quick replies. /qr NAME uses one."),
    run=RUNS.run,
    is_control=True,
    options=(SlashOption(name="name", description=later("What it is called.")),),
    needs_chats=True,
)
