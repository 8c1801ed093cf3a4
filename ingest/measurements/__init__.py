"""Importers that turn measured results into `measurement` and `operator_measurement` rows, without
importing torch."""
