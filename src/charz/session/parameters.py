"""Parameters that methods of a session share, with the text that the command line shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

MOST = 10**9
"""Largest batch, sequence, context, image side and number of rows: larger ones overflow counts of 64 bits."""


@dataclass(frozen=True, slots=True)
class Text:
    """Description of a parameter, and its form on the command line."""

    help: str
    flag: str = ""
    """Name of the option if it differs from the parameter's."""
    short: str = ""
    """One letter, e.g. `-j`."""
    least: float | None = None
    most: float | None = None
    taken: Any = None
    """Type on the command line, where Python takes objects that no text can express."""
    is_python_only: bool = False
    """True if the command line lacks this option."""


Names = str | Sequence[str]
"""One name, several, or several in one text, separated by commas."""

Sizes = int | str | Sequence[int]
"""One size, several, or a text: `1,8,64`, `1:256` (doubling) or `64:1024:64` (steps)."""

Amount = float | str
"""A number in SI units, or a text with its unit: `5ms`, `50mJ`, `8GiB`."""

File = str | Path
"""A file or folder."""

Model = Annotated[str, Text("Ingested model; `charz models` lists them.")]
Models = Annotated[Names, Text("Ingested models; `charz models` lists them.")]
AnyModels = Annotated[Names | None, Text("Models; all when none is named.")]
Part = Annotated[str, Text("Part, e.g. rtx4090; `charz hardware list` shows all.")]
Parts = Annotated[Names | None, Text("Parts, with commas or by repeating the option; else every part.")]
Batch = Annotated[int | None, Text("Samples in one run.", least=1)]
Sequence_ = Annotated[int | None, Text("Tokens a sample.", least=1)]
Precision = Annotated[str | None, Text("Precision policy, e.g. fp16; else the backend's default.")]
Backend = Annotated[str | None, Text("Backend, e.g. inductor.")]
Cache = Annotated[
    str, Text("Content of the last-level cache when a kernel begins: warm, cold, hot or weights_resident.")
]
IncludeTransfer = Annotated[bool, Text("Include the transfer of the inputs from host memory before every run.")]
Cap = Annotated[str | None, Text("Cap on the part: a power mode, e.g. 15w, or a limit in watts, e.g. 150w.")]
Caps = Annotated[Names | None, Text("Caps on the part: power modes or limits in watts, with commas.")]
Drawn = Annotated[Amount | None, Text("Largest average power over a run, e.g. 15W.")]
Batches = Annotated[Sizes | None, Text("Batches: 8, 1,8,64 or 1:256 (doubling).")]
Sequences = Annotated[Sizes | None, Text("Sequence lengths: 128, 128,512 or 128:2048 (doubling).")]
Precisions = Annotated[
    Names | None, Text("Precision policies, with commas; else each backend's default.")
]
Backends = Annotated[Names | None, Text("Backends, with commas.")]
Versions = Annotated[Names | None, Text("Versions of the backend, with commas; else the assumed one.")]
KvPrecisions = Annotated[Names | None, Text("Formats of keys and values between tokens, with commas, e.g. fp8_e4m3.")]
Devices = Annotated[
    Sizes | None, Text("Devices that share each kernel by tensor parallel: 8, 1,2,4 or 1:8 (doubling).")
]
HostShare = Annotated[
    float | None, Text("Share kept in host memory and transferred over the link in every step.", least=0.0, most=1.0)
]
Context = Annotated[int | None, Text("Tokens attended to, of a language model.", least=1)]
Phase = Annotated[
    str | None, Text("forward, prefill (a prompt) or decode (a token); default decode with a context, else forward.")
]
Top = Annotated[int, Text("Rows to list.", least=1, most=MOST)]
Force = Annotated[bool, Text("Let --out overwrite a file that charz did not write.")]
