"""Looking back at a turn: what the model was shown, and why something was not."""
