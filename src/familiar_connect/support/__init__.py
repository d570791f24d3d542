"""Tools that know nothing of familiars."""
