"""The hands that put a familiar together: every part built once, in an order you can read. Nothing registers itself."""
