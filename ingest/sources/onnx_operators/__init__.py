"""ONNX operators as calls of PyTorch, one module a family: importing this package registers every one."""

from importlib import import_module
from pathlib import Path

from .registry import HOST, TENSOR, Block, Step, is_host

for _path in sorted(Path(__file__).parent.glob("*.py")):
    if _path.stem not in ("__init__", "registry"):
        import_module(f"{__name__}.{_path.stem}")

__all__ = ["HOST", "TENSOR", "Block", "Step", "is_host"]
