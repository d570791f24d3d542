"""Logging set-up: static messages, facts beside them, private ones hidden, keys never shown.

Every module logs through `logging.getLogger(__name__)` with facts in `extra`; this module alone decides
how a line looks. What people said stands only in facts with a private name, shown when the operator
asks for DEBUG. Anything that looks like a key is struck out always, tracebacks included.
"""

from __future__ import annotations

import json
import logging
import re
import sys
import traceback
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from familiar_connect.support.no_follow import make_folder, refuse_linked_path
from familiar_connect.support.text import escape_controls

if TYPE_CHECKING:
    from io import TextIOWrapper

ROOT = "familiar_connect"
LOG_FILE_BYTES = 1_000_000

PRIVATE_KEYS = frozenset(
    {
        "alias", "aliases", "author", "content", "display_name", "line", "message_text", "messages", "name",
        "people", "prompt", "query", "quote", "raw", "reply", "said", "speaker", "text", "transcript",
        "user", "username", "utterance",
    }
)  # fmt: skip
"""Facts that may hold what people said or who they are."""

MAX_FACT_CHARS = 4_000
"""A longer fact is cut: a log line is read by people."""
HIDDEN = "<private>"
STRUCK_OUT = "<redacted>"

_SECRET_NAME = re.compile(
    r"(^|[_-])(api[_-]?key|access[_-]?key|secret[_-]?key|key[_-]?value|token|secret|password|passwd|authorization"
    r"|credentials?|cookie)$",
    re.IGNORECASE,
)
_SECRETS = (
    # A header, a setting or a query parameter that names itself, and its value.
    re.compile(
        r"(?P<keep>\b(?:proxy-)?authorization[\"']?\s*[:=]\s*[\"']?)(?:(?:bearer|basic|token|bot|key)\s+)?[^\s\"',;}\])]+",
        re.IGNORECASE,
    ),
    re.compile(
        r"(?P<keep>(?:(?:api|access|secret|private)[_-]?key|(?<!max_)token|secret|password"
        r"|(?<=[?&])key)[\"']?\s*[:=]\s*[\"']?)[^\s\"',;&}\])]{6,}",
        re.IGNORECASE,
    ),
    re.compile(r"(?P<keep>\bbearer\s+)[^\s\"',;}\])]+", re.IGNORECASE),
    re.compile(r"(?P<keep>://)[^/\s:@]{1,200}:[^/\s@]{1,200}(?=@)"),
    # Values known by their shape.
    re.compile(r"(?P<keep>)\b(?:sk|pk|rk|gsk|hf|ghp|gho|xai|xox[abp])[-_][A-Za-z0-9_-]{8,}"),
    re.compile(r"(?P<keep>)\bAIza[A-Za-z0-9_-]{20,}"),
    re.compile(r"(?P<keep>)\b[A-Za-z0-9_-]{23,28}\.[A-Za-z0-9_-]{6,7}\.[A-Za-z0-9_-]{27,}"),
)

_LEVELS = (logging.WARNING, logging.INFO, logging.DEBUG)
_KEPT = "kept_lines"
"""How many lines a handler has kept in a file instead of showing them."""
_IS_OURS = "is_of_familiar_connect"
"""Marks the handlers that were put in place here."""
_BUILT_IN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


def set_up_logging(verbosity: int, *, stream: TextIO | None = None, json_lines: bool = False) -> logging.Handler:
    """Show the program's log: warnings, INFO from 1, DEBUG and private facts from 2.

    Set up again, it replaces itself. Without *stream* lines go to whatever standard error is when they are written.
    """
    level = _LEVELS[max(0, min(verbosity, len(_LEVELS) - 1))]
    handler = _LineHandler(stream)
    handler.setFormatter(LineFormatter(show_private=level <= logging.DEBUG, json_lines=json_lines))
    _use(handler)
    logging.getLogger(ROOT).setLevel(level)
    return handler


def log_to_file(path: Path) -> str | None:
    """Send warnings to a small file instead of the screen, where they would stand in the middle of a conversation.

    Where there can be no such file they are lost all the same; why that is so is returned.
    """
    from logging.handlers import RotatingFileHandler  # brings the network with it: only where it is used

    class QuietRotatingFileHandler(RotatingFileHandler):
        """Loses a line that the disk does not take; the library would print a traceback for each."""

        kept_lines = 0

        def emit(self, record: logging.LogRecord) -> None:
            self.kept_lines += 1
            super().emit(record)

        def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802
            pass

        def _open(self) -> TextIOWrapper:
            make_folder(path.parent)  # only now: a program that has nothing to say leaves nothing behind
            return super()._open()

    try:
        refuse_linked_path(path, is_written=True)
        refuse_linked_path(f"{path}.1")
        handler = QuietRotatingFileHandler(path, maxBytes=LOG_FILE_BYTES, backupCount=1, encoding="utf-8", delay=True)
    except OSError as failure:
        _use(logging.NullHandler())
        return failure.strerror or str(failure)
    handler.setFormatter(LineFormatter())
    _use(handler)
    return None


def count_kept_warnings() -> int:
    """How many warnings of this process went to the file that `log_to_file` chose."""
    return sum(getattr(handler, _KEPT, 0) for handler in logging.getLogger(ROOT).handlers)


def _use(handler: logging.Handler) -> None:
    """Send our lines and the warnings of libraries to *handler* instead of where they went before.

    Without one of their own, libraries print to standard error, with whole tracebacks.
    """
    libraries = _LibraryLines(handler)
    for name, wanted in ((ROOT, handler), ("", libraries)):
        root = logging.getLogger(name)
        for earlier in [one for one in root.handlers if getattr(one, _IS_OURS, False)]:
            root.removeHandler(earlier)
        setattr(wanted, _IS_OURS, True)
        root.addHandler(wanted)


def event(logger: logging.Logger, level: int, message: str, /, **facts: object) -> None:
    """Log *message* with *facts* beside it; a fact may bear any name, `name` and `message` too."""
    if logger.isEnabledFor(level):
        extra = {f"{key}_" if key in _BUILT_IN else key: value for key, value in facts.items()}
        logger.log(level, message, extra=extra, stacklevel=2)


def redact(text: str) -> str:
    """*text* with whatever looks like a key struck out."""
    for pattern in _SECRETS:
        text = pattern.sub(lambda found: found["keep"] + STRUCK_OUT, text)
    return text


class LineFormatter(logging.Formatter):
    """One line a record: time, level, logger, message, then its facts as `key=value`."""

    def __init__(self, *, show_private: bool = False, json_lines: bool = False) -> None:
        super().__init__()
        self._show_private = show_private
        self._json_lines = json_lines

    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        message = redact(record.getMessage())
        facts = self._facts(record)
        failure = self._failure(record)
        if self._json_lines:
            line = {"at": at, "level": record.levelname, "logger": record.name, "message": message}
            line |= {"exception": failure} if failure else {}
            beside = {f"{key}_" if key in line else key: value for key, value in facts.items()}
            return escape_controls(json.dumps(line | beside, default=str, ensure_ascii=False))
        words = [at, record.levelname, record.name, _one_line(message), *(f"{k}={_show(v)}" for k, v in facts.items())]
        return escape_controls(" ".join(words) + (f"\n{failure}" if failure else ""))

    def _facts(self, record: logging.LogRecord) -> dict[str, object]:
        found = {key.removesuffix("_"): value for key, value in vars(record).items() if key not in _BUILT_IN}
        return {key: self._fact(key, value) for key, value in found.items()}

    def _fact(self, key: str, value: object) -> object:
        if _SECRET_NAME.search(key):
            return STRUCK_OUT
        if key.lower() in PRIVATE_KEYS and not self._show_private:
            return HIDDEN
        if isinstance(value, dict):
            return {str(inner): self._fact(str(inner), deeper) for inner, deeper in value.items()}
        if isinstance(value, list | tuple | set | frozenset):
            return [self._fact("", inner) for inner in value]
        if value is None or isinstance(value, bool | int | float):
            return value
        text = str(value)
        return redact(text if len(text) <= MAX_FACT_CHARS else f"{text[:MAX_FACT_CHARS]}…")

    def _failure(self, record: logging.LogRecord) -> str:
        """The whole traceback for those who asked for DEBUG, else its last line."""
        if not record.exc_info or record.exc_info[1] is None:
            return ""
        failure = record.exc_info[1]
        if self._show_private:
            lines = traceback.format_exception(failure)
        else:
            lines = traceback.format_exception_only(failure)[-1:]
        return redact("".join(lines).rstrip())


class _LineHandler(logging.StreamHandler[TextIO]):
    """Writes to the stream given, or to standard error as it is at that moment."""

    def __init__(self, stream: TextIO | None) -> None:
        logging.Handler.__init__(self)
        self._given = stream

    @property
    def stream(self) -> TextIO:  # type: ignore[override]
        return self._given or sys.stderr

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802
        """Lose the line: whoever read the stream has gone."""


class _LibraryLines(logging.Handler):
    """Passes on the warnings of libraries; our own lines have gone to the same handler already."""

    def __init__(self, handler: logging.Handler) -> None:
        super().__init__(logging.WARNING)
        self._handler = handler

    def emit(self, record: logging.LogRecord) -> None:
        if record.name != ROOT and not record.name.startswith(f"{ROOT}."):
            self._handler.handle(record)


def _show(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, dict | list):
        return json.dumps(value, default=str, ensure_ascii=False)
    text = str(value)
    return json.dumps(text, ensure_ascii=False) if not text or re.search(r"[\s\"=]", text) else text


def _one_line(text: str) -> str:
    return text.replace("\r", "\\r").replace("\n", "\\n")
