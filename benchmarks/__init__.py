"""Benchmarks that compare charz with measured data. They are outside the package."""
