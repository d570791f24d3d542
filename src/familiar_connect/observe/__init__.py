"""Traces, reports and replay of past turns; nothing here changes a reply."""
