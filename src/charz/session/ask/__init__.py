"""How fast, how many joules, how much memory, at what cost."""
