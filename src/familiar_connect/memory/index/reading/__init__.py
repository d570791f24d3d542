"""How texts are read: questions, the times they name, and the pieces a model knows."""
