"""What is measured rather than asserted: speed, reuse, recall, and what survives faults."""
