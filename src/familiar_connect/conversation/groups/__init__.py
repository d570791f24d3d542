"""Several familiars in one place."""
