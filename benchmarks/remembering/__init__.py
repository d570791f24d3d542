"""How much a familiar still knows: facts told, asked for later, answered by a real model and graded by code."""
