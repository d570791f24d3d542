"""What the model may do during a reply. Off unless the owner switches it on."""
