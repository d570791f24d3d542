"""Kills at the writes: the real program behind each of its doors, ended right before and right after what it writes."""
