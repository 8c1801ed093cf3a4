"""Parameters that methods of a session share, with the text that the command line shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

MOST = 10**9
"""Largest batch, sequence, context, image side and number of rows: larger numbers overflow 64-bit counts."""


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
    """Type of the value on the command line, if Python also accepts objects that text cannot express."""
    is_python_only: bool = False
    """True if the command line lacks this option."""


Names = str | Sequence[str]
"""One name, a list of names, or a text of names separated by commas."""

Sizes = int | str | Sequence[int]
"""One size, a list of sizes, or a text: `1,8,64`, `1:256` (doubling) or `64:1024:64` (steps)."""

Amount = float | str
"""A number in SI units, or a text with its unit: `5ms`, `50mJ`, `8GiB`."""

File = str | Path
"""A file or folder."""

Model = Annotated[str, Text("Ingested model; `charz models` lists all models.")]
Models = Annotated[Names, Text("Ingested models; `charz models` lists all models.")]
AnyModels = Annotated[Names | None, Text("Ingested models; default all.")]
Part = Annotated[str, Text("Hardware part, e.g. rtx4090; `charz hardware list` lists all parts.")]
Parts = Annotated[Names | None, Text("Hardware parts, separated by commas or by repeating the option; default all.")]
Batch = Annotated[int | None, Text("Samples in one run.", least=1)]
Sequence_ = Annotated[int | None, Text("Tokens per sample.", least=1)]
Precision = Annotated[str | None, Text("Precision policy, e.g. fp16; default depends on the backend.")]
Backend = Annotated[str | None, Text("Backend, e.g. inductor.")]
Cache = Annotated[
    str, Text("Content of the last-level cache when a kernel begins: warm, cold, hot or weights_resident.")
]
IncludeTransfer = Annotated[bool, Text("Include the transfer of the inputs from host memory before every run.")]
Cap = Annotated[str | None, Text("Power cap of the part: a power mode, e.g. 15w, or a limit in watts, e.g. 150w.")]
Caps = Annotated[Names | None, Text("Power caps of the part: power modes or limits in watts, separated by commas.")]
Rents = Annotated[
    Names | None, Text("Your rent of parts in USD per hour, e.g. kpu_t64=0.5, in place of the file's; separated by commas or repeated.")
]
Drawn = Annotated[Amount | None, Text("Largest average power over a run, e.g. 15W.")]
Batches = Annotated[Sizes | None, Text("Batch sizes: 8, 1,8,64 or 1:256 (doubling).")]
Sequences = Annotated[Sizes | None, Text("Sequence lengths: 128, 128,512 or 128:2048 (doubling).")]
Precisions = Annotated[
    Names | None, Text("Precision policies, separated by commas; default depends on the backend.")
]
Backends = Annotated[Names | None, Text("Backends, separated by commas.")]
Versions = Annotated[Names | None, Text("Versions of the backend, separated by commas; default the assumed version.")]
KvPrecisions = Annotated[Names | None, Text("Formats of the KV cache, separated by commas, e.g. fp8_e4m3.")]
Devices = Annotated[
    Sizes | None, Text("Numbers of devices, which share each kernel (tensor parallel): 8, 1,2,4 or 1:8 (doubling).")
]
HostShare = Annotated[
    float | None, Text("Share stored in host memory and transferred to the device in every step.", least=0.0, most=1.0)
]
Context = Annotated[int | None, Text("Context length of a language model, in tokens.", least=1)]
Phase = Annotated[
    str | None, Text("forward, prefill (reads a prompt) or decode (generates a token); default decode with --context, else forward.")
]
Top = Annotated[int, Text("Largest number of rows to list.", least=1, most=MOST)]
Force = Annotated[bool, Text("Allow --out to overwrite a file that charz did not write.")]
Page = Annotated[File | None, Text("Write the answer with pictures as one self-contained HTML page.")]
