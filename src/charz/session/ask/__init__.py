"""Commands that ask for time, energy, memory and cost."""
