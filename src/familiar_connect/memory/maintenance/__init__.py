"""Looking after memory between conversations: housekeeping, links, review, erasing, export."""
