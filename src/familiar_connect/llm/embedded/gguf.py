"""read_gguf: what a model file tells of itself: its kind, its window, its chat template, the marks of its turns.

Only the head of the file is read, with limits on every count and length, because the file may be anybody's. What is
wrong with it is one sentence.
"""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from familiar_connect.errors import ModelSetupError

MAGIC = b"GGUF"
VERSIONS = (2, 3)
MAX_HEAD_BYTES = 256 << 20
"""No head is longer; the longest real ones, with a vocabulary of 260,000 tokens, are about 15 MB."""
MAX_ENTRIES = 65_536
MAX_ITEMS = 2_000_000
MAX_TEXT_BYTES = 4 << 20
MAX_DIMENSIONS = 8
MAX_MARKS = 2_048
CONTROL_TOKEN = 3
"""The type of tokens that no text means, such as the end of a turn."""

_STRING, _ARRAY = 8, 9
_NUMBERS: Mapping[int, str] = {
    0: "<B",
    1: "<b",
    2: "<H",
    3: "<h",
    4: "<I",
    5: "<i",
    6: "<f",
    7: "<?",
    10: "<Q",
    11: "<q",
    12: "<d",
}
_TOKENS, _TYPES = "tokenizer.ggml.tokens", "tokenizer.ggml.token_type"

Value = str | int | float | bool


@dataclass(frozen=True, kw_only=True)
class ModelFile:
    """A model file and what its head says."""

    path: Path
    file_bytes: int
    architecture: str
    title: str
    trained_window: int | None
    kv_bytes_per_token: int
    """Memory of one token of the prompt, at 16 bits; 0 where the head does not say."""
    chat_template: str
    control_marks: tuple[str, ...]
    """The texts of tokens that begin and end turns: said by people, they would open one in another's name."""

    @property
    def has_optional_thinking(self) -> bool:
        """Whether its template can be told not to think first."""
        return "enable_thinking" in self.chat_template


class _BadFile(Exception):
    """What is wrong, in words that go on from the file's name."""


def read_gguf(path: Path) -> ModelFile:
    """What the head of *path* says; a `ModelSetupError` when it is no model file, or only the beginning of one."""
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            if not size:
                raise _BadFile("is empty")
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                return _read(path, _Head(data, min(size, MAX_HEAD_BYTES)), size)
    except _BadFile as problem:
        raise ModelSetupError(f"{path} {problem}: fetch it again, or use another file.") from None
    except IsADirectoryError:
        raise ModelSetupError(f"{path} is a folder: name the .gguf file in it.") from None
    except OSError as error:
        raise ModelSetupError(
            f"{path} cannot be read ({error.strerror or error}): check the name and the rights."
        ) from None


def _read(path: Path, head: _Head, size: int) -> ModelFile:
    if head.take(4) != MAGIC:
        raise _BadFile("is not a GGUF file")
    version = int(head.number(4))
    if version not in VERSIONS:
        raise _BadFile(f"is GGUF of version {version}, which is not known here")
    tensors, entries = int(head.number(10)), int(head.number(10))
    if not 0 < tensors <= MAX_ENTRIES or entries > MAX_ENTRIES:
        raise _BadFile("has a damaged head")
    facts, marks = _metadata(head, entries)
    last = _last_tensor(head, tensors)
    if head.position + last >= size:
        raise _BadFile("is not complete")
    return _model_file(path, size, facts, marks)


def _metadata(head: _Head, entries: int) -> tuple[dict[str, Value], tuple[str, ...]]:
    facts: dict[str, Value] = {}
    tokens: list[bytes] = []
    types: list[int] = []
    for _ in range(entries):
        key, kind = head.text(), int(head.number(4))
        if kind != _ARRAY:
            facts[key] = head.text() if kind == _STRING else head.number(kind)
            continue
        inner, count = int(head.number(4)), int(head.number(10))
        if count > MAX_ITEMS:
            raise _BadFile("has a damaged head")
        if inner == _STRING:
            texts = head.texts(count, keep=key == _TOKENS)
            tokens = texts if key == _TOKENS else tokens
        elif key == _TYPES and inner in (4, 5):
            types = list(struct.unpack(f"<{count}i", head.take(4 * count)))
        else:
            head.take(head.width(inner) * count)
    control = [text for text, kind in zip(tokens, types, strict=False) if kind == CONTROL_TOKEN and len(text) > 2]
    return facts, tuple(text.decode("utf-8", "replace") for text in control[:MAX_MARKS])


def _last_tensor(head: _Head, tensors: int) -> int:
    """Where the last tensor begins, counted from the end of the head."""
    last = 0
    for _ in range(tensors):
        head.text()
        dimensions = int(head.number(4))
        if dimensions > MAX_DIMENSIONS:
            raise _BadFile("has a damaged head")
        head.take(8 * dimensions + 4)
        last = max(last, int(head.number(10)))
    return last


def _model_file(path: Path, size: int, facts: Mapping[str, Value], marks: tuple[str, ...]) -> ModelFile:
    kind = str(facts.get("general.architecture", ""))

    def count(name: str) -> int:
        value = facts.get(f"{kind}.{name}", 0)
        return int(value) if isinstance(value, int) else 0

    layers, heads, width = count("block_count"), count("attention.head_count"), count("embedding_length")
    if not kind or not layers:
        raise _BadFile("has no language model in it")
    key_heads = count("attention.head_count_kv") or heads
    head_width = width // heads if heads else 0
    keys, values = count("attention.key_length") or head_width, count("attention.value_length") or head_width
    return ModelFile(
        path=path,
        file_bytes=size,
        architecture=kind,
        title=str(facts.get("general.name", "")) or path.stem,
        trained_window=count("context_length") or None,
        kv_bytes_per_token=layers * key_heads * (keys + values) * 2,
        chat_template=str(facts.get("tokenizer.chat_template", "")),
        control_marks=marks,
    )


class _Head:
    """The head of a file, taken piece by piece and never past *limit*."""

    def __init__(self, data: mmap.mmap, limit: int) -> None:
        self._data = data
        self._limit = limit
        self.position = 0

    def take(self, count: int) -> bytes:
        end = self.position + count
        if end > self._limit:
            raise _BadFile("is not complete" if self.position else "is not a GGUF file")
        data = self._data[self.position : end]
        self.position = end
        return data

    def width(self, kind: int) -> int:
        if kind not in _NUMBERS:
            raise _BadFile("has a damaged head")
        return struct.calcsize(_NUMBERS[kind])

    def number(self, kind: int) -> int | float | bool:
        data = self.take(self.width(kind))
        value: int | float | bool = struct.unpack(_NUMBERS[kind], data)[0]
        return value

    def text(self) -> str:
        length = int(self.number(10))
        if length > MAX_TEXT_BYTES:
            raise _BadFile("has a damaged head")
        return self.take(length).decode("utf-8", "replace")

    def texts(self, count: int, *, keep: bool) -> list[bytes]:
        """*count* texts, as bytes; passed over in any case, kept only where somebody wants them."""
        found = []
        data, position, limit, length_of = self._data, self.position, self._limit, struct.Struct("<Q").unpack_from
        for _ in range(count):
            if position + 8 > limit:
                raise _BadFile("is not complete")
            (length,) = length_of(data, position)
            position += 8 + length
            if position > limit:
                raise _BadFile("is not complete")
            if keep:
                found.append(data[position - length : position])
        self.position = position
        return found
