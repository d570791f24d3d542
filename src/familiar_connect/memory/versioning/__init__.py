"""Every earlier version of a memory file: the audit log, versions, line authorship and provenance."""
