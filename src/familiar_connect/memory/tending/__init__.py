"""Looking after memory: review, links, housekeeping, export and erasure."""
