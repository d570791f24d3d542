"""What people type who come from other programs, and how it is said here."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click

_A_FOLDER = "A familiar is a folder, and `familiar list` says where: delete it to be rid of the familiar."
_TALK = "`familiar chat` talks with a familiar."
VERB_HABITS = {
    "card": "`familiar init --from-card FILE` makes a familiar of a card.",
    "create": "`familiar init NAME` makes a familiar.",
    "new": "`familiar init NAME` makes a familiar; `familiar chat --new` begins a chat.",
    "delete": _A_FOLDER,
    "remove": _A_FOLDER,
    "rm": _A_FOLDER,
    "download": "`familiar model get NAME` fetches a model.",
    "install": "`familiar model get NAME` fetches a model.",
    "pull": "`familiar model get NAME` fetches a model.",
    "ps": "`familiar model list` shows which model answers.",
    "history": "`familiar logs` shows what was said.",
    "login": "`familiar keys set openrouter` keeps a key.",
    "serve": "`familiar web` is the page in your browser, `familiar run` is for Discord and Twitch.",
    "server": "`familiar web` is the page in your browser, `familiar run` is for Discord and Twitch.",
    "settings": "`familiar config show` shows them.",
    "show": "`familiar inspect` shows the last prompt, `familiar memory show FILE` a file of memory.",
    "status": "`familiar doctor` looks at everything.",
    "start": _TALK,
    "talk": _TALK,
    "version": "`--version` alone tells it.",
}
"""Words that are no verbs, and the sentence about each."""
KIND_HABITS = {
    "card": "`familiar init --from-card FILE` makes a familiar of a card.",
    "character": "`familiar init --from-card FILE` makes a familiar of a card.",
    "world": "`familiar import lorebook FILE` brings it.",
    "worldinfo": "`familiar import lorebook FILE` brings it.",
}
"""The same behind `import`."""
_EXTRA = re.compile(r"Got unexpected extra arguments? \((.*)\)", re.DOTALL)
_SHOWN_WORDS = 80


def explain_mistake(mistake: click.UsageError) -> str:
    """What *mistake* says, with what was most likely meant."""
    sentence = mistake.format_message()
    extra = _EXTRA.fullmatch(sentence)
    if extra is None or mistake.ctx is None:
        return sentence
    words, path = extra[1], mistake.ctx.command_path
    verb = path.partition(" ")[2]
    if any(option.name == "familiar_id" for option in mistake.ctx.command.params) and words in _familiars(mistake.ctx):
        typed = shlex.join(["familiar", *verb.split(), "--familiar", words])
        return f"a familiar is named by an option: `{typed}`"
    if verb == "chat" and len(words) <= _SHOWN_WORDS:
        return f"chat takes no words: `familiar ask {shlex.quote(words)}` says them and prints the reply"
    return sentence


def _familiars(ctx: click.Context) -> list[str]:
    from familiar_connect.config.home import find_home, list_familiars
    from familiar_connect.errors import FamiliarError

    home: Path | None = (ctx.find_root().obj or {}).get("home")
    try:
        return list_familiars(find_home(home))
    except FamiliarError:
        return []
