"""What was said, made readable: platform messages become a turn."""
