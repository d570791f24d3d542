"""The page: a familiar in the browser of whoever runs it, on this computer unless told otherwise."""
