"""Operator rules: importing this package registers every family, one module each."""

from importlib import import_module
from pathlib import Path

from .registry import RULES, Call, Rule, Value

for _path in sorted(Path(__file__).parent.glob("*.py")):
    if _path.stem not in ("__init__", "registry"):
        import_module(f"{__name__}.{_path.stem}")

__all__ = ["RULES", "Call", "Rule", "Value"]
