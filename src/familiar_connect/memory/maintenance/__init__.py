"""Memory maintenance: housekeeping, links, review, erasing, export."""
