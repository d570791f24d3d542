"""SillyTavern itself as the judge: generated cases through its own page and through our assembly, compared."""
