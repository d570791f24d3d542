"""Tools of other programs, reached by the Model Context Protocol."""
