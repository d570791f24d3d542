"""Azure's voices."""
