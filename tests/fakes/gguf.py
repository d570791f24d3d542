"""Small model files: a head as real ones have it, and a few bytes where the weights would be."""

from __future__ import annotations

import struct

TEMPLATE = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"


def _text(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def _entry(key: str, value: str | int) -> bytes:
    if isinstance(value, str):
        return _text(key) + struct.pack("<I", 8) + _text(value)
    return _text(key) + struct.pack("<II", 4, value)


def gguf_bytes(
    *, window: int = 4096, weights: int = 64, tokens: tuple[str, ...] = ("a", "<|im_end|>", "[SAY]")
) -> bytes:
    """A file of the kind `llama` with *weights* bytes of nothing in one tensor."""
    entries = [
        _entry("general.architecture", "llama"),
        _entry("general.name", "Tiny"),
        _entry("llama.block_count", 2),
        _entry("llama.context_length", window),
        _entry("llama.embedding_length", 64),
        _entry("llama.attention.head_count", 4),
        _entry("llama.attention.head_count_kv", 2),
        _text("tokenizer.ggml.tokens") + struct.pack("<IIQ", 9, 8, len(tokens)) + b"".join(map(_text, tokens)),
        _text("tokenizer.ggml.token_type")
        + struct.pack("<IIQ", 9, 5, len(tokens))
        + b"".join(struct.pack("<i", 3 if len(token) > 1 else 1) for token in tokens),
        _entry("tokenizer.chat_template", TEMPLATE),
    ]
    tensor = _text("weights") + struct.pack("<IQIQ", 1, weights, 0, 0)
    return b"GGUF" + struct.pack("<IQQ", 3, 1, len(entries)) + b"".join(entries) + tensor + bytes(weights)
