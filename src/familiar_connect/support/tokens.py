"""estimate_tokens: how many tokens a text has for a model, counted or estimated on this machine.

Vocabularies that come inside an installed package are counted exactly, offline; `counting_for` says whose count is
meant wherever none is named, so that every budget of a turn is in the tokens of the model that answers it. For every
other model the text is weighed by its script: four characters a token for plain Latin text, more tokens for accents,
code and other scripts. The weights are set by the vocabulary of a multilingual model (benchmarks/token_counts.py);
they only grow with the text.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache, partial

from familiar_connect.support.text import truncate_chars

CHARS_PER_TOKEN = 4
"""Of plain Latin text."""
EXACT_LIMIT_CHARS = 40_000
"""Of a longer text only the beginning is counted: counting all of it would hold the event loop."""
WEIGHED_LIMIT_CHARS = 200_000
"""The same where no vocabulary is known: weighing is quicker than counting."""

MESSAGE_OVERHEAD = 4
"""Tokens a chat format spends around one message."""

MOST_CHARS_A_TOKEN = 32
REMEMBERED_CHARS = 2_000
"""Counts of texts up to this length are remembered."""

Encode = Callable[[str], Sequence[int]]
_counted_for: ContextVar[str | None] = ContextVar("counted_for", default=None)

_VOCABULARIES = (
    ("o200k_base", ("gpt-4o", "gpt-4.1", "gpt-5", "o1", "o3", "o4", "chatgpt-4o", "gpt-oss")),
    ("cl100k_base", ("gpt-4", "gpt-3.5", "text-embedding-3", "text-embedding-ada-002")),
    ("qwen3", ("qwen3", "qwen-3")),
    ("qwen2", ("qwen2", "qwen-2", "qwq")),
    ("llama3", ("llama-3", "llama3", "meta-llama-3")),
    ("deepseek_v3", ("deepseek-v3", "deepseek-r1", "deepseek-chat", "deepseek-reasoner")),
)

_UNIT = 100
"""Weights are hundredths of a token."""
_PLAIN = _UNIT // CHARS_PER_TOKEN
_CODE, _CODE_SIGN = b"{}[]<>=+/\\|&^%$~`", 75
_ACCENTS, _ACCENT = bytes(range(0xC0, 0x100)), 75
_BLOCKS: tuple[tuple[int, int], ...] = (
    (0x01, 200),  # accents of eastern Europe
    (0x03, 105),  # Greek
    (0x04, 43),  # Cyrillic
    (0x05, 44),  # Hebrew
    (0x06, 42),  # Arabic
    (0x09, 115),  # Devanagari
    (0x0A, 130),  # other scripts of India
    (0x0E, 59),  # Thai
    (0x0F, 130),  # Tibetan, Burmese, Georgian, Ethiopic, Khmer
    (0x1E, 30),  # Vietnamese
    (0x1F, 150),
    (0x20, 60),  # dashes and quotation marks
    (0x21, 100),  # signs, arrows, pictures
    (0x2E, 68),
    (0x30, 62),  # kana
    (0x31, 68),  # Chinese characters
    (0xA0, 130),
    (0xAC, 90),  # Hangul
    (0xD8, 280),  # emoji and rare characters, which are written as two units
    (0xDC, 0),  # the second of them
    (0xE0, 130),
    (0xFE, 70),  # full-width forms
)
"""From which block of 256 characters on a character weighs how much. The first block is weighed sign by sign."""
_STARTS = tuple(start for start, _ in _BLOCKS)
_OTHER_WEIGHTS = {0x01: ("đơưĐƠƯăĂ", 50), 0x04: ("іїєґІЇЄҐ", 140)}
"""In a block: Vietnamese letters, which are cheap, and Ukrainian ones, which are dear."""

_PER_SIGN_OF_ANOTHER_LANGUAGE = 90
_OF_ANOTHER_LANGUAGE = 5
"""Words of a language other than English are cut into more pieces: each accent, or small word of such a language, makes
the plain letters around it dearer, each by this much at most."""
_SMALL_WORDS = frozenset(
    (
        *("und", "nicht", "ich", "ist", "der", "das", "mit", "het", "een", "niet", "naar", "zijn", "op", "och", "att"),
        *(
            "det",
            "som",
            "jag",
            "og",
            "ikke",
            "ve",
            "bir",
            "di",
            "che",
            "della",
            "il",
            "gli",
            "una",
            "sono",
            "non",
            "yang",
        ),
        *(
            "untuk",
            "tidak",
            "dengan",
            "ke",
            "que",
            "los",
            "las",
            "por",
            "para",
            "est",
            "les",
            "des",
            "pas",
            "dans",
            "um",
        ),
        "uma",
    )
)


def estimate_tokens(text: str, model: str | None = None) -> int:
    """Tokens of *text*: exact for a *model* whose vocabulary is bundled, else weighed by script.

    No model is the one that `counting_for` names. The rest of a text beyond the limit is taken to be as dense as its
    beginning.
    """
    if not text:
        return 0
    model = model or _counted_for.get()
    vocabulary = vocabulary_of(model) if model else None
    encoder = _encoder(vocabulary) if vocabulary else None
    if vocabulary is None or encoder is None:
        return _weigh_of_any_length(text)
    if len(text) <= REMEMBERED_CHARS:
        return _count_exactly(vocabulary, text)
    counted = len(encoder(text[:EXACT_LIMIT_CHARS]))
    return math.ceil(counted * max(1.0, len(text) / EXACT_LIMIT_CHARS))


def make_counter(model: str | None = None) -> Callable[[str], int]:
    """`estimate_tokens` for many texts: which vocabulary *model* has is looked up once."""
    model = model or _counted_for.get()
    return partial(estimate_tokens, model=model) if model and vocabulary_of(model) else _weigh_of_any_length


def chars_within(text: str, max_tokens: int, model: str | None = None) -> int:
    """How many characters of *text*, from its beginning, are within *max_tokens*."""
    model = model or _counted_for.get()
    if estimate_tokens(text, model) <= max_tokens:
        return len(text)
    if max_tokens <= 0:
        return 0
    if not (model and vocabulary_of(model)):
        return (_cut_again if len(text) <= 4 * REMEMBERED_CHARS else _weigh_chars)(text, max_tokens)
    # Only blanks and ruled lines are longer for a token: of those fewer are kept, and a long text is not read whole.
    ends = range(min(len(text), MOST_CHARS_A_TOKEN * max_tokens) + 1)
    at = bisect.bisect_right(ends, max_tokens, key=lambda end: estimate_tokens(text[:end], model)) - 1
    while at > 0 and estimate_tokens(text[:at], model) > max_tokens:  # an exact count may fall while a text grows
        at -= 1
    return at


def truncate(text: str, max_tokens: int, model: str | None = None) -> str:
    """The longest good beginning of *text* within *max_tokens*, as *model* counts them where that is known."""
    return truncate_chars(text, chars_within(text, max_tokens, model))


@contextmanager
def counting_for(model: str | None) -> Iterator[None]:
    """Within this block, in its tasks and in its threads, tokens are those of *model*; load its vocabulary before."""
    token = _counted_for.set(model)
    try:
        yield
    finally:
        _counted_for.reset(token)


def is_vocabulary_ready(model: str | None) -> bool:
    """Whether counting for *model* needs nothing to be read first."""
    vocabulary = vocabulary_of(model) if model else None
    return vocabulary is None or vocabulary in _read


def load_vocabulary(model: str | None) -> None:
    """Read the vocabulary of *model* where one is bundled: it takes part of a second, so do it in a thread."""
    if model and (vocabulary := vocabulary_of(model)):
        _encoder(vocabulary)


@lru_cache(maxsize=256)
def vocabulary_of(model: str) -> str | None:
    """The bundled vocabulary of *model* (a provider prefix such as `openai/` does not matter)."""
    bare = model.lower().rsplit("/", 1)[-1]
    for vocabulary, prefixes in _VOCABULARIES:
        if bare.startswith(prefixes):
            return vocabulary
    return None


_read: set[str] = set()


@lru_cache(maxsize=4096)
def _count_exactly(vocabulary: str, text: str) -> int:
    """The same turns are counted again for every prompt that shows them."""
    encoder = _encoder(vocabulary)
    return len(encoder(text)) if encoder is not None else 0


@lru_cache(maxsize=2)
def _encoder(vocabulary: str) -> Encode | None:
    try:
        import splintr  # loaded once, on first use: most installs never need it
    except ImportError:
        _read.add(vocabulary)
        return None
    encode: Encode = splintr.Tokenizer.from_pretrained(vocabulary).encode_ordinary
    _read.add(vocabulary)
    return encode


def _weigh_tokens(text: str) -> int:
    return max(1, math.ceil(_weigh(text) / _UNIT)) if text else 0


_weigh_again = lru_cache(maxsize=1024)(_weigh_tokens)
"""The same turns are weighed again for every prompt that shows them."""


def _weigh_of_any_length(text: str) -> int:
    if len(text) <= 4 * REMEMBERED_CHARS:
        return _weigh_again(text)
    if len(text) <= WEIGHED_LIMIT_CHARS:
        return _weigh_tokens(text)
    return math.ceil(_weigh_tokens(text[:WEIGHED_LIMIT_CHARS]) * len(text) / WEIGHED_LIMIT_CHARS)


def _weigh_chars(text: str, max_tokens: int) -> int:
    # A character weighs a quarter of a token at least, so that less than all of a long text has to be looked at.
    ends = range(min(len(text), 4 * max_tokens) + 1)
    return bisect.bisect_right(ends, max_tokens, key=lambda end: _weigh_tokens(text[:end])) - 1


_cut_again = lru_cache(maxsize=256)(_weigh_chars)
"""What has no room is cut to the same length in prompt after prompt."""


def _weigh(text: str) -> int:
    """Weight of *text* in hundredths of a token; counted by whole byte strings, which is fast."""
    near = text.encode("latin-1", "ignore")
    accents = _count(near, _ACCENTS)
    weight = _PLAIN * len(near) + (_ACCENT - _PLAIN) * accents
    weight += (_CODE_SIGN - _PLAIN) * _count(near, _CODE)
    if len(near) < len(text):
        blocks = text.encode("utf-16-le", "surrogatepass")[1::2]
        for block in set(blocks) - {0}:
            count, each = blocks.count(block), _weight(block)
            if block in _OTHER_WEIGHTS:
                letters, other = _OTHER_WEIGHTS[block]
                weight += (other - each) * sum(map(text.count, letters))
            accents += count if block in (0x01, 0x02) else 0
            weight += each * count
    return weight + _foreign_weight(text, accents, len(near))


def _count(text: bytes, signs: bytes) -> int:
    return len(text) - len(text.translate(None, signs))


def _foreign_weight(text: str, accents: int, plain: int) -> int:
    words = text.lower().split()
    if words and not text[-1].isspace():
        words.pop()  # it may go on to be another word, and more text must not weigh less
    signs = accents + sum(map(_SMALL_WORDS.__contains__, words))
    return min(_PER_SIGN_OF_ANOTHER_LANGUAGE * signs, _OF_ANOTHER_LANGUAGE * plain)


def _weight(block: int) -> int:
    return _BLOCKS[bisect.bisect_right(_STARTS, block) - 1][1]
