"""The one way to addresses named from outside: bounded, checked, and never into private networks."""
