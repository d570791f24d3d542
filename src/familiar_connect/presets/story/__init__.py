"""What a roleplay chat brings besides its words: notes, personas, books, variables, and where they are kept."""
