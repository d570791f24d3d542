"""/chat and /branch: the several chats of one door, and one that goes another way from a line on."""

from __future__ import annotations

from functools import partial

from familiar_connect.config.folders import FamiliarFolder, last_context_file
from familiar_connect.familiar import Familiar
from familiar_connect.history.chat_lines import take_back_all
from familiar_connect.history.chats import Chat, copy_turns
from familiar_connect.presets.story.state_store import StoryStateStore
from familiar_connect.slash.command import SlashCommand, SlashContext, SlashOption, SlashReply
from familiar_connect.slash.people import names_begun
from familiar_connect.support.aio import off_loop
from familiar_connect.support.no_follow import remove_file
from familiar_connect.support.text_table import TableStyle, text_table
from familiar_connect.support.translate import later, tr, tr_many

NEW = "new"
MOST_LISTED = 50
ONE_CHAT = later("Here every channel and thread is its own chat. Start a thread for a new one.")


async def run_chat(ctx: SlashContext, familiar: Familiar) -> SlashReply:
    """Without words: the list of chats. `new`, with or without a name: another one. Else: that of the name."""
    if ctx.place is not None:
        return SlashReply(text=tr(ONE_CHAT))
    chats = familiar.stores.chats
    place_id = await off_loop(chats.place_of, ctx.channel_id)
    first, _, rest = ctx.words.strip().partition(" ")
    if not first:
        return SlashReply(text=await off_loop(_listing, familiar, place_id, ctx.channel_id, ctx.columns))
    if first.lower() == NEW:
        begun = await off_loop(chats.start, place_id, rest.strip() or None)
        return SlashReply(text=tr("A new chat, {begun!r}.").format(begun=begun.name), channel_id=begun.channel_id)
    chosen = await off_loop(chats.select, place_id, ctx.words)
    return SlashReply(text=tr("This is the chat {chosen!r}.").format(chosen=chosen.name), channel_id=chosen.channel_id)


async def run_branch(ctx: SlashContext, familiar: Familiar) -> SlashReply:
    """Another chat, which begins with this one's lines up to the one that was named."""
    if ctx.place is not None:
        return SlashReply(text=tr(ONE_CHAT))
    first, _, rest = ctx.words.strip().partition(" ")
    is_number = first.isascii() and first.isdigit() and len(first) <= 6
    line = await familiar.reply_path.controls.line(ctx.channel_id, int(first) if is_number else 1)
    name = (rest if is_number else ctx.words).strip() or None
    chat, count = await off_loop(branch_chat, familiar, ctx.channel_id, line.id, name)
    lines = tr_many("{count} line", "{count} lines", count)
    return SlashReply(
        text=tr("The chat {chat!r} starts with {lines} of the other one.").format(chat=chat.name, lines=lines),
        channel_id=chat.channel_id,
    )


def branch_chat(familiar: Familiar, channel_id: int, up_to_id: int, name: str | None) -> tuple[Chat, int]:
    """Begin a chat with another one's lines up to one of them; it, and how many lines it has."""
    chats = familiar.stores.chats
    chat = chats.start(chats.place_of(channel_id), name)
    count = copy_turns(
        familiar.history_store,
        familiar_id=familiar.id,
        channel_id=channel_id,
        up_to_id=up_to_id,
        new_channel_id=chat.channel_id,
    )
    states = StoryStateStore(FamiliarFolder(familiar.root).story)
    states.save(chat.channel_id, states.load(channel_id))
    return chat, count


async def delete_chat(familiar: Familiar, chat: Chat) -> int:
    """Take a chat away: all of its lines are taken back, and no list has it any more; how many lines those were.

    The first chat of a place stays, empty, since it is the place itself.
    """
    await familiar.reply_path.queue.stop(chat.channel_id)
    take_back = partial(take_back_all, familiar.history_store, familiar.id, chat.channel_id, familiar.clock)
    gone = await familiar.reply_path.controls.change_turns(chat.channel_id, take_back)
    await off_loop(_forget_chat, familiar, chat)
    return len(gone)


async def take_back_from(familiar: Familiar, channel_id: int, turn_id: int) -> list[int]:
    """Take a line back with all that was said after it; the turns that are gone."""
    line = await familiar.reply_path.controls.find_line(channel_id, turn_id)
    take_back = partial(
        take_back_all, familiar.history_store, familiar.id, channel_id, familiar.clock, first_id=line.id
    )
    return await familiar.reply_path.controls.change_turns(channel_id, take_back)


def _forget_chat(familiar: Familiar, chat: Chat) -> None:
    folder = FamiliarFolder(familiar.root)
    StoryStateStore(folder.story).forget(chat.channel_id)
    remove_file(last_context_file(folder.channels, chat.channel_id))
    if not chat.is_first:
        familiar.stores.chats.remove(chat)
        remove_file(folder.channel_file(chat.channel_id))


async def suggest_chats(familiar: Familiar, place_id: int, begun: str) -> list[str]:
    """The chats of a place whose names begin with what was typed so far.

    No `suggest` of the option: that is asked by every platform, and these names are for who sits at the place.
    """
    there = await off_loop(familiar.stores.chats.all, place_id)
    return names_begun((chat.name for chat in there), begun)


def _listing(familiar: Familiar, place_id: int, channel_id: int, columns: int) -> str:
    rows, chats = [], familiar.stores.chats.all(place_id)
    for chat in chats[:MOST_LISTED]:
        last = familiar.history_store.recent(familiar_id=familiar.id, channel_id=chat.channel_id, limit=1)
        when = f"{last[0].timestamp.astimezone():%Y-%m-%d %H:%M}" if last else tr("nothing said yet")
        rows.append((f"{'*' if chat.channel_id == channel_id else ' '} {chat.name}", when))
    more = tr("\n… and {count:,} more").format(count=len(chats) - MOST_LISTED) if len(chats) > MOST_LISTED else ""
    return text_table(("", ""), rows, columns, TableStyle(left=(0, 1), indent=0)) + more


CHAT = SlashCommand(
    name="chat",
    description=later("List the chats. /chat NAME opens one, /chat new [NAME] starts one."),
    run=run_chat,
    is_control=True,
    needs_chats=True,
    options=(SlashOption(name="name", description=later("The chat to open, or new.")),),
    words=(NEW,),
)
BRANCH = SlashCommand(
    name="branch",
    description=later("Start another chat from a line of this one: /branch 3 [NAME]."),
    run=run_branch,
    is_control=True,
    needs_chats=True,
    options=(
        SlashOption(name="line", description=later("The last line to copy; the newest is 1.")),
        SlashOption(name="name", description=later("A name for the new chat.")),
    ),
)
