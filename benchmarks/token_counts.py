"""How far the estimate of tokens is from a model's own count, language by language.

    python -m benchmarks.token_counts MODEL.gguf

starts the embedded library's server on that file, has it tokenize two texts of each language, and prints the error of
the estimate. The weights were set by the first text of each; the second is the judge.
"""

from __future__ import annotations

import argparse
import json
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path

from familiar_connect.support.tokens import estimate_tokens

ALLOWED = 0.15

SAMPLES: dict[str, tuple[str, str]] = {
    language: (first, second)
    for language, (first, second) in json.loads(
        Path(__file__).with_name("token_samples.json").read_text(encoding="utf-8")
    ).items()
}
"""Two texts for each language; `code` and `chat` are what people paste and how they write with emoji."""


def count_with_gguf(path: Path) -> Callable[[str], int]:
    """What counts tokens by the vocabulary inside *path*."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.n_ctx = 256
    params.n_parallel = 1
    params.warmup = False
    params.verbosity = 0
    params.hostnames = ["127.0.0.1"]
    server = xllamacpp.Server(params)

    def count(text: str) -> int:
        request = urllib.request.Request(
            f"{server.listening_address}/tokenize",
            data=json.dumps({"content": text}).encode(),
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            return len(json.load(answer)["tokens"])

    return count


def errors(count: Callable[[str], int]) -> dict[str, tuple[float, float]]:
    """For each language the relative error of the estimate on its two texts."""
    found = {}
    for language, texts in SAMPLES.items():
        first, second = ((estimate_tokens(text) - count(text)) / count(text) for text in texts)
        found[language] = (first, second)
    return found


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, help="a GGUF file")
    count = count_with_gguf(parser.parse_args(arguments).model)
    found = errors(count)
    print(f"{'language':10} {'set by':>8} {'judged':>8}   a quarter of the characters")
    for language, (first, second) in found.items():
        text = SAMPLES[language][1]
        plain = (len(text) / 4 - count(text)) / count(text)
        print(f"{language:10} {first:+8.0%} {second:+8.0%}   {plain:+.0%}")
    return 0 if all(abs(second) <= ALLOWED for _, second in found.values()) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
