"""Every exception of the program, in one tree.

    FamiliarError                     catch this to show one sentence instead of a traceback
    ├── SetupError                    you set it up wrong: shown to the operator as it stands
    │   ├── ChatImportError           a chat file that cannot be taken in: names file and line
    │   ├── ConfigError               a settings file: names file, section, key and the fix
    │   ├── DocumentImportError       a document that cannot be read, or is too large
    │   ├── HomeError                 the data home cannot be used (read-only, full, no such familiar)
    │   ├── LorebookImportError       a lorebook that cannot be read, or is too large
    │   ├── PresetError               a SillyTavern preset that cannot be read, kept or found
    │   ├── ScriptError               a quick reply that cannot be read or run: names its line
    │   ├── CharacterCardError        a file with no usable card in it
    │   └── CharacterUnpackError      a card that does not go over what is there already
    ├── ModelError                    a model failed; `.retryable` says whether trying again may help
    │   ├── ModelSetupError           wrong key, unknown model, nobody listening: names the fix
    │   ├── SpendingLimitError        a cap of [limits] is reached: nobody is asked until tomorrow
    │   ├── PromptTooLongError        more than the model's window holds: names what takes the room
    │   ├── ModelTimeoutError         a limit of time was met: names the setting that holds it
    │   ├── EmptyReplyError           it was asked twice and said nothing
    │   └── NoChoicesError            the endpoint answered without any choice (a ValueError too)
    ├── NoReplyError                  no model can be asked, or it was and gave nothing: the exit code is 3
    │   └── MissingKeyError           nobody gave the key that an endpoint wants (a ConfigError too)
    ├── TurnDeadlineError             the model was silent for longer than a setting allows, which it names
    ├── DeliveryError                 a place could not be written to; `.retryable` as above
    │   └── NotSupported              asked of a place that cannot do it, as its features say
    ├── FetchError                    an address named from outside gives nothing; says why in a few words
    ├── HistoryError                  `history.db` cannot be read or written; says what was kept
    └── MemoryStoreError              anything the memory store refuses
        ├── MemoryStorePathError      a path outside the root
        ├── MemoryStoreSizeLimitError a cap on bytes or counts
        ├── MemoryStorePatternError   a search pattern that is invalid or too costly
        └── MemoryStoreEncodingError  a file that is not UTF-8
    PreProcessorError (RuntimeError)  a pre-processor asks to be skipped

Modules re-export the ones they raise, so callers import an error from where it happens.
"""

from __future__ import annotations


class FamiliarError(Exception):
    """Root of what this program raises on purpose."""


class SetupError(FamiliarError):
    """Something is set up wrong; the message says what and how to mend it."""


class ConfigError(SetupError):
    """A settings file is wrong: the message names file, section, key and the fix."""


class ChatImportError(SetupError):
    """A chat file that cannot be taken in: the message names file and line, and nothing was changed."""


class DocumentImportError(SetupError):
    """A document that cannot be taken into memory: the message names the file and why."""


class ScriptError(SetupError):
    """A quick reply that cannot be read, found or run: the message names the line, and what is done stays."""


class UnreadableFileError(SetupError):
    """A file that its importer cannot read: what is wrong, in words that follow the name of the file."""

    def __init__(self, words: str, *, where: str = "") -> None:
        super().__init__(words)
        self.where = where
        """Which part of the file is meant, such as "line 3"; empty: all of it."""


class HomeError(SetupError):
    """The data home, or a familiar in it, cannot be used."""


class LorebookImportError(SetupError):
    """A lorebook that cannot be read, or is more than a memory folder takes."""


class PresetError(SetupError):
    """A SillyTavern preset cannot be read, kept or found."""


class CharacterCardError(SetupError):
    """A source with no usable character card in it; the message says what is wrong with it."""


class CharacterUnpackError(SetupError):
    """A card that cannot be unpacked over what is there; nothing was changed."""


class ModelError(FamiliarError):
    """A model call failed."""

    def __init__(
        self,
        message: str,
        *,
        retryable: bool = False,
        status: int | None = None,
        retry_after_s: float | None = None,
        waiting_for: str | None = None,
    ) -> None:
        super().__init__(message)
        self.retryable = retryable
        self.status = status
        self.retry_after_s = retry_after_s
        self.waiting_for = waiting_for
        """The server may be coming up: what whoever can wait would be waiting for, in a few words."""


class ModelSetupError(ModelError):
    """A model that cannot answer until the operator mends something: key, address, weights."""


class SpendingLimitError(ModelError):
    """A cap of [limits] is reached: no model is asked until the next day."""


class PromptTooLongError(ModelError):
    """A prompt that the model's window does not hold."""


class ModelTimeoutError(ModelError):
    """A model did not begin, or did not end, within the time that a setting gives it."""


class EmptyReplyError(ModelError):
    """A model was asked, asked again, and no word of what it wrote was a reply."""


class SilentReplyError(EmptyReplyError):
    """A model was asked, asked again, and chose to say nothing, though somebody waits for a word."""


class NoChoicesError(ModelError, ValueError):
    """The endpoint answered without any choice."""


class NoReplyError(FamiliarError):
    """A verb asked a model and got no answer, or has none to ask; the message says why and what to do."""


class MissingKeyError(ConfigError, NoReplyError):
    """An endpoint wants a key that nobody gave."""


class TurnDeadlineError(FamiliarError):
    """The model was silent for longer than a setting allows; the message names it."""


class DeliveryError(FamiliarError):
    """A piece of a reply could not be sent. `retryable` promises that trying again never says it twice."""

    def __init__(
        self,
        message: str,
        *,
        retryable: bool = False,
        retry_after_s: float | None = None,
        may_have_arrived: bool = False,
    ) -> None:
        super().__init__(message)
        self.retryable = retryable
        self.retry_after_s = retry_after_s
        self.may_have_arrived = may_have_arrived
        """Nobody knows whether people can read it; another try would tell."""


class NotSupported(DeliveryError):
    """A place was asked for something it cannot do; its features say so."""


class FetchError(FamiliarError):
    """An address named from outside could not, or may not, be fetched."""


class HistoryError(FamiliarError):
    """The history database cannot be used."""


class MemoryStoreError(FamiliarError):
    """A memory operation was refused or failed."""


class MemoryStorePathError(MemoryStoreError):
    """A path that leaves the memory root, or could."""


class MemoryStoreSizeLimitError(MemoryStoreError):
    """A cap on bytes, results or files was met; nothing was written."""


class MemoryStorePatternError(MemoryStoreError):
    """A search pattern that is invalid or not supported by the linear-time engine."""


class MemoryStoreEncodingError(MemoryStoreError):
    """A memory file that is not UTF-8 text."""


class PreProcessorError(RuntimeError):
    """Raised by a pre-processor that wants to be skipped this turn."""
