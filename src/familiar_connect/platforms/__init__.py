"""Platform adapters: each turns its own events into ours and our replies into its own."""
