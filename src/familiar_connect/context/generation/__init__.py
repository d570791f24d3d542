"""One attempt at a reply: what a prompt becomes for the one model that is asked."""
