"""How a number comes about."""
