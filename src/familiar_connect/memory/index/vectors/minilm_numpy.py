"""NumpyMiniLM: all-MiniLM-L6-v2 computed with numpy alone, for the first few texts of a process.

A library that runs models spends half a second on making one quick before it has read a word. Whoever asks one thing
would wait for that. This reads the same weights from the same file, uses of the vocabulary only the rows it needs, and
has the vector of a question in a few hundredths of a second. Of many texts it is the slower way.
"""

from __future__ import annotations

import math
import mmap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from familiar_connect.errors import FamiliarError

Floats = NDArray[np.float32]

LAYERS = 6
HEADS = 12
NORM_EPSILON = 1e-12
_VARINT, _EIGHT_BYTES, _BYTES, _FOUR_BYTES = 0, 1, 2, 5
_GRAPH, _INITIALIZER = 7, 5
_DIMS, _DATA_TYPE, _NAME, _RAW_DATA = 1, 2, 8, 9
"""Numbers of the fields of an ONNX file that are read here."""
_TYPES: dict[int, np.dtype[Any]] = {1: np.dtype("<f4"), 3: np.dtype("i1"), 7: np.dtype("<i8")}
_MATRICES = 6
"""Of each layer: what is asked, what is asked for, what is taken from it, the way out, and the two of the middle."""


class WeightsUnreadable(FamiliarError):
    """The file of weights is not laid out as this reader knows it."""


class _Matrix(NamedTuple):
    """Whole numbers, and for each column (each row, of an embedding) what one of them stands for."""

    numbers: NDArray[np.int8]
    scale: Floats

    def multiply(self, left: Floats) -> Floats:
        return np.asarray((left @ self.numbers.astype(np.float32)) * self.scale, dtype=np.float32)

    def rows(self, places: NDArray[np.int64]) -> Floats:
        return np.asarray(self.numbers[places] * self.scale[places], dtype=np.float32)


@dataclass(frozen=True)
class _Layer:
    matrices: tuple[_Matrix, ...]
    biases: tuple[Floats, ...]
    norms: tuple[tuple[Floats, Floats], ...]

    def linear(self, which: int, hidden: Floats) -> Floats:
        return self.matrices[which].multiply(hidden) + self.biases[which]


class NumpyMiniLM:
    """Texts, cut into pieces, as the mean of what the model makes of the pieces. Safe to share between threads."""

    def __init__(self, path: Path) -> None:
        held = _read_initializers(path)
        try:
            embeddings = "inner.embeddings"
            self._words = _matrix(held, f"{embeddings}.word_embeddings.weight")
            self._positions = _matrix(held, f"{embeddings}.position_embeddings.weight")
            self._kind = _floats(held, f"{embeddings}.token_type_embeddings.weight")[0]
            self._norm = tuple(_floats(held, f"{embeddings}.LayerNorm.{part}") for part in ("weight", "bias"))
            names = [name.removesuffix("_q") for name in held if name.startswith("val_") and name.endswith("_q")]
            matrices = [_matrix(held, name) for name in names]
            self._layers = [_layer(held, number, matrices) for number in range(LAYERS)]
        except (KeyError, IndexError, ValueError) as error:
            raise WeightsUnreadable(f"{path} is not laid out as expected: {error}.") from error

    def embed(self, tokens: Sequence[Sequence[int]]) -> Floats:
        """One row of length one for each of *tokens*; all of them go through each layer together."""
        ends = np.cumsum([len(each) for each in tokens])
        texts = [slice(int(end) - len(each), int(end)) for end, each in zip(ends, tokens, strict=True)]
        ids = np.concatenate([np.asarray(each, dtype=np.int64) for each in tokens])
        places = np.concatenate([np.arange(len(each)) for each in tokens])
        hidden = _normalize(self._words.rows(ids) + self._kind + self._positions.rows(places), *self._norm)
        for layer in self._layers:
            hidden = _normalize(hidden + layer.linear(3, _attend(layer, hidden, texts)), *layer.norms[0])
            hidden = _normalize(hidden + layer.linear(5, _gelu(layer.linear(4, hidden))), *layer.norms[1])
        summed = np.stack([hidden[text].sum(axis=0) for text in texts])
        lengths = np.linalg.norm(summed, axis=1, keepdims=True)
        return np.asarray(summed / np.maximum(lengths, NORM_EPSILON), dtype=np.float32)


def _layer(held: dict[str, NDArray[np.generic]], number: int, matrices: Sequence[_Matrix]) -> _Layer:
    """Layer *number*; its matrices have no names of their own, and stand in the order they are used in."""
    own = tuple(matrices[number * _MATRICES : (number + 1) * _MATRICES])
    if len(own) != _MATRICES:
        raise IndexError(f"layer {number} lacks a matrix")
    name = f"inner.encoder.layer.{number}"
    parts = ("self.query", "self.key", "self.value", "output.dense")
    biases = [f"{name}.attention.{part}.bias" for part in parts]
    biases += [f"{name}.intermediate.dense.bias", f"{name}.output.dense.bias"]
    norms = (f"{name}.attention.output.LayerNorm", f"{name}.output.LayerNorm")
    return _Layer(
        own,
        tuple(_floats(held, bias) for bias in biases),
        tuple((_floats(held, f"{norm}.weight"), _floats(held, f"{norm}.bias")) for norm in norms),
    )


def _matrix(held: dict[str, NDArray[np.generic]], name: str) -> _Matrix:
    return _Matrix(held[f"{name}_q"].astype(np.int8, copy=False), _floats(held, f"{name}_scale"))


def _floats(held: dict[str, NDArray[np.generic]], name: str) -> Floats:
    return held[name].astype(np.float32, copy=False)


def _attend(layer: _Layer, hidden: Floats, texts: Sequence[slice]) -> Floats:
    """What each piece takes from all pieces of its text, head by head."""
    asked, offered, taken = (
        layer.linear(which, hidden).reshape(len(hidden), HEADS, -1).transpose(1, 0, 2) for which in range(3)
    )
    asked = asked / np.float32(math.sqrt(asked.shape[-1]))
    found = np.empty_like(hidden)
    for text in texts:
        weights = asked[:, text] @ offered[:, text].transpose(0, 2, 1)
        weights = np.exp(weights - weights.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
        found[text] = (weights @ taken[:, text]).transpose(1, 0, 2).reshape(-1, hidden.shape[1])
    return found


def _normalize(hidden: Floats, weight: Floats, bias: Floats) -> Floats:
    centred = hidden - hidden.mean(axis=-1, keepdims=True)
    spread = np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + np.float32(NORM_EPSILON))
    return np.asarray(centred / spread * weight + bias, dtype=np.float32)


def _gelu(values: Floats) -> Floats:
    """The curve this model was trained with: each number times the share of a bell curve to its left."""
    return np.asarray(0.5 * values * (1.0 + _erf(values / np.float32(math.sqrt(2.0)))), dtype=np.float32)


def _erf(values: Floats) -> Floats:
    """The error function, right to seven places (Abramowitz and Stegun, 7.1.26); numpy has none."""
    size = np.abs(values)
    step = 1.0 / (1.0 + 0.3275911 * size)
    curve = np.zeros_like(size)
    for part in (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592):
        curve = (curve + np.float32(part)) * step
    return np.asarray(np.sign(values) * (1.0 - curve * np.exp(-size * size)), dtype=np.float32)


def _read_initializers(path: Path) -> dict[str, NDArray[np.generic]]:
    """The named arrays of an ONNX file, in its order; they lie in the file, and only what is used of them is read."""
    with path.open("rb") as file:
        data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    found: dict[str, NDArray[np.generic]] = {}
    try:
        for field, start, end in _fields(data, 0, len(data)):
            if field != _GRAPH:
                continue
            for inner, first, last in _fields(data, start, end):
                if inner == _INITIALIZER:
                    _read_tensor(data, first, last, found)
    except (IndexError, ValueError) as error:
        raise WeightsUnreadable(f"{path} is not an ONNX file that can be read here: {error}.") from error
    return found


def _read_tensor(data: memoryview, start: int, end: int, into: dict[str, NDArray[np.generic]]) -> None:
    shape: list[int] = []
    kind, name, raw = 0, "", data[0:0]
    for field, first, last in _fields(data, start, end):
        if field == _DIMS:
            shape.append(first)
        elif field == _DATA_TYPE:
            kind = first
        elif field == _NAME:
            name = bytes(data[first:last]).decode("utf-8")
        elif field == _RAW_DATA:
            raw = data[first:last]
    if kind in _TYPES:
        into[name] = np.frombuffer(raw, dtype=_TYPES[kind]).reshape(shape)


def _fields(data: memoryview, at: int, end: int) -> Iterator[tuple[int, int, int]]:
    """Each field's number, and where it begins and ends; of a plain number, the number and 0."""
    while at < end:
        key, at = _varint(data, at)
        field, wire = key >> 3, key & 7
        if wire == _VARINT:
            value, at = _varint(data, at)
            yield field, value, 0
            continue
        if wire == _BYTES:
            length, at = _varint(data, at)
        elif wire in (_EIGHT_BYTES, _FOUR_BYTES):
            length = 8 if wire == _EIGHT_BYTES else 4
        else:
            raise ValueError(f"unknown kind of field {wire}")
        if at + length > end:
            raise ValueError("a field is longer than the file")
        yield field, at, at + length
        at += length


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
