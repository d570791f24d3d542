"""What the owner of a bot needs at its set-up: the link that lets it in, where its token goes, what is missing."""
