"""Archive: the files in a zip, each read within bounds, and all of them together within one."""

from __future__ import annotations

import io
import zipfile
import zlib

from familiar_connect.api.importing import UnreadableFileError

MAX_MEMBERS = 200_000
MAX_MEMBER_BYTES = 256 * 1024 * 1024
MAX_BYTES = 768 * 1024 * 1024


class Archive:
    """A zip that is in memory; its names are only ever looked up in it."""

    def __init__(self, data: bytes) -> None:
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
            self.names = [each.filename for each in self._zip.infolist() if not each.is_dir()]
        except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError, EOFError):
            raise UnreadableFileError("is a damaged archive; fetch it again") from None
        if len(self.names) > MAX_MEMBERS:
            raise UnreadableFileError(f"holds more than {MAX_MEMBERS:,} files; take out of it what is no chat")
        self._left = MAX_BYTES

    def read(self, name: str) -> bytes:
        """What is in the file *name*."""
        most = min(MAX_MEMBER_BYTES, self._left)
        try:
            with self._zip.open(name) as member:
                data = member.read(most + 1)
        except RuntimeError:
            raise UnreadableFileError("is locked with a password; unpack it first", where=name) from None
        except (zipfile.BadZipFile, zlib.error, OSError, EOFError, NotImplementedError, ValueError, KeyError):
            raise UnreadableFileError("is damaged; fetch the archive again", where=name) from None
        if len(data) > most:
            raise UnreadableFileError(
                f"unpacks to more than {most // 1024 // 1024:,} MB; take it out and split it", where=name
            )
        self._left -= len(data)
        return data
