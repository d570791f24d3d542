"""What a familiar on Discord stands: heavy traffic, a line that is cut, and a process that is killed."""
