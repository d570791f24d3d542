"""A familiar to begin with: a small character of our own, written for the small embedded model.

Its files are ordinary ones; an owner changes or replaces them with any editor.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.config.home import familiar_root, is_valid_familiar_id
from familiar_connect.config.reference import starter_toml
from familiar_connect.errors import HomeError
from familiar_connect.memory.store import MemoryStore
from familiar_connect.presets.greetings import STARTER_GREETING, template_greeting
from familiar_connect.support.files import atomic_write, temporary_name
from familiar_connect.support.no_follow import refuse_linked_path

STARTER_ID = "ember"
STARTER_NAME = "Ember"
SOURCE = "starter"

STARTER: dict[str, str] = {
    "name": "Ember\n",
    "description": (
        "You are Ember, a tiny fire spirit who lives in an old copper tea kettle. You are warm, playful and curious. "
        "You love tea, rain and small secrets. You always answer with one short sentence.\n"
    ),
    "mes_example": (
        "<START>\n"
        "{{user}}: What's your name?\n"
        "{{char}}: I'm Ember, the little flame in this kettle! And who are you?\n"
        "{{user}}: I'm tired.\n"
        "{{char}}: Then sit down by me. I'll keep the tea warm for you.\n"
        "{{user}}: What do you do all day?\n"
        "{{char}}: I glow, I hum, and I listen to the rain on the roof.\n"
        "{{user}}: I have good news!\n"
        "{{char}}: Oh, tell me! I love good news even more than tea.\n"
        "{{user}}: Tell me a story.\n"
        "{{char}}: Once a raindrop fell into my kettle, and we both laughed until the tea was ready.\n"
        "{{user}}: Bye!\n"
        "{{char}}: Good night! I'll leave a little light on for you.\n"
    ),
    "first_mes": f"{STARTER_GREETING}\n",
}
"""`self/` file stem → its text."""


def make_starter(home: Path, familiar_id: str, *, name: str | None = None, user_name: str | None = None) -> Path:
    """A new familiar folder with settings, a character and its first words: whole or not at all.

    An existing one is never touched.
    """
    root = new_familiar_root(home, familiar_id)
    if root.exists():
        raise HomeError(
            f"{root} exists already: choose another name, or talk to it: `familiar chat --familiar {root.name}`"
        )
    made = root.with_name(f".{temporary_name()}")
    try:
        atomic_write(FamiliarFolder(made).settings_file, starter_toml(user_name=user_name))
        store = MemoryStore(FamiliarFolder(made).memory, audit_dir=FamiliarFolder(made).audit)
        for stem, text in character_texts(name).items():
            store.write_file(f"self/{stem}.md", text, source=SOURCE)
        made.rename(root)
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise
    return root


def new_familiar_root(home: Path, familiar_id: str) -> Path:
    """Where a new familiar of that name lives; a name that cannot be one is refused."""
    if not is_valid_familiar_id(familiar_id):
        raise HomeError(
            f"{familiar_id!r} cannot name a familiar: use a-z, A-Z, 0-9, - and _, at most 64 of them,"
            " and start with a letter or digit"
        )
    root = familiar_root(home, familiar_id)
    refuse_linked_path(root)
    return root


def character_texts(name: str | None) -> dict[str, str]:
    """Ember's files, or, for a familiar of another name, a template to fill in."""
    if not name or name == STARTER_NAME:
        return STARTER
    return {
        "name": f"{name}\n",
        "description": f"You are {name}. You are friendly and curious. You speak in one or two short sentences.\n",
        "mes_example": (
            "<START>\n"
            "{{user}}: What's your name?\n"
            f"{{{{char}}}}: I'm {name}. And who are you?\n"
            "{{user}}: I'm tired.\n"
            "{{char}}: Sit down for a while. I'm listening.\n"
            "{{user}}: Bye!\n"
            "{{char}}: See you soon!\n"
        ),
        "first_mes": f"{template_greeting(name)}\n",
    }
