"""What a machine may run short of, while people talk to the program behind each of its doors."""
