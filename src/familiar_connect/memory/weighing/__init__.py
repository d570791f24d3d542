"""What is worth keeping of what people say, by rules alone: one weighing for notes, summaries and compacting."""
