"""What runs before and after the model."""
