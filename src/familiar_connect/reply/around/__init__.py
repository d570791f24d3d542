"""What a reply takes from around it: the preset and card in force, and the place as it looks now."""
