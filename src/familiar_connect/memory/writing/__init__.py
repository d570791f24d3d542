"""From turns to memory files: what the side model is shown, what of its answer counts, how it is carried out."""
