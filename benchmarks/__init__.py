"""What is measured rather than asserted: speed, reuse, and how well the embedded model talks."""
