"""Words that were once shown to people and needed a second reading do not come back."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SHOWN = (".py", ".html", ".js", ".toml", ".md")
GONE = (
    "Bring it in",
    "Under the fidelity in force",
    "It went on.",
    "as if it had never been said",
    "Nothing waits.",
    "nobody called so",
    "is called so.",
    "For better talk",
    "simple-minded",
    "is no JSON",
    "mend that line",
    "told, no instruction",
    "told no count of tokens",
    "ended here, because",
    "it stood in the prompt, and the model did not use it",
    "Answer somebody no more",
    "MB of memory are free",
    "would think first",
    "memory file is settled",
    "In place of what was said here",
    "what came from nobody knows where",
    "says the latter",
    "Taken back,",
    "begins the chat anew",
    "The chat begins anew",
    "makes the last reply anew",
    "I ignore nobody.",
    "told to nobody else",
    "That takes the right to",
    "my owner aside",
    "so nothing you do is kept",
    "no reply of mine",
    "chat of last time",
    "somebody else's familiar",
    "a bot of yours",
    "counts for nothing",
    "nobody listens there",
    "knock at no other computer",
    "ears, voice, microphone",
    "for you have not allowed it",
    "waits for your word",
    "waits for your yes",
    "wait here for your word",
    "was brought in yet",
    "goes on from there",
    "Bring one in:",
    "what stands there now becomes",
    "stands behind the verb",
    "Nobody listens at",
    "a server of yours",
    "never stops these offers",
    "it anew with",
    "it anew at",
    "install it anew",
    "mend it or move it",
    "mend that row",
    "mend the card",
    ": mend it there",
    "cannot be meant",
    "it knows anew",
    "came along: choose",
    "comes along, offline",
    "what came, `import",
    "Taken in {",
    "bears on that.",
    "Bring the search index level",
    "Bring it level",
    "could not be brought level:",
    "was never told:",
    "was not awake yet",
    "of ours; no token",
    "no right to send",
    "is no GGUF file",
    "is no application id",
    "is no id of",
    "is no WAV file",
    "slower and dearer",
    "something of mine failed",
)


@pytest.mark.parametrize("place", ["src", "docs", "README.md"])
def test_what_was_mended_stays_mended(place: str) -> None:
    """In what the program says and in what is written about it."""
    root = ROOT / place
    files = [root] if root.is_file() else [path for path in root.rglob("*") if path.suffix in SHOWN]
    texts = {path: path.read_text(encoding="utf-8") for path in files}
    found = [f"{path.name}: {words}" for path, text in texts.items() for words in GONE if words in text]

    assert files
    assert found == []
