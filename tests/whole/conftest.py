"""Makes the databases of the oracle tests importable here: test folders are packages of their own."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
