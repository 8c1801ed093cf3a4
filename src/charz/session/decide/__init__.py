"""What to take, what to change, what to build."""
