"""Loaders of the studies: measured figures with what charz predicts for each."""
