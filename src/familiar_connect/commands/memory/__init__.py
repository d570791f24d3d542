"""memory: what the familiar keeps for good, by hand."""
