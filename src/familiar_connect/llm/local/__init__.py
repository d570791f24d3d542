"""Models on this computer: which can be fetched, which are here, and the servers that already run some."""
