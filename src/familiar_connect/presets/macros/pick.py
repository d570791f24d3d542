"""The seeded choice behind `{{pick}}`: the same chat, text and place always choose the same option.

A 53-bit string hash over UTF-16 units seeds an ARC4 stream; the numbers are those SillyTavern gets, so a text that was
written there chooses the same here.
"""

from __future__ import annotations

from functools import lru_cache

_MASK = 0xFFFFFFFF
_WIDTH = 256
_CHUNKS = 6
"""Bytes taken from the stream before the number is fine enough for 52 bits."""
_START_DENOMINATOR = float(_WIDTH**_CHUNKS)
_SIGNIFICANCE = 2.0**52
_OVERFLOW = 2.0**53


def utf16_units(text: str) -> memoryview:
    """*text* as 16-bit numbers; half a pair counts as one of them."""
    return memoryview(text.encode("utf-16-le" if _LITTLE else "utf-16-be", "surrogatepass")).cast("H")


_LITTLE = memoryview(b"\x01\x00").cast("H")[0] == 1


@lru_cache(maxsize=64)
def string_hash(text: str) -> int:
    """The 53-bit hash of *text*."""
    one, two = 0xDEADBEEF, 0x41C6CE57
    for unit in utf16_units(text):
        one = (one ^ unit) * 2654435761 & _MASK
        two = (two ^ unit) * 1597334677 & _MASK
    first, second = one, two
    one = ((first ^ first >> 16) * 2246822507 & _MASK) ^ ((second ^ second >> 13) * 3266489909 & _MASK)
    two = ((second ^ second >> 16) * 2246822507 & _MASK) ^ ((one ^ one >> 13) * 3266489909 & _MASK)
    return 4294967296 * (2097151 & two) + one


class SeededRandom:
    """A stream of numbers in [0, 1) that depends on nothing but its seed."""

    def __init__(self, seed: str) -> None:
        key: list[int] = []
        smear = 0
        for index, unit in enumerate(utf16_units(seed)):
            place = index & 255
            if place < len(key):
                smear ^= key[place] * 19
                key[place] = smear + unit & 255
            else:
                key.append(smear + unit & 255)
        self._state = _schedule(key or [0])
        self._i = self._j = 0
        self._take(_WIDTH)

    def random(self) -> float:
        number, denominator, low = float(self._take(_CHUNKS)), _START_DENOMINATOR, 0
        while number < _SIGNIFICANCE:
            number = (number + low) * _WIDTH
            denominator *= _WIDTH
            low = self._take(1)
        while number >= _OVERFLOW:
            number /= 2
            denominator /= 2
            low >>= 1
        return (number + low) / denominator

    def _take(self, count: int) -> int:
        state, i, j, value = self._state, self._i, self._j, 0
        for _ in range(count):
            i = i + 1 & 255
            moved = state[i]
            j = j + moved & 255
            state[i], state[j] = state[j], moved
            value = value * _WIDTH + state[state[i] + state[j] & 255]
        self._i, self._j = i, j
        return value


def _schedule(key: list[int]) -> list[int]:
    state = list(range(_WIDTH))
    j = 0
    for i in range(_WIDTH):
        moved = state[i]
        j = j + key[i % len(key)] + moved & 255
        state[i], state[j] = state[j], moved
    return state


def pick_index(chat_id: str, content: str, offset: int, count: int) -> int:
    """Which of *count* options the macro at *offset* (UTF-16 units) of *content* takes in this chat."""
    if count < 2:
        return 0
    seed = f"{string_hash(chat_id)}-{string_hash(content)}-{offset}"
    return int(SeededRandom(str(string_hash(seed))).random() * count)
