"""Every turn ever, in SQLite."""
