"""Commands that explain answers."""
