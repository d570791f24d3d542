"""General helpers that import nothing from the other rooms."""
