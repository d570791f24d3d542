"""World Info as SillyTavern scans it: which entries of the books a chat calls up, and where their texts go."""
