"""The one macro engine, for presets, cards, notes and every other authored text."""
