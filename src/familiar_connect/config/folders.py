"""Folders: every path of the data home and of a familiar in it, spelled once.

A value here names paths and does nothing else: it reads no disk and makes no folder, so it costs nothing to build.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

PROFILE_NAME = "_default"
"""Folder beside the familiars whose settings lie under everyone's."""
LAST_CONTEXT_SUFFIX = ".last-context.md"
CHANNEL_SUFFIX = ".toml"
INDEX_NAME = ".index"


@dataclass(frozen=True)
class FamiliarFolder:
    """The folder of one familiar, at *root*."""

    root: Path

    @property
    def familiar_id(self) -> str:
        return self.root.name

    @property
    def home(self) -> HomeFolder:
        """The data home this familiar lives in."""
        return HomeFolder(self.root.parent.parent)

    @property
    def profile(self) -> FamiliarFolder:
        """The folder beside this one whose settings lie under every familiar's, whether or not it exists."""
        return FamiliarFolder(self.root.parent / PROFILE_NAME)

    @property
    def settings_file(self) -> Path:
        return self.root / "character.toml"

    @property
    def subscriptions_file(self) -> Path:
        return self.root / "subscriptions.toml"

    @property
    def running_file(self) -> Path:
        """Held and renewed by the program that runs this familiar on its platforms or its page."""
        return self.home.cache / "running" / f"{self.familiar_id}.lock"

    @property
    def chats_file(self) -> Path:
        """The chats of each place."""
        return self.root / "chats.toml"

    @property
    def privacy_file(self) -> Path:
        return self.root / "privacy.toml"

    @property
    def ignore_list_file(self) -> Path:
        """People the owner does not want answered."""
        return self.root / "ignored.toml"

    @property
    def links_file(self) -> Path:
        """Who is the same person on several networks."""
        return self.root / "links.json"

    @property
    def control_grants_file(self) -> Path:
        """Who may use the controls of a chat, server by server."""
        return self.root / "controls.toml"

    @property
    def quiet_channels_file(self) -> Path:
        """Channels in which it says nothing for a while."""
        return self.root / "quiet.toml"

    @property
    def history_db(self) -> Path:
        return self.root / "history.db"

    @property
    def history_wal(self) -> Path:
        """What SQLite has not yet merged into the history."""
        return self.root / "history.db-wal"

    @property
    def metrics_db(self) -> Path:
        return self.root / "metrics.db"

    @property
    def memory(self) -> Path:
        return self.root / "memory"

    @property
    def character(self) -> Path:
        """The texts that make the character, in its memory."""
        return self.memory / "self"

    @property
    def index(self) -> Path:
        """What finds memory again: derived, and safe to delete."""
        return index_folder(self.memory)

    @property
    def audit(self) -> Path:
        return self.root / "audit"

    @property
    def backups(self) -> Path:
        """Copies made before a change of many files."""
        return self.root / "backups"

    @property
    def traces(self) -> Path:
        return self.root / "traces"

    @property
    def presets(self) -> Path:
        return self.root / "presets"

    def extension_data(self, name: str) -> Path:
        """Where an extension keeps files of its own."""
        return self.root / "extensions" / name

    @property
    def regex_file(self) -> Path:
        """The owner's regex scripts, and which of all scripts are on."""
        return self.root / "regex.json"

    @property
    def story(self) -> Path:
        """What lasts in chats as in SillyTavern: variables, and the timed effects of World Info."""
        return self.root / "story"

    @property
    def quick_replies(self) -> Path:
        """Sets of quick replies, as they were imported."""
        return self.root / "quick-replies"

    @property
    def sillytavern_file(self) -> Path:
        """Which card of a SillyTavern installation it was made of."""
        return self.root / "sillytavern.json"

    @property
    def imports(self) -> Path:
        """What is known of chats that were brought in from elsewhere."""
        return self.root / "imports"

    @property
    def attachments(self) -> Path:
        """Pictures that were attached to messages on the page, each under its hash."""
        return self.root / "attachments"

    def picture_file(self, ending: str) -> Path:
        """The picture its owner gave it, by the *ending* of its kind."""
        return self.root / f"picture{ending}"

    def background_file(self, ending: str) -> Path:
        """The picture that its owner gave it to stand behind a chat, by the *ending* of its kind."""
        return self.root / f"background{ending}"

    def own_picture(self, ending: str) -> Path:
        """The picture its owner gave themselves, by the *ending* of its kind."""
        return self.root / f"you{ending}"

    def persona_picture(self, name: str, ending: str) -> Path:
        """The picture of a persona of its owner, called *name* as a file is, by the *ending* of its kind."""
        return self.root / "personas" / f"{name}{ending}"

    @property
    def gallery(self) -> Path:
        """Pictures of it, each under its name."""
        return self.root / "gallery"

    @property
    def expressions(self) -> Path:
        """How it looks in a mood: a picture for each, under the mood's name."""
        return self.root / "expressions"

    def card_picture(self, ending: str) -> Path:
        """The card it was made from, where that is a picture."""
        return self.character / f".original{ending}"

    @property
    def channel_names_file(self) -> Path:
        """What the channels of servers are called."""
        return self.root / "channel-names.json"

    @property
    def modes(self) -> Path:
        return self.root / "modes"

    @property
    def channels(self) -> Path:
        return self.root / "channels"

    def channel_file(self, channel_id: int) -> Path:
        """Settings of one channel."""
        return channel_file(self.channels, channel_id)

    def channel_files(self) -> list[Path]:
        """Settings of every channel that has some, by name."""
        return sorted(self.channels.glob(f"*{CHANNEL_SUFFIX}"))

    def last_context_files(self) -> list[Path]:
        """The last prompt of every channel that has one, by name."""
        return sorted(self.channels.glob(f"*{LAST_CONTEXT_SUFFIX}"))


@dataclass(frozen=True)
class HomeFolder:
    """The data home, at *root*."""

    root: Path

    @property
    def familiars(self) -> Path:
        return self.root / "familiars"

    def familiar(self, familiar_id: str) -> FamiliarFolder:
        """Folder of one familiar; `config.home.familiar_root` first checks that the id can name one."""
        return FamiliarFolder(self.familiars / familiar_id)

    @property
    def profile(self) -> FamiliarFolder:
        """Settings and modes that lie under every familiar's own."""
        return FamiliarFolder(self.familiars / PROFILE_NAME)

    @property
    def groups(self) -> Path:
        """Groups of familiars, a file each."""
        return self.root / "groups"

    def group_file(self, name: str) -> Path:
        """Settings of one group; `config.groups.group_file` first checks that the name can be one."""
        return self.groups / f"{name}.toml"

    @property
    def rehearsals(self) -> Path:
        """Rehearsal files that the page lists."""
        return self.root / "rehearsals"

    @property
    def trial(self) -> Path:
        """A home of its own with the copy of a familiar that the last trial played with."""
        return self.root / "trial"

    @property
    def trial_lock(self) -> Path:
        """Held while a trial runs."""
        return self.cache / "trial.lock"

    @property
    def secrets_file(self) -> Path:
        return self.root / "secrets.env"

    @property
    def trust_file(self) -> Path:
        """Where familiars may send what they see, and which key was given for which place."""
        return self.root / "trust.toml"

    @property
    def extensions_file(self) -> Path:
        """Which extensions the owner allowed."""
        return self.root / "extensions.toml"

    def extension_data(self, name: str) -> Path:
        """Where an extension keeps files that are about all familiars."""
        return self.root / "extensions" / name

    @property
    def favourites_file(self) -> Path:
        """Which familiars the lists of the page begin with."""
        return self.root / "favourites.toml"

    @property
    def exports(self) -> Path:
        """What was written out for other programs."""
        return self.root / "exports"

    @property
    def cache(self) -> Path:
        """What may be deleted at any time."""
        return self.root / "cache"

    @property
    def log_file(self) -> Path:
        return self.cache / "familiar.log"

    def chat_lines(self, familiar_id: str) -> Path:
        """What was typed to a familiar in the terminal, for the line editor to offer again."""
        return self.cache / "typed" / familiar_id

    @property
    def older_chat_lines(self) -> Path:
        """What was typed to any familiar, as earlier versions kept it."""
        return self.cache / "chat-lines"

    @property
    def greetings(self) -> Path:
        """The sound of greetings, so that they need not be spoken anew."""
        return self.cache / "greetings"

    @property
    def model_cache(self) -> Path:
        return self.cache / "embedded"

    @property
    def models(self) -> Path:
        """Model files that were fetched: large, and safe to delete, since they can be fetched again."""
        return self.cache / "models"

    @property
    def small_model(self) -> Path:
        """The small model, where it was fetched because it was not installed beside the program."""
        return self.models / "small" / "small.gguf"

    @property
    def models_file(self) -> Path:
        """Names the owner gave to model files that lie elsewhere."""
        return self.root / "models.toml"

    @property
    def catalogue_file(self) -> Path:
        """Models to fetch that the owner added to those the program knows."""
        return self.root / "catalogue.toml"

    def open_page_file(self, port: int) -> Path:
        """Held by the program that serves the page of this home at *port*; no familiar has a name like it."""
        return self.cache / "running" / f".page-{port}.lock"

    @property
    def page_key_file(self) -> Path:
        """Signs the cookies of the page; without it every browser is asked again."""
        return self.cache / "page-key"

    @property
    def speed_file(self) -> Path:
        """How fast the small model was on this computer."""
        return self.cache / "speed.json"


def channel_file(channels: Path, channel_id: int) -> Path:
    """Settings of a channel in the folder *channels*."""
    return channels / f"{int(channel_id)}{CHANNEL_SUFFIX}"


def last_context_file(channels: Path, channel_id: int) -> Path:
    """The last prompt of a channel in the folder *channels*."""
    return channels / f"{int(channel_id)}{LAST_CONTEXT_SUFFIX}"


def index_folder(memory: Path) -> Path:
    """The index of the memory folder *memory*."""
    return memory / INDEX_NAME
