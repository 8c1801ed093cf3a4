"""Runs real models on this machine: the measured side of `charz validate`. Imports torch."""
