"""Importers that turn measured results into `measurement` and `operator_measurement` rows, and the
scores that hold predictions against them. Nothing here imports torch."""
