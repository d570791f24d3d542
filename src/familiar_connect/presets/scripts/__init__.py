"""Quick replies and the small part of STscript that they may use: texts and commands an owner keeps on buttons."""
