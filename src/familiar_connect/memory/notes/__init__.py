"""What is kept beside long-term memory: notes for a day, and what people rewarded or punished."""
