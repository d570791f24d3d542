"""Letters: mail folders as chats, and single letters as documents, for `familiar import`.

A folder of mail (`.mbox`) becomes a chat, one message for each letter; a letter (`.eml`) becomes a document.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from email.utils import parseaddr

from familiar_connect.api import Extension
from familiar_connect.api.importing import ChatImporterPart, DocumentImporterPart, ImportedLine, ImportedText

MAX_LETTERS = 100_000


def read_letter(data: bytes) -> EmailMessage:
    letter = message_from_bytes(data, policy=default)
    assert isinstance(letter, EmailMessage)
    return letter


def text_of(letter: EmailMessage) -> str:
    """What a letter says; nothing where it has no plain text."""
    body = letter.get_body(preferencelist=("plain",))
    return str(body.get_content()).strip() if body is not None else ""


def date_of(letter: EmailMessage) -> datetime | None:
    sent = letter["Date"]
    return sent.datetime if sent is not None else None


def split_box(data: bytes) -> Iterator[bytes]:
    """The letters of a box: each begins with a line "From "."""
    for part in data.removeprefix(b"From ").split(b"\nFrom ")[:MAX_LETTERS]:
        yield part.partition(b"\n")[2]


def is_box(head: bytes, name: str) -> bool:
    return name.lower().endswith(".mbox") and head.startswith(b"From ")


def read_box(data: bytes, name: str) -> list[ImportedLine]:
    """Each letter as a line of the chat, by whoever sent it."""
    letters = [read_letter(part) for part in split_box(data)]
    return [
        ImportedLine(name=parseaddr(str(each["From"]))[0] or "Somebody", text=text_of(each), sent=date_of(each))
        for each in letters
        if text_of(each)
    ]


def is_letter(head: bytes, name: str) -> bool:
    return name.lower().endswith(".eml")


def read_single(data: bytes, name: str) -> ImportedText:
    letter = read_letter(data)
    if not text_of(letter):
        raise ValueError("the letter has no plain text")
    return ImportedText(title=str(letter["Subject"] or name), pages=(text_of(letter),))


extension = Extension(
    name="letters",
    importers=(
        ChatImporterPart(name="mail folder", recognizes=is_box, read=read_box),
        DocumentImporterPart(name="letter", recognizes=is_letter, read=read_single),
    ),
)
