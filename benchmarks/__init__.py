"""Benchmarks that hold charz against measured data. Not part of the package."""
