"""Tools a model may call during a reply. Off unless the owner switches them on."""
