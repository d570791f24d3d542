"""What the model gets to see."""
