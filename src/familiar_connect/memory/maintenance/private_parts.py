"""Taking out of memory what people said who asked for full privacy since.

What was made from their words is told nowhere from the moment they ask. Here it also goes from the files: part by
part as its sources tell, and whole files of direct messages with them. Each change stands in the audit.
"""

from __future__ import annotations

import logging

from familiar_connect.errors import MemoryStoreError
from familiar_connect.memory.maintenance.links import markdown_files
from familiar_connect.memory.maintenance.mentions import without_parts
from familiar_connect.memory.part_audiences import PartAudiences
from familiar_connect.memory.versioning.provenance import parts_of

SOURCE = "privacy"

logger = logging.getLogger(__name__)


def erase_private_parts(audiences: PartAudiences) -> list[str]:
    """Take them out of every file; the files that changed or went."""
    store = audiences.store
    changed: list[str] = []
    for path in markdown_files(store):
        try:
            gone = set(audiences.private_parts(path))
            if audiences.is_told_nowhere(path):
                store.delete_file(path, source=SOURCE)
            elif gone:
                text = store.read_file(path)
                without = without_parts(text, [part for part in parts_of(text) if part.hash in gone])
                store.write_file(path, without, source=SOURCE)
            else:
                continue
        except MemoryStoreError as error:
            logger.warning("private parts of a file stay withheld", extra={"error": type(error).__name__})
            continue
        changed.append(path)
    if changed:
        logger.info("parts made from the words of private people were erased", extra={"files": len(changed)})
    return changed
