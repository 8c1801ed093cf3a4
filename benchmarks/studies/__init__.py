"""Loaders of the studies: measured figures with charz's predictions."""
