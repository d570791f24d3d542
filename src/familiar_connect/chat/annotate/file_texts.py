"""Text files that people sent: read once, as they are heard, within limits.

What was read is kept with the message, so it has the message's audience and goes with it. A file whose bytes are no
text is refused, and `file_lines` says so. Nothing here follows an address on to another one.
"""

from __future__ import annotations

import asyncio
import codecs
import json
import logging
import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from familiar_connect.chat.annotate.media import mime_of
from familiar_connect.chat.message_parts import Attachment, FileText
from familiar_connect.chat.types import InboundMessage
from familiar_connect.errors import FetchError
from familiar_connect.support.aio import off_loop
from familiar_connect.support.fetch.client import FetchLimits
from familiar_connect.support.fetch.protocols import Fetch
from familiar_connect.support.text import without_surrogates
from familiar_connect.support.tokens import chars_within

logger = logging.getLogger(__name__)

MOST_FILES = 3
"""Files of one message that are read."""
MOST_BYTES, MOST_LINES, MOST_TOKENS = 1_000_000, 2_000, 8_000
"""What the limits are at most, whatever the owner sets."""
MOST_KEPT = 25_000
"""Characters that one file takes in the history, where a letter beyond ASCII takes six: what comes with a message has a
limit there."""
READ_WITHIN_S = 6.0
NO_TEXT = "it holds no text"
_TEXT_TYPES = frozenset(
    {"application/json", "application/xml", "application/javascript", "application/x-sh", "application/toml"}
    | {"application/yaml", "application/x-yaml", "application/sql", "application/x-httpd-php"}
)
_TEXT_ENDINGS = frozenset(
    [
        "txt",
        "md",
        "markdown",
        "rst",
        "log",
        "csv",
        "tsv",
        "json",
        "jsonl",
        "toml",
        "yaml",
        "yml",
        "ini",
        "cfg",
        "conf",
        "env",
        "xml",
        "html",
        "htm",
        "css",
        "scss",
        "svg",
        "tex",
        "srt",
        "vtt",
        "diff",
        "patch",
        "py",
        "pyi",
        "js",
        "mjs",
        "ts",
        "tsx",
        "jsx",
        "java",
        "kt",
        "kts",
        "c",
        "h",
        "cc",
        "cpp",
        "hpp",
        "cs",
        "go",
        "rs",
        "rb",
        "php",
        "pl",
        "lua",
        "swift",
        "scala",
        "sh",
        "bash",
        "zsh",
        "fish",
        "ps1",
        "bat",
        "sql",
        "r",
        "jl",
        "hs",
        "ml",
        "ex",
        "exs",
        "erl",
        "clj",
        "dart",
        "vue",
        "svelte",
        "gd",
        "nix",
        "zig",
        "asm",
        "makefile",
        "dockerfile",
        "gitignore",
    ]
)
_UNSEEN = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f-\x84\x86-\x9f]")
_MOST_UNSEEN = 0.02
"""The share of control characters from which bytes count as no text."""
_COLOURS = re.compile("\x1b(?:\\[[0-9;]*[A-Za-z])?")
"""What a program wrote for a terminal."""
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


@dataclass(frozen=True, kw_only=True)
class FileTextLimits:
    """How much of one file is read. Nothing of it is 0: then no file is."""

    max_bytes: int = 200_000
    max_lines: int = 200
    max_tokens: int = 1_500

    @property
    def reads_none(self) -> bool:
        return min(self.max_bytes, self.max_lines, self.max_tokens) <= 0


def is_text_file(attachment: Attachment) -> bool:
    """Whether a file is said to be text, by its name or its type; its bytes are judged when it is read."""
    name = (attachment.filename or "").rpartition("/")[2]
    ending = name.rpartition(".")[2].lower()
    mime = mime_of(attachment)
    is_text = mime.startswith("text/") or mime in _TEXT_TYPES or mime.endswith(("+json", "+xml"))
    return not attachment.is_voice and (ending in _TEXT_ENDINGS or is_text)


async def with_file_texts(
    message: InboundMessage, fetch: Fetch, limits: FileTextLimits, *, is_own: Callable[[str], bool]
) -> InboundMessage:
    """*message* with what its text files say. Only addresses that *is_own* knows as the platform's are asked."""
    wanted = [each for each in message.attachments if is_text_file(each) and is_own(each.url)][:MOST_FILES]
    if limits.reads_none or not wanted:
        return message
    async with asyncio.TaskGroup() as group:
        reading = {id(each): group.create_task(_read(each, fetch, limits), name="file") for each in wanted}
    found = {key: task.result() for key, task in reading.items()}
    return replace(
        message, attachments=tuple(replace(each, text=found.get(id(each), each.text)) for each in message.attachments)
    )


async def _read(attachment: Attachment, fetch: Fetch, limits: FileTextLimits) -> FileText:
    most = FetchLimits(
        max_bytes=min(MOST_BYTES, limits.max_bytes),
        timeout_s=READ_WITHIN_S,
        max_redirects=0,
        kinds=("",),  # its bytes say what it is
        is_cut=True,
    )
    try:
        fetched = await fetch.get(attachment.url, most)
        return await off_loop(read_file_text, fetched.data, attachment.size_bytes or len(fetched.data), limits)
    except FetchError as error:
        return FileText(refused=str(error))
    except Exception as error:  # isolation: one file costs its own text only
        logger.warning("a file could not be read", extra={"error": type(error).__name__})
        return FileText(refused="it could not be read")


def read_file_text(data: bytes, size: int, limits: FileTextLimits) -> FileText:
    """What the beginning *data* of a file of *size* bytes says, within *limits*."""
    text = _decode(data, is_whole=len(data) >= size)
    if text is None:
        return FileText(refused=NO_TEXT)
    lines = text.split("\n")
    shown = "\n".join(lines[: min(MOST_LINES, limits.max_lines)])[:MOST_KEPT]
    shown = shown[: chars_within(shown, min(MOST_TOKENS, limits.max_tokens))]
    shown = shown[: len(shown) * MOST_KEPT // max(MOST_KEPT, len(json.dumps(shown)))]
    is_cut = len(shown) < len(text) or len(data) < size
    total = len(lines) if len(data) >= size else None
    return FileText(text=shown, lines=shown.count("\n") + 1, of_lines=total, is_cut=is_cut)


def _decode(data: bytes, *, is_whole: bool) -> str | None:
    """*data* as text with plain line ends; None: it is none."""
    encoding = next((name for mark, name in _BYTE_ORDER_MARKS if data.startswith(mark)), "utf-8")
    try:
        text = codecs.getincrementaldecoder(encoding)().decode(data, final=is_whole)
    except UnicodeDecodeError:
        text = data.decode("cp1252", errors="replace")
    text = _COLOURS.sub("", text)
    unseen = len(_UNSEEN.findall(text)) + text.count("\ufffd")
    if not text.strip() or "\x00" in text or unseen > len(text) * _MOST_UNSEEN:
        return None
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return without_surrogates(_UNSEEN.sub("", text)).strip("\n")
