"""A scripted week played through the real program, on simulated time, before anybody meets the familiar."""
