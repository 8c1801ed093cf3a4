"""charz: how fast, how many joules, does it fit, why, and what would help — as SQL.

The pipeline reads off the package names: `charz.ingest` lowers a PyTorch model to rows,
`charz.schema` owns the tables, `charz.hardware_catalog` holds the machines,
`charz.sql` holds the cost model as views, and `charz.cli` is the command line over them.
"""

__version__ = "0.1.0"
