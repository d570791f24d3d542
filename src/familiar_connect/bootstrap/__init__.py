"""One-shot operator tools; only the command line may use them."""
