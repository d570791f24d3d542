"""Chats of other programs for characters: Agnai, Character.AI, text-generation-webui, RisuAI and KoboldAI Lite."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from familiar_connect.api.importing import (
    ImportedChat,
    ImportedLine,
    ImportRemark,
    UnreadableFileError,
    parse_send_date,
)
from familiar_connect.extensions.import_chats.take import (
    ChatItem,
    LeftOut,
    list_versions,
    take_list,
    take_object,
    take_part,
    take_text,
    take_title,
)

Reader = Callable[[Mapping[str, Any]], Iterator[ChatItem]]

OOBABOOGA_BEGINNING = "<|BEGIN-VISIBLE-CHAT|>"
"""What the model was told where the character speaks first."""
KOBOLD_CHAT_MODE = 3
MAX_OPPONENTS = 50
_KOBOLD_MARKS = re.compile(r"\{\{\[(INPUT|OUTPUT|SYSTEM)(?:_END)?\]\}\}")


def find_reader(row: Mapping[str, Any]) -> Reader | None:
    """Who reads a file that holds *row*; None: nobody here knows it."""
    messages = row.get("messages")
    first = messages[0] if isinstance(messages, list) and messages else None
    tests: tuple[tuple[bool, Reader], ...] = (
        (row.get("type") in ("risuChat", "risuAllChats"), read_risu),
        (isinstance(row.get("savedsettings"), dict) or ("gamestarted" in row and "actions" in row), read_kobold_lite),
        ("histories" in row or (isinstance(row.get("turns"), list) and "chat" not in row), read_character_ai),
        (bool(row.keys() & {"data_visible", "visible", "internal"}), read_oobabooga),
        (isinstance(first, dict) and "msg" in first, read_agnai),
    )
    return next((reader for is_its_own, reader in tests if is_its_own), None)


def read_agnai(row: Mapping[str, Any]) -> Iterator[ChatItem]:
    """Agnai's export of one chat: what has a `userId` a person wrote; `retries` are other answers."""
    left = LeftOut()
    for number, value in enumerate(take_list(row.get("messages"), "messages"), start=1):
        where = f"message {number}"
        message = take_object(value, where)
        text = take_text(message.get("msg"), where)
        if message.get("extras") or message.get("imagePrompt") or message.get("adapter") == "image":
            left.add("picture", "pictures")
        if not text.strip():
            left.add("message without words", "messages without words")
            continue
        is_user = bool(message.get("userId")) and not message.get("characterId")
        retries = message.get("retries")
        others = [take_text(each, where) for each in retries] if isinstance(retries, list) else []
        yield ImportedLine(
            name=take_title(message.get("handle"), message.get("name")),
            text=text,
            is_user=is_user,
            is_character=not is_user,
            is_hidden=bool(message.get("ooc")) or message.get("system") is True,
            sent=parse_send_date(message.get("createdAt"), None),
            versions=list_versions(others, text),
        )
    kept = [name for name in ("greeting", "scenario", "sampleChat", "memory") if str(row.get(name) or "").strip()]
    left.add("text of the character beside the chat", "texts of the character beside the chat", len(kept))
    yield from left.tell()


def read_character_ai(row: Mapping[str, Any]) -> Iterator[ChatItem]:
    """Character.AI's chats: older files hold `histories` of `msgs`, newer ones `turns` with `candidates`."""
    if isinstance(row.get("turns"), list):
        yield from _read_turns(row)
        return
    histories = row.get("histories")
    listed = histories.get("histories") if isinstance(histories, dict) else histories
    for number, value in enumerate(take_list(listed, "histories"), start=1):
        history = take_object(value, f"history {number}")
        key = take_title(history.get("external_id"))
        title = take_title(row.get("character_name"), take_part(row, "character").get("name"), "Character.AI")
        yield ImportedChat(title=title, key=f"character.ai:{key}" if key else "")
        left = LeftOut()
        for at, entry in enumerate(take_list(history.get("msgs"), f"history {number}"), start=1):
            where = f"history {number}, message {at}"
            message = take_object(entry, where)
            source = take_part(message, "src")
            text = take_text(message.get("text"), where)
            left.add("picture", "pictures", 1 if message.get("image_rel_path") else 0)
            if not text.strip():
                left.add("message without words", "messages without words")
                continue
            is_user = source.get("is_human") is True
            yield ImportedLine(
                name=take_title(source.get("name"), take_part(source, "character").get("name")),
                text=text,
                is_user=is_user,
                is_character=not is_user,
                sent=parse_send_date(message.get("created"), None),
            )
        yield from left.tell()


def _read_turns(row: Mapping[str, Any]) -> Iterator[ChatItem]:
    """Turns of the newer kind; the file has the newest first."""
    left = LeftOut()
    lines: list[ImportedLine] = []
    for number, value in enumerate(take_list(row.get("turns"), "turns"), start=1):
        where = f"turn {number}"
        turn = take_object(value, where)
        author = take_part(turn, "author")
        texts: dict[str, str] = {}
        for candidate in take_list(turn.get("candidates"), where):
            found = take_object(candidate, where)
            name = take_title(found.get("candidate_id")) or str(len(texts))
            texts[name] = take_text(found.get("raw_content"), where)
        chosen = texts.get(str(turn.get("primary_candidate_id") or "")) or next(iter(texts.values()), "")
        if not chosen.strip():
            left.add("message without words", "messages without words")
            continue
        is_user = author.get("is_human") is True
        lines.append(
            ImportedLine(
                name=take_title(author.get("name")),
                text=chosen,
                is_user=is_user,
                is_character=not is_user,
                sent=parse_send_date(_short_date(turn.get("create_time")), None),
                versions=() if is_user else list_versions(list(texts.values()), chosen),
            )
        )
    dates = [line.sent for line in lines if line.sent is not None]
    if len(dates) > 1 and dates[0] > dates[-1]:
        lines.reverse()
    yield from lines
    yield from left.tell()


def _short_date(value: object) -> object:
    """A date with nine digits of a second has six."""
    return re.sub(r"(\.\d{6})\d+", r"\1", value) if isinstance(value, str) else value


def read_oobabooga(row: Mapping[str, Any]) -> Iterator[ChatItem]:
    """text-generation-webui's history: pairs of what was written and what was answered."""
    is_shown = not ("internal" in row or "data" in row)
    pairs = next((row[key] for key in ("internal", "data", "visible", "data_visible") if key in row), None)
    about = take_part(row, "metadata")
    for number, value in enumerate(take_list(pairs, "history"), start=1):
        where = f"exchange {number}"
        pair = take_list(value, where)
        if len(pair) != 2:
            raise UnreadableFileError("must be a pair: what was written and what was answered", where=where)
        for place, (who, entry) in enumerate(zip(("user", "assistant"), pair, strict=True)):
            text = take_text(entry, where)
            text = html.unescape(text) if is_shown else text
            if not text.strip() or text == OOBABOOGA_BEGINNING:
                continue
            facts = take_part(about, f"{who}_{number - 1}")
            versions = facts.get("versions")
            others = [
                take_text(each.get("content") or each.get("text"), where)
                for each in (versions if isinstance(versions, list) else ())
                if isinstance(each, dict)
            ]
            yield ImportedLine(
                name="",
                text=text,
                is_user=place == 0,
                is_character=place == 1,
                sent=parse_send_date(facts.get("timestamp"), None),
                versions=list_versions(others, text) if place else (),
            )


def read_risu(row: Mapping[str, Any]) -> Iterator[ChatItem]:
    """RisuAI's export of one chat, or of all with one character."""
    data = row.get("data")
    chats = data if isinstance(data, list) else [data]
    for number, value in enumerate(chats, start=1):
        where = f"chat {number}"
        chat = take_object(value, where)
        key = take_title(chat.get("id"))
        yield ImportedChat(
            title=take_title(chat.get("name"), "RisuAI") if len(chats) > 1 else take_title(chat.get("name")),
            key=f"risu:{key}" if key else "",
        )
        left = LeftOut()
        for at, entry in enumerate(take_list(chat.get("message"), where), start=1):
            message = take_object(entry, f"{where}, message {at}")
            text = take_text(message.get("data"), f"{where}, message {at}")
            if not text.strip():
                left.add("message without words", "messages without words")
                continue
            is_user = message.get("role") == "user"
            swipes = message.get("swipes")
            others = [each for each in swipes if isinstance(each, str)] if isinstance(swipes, list) else []
            yield ImportedLine(
                name=take_title(message.get("name")),
                text=text,
                is_user=is_user,
                is_character=not is_user,
                is_hidden=bool(message.get("disabled")),
                sent=parse_send_date(message.get("time"), None),
                versions=list_versions(others, text) if not is_user else (),
            )
        left.add("note of the chat", "notes of the chat", 1 if str(chat.get("note") or "").strip() else 0)
        lore = chat.get("localLore")
        left.add("lorebook entry", "lorebook entries", len(lore) if isinstance(lore, list) else 0)
        yield from left.tell()


def read_kobold_lite(row: Mapping[str, Any]) -> Iterator[ChatItem]:
    """KoboldAI Lite's saved story: one text, which marks or names divide where it is a chat."""
    settings = take_part(row, "savedsettings")
    actions = row.get("actions", [])
    begun = [row.get("prompt"), *take_list(actions, "actions")]
    texts = [take_text(each, f"action {number}") for number, each in enumerate(begun)]
    names = [each.strip() for each in str(settings.get("chatopponent") or "").split("||$||")][:MAX_OPPONENTS]
    opponents = [each for each in names if each]
    user = take_title(settings.get("chatname"), "User")
    if any(_KOBOLD_MARKS.search(each) for each in texts):
        yield from _divide_by_marks("".join(texts), user, (opponents or [""])[0])
    elif settings.get("opmode") == KOBOLD_CHAT_MODE or _has_names(texts, (user, *opponents)):
        yield from _divide_by_names("".join(texts), user, opponents)
    else:
        yield ImportRemark(text="It is a story without speakers, so nobody says its lines.")
        for each in texts:
            if each.strip():
                yield ImportedLine(name="Narrator", text=each.strip(), is_character=True, is_narrator=True)
    left = LeftOut()
    for key, what in (("memory", "memory"), ("authorsnote", "author's note")):
        left.add(what, what, 1 if str(row.get(key) or "").strip() else 0)
    lore = row.get("worldinfo")
    left.add("World Info entry", "World Info entries", len(lore) if isinstance(lore, list) else 0)
    yield from left.tell()


def _divide_by_marks(text: str, user: str, character: str) -> Iterator[ImportedLine]:
    """What stands behind a mark is said by whom it names; before the first one the character speaks."""
    found = _KOBOLD_MARKS.split(text)
    for who, said in zip(("OUTPUT", *found[1::2]), found[0::2], strict=True):
        if said.strip():
            yield ImportedLine(
                name=user if who == "INPUT" else character,
                text=take_text(said.strip(), "story"),
                is_user=who == "INPUT",
                is_character=who == "OUTPUT",
                is_hidden=who == "SYSTEM",
            )


def _has_names(texts: list[str], names: tuple[str, ...]) -> bool:
    starts = tuple(f"{name}:" for name in names if name)
    return bool(starts) and sum(each.lstrip().startswith(starts) for each in texts) * 2 > len(texts)


def _divide_by_names(text: str, user: str, opponents: list[str]) -> Iterator[ImportedLine]:
    """A line that begins with the name of somebody and a colon begins a message."""
    names = sorted({user, *opponents} - {""}, key=len, reverse=True)
    begins = re.compile(rf"^[ \t]*({'|'.join(map(re.escape, names))}):[ \t]*", re.MULTILINE)
    found = begins.split(text)
    speakers = [(opponents or [""])[0], *found[1::2]]
    for name, said in zip(speakers, found[0::2], strict=True):
        if said.strip():
            yield ImportedLine(
                name=name, text=take_text(said.strip(), "story"), is_user=name == user, is_character=name != user
            )
